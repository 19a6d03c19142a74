"""Calibrators at a million and ten million scores, against scikit-learn's and betacal's, in one run.

Scores are Gaussian in both classes, a tenth of the rows are positive. Times are CPU seconds of the process with one
BLAS thread, the best of several interleaved rounds (fewer at ten million).

    OMP_NUM_THREADS=1 python benchmarks/bench_calibration_speed.py [--rows N ...] [--rounds R]

writes benchmarks/results/calibration_speed.md. betacal is optional: without it, the logistic regression that it runs,
on its two features, stands in.
"""

from __future__ import annotations

import argparse
import platform
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from properly.calibration import AsymmetricLaplaceCalibration, BetaCalibration, IsotonicCalibration, PlattScaling

RESULTS = Path(__file__).parent / "results" / "calibration_speed.md"
Fit = Callable[[np.ndarray, np.ndarray], object]


def make_scores(rows: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    y = (random.random(rows) < 0.1).astype(int)
    return random.normal(size=rows) + 2.0 * y - 3.0, y


def betacal(scores: np.ndarray, y: np.ndarray) -> object:
    p = 1.0 / (1.0 + np.exp(-scores))
    if find_spec("betacal"):
        from betacal import BetaCalibration as Peer

        return Peer(parameters="abm").fit(p.reshape(-1, 1), y)
    return LogisticRegression(C=99999999999).fit(np.column_stack([np.log(p), -np.log1p(-p)]), y)


BETACAL = "betacal" if find_spec("betacal") else "logistic regression on betacal's features"
COMPARISONS: list[tuple[str, Fit, str, Fit, str]] = [
    ("Platt", PlattScaling().fit, "scikit-learn's sigmoid", _SigmoidCalibration().fit, "at least 5×"),
    ("beta", BetaCalibration().fit, BETACAL, betacal, "at least 5×"),
    (
        "isotonic",
        IsotonicCalibration().fit,
        "scikit-learn's",
        IsotonicRegression(out_of_bounds="clip").fit,
        "at least 3×",
    ),
    (
        "asymmetric Laplace",
        AsymmetricLaplaceCalibration().fit,
        "our isotonic",
        IsotonicCalibration().fit,
        "at least 0.77×",
    ),
]


def seconds(fit: Fit, scores: np.ndarray, y: np.ndarray) -> float:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(scores, y)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    lines = [
        "# The speed of calibrators",
        "",
        f"CPU seconds, best of {arguments.rounds} interleaved rounds (three at most at ten million); Python "
        f"{platform.python_version()}, NumPy {version('numpy')}, scikit-learn {version('scikit-learn')}.",
        "",
        "| rows | method | ours, s | peer | peer, s | peer / ours | goal |",
        "|---:|---|---:|---|---:|---:|---|",
    ]
    for rows in arguments.rows:
        scores, y = make_scores(rows)
        for name, ours, peer_name, peer, goal in COMPARISONS:
            times = [
                (seconds(ours, scores, y), seconds(peer, scores, y))
                for _ in range(arguments.rounds if rows < 10_000_000 else min(3, arguments.rounds))
            ]
            best, best_peer = np.min(times, axis=0)
            lines.append(
                f"| {rows:,} | {name} | {best:.3f} | {peer_name} | {best_peer:.3f} | {best_peer / best:.1f} | {goal} |"
            )
            print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"written to {RESULTS}")


if __name__ == "__main__":
    main()
