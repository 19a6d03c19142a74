"""One contract for every classifier: from scores to probabilities, their logarithms, decisions and classes.

Scores in this sense are the log-odds of the second of two classes, of shape (n,), or logarithms of the probabilities of
every class up to a constant in each row, of shape (n, K). Infinite ones are allowed: a class that is ruled out.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

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
    to_numpy,
)
from properly.numeric.limits import FARTHEST


class LogScoreClassifier(ABC, ClassifierMixin, BaseEstimator):
    """A classifier of log-odds or log-probabilities; a subclass gives `_log_scores` and sets ``classes_``."""

    classes_: NDArray[Any]
    _decisions_from_probabilities: ClassVar[bool] = True  # a calibrator reads these instead: they may be 0 or 1

    def _read(self, X: Any) -> Any:
        """What users hand in, as `_log_scores` takes it."""
        check_is_fitted(self)
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


class LinkScoreClassifier(ABC, ClassifierMixin, BaseEstimator):
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
