"""How the time of a fit to rows elsewhere grows with rows, columns and workers, beside a model of bytes and products.

    python benchmarks/bench_cost_model.py [--most ROWS] [--folder FOLDER]

writes benchmarks/results/cost_model.md and cost_model.png. A pass over n rows of k columns of float32 reads 4nk bytes;
a gradient does 2nk multiplications, a pass with a matrix nk(k + 4); of the passes of a fit two have a matrix. The four
constants of the model are measured beforehand, with one thread: the CPU time to decode a byte of Parquet, that of a
cell of a gradient in memory, that of a product of a pass with a matrix, and the time of a task of Dask that has hardly
anything to do. Every measurement has a process of its own. Files are written for it, 8 GB of them for 10⁸ rows. Dask
and Spark fit rows that they hold already; the fit before that is not counted. With a folder, files and measurements
are kept there, and what has been measured is not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

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

RESULTS = Path(__file__).parent / "results"
ROWS, COLUMNS = [10**5, 10**6, 10**7, 10**8], [5, 20, 80, 320]
MANY, FILES, GROUP = 5_000_000, 8, 2**17
MODEL = LinearModel(Composite(LogLoss()))
Found = dict[str, float]


def rows_of(rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    weights = np.random.default_rng(0).normal(size=columns) / np.sqrt(columns)
    random = np.random.default_rng([1, seed])
    X = random.standard_normal((rows, columns), dtype=np.float32)
    return X, (random.random(rows) < 1.0 / (1.0 + np.exp(4.0 - X @ weights))).astype(np.int8)


def write(folder: Path, rows: int, columns: int) -> None:
    folder.mkdir(parents=True)
    for number in range(FILES):
        X, y = rows_of(rows // FILES, columns, number)
        table = pa.table({f"x{j}": column for j, column in enumerate(X.T)} | {"y": y})
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=GROUP)


def decoding(folder: str, _: int) -> Found:
    """The mean of three rounds after one that is not counted, as most passes of a fit are not the first."""
    seconds = []
    for _ in range(4):
        begin = time.process_time()
        for _ in ds.dataset(folder, format="parquet").to_batches(use_threads=False, batch_readahead=0):
            pass
        seconds.append(time.process_time() - begin)
    return {"seconds": sum(seconds[1:]) / 3.0}


def arithmetic(folder: str, _: int) -> Found:
    """A gradient, and a pass with a matrix, over a million rows of 20 columns."""
    X, y = rows_of(10**6, 20, 0)
    engine, found = MemoryEngine(np.asfortranarray(X), y.astype(np.intp)), {}
    coef = np.zeros((1, 21))
    works = {
        "gradient": (kernels.gradient, MODEL, coef, False),
        "matrix": (kernels.newton, MODEL, coef, False, (False,)),
    }
    for name, work in works.items():
        times = []
        for _ in range(4):
            begin = time.process_time()
            engine.reduce(*work)
            times.append(time.process_time() - begin)
        found[name] = min(times)
    return found


def task(folder: str, _: int) -> Found:
    """The time of one of 2,000 tasks of Dask."""
    import dask.array as da
    import distributed

    from properly.engines.dask import DaskEngine

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        X, y = rows_of(200_000, 20, 0)
        data = da.from_array(X, chunks=(100, 20)), da.from_array(y, chunks=100)
        engine, _ = DaskEngine.of_training_data(ProperLinearClassifier(), *data, None, None)
        begin = time.perf_counter()
        engine.reduce(kernels.gradient, MODEL, np.zeros((1, 21)), False)
        return {"seconds": (time.perf_counter() - begin) / 2000}


def files(folder: str, _: int) -> Found:
    begin, cpu = time.perf_counter(), time.process_time()
    passes = ProperLinearClassifier().fit(Stream(folder, target="y")).n_passes_
    return {"passes": passes, "clock": time.perf_counter() - begin, "cpu": time.process_time() - cpu}


def second_of(fit: Any) -> Found:
    fit()
    begin = time.perf_counter()
    return {"passes": fit().n_passes_, "clock": time.perf_counter() - begin}


def dask(folder: str, workers: int) -> Found:
    import dask.dataframe as dd
    import distributed

    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": "10GB"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        frame = client.persist(dd.read_parquet(folder))
        X = client.persist(frame[[name for name in frame.columns if name != "y"]].to_dask_array(lengths=True))
        distributed.wait(X)
        return second_of(lambda: ProperLinearClassifier().fit(X, frame["y"].to_dask_array(lengths=True)))


def spark(folder: str, workers: int) -> Found:
    from pyspark.sql import SparkSession

    from properly.engines import Spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{workers}]").config("spark.driver.memory", "8g")
    for name in ("spark.driver.bindAddress", "spark.driver.host"):
        builder = builder.config(name, "127.0.0.1")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    frame = session.read.parquet(folder).cache()
    frame.count()
    found = second_of(lambda: ProperLinearClassifier().fit(Spark(frame, target="y")))
    session.stop()
    return found


KINDS = {each.__name__: each for each in (decoding, arithmetic, task, files, dask, spark)}


class Bench:
    """Measurements by kind, rows, columns and workers."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def of(self, kind: str, rows: int = 10**6, columns: int = 20, workers: int = 1) -> Found:
        data = self.place / f"{rows} {columns}"
        if not data.exists():
            write(data, rows, columns)
        record = self.place / f"{kind} {rows} {columns} {workers}.json"
        if not record.exists():
            threads = str(workers if kind == "files" else 1)
            environment = os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
            command = [sys.executable, __file__, "--alone", kind, str(data), str(workers), str(record)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
            if done.returncode:
                raise SystemExit(f"{kind}: {done.stderr[-2000:]}")
        found: Found = json.loads(record.read_text(encoding="ascii"))
        print(kind, rows, columns, workers, {name: round(value, 4) for name, value in found.items()}, flush=True)
        return found


class Model:
    def __init__(self, bench: Bench) -> None:
        products = bench.of("arithmetic")
        self.byte = bench.of("decoding")["seconds"] / (4 * 10**6 * 20)
        self.cell = products["gradient"] / (10**6 * 20)
        self.product = products["matrix"] / (10**6 * 20 * 24)
        self.task = bench.of("task")["seconds"]

    def cpu(self, rows: float, columns: int, passes: float = 5.0) -> float:
        per_cell = passes * 4.0 * self.byte + (passes - 2.0) * self.cell + 2.0 * (columns + 4) * self.product
        return rows * columns * per_cell


def far(model: Model) -> list[str]:
    """10¹⁰ rows of 20 columns on 100 machines of 8 cores."""
    n, k, cores = 10**10, 20, 800
    cpu = model.cpu(n, k) / cores
    lines = ["", f"{n:.0e} rows of {k} columns on 100 machines of 8 cores, by the model:", ""]
    lines += ["| parts of | parts | tasks, s a pass | sums to the client, a pass | arithmetic and decoding, s a core |"]
    lines += ["|---|---:|---:|---:|---:|"]
    for name, size in (("16 MiB", 2**24), ("256 MiB", 2**28), ("1 GiB", 2**30)):
        parts = 4.0 * n * k / size
        sums = parts * 8.0 * (k + 1) ** 2
        lines.append(f"| {name} | {parts:,.0f} | {parts * model.task:.1f} | {sums / 1e6:,.0f} MB | {cpu:.0f} in all |")
    return lines


def draw(model: Model, by_rows: dict[int, Found], by_columns: dict[int, Found]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.4))
    for axis, found, name in ((axes[0], by_rows, "rows"), (axes[1], by_columns, "columns")):
        sizes = list(found)
        axis.loglog(sizes, [each["cpu"] for each in found.values()], "o-", label="fit to Parquet files")
        modelled = [
            model.cpu(10**6 if name == "columns" else size, size if name == "columns" else 20, each["passes"])
            for size, each in found.items()
        ]
        axis.loglog(sizes, modelled, "--", color="grey", label="bytes and products")
        axis.set(xlabel=name, ylabel="seconds of the processor")
        axis.set_title("20 columns" if name == "rows" else "1,000,000 rows")
        axis.grid(alpha=0.3)
        axis.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(RESULTS / "cost_model.png", dpi=110)


def main(most: int, folder: str | None) -> None:
    load = os.getloadavg()[0]
    with nullcontext(folder) if folder else TemporaryDirectory() as place:
        bench = Bench(Path(place))
        model = Model(bench)
        by_rows = {rows: bench.of("files", rows, 20, 2) for rows in ROWS if rows <= most}
        by_columns = {columns: bench.of("files", 10**6, columns, 2) for columns in COLUMNS}
        by_workers = {kind: [bench.of(kind, MANY, 20, n) for n in (1, 2)] for kind in ("files", "dask", "spark")}
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pyarrow", "dask", "pyspark"))
    lines = [
        "# What a fit to rows elsewhere costs",
        "",
        f"{os.cpu_count()} cores, load {load:.0f} at the beginning, Python {platform.python_version()}, {packages}.",
        "",
        f"Decoding: {1e-9 / model.byte:.2g} GB per CPU second. A gradient: {1e-9 / model.cell:.2g} · 10⁹ cells. A pass "
        f"with a matrix: {1e-9 / model.product:.2g} · 10⁹ products. A task of Dask: {1e3 * model.task:.2g} ms.",
        "",
        "Parquet files, two threads:",
        "",
        "| rows | columns | passes | clock, s | CPU, s | by the model, s |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    cases = [(rows, 20, found) for rows, found in by_rows.items()]
    cases += [(10**6, columns, found) for columns, found in by_columns.items() if columns != 20]
    for rows, columns, found in cases:
        modelled = model.cpu(rows, columns, found["passes"])
        numbers = f"{found['clock']:.2f} | {found['cpu']:.2f} | {modelled:.2f}"
        lines.append(f"| {rows:,} | {columns} | {found['passes']:.0f} | {numbers} |")
    lines += ["", f"{MANY:,} rows of 20 columns, seconds on the clock:", ""]
    lines += ["| | one worker | two workers | ratio |", "|---|---:|---:|---:|"]
    names = {"files": "files, threads", "dask": "Dask, processes", "spark": "Spark, tasks"}
    for kind, (one, two) in by_workers.items():
        one_s, two_s = one["clock"], two["clock"]
        lines.append(f"| {names[kind]} | {one_s:.2f} | {two_s:.2f} | {one_s / two_s:.1f} |")
    (RESULTS / "cost_model.md").write_text("\n".join(lines + far(model)) + "\n", encoding="utf-8")
    draw(model, by_rows, by_columns)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        what, place, count, answer = sys.argv[2:]
        Path(answer).write_text(json.dumps(KINDS[what](place, int(count))), encoding="ascii")
    else:
        parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        parser.add_argument("--most", type=float, default=1e8, help="the largest number of rows (default: 1e8)")
        parser.add_argument("--folder", help="keeps files and measurements there, so that a run can be continued")
        given = parser.parse_args()
        main(int(given.most), given.folder)
