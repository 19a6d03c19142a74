"""Every metric at ten million rows: CPU seconds, and the memory it takes besides labels and forecasts.

A tenth of the rows is positive, forecasts are calibrated.

    OMP_NUM_THREADS=1 python benchmarks/bench_metrics.py [--rows N]

writes benchmarks/results/metrics.md. Memory is the peak of what the metric allocates, as Python traces it.
"""

from __future__ import annotations

import argparse
import platform
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from properly import diagnostics, metrics

RESULTS = Path(__file__).parent / "results" / "metrics.md"
GRID = np.linspace(0.0, 0.999, 1000)
Metric = Callable[..., Any]


def other(p: np.ndarray) -> np.ndarray:
    """Another forecast of the same rows."""
    return np.abs(p - 0.01)


def losses(y: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return metrics.row_losses(y, p, "squared"), metrics.row_losses(y, other(p), "squared")


METRICS: dict[str, Metric] = {
    "log_loss": metrics.log_loss,
    "brier_score": metrics.brier_score,
    "score_decomposition": metrics.score_decomposition,
    "calibration_loss": metrics.calibration_loss,
    "expected_calibration_error, width": metrics.expected_calibration_error,
    "expected_calibration_error, mass": partial(metrics.expected_calibration_error, strategy="mass"),
    "smooth_calibration_error": metrics.smooth_calibration_error,
    "cost_weighted_error, 1,000 thresholds": lambda y, p, **w: metrics.cost_weighted_error(y, p, GRID, **w),
    "murphy, exact": partial(diagnostics.murphy, thresholds="exact"),
    "decision_curve, 1,000 thresholds": partial(diagnostics.decision_curve, thresholds=GRID),
    "best_threshold": lambda y, p, **w: metrics.best_threshold(y, p, (1, 20), **w),
    "decide": lambda y, p, **w: metrics.decide(p, (1, 20)),
    "auc": metrics.auc,
    "auc_difference": lambda y, p, **w: metrics.auc_difference(y, p, other(p), **w),
    "row_losses of two forecasts, sign_test": lambda y, p, **w: metrics.sign_test(*losses(y, p), **w),
    "row_losses of two forecasts, paired_bootstrap": lambda y, p, **w: metrics.paired_bootstrap(
        *losses(y, p), random_state=0, **w
    ),
}


def seconds_and_megabytes(run: Callable[[], Any]) -> tuple[float, float]:
    start = time.process_time()
    run()
    seconds = time.process_time() - start
    tracemalloc.start()
    run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return seconds, peak / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    rows = parser.parse_args().rows
    lines = [
        "# The speed of metrics",
        "",
        f"{rows:,} rows, CPU seconds and megabytes besides labels, forecasts and weights; Python "
        f"{platform.python_version()}, NumPy {version('numpy')}, SciPy {version('scipy')}.",
        "",
        "| metric | s | MB | s, weighted | MB, weighted |",
        "|---|---:|---:|---:|---:|",
    ]
    random = np.random.default_rng(0)
    p = random.beta(0.5, 4.5, rows)
    y, weight = random.random(rows) < p, random.random(rows)
    for name, metric in METRICS.items():
        plain = seconds_and_megabytes(partial(metric, y, p))
        weighted = seconds_and_megabytes(partial(metric, y, p, sample_weight=weight))
        lines.append(f"| {name} | {plain[0]:.1f} | {plain[1]:.0f} | {weighted[0]:.1f} | {weighted[1]:.0f} |")
        print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
