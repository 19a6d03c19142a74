"""The scores of a classifier that a calibrator starts from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special as sc
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from properly.calibration.base import Calibrator
from properly.inputs.unwrap import innermost
from properly.numeric.probabilities import Array, as_float

_LOG_SMALLEST = float(np.log(np.finfo(np.float64).smallest_subnormal))
_METHODS = ("decision_function", "predict_proba", "predict_log_proba")


def require_class_scores(estimator: Any, n_classes: int) -> None:
    """Refuse an estimator that cannot score the classes, as far as this is known before it is trained."""
    inner = innermost(estimator)
    if n_classes > 2:
        _refuse_pairs(inner)
    if any(hasattr(estimator, name) for name in _METHODS):
        return
    # Some, such as StackingClassifier, have a method of their class only once they are trained.
    if getattr(inner, "voting", None) == "hard" or not any(hasattr(type(inner), name) for name in _METHODS):
        raise _no_scores(inner)


def by_decision(estimator: Any) -> bool:
    """Whether a calibrator starts from the decision function; not if that comes from probabilities of 0 and 1, too."""
    from_probabilities = getattr(innermost(estimator), "_decisions_from_probabilities", False)
    return hasattr(estimator, "decision_function") and not from_probabilities


def scores_of(estimator: Any, X: Any) -> Array:
    """What a classifier says of rows: its decision function, or log-odds (n,) or log-probabilities (n, K).

    Infinite where a probability is 0 or 1.
    """
    if by_decision(estimator):
        scores = as_float(estimator.decision_function(X), "decision_function")
        if scores.ndim == 2 and scores.shape[1] > 1:
            _refuse_pairs(innermost(estimator))
        return scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores
    with np.errstate(divide="ignore"):
        if hasattr(estimator, "predict_log_proba"):
            log_p = as_float(estimator.predict_log_proba(X), "predict_log_proba")
        elif hasattr(estimator, "predict_proba"):
            log_p = np.log(as_float(estimator.predict_proba(X), "predict_proba"))
        else:
            raise _no_scores(estimator)
    return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p


def _refuse_pairs(inner: Any) -> None:
    if getattr(inner, "decision_function_shape", None) == "ovo":
        raise ValueError(
            f'{type(inner).__name__} has decision_function_shape="ovo", one score a pair of classes, but a calibrator '
            'needs one a class; use decision_function_shape="ovr".'
        )


def _no_scores(estimator: Any) -> ValueError:
    return ValueError(
        f"{type(estimator).__name__} has neither decision_function nor predict_proba, but one is needed; use a "
        'classifier that has one (for VotingClassifier, voting="soft").'
    )


class ScoringTask(NamedTuple):
    """What is fitted to which rows."""

    estimator: Any
    X: Any
    y: NDArray[Any]
    weight: Array | None
    fit_params: dict[str, Any]

    def train(self, rows: Indices) -> Any:
        X, y = _safe_split(self.estimator, self.X, self.y, rows)
        return clone(self.estimator).fit(X, y, **_check_method_params(self.X, self.fit_params, rows))

    def train_and_score(self, train: Indices, test: Indices, keep: bool) -> tuple[Any, Array]:
        """The trained estimator, if it is needed later, and its scores of other rows."""
        fitted = self.train(train)
        X, _ = _safe_split(self.estimator, self.X, None, test, train)
        return (fitted if keep else None), scores_of(fitted, X)


@dataclass(frozen=True)
class Limits:
    """Between which scores others are read, so that probabilities of 0 and 1 have log-odds, too."""

    low: float = -np.inf
    high: float = np.inf

    @classmethod
    def learn(cls, scores: Array) -> Limits:
        """The limits for log-odds (n,) or log-probabilities (n, K), some of which may be infinite."""
        if scores.ndim == 1:
            return cls(_lowest_log_odds(scores), -_lowest_log_odds(-scores))
        return cls(_half_the_smallest(scores))

    def __call__(self, scores: Array) -> Array:
        return np.clip(scores, self.low, self.high)


@dataclass(frozen=True)
class CalibratedPair:
    """A trained classifier, and the calibrator of its scores."""

    estimator: Any
    reader: Limits
    calibrator: Calibrator

    def predict_proba(self, X: Any) -> Array:
        return self.calibrator.predict_proba(self.reader(scores_of(self.estimator, X)))


def _half_the_smallest(log_p: Array) -> float:
    """ln p/2, of the smallest p > 0 if there are zeros, else of the smallest p or the smallest number in float64."""
    positive = log_p[np.isfinite(log_p)]
    if np.isneginf(log_p).any():
        smallest = float(positive.min()) if len(positive) else np.log(0.5)
    else:
        smallest = min(float(positive.min(initial=0.0)), _LOG_SMALLEST)
    return smallest - float(np.log(2.0))


def _lowest_log_odds(log_odds: Array) -> float:
    half = _half_the_smallest(sc.log_expit(log_odds[~np.isposinf(log_odds)]))
    return half - float(np.log1p(-np.exp(half)))


Indices = NDArray[np.intp]


class GivenRows(NamedTuple):
    """All rows as the user gave them, of which those of weight 0 do not count."""

    X: Any
    y: Any
    for_split: dict[str, Any]
    weight: Array | None

    @property
    def counted(self) -> NDArray[np.bool_]:
        return np.full(len(self.y), True) if self.weight is None else self.weight > 0.0

    def balanced_folds(self, n_folds: int, codes: NDArray[Any]) -> Iterable[tuple[Any, Any]]:
        """Stratified folds of the rows that count."""
        for_split = _check_method_params(self.X, self.for_split, np.flatnonzero(self.counted))
        return check_cv(n_folds, codes, classifier=True).split(codes, codes, **for_split)

    def thinned(self, cv: Any) -> Iterator[tuple[Indices, Indices]]:
        """The splits of all rows, as a splitter or a list of row numbers speaks of them, less those that do not count.

        A row has its place among those that count in the end.
        """
        place = np.where(self.counted, np.cumsum(self.counted) - 1, -1)
        for sides in check_cv(cv).split(self.X, self.y, **self.for_split):
            train, test = (place[side] for side in sides)
            yield train[train >= 0], test[test >= 0]
