"""Decision curves and cost curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from properly.plots.scales import threshold_scale
from properly.plots.style import INK, PALE, as_text, canvas, styles

if TYPE_CHECKING:
    from properly.diagnostics.decision_curves import CostCurve, DecisionCurve


def draw_decision_curve(result: DecisionCurve, ax: Any = None, *, scale: str = "probability") -> Any:
    """Draw what `properly.diagnostics.decision_curve` found; see `DecisionCurve.plot`."""
    where = threshold_scale(scale, result.thresholds, result.benefits)
    with canvas(ax, (6.0, 4.4)) as axes:
        x = where(result.thresholds)
        axes.plot(x, result.treat_all, color=PALE, linewidth=1.0, label="act on all")
        axes.axhline(0.0, color=INK, linewidth=1.0, linestyle=(0, (5, 3)), label="act on none")
        for name, benefits, style in zip(result.names, result.benefits, styles(len(result.names)), strict=True):
            axes.plot(x, benefits, color=style.colour, linestyle=style.line, label=as_text(name))
        top = max(float(np.max(result.benefits)), float(np.max(result.treat_all)), 1e-12)
        where.label(axes.xaxis)
        axes.set(xlabel="threshold: act from this probability on", ylabel="net benefit, in true positives per row")
        axes.set_ylim(-0.15 * top, 1.08 * top)  # what is far below 0 does not matter: nobody need do worse than that
        axes.legend()
    return axes


def draw_cost_curve(result: CostCurve, ax: Any = None, *, scale: str = "probability") -> Any:
    """Draw what `properly.diagnostics.cost_curve` found; see `CostCurve.plot`."""
    where = threshold_scale(scale, result.thresholds, result.costs)
    with canvas(ax, (6.0, 4.4)) as axes:
        x = where(result.thresholds)
        axes.axhline(result.constant, color=PALE, linewidth=1.0, label="the same decision for all")
        theory = result.choices[0].theoretical_threshold
        axes.axvline(
            float(where(np.array(theory))),
            color=INK,
            linewidth=1.0,
            linestyle=(0, (1, 2)),
            label=f"best if right: {theory:.3g}",
        )
        for name, costs, choice, style in zip(
            result.names, result.costs, result.choices, styles(len(result.names)), strict=True
        ):
            axes.plot(x, costs, color=style.colour, linestyle=style.line, label=as_text(name))
            lowest = float(where(np.array(min(choice.threshold, 1.0))))
            axes.plot(lowest, choice.expected_cost, style.marker, color=style.colour, markersize=7)
        where.label(axes.xaxis)
        axes.set(xlabel="threshold: positive from this probability on", ylabel="mean cost per row")
        axes.legend()
    return axes
