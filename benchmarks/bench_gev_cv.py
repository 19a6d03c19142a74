"""What choosing ξ and C costs: the default grid of GEVCanonicalRegressionCV in units of a single fit.

The grid has ten links (nine ξ and the logit), ten C and five folds: 500 fits, and up to ten more to all rows. Times are
CPU seconds of the process (threads included), the best of several rounds, single fits and grids interleaved.

    python benchmarks/bench_gev_cv.py [--rounds R]

writes benchmarks/results/gev_cv.md.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from properly.datasets import make_rare_events
from properly.linear import GEVCanonicalRegression, GEVCanonicalRegressionCV
from properly.links import GEV

RESULTS = Path(__file__).parent / "results" / "gev_cv.md"
SIZES = [(2_000, 20), (20_000, 20), (20_000, 100), (100_000, 50), (300_000, 50)]
GOAL = 60


def seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def row(n: int, k: int, rounds: int) -> str:
    X, y, _ = make_rare_events(n, k, rate=0.03, link=GEV(0.2), random_state=0)
    single, grid = [], []
    for _ in range(rounds):
        single += [seconds(lambda: GEVCanonicalRegression(0.2).fit(X, y)) for _ in range(3)]
        grid.append(seconds(lambda: GEVCanonicalRegressionCV().fit(X, y)))
    return f"| {n:,} | {k} | {min(single):.3f} | {min(grid):.2f} | {min(grid) / min(single):.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    lines = [
        "# The cost of choosing ξ and C",
        "",
        "Default grid of `GEVCanonicalRegressionCV` (500 fits) against one `GEVCanonicalRegression`; the goal: at most "
        f"{GOAL} single fits. CPU seconds, best of {rounds} interleaved rounds; Python {platform.python_version()}, "
        f"NumPy {version('numpy')}.",
        "",
        "| rows | features | one fit, s | whole grid, s | single fits |",
        "|---:|---:|---:|---:|---:|",
    ]
    for n, k in SIZES:
        lines.append(row(n, k, rounds))
        print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"written to {RESULTS}")


if __name__ == "__main__":
    main()
