"""Groups of rows below each other: what was forecast, and what came true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from properly.diagnostics.names import numbered
from properly.options import checked_count
from properly.plots.style import STYLES, as_text, canvas

if TYPE_CHECKING:
    from properly.diagnostics.groups import GroupCalibration

_LONGEST = 30  # letters of a group's name


def draw_groups(result: GroupCalibration, ax: Any = None, *, max_groups: int = 30) -> Any:
    """Draw what `properly.diagnostics.by_group` found; see `GroupCalibration.plot`."""
    checked_count(max_groups, "max_groups", 1)
    drawn = np.sort(np.argsort(-result.weight, kind="stable")[:max_groups])
    observed, forecast = STYLES[0], STYLES[5]
    with canvas(ax, (6.0, 1.3 + 0.26 * len(drawn))) as axes:
        height = np.arange(len(drawn))
        axes.hlines(height, result.low[drawn], result.high[drawn], color=observed.colour, linewidth=2.0, alpha=0.5)
        label = f"share that came true, {100 * result.confidence:g} % interval"
        axes.plot(result.base_rate[drawn], height, observed.marker, color=observed.colour, markersize=5, label=label)
        label = "mean forecast"
        axes.plot(result.mean_p[drawn], height, forecast.marker, color=forecast.colour, markersize=6, label=label)
        axes.locator_params(axis="x", nbins=6)
        axes.set_yticks(height, numbered(as_text(result.groups[k], _LONGEST) for k in drawn))
        axes.set_ylim(len(drawn) - 0.5, -0.5)
        left_out = len(result.groups) - len(drawn)
        axes.set_xlabel("probability" + (f" ({left_out} smaller groups not shown)" if left_out else ""))
        axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0))
    return axes
