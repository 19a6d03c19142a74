"""The metrics by name, and as scorers for `cross_val_score`, `GridSearchCV` and the like: the larger the better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from properly.forecasts import read_binary, read_forecast
from properly.losses import LogLoss, Loss, get_loss
from properly.metrics.calibration_error import (
    calibration_loss,
    classwise_calibration_error,
    confidence_calibration_error,
    expected_calibration_error,
    smooth_calibration_error,
)
from properly.metrics.kernel_error import squared_kernel_error_of
from properly.metrics.ranking import auc_of
from properly.metrics.scores import brier_score, decomposition_of, log_loss, proper_score, skill_score


class Metric(NamedTuple):
    """A number that judges probabilities.

    `function` takes y, p and the keywords sample_weight and classes.

    Attributes
    ----------
    function : callable
        What computes the number.
    larger_is_better : bool, default False
        Whether larger values are better.
    multiclass : bool, default True
        Whether it is defined for more than two classes.
    """

    function: Callable[..., float]
    larger_is_better: bool = False
    multiclass: bool = True  # whether it is defined for more than two classes

    def scorer(self, **options: Any) -> Any:
        """A scorer of scikit-learn, with `options` for the function."""
        return make_scorer(
            self.function, greater_is_better=self.larger_is_better, response_method="predict_proba", **options
        )


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
    return Metric(proper_score).scorer(loss=get_loss(loss), classes=classes)


def _miscalibration(y: ArrayLike, p: ArrayLike, **options: Any) -> float:
    return decomposition_of(read_forecast(y, p, keep_library=True, **options), LogLoss()).miscalibration


def _discrimination(y: ArrayLike, p: ArrayLike, **options: Any) -> float:
    return decomposition_of(read_forecast(y, p, keep_library=True, **options), LogLoss()).discrimination


def _area(y: ArrayLike, p: ArrayLike, **options: Any) -> float:
    return auc_of(read_binary(y, p, keep_library=True, **options)).area


def _kernel_error(y: ArrayLike, p: ArrayLike, **options: Any) -> float:
    return squared_kernel_error_of(read_forecast(y, p, **options))


METRICS = {
    "log_loss": Metric(log_loss),
    "brier_score": Metric(brier_score),
    "skill_score": Metric(skill_score, larger_is_better=True),
    "miscalibration": Metric(_miscalibration),
    "discrimination": Metric(_discrimination, larger_is_better=True),
    "calibration_loss": Metric(calibration_loss, multiclass=False),
    "expected_calibration_error": Metric(expected_calibration_error, multiclass=False),
    "classwise_calibration_error": Metric(classwise_calibration_error),
    "confidence_calibration_error": Metric(confidence_calibration_error),
    "smooth_calibration_error": Metric(smooth_calibration_error, multiclass=False),
    "kernel_calibration_error": Metric(_kernel_error),
    "auc": Metric(_area, larger_is_better=True, multiclass=False),
}
"""Every metric that is one number: a line here makes it a scorer, and has it tested like the others."""

SCORERS: dict[str, Any] = {
    name if metric.larger_is_better else f"neg_{name}": metric.scorer() for name, metric in METRICS.items()
}
"""Scorers of `predict_proba` by name; those named neg_ are negated errors, as in scikit-learn."""
