"""Trees beside scikit-learn's at n = 100,000, k = 20: training impurity and time at the same depth.

Impurities are those of the leaves each tree sends the training rows to, computed here from the labels; CPU seconds
of the process, the best of several interleaved rounds. "binned" is the same data with 255 distinct values a feature,
where neither tree loses anything by binning; "exact" is ours with as many bins as values.

    OMP_NUM_THREADS=1 python benchmarks/bench_tree.py [--rounds R]

writes benchmarks/results/tree.md.
"""

from __future__ import annotations

import argparse
import platform
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.special import xlogy
from sklearn.tree import DecisionTreeClassifier

from properly.losses import BetaLoss, CostWeightedLoss
from properly.tree import ProperTreeClassifier

RESULTS = Path(__file__).parent / "results" / "tree.md"
CRITERIA = {"squared": "gini", "log": "entropy"}
DEPTHS = (4, 8, 12)


def make_data(n: int = 100_000) -> tuple[np.ndarray, np.ndarray]:
    """Twenty Gaussian features; four of them matter, two only together."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20))
    score = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3.0 * X[:, 3])
    return X, (rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-score))).astype(int)


def binned(X: np.ndarray) -> np.ndarray:
    """255 bins of equal mass, as their numbers."""
    edges = np.quantile(X, np.arange(1, 255) / 255, axis=0)
    return np.column_stack([np.searchsorted(edges[:, j], X[:, j]) for j in range(X.shape[1])]).astype(float)


def impurity(loss: str, leaf: np.ndarray, y: np.ndarray) -> float:
    """Mean entropy of the leaves: pq/2 or, in nats, -p ln p - q ln q."""
    weight = np.bincount(leaf)
    p = np.bincount(leaf, y)[weight > 0] / weight[weight > 0]
    entropy = 0.5 * p * (1.0 - p) if loss == "squared" else -xlogy(p, p) - xlogy(1.0 - p, 1.0 - p)
    return float(np.average(entropy, weights=weight[weight > 0]))


def timed(model: object, X: np.ndarray, y: np.ndarray) -> float:
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def compare(loss: str, depth: int, X: np.ndarray, y: np.ndarray, rounds: int) -> list[str]:
    coarse = binned(X)
    ours = ProperTreeClassifier(loss, max_depth=depth, min_samples_leaf=1, ccp_alpha=0.0)
    theirs = DecisionTreeClassifier(criterion=CRITERIA[loss], max_depth=depth, random_state=0)
    exact = ProperTreeClassifier(loss, max_depth=depth, min_samples_leaf=1, ccp_alpha=0.0, n_bins=len(X))
    seconds = np.array([[timed(model, X, y) for model in (ours, theirs)] for _ in range(rounds)]).min(axis=0)
    seconds_exact = timed(exact, X, y)
    on_data = [impurity(loss, model.apply(X), y) for model in (ours, exact, theirs)]
    on_bins = [impurity(loss, model.fit(coarse, y).apply(coarse), y) for model in (ours, theirs)]
    cells = [loss, str(depth), *(f"{value:.6f}" for value in (*on_data, *on_bins))]
    cells += [f"{seconds[0]:.2f}", f"{seconds_exact:.2f}", f"{seconds[1]:.2f}", f"{seconds[0] / seconds[1]:.2f}"]
    return cells


def cost_of_bins(rows: list[list[str]]) -> str:
    """By how much the impurity with bins differs from the exact one."""
    changes = [100.0 * (float(ours) / float(exact) - 1.0) for _, _, ours, exact, *_ in rows]
    return (
        f"Bins change the impurity by {min(changes):+.1f} % to {max(changes):+.1f} %: a greedy tree is not the best, "
        "so coarser choices may end better."
    )


def other_losses(X: np.ndarray, y: np.ndarray) -> list[str]:
    """What other losses cost, in units of a tree for log loss."""
    losses = {
        "log": "log",
        "boosting": "boosting",
        "BetaLoss.tailored(0.3, 30)": BetaLoss.tailored(0.3, 30),
        "CostWeightedLoss(0.3)": CostWeightedLoss(0.3),
        "gev": "gev",
    }
    seconds = {}
    for name, loss in losses.items():
        seconds[name] = min(
            timed(ProperTreeClassifier(loss, max_depth=8, min_samples_leaf=20, ccp_alpha=0.0), X, y) for _ in range(2)
        )
    return [f"| {name} | {value:.2f} | {value / seconds['log']:.1f} |" for name, value in seconds.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    X, y = make_data()
    rows = [compare(loss, depth, X, y, rounds) for loss in CRITERIA for depth in DEPTHS]
    lines = [
        "# Trees",
        "",
        f"n = 100,000, 20 features; CPU seconds of fit, best of {rounds} interleaved rounds (exact: one); Python "
        f"{platform.python_version()}, NumPy {version('numpy')}, scikit-learn {version('scikit-learn')}.",
        "",
        "Mean training impurity (entropy of the loss in the leaves) and time. Where both can make the same splits "
        "(exact, binned) the impurities are the same, but for the choice among equally good splits deep in the tree. "
        + cost_of_bins(rows),
        "",
        "| loss | depth | ours | ours, exact | scikit-learn | ours, binned | scikit-learn, binned "
        "| s, ours | s, ours, exact | s, scikit-learn | ratio |",
        "|---|" + "---:|" * 10,
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
        "Other losses at depth 8, at least 20 rows a leaf:",
        "",
        "| loss | seconds | log-loss trees |",
        "|---|---:|---:|",
        *other_losses(X, y),
    ]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
