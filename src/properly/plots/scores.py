"""Pictures of scores: densities and counted log-odds; and of groups of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from properly.inputs.options import checked_count, numbered
from properly.plots.style import INK, STYLES, as_text, canvas, styles

if TYPE_CHECKING:
    from properly.diagnostics import GroupCalibration, LogOddsFit, ScoreDensities

_COLOURS = (STYLES[0].colour, STYLES[5].colour)
_HATCHES = (None, "///")  # in print the classes differ by these


def draw_score_densities(result: ScoreDensities, ax: Any = None) -> Any:
    """Draw what `properly.diagnostics.score_densities` found; see `ScoreDensities.plot`."""
    with canvas(ax, (6.4, 4.4)) as axes:
        for side, (colour, hatch) in enumerate(zip(_COLOURS, _HATCHES, strict=True)):
            name = f"class {as_text(result.classes[side])}"
            look = {"facecolor": (colour, 0.18), "edgecolor": (colour, 0.4), "hatch": hatch, "linewidth": 0.0}
            axes.stairs(result.observed[side], result.edges, fill=True, label=f"{name}, observed", **look)
            each = zip(result.methods, result.fitted[side], styles(result.methods), strict=True)
            for method, density, style in each:
                label = f"{name}, {method.replace('_', ' ')}"
                axes.plot(result.score, density, color=colour, linestyle=style.line, label=label)
        axes.set(xlabel="score", ylabel="density within the class", ylim=(0.0, None))
        axes.set_xlim(result.edges[0], result.edges[-1])
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return axes


def draw_log_odds_fit(result: LogOddsFit, ax: Any = None) -> Any:
    """Draw what `properly.diagnostics.log_odds_fit` found; see `LogOddsFit.plot`."""
    bottom, top = _limits(result)
    with canvas(ax, (6.4, 4.6)) as axes:
        kinds = (
            (np.isfinite(result.low) & np.isfinite(result.high), "o", "counted"),
            (np.isneginf(result.low), "v", "counted, no positive: at most"),
            (np.isposinf(result.high), "^", "counted, no negative: at least"),
        )
        for inside, marker, label in kinds:
            if not inside.any():
                continue
            at = result.log_odds[inside]
            low, high = (np.clip(end[inside], bottom, top) for end in (result.low, result.high))
            end = high if marker == "v" else low if marker == "^" else at  # an open interval is marked at its end
            axes.vlines(result.score[inside], low, high, color=INK, linewidth=0.9, alpha=0.7)
            axes.plot(result.score[inside], end, marker, color=INK, markersize=5, fillstyle="full", label=label)
        for name, curve, style in zip(result.names, result.curves, styles(result.names), strict=True):
            inside = np.clip(curve, bottom - 1.0, top + 1.0)  # infinite log-odds leave the frame
            axes.plot(result.grid, inside, **style.look(name.replace("_", " ")))
        axes.set(xlabel="score", ylabel="log-odds of the positive class", ylim=(bottom, top))
        axes.legend()
    return axes


def _limits(result: LogOddsFit) -> tuple[float, float]:
    """What was counted, and room for the ends of the intervals."""
    ends = np.concatenate([result.log_odds, result.low, result.high])
    ends = ends[np.isfinite(ends)]
    low, high = float(ends.min()), float(ends.max())
    margin = 0.08 * (high - low) + 0.1
    return low - margin, high + margin


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
