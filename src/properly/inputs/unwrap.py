"""Pipelines, searches and frozen estimators: which estimator is inside, and where its weights go in."""

from __future__ import annotations

from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter


def innermost(estimator: Any) -> Any:
    """The one whose scores a pipeline, a search or a frozen estimator hands on."""
    while isinstance(estimator, Pipeline | BaseSearchCV | FrozenEstimator):
        if isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
        else:
            estimator = getattr(estimator, "best_estimator_", estimator.estimator)
    return estimator


def last_step(estimator: Any) -> Any:
    """What comes last in a pipeline, also in pipelines of pipelines; the estimator itself if it is none."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def weight_parameter(estimator: Any) -> str | None:
    """The parameter of `fit` that brings weights to the last step of pipelines, through searches; None without one.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_parameter(make_pipeline(LogisticRegression()))
    'logisticregression__sample_weight'
    """
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    if isinstance(estimator, BaseSearchCV):
        return weight_parameter(estimator.estimator)
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    return None
