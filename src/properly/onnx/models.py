"""Classifiers of any kind: which function writes which."""

from __future__ import annotations

from math import isnan
from numbers import Real
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from properly.calibration import CalibratedClassifier
from properly.calibration.classifier import CalibratedPair
from properly.linear.estimator import LinearPredictor
from properly.onnx.calibrators import classify_scores
from properly.onnx.foreign import foreign_classifier, foreign_decision, foreign_transform
from properly.onnx.graph import Value, log_softmax, softmax
from properly.onnx.kinds import is_kind
from properly.onnx.linear import (
    Classified,
    classify_linear,
    classify_logistic,
    decision_of_linear,
    linear_scores,
    two_classes,
)
from properly.onnx.links import logistic_pair
from properly.prevalence import PriorCorrectedClassifier
from properly.prevalence.prior import log_prior_ratio

_LARGEST = float(np.finfo(np.float64).max)


def classify(model: Any, X: Value) -> Classified:
    """Probabilities and the chosen class."""
    if is_kind(model, Pipeline):
        return classify(model.steps[-1][1], _through_steps(model, X))
    if is_kind(model, (BaseSearchCV, FrozenEstimator)):
        return classify(_inner(model), X)
    if is_kind(model, LinearPredictor):
        return classify_linear(model, X)
    if _is_plain_logistic(model):
        return classify_logistic(model, X)
    if is_kind(model, CalibratedClassifier):
        return _classify_calibrated(model, X)
    if is_kind(model, PriorCorrectedClassifier):
        return _classify_corrected(model, X)
    return foreign_classifier(model, X)


def scores_of(model: Any, X: Value) -> Value:
    """What a calibrator starts from, as `properly.calibration.classifier.scores_of` has it.

    The decision function, or else log-odds (rows, 1) or log-probabilities (rows, K).
    """
    if is_kind(model, Pipeline):
        return scores_of(model.steps[-1][1], _through_steps(model, X))
    if is_kind(model, (BaseSearchCV, FrozenEstimator)):
        return scores_of(_inner(model), X)
    if is_kind(model, LinearPredictor):
        return decision_of_linear(model, X)
    if is_kind(model, LinearClassifierMixin):
        return linear_scores(model, X)
    if is_kind(model, PriorCorrectedClassifier):
        scores = _corrected_log_scores(model, X)
        return scores if len(model.classes_) == 2 else log_softmax(scores)
    if hasattr(model, "decision_function") and not is_kind(model, CalibratedClassifier):
        return foreign_decision(model, X)
    log_p = classify(model, X).probabilities.log()
    return log_p.column(1) - log_p.column(0) if len(model.classes_) == 2 else log_p


def _is_plain_logistic(model: Any) -> bool:
    """Whether probabilities are the logistic function or the softmax of the scores.

    Until scikit-learn 1.8, several classes could also be fitted one versus rest, and two by a softmax.
    """
    if not is_kind(model, LogisticRegression):
        return False
    usual = getattr(model, "multi_class", "deprecated") in ("auto", "deprecated", "warn")
    return usual and (len(model.classes_) == 2 or model.solver != "liblinear")


def _inner(model: Any) -> Any:
    return model.best_estimator_ if isinstance(model, BaseSearchCV) else model.estimator


def _through_steps(pipeline: Pipeline, X: Value) -> Value:
    for _, step in pipeline.steps[:-1]:
        if step is not None and step != "passthrough":
            X = _transformed(step, X)
    return X


def _transformed(step: Any, X: Value) -> Value:
    if is_kind(step, Pipeline):
        return _transformed(step.steps[-1][1], _through_steps(step, X))
    if is_kind(step, StandardScaler):
        X = X - step.mean_[None, :] if step.with_mean else X
        X = X / step.scale_[None, :] if step.with_std else X
        return X.clip(-_LARGEST, _LARGEST)  # a factor beside a product would be joined to it in float32
    if is_kind(step, SimpleImputer) and _is_nan(step.missing_values):
        return _filled_in(step, X)
    return foreign_transform(step, X)


def _is_nan(value: Any) -> bool:
    return isinstance(value, Real) and isnan(value)


def _filled_in(imputer: SimpleImputer, X: Value) -> Value:
    """nan replaced by a number for each column; columns without one dropped; those asked for added, 1 where nan was."""
    missing = X.graph.apply("IsNaN", X)
    statistics = np.asarray(imputer.statistics_, dtype=np.float64)
    filled = missing.where(statistics[None, :], X)
    if np.isnan(statistics).any():
        filled = filled.columns(np.flatnonzero(~np.isnan(statistics)).tolist())
    if imputer.indicator_ is None:
        return filled
    return filled.beside(missing.cast("DOUBLE").columns(imputer.indicator_.features_.tolist()))


def _classify_calibrated(model: CalibratedClassifier, X: Value) -> Classified:
    parts = [_probabilities_of_pair(pair, X) for pair in model.pairs_]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    mean = total / float(len(parts))
    return Classified(mean, mean.argmax())


def _probabilities_of_pair(pair: CalibratedPair, X: Value) -> Value:
    return classify_scores(pair.calibrator, scores_of(pair.estimator, X)).probabilities


def _corrected_log_scores(model: PriorCorrectedClassifier, X: Value) -> Value:
    shift = log_prior_ratio(model.train_prior_, model.true_prior_, len(model.classes_))
    log_p = classify(model.estimator_, X).probabilities.log()
    if len(model.classes_) == 2:
        return (log_p.column(1) - log_p.column(0)) + float(shift[1] - shift[0])
    return log_p + np.asarray(shift)[None, :]


def _classify_corrected(model: PriorCorrectedClassifier, X: Value) -> Classified:
    scores = _corrected_log_scores(model, X)
    if len(model.classes_) == 2:
        return two_classes(*logistic_pair(scores), scores)
    return Classified(softmax(scores), scores.argmax())
