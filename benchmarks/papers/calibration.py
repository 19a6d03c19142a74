"""AutoCalibration against the calibrators of scikit-learn, betacal, netcal, venn-abers and probmetrics, in one run.

    python benchmarks/papers/calibration.py [--quick] [--data FOLDER] [--output FOLDER] [--overwrite]

The folder of the data has a folder `tasks` with the subfolders `binary` and `multiclass`. Each holds one .npz file a
task, named DATASET-MODEL.npz, with the arrays cal_scores, cal_y, test_scores, test_y: log-odds (n,), or logits (n,
K), of a model on rows it was not trained on, and classes 0, 1, ... Every method is fitted to all calibration rows,
and to random cuts of them; a cut holds at least one row of each class. Log loss is clipped at 1e-15. A method that
fails counts as no calibration.

Writes tables.md and runs.csv to benchmarks/results/calibration.
"""

from __future__ import annotations

import contextlib
import io
import logging
import platform
import time
import warnings
import zlib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pandas as pd
from calibration_peers import OURS, RAW, available, probabilities
from joblib import Parallel, delayed
from numpy.typing import NDArray
from study import DataMissing, Options, data_folder, main, progress, write_tables

SIZES, CUTS = (100, 300, 1000), 3
ORIGIN = """\
The tasks are scores of models on rows that they were not trained on: tasks/binary/DATASET-MODEL.npz with the arrays
cal_scores, cal_y, test_scores and test_y, and tasks/multiclass likewise. They are not published; any models will do."""
PACKAGES = ("numpy", "scipy", "scikit-learn", "betacal", "netcal", "venn-abers", "probmetrics", "torch")
Array = NDArray[np.float64]


def cuts(task: str, y: NDArray[np.int64], sizes: tuple[int, ...], repetitions: int) -> Iterator[tuple[str, int, Array]]:
    """Size, number of the cut, rows: everything first, then the random cuts that are smaller than that."""
    yield "all", 0, np.arange(len(y))
    for size in sizes:
        for cut in range(repetitions if size < len(y) else 0):
            order = np.random.default_rng([zlib.crc32(task.encode()), size, cut]).permutation(len(y))
            _, first = np.unique(y[order], return_index=True)
            rest = np.delete(order, first)
            yield str(size), cut, np.sort(np.concatenate([order[first], rest[: size - len(first)]]))


def log_loss(p: Array, y: NDArray[np.int64]) -> float:
    return float(-np.log(np.clip(p[np.arange(len(y)), y], 1e-15, 1.0)).mean())


def brier_score(p: Array, y: NDArray[np.int64]) -> float:
    """The mean of (p - y)² for two classes, of its sum over the classes for more."""
    squares = np.square(p - np.eye(p.shape[1])[y]).sum(axis=1).mean()
    return float(squares / 2.0 if p.shape[1] == 2 else squares)


def run_task(path: Path, sizes: tuple[int, ...], repetitions: int) -> list[dict[str, object]]:
    """One row of results for each size, cut and method."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    with contextlib.suppress(ImportError):
        import torch

        torch.set_num_threads(1)
    data = np.load(path)
    scores, test = data["cal_scores"].astype(np.float64), data["test_scores"].astype(np.float64)
    y, test_y = data["cal_y"].astype(np.int64), data["test_y"].astype(np.int64)
    rows: list[dict[str, object]] = []
    for size, cut, index in cuts(path.stem, y, sizes, repetitions):
        for name, method in available(path.parent.name).items():
            begin, failed = time.perf_counter(), False
            try:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    p = method(scores[index], y[index], test)
                failed = p.shape != (len(test), int(y.max()) + 1) or not np.isfinite(p).all()
            except Exception:  # whatever a peer raises is a failure of that peer
                failed = True
            seconds = time.perf_counter() - begin
            p = probabilities(test) if failed else p
            rows.append(
                {"task": path.stem, "size": size, "cut": cut, "method": name, "seconds": seconds, "failed": failed}
                | {"log_loss": log_loss(p, test_y), "brier": brier_score(p, test_y)}
            )
    return rows


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """One line for each size and method; cuts are averaged within their task before tasks are compared."""
    results = results.copy()
    keys = ["task", "size", "cut"]
    for other, suffix in ((RAW, "_raw"), (OURS, "_ours")):
        reference = results[results.method == other].set_index(keys)[["log_loss", "brier"]].add_suffix(suffix)
        results = results.join(reference, on=keys)
    results["change"] = results.log_loss - results.log_loss_raw
    results["brier_change"] = results.brier - results.brier_raw
    results["harmed"] = results.change > 1e-12
    results["behind"] = results.log_loss - results.log_loss_ours
    results["ours_wins"] = (results.behind > 0.0) + 0.5 * (results.behind == 0.0)
    columns = ["log_loss", "change", "brier_change", "harmed", "behind", "ours_wins", "failed", "seconds"]
    tasks = results.groupby(["size", "method", "task"])[columns].mean().reset_index()
    groups = tasks.groupby(["size", "method"])
    table = groups[columns].mean()
    table["standard_error"] = groups["behind"].sem()
    table["tasks"] = groups["task"].count()
    table["worst_harm"] = results.groupby(["size", "method"])["change"].max()
    return table.reset_index()


def markdown(table: pd.DataFrame) -> str:
    head = (
        "| method | log loss | change | Brier change | harmed | worst harm | behind AutoCalibration | "
        "AutoCalibration wins | failed | seconds |\n|---|---|---|---|---|---|---|---|---|---|\n"
    )
    lines = []
    for row in table.sort_values("log_loss").itertuples():
        name = f"**{row.method}**" if row.method == OURS else row.method
        versus = "" if row.method == OURS else f"{row.behind:+.4f} ± {row.standard_error:.4f}"
        wins = "" if row.method == OURS else f"{row.ours_wins:.0%}"
        lines.append(
            f"| {name} | {row.log_loss:.4f} | {row.change:+.4f} | {row.brier_change:+.4f} | {row.harmed:.1%} | "
            f"{row.worst_harm:+.3f} | {versus} | {wins} | {row.failed:.0%} | {row.seconds:.3f} |\n"
        )
    return head + "".join(lines)


def seconds_at(rows: int) -> float:
    """The best of three fits to well-behaved scores of two classes."""
    from properly.calibration import AutoCalibration

    random = np.random.default_rng(0)
    score = 2.0 * random.normal(size=rows) - 1.0
    y = random.random(rows) < 1.0 / (1.0 + np.exp(-0.7 * score))
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        AutoCalibration().fit(score, y)
        times.append(time.perf_counter() - begin)
    return min(times)


def report(tables: dict[str, pd.DataFrame]) -> str:
    versions = []
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            versions.append(f"{package} {version(package)}")
    text = [
        "# Calibrators side by side\n\n",
        "Mean over tasks of what happens on test rows. *Change* is against no calibration (less than 0 is better), ",
        "*harmed* the share of tasks whose log loss it made worse, *behind AutoCalibration* the paired difference of ",
        "log loss with its standard error over tasks (more than 0: AutoCalibration is better). ",
        f"Cuts: {CUTS} for each size; a cut holds at least one row of every class; a size counts tasks ",
        "with more rows than that. Seconds are for fitting and predicting, with other work on the machine.\n\n",
        f"{', '.join(versions)}; Python {platform.python_version()}.\n\n",
        f"AutoCalibration fits 10,000 rows of two classes in {seconds_at(10_000):.2f} s.\n",
    ]
    for kind, table in tables.items():
        for size in [str(each) for each in SIZES] + ["all"]:
            part = table[table["size"] == size]
            if len(part):
                rows = "all calibration rows" if size == "all" else f"{size} calibration rows"
                text.append(f"\n## {kind}, {rows}; tasks: {part.tasks.max()}\n\n{markdown(part)}")
    return "".join(text)


def study(options: Options) -> None:
    folder = data_folder(ORIGIN) / "tasks"
    paths = {kind: sorted((folder / kind).glob("*.npz")) for kind in ("binary", "multiclass")}
    if not any(paths.values()):
        raise DataMissing(f"there are no tasks in {folder}.\n{ORIGIN}")
    sizes, cuts = (SIZES[:1], 1) if options.quick else (SIZES, CUTS)
    tables = {}
    for kind in (kind for kind in paths if paths[kind]):
        chosen = paths[kind][:: max(1, len(paths[kind]) // 4)] if options.quick else paths[kind]
        parallel = Parallel(options.jobs, return_as="generator")
        done = parallel(delayed(run_task)(each, sizes, cuts) for each in chosen)
        parts = progress(done, len(chosen), f"{kind} tasks")
        tables[kind] = summary(pd.DataFrame([row for part in parts for row in part]))
    combined = pd.concat([table.assign(kind=kind) for kind, table in tables.items()])
    combined.round(6).to_csv(options.output / "runs.csv", index=False)
    write_tables([report(tables)], options.output)


if __name__ == "__main__":
    raise SystemExit(main("calibration", __doc__, study))
