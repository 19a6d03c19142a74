"""ProperBoostingClassifier with one and with two threads: where a second thread pays.

    python benchmarks/bench_threads.py

writes benchmarks/results/threads.md: seconds on the clock and of the CPU of 50 rounds, the shortest of three fits.
Other programs on the same cores make two threads look worse than they are: run it on an idle machine.
"""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

from properly.boosting import ProperBoostingClassifier
from properly.boosting.classifier import _CELLS_PER_THREAD

RESULTS = Path(__file__).parent / "results" / "threads.md"
SHAPES = ((846, 18), (10_000, 20), (100_000, 20), (200_000, 20), (400_000, 20), (1_000_000, 20))
ROUNDS, FITS = 50, 3


def measure(X: np.ndarray, y: np.ndarray, threads: int) -> tuple[float, float]:
    """Seconds on the clock, and of the CPU, of the fit that was the shortest on the clock."""
    found = []
    for _ in range(FITS):
        clock, cpu = time.perf_counter(), time.process_time()
        ProperBoostingClassifier(n_estimators=ROUNDS, early_stopping=False, n_jobs=threads).fit(X, y)
        found.append((time.perf_counter() - clock, time.process_time() - cpu))
    return min(found)


def main() -> None:
    random = np.random.default_rng(0)
    busy = os.getloadavg()[0]
    lines = [
        "# Threads of boosting",
        "",
        f"{ROUNDS} rounds, the shortest of {FITS} fits; {os.cpu_count()} cores, load {busy:.1f} at the beginning, "
        f"Python {platform.python_version()}, LightGBM {version('lightgbm')}. `n_jobs=None` takes a thread for every "
        f"{_CELLS_PER_THREAD:,} cells.",
        "",
        "| rows | columns | cells | one thread, s | CPU s | two threads, s | CPU s |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for n_rows, n_columns in SHAPES:
        X = random.normal(size=(n_rows, n_columns))
        y = random.random(n_rows) < 1.0 / (1.0 + np.exp(1.0 - X[:, 0] - X[:, 1] * X[:, 2]))
        seconds = " | ".join(f"{each:.2f}" for threads in (1, 2) for each in measure(X, y, threads))
        lines.append(f"| {n_rows:,} | {n_columns} | {n_rows * n_columns:,} | {seconds} |")
        print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
