"""The figures of the study: the paper's Figure 1, the breadth of the optima, the cap of class-robust."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nceas_measures import (
    BINS,
    CONSTANT,
    DEFAULT,
    DEFAULTS,
    ENTROPY,
    MOVED,
    ORACLE,
    ROBUST,
    TREES_DEFAULT,
    TREES_ENTROPY,
    Result,
    curve,
    of_bin,
    range_below,
)
from scipy.special import logit

# Okabe–Ito colours, which colour-blind readers can tell apart; lines differ as well, for print.
BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE, BLACK = (
    "#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#000000",
)  # fmt: skip
STYLES = {
    ENTROPY: {"color": BLUE, "linestyle": "-"},
    DEFAULT: {"color": VERMILION, "linestyle": "--"},
    ROBUST: {"color": GREEN, "linestyle": "-."},
    TREES_ENTROPY: {"color": SKY, "linestyle": "-"},
    TREES_DEFAULT: {"color": ORANGE, "linestyle": "--"},
    ORACLE: {"color": BLACK, "linestyle": "-", "linewidth": 1},
    CONSTANT: {"color": BLACK, "linestyle": ":", "linewidth": 1.5},
    MOVED: {"color": PURPLE, "linestyle": "--"},
}
TICKS = (0.002, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95)


def draw_all(results: list[Result], folder: Path) -> None:
    """Write every figure to `folder`."""
    for name, draw in {"losses": losses, "breadth": breadth, "cap": cap}.items():
        draw(results).savefig(folder / f"{name}.png", dpi=150)


def losses(results: list[Result]) -> Figure:
    """Mean log loss against the default, and below it how wide the range of defaults is that has at most a loss."""
    figure = Figure(figsize=(12, 7), layout="constrained")
    panels = figure.subplots(2, len(BINS))
    for (top, bottom), name in zip(panels.T, BINS, strict=True):
        chosen = of_bin(results, name)
        for method in (ENTROPY, DEFAULT, ROBUST, ORACLE, CONSTANT):
            top.plot(DEFAULTS, curve(chosen, method), label=method, **STYLES[method])
        floor = min(curve(chosen, method).min() for method in (ENTROPY, DEFAULT, TREES_ENTROPY, ORACLE))
        ceiling = 2.2 * float(curve(chosen, CONSTANT)[0])
        top.set(ylim=(0.95 * floor, ceiling), xlim=(0, 1), title=f"{name} ({len(chosen)})")
        top.set_xlabel("default prevalence ν")
        levels = np.linspace(0.95 * floor, ceiling, 300)
        for method in (ENTROPY, DEFAULT, ROBUST, TREES_ENTROPY, TREES_DEFAULT):
            means = curve(chosen, method)
            ranges = np.array([range_below(means, level) for level in levels])
            bottom.plot(levels, ranges[:, 1] - ranges[:, 0], label=method, **STYLES[method])
        bottom.set(xlim=(0.95 * floor, ceiling), ylim=(0, 1), xlabel="mean test log loss")
    panels[0, 0].set_ylabel("mean test log loss")
    panels[1, 0].set_ylabel("width of the range of ν")
    _tidy(panels.ravel())
    handles = dict(zip(*reversed(panels[0, 0].get_legend_handles_labels()), strict=True))
    handles |= dict(zip(*reversed(panels[1, 0].get_legend_handles_labels()), strict=True))
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=4, frameon=False)
    return figure


def breadth(results: list[Result], tolerance: float = 0.01) -> Figure:
    """The same two curves over ν and over its log-odds; bars mark losses within a tolerance of the minimum."""
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, scale in zip(panels, (np.asarray, logit), strict=True):
        for method in (ENTROPY, DEFAULT):
            means = curve(results, method)
            low, high = (scale(end) for end in range_below(means, means.min() + tolerance))
            axes.plot(scale(DEFAULTS), means, label=method, **STYLES[method])
            level = means.min() + tolerance
            axes.plot([low, high], [level, level], color=STYLES[method]["color"], linewidth=5, alpha=0.5)
            axes.annotate(
                f"{high - low:.2f}",
                (high, level),
                xytext=(5, -3),
                textcoords="offset points",
                color=STYLES[method]["color"],
            )
        axes.set_ylim(0.32, 0.5)
    panels[0].set(xlabel="default prevalence ν", ylabel="mean test log loss, all species", xlim=(0, 1))
    panels[1].set(xlabel="default prevalence ν, spaced by its log-odds")
    panels[1].set_xticks(logit(np.array(TICKS)), [f"{tick:g}" for tick in TICKS])
    _tidy(panels)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def cap(results: list[Result]) -> Figure:
    """Why class-robust fails: what it can reach, and what happens as it gets there."""
    figure = Figure(figsize=(13, 5), layout="constrained")
    reach, scatter, loss = figure.subplots(1, 3)
    for name, colour in zip(list(BINS)[:3], (SKY, GREEN, VERMILION), strict=True):
        chosen = of_bin(results, name)
        reach.plot(DEFAULTS, np.mean([result.reached for result in chosen], axis=0), color=colour, label=name)
        mean = np.mean([result.prevalence for result in chosen])
        reach.axhline(mean, color=colour, linestyle=":")
        scatter.plot(
            [result.prevalence for result in chosen],
            [np.mean(result.cap) for result in chosen],
            {"0 – 4 %": "o", "4 – 15 %": "^", "15 – 70 %": "s"}[name],
            color=colour,
            markersize=4,
            label=name,
        )
    reach.plot([0, 1], [0, 1], color=BLACK, linewidth=0.8)
    reach.set(
        xlabel="default prevalence ν", ylabel="mean P(y = 1) of class-robust (dotted: in the surveys)", xlim=(0, 1)
    )
    reach.set_ylim(0, 0.7)
    reach.legend(frameon=False, title="test prevalence", loc="upper left")
    scatter.plot([0, 0.7], [0, 0.7], color=BLACK, linewidth=0.8)
    scatter.set(xlabel="prevalence in the survey", ylabel="largest P(y = 1) class-robust can reach", ylim=(0, None))
    above = [result for result in results if result.prevalence > result.cap[1]]
    for method in (ROBUST, MOVED, ENTROPY, DEFAULT, ORACLE):
        loss.plot(DEFAULTS, curve(above, method), label=method, **STYLES[method])
    top = 2.0 * float(curve(above, CONSTANT)[0])
    loss.set(xlabel="default prevalence ν", xlim=(0, 1), ylim=(0.8 * float(curve(above, ORACLE)[0]), top))
    loss.set_ylabel(f"mean test log loss, {len(above)} species above the cap")
    figure.legend(*loss.get_legend_handles_labels(), loc="outside lower right", ncols=3, frameon=False)
    _tidy((reach, scatter, loss))
    return figure


def _tidy(panels: tuple[Axes, ...] | np.ndarray) -> None:
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
