"""What a fit to files costs: measured, and by a model of bytes read and products formed.

    python benchmarks/bench_cost_model.py

writes benchmarks/results/cost_model.md. The model has two constants, both measured beforehand: the CPU time to decode a
byte of Parquet, and that of a multiplication with an addition in a Newton pass in memory. A pass over n rows of k
columns of float32 reads 4nk bytes and does n k (k + 4) multiplications (scores, gradient, half of the symmetric
matrix); a fit is five passes. Every measurement has a process of its own.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from properly import kernels
from properly.engines import Stream
from properly.engines.memory import MemoryEngine
from properly.kernels import LinearModel
from properly.linear import ProperLinearClassifier
from properly.losses import Composite, LogLoss

RESULTS = Path(__file__).parent / "results" / "cost_model.md"
CASES = [(10**5, 20), (10**6, 20), (3 * 10**6, 20), (10**6, 5), (10**6, 80)]
GROUP = 2**17


def write(folder: str, rows: int, columns: int) -> None:
    random = np.random.default_rng(0)
    weights = random.normal(size=columns) / np.sqrt(columns)
    for number in range(4):
        X = random.standard_normal((rows // 4, columns), dtype=np.float32)
        y = random.random(len(X)) < 1.0 / (1.0 + np.exp(4.0 - X @ weights))
        table = pa.table({f"x{j}": column for j, column in enumerate(X.T)} | {"y": y.astype(np.int8)})
        pq.write_table(table, f"{folder}/{number}.parquet", row_group_size=GROUP)


def decode(folder: str) -> None:
    for _ in ds.dataset(folder).to_batches(batch_size=GROUP, batch_readahead=2, fragment_readahead=1):
        pass


def arithmetic(folder: str) -> dict[str, float]:
    """A Newton pass over a million rows of 20 columns in memory."""
    X = np.asfortranarray(np.random.default_rng(0).standard_normal((10**6, 20), dtype=np.float32))
    engine, model = MemoryEngine(X, (X[:, 0] > 2.0).astype(np.intp)), LinearModel(Composite(LogLoss()))
    begin = time.process_time()
    engine.reduce(kernels.newton, model, np.zeros((1, 21)), True, (False,))
    return {"cpu": time.process_time() - begin}


def fit(folder: str) -> dict[str, float]:
    return {"passes": ProperLinearClassifier().fit(Stream(folder, target="y")).n_passes_}


def measured(what: str, folder: str, threads: int = 2) -> dict[str, float]:
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    command = [sys.executable, __file__, what, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return dict(json.loads(done.stdout))


def main() -> None:
    lines = [
        "# What a fit to files costs",
        "",
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.0f} at the beginning, Python {platform.python_version()}, "
        f"NumPy {version('numpy')}, pyarrow {version('pyarrow')}.",
        "",
    ]
    per_product = measured("arithmetic", ".")["cpu"] / (10**6 * 20 * 24)
    body = []
    per_byte = 0.0
    for rows, columns in CASES:
        with TemporaryDirectory() as folder:
            write(folder, rows, columns)
            if (rows, columns) == (10**6, 20):
                per_byte = measured("decode", folder)["cpu"] / (4.0 * rows * columns)
            for threads in (2, 1) if rows == 10**6 and columns == 20 else (2,):
                found = measured("fit", folder, threads)
                body.append((rows, columns, threads, found))
    lines += [
        f"Decoding: {1e-9 / per_byte:.2g} GB per CPU second. Arithmetic: {1e-9 / per_product:.2g} · 10⁹ products.",
        "",
        "| rows | columns | threads | passes | CPU, s | by the model, s | clock, s |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for rows, columns, threads, found in body:
        model = found["passes"] * rows * columns * (4.0 * per_byte + (columns + 4) * per_product)
        lines.append(
            f"| {rows:,} | {columns} | {threads} | {found['passes']:.0f} | {found['cpu']:.1f} | {model:.1f} | "
            f"{found['clock']:.1f} |"
        )
        print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        begin, cpu = time.perf_counter(), time.process_time()
        found = globals()[sys.argv[1]](sys.argv[2]) or {}
        print(json.dumps({"clock": time.perf_counter() - begin, "cpu": time.process_time() - cpu} | found))
    else:
        main()
