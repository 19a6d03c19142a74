"""Fits of tailored losses in units of a logistic fit: n = 100,000, k = 20, logit link, C = 1.

CPU seconds of the process, the best of several interleaved rounds.

    OMP_NUM_THREADS=1 python benchmarks/bench_tailored.py [--rounds R]

writes benchmarks/results/tailored.md.
"""

from __future__ import annotations

import argparse
import platform
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

from properly.datasets import make_rare_events
from properly.linear import ProperLinearClassifier, TailoredLinearClassifierCV
from properly.losses import BetaLoss

RESULTS = Path(__file__).parent / "results" / "tailored.md"
THRESHOLDS, CONCENTRATIONS = (0.1, 0.3, 0.5), (10, 30, 100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    X, y, _ = make_rare_events(100_000, 20, rate=0.2, random_state=0)
    models = {"logistic": ProperLinearClassifier()}
    for at in THRESHOLDS:
        for concentration in CONCENTRATIONS:
            loss = BetaLoss.tailored(at, concentration)
            models[f"tailored at {at}, concentration {concentration}"] = ProperLinearClassifier(loss, "logit")
    models["TailoredLinearClassifierCV(at=0.3)"] = TailoredLinearClassifierCV(0.3)
    times: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(rounds):
        for name, model in models.items():
            start = time.process_time()
            model.fit(X, y)
            times[name].append(time.process_time() - start)
    unit = min(times["logistic"])
    lines = [
        "# Tailored losses",
        "",
        f"CPU seconds, best of {rounds} interleaved rounds; Python {platform.python_version()}, "
        f"NumPy {version('numpy')}, SciPy {version('scipy')}.",
        "",
        "| model | seconds | logistic fits |",
        "|---|---:|---:|",
        *(f"| {name} | {np.min(values):.3f} | {np.min(values) / unit:.1f} |" for name, values in times.items()),
    ]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
