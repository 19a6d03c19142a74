"""Losses tailored to one decision against plain ones: linear models, shallow trees, boosted stumps.

After slides 46 to 51 of Buja's lectures on proper losses and Hand & Vinciotti (2003), at the costs c = 0.1, 0.3, 0.5
and 0.9 of a false alarm (a miss costs 1 - c, so a row is called positive where p >= c).

- Hand-Vinciotti data: η = x₂/(x₁+x₂) on the unit square. What is reported is the regret, the expected cost-weighted
  error above the least possible, on a 500 × 500 grid: no test sample is involved. Its log-odds ln x₂ - ln x₁ are a sum
  of functions of one feature each, so stumps with the logit link can be right everywhere; "turned" has the features
  x₁+x₂ and x₂-x₁ instead, where they cannot.
- Pima: glucose and body mass (rows where both were measured), random halves to train and test.

    python benchmarks/papers/tailoring.py [--quick] [--data FOLDER] [--output FOLDER] [--overwrite]

writes runs.csv, tables.md and the figures of tailoring_figures.py into benchmarks/results/tailoring/.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from study import Options, main, progress, write_tables

from properly.boosting import DiscreteAdaBoost, ProperBoostingClassifier
from properly.datasets import load_benchmark, make_hand_vinciotti
from properly.linear import ProperLinearClassifier, TailoredLinearClassifierCV
from properly.losses import BetaLoss, CostWeightedLoss
from properly.tree import ProperTreeClassifier

COSTS = (0.1, 0.3, 0.5, 0.9)
SIZES = (1000, 4000)
REPETITIONS, SPLITS = 20, 50
LINEAR, TREE, STUMPS = "linear", "tree, depth 3", "boosted stumps"
PLAIN = {LINEAR: "log", TREE: "log", STUMPS: "log"}  # what the others of a family are compared with


def linear(loss: Any = "log") -> Any:
    return make_pipeline(StandardScaler(), ProperLinearClassifier(loss, "logit", C=10.0))


def tree(loss: Any) -> Any:
    return ProperTreeClassifier(loss, max_depth=3, min_samples_leaf=20, ccp_alpha=0.0)


def stumps(loss: Any, early_stopping: bool = False, n_estimators: int = 200) -> Any:
    return ProperBoostingClassifier(
        loss, "logit", n_estimators=n_estimators, num_leaves=2, early_stopping=early_stopping, random_state=0, n_jobs=1
    )


def models(c: float) -> dict[tuple[str, str], Any]:
    """All that are compared, by family and name."""
    mild, sharp = BetaLoss.tailored(c, 10), BetaLoss.tailored(c, 30)
    return {
        (LINEAR, "log"): linear(),
        (LINEAR, "tailored, 10"): linear(mild),
        (LINEAR, "tailored, 30"): linear(sharp),
        (LINEAR, "tailored, by folds"): make_pipeline(StandardScaler(), TailoredLinearClassifierCV(c, C=10.0)),
        (TREE, "log"): tree("log"),
        (TREE, "squared"): tree("squared"),
        (TREE, "tailored, 10"): tree(mild),
        (TREE, "tailored, 30"): tree(sharp),
        (TREE, "cost-weighted"): tree(CostWeightedLoss(c)),
        # a fixed number of rounds, and as a user of the library would: stopped by a tenth of the rows
        (STUMPS, "log"): stumps("log"),
        (STUMPS, "AdaBoost"): DiscreteAdaBoost(n_estimators=100, early_stopping=False, random_state=0),
        (STUMPS, "tailored, 10"): stumps(mild),
        (STUMPS, "tailored, 30"): stumps(sharp),
        (STUMPS, "log, stopped"): stumps("log", early_stopping=True),
        (STUMPS, "tailored, 10, stopped"): stumps(mild, early_stopping=True),
    }


def grid(points: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Midpoints of the cells of the unit square, and η there."""
    at = (np.arange(points) + 0.5) / points
    X = np.column_stack([axis.ravel() for axis in np.meshgrid(at, at)])
    return X, X[:, 1] / X.sum(axis=1)


def regret(p: np.ndarray, eta: np.ndarray, c: float) -> float:
    """The expected cost-weighted error above that of η: |η - c| where the decision is another one."""
    return float(np.mean(np.where((p >= c) != (eta >= c), np.abs(eta - c), 0.0)))


def cost_weighted_error(p: np.ndarray, y: np.ndarray, c: float) -> float:
    return float(np.mean(np.where(p >= c, c * (1 - y), (1.0 - c) * y)))


def turned(X: np.ndarray) -> np.ndarray:
    """x₁ + x₂ and x₂ - x₁: the same data on axes by which no additive model is right."""
    return np.column_stack([X.sum(axis=1), X[:, 1] - X[:, 0]])


def hand_vinciotti(n: int, repetition: int, points: int = 500) -> Iterator[dict[str, Any]]:
    at, eta = grid(points)
    X, y, _ = make_hand_vinciotti(n, random_state=repetition)
    for c, (family, name), p in fitted(X, y, at):
        yield row("Hand-Vinciotti", n, c, family, name, repetition, regret(p, eta, c))
    for c, (family, name), p in fitted(turned(X), y, turned(at), families=(TREE, STUMPS)):
        yield row("Hand-Vinciotti, turned", n, c, family, name, repetition, regret(p, eta, c))


def pima() -> tuple[np.ndarray, np.ndarray]:
    """Glucose and body mass of the rows where both were measured (0 stands for missing)."""
    frame, y = load_benchmark("pima")
    X = frame[["plas", "mass"]].to_numpy(dtype=float)
    measured = (X > 0.0).all(axis=1)
    return X[measured], y[measured]


def pima_halves(split: int) -> Iterator[dict[str, Any]]:
    X, y = pima()
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=split)
    for c, (family, name), p in fitted(train, y_train, test):
        yield row("Pima", len(train), c, family, name, split, cost_weighted_error(p, y_test, c))


def fitted(
    X: np.ndarray, y: np.ndarray, new: np.ndarray, families: tuple[str, ...] = (LINEAR, TREE, STUMPS)
) -> Iterator[tuple[float, tuple[str, str], np.ndarray]]:
    """Every model's probabilities of new rows, at every cost; a model that ignores the cost is fitted once."""
    known: dict[str, np.ndarray] = {}
    for c in COSTS:
        for key, model in models(c).items():
            if key[0] not in families:
                continue
            name = repr((key, model))
            if name not in known:
                known[name] = model.fit(X, y).predict_proba(new)[:, 1]
            yield c, key, known[name]


def row(data: str, n: int, c: float, family: str, name: str, repetition: int, value: float) -> dict[str, Any]:
    return {"data": data, "n": n, "c": c, "family": family, "loss": name, "repetition": repetition, "value": value}


def differences(runs: pd.DataFrame) -> pd.DataFrame:
    """Per data set, size, cost and model: mean, mean difference to the plain one with its standard error, wins.

    Halves of one sample overlap, so the variance over splits is enlarged by Nadeau & Bengio's (2003) factor,
    1/splits + test rows / training rows, in place of 1/splits.
    """
    wide = runs.pivot_table(index=["data", "n", "c", "repetition"], columns=["family", "loss"], values="value")
    rows = []
    for (data, n, c), part in wide.groupby(level=["data", "n", "c"]):
        for family, name in part.dropna(axis=1).columns:
            gain = part[family, PLAIN[family]] - part[family, name]
            share = 1.0 / len(gain) + (1.0 if data == "Pima" else 0.0)
            rows.append({
                "data": data, "n": n, "c": c, "family": family, "loss": name,
                "mean": part[family, name].mean(), "gain": gain.mean(), "error": np.sqrt(gain.var() * share),
                "wins": int((gain > 0.0).sum()), "ties": int((gain == 0.0).sum()), "of": len(gain),
            })  # fmt: skip
    return pd.DataFrame(rows)


def table(summary: pd.DataFrame, family: str) -> list[str]:
    """Rows are losses, columns costs: mean in thousandths, in brackets the wins over the plain loss (and ties)."""
    part = summary[summary.family == family]
    names = [name for kind, name in models(0.5) if kind == family]
    lines = ["| loss | " + " | ".join(f"c = {c}" for c in COSTS) + " |", "|---|" + "---:|" * len(COSTS)]
    for name in names:
        cells = []
        for c in COSTS:
            entry = part[(part.loss == name) & (part.c == c)].iloc[0]
            mean, gain, error = 1e3 * entry["mean"], 1e3 * entry.gain, 1e3 * entry.error
            ties = f", {entry.ties} equal" if entry.ties else ""
            won = f" ({gain:+.2f} ± {error:.2f}; {entry.wins}/{entry.of}{ties})" if name != PLAIN[family] else ""
            cells.append(f"{mean:.2f}{won}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def work(options: Options) -> list[Callable[[], Iterator[dict[str, Any]]]]:
    """Every repetition and every split, to be run."""
    sizes, repetitions, splits = (SIZES[:1], 2, 2) if options.quick else (SIZES, REPETITIONS, SPLITS)
    if options.made_up:
        return [partial(hand_vinciotti, 100, 0, 30), partial(pima_halves, 0)]
    drawn = [partial(hand_vinciotti, n, each) for n in sizes for each in range(repetitions)]
    return [*drawn, *(partial(pima_halves, split) for split in range(splits))]


def study(options: Options) -> None:
    import tailoring_figures

    pima()  # data that are missing are reported at once
    tasks = work(options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a sharp loss on few rows; counted by its result
        runs = pd.DataFrame([row for task in progress(tasks, len(tasks)) for row in task()])
    runs.to_csv(options.output / "runs.csv", index=False, float_format="%.8g")
    summary = differences(runs)
    lines = [
        "# Tailored losses against plain ones",
        "",
        "Thousandths. In brackets the mean gain over log loss in the same family ± its standard error, and in how many "
        "repetitions the model was better than log loss.",
    ]
    for (data, n), part in summary.groupby(["data", "n"]):
        measure = "test cost-weighted error" if data == "Pima" else "regret"
        for family in (family for family in PLAIN if family in set(part.family)):
            lines += ["", f"## {data}, {n} training rows, {family}: {measure}", "", *table(part, family)]
    write_tables(lines, options.output)
    if not options.made_up:
        tailoring_figures.draw_all(runs, options.output)


if __name__ == "__main__":
    raise SystemExit(main("tailoring", __doc__, study))
