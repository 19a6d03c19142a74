"""Proper boosting: against LightGBM's own log loss, and each loss against the log-loss booster on that loss.

Two tables:

1. n = 100,000, k = 20, 100 trees of 31 leaves, one thread: time and held-out log loss of `ProperBoostingClassifier`
   and of LightGBM's binary objective with the same parameters. CPU seconds, the best of several interleaved rounds.
2. The twelve sets of `properly.datasets` with most positives below 100,000 rows, and further sets that were not looked
   at while the rule of `start="log loss"` was settled; at most 6,000 rows of each: the held-out value of a loss for the
   booster fitted with it, relative to the log-loss booster (negative is better). 30 % of the rows judge, in repeated
   stratified splits. The rule was settled on other splits of the twelve sets.

    OMP_NUM_THREADS=1 PROPERLY_DATA=... python benchmarks/bench_boosting.py [--rounds R] [--repeats S] [--gev]

adds the splits that are missing to benchmarks/results/boosting.csv and writes boosting.md. Without PROPERLY_DATA no
splits are added; with --rounds 0 the first table is left as it is.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from shared_fits import Scores
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from properly.boosting import ProperBoostingClassifier
from properly.datasets import BENCHMARK_SETS, load_benchmark
from properly.losses import BetaLoss, BoostingLoss, Composite, GEVLoss, Loss, SquaredLoss

RESULTS = Path(__file__).parent / "results"
COLUMNS = ["set", "split", "loss", "relative", "kept"]  # kept: trees for the loss itself
FURTHER = ("car", "covtype", "flights_3m", "haberman", "page_blocks", "winequality_red", "yeast")
TREES, MOST_ROWS = 100, 6_000
LOSSES: dict[str, Loss] = {
    "squared": SquaredLoss(),
    "boosting": BoostingLoss(),
    "tailored at 0.1, concentration 30": BetaLoss.tailored(0.1, 30),
    "tailored at 0.3, concentration 10": BetaLoss.tailored(0.3, 10),
    "GEV, ξ = 0.3": GEVLoss(0.3),
    "GEV, ξ = -0.5": GEVLoss(-0.5),
}


def ours(X: np.ndarray, y: np.ndarray) -> Any:
    options = {
        "num_leaves": 31,
        "min_samples_leaf": 20,
        "l2_regularization": 0.0,
        "max_features": 1.0,
        "max_samples": 1.0,
    }
    options |= {"extra_trees": False, "learning_rate": 0.1, "n_estimators": TREES, "early_stopping": False, "n_jobs": 1}
    model = ProperBoostingClassifier(**options).fit(X, y)
    return lambda new: model.predict_proba(new)[:, 1]


def theirs(X: np.ndarray, y: np.ndarray) -> Any:
    params = {"objective": "binary", "force_col_wise": True, "deterministic": True, "num_threads": 1, "verbosity": -1}
    return lightgbm.train(params, lightgbm.Dataset(X, y), TREES).predict


def agreement(rounds: int) -> list[str]:
    """Times and held-out log losses of both, at two base rates."""
    lines = [
        "| positives | ours, s | LightGBM, s | ratio | log loss, ours | log loss, LightGBM | difference |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for share in (0.5, 0.03):
        X, y = make_classification(
            120_000, 20, n_informative=10, weights=[1.0 - share], flip_y=0.02, class_sep=0.7, random_state=0
        )
        train, judge = slice(0, 100_000), slice(100_000, None)
        times: dict[Any, list[float]] = {ours: [], theirs: []}
        scores = {}
        for _ in range(rounds):
            for fit, spent in times.items():
                start = time.process_time()
                predict = fit(X[train], y[train])
                spent.append(time.process_time() - start)
                scores[fit] = log_loss(y[judge], predict(X[judge]))
        best = {fit: min(spent) for fit, spent in times.items()}
        lines.append(
            f"| {y.mean():.1%} | {best[ours]:.2f} | {best[theirs]:.2f} | {best[ours] / best[theirs]:.2f} "
            f"| {scores[ours]:.6f} | {scores[theirs]:.6f} | {scores[ours] - scores[theirs]:.1e} |"
        )
    return lines


def twelve_sets() -> list[str]:
    """The sets with most positives."""
    sizes = {name: load_benchmark(name)[1].sum() for name in BENCHMARK_SETS if name not in ("covtype", "flights_3m")}
    return sorted(sorted(sizes, key=lambda name: -sizes[name])[:12])


def rows_of(name: str) -> tuple[Any, np.ndarray]:
    """At most 6,000 rows of a set, texts as categories."""
    X, y = load_benchmark(name)
    if len(y) > MOST_ROWS:
        rows = np.random.RandomState(0).choice(len(y), MOST_ROWS, replace=False)
        X, y = X.iloc[rows], y[rows]
    text = X.select_dtypes(exclude=["number", "category"]).columns
    return X.astype(dict.fromkeys(text, "category")), y


def relative_losses(name: str, split: int, with_gev: bool) -> list[list[Any]]:
    """For every loss that of its own booster over that of the log-loss booster, less 1."""
    X, y = rows_of(name)
    X_train, X_judge, y_train, y_judge = train_test_split(X, y, test_size=0.3, random_state=100 + split, stratify=y)
    losses = {key: loss for key, loss in LOSSES.items() if with_gev or not isinstance(loss, GEVLoss)}
    found = Scores(X_train, y_train, X_judge, losses, random_state=split, n_jobs=1)
    runs: list[list[Any]] = []
    for key, loss in losses.items():
        own, reference = (Composite(loss, "logit").value(y_judge, v).mean() for v in (found.scores[key], found.log))
        runs.append([name, split, key, own / reference - 1.0, found.kept[key]])
    return runs


def add_missing(names: list[str], repeats: int, with_gev: bool, file: Path) -> None:
    if not file.exists():
        pd.DataFrame(columns=COLUMNS).to_csv(file, index=False)
    known = set(pd.read_csv(file)[COLUMNS[:2]].itertuples(index=False, name=None))
    for split in range(repeats):
        for name in names:
            if (name, split) not in known:
                runs = pd.DataFrame(relative_losses(name, split, with_gev))
                runs.to_csv(file, mode="a", index=False, header=False, float_format="%.6g")


def held_out(file: Path) -> list[str]:
    runs = pd.read_csv(file)
    names = [name for name in LOSSES if name in set(runs.loss)]
    means = 100.0 * runs.pivot_table(index="set", columns="loss", values="relative")[names]
    lines = []
    for title, part in (
        ("The twelve sets", means[~means.index.isin(FURTHER)]),
        ("Sets that were not looked at while the rule was settled", means[means.index.isin(FURTHER)]),
    ):
        summary = [f"{mean:+.1f} ± {error:.1f}" for mean, error in zip(part.mean(), part.sem(), strict=True)]
        lines += [
            "",
            f"### {title}",
            "",
            "| set | " + " | ".join(names) + " |",
            "|---|" + "---:|" * len(names),
            *(f"| {name} | " + " | ".join(f"{value:+.1f}" for value in row) + " |" for name, row in part.iterrows()),
            "| mean ± standard error | " + " | ".join(summary) + " |",
        ]
    kept = runs.assign(kept=runs.kept > 0).groupby("loss").kept.mean()[names]
    return [*lines, "", "Trees for the loss itself were kept in: " + ", ".join(f"{k} {v:.0%}" for k, v in kept.items())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sets", nargs="*", help="only these")
    parser.add_argument("--gev", action="store_true", help="GEV losses as well, which take ten times as long")
    arguments = parser.parse_args()
    file, page = RESULTS / "boosting.csv", RESULTS / "boosting.md"
    if os.environ.get("PROPERLY_DATA"):
        add_missing(arguments.sets or [*twelve_sets(), *FURTHER], arguments.repeats, arguments.gev, file)
    if arguments.rounds:
        first = [
            f"100,000 × 20, {TREES} trees of 31 leaves, one thread; best of {arguments.rounds} interleaved rounds, CPU "
            "seconds; 20,000 rows held out.",
            "",
            *agreement(arguments.rounds),
        ]
    else:
        first = page.read_text(encoding="utf-8").split("\n## ")[1].strip().splitlines()[2:]
    splits = pd.read_csv(file).groupby("set").split.nunique()
    libraries = ("lightgbm", "numpy", "scikit-learn")
    made_by = ", ".join(f"{name} {version(name)}" for name in libraries)
    lines = [
        "# Proper boosting",
        "",
        "## Log loss against LightGBM's own",
        "",
        *first,
        "",
        "## Each loss against the log-loss booster",
        "",
        "Held-out value of the loss for the booster fitted with it, relative to that of the log-loss booster, in per "
        f"cent (negative is better): means over {splits.min()} to {splits.max()} splits of a set. At most "
        f"{MOST_ROWS:,} rows of a set.",
        *held_out(file),
        "",
        f"{platform.machine()}, Python {platform.python_version()}, {made_by}.",
    ]
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
