"""How time grows with rows and columns: fits, calibrators, audits, and beside them what arithmetic and memory allow.

    OMP_NUM_THREADS=1 python benchmarks/bench_scaling.py [--only fit calibration audit columns] [--most ROWS]

writes results/scaling.csv, results/scaling.md and the figures results/scaling_rows.png and results/scaling_columns.png.
Times are seconds of the processor, the best of several runs below a million rows. The model of a fit has no constant of
its own: bytes read (8 · rows · columns for each gradient, whose number the fit reports) over the speed at which this
machine multiplies a matrix that is not in the cache by a vector, plus the operations of its curvature matrices over the
speed of a product of matrices. That of calibrators and audits is the time in which NumPy sorts as many numbers.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

RESULTS = Path(__file__).parent / "results"
ROWS = [10**k for k in range(3, 8)]
COLUMNS = [5, 20, 50, 100, 200, 500, 1000, 2000, 5000]
COLUMNS_ROWS, LARGEST = 20_000, 2 * 10**8
FIELDS = ["work", "rows", "columns", "seconds", "model"]


def seconds(run: Callable[[], Any], rounds: int) -> float:
    best = np.inf
    for _ in range(rounds):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return float(best)


def rounds_for(rows: int, columns: int = 1) -> int:
    return 5 if rows * columns <= 10**5 else 3 if rows * columns <= 2 * 10**6 else 1


def table(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.standard_normal((rows, columns))
    score = X @ random.standard_normal(columns) * (1.5 / np.sqrt(columns)) - 1.0
    return X, random.random(rows) < special.expit(score)


class Machine:
    """Speeds of this machine: bytes and operations a second, and sorting."""

    def __init__(self) -> None:
        X, w = np.ones((400_000, 50)), np.ones(50)
        self.bytes = X.nbytes / seconds(lambda: X @ w, 5)
        A = np.ones((2000, 400))
        self.operations = 2000 * 400 * 400 / seconds(lambda: A.T @ A, 5)
        self.numbers = np.random.default_rng(0).random(max(ROWS))

    def fit(self, rows: int, columns: int, passes: int) -> float:
        sample = min(rows, max(100 * columns, 2000, rows // 12))
        matrix = 3 * sample * columns**2 / self.operations if columns <= 400 else 0.0
        return passes * 2 * 8 * rows * columns / self.bytes + matrix

    def sort(self, rows: int) -> float:
        return seconds(lambda: np.sort(self.numbers[:rows]), rounds_for(rows))


def fit(rows: int, columns: int, machine: Machine) -> tuple[float, float]:
    from properly.linear import ProperLinearClassifier

    X, y = table(rows, columns)
    model = ProperLinearClassifier().fit(X, y)
    taken = seconds(lambda: ProperLinearClassifier().fit(X, y), rounds_for(rows, columns))
    return taken, machine.fit(rows, columns, model.solutions_[0].passes)


def calibrations(rows: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    from properly.calibration import AutoCalibration, BetaCalibration, IsotonicCalibration, PlattScaling

    random = np.random.default_rng(0)
    y = random.random(rows) < 0.1
    score = random.normal(size=rows) + 2.0 * y - 3.0
    for method in (IsotonicCalibration, PlattScaling, BetaCalibration, AutoCalibration):
        yield method.__name__, lambda method=method: method().fit(score, y)


def audits(rows: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    from properly.audit import audit

    random = np.random.default_rng(0)
    score = random.normal(size=rows) * 1.8 - 4.5
    y, p = (random.random(rows) < special.expit(0.7 * score - 0.3)).astype(int), special.expit(score)
    yield "audit", lambda: audit(y, p)


def measured(parts: list[str], most: int) -> Iterator[dict[str, Any]]:
    machine = Machine()
    rows_of = [rows for rows in ROWS if rows <= most]
    if "fit" in parts:
        for rows in rows_of:
            taken, model = fit(rows, 20, machine)
            yield dict(zip(FIELDS, ("fit", rows, 20, taken, model), strict=True))
    for part, works in (("calibration", calibrations), ("audit", audits)):
        for rows in rows_of if part in parts else ():
            for name, run in works(rows):
                taken = seconds(run, rounds_for(rows) if name != "audit" else 1)
                yield dict(zip(FIELDS, (name, rows, 1, taken, machine.sort(rows)), strict=True))
    if "columns" in parts:
        for columns in COLUMNS:
            taken, model = fit(min(COLUMNS_ROWS, LARGEST // columns), columns, machine)
            yield dict(zip(FIELDS, ("fit, columns", COLUMNS_ROWS, columns, taken, model), strict=True))


def series(rows: list[dict[str, Any]], work: str, across: str) -> tuple[np.ndarray, ...]:
    mine = sorted((row for row in rows if row["work"] == work), key=lambda row: float(row[across]))
    return tuple(np.array([float(row[name]) for row in mine]) for name in (across, "seconds", "model"))


def slope(x: np.ndarray, y: np.ndarray, least: float) -> float:
    far = x >= least
    return float(np.polyfit(np.log(x[far]), np.log(y[far]), 1)[0]) if far.sum() > 1 else np.nan


def page(rows: list[dict[str, Any]]) -> str:
    works = list(dict.fromkeys(row["work"] for row in rows))
    lines = [
        "# Time against size",
        "",
        "Seconds of the processor, one thread. Slope: of log time against log rows, from 100,000 rows on.",
        "",
        "| work | " + " | ".join(f"{n:,}" for n in ROWS) + " | slope |",
        "|---|" + "---:|" * (len(ROWS) + 1),
    ]
    for work in works:
        if work != "fit, columns":
            x, taken, _ = series(rows, work, "rows")
            cells = [f"{dict(zip(x, taken, strict=True)).get(n, np.nan):.3g}" for n in ROWS]
            lines.append(f"| {work} | " + " | ".join(cells) + f" | {slope(x, taken, 1e5):.2f} |")
    x, taken, model = series(rows, "fit, columns", "columns")
    lines += ["", f"A fit to {COLUMNS_ROWS:,} rows:", "", "| columns | seconds | model |", "|---:|---:|---:|"]
    lines += [f"| {k:,.0f} | {t:.3g} | {m:.3g} |" for k, t, m in zip(x, taken, model, strict=True)]
    return "\n".join(lines) + "\n"


def draw(rows: list[dict[str, Any]], folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True)
    x, taken, model = series(rows, "fit", "rows")
    axes[0].loglog(x, taken, "o-", label="fit, 20 columns")
    axes[0].loglog(x, model, "--", color="grey", label="bytes and operations of the fit")
    axes[0].set(title="Linear model", xlabel="rows", ylabel="seconds of the processor")
    for work in dict.fromkeys(row["work"] for row in rows):
        if not work.startswith("fit"):
            x, taken, model = series(rows, work, "rows")
            axes[1].loglog(x, taken, "o-", label=work)
    axes[1].loglog(x, model, "--", color="grey", label="sorting as many numbers")
    axes[1].set(title="Calibrators and audit", xlabel="rows")
    finish(figure, folder / "scaling_rows.png")
    figure, axis = plt.subplots(figsize=(5.8, 4.4))
    x, taken, model = series(rows, "fit, columns", "columns")
    axis.loglog(x, taken, "o-", label="fit")
    axis.loglog(x, model, "--", color="grey", label="bytes and operations of the fit")
    axis.set(title=f"Linear model, {COLUMNS_ROWS:,} rows", xlabel="columns", ylabel="seconds of the processor")
    finish(figure, folder / "scaling_columns.png")


def finish(figure: Any, path: Path) -> None:
    for axis in figure.axes:
        axis.grid(alpha=0.3)
        axis.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=["fit", "calibration", "audit", "columns"])
    parser.add_argument("--most", type=int, default=max(ROWS))
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    path, kept = arguments.results / "scaling.csv", dict[tuple[str, str, str], dict[str, Any]]()
    if path.exists():
        with path.open(newline="") as file:
            kept = {(row["work"], row["rows"], row["columns"]): row for row in csv.DictReader(file)}
    for row in measured(arguments.only, arguments.most):
        kept[row["work"], str(row["rows"]), str(row["columns"])] = row
        print(row, flush=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(kept.values())
    (arguments.results / "scaling.md").write_text(page(list(kept.values())), encoding="utf-8")
    draw(list(kept.values()), arguments.results)


if __name__ == "__main__":
    main()
