"""The figures of the study: Bennett's Figures 3 to 5 for the class earn, and where every method stands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from bennett_comparison import Array
from bennett_tables import BASELINE, Row
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from reuters import Labels, Scores
from scipy.special import logit
from scipy.stats import gaussian_kde

from properly import calibration

# Okabe–Ito colours, which colour-blind readers can tell apart; marker and line differ as well, for print.
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
CLASSES = (("not earn", 0, BLUE), ("earn", 1, VERMILION))
SCORE = {"naive Bayes": "naive Bayes log-odds", "linear SVM": "raw score of the linear SVM"}


def draw_all(earn: dict[str, Scores], table: Sequence[Row], folder: Path) -> None:
    """Write every figure to `folder`."""
    for name, draw in {"figure3": gaussians, "figure4": laplaces, "figure5": log_odds}.items():
        figure = Figure(figsize=(10, 4.8), layout="constrained")
        panels = figure.subplots(1, 2)
        for axes, (classifier, scores) in zip(panels, earn.items(), strict=True):
            draw(axes, scores)
            axes.set(xlabel=SCORE[classifier], title=f"class earn, {classifier}")
            axes.spines[["top", "right"]].set_visible(False)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
        figure.savefig(folder / f"{name}.png", dpi=150)
    standing(table).savefig(folder / "standing.png", dpi=150)


def grid_and_edges(scores: Scores, left_out: float, bins: int) -> tuple[Array, Array]:
    """Points to draw curves at and edges of bins, over the training scores less the share `left_out` at either end."""
    low, high = np.quantile(scores.train, [left_out, 1 - left_out])
    return np.linspace(low, high, 1000), np.linspace(low, high, bins + 1)


def centres(edges: Array) -> Array:
    return (edges[1:] + edges[:-1]) / 2


def densities_in_bins(values: Array, edges: Array) -> Array:
    return np.histogram(values, edges)[0] / (len(values) * np.diff(edges))


def gaussians(axes: Axes, scores: Scores) -> None:
    """Figure 3: a symmetric Gaussian misses the modes of the two classes, an asymmetric one comes closer."""
    fits = {
        "Gaussian": (calibration.GaussianCalibration(), "--"),
        "asymmetric Gaussian": (calibration.AsymmetricGaussianCalibration(), "-"),
    }
    grid, edges = grid_and_edges(scores, 0.002, bins=60)
    for name, label, colour in CLASSES:
        values = scores.train[scores.y_train == label]
        axes.stairs(densities_in_bins(values, edges), edges, fill=True, color=colour, alpha=0.18)
        mode = grid[np.argmax(gaussian_kde(values)(grid))]
        axes.axvline(mode, color=colour, linewidth=1, linestyle=":", label=f"kernel estimate's mode, {name}")
        for method, (calibrator, line) in fits.items():
            fitted = calibrator.fit(scores.train, scores.y_train).densities_[label]
            axes.plot(grid, np.exp(fitted.log_density(grid)), color=colour, linestyle=line, label=f"{method}, {name}")
    axes.set(ylabel="density of the score within the class", ylim=(0, None))


def laplaces(axes: Axes, scores: Scores) -> None:
    """Figure 4: the training and the test scores, and the asymmetric Laplace densities fitted to the former."""
    grid, edges = grid_and_edges(scores, 0.002, bins=40)
    fitted = calibration.AsymmetricLaplaceCalibration().fit(scores.train, scores.y_train).densities_
    for name, label, colour in CLASSES:
        train = densities_in_bins(scores.train[scores.y_train == label], edges)
        test = densities_in_bins(scores.test[scores.y_test == label], edges)
        axes.plot(centres(edges), train, "o", color=colour, markersize=4, label=f"training scores, {name}")
        axes.plot(centres(edges), test, "x", color=colour, markersize=5, label=f"test scores, {name}")
        axes.plot(grid, np.exp(fitted[label].log_density(grid)), color=colour, label=f"A.Laplace, {name}")
    axes.set(ylabel="density of the score within the class", ylim=(0, None))


def log_odds(axes: Axes, scores: Scores) -> None:
    """Figure 5: the log-odds of earn given the score, counted in bins and as the methods have it."""
    grid, edges = grid_and_edges(scores, 0.02, bins=30)
    draw_counted_log_odds(axes, "training documents", scores.train, scores.y_train, edges, ("o", "0.45"))
    draw_counted_log_odds(axes, "test documents", scores.test, scores.y_test, edges, ("s", "black"))
    for name, calibrator, colour, line in (
        ("A.Laplace", calibration.AsymmetricLaplaceCalibration(), VERMILION, "-"),
        ("LogReg", calibration.PlattScaling(noisy_labels=False), BLUE, "--"),
        ("piecewise log-odds", calibration.PiecewiseLogOddsCalibration(), GREEN, "-."),
    ):
        fitted = calibrator.fit(scores.train, scores.y_train)
        axes.plot(grid, fitted.maps_[0].log_odds(grid), color=colour, linestyle=line, label=name)
    axes.set(ylabel="log-odds of earn", ylim=(-11, 13))
    axes.grid(color="0.92")


def draw_counted_log_odds(
    axes: Axes, name: str, values: Array, y: Labels, edges: Array, style: tuple[str, str]
) -> None:
    """Log-odds within each bin of ten scores or more, ½ added to either count; hollow where the bin has one class."""
    marker, colour = style
    n, positive = np.histogram(values, edges)[0], np.histogram(values[y == 1], edges)[0]
    counted = logit((positive + 0.5) / (n + 1))
    enough, both = n >= 10, (positive > 0) & (positive < n)
    for kept, fill, label in (
        (enough & both, "full", name),
        (enough & ~both, "none", f"{name}, one class"),
    ):
        axes.plot(centres(edges)[kept], counted[kept], marker, color=colour, fillstyle=fill, markersize=4, label=label)


def standing(table: Sequence[Row]) -> Figure:
    """Difference of every method's total log loss to A.Laplace's, with the interval over resampled documents."""
    left, right = -1250, 2500  # what lies farther out is written, not drawn
    figure = Figure(figsize=(10, 5), layout="constrained")
    classifiers = list(dict.fromkeys(row.classifier for row in table))
    for axes, classifier in zip(figure.subplots(1, len(classifiers)), classifiers, strict=True):
        rows = sorted((row for row in table if row.classifier == classifier), key=lambda row: -row.bits)
        baseline = next(row.bits for row in rows if row.method == BASELINE)
        for height, row in enumerate(rows):
            colour, marker = (VERMILION, "s") if row.published_errors else (BLUE, "o")
            difference = row.bits - baseline
            if difference < right:
                axes.plot([row.bits_low, row.bits_high], [height, height], color=colour, linewidth=2, alpha=0.6)
                axes.plot(difference, height, marker, color=colour, markersize=6)
            else:
                text = f"{difference:+,.0f} →" if np.isfinite(difference) else f"∞: {row.infinite_losses} decisions"
                axes.text(right, height, text, color=colour, ha="right", va="center", backgroundcolor="white")
        for label, colour, marker in (("in the paper", VERMILION, "s"), ("later", BLUE, "o")):
            axes.plot([], [], marker, color=colour, label=label)
        axes.set_yticks(range(len(rows)), [row.method for row in rows])
        axes.axvline(0, color="0.6", linewidth=0.8)
        axes.set(title=classifier, xlabel=f"log loss minus that of {BASELINE}, bits in total", xlim=(left, right))
        axes.set_xticks([-1000, 0, 1000, 2000])
        axes.set_ylim(-0.8, len(rows) - 0.2)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x", color="0.92")
        axes.legend(frameon=False, loc="center right")
    return figure
