"""Fits by Dask and Spark on one machine, beside a plain decode of the files, memory, dask-ml and Spark ML, in one run.

    python benchmarks/bench_clusters.py [ROWS ...] [--only memory dask dask_ml spark] [--folder FOLDER]

writes benchmarks/results/clusters.md. 20 columns of float32 in Parquet, 2 % positives, no penalty; every kind has a
process of its own. Dask has two worker processes of one thread, Spark two tasks at a time (`local[2]`), and all of one
kind fit the same data, which the cluster holds already: Dask's arrays, Spark's cached frame, of columns, which Spark ML
has to assemble into vectors, or of such vectors. Fits of two packages alternate; each number is the median of three
rounds after one that is not counted. Spark ML's tolerance is lowered until its coefficients are within 1e-8 of the
optimum or stop improving, and the first one with the final error counts. dask-ml is left out where it is not installed.
With a folder, files and measurements are kept there, and what has been measured is not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from properly import kernels
from properly.engines.memory import MemoryEngine
from properly.kernels import LinearModel
from properly.linear import ProperLinearClassifier
from properly.losses import Composite, LogLoss

RESULTS = Path(__file__).parent / "results" / "clusters.md"
FEATURES, FILES, GROUP = 20, 8, 2**18
NAMES = [f"x{j}" for j in range(FEATURES)]
MODEL = LinearModel(Composite(LogLoss()))
ROUNDS = 3
Row = dict[str, Any]


def write(folder: Path, rows: int) -> None:
    random = np.random.default_rng(0)
    weights = random.normal(size=FEATURES) / 2.0
    for number in range(FILES):
        X = random.standard_normal((rows // FILES, FEATURES), dtype=np.float32)
        y = random.random(len(X)) < 1.0 / (1.0 + np.exp(5.2 - X @ weights))
        table = pa.table(dict(zip(NAMES, X.T, strict=True)) | {"label": y.astype(np.float64)})
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=GROUP)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def rounds(works: dict[str, Callable[[], Any]]) -> dict[str, tuple[float, Any]]:
    """The median time of each, and its last result, one after the other in every round."""
    for work in works.values():
        work()
    found: dict[str, list[tuple[float, Any]]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            found[name].append(timed(work))
    return {name: (statistics.median(each[0] for each in runs), runs[-1][1]) for name, runs in found.items()}


def fit(*data: Any) -> Any:
    return ProperLinearClassifier(C=np.inf).fit(*data)


def pass_of(engine: Any) -> None:
    engine.reduce(kernels.newton, MODEL, np.zeros((1, FEATURES + 1)), True, (False,))


def fitted(name: str, seconds: float, coef: Any, optimum: Any, passes: Any = "") -> Row:
    error = float(np.abs(np.ravel(coef) - optimum).max())
    return {"name": name, "what": "fit", "seconds": seconds, "error": error, "passes": passes}


def memory(folder: Path) -> list[Row]:
    """The optimum as well, which the others are compared with."""

    def decode() -> None:
        for _ in ds.dataset(folder, format="parquet").to_batches(batch_readahead=2, fragment_readahead=1):
            pass

    table = ds.dataset(folder, format="parquet").to_table()
    X = np.empty((len(table), FEATURES), np.float32, order="F")
    for j, name in enumerate(NAMES):
        X[:, j] = table[name]
    y = table["label"].to_numpy().astype(np.intp)
    del table
    optimum = ProperLinearClassifier(C=np.inf, tol=1e-12).fit(X, y).coef_[0]
    np.save(folder.with_suffix(".npy"), optimum)
    found = rounds({"decode": decode, "pass": lambda: pass_of(MemoryEngine(X, y)), "fit": lambda: fit(X, y)})
    return [
        {"name": "plain decode of the files", "what": "", "seconds": found["decode"][0]},
        {"name": "memory", "what": "pass", "seconds": found["pass"][0]},
        fitted("memory", found["fit"][0], found["fit"][1].coef_, optimum),
    ]


@contextmanager
def dask_arrays(folder: Path, kind: Any) -> Any:
    import dask.dataframe as dd
    import distributed

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": "10GB"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        frame = client.persist(dd.read_parquet(str(folder)))
        data = frame[NAMES].to_dask_array(lengths=True).astype(kind), frame["label"].to_dask_array(lengths=True)
        data = client.persist(list(data))
        distributed.wait(data)
        del frame
        yield data


def dask(folder: Path) -> list[Row]:
    from properly.engines.dask import DaskEngine

    optimum = np.load(folder.with_suffix(".npy"))
    with dask_arrays(folder, np.float32) as data:
        engine, _ = DaskEngine.of_training_data(ProperLinearClassifier(), *data, None, None)
        seconds = rounds({"pass": lambda: pass_of(engine)})["pass"][0]
        engine.release()
        taken, model = rounds({"fit": lambda: fit(*data)})["fit"]
    name = "properly on Dask"
    return [
        {"name": name, "what": "pass", "seconds": seconds},
        fitted(name, taken, model.coef_, optimum, model.n_passes_),
    ]


def dask_ml(folder: Path) -> list[Row]:
    """In float64, which it needs, and without a second round."""
    from dask_ml.linear_model import LogisticRegression

    optimum, found = np.load(folder.with_suffix(".npy")), []
    with dask_arrays(folder, np.float64) as data:
        for solver in ("newton", "lbfgs"):
            peer = LogisticRegression(C=1e12, solver=solver, max_iter=50)
            taken, _ = timed(lambda peer=peer: peer.fit(*data))
            found.append(fitted(f"dask-ml, {solver}", taken, peer.coef_, optimum))
    return found


def spark(folder: Path) -> list[Row]:
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    from properly.engines import Spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.memory": "12g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    optimum, found = np.load(folder.with_suffix(".npy")), []
    rows = session.read.parquet(str(folder))
    assembler = VectorAssembler(inputCols=NAMES, outputCol="features")

    def peer(frame: Any, tol: float) -> Any:
        return LogisticRegression(tol=tol, maxIter=500).fit(frame).coefficients.toArray()

    for form in ("columns", "vectors"):
        frame = (rows if form == "columns" else assembler.transform(rows).select("features", "label")).cache()
        found.append({"name": f"Spark, {form}", "what": "caching the frame", "seconds": timed(frame.count)[0]})
        data = Spark(frame, target="label", features=NAMES if form == "columns" else "features")
        vectors = assembler.transform(frame) if form == "columns" else frame
        tol, error = 1e-6, float(np.abs(peer(vectors, 1e-6) - optimum).max())
        while error > 1e-8:
            lower = float(np.abs(peer(vectors, 0.01 * tol) - optimum).max())
            if lower > 0.5 * error:
                break
            tol, error = 0.01 * tol, lower
        works = {"ours": lambda data=data: fit(data), "theirs": lambda vectors=vectors, tol=tol: peer(vectors, tol)}
        timings = rounds(works)
        ours, theirs = timings["ours"], timings["theirs"]
        found.append(fitted(f"properly on Spark, {form}", ours[0], ours[1].coef_, optimum, ours[1].n_passes_))
        found.append(fitted(f"Spark ML, {form}, tol={tol:.0e}", theirs[0], theirs[1], optimum))
        frame.unpersist()
    session.stop()
    return found


KINDS = {"memory": memory, "dask": dask, "dask_ml": dask_ml, "spark": spark}


def versions() -> str:
    found = []
    for package in ("numpy", "pyarrow", "dask", "dask-ml", "pyspark"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def main(sizes: list[int], kinds: list[str], folder: str | None) -> None:
    lines = [
        "# Fits on clusters of one machine",
        "",
        f"`ProperLinearClassifier(C=inf)` on {FEATURES} columns of float32; {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.0f} at the beginning, Python {platform.python_version()}, {versions()}. Seconds on the "
        f"clock, medians of {ROUNDS} rounds after one that is not counted; dask-ml runs once, in float64.",
        "",
        "| rows | | | s | times memory's | passes | coefficients differ by |",
        "|---:|---|---|---:|---:|---:|---:|",
    ]
    for rows in sizes:
        with nullcontext(folder) if folder else tempfile.TemporaryDirectory() as place:
            data = Path(place, str(rows))
            if not data.exists():
                data.mkdir(parents=True)
                write(data, rows)
            found: list[Row] = []
            for kind in kinds:
                record = Path(place, f"{rows} {kind}.json")
                if not record.exists():
                    command = [sys.executable, __file__, "--alone", kind, str(data), str(record)]
                    done = subprocess.run(command, capture_output=True, text=True, check=False)
                    if done.returncode:
                        raise SystemExit(f"{kind}: {done.stderr[-2000:]}")
                found += json.loads(record.read_text(encoding="ascii"))
        base = {row["what"]: row["seconds"] for row in found if row["name"] == "memory"}
        for row in found:
            ratio = f"{row['seconds'] / base[row['what']]:.1f}" if row["what"] in base else ""
            error = f"{row['error']:.0e}" if "error" in row else ""
            cells = [f"{rows:,}", row["name"], row["what"], f"{row['seconds']:.2f}", ratio]
            lines.append(f"| {' | '.join([*cells, str(row.get('passes', '')), error])} |")
            print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        kind, place, answer = sys.argv[2:]
        Path(answer).write_text(json.dumps(KINDS[kind](Path(place))), encoding="ascii")
    else:
        parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        parser.add_argument("rows", nargs="*", type=float, default=[5e6, 2e7])
        parser.add_argument("--only", nargs="+", choices=KINDS, help="default: all that are installed")
        parser.add_argument("--folder", help="keeps files and measurements there, so that a run can be continued")
        given = parser.parse_args()
        wanted = given.only or [kind for kind in KINDS if kind != "dask_ml" or find_spec("dask_ml")]
        main([int(rows) for rows in given.rows], wanted, given.folder)
