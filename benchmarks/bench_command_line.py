"""The command line: seconds and memory of whole commands, from their start to their end.

    python benchmarks/bench_command_line.py [--rows N]

writes benchmarks/results/command_line.md: the start of the command, `properly fit` on 10,000 rows and 20 columns (goal:
five minutes), and `properly predict` on 10⁵ and on N = 10⁷ rows (goal: the same memory). ``properly audit`` has a
benchmark of its own.
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
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

RESULTS = Path(__file__).parent / "results" / "command_line.md"
TRAIN_ROWS, BLOCK = 10_000, 100_000


class Measured(NamedTuple):
    seconds: float
    cpu_seconds: float
    megabytes: float


def make_table(rows: int, seed: int) -> pa.Table:
    """16 columns of numbers, one of dates, one of truth values, two of categories; 8 % of the target are positive."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 16))
    colour, town = random.integers(0, 6, rows), random.integers(0, 40, rows)
    v = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.3 * (colour == 2) + 0.1 * (town % 3) - 3.0
    columns = {f"x{j}": pa.array(X[:, j], mask=random.random(rows) < 0.05 * (j == 3)) for j in range(16)}
    columns |= {
        "colour": np.array(list("abcdef"))[colour],
        "town": np.array([f"town {k}" for k in range(40)])[town],
        "flag": random.random(rows) < 0.3,
        "when": np.datetime64("2024-01-01") + random.integers(0, 300, rows),
        "y": np.where(random.random(rows) < 1.0 / (1.0 + np.exp(-v)), "yes", "no"),
    }
    return pa.table(columns)


def measure(*words: object) -> Measured:
    """Wall-clock and CPU seconds and the largest resident memory of a run in a process of its own."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "properly", *map(str, words)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"properly {' '.join(map(str, words))} ended with status {status}")
    unit = 1.0 if sys.platform == "darwin" else 1024.0
    return Measured(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 1e6)


def run(folder: Path, rows: int) -> dict[str, Measured]:
    found = {"`properly --version`, best of 5": min(measure("--version") for _ in range(5))}
    pyarrow.csv.write_csv(make_table(TRAIN_ROWS, 0), folder / "train.csv")
    model, report = folder / "model.skops", folder / "fit.html"
    fit = ("fit", folder / "train.csv", "--target", "y", "-o", model, "--report", report)
    found[f"`properly fit`, {TRAIN_ROWS:,} rows of CSV, all four models"] = measure(*fit)
    block = make_table(BLOCK, 1)
    for ending, sizes in ((".parquet", (BLOCK, rows)), (".csv", (BLOCK, max(BLOCK, rows // 10)))):
        for size in sizes:
            source, target = folder / f"new{ending}", folder / f"scored{ending}"
            make = pyarrow.parquet.ParquetWriter if ending == ".parquet" else pyarrow.csv.CSVWriter
            with make(source, block.schema) as writer:
                for _ in range(size // BLOCK):
                    writer.write_table(block)
            found[f"`properly predict`, {size:,} rows of {ending}"] = measure("predict", model, source, "-o", target)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        found = run(Path(folder), rows)
    lines = [
        "# The command line",
        "",
        f"Whole commands, from start to end; {os.cpu_count()} cores, Python {platform.python_version()}, NumPy "
        f"{np.__version__}, pyarrow {version('pyarrow')}. CPU seconds are those of all threads; where they are far "
        "fewer than the seconds on the clock, other programs were running. The memory of a command that needs little "
        "is that of the script which started it.",
        "",
        "| command | seconds | CPU seconds | memory, MB |",
        "|---|---:|---:|---:|",
    ]
    for name, each in found.items():
        lines.append(f"| {name} | {each.seconds:.2f} | {each.cpu_seconds:.2f} | {each.megabytes:.0f} |")
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
