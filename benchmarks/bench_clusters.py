"""Fits by Dask and Spark on one machine, beside memory and Spark ML.

    python benchmarks/bench_clusters.py [dask] [spark] [dask_ml] [--rows ROWS]

writes benchmarks/results/dask.md, spark.md and dask_ml.md. 20 columns of float32, 2 % positives; Dask has two worker
processes of one thread, Spark two tasks at a time. Each kind has a process of its own. Spark ML gets the same cached
frame, and a tolerance that is lowered until the coefficients, without penalty, are within 1e-8 of the optimum or stop
improving.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from properly import kernels
from properly.engines.memory import MemoryEngine
from properly.kernels import LinearModel
from properly.linear import ProperLinearClassifier
from properly.losses import Composite, LogLoss

RESULTS = Path(__file__).parent / "results"
FEATURES = 20
MODEL = LinearModel(Composite(LogLoss()))


def rows_of(rows: int) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    weights = random.normal(size=FEATURES) / 2.0
    X = np.asfortranarray(random.standard_normal((rows, FEATURES), dtype=np.float32))
    return X, (random.random(rows) < 1.0 / (1.0 + np.exp(5.2 - X @ weights))).astype(np.int8)


def timed(work: Any) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def best_of(work: Any, rounds: int = 3) -> float:
    return min(timed(work)[0] for _ in range(rounds))


def pass_of(engine: Any) -> None:
    engine.reduce(kernels.newton, MODEL, np.zeros((1, FEATURES + 1)), True, (False,))


def dask(rows: int) -> list[list[Any]]:
    import dask.array as da
    import distributed

    from properly.engines.dask import DaskEngine

    X, y = rows_of(rows)
    chunk = rows // 8
    found = [["memory", "pass", best_of(lambda: pass_of(MemoryEngine(X, y.astype(np.intp))))]]
    taken, whole = timed(lambda: ProperLinearClassifier().fit(X, y))
    found.append(["memory", "fit", taken])
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        data = client.persist([da.from_array(X, chunks=(chunk, FEATURES)), da.from_array(y, chunks=chunk)])
        distributed.wait(data)
        engine, _ = DaskEngine.of_training_data(ProperLinearClassifier(), *data, None, None)
        pass_of(engine)
        found.append(["Dask", "pass", best_of(lambda: pass_of(engine))])
        engine.release()
        ProperLinearClassifier().fit(*data)
        taken, model = timed(lambda: ProperLinearClassifier().fit(*data))
        found.append(["Dask", "fit", taken, float(np.abs(model.coef_ - whole.coef_).max())])
    return found


def dask_ml(rows: int) -> list[list[Any]]:
    """Where it is installed: it needs older versions of much else."""
    import dask.array as da
    import distributed
    from dask_ml.linear_model import LogisticRegression

    X, y = rows_of(rows)
    whole = ProperLinearClassifier(C=np.inf, tol=1e-12).fit(X, y)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    found = []
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        parts = [da.from_array(X.astype(float), chunks=(rows // 8, FEATURES)), da.from_array(y, chunks=rows // 8)]
        data = client.persist(parts)
        distributed.wait(data)
        ProperLinearClassifier(C=np.inf).fit(*data)
        taken, model = timed(lambda: ProperLinearClassifier(C=np.inf).fit(*data))
        found.append(["properly on Dask", "fit", taken, float(np.abs(model.coef_ - whole.coef_).max())])
        for solver in ("newton", "lbfgs"):
            peer = LogisticRegression(C=1e12, solver=solver, max_iter=50)
            taken, fitted = timed(lambda peer=peer: peer.fit(*data))
            found.append([f"dask-ml, {solver}", "fit", taken, float(np.abs(fitted.coef_ - whole.coef_[0]).max())])
    return found


def spark(rows: int) -> list[list[Any]]:
    import pandas as pd
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    from properly.engines import Spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "6g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    X, y = rows_of(rows)
    whole = ProperLinearClassifier(C=np.inf, tol=1e-12).fit(X, y)
    names = [f"x{j}" for j in range(FEATURES)]
    path = Path(sys.argv[-1]) / "rows.parquet"
    pd.DataFrame(X, columns=names).assign(label=y.astype(float)).to_parquet(path, row_group_size=2**18)
    del X, y
    frame = session.read.parquet(str(path))
    vectors = (
        VectorAssembler(inputCols=names, outputCol="features").transform(frame).select("features", "label").cache()
    )
    found = [["Spark", "caching the frame", timed(vectors.count)[0]]]

    def ours() -> Any:
        return ProperLinearClassifier(C=np.inf).fit(Spark(vectors, target="label", features="features"))

    ours()  # starts the workers
    taken, model = timed(ours)
    found.append(["properly on Spark", "fit", taken, float(np.abs(model.coef_ - whole.coef_).max())])
    errors = [np.inf]
    for exponent in (6, 8, 10, 12):
        peer = LogisticRegression(tol=10.0**-exponent, maxIter=500, standardization=True)
        taken, fitted = timed(lambda peer=peer: peer.fit(vectors))
        errors.append(float(np.abs(fitted.coefficients.toArray() - whole.coef_[0]).max()))
        found.append([f"Spark ML, tol=1e-{exponent}", "fit", taken, errors[-1]])
        if errors[-1] < 1e-8 or errors[-1] > 0.5 * errors[-2]:
            break
    session.stop()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", default=["dask", "spark"])
    parser.add_argument("--rows", type=float, default=5e6)
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    given = parser.parse_args()
    rows = int(given.rows)
    if given.alone:
        print("RESULT" + json.dumps({"dask": dask, "dask_ml": dask_ml, "spark": spark}[given.kinds[0]](rows)))
        return
    for kind in given.kinds:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, kind, "--rows", str(rows), "--alone", folder]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr[-2000:])
        packages = {"dask": ["dask"], "dask_ml": ["dask", "dask-ml"], "spark": ["pyspark"]}[kind]
        lines = [
            f"# {' and '.join(packages)} on one machine",
            "",
            f"{rows:,} rows of {FEATURES} columns of float32; {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f} at "
            f"the end, Python {platform.python_version()}, NumPy {version('numpy')}, "
            f"{', '.join(f'{each} {version(each)}' for each in packages)}. Seconds on the clock; the best of three "
            "passes, a fit of ours after another that is not counted.",
            "",
            "| | | s | coefficients differ by |",
            "|---|---|---:|---:|",
        ]
        for name, what, seconds, *error in json.loads(done.stdout.partition("RESULT")[2]):
            lines.append(f"| {name} | {what} | {seconds:.2f} | {f'{error[0]:.0e}' if error else ''} |")
            print(lines[-1], flush=True)
        (RESULTS / f"{kind}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
