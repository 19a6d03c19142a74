"""Proper boosting: against LightGBM's own log loss, and each loss against the log-loss booster on that loss.

Two tables:

1. n = 100,000, k = 20, 100 trees of 31 leaves, one thread: time and held-out log loss of `ProperBoostingClassifier`
   and of LightGBM's binary objective with the same parameters. CPU seconds, the best of several interleaved rounds.
2. The twelve sets of `properly.datasets` with most positives below 100,000 rows, at most 6,000 rows of each: the
   held-out value of a loss for the booster fitted with it, relative to the log-loss booster (negative is
   better), for both values of `start`, with early stopping. 30 % of the rows judge, in repeated stratified splits;
   means over sets, with standard errors over sets. The rule of `start="log loss"` was developed on other splits of
   the same sets.

    OMP_NUM_THREADS=1 PROPERLY_DATA=... python benchmarks/bench_boosting.py [--rounds R] [--repeats S]

writes benchmarks/results/boosting.md. Without PROPERLY_DATA only the first table is made.
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
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from properly.boosting import ProperBoostingClassifier
from properly.datasets import BENCHMARK_SETS, load_benchmark
from properly.losses import BetaLoss, BoostingLoss, Composite, GEVLoss, Loss, SquaredLoss

RESULTS = Path(__file__).parent / "results" / "boosting.md"
TREES, MOST_ROWS = 100, 6_000
LOSSES: dict[str, Loss] = {
    "squared": SquaredLoss(),
    "boosting": BoostingLoss(),
    "tailored at 0.1, concentration 30": BetaLoss.tailored(0.1, 30),
    "tailored at 0.3, concentration 10": BetaLoss.tailored(0.3, 10),
    "GEV, ξ = 0.3": GEVLoss(0.3),
    "GEV, ξ = -0.5": GEVLoss(-0.5),
}
STARTS = ("log loss", "base rate")


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


def twelve_sets() -> dict[str, tuple[Any, np.ndarray]]:
    """The sets with most positives, texts as categories."""
    loaded = {}
    for name in BENCHMARK_SETS:
        if name in ("covtype", "flights_3m"):  # larger than 100,000 rows
            continue
        X, y = load_benchmark(name)
        text = X.select_dtypes(exclude=["number", "category"]).columns
        loaded[name] = X.astype(dict.fromkeys(text, "category")), y
    names = sorted(loaded, key=lambda name: -loaded[name][1].sum())[:12]
    return {name: loaded[name] for name in sorted(names)}


def relative_losses(X: Any, y: np.ndarray, repeats: int) -> np.ndarray:
    """Of shape (repeats, losses, starts): the loss of its own booster over that of the log-loss booster, less 1."""
    if len(y) > MOST_ROWS:
        rows = np.random.RandomState(0).choice(len(y), MOST_ROWS, replace=False)
        X, y = X.iloc[rows], y[rows]
    table = np.empty((repeats, len(LOSSES), len(STARTS)))
    for repeat in range(repeats):
        X_train, X_judge, y_train, y_judge = train_test_split(
            X, y, test_size=0.3, random_state=100 + repeat, stratify=y
        )
        options = {"random_state": repeat, "n_jobs": 1}
        reference = ProperBoostingClassifier("log", **options).fit(X_train, y_train).decision_function(X_judge)
        for i, loss in enumerate(LOSSES.values()):
            composite = Composite(loss, "logit")
            for j, start in enumerate(STARTS):
                model = ProperBoostingClassifier(loss, start=start, **options).fit(X_train, y_train)
                own = composite.value(y_judge, model.decision_function(X_judge)).mean()
                table[repeat, i, j] = own / composite.value(y_judge, reference).mean() - 1.0
    return table


def held_out(repeats: int) -> list[str]:
    tables = {name: relative_losses(X, y, repeats).mean(axis=0) for name, (X, y) in twelve_sets().items()}
    stacked = np.array(list(tables.values()))
    mean, error = stacked.mean(axis=0), stacked.std(axis=0, ddof=1) / np.sqrt(len(stacked))
    lines = [
        "| loss | start: " + " | start: ".join(STARTS) + " |",
        "|---|" + "---:|" * len(STARTS),
    ]
    for i, name in enumerate(LOSSES):
        cells = (f"{100 * mean[i, j]:+.1f} ± {100 * error[i, j]:.1f} %" for j in range(len(STARTS)))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += [
        "",
        'Set by set with `start="log loss"`, in per cent:',
        "",
        "| set | " + " | ".join(LOSSES) + " |",
        "|---|" + "---:|" * len(LOSSES),
        *(
            f"| {name} | " + " | ".join(f"{100 * value:+.1f}" for value in table[:, 0]) + " |"
            for name, table in tables.items()
        ),
    ]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    lines = [
        "# Proper boosting",
        "",
        "## Log loss against LightGBM's own",
        "",
        f"100,000 × 20, {TREES} trees of 31 leaves, one thread; best of {arguments.rounds} interleaved rounds, CPU "
        "seconds; 20,000 rows held out.",
        "",
        *agreement(arguments.rounds),
    ]
    if os.environ.get("PROPERLY_DATA"):
        lines += [
            "",
            "## Each loss against the log-loss booster",
            "",
            "Held-out value of the loss for the booster fitted with it, relative to that of the log-loss booster "
            f"(negative is better): mean over twelve sets ± standard error over sets; {arguments.repeats} splits each. "
            f"At most {MOST_ROWS:,} rows of a set.",
            "",
            *held_out(arguments.repeats),
        ]
    libraries = ("lightgbm", "numpy", "scikit-learn")
    made_by = ", ".join(f"{name} {version(name)}" for name in libraries)
    lines += ["", f"{platform.machine()}, Python {platform.python_version()}, {made_by}."]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
