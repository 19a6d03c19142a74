"""Does tailoring pay by default? Where it should, and where it cannot.

1. Boosted stumps on turned Hand-Vinciotti data (`papers/tailoring.py`), on which no sum of stumps is right: the regret
   at the costs c = 0.1, 0.3 and 0.9 with 1,000 and 4,000 rows. Tailored losses of concentration 10 and 30 with the
   default `start`, against the fixed choices: log loss, and the tailored losses from the first tree on.
2. Linear models on Hand-Vinciotti data: `TailoredLinearClassifierCV` against each fixed concentration.
3. Shallow trees with 1,000 rows: tailored losses, and mixtures of them with log loss.

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

import pandas as pd
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
STUMPS, LINEAR, TREES = "stumps", "linear", "trees"
RULE = "by the rule"


def boosted(loss: Any, start: str = "log loss") -> Any:
    return ProperBoostingClassifier(loss, start=start, num_leaves=2, random_state=0, n_jobs=1)


def stumps_of(c: float) -> dict[str, Any]:
    mild, sharp = BetaLoss.tailored(c, 10), BetaLoss.tailored(c, 30)
    return {
        "log": boosted("log"),
        f"10, {RULE}": boosted(mild),
        f"30, {RULE}": boosted(sharp),
        "30, from the base rate": boosted(sharp, "base rate"),
    }


def linear_of(c: float) -> dict[str, Any]:
    fixed = {str(concentration): linear(BetaLoss.tailored(c, concentration)) for concentration in (3, 10, 30, 100)}
    return {"log": linear(), **fixed, RULE: make_pipeline(StandardScaler(), TailoredLinearClassifierCV(c))}


def trees_of(c: float) -> dict[str, Any]:
    loss = BetaLoss.tailored(c, 10)
    mixtures = {f"10 + {share} log": tree(share * LogLoss() + loss) for share in (0.1, 1.0)}
    return {"log": tree("log"), "10": tree(loss), "30": tree(BetaLoss.tailored(c, 30)), **mixtures}


PARTS: dict[str, Callable[[float], dict[str, Any]]] = {STUMPS: stumps_of, LINEAR: linear_of, TREES: trees_of}


def missing_runs(parts: list[str], sizes: list[int], repetitions: int, known: set[tuple[Any, ...]]) -> Iterator[Any]:
    at, eta = grid()
    for repetition in range(repetitions):
        for part in parts:
            for n in sizes:
                X, y, _ = make_hand_vinciotti(n, random_state=repetition)
                rows, new = (turned(X), turned(at)) if part == STUMPS else (X, at)
                plain: Any = None
                for c in COSTS:
                    if (part, n, c, repetition) in known:
                        continue
                    for name, model in PARTS[part](c).items():
                        if name != "log":
                            p = model.fit(rows, y).predict_proba(new)[:, 1]
                        elif plain is None:
                            p = plain = model.fit(rows, y).predict_proba(new)[:, 1]
                        else:
                            p = plain
                        yield [part, n, c, repetition, name, 1e3 * regret(p, eta, c)]


def complete_runs() -> set[tuple[Any, ...]]:
    """What is in the file already; cells that were interrupted are taken out of it."""
    runs = pd.read_csv(RUNS) if RUNS.exists() else pd.DataFrame(columns=COLUMNS)
    size = runs.groupby(COLUMNS[:4]).model.transform("size")
    runs = runs[size == runs.part.map({part: len(models(0.5)) for part, models in PARTS.items()})]
    runs.to_csv(RUNS, index=False, float_format="%.6g")
    return set(runs[COLUMNS[:4]].itertuples(index=False, name=None))


def table(runs: pd.DataFrame) -> list[str]:
    """Mean regrets; and what share of the gain of the best fixed choice, cell by cell, each model has in all cells."""
    cells = runs.groupby(["model", "n", "c"]).regret
    means, errors = (values.unstack(["n", "c"]).loc[runs.model.unique()] for values in (cells.mean(), cells.sem()))
    fixed = means[~means.index.str.contains(RULE)]
    possible, gained = means.loc["log"] - fixed.min(), means.loc["log"] - means
    lines = [
        "| model | " + " | ".join(f"{n:,}, c = {c}" for n, c in means.columns) + " | share of the gain |",
        "|---|" + "---:|" * (means.shape[1] + 1),
    ]
    for name in means.index:
        row = (f"{mean:.2f} ± {error:.2f}" for mean, error in zip(means.loc[name], errors.loc[name], strict=True))
        lines.append(f"| {name} | " + " | ".join(row) + f" | {gained.loc[name].sum() / possible.sum():.0%} |")
    return lines


def write() -> None:
    runs = pd.read_csv(RUNS)
    titles = {
        STUMPS: "Boosted stumps, turned Hand–Vinciotti data",
        LINEAR: "Linear models, Hand–Vinciotti data",
        TREES: "Trees of depth 3, Hand–Vinciotti data",
    }
    lines = [
        "# Does tailoring pay by default?",
        "",
        "Regret in thousandths, mean ± standard error over repetitions, by number of training rows and cost c of a "
        'false alarm. A model is named by the concentration of its tailored loss; "log" is log loss. The share of the '
        "gain is that of the best fixed choice known in hindsight for each column, summed over the columns.",
    ]
    for part, title in titles.items():
        own = runs[runs.part == part]
        if len(own):
            counts = own.groupby(["n", "c"]).repetition.nunique().groupby("n").agg(["min", "max"])
            spans = {n: str(few) if few == many else f"{few} to {many}" for n, few, many in counts.itertuples()}
            told = ", ".join(f"{span} repetitions with {n:,} rows" for n, span in spans.items())
            lines += ["", f"## {title}", "", f"{told}.", "", *table(own)]
    (RESULTS / "tailoring_rule.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    options = parser.parse_args()
    known = complete_runs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a sharp loss on few rows; counted by its result
        for run in missing_runs(options.parts, options.sizes, options.repetitions, known):
            pd.DataFrame([run]).to_csv(RUNS, mode="a", index=False, header=False, float_format="%.6g")
    write()


if __name__ == "__main__":
    main()
