"""A rare class, four kinds of regression, and the true probabilities to judge them by.

Run ``python -m properly.demo``: it prints a table and leaves it, with a figure, in a folder.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from properly.datasets import make_rare_events
from properly.linear import ProperLinearClassifier
from properly.links import GEV
from properly.losses import GEVLoss

N_TRAIN, N_TEST, RATE = 20_000, 50_000, 0.01
TRUE_XI, SIGNAL = -0.2, 0.8

TRUTH = "true probabilities"

# Okabe–Ito colours, which colour-blind readers can tell apart; marker and line differ as well, for print.
STYLES = [
    ("#0072B2", "o", "-"),
    ("#E69F00", "s", "--"),
    ("#CC79A7", "^", "-."),
    ("#56B4E9", "v", ":"),
    ("#009E73", "D", "-"),
    ("#D55E00", "X", "--"),
]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One line of the table: how close a method came on the test rows."""

    method: str
    rmse: float
    log_loss: float
    brier: float
    mean_p: float
    lost_positives: int
    fit_seconds: float


def methods() -> dict[str, ProperLinearClassifier]:
    """What is compared: three links under log loss, and GEV losses of several shapes with their own link."""
    return {
        "logistic": ProperLinearClassifier(),
        "probit": ProperLinearClassifier(link="probit"),
        "cloglog": ProperLinearClassifier(link="cloglog"),
        "GEV-canonical, ξ = -0.5": ProperLinearClassifier(loss=GEVLoss(-0.5)),
        f"GEV-canonical, ξ = {TRUE_XI} (true)": ProperLinearClassifier(loss=GEVLoss(TRUE_XI)),
        "GEV-canonical, ξ = 0.1": ProperLinearClassifier(loss=GEVLoss(0.1)),
    }


def compare(random_state: int = 0) -> tuple[list[Row], Array, dict[str, Array]]:
    """Fit every method; return the table, and the true and the estimated probabilities of the test rows."""
    X, y, p = make_rare_events(N_TRAIN + N_TEST, rate=RATE, link=GEV(TRUE_XI), signal=SIGNAL, random_state=random_state)
    X_test, y_test, p_test = X[N_TRAIN:], y[N_TRAIN:], p[N_TRAIN:]
    table, estimates = [assess(TRUTH, y_test, p_test, p_test, 0.0)], {}
    for name, model in methods().items():
        start = time.perf_counter()
        model.fit(X[:N_TRAIN], y[:N_TRAIN])
        seconds = time.perf_counter() - start
        estimates[name] = model.predict_proba(X_test)[:, 1]
        table.append(assess(name, y_test, p_test, estimates[name], seconds))
    return table, p_test, estimates


def assess(method: str, y: NDArray[np.int64], true: Array, p: Array, seconds: float) -> Row:
    """Score estimated probabilities, without clipping: a positive given p = 0 makes the log loss infinite."""
    with np.errstate(divide="ignore"):
        log_loss = -np.mean(np.log(np.where(y == 1, p, 1 - p)))
    return Row(
        method=method,
        rmse=float(np.sqrt(np.mean((p - true) ** 2))),
        log_loss=float(log_loss),
        brier=float(np.mean((p - y) ** 2)),
        mean_p=float(np.mean(p)),
        lost_positives=int(np.sum((y == 1) & (p == 0))),
        fit_seconds=seconds,
    )


def layout(table: Sequence[Row]) -> str:
    """The table as aligned text."""
    width = max(len(row.method) for row in table)
    lines = [f"{'':{width}}  {'RMSE to truth':>13}  {'log loss':>9}  {'Brier':>9}  {'mean p':>8}  {'fit':>8}"]
    for row in table:
        fit = f"{1000 * row.fit_seconds:.0f} ms" if row.method != TRUTH else "-"
        lines.append(
            f"{row.method:{width}}  {row.rmse:13.6f}  {row.log_loss:9.6f}  {row.brier:9.6f}"
            f"  {row.mean_p:8.5f}  {fit:>8}"
        )
    return "\n".join(lines)


def conclusion(table: Sequence[Row]) -> str:
    """Two sentences on what the table shows, and a third where the log loss is infinite."""
    truth, *others = sorted(table, key=lambda row: row.rmse)
    best, worst = others[0], others[-1]
    off = max(others, key=lambda row: abs(row.mean_p - truth.mean_p))
    text = (
        f"Closest to the true probabilities is {best.method} (RMSE {best.rmse:.5f}); farthest is "
        f"{worst.method}, {worst.rmse / best.rmse:.1f} times as far. "
        f"The mean prediction is off by at most {abs(off.mean_p / truth.mean_p - 1):.1%} of the true rate "
        f"({off.method}), the single predictions by {best.rmse / truth.mean_p:.0%} to "
        f"{worst.rmse / truth.mean_p:.0%} of it in the root mean square."
    )
    lost = [f"{row.method} ({row.lost_positives})" for row in others if row.lost_positives]
    if lost:
        text += f" The log loss is infinite where a positive was given p = 0 exactly: {', '.join(lost)}."
    return text


def write_table(table: Sequence[Row], path: Path) -> None:
    """The table as CSV, in full precision."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(field.name for field in fields(Row))
        writer.writerows(astuple(row) for row in table)


def draw(true: Array, estimates: dict[str, Array], path: Path) -> None:
    """Median estimate within narrow bins of the true probability, one line a method, on log-log axes."""
    from matplotlib.figure import Figure

    lowest, highest = 1e-5, 1.0
    edges = np.geomspace(lowest, highest, 26)
    bins = np.digitize(true, edges)
    kept = [b for b in range(1, len(edges)) if np.sum(bins == b) >= 20]
    centres = [np.median(true[bins == b]) for b in kept]

    figure = Figure(figsize=(6.5, 6.2), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([lowest, highest], [lowest, highest], color="black", linewidth=1, label="estimate = truth")
    for (name, p), (colour, marker, line) in zip(estimates.items(), STYLES, strict=True):
        medians = np.array([np.median(p[bins == b]) for b in kept])
        axes.plot(
            centres,
            np.where(medians > 0, medians, np.nan),  # a logarithmic axis has no place for 0
            color=colour,
            marker=marker,
            linestyle=line,
            markersize=5,
            linewidth=1.5,
            label=name,
        )
    axes.set(
        xscale="log",
        yscale="log",
        xlim=(lowest, highest),
        ylim=(lowest, highest),
        aspect="equal",
        xlabel="true probability",
        ylabel="estimated probability (median within a bin of the truth)",
        title=f"A class of {RATE:.0%}, true link GEV with ξ = {TRUE_XI}",
    )
    axes.grid(which="major", color="0.9")
    axes.legend(frameon=False, loc="upper left")
    figure.savefig(path, dpi=150)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the demo from the command line."""
    parser = argparse.ArgumentParser(prog="python -m properly.demo", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo"), metavar="DIR", help="folder to write to")
    output = parser.parse_args(arguments).output
    output.mkdir(parents=True, exist_ok=True)

    print(
        f"A rare class: {RATE:.0%} positives, true link GEV with ξ = {TRUE_XI}; "
        f"{N_TRAIN:,} rows to train on, {N_TEST:,} to test.\n"
    )
    table, true, estimates = compare()
    print(layout(table), conclusion(table), sep="\n\n", end="\n\n")

    written = [output / "rare_events.csv"]
    write_table(table, written[0])
    try:
        draw(true, estimates, output / "rare_events.png")
        written.append(output / "rare_events.png")
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        print('No figure, because matplotlib is not installed: pip install "properly[plots]"')
    print("Written:", *written)


if __name__ == "__main__":
    main()
