"""The scores of a classifier that a calibrator starts from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special as sc

from properly.calibration.base import Calibrator
from properly.probabilities import Array, as_float

_LOG_SMALLEST = float(np.log(np.finfo(np.float64).smallest_subnormal))


def scores_of(estimator: Any, X: Any) -> Array:
    """What a classifier says of rows: its decision function, or log-odds (n,) or log-probabilities (n, K).

    Infinite where a probability is 0 or 1.
    """
    if hasattr(estimator, "decision_function"):
        scores = as_float(estimator.decision_function(X), "decision_function")
        return scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores
    with np.errstate(divide="ignore"):
        if hasattr(estimator, "predict_log_proba"):
            log_p = as_float(estimator.predict_log_proba(X), "predict_log_proba")
        else:
            log_p = np.log(as_float(estimator.predict_proba(X), "predict_proba"))
    return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p


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
