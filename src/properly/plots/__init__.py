"""Pictures of what `properly.diagnostics` finds; every result has a `.plot()` that leads here. They need matplotlib."""

from properly.plots.curves import (
    draw_composite_curves,
    draw_cost_curve,
    draw_decision_curve,
    draw_groups,
    draw_log_odds_fit,
    draw_loss_curves,
    draw_murphy,
    draw_murphy_difference,
    draw_score_densities,
)
from properly.plots.reliability import (
    draw_multiclass_reliability,
    draw_reliability,
    draw_reliability_by_forecaster,
)
from properly.plots.style import STYLES, Style

__all__ = [
    "STYLES",
    "Style",
    "draw_composite_curves",
    "draw_cost_curve",
    "draw_decision_curve",
    "draw_groups",
    "draw_log_odds_fit",
    "draw_loss_curves",
    "draw_multiclass_reliability",
    "draw_murphy",
    "draw_murphy_difference",
    "draw_reliability",
    "draw_reliability_by_forecaster",
    "draw_score_densities",
]
