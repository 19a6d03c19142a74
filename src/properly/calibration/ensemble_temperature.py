"""Ensemble temperature scaling: tempered, raw and uniform probabilities mixed."""

from __future__ import annotations

import numpy as np
from scipy import optimize
from scipy import special as sc

from properly.calibration.base import Calibrator
from properly.calibration.inputs import Sample
from properly.calibration.temperature import best_slope, bounded
from properly.probabilities import Array


class EnsembleTemperatureScaling(Calibrator):
    """A mixture of three forecasts: p = w₁ softmax(logits/T) + w₂ softmax(logits) + w₃/K, with weights that sum to 1.

    The temperature T is that of `TemperatureScaling`; then the weights minimise the log loss, which is convex. The
    uniform part keeps every probability away from 0, and the order of the classes in a row stays.

    Parameters
    ----------
    input : {"score", "probability"}, default "score"

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    slope_ : float
        1/T.
    weights_ : array of shape (3,)
        Those of the tempered, the raw and the uniform probabilities.

    References
    ----------
    Zhang, Kailkhura & Han (2020), Mix-n-match: ensemble and compositional methods for uncertainty calibration, ICML.

    Examples
    --------
    >>> model = EnsembleTemperatureScaling().fit([-6.0, -4.0, 9.0, -2.0, 3.0, 5.0], [0, 0, 0, 1, 1, 1])
    >>> model.predict_proba([-100.0, 4.0]).round(3)
    array([[0.702, 0.298],
           [0.306, 0.694]])
    """

    slope_: float
    weights_: Array

    def __init__(self, *, input: str = "score") -> None:
        self.input = input

    def _fit(self, sample: Sample) -> None:
        self.slope_ = best_slope(sample)
        log_p = _log_probabilities(sample.scores, self.slope_)[:, np.arange(len(sample.codes)), sample.codes]
        self.weights_ = _mixture_weights(log_p, sample.weight)

    def _log_scores(self, scores: Array) -> Array:
        with np.errstate(divide="ignore"):
            log_weight = np.log(self.weights_)[:, None, None]
        log_p = sc.logsumexp(_log_probabilities(scores, self.slope_) + log_weight, axis=0)
        return np.asarray(log_p[:, 1] - log_p[:, 0] if scores.ndim == 1 else log_p)


def _log_probabilities(scores: Array, slope: float) -> Array:
    """The logarithms of the three forecasts, of shape (3, n, K)."""
    logits = bounded(scores, slope), bounded(scores)
    if scores.ndim == 1:
        tempered, raw = (np.stack([sc.log_expit(-v), sc.log_expit(v)], axis=1) for v in logits)
    else:
        tempered, raw = (sc.log_softmax(v, axis=1) for v in logits)
    return np.stack([tempered, raw, np.full_like(raw, -np.log(raw.shape[1]))])


def _mixture_weights(log_p: Array, weight: Array | None) -> Array:
    """Weights of maximum likelihood, given the logarithms that each forecast gives to what happened, (3, n)."""
    largest = log_p.max(axis=0)
    p = np.exp(log_p - largest)  # a factor a row changes nothing
    share = np.full(p.shape[1], 1.0 / p.shape[1]) if weight is None else weight / weight.sum()

    def loss(w: Array) -> tuple[float, Array]:
        mixed = np.maximum(w @ p, 1e-300)
        return -float(share @ np.log(mixed)), -(p @ (share / mixed))

    found = optimize.minimize(
        loss,
        np.full(3, 1.0 / 3.0),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 200},
    )
    w = np.maximum(found.x, 0.0)
    return np.asarray(w / w.sum())
