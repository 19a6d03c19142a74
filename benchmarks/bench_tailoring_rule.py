"""Does tailoring pay by default? Where it should, and where it cannot.

1. Boosted stumps on turned Hand-Vinciotti data (`papers/tailoring.py`), on which no sum of stumps is right: the regret
   at the costs c = 0.1, 0.3 and 0.9 with 1,000 and 4,000 rows. Tailored losses of concentration 10 and 30, whose trees
   come after those for log loss and are kept by the rule of `ProperBoostingClassifier`; against the fixed choices,
   never to keep them (log loss) and always to keep them. In some repetitions, boosting from the base rate as well.
2. Linear models on Hand-Vinciotti data: `TailoredLinearClassifierCV` against each fixed concentration.
3. Shallow trees: tailored losses, mixtures of them with log loss, and the mean of a tailored tree and one by log loss.

The rules were settled on the seeds 100 to 119; here are the seeds from 0 on.

    OMP_NUM_THREADS=1 python benchmarks/bench_tailoring_rule.py [--repetitions R] [--sizes 1000 4000] [--parts ...]

adds the runs that are missing to benchmarks/results/tailoring_rule.csv, and writes tailoring_rule.md from all of them.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from shared_fits import Scores
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).parent / "papers"))
from tailoring import grid, linear, regret, tree, turned

from properly.boosting import ProperBoostingClassifier
from properly.datasets import make_hand_vinciotti
from properly.linear import TailoredLinearClassifierCV
from properly.losses import BetaLoss, LogLoss

RESULTS = Path(__file__).parent / "results"
RUNS = RESULTS / "tailoring_rule.csv"
COLUMNS = ["part", "n", "c", "repetition", "model", "regret"]
COSTS, SIZES = (0.1, 0.3, 0.9), (1000, 4000)
STUMPS, FROM_BASE_RATE, LINEAR, TREES = "stumps", "stumps from the base rate", "linear", "trees"
RULE, ALWAYS, AVERAGED = "by the rule", "always", "log and 30, averaged"


def stumps_of(concentration: int) -> Callable[..., dict[str, np.ndarray]]:
    """Regrets need probabilities: those of all boosters that share their trees for log loss."""

    def fitted(X: np.ndarray, y: np.ndarray, new: np.ndarray, costs: list[float]) -> dict[str, np.ndarray]:
        losses = {str(c): BetaLoss.tailored(c, concentration) for c in costs}
        found = Scores(X, y, new, losses, always=True, num_leaves=2, random_state=0, n_jobs=1)
        kinds = {"log": dict.fromkeys(losses, found.log), RULE: found.scores, ALWAYS: found.always_scores}
        name = {"log": "log", RULE: f"{concentration}, {RULE}", ALWAYS: f"{concentration}, {ALWAYS}"}
        return {(name[kind], float(c)): expit(v) for kind, scores in kinds.items() for c, v in scores.items()}

    return fitted


def from_base_rate(c: float) -> dict[str, Any]:
    loss = BetaLoss.tailored(c, 30)
    options = {"start": "base rate", "num_leaves": 2, "random_state": 0, "n_jobs": 1}
    return {"30, from the base rate": ProperBoostingClassifier(loss, **options)}


def linear_of(c: float) -> dict[str, Any]:
    fixed = {str(concentration): linear(BetaLoss.tailored(c, concentration)) for concentration in (3, 10, 30, 100)}
    return {"log": linear(), **fixed, RULE: make_pipeline(StandardScaler(), TailoredLinearClassifierCV(c))}


def trees_of(c: float) -> dict[str, Any]:
    loss = BetaLoss.tailored(c, 10)
    mixtures = {f"10 + {share} log": tree(share * LogLoss() + loss) for share in (0.1, 1.0)}
    both = VotingClassifier([("log", tree("log")), ("30", tree(BetaLoss.tailored(c, 30)))], voting="soft")
    return {"log": tree("log"), "10": tree(loss), "30": tree(BetaLoss.tailored(c, 30)), **mixtures, AVERAGED: both}


def each(models: Callable[[float], dict[str, Any]]) -> Callable[..., dict[Any, np.ndarray]]:
    """The probabilities of all models at all costs; log loss is fitted once."""

    def fitted(X: np.ndarray, y: np.ndarray, new: np.ndarray, costs: list[float]) -> dict[Any, np.ndarray]:
        found: dict[Any, np.ndarray] = {}
        for c in costs:
            for name, model in models(c).items():
                known = found.get(("log", costs[0])) if name == "log" else None
                found[name, c] = model.fit(X, y).predict_proba(new)[:, 1] if known is None else known
        return found

    return fitted


PARTS: dict[str, tuple[Callable[..., dict[Any, np.ndarray]], int]] = {  # and how many models each has
    f"{STUMPS} 30": (stumps_of(30), 3),
    f"{STUMPS} 10": (stumps_of(10), 3),
    FROM_BASE_RATE: (each(from_base_rate), 1),
    LINEAR: (each(linear_of), 6),
    TREES: (each(trees_of), 6),
}


def missing_runs(parts: list[str], sizes: list[int], repetitions: range, known: set[tuple[Any, ...]]) -> Iterator[Any]:
    at, eta = grid()
    for repetition in repetitions:
        for part in parts:
            for n in sizes:
                costs = [c for c in COSTS if (part, n, c, repetition) not in known]
                if not costs:
                    continue
                X, y, _ = make_hand_vinciotti(n, random_state=repetition)
                rows, new = (turned(X), turned(at)) if part.startswith(STUMPS) else (X, at)
                for (name, c), p in PARTS[part][0](rows, y, new, costs).items():
                    yield [part, n, c, repetition, name, 1e3 * regret(p, eta, c)]


def complete_runs() -> set[tuple[Any, ...]]:
    """What is in the file already; cells that were interrupted are taken out of it."""
    runs = pd.read_csv(RUNS) if RUNS.exists() else pd.DataFrame(columns=COLUMNS)
    size = runs.groupby(COLUMNS[:4]).model.transform("size")
    runs = runs[size == runs.part.map({part: models for part, (_, models) in PARTS.items()})]
    runs.to_csv(RUNS, index=False, float_format="%.6g")
    return set(runs[COLUMNS[:4]].itertuples(index=False, name=None))


def table(runs: pd.DataFrame) -> list[str]:
    """Mean regrets; and what share of the gain of the best fixed choice, cell by cell, each model has in all cells."""
    cells = runs.groupby(["model", "n", "c"]).regret
    means, errors = (values.unstack(["n", "c"]).loc[runs.model.unique()] for values in (cells.mean(), cells.sem()))
    fixed = means[~(means.index.str.contains(RULE) | (means.index == AVERAGED))]
    possible, gained = means.loc["log"] - fixed.min(), means.loc["log"] - means
    lines = [
        "| model | " + " | ".join(f"{n:,}, c = {c}" for n, c in means.columns) + " | share of the gain |",
        "|---|" + "---:|" * (means.shape[1] + 1),
    ]
    for name in means.index:
        row = (f"{mean:.2f} ± {error:.2f}" for mean, error in zip(means.loc[name], errors.loc[name], strict=True))
        lines.append(f"| {name} | " + " | ".join(row) + f" | {gained.loc[name].sum() / possible.sum():.0%} |")
    return lines


def section(title: str, runs: pd.DataFrame) -> list[str]:
    counts = runs.groupby("n").repetition.nunique()
    told = ", ".join(f"{count} repetitions with {n:,} rows" for n, count in counts.items())
    return ["", f"## {title}", "", f"{told}.", "", *table(runs)]


def in_all(*parts: pd.DataFrame) -> pd.DataFrame:
    """The runs of the repetitions that every part has, log loss from the first."""
    cell = ["n", "c", "repetition"]
    first, *others = parts
    for other in others:
        joined = pd.concat([first, other[other.model != "log"]])
        shared = first[cell].merge(other[cell]).drop_duplicates()
        first = joined.merge(shared)
    return first


def write() -> None:
    runs = pd.read_csv(RUNS)
    part = {name: runs[runs.part == name] for name in PARTS}
    turned_data = "turned Hand–Vinciotti data"
    sections = {
        f"Boosted stumps, {turned_data}": in_all(part[f"{STUMPS} 30"], part[f"{STUMPS} 10"]),
        f"Boosted stumps, {turned_data}, concentration 30 alone": part[f"{STUMPS} 30"],
        f"Boosted stumps, {turned_data}, where they were boosted from the base rate as well": in_all(
            part[f"{STUMPS} 30"], part[FROM_BASE_RATE]
        ),
        "Linear models, Hand–Vinciotti data": part[LINEAR],
        "Trees of depth 3, Hand–Vinciotti data": part[TREES],
    }
    lines = [
        "# Does tailoring pay by default?",
        "",
        "Regret in thousandths, mean ± standard error over repetitions, by number of training rows and cost c of a "
        'false alarm. A model is named by the concentration of its tailored loss; "log" is log loss. The share of the '
        "gain is that of the best fixed choice known in hindsight for each column, summed over the columns.",
        *(line for title, own in sections.items() if len(own) for line in section(title, own)),
    ]
    (RESULTS / "tailoring_rule.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--first", type=int, default=0, help="the first repetition")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    options = parser.parse_args()
    known = complete_runs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a sharp loss on few rows; counted by its result
        for run in missing_runs(options.parts, options.sizes, range(options.first, options.repetitions), known):
            pd.DataFrame([run]).to_csv(RUNS, mode="a", index=False, header=False, float_format="%.6g")
    write()


if __name__ == "__main__":
    main()
