"""The metrics as scorers for `cross_val_score`, `GridSearchCV` and their kin: the larger the better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from properly.losses import Loss, get_loss
from properly.metrics.calibration_error import (
    calibration_loss,
    classwise_calibration_error,
    confidence_calibration_error,
    expected_calibration_error,
)
from properly.metrics.decomposition import score_decomposition
from properly.metrics.ranking import auc
from properly.metrics.scores import brier_score, log_loss, proper_score, skill_score
from properly.metrics.smooth import smooth_calibration_error


def proper_scorer(loss: str | Loss = "log", *, classes: ArrayLike | None = None) -> Any:
    """A scikit-learn scorer for any proper loss: minus the mean loss of `predict_proba`, the larger the better.

    Parameters
    ----------
    loss : Loss or a key of `properly.losses.LOSSES`, default "log"
        `CostWeightedLoss(c)` gives the cost of decisions at threshold c.
    classes : array of labels, optional
        All labels in sorted order, for folds that may lack one of them.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = make_classification(random_state=0)
    >>> cross_val_score(LogisticRegression(), X, y, scoring=proper_scorer("squared")).mean()
    np.float64(-0.068...)

    With metadata routing it takes weights: ``proper_scorer("log").set_score_request(sample_weight=True)``.
    """
    return _scorer(proper_score, sign=-1, loss=get_loss(loss), classes=classes)


def _scorer(metric: Callable[..., float], *, sign: int, **options: Any) -> Any:
    return make_scorer(metric, greater_is_better=sign > 0, response_method="predict_proba", **options)


def _miscalibration(y: ArrayLike, p: ArrayLike, **options: Any) -> float:
    return score_decomposition(y, p, **options).miscalibration


def _discrimination(y: ArrayLike, p: ArrayLike, **options: Any) -> float:
    return score_decomposition(y, p, **options).discrimination


def _area(y: ArrayLike, p: ArrayLike, **options: Any) -> float:
    return auc(y, p, **options).area


SCORERS: dict[str, Any] = {
    "neg_log_loss": _scorer(log_loss, sign=-1),
    "neg_brier_score": _scorer(brier_score, sign=-1),
    "skill_score": _scorer(skill_score, sign=1),
    "neg_miscalibration": _scorer(_miscalibration, sign=-1),
    "discrimination": _scorer(_discrimination, sign=1),
    "neg_calibration_loss": _scorer(calibration_loss, sign=-1),
    "neg_expected_calibration_error": _scorer(expected_calibration_error, sign=-1),
    "neg_classwise_calibration_error": _scorer(classwise_calibration_error, sign=-1),
    "neg_confidence_calibration_error": _scorer(confidence_calibration_error, sign=-1),
    "neg_smooth_calibration_error": _scorer(smooth_calibration_error, sign=-1),
    "auc": _scorer(_area, sign=1),
}
"""Scorers of `predict_proba` by name; those named neg_ are negated errors, as in scikit-learn."""
