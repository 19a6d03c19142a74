"""One contract for every classifier: from scores to probabilities, their logarithms, decisions and classes.

Scores in this sense are the log-odds of the second of two classes, of shape (n,), or logarithms of the probabilities of
every class up to a constant in each row, of shape (n, K). Infinite ones are allowed: a class that is ruled out.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from properly.engines import PartitionedEngine, engine_for
from properly.engines.base import add_up
from properly.engines.description import Part, said_of
from properly.engines.partitioned import mapped
from properly.forecasts.counting import is_elsewhere
from properly.inputs.labels import found_classes
from properly.kernels import Block, Statistic
from properly.links import Link, Logit
from properly.numeric import functions as fn
from properly.numeric.arrays import (
    Array,
    as_integers,
    beside,
    columns_of,
    constant,
    is_foreign,
    is_traced,
    namespace,
    require_values,
    to_numpy,
)
from properly.numeric.limits import FARTHEST


class AccuracyMixin(ClassifierMixin):
    """What classifiers are judged by that have not been asked for probabilities."""

    _takes_parts: bool = False  # whether every method that predicts takes rows that are not in memory

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """The accuracy of `predict`; use a proper score to judge the probabilities."""
        return accuracy(self, X, y, sample_weight)


class LogScoreClassifier(ABC, AccuracyMixin, BaseEstimator):
    """A classifier of log-odds or log-probabilities; a subclass gives `_log_scores` and sets ``classes_``."""

    classes_: NDArray[Any]
    _decisions_from_probabilities: ClassVar[bool] = True  # a calibrator reads these instead: they may be 0 or 1

    def _read(self, X: Any) -> Any:
        """What users hand in, as `_log_scores` takes it."""
        check_is_fitted(self)
        if not isinstance(X, Block):
            require_values(X, "X")
        return X

    @abstractmethod
    def _log_scores(self, X: Any) -> Array:
        """Log-odds (n,) for two classes, or log-probabilities (n, K) up to a constant in each row."""

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities of shape (n, K), one column per entry of ``classes_``.

        Both columns of two classes are accurate to their own last digits.
        """
        return probabilities(self._log_scores(self._read(X)))

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of the class probabilities, finite also where a probability is too small for float64.

        They are -∞ only where the model gives a class a probability of exactly 0.
        """
        return log_probabilities(self._log_scores(self._read(X)))

    def decision_function(self, X: Any) -> Array:
        """The log-odds of the second of two classes, of shape (n,); log-probabilities of shape (n, K) for more.

        Where a probability is exactly 0 or 1 they are ±1e100, not infinite.
        """
        return decisions(self._log_scores(self._read(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        return chosen(self._log_scores(self._read(X)), self.classes_)


class LinkScoreClassifier(ABC, AccuracyMixin, BaseEstimator):
    """A classifier with scores on the scale of a link, of shape (n, 1) for two classes and (n, K) for more.

    Of more than two classes each has a score against the rest, and their probabilities are divided by their sum. Where
    the link is None the scores are those of a softmax.
    """

    classes_: NDArray[Any]
    link_: Link | None

    def _decisions(self, v: Array) -> Array:
        """The scores minus that of p = 1/2."""
        if self.link_ is None:
            return v
        v = v - float(self.link_.link(0.5))
        return columns_of(v)[0] if len(self.classes_) == 2 else v

    def _probabilities(self, v: Array) -> Array:
        if self.link_ is None:
            return probabilities(v)
        if len(self.classes_) > 2:
            return namespace(v).exp(self._log_probabilities(v))
        p, q = self.link_.inverse_pair(v)
        return beside(q, p)

    def _log_probabilities(self, v: Array) -> Array:
        if self.link_ is None:
            return log_probabilities(v)
        with np.errstate(all="ignore"):
            log_p, log_q = self.link_._logs(v)
        return beside(log_q, log_p) if len(self.classes_) == 2 else log_probabilities(log_p)


def accuracy(
    estimator: Any, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None, **options: ArrayLike | None
) -> float:
    """The share of the rows whose class is predicted; `options` are those of `predict`."""
    check_is_fitted(estimator)
    if is_elsewhere(X) and estimator._takes_parts:
        engine = cast(type[PartitionedEngine], engine_for(X))(X, y, sample_weight, **options).predicting(estimator)
        try:
            engine.prepare(several=False)
            with engine.visited(partial(_hits, estimator)) as results:
                hits = add_up(results)
        finally:
            engine.release()
        if not hits.total > 0.0:
            raise ValueError("there are no rows of a positive weight.")
        return hits.right / hits.total
    for name, given in (("X", X), ("y", y), ("sample_weight", sample_weight)):
        require_values(given, name)
    arrays = (y, estimator.predict(X, **options), sample_weight)
    labels, predicted, weight = (to_numpy(x) if is_foreign(x) else x for x in arrays)
    return float(accuracy_score(labels, predicted, sample_weight=weight))


@dataclass
class _Hits(Statistic):
    """The weight of the rows whose class is predicted, and that of all rows."""

    right: float
    total: float


def _hits(estimator: Any, part: Part, number: int) -> _Hits | None:
    part = part.checked(getattr(estimator, "feature_names_in_", None))
    if not part.X.shape[0]:
        return None
    labels = part.labels()
    with said_of(part.place):
        found_classes(labels)  # refuses missing ones
    right = mapped(estimator, estimator.predict, part, number) == labels
    weight = np.ones(len(right)) if part.weight is None else part.weight
    return _Hits(float(weight @ right), float(weight.sum()))


def probabilities(log_scores: Array) -> Array:
    """Probabilities of shape (n, K); where every class is ruled out, none is preferred: all are equal.

    >>> import numpy as np
    >>> probabilities(np.array([0.0, 40.0]))[:, 0]
    array([5.0e-01, 4.25e-18])
    """
    if log_scores.ndim == 1:
        p, q = Logit().inverse_pair(log_scores)
        return namespace(p).stack([q, p], axis=1)
    return fn.softmax(_with_a_choice(log_scores), axis=1)


def log_probabilities(log_scores: Array) -> Array:
    """Their logarithms, finite long after a probability has underflowed.

    >>> import numpy as np
    >>> log_probabilities(np.array([1000.0]))
    array([[-1000.,    -0.]])
    """
    if log_scores.ndim == 1:
        log_p, log_q = Logit()._logs(log_scores)
        return namespace(log_p).stack([log_q, log_p], axis=1)
    return fn.log_softmax(_with_a_choice(log_scores), axis=1)


def decisions(log_scores: Array) -> Array:
    """Finite numbers in the order of the scores: log-odds (n,) for two classes, log-probabilities (n, K) for more."""
    if log_scores.ndim == 2 and log_scores.shape[1] == 2:
        log_scores = difference(_with_a_choice(log_scores))
    values = log_scores if log_scores.ndim == 1 else log_probabilities(log_scores)
    return namespace(values).clip(values, -FARTHEST, FARTHEST)


def chosen(scores: Array, classes: NDArray[Any]) -> NDArray[Any]:
    """The class of the largest score (the first of equals); with one score a row, the second class where it is > 0.

    >>> import numpy as np
    >>> chosen(np.array([-1.0, 0.0, 2.0]), np.array(["no", "yes"]))
    array(['no', 'no', 'yes'], dtype='<U3')
    """
    index = as_integers(scores > 0.0) if scores.ndim == 1 else namespace(scores).argmax(scores, axis=1)
    if classes.dtype.kind not in "iufb" and not is_traced(scores):  # no other library has texts
        index = to_numpy(index)
    if classes.dtype.kind == "u" and is_foreign(index) and not is_traced(index):
        return constant(classes, index)[index]  # PyTorch's take knows bytes only
    return fn.entries(classes, index)


def difference(columns: Array) -> Array:
    """The second of two columns less the first: log-odds of logarithms."""
    first, second = columns_of(columns)
    return second - first


def _with_a_choice(log_scores: Array) -> Array:
    """Scores whose rows are not -∞ throughout."""
    xp = namespace(log_scores)
    return xp.where(xp.all(log_scores == -math.inf, axis=1, keepdims=True), 0.0, log_scores)
