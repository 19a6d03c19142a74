"""How good probabilities are: proper scores, calibration errors, decisions, and comparisons of two forecasts."""

from properly.metrics.calibration_error import (
    calibration_loss,
    classwise_calibration_error,
    confidence_calibration_error,
    expected_calibration_error,
    smooth_calibration_error,
)
from properly.metrics.calibration_tests import CalibrationTest, calibration_test
from properly.metrics.decisions import ThresholdChoice, best_threshold, cost_matrix, cost_threshold, decide, parse_costs
from properly.metrics.kernel_error import KernelCalibrationError, kernel_calibration_error
from properly.metrics.paired import PairedDifference, SignTest, paired_bootstrap, sign_test
from properly.metrics.ranking import AreaUnderCurve, auc, auc_difference
from properly.metrics.scorers import METRICS, SCORERS, Metric, proper_scorer
from properly.metrics.scores import (
    Decomposition,
    brier_score,
    log_loss,
    probability_rmse,
    proper_score,
    row_losses,
    score_decomposition,
    skill_score,
)
from properly.metrics.thresholds import cost_weighted_error

__all__ = [
    "METRICS",
    "SCORERS",
    "AreaUnderCurve",
    "CalibrationTest",
    "Decomposition",
    "KernelCalibrationError",
    "Metric",
    "PairedDifference",
    "SignTest",
    "ThresholdChoice",
    "auc",
    "auc_difference",
    "best_threshold",
    "brier_score",
    "calibration_loss",
    "calibration_test",
    "classwise_calibration_error",
    "confidence_calibration_error",
    "cost_matrix",
    "cost_threshold",
    "cost_weighted_error",
    "decide",
    "expected_calibration_error",
    "kernel_calibration_error",
    "log_loss",
    "paired_bootstrap",
    "parse_costs",
    "probability_rmse",
    "proper_score",
    "proper_scorer",
    "row_losses",
    "score_decomposition",
    "sign_test",
    "skill_score",
    "smooth_calibration_error",
]
