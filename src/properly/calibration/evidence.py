"""Softmax maps with a Gaussian prior: their most probable coefficients, and how probable the labels are under them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from properly.calibration.positive import positive_factor
from properly.probabilities import Array

_MAX_ITER = 50
_TOLERANCE = 1e-6  # of the log-evidence, which counts in units of 1
_SHORTEST_STEP = 1e-8


class Labels(NamedTuple):
    """The classes of the rows as 0, 1, ..., and what every row weighs."""

    codes: NDArray[np.intp]
    weight: Array

    def log_likelihood(self, log_p: Array) -> float:
        return float(self.weight @ log_p[np.arange(len(self.codes)), self.codes])


class Fitted(NamedTuple):
    """Coefficients, those of the first class first, and ln ∫ likelihood · prior (−∞ if beyond float64)."""

    coef: Array
    log_evidence: float


def log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def apply(features: list[Array], coef: Array, offset: Array) -> Array:
    """Logits: the offset, plus for every class its own features times its own coefficients."""
    logits = np.array(offset)
    for k, part in enumerate(_split(features, coef)):
        if part.size:
            logits[:, k] += features[k] @ part
    return logits


def fit_with_prior(features: list[Array], offset: Array, labels: Labels, precision: Array, start: Array) -> Fitted:
    """The mode of likelihood · N(coef; 0, precision⁻¹) by Newton's method, and Laplace's approximation of the integral.

    ln ∫ likelihood · prior ≈ ln likelihood(mode) - ½ modeᵀ precision mode - ½ ln(|precision + curvature|/|precision|)

    The curvature of the likelihood is that of the multinomial logit, Σ weight·(diag p - p pᵀ) between the classes, so
    that the objective is convex and any start will do.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        coef, log_p = start, log_softmax(apply(features, start, offset))
        value = _log_posterior(coef, log_p, labels, precision)
        for _ in range(_MAX_ITER):
            gradient, hessian = _derivatives(features, coef, np.exp(log_p), labels, precision)
            factor, scale = positive_factor(hessian)
            step = linalg.cho_solve((factor, True), gradient / scale, check_finite=False) / scale
            gain = float(gradient @ step)
            if not gain > _TOLERANCE:
                break
            length, old = 1.0, value
            while length > _SHORTEST_STEP:
                new = coef + length * step
                log_p_new = log_softmax(apply(features, new, offset))
                value = _log_posterior(new, log_p_new, labels, precision)
                if value >= old + 1e-4 * length * gain:
                    break
                length *= 0.5
            else:  # rounding hides any further gain
                value = old
                break
            coef, log_p = new, log_p_new
        volume = _half_log_determinant(*positive_factor(precision)) - _half_log_determinant(factor, scale)
    return Fitted(coef, value + volume if np.isfinite(value + volume) else -np.inf)


def _split(features: list[Array], coef: Array) -> list[Array]:
    return np.split(coef, np.cumsum([each.shape[1] for each in features])[:-1])


def _log_posterior(coef: Array, log_p: Array, labels: Labels, precision: Array) -> float:
    return labels.log_likelihood(log_p) - 0.5 * float(coef @ (precision @ coef))


def _derivatives(features: list[Array], coef: Array, p: Array, labels: Labels, precision: Array) -> tuple[Array, Array]:
    """Gradient of the log-posterior, and minus its matrix of second derivatives."""
    gradient = -(precision @ coef)
    joint = np.concatenate([x * p[:, [k]] for k, x in enumerate(features)], axis=1)
    hessian = precision - joint.T @ (joint * labels.weight[:, None])
    end = 0
    for k, x in enumerate(features):
        rows = slice(end, end := end + x.shape[1])
        gradient[rows] += (labels.weight * ((labels.codes == k) - p[:, k])) @ x
        curvature = labels.weight * p[:, k] * (1.0 - p[:, k])  # never negative, unlike a difference of sums
        hessian[rows, rows] = precision[rows, rows] + x.T @ (x * curvature[:, None])
    return gradient, hessian


def _half_log_determinant(factor: Array, scale: Array) -> float:
    return float(np.log(np.diag(factor) * scale).sum())
