"""``properly audit`` on ten million rows: seconds and memory of the whole command, from its start to its end.

    python benchmarks/bench_audit.py [--rows N] [--only NAME]

writes benchmarks/results/audit.md. The goals are 60 seconds on two cores and 2 GB. The file is Parquet with a target of
whole numbers, a probability, a group as text, a weight and a column that is not needed; 6 % of the rows are positive.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RESULTS = Path(__file__).parent / "results" / "audit.md"
PLAIN = ["--target", "y", "--probability", "p"]
CASES = {
    "target and probability": PLAIN,
    "and groups and costs": [*PLAIN, "--group", "group", "--costs", "1:20"],
    "and weights": [*PLAIN, "--group", "group", "--costs", "1:20", "--weight", "weight"],
}


def write_predictions(path: Path, rows: int) -> None:
    random = np.random.default_rng(0)
    score = random.normal(size=rows) * 1.8 - 4.5
    odds = np.exp(-(0.7 * score - 0.3))
    table = pa.table(
        {
            "y": (random.random(rows) * (1.0 + odds) < 1.0).astype(np.int64),
            "p": 1.0 / (1.0 + np.exp(-score)),
            "group": np.array(["north", "east", "south", "west"])[random.integers(4, size=rows)],
            "weight": random.random(rows) * 2.0,
            "unused": random.random(rows),
        }
    )
    pq.write_table(table, path)


def measure(words: list[str]) -> tuple[float, float, float]:
    """Wall-clock seconds, CPU seconds and the largest resident memory in GB of a run in a process of its own."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "properly", "audit", *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"properly audit {' '.join(words)} ended with status {status}")
    unit = 1.0 if sys.platform == "darwin" else 1024.0
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--only", choices=CASES)
    arguments = parser.parse_args()
    lines = [
        "# An audit of many rows",
        "",
        f"`properly audit` of a Parquet file of {arguments.rows:,} rows and five columns, from start to end, report "
        f"included; {os.cpu_count()} cores, Python {platform.python_version()}, NumPy {version('numpy')}, "
        f"pyarrow {version('pyarrow')}. CPU seconds are those of all threads; where they are fewer than the seconds on "
        "the clock, other programs were running.",
        "",
        "| columns | seconds | CPU seconds | memory, GB | goal |",
        "|---|---:|---:|---:|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "predictions.parquet")
        write_predictions(path, arguments.rows)
        for name, words in CASES.items():
            if arguments.only in (None, name):
                seconds, cpu, memory = measure([str(path), *words, "--report", str(Path(folder, "audit.html"))])
                lines.append(f"| {name} | {seconds:.1f} | {cpu:.1f} | {memory:.2f} | 60 s, 2 GB |")
                print(lines[-1], flush=True)
    if arguments.only is None:
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
