"""`AutoCalibration` of two classes at ten thousand to ten million rows: processor time, memory, and agreement.

    python benchmarks/bench_auto_calibration.py [--rows N ...] [--other ../older-checkout/src]

Every size runs in a process of its own, with one thread; another checkout beside it up to a million rows, where
probabilities at 10,000 scores are compared. Writes benchmarks/results/auto_calibration.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results" / "auto_calibration.md"
MOST_ROWS_OF_OTHER = 1_000_000
CODE = """
import json, resource, sys, time
import numpy as np
from properly.calibration import AutoCalibration
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
rows = int(sys.argv[1])
random = np.random.default_rng(0)
score = 2.0 * random.normal(size=rows) - 0.5
y = random.random(rows) < 1.0 / (1.0 + np.exp(-2.0 * np.tanh(score)))
AutoCalibration().fit(score[:1000], y[:1000])
before, start = peak(), time.process_time()
model = AutoCalibration().fit(score, y)
fit = time.process_time() - start
memory = peak() - before
np.save(sys.argv[2], model.predict_proba(score[:10_000])[:, 1])
start = time.process_time()
model.predict_proba(score)
predict = time.process_time() - start
print(json.dumps([fit, predict, memory, peak() - before]))
"""


def measured(source: Path, rows: int, probabilities: Path) -> list[float]:
    """Seconds of fit and of predict_proba, MiB above the data after fit and after both."""
    environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", CODE, str(rows), str(probabilities)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000, 10_000_000])
    parser.add_argument("--other", type=Path, help="the folder src of another checkout, which fits to all rows")
    arguments = parser.parse_args()
    lines = [
        "# AutoCalibration against the number of rows",
        "",
        "Two classes, Gaussian scores, log-odds 2 tanh(score). Processor seconds of one thread, one run each on a busy",
        "machine; memory is the peak above the data's. The other checkout fits to all rows; the last column has the",
        f"largest difference of 10,000 probabilities. Python {platform.python_version()}, NumPy {version('numpy')}.",
        "",
        "| rows | fit, s | predict, s | fit, MiB | both, MiB | other: fit, s | predict, s | both, MiB | difference |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        own, its = (Path(folder) / f"{name}.npy" for name in ("own", "other"))
        for rows in arguments.rows:
            fit, predict, memory, both = measured(Path(__file__).parents[1] / "src", rows, own)
            cells = [f"{rows:,}", f"{fit:.2f}", f"{predict:.2f}", f"{memory:.0f}", f"{both:.0f}"]
            if arguments.other is None or rows > MOST_ROWS_OF_OTHER:
                cells += ["–"] * 4
            else:
                fit, predict, _, both = measured(arguments.other, rows, its)
                difference = np.abs(np.load(own) - np.load(its)).max()
                cells += [f"{fit:.2f}", f"{predict:.2f}", f"{both:.0f}", f"{difference:.0e}"]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"written to {RESULTS}")


if __name__ == "__main__":
    main()
