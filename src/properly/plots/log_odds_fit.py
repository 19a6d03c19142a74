"""Counted and fitted log-odds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from properly.plots.style import INK, as_text, canvas, styles

if TYPE_CHECKING:
    from properly.diagnostics.log_odds_fit import LogOddsFit


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
        for name, curve, style in zip(result.names, result.curves, styles(len(result.names)), strict=True):
            inside = np.clip(curve, bottom - 1.0, top + 1.0)  # infinite log-odds leave the frame
            axes.plot(
                result.grid, inside, color=style.colour, linestyle=style.line, label=as_text(name.replace("_", " "))
            )
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
