"""Where probabilities are right and where not: numbers first (`.frame()`), then pictures (`.plot()`)."""

from properly.diagnostics.decision_curves import CostCurve, DecisionCurve, cost_curve, decision_curve
from properly.diagnostics.groups import GroupCalibration, by_group
from properly.diagnostics.log_odds_fit import LogOddsFit, log_odds_fit
from properly.diagnostics.loss_curves import CompositeCurves, LossCurves, composite_curves, loss_curves
from properly.diagnostics.murphy import Murphy, MurphyDifference, murphy, murphy_difference
from properly.diagnostics.reliability import (
    MulticlassReliability,
    Reliability,
    ReliabilityByForecaster,
    multiclass_reliability,
    reliability,
)
from properly.diagnostics.score_densities import ScoreDensities, score_densities

__all__ = [
    "CompositeCurves",
    "CostCurve",
    "DecisionCurve",
    "GroupCalibration",
    "LogOddsFit",
    "LossCurves",
    "MulticlassReliability",
    "Murphy",
    "MurphyDifference",
    "Reliability",
    "ReliabilityByForecaster",
    "ScoreDensities",
    "by_group",
    "composite_curves",
    "cost_curve",
    "decision_curve",
    "log_odds_fit",
    "loss_curves",
    "multiclass_reliability",
    "murphy",
    "murphy_difference",
    "reliability",
    "score_densities",
]
