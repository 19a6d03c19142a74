"""Models whose prediction runs on arrays without values: copies, with parts in place of scikit-learn's estimators.

This library's own models run as they are. Estimators of scikit-learn check their input, so they are replaced by parts
that compute the same: linear classifiers, `StandardScaler` and `SimpleImputer` here, in float64; others by skl2onnx.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from math import isnan
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.ensemble._forest import ForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metaestimators import available_if

from properly.boosting import ProperBoostingClassifier
from properly.calibration import CalibratedClassifier
from properly.classifier import LogScoreClassifier, chosen, log_probabilities, probabilities
from properly.inputs.unwrap import inside
from properly.numeric import functions as fn
from properly.numeric.arrays import beside, columns_of, constant, namespace
from properly.numeric.limits import LARGEST
from properly.onnx.foreign import converted
from properly.onnx.trees import forest_means, tree_sums


def traceable(model: Any) -> Any:
    """A classifier that predicts for arrays without values as the fitted model does for others."""
    if is_kind(model, Pipeline):
        *steps, (name, last) = model.steps
        return Pipeline([*((each, _transformer(step)) for each, step in steps), (name, traceable(last))])
    if is_kind(model, (BaseSearchCV, FrozenEstimator)):
        return traceable(inside(model))
    if any(package_of(kind) == "properly" for kind in type(model).__mro__):
        return _own(model)
    if package_of(type(model)) == "lightgbm" and hasattr(model, "predict_proba"):
        return LightGBMPart(model)
    if is_kind(model, ForestClassifier) and model.n_outputs_ == 1:
        return ForestPart(model)
    if is_kind(model, LinearClassifierMixin):
        return LogisticPart(model) if _is_plain_logistic(model) else LinearPart(model)
    return ClassifierPart(model)


def is_kind(model: Any, kind: type | tuple[type, ...]) -> bool:
    """Whether a model is of one of these classes, or of a subclass that scikit-learn itself made.

    Another subclass may do anything: it must not be written as if it were its parent.

    >>> another = type("Another", (StandardScaler,), {"__module__": "elsewhere"})
    >>> is_kind(StandardScaler(), StandardScaler), is_kind(another(), StandardScaler)
    (True, False)
    """
    return isinstance(model, kind) and package_of(type(model)) == "sklearn"


def package_of(kind: type) -> str:
    """The package that a class belongs to."""
    return kind.__module__.partition(".")[0]


def takes_columns(model: Any) -> bool:
    """Whether a model takes tables, as `properly.tables.TableClassifier` does: a graph has an input for each column."""
    return hasattr(model, "input_columns")


def once(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run once for each choice of options: a part has one input in a graph, however often it is asked."""
    results: dict[tuple[Any, ...], Any] = {}

    def first(X: Any, *options: Any) -> Any:
        if options not in results:
            results[options] = function(X, *options)
        return results[options]

    return first


def _own(model: Any) -> Any:
    """A copy of a model of this library, whose estimators are traceable and whose log-scores are computed once."""
    model = copy(model)
    if isinstance(model, CalibratedClassifier):
        model.pairs_ = [
            replace(pair, estimator=traceable(pair.estimator), calibrator=_own(pair.calibrator))
            for pair in model.pairs_
        ]
    elif hasattr(model, "parts_"):  # of an average
        model.parts_ = [replace(part, model=_part(part.model)) for part in model.parts_]
    elif held := [name for name in ("estimator_", "classifier_", "classifier") if hasattr(model, name)]:
        setattr(model, held[0], traceable(getattr(model, held[0])))
    if isinstance(model, ProperBoostingClassifier):
        width = len(model.starts_) // len(model.models_)
        trees = [
            dumped
            for booster in model._trees()
            for dumped in ([None] * width if booster is None else [booster.dump_model()])
        ]
        model._scores = once(lambda X: tree_sums(trees, model._read(X)) + constant(model.starts_, X))  # type: ignore[method-assign]
    if isinstance(model, LogScoreClassifier):
        model._log_scores = once(model._log_scores)  # type: ignore[method-assign]
    if takes_columns(model):
        model.predict_proba = once(model.predict_proba)  # the label comes from them
    return model


def _part(part: Any) -> Any:
    """A model of an average, which may have a calibrator."""
    calibrator = None if part.calibrator is None else _own(part.calibrator)
    return replace(part, classifier=traceable(part.classifier), calibrator=calibrator)


def _transformer(step: Any) -> Any:
    """What transforms arrays without values as a step of a pipeline does others."""
    if step is None or step == "passthrough":
        return step
    if is_kind(step, Pipeline):
        return Pipeline([(name, _transformer(inner)) for name, inner in step.steps])
    if is_kind(step, StandardScaler):
        return ScalerPart(step)
    if is_kind(step, SimpleImputer) and isinstance(nan := step.missing_values, float | np.floating) and isnan(nan):
        return ImputerPart(step)
    return TransformerPart(step)


def _is_plain_logistic(model: Any) -> bool:
    """Whether probabilities are the logistic function or the softmax of the scores.

    Until scikit-learn 1.8, several classes could also be fitted one versus rest, and two by a softmax.
    """
    usual = getattr(model, "multi_class", "deprecated") in ("auto", "deprecated", "warn")
    by_softmax = len(model.classes_) == 2 or getattr(model, "solver", None) != "liblinear"
    return isinstance(model, LogisticRegression) and usual and by_softmax


class Part(BaseEstimator):
    """What stands for a fitted estimator of another library."""

    fit = None  # fitted already, but without the name it would not count as an estimator

    def __init__(self, model: Any) -> None:
        self.model = model
        self._converted = once(partial(converted, model))

    def __sklearn_is_fitted__(self) -> bool:
        return True


class TransformerPart(Part):
    """Any transformer."""

    def transform(self, X: Any) -> Any:
        return self._converted(X)[0]


class ScalerPart(Part):
    """`StandardScaler`."""

    def transform(self, X: Any) -> Any:
        X = X - constant(self.model.mean_, X) if self.model.with_mean else X
        X = X / constant(self.model.scale_, X) if self.model.with_std else X
        return namespace(X).clip(X, -LARGEST, LARGEST)


class ImputerPart(Part):
    """`SimpleImputer` of nan: a number for each column, dropped if it has none; if asked for, 1 where nan was."""

    def transform(self, X: Any) -> Any:
        xp, missing = namespace(X), namespace(X).isnan(X)
        statistics = np.asarray(self.model.statistics_, dtype=np.float64)
        filled = xp.where(missing, constant(statistics, X), X)
        if np.isnan(statistics).any():
            filled = xp.take(filled, constant(np.flatnonzero(~np.isnan(statistics)), X), axis=1)
        if self.model.indicator_ is None:
            return filled
        indicator = xp.take(missing, constant(self.model.indicator_.features_, X), axis=1)
        return xp.concat([filled, xp.astype(indicator, xp.float64)], axis=1)


class ClassifierPart(Part):
    """Any classifier."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.classes_ = model.classes_

    def predict_proba(self, X: Any) -> Any:
        return self._converted(X, ("zipmap", False))[1]

    @available_if(lambda self: hasattr(self.model, "decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        scores = self._converted(X, ("zipmap", False), ("raw_scores", True))[1]
        return scores[:, 1] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        return chosen(self.predict_proba(X), self.classes_)


class LightGBMPart(ClassifierPart):
    """LightGBM's own classifier: what its objective makes of the sums of its trees."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._dumped = model.booster_.dump_model()
        self._sums = once(partial(tree_sums, [self._dumped]))

    @available_if(lambda self: hasattr(self.model, "decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        sums = self._sums(X)
        return columns_of(sums)[0] if len(self.classes_) == 2 else sums

    def predict_proba(self, X: Any) -> Any:
        objective, *options = str(self._dumped.get("objective", "custom")).split()
        slope = next((float(each.removeprefix("sigmoid:")) for each in options if each.startswith("sigmoid:")), 1.0)
        if objective == "multiclass":
            return fn.softmax(self._sums(X), axis=1)
        if objective not in ("binary", "multiclassova"):
            raise NotImplementedError(
                f"{type(self.model).__name__} cannot be written as ONNX with the objective {objective!r}; use binary, "
                "multiclass or multiclassova."
            )
        p = fn.expit(slope * self._sums(X))
        return beside(1.0 - p, p) if objective == "binary" else p


class ForestPart(ClassifierPart):
    """`RandomForestClassifier` and `ExtraTreesClassifier`."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.predict_proba = once(partial(forest_means, model))  # type: ignore[method-assign]


class LinearPart(ClassifierPart):
    """A linear classifier of scikit-learn."""

    def decision_function(self, X: Any) -> Any:
        """x·w + b: coef_ may be sparse, or a single row without its second axis."""
        coef = self.model.coef_
        coef = np.atleast_2d(coef.toarray() if sparse.issparse(coef) else coef)
        scores = fn.matmul(X, coef.T) + constant(np.reshape(self.model.intercept_, (1, -1)), X)
        return scores[:, 0] if len(coef) == 1 else scores


class LogisticPart(LinearPart):
    """`LogisticRegression`: the logistic function of one score, or the softmax of several."""

    def predict_proba(self, X: Any) -> Any:
        return probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Any:
        return log_probabilities(self.decision_function(X))

    def predict(self, X: Any) -> Any:
        return chosen(self.decision_function(X), self.classes_)
