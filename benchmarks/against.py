"""The speed of this checkout against another one, case by case in alternation: ratios, not seconds, mean something.

    python benchmarks/against.py ../older-checkout/src [rounds]

Every case runs in a process of its own, old and new in turn; the least processor time of the rounds counts. A ratio
above 1 means that this checkout is faster.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

HEAD = """
import json, sys, time
import numpy as np
random = np.random.RandomState(0)
def rows(n, k, classes=2):
    X = random.normal(size=(n, k))
    v = X @ random.normal(size=(k, classes)) / np.sqrt(k) + random.gumbel(size=(n, classes))
    return X, v.argmax(axis=1)
def timed(work, at_least=0.3):
    work()
    best, spent = np.inf, 0.0
    while spent < at_least:
        start = time.process_time(); work(); took = time.process_time() - start
        best, spent = min(best, took), spent + took
    print(json.dumps(best))
"""
LINEAR = (
    "from properly.linear import ProperLinearClassifier\nfrom properly.losses import GEVLoss\nX, y = rows({shape})\n"
)
SCORES = """
s = random.normal(size={n}) * 2.0
y = (random.random_sample({n}) < 1.0 / (1.0 + np.exp(-0.7 * s))).astype(int)
import properly.calibration as calibration
"""
CASES = {
    "log loss, 200,000 × 50": LINEAR.format(shape="200_000, 50") + "timed(lambda: ProperLinearClassifier().fit(X, y))",
    "log loss, 10,000 × 20": LINEAR.format(shape="10_000, 20") + "timed(lambda: ProperLinearClassifier().fit(X, y))",
    "log loss, 200 × 5": LINEAR.format(shape="200, 5") + "timed(lambda: ProperLinearClassifier().fit(X, y))",
    "GEV loss, 100,000 × 20": LINEAR.format(shape="100_000, 20")
    + "timed(lambda: ProperLinearClassifier(GEVLoss(-0.2)).fit(X, y))",
    "probit, 100,000 × 20": LINEAR.format(shape="100_000, 20")
    + "timed(lambda: ProperLinearClassifier('log', 'probit').fit(X, y))",
    "softmax, 20,000 × 20, 5 classes": LINEAR.format(shape="20_000, 20, 5")
    + "timed(lambda: ProperLinearClassifier().fit(X, y))",
    "L1, 2,000 × 200": LINEAR.format(shape="2_000, 200")
    + "timed(lambda: ProperLinearClassifier(C=0.05, l1_ratio=1.0).fit(X, y))",
    "predict_proba, 1,000,000 × 20": LINEAR.format(shape="1_000_000, 20")
    + "model = ProperLinearClassifier().fit(X[:5000], y[:5000])\ntimed(lambda: model.predict_proba(X))",
    **{
        f"{name}, {n:,}": SCORES.format(n=n) + f"timed(lambda: calibration.{name}().fit(s, y))"
        for name, n in (
            ("PlattScaling", 2_000_000),
            ("BetaCalibration", 2_000_000),
            ("IsotonicCalibration", 2_000_000),
            ("TemperatureScaling", 1_000_000),
            ("AutoCalibration", 10_000),
            ("AutoCalibration", 100_000),
        )
    },
}


def seconds(source: str, code: str) -> float:
    environment = os.environ | {"PYTHONPATH": source, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", HEAD + code], env=environment, capture_output=True, text=True, check=True
    )
    return float(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    old, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    new = str(Path(__file__).parents[1] / "src")
    print("| case | other checkout | this one | ratio |\n|---|---|---|---|")
    for name, code in CASES.items():
        times = [(seconds(old, code), seconds(new, code)) for _ in range(rounds)]
        before, after = (min(each) for each in zip(*times, strict=True))
        print(f"| {name} | {1e3 * before:.1f} ms | {1e3 * after:.1f} ms | {before / after:.2f} |", flush=True)


if __name__ == "__main__":
    main()
