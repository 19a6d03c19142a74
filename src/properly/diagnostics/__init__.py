"""Where probabilities are right and where not: numbers first (`.frame()`), then pictures (`.plot()`)."""

from properly.diagnostics.decision_curves import CostCurve, DecisionCurve, cost_curve, decision_curve
from properly.diagnostics.groups import GroupCalibration, by_group
from properly.diagnostics.log_odds_fit import LogOddsFit, log_odds_fit
from properly.diagnostics.loss_curves import LossCurves, loss_curves
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
