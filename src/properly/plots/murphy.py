"""The Murphy diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from properly.plots.scales import threshold_scale
from properly.plots.style import PALE, STYLES, as_text, canvas, styles

if TYPE_CHECKING:
    from properly.diagnostics.murphy import Murphy, MurphyDifference

THRESHOLD = "threshold: cost of a false alarm / (of a false alarm + of a miss)"


def draw_murphy(result: Murphy, ax: Any = None, *, scale: str = "probability") -> Any:
    """Draw what `properly.diagnostics.murphy` found; see `Murphy.plot`."""
    where = threshold_scale(scale, result.thresholds, np.vstack([result.base, result.errors]))
    with canvas(ax, (6.0, 4.4)) as axes:
        x = where(result.thresholds)
        axes.plot(x, result.base, color=PALE, linewidth=1.0, label="base rate for all")
        for name, errors, style in zip(result.names, result.errors, styles(len(result.names)), strict=True):
            axes.plot(x, errors, color=style.colour, linestyle=style.line, label=as_text(name))
        where.label(axes.xaxis)
        axes.set(xlabel=THRESHOLD, ylabel="mean cost per row", ylim=(0.0, None))
        axes.legend()
    return axes


def draw_murphy_difference(result: MurphyDifference, ax: Any = None, *, scale: str = "probability") -> Any:
    """Draw what `properly.diagnostics.murphy_difference` found; see `MurphyDifference.plot`."""
    where = threshold_scale(scale, result.thresholds, np.stack([result.low, result.high]))
    with canvas(ax, (6.0, 4.4)) as axes:
        x, colour = where(result.thresholds), STYLES[0].colour
        label = f"{100 * result.confidence:g} % interval at each threshold"
        axes.axhline(0.0, color=PALE, linewidth=1.0)
        axes.fill_between(x, result.low, result.high, color=colour, alpha=0.2, linewidth=0.0, label=label)
        axes.plot(x, result.difference, color=colour, label="difference (below 0: the first is better)")
        where.label(axes.xaxis)
        axes.set(xlabel=THRESHOLD, ylabel="difference in mean cost per row")
        axes.legend()
    return axes
