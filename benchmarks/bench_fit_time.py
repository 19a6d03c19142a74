"""Time and memory of ``properly fit`` at its defaults, from file to file, by the size of the table.

    python benchmarks/bench_fit_time.py [--sizes 1000x20,10000x20] [--load "others were at work"]

Two classes, a quarter of the columns categories, a score with bends and products. Every size is a process of its own:
seconds, processor seconds of all threads, and the largest resident memory, with that of `import properly` and its
libraries. Sizes that are not run keep their line in benchmarks/results/fit_time.csv, from which fit_time.md is written.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

RESULTS = Path(__file__).parent / "results"
GOALS = {"1000x20": 20.0, "10000x20": 60.0, "100000x30": 180.0, "1000000x30": 900.0}  # seconds on two cores
MEMORY, TABLES = 500.0, 3.0  # MB, and so many times the table as numbers of 8 bytes
MB = 1e6


def table(n_rows: int, n_columns: int) -> pd.DataFrame:
    random = np.random.default_rng(0)
    n_categories = n_columns // 4
    X = pd.DataFrame(random.normal(size=(n_rows, n_columns - n_categories))).add_prefix("x")
    codes = random.integers(0, 8, size=(n_rows, n_categories))
    v = X["x0"] + np.sin(2.0 * X["x1"]) + X["x2"] * X["x3"] + 0.5 * np.isin(codes[:, 0], [1, 4, 6])
    for j in range(n_categories):
        X[f"c{j}"] = np.array([f"level {k}" for k in range(8)])[codes[:, j]]
    return X.assign(target=np.where(random.random(n_rows) < 1.0 / (1.0 + np.exp(0.5 - v)), "yes", "no"))


def measured(size: str) -> dict[str, float | str]:
    n_rows, n_columns = map(int, size.split("x"))
    with TemporaryDirectory() as folder:
        path = f"{folder}/table.parquet"
        table(n_rows, n_columns).to_parquet(path, index=False)
        command = [sys.executable, "-m", "properly", "fit", path, "--target", "target"]
        command += ["-o", f"{folder}/model.skops", "--report", f"{folder}/fit.html"]
        start = time.monotonic()
        _, status, used = os.wait4(os.posix_spawn(sys.executable, command, os.environ), 0)
        seconds = time.monotonic() - start
        if status:
            sys.exit(f"properly fit failed on {size}")
    cpu = used.ru_utime + used.ru_stime
    return {"size": size, "seconds": seconds, "cpu_seconds": cpu, "megabytes": used.ru_maxrss * 1024 / MB}


def page(found: pd.DataFrame) -> str:
    lines = [
        "# How long properly fit takes",
        "",
        "`properly fit` at its defaults on made-up tables of two classes, a quarter of the columns categories; one run",
        "each, from a Parquet file to model and report. Memory is the largest resident set, libraries included; its",
        f"goal is {MEMORY:.0f} MB and {TABLES:.0f} times the table as numbers of 8 bytes.",
        "",
        "| rows × columns | seconds | goal on two quiet cores | processor seconds | memory in MB | goal | while |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for each in found.sort_values("cpu_seconds").itertuples():
        n_rows, n_columns = map(int, each.size.split("x"))
        goal = MEMORY + TABLES * n_rows * n_columns * 8 / MB
        lines.append(
            f"| {n_rows:,} × {n_columns} | {each.seconds:.0f} | {GOALS[each.size]:.0f} | {each.cpu_seconds:.0f} | "
            f"{each.megabytes:.0f} | {goal:.0f} | {each.load} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=lambda text: text.split(","), default=list(GOALS))
    parser.add_argument("--load", default="the machine was quiet", help="what else the machine did")
    asked = parser.parse_args()
    path = RESULTS / "fit_time.csv"
    for size in asked.sizes:
        new = pd.DataFrame([{**measured(size), "load": asked.load}])
        print(new.to_string(index=False, header=False), flush=True)
        before = pd.read_csv(path) if path.exists() else new[:0]
        found = pd.concat([before[before["size"] != size], new])
        found.to_csv(path, index=False, float_format="%.1f")
        (RESULTS / "fit_time.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
