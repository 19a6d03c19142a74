"""Pipelines, searches and frozen estimators: which estimator is inside, and where its weights go in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter


def inside(estimator: Any) -> Any:
    """What a pipeline ends in, a search has found (or searches for) or a frozen estimator holds; else None."""
    if isinstance(estimator, Pipeline):
        return estimator.steps[-1][1]
    if isinstance(estimator, BaseSearchCV) or hasattr(estimator, "best_estimator_"):
        return getattr(estimator, "best_estimator_", None) or estimator.estimator
    return estimator.estimator if isinstance(estimator, FrozenEstimator) else None


def layers(estimator: Any) -> Iterator[Any]:
    """The estimator, what is inside it, what is inside that, down to one that is no pipeline, search or frozen.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> [type(each).__name__ for each in layers(FrozenEstimator(make_pipeline(LogisticRegression())))]
    ['FrozenEstimator', 'Pipeline', 'LogisticRegression']
    """
    while estimator is not None:
        yield estimator
        estimator = inside(estimator)


def innermost(estimator: Any) -> Any:
    """The last of the `layers`: the one whose scores are handed on."""
    return list(layers(estimator))[-1]


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
