"""Averages of models: how much each counts, by its held-out log-probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from properly.comparison.rows import Rows
from properly.crossfit import Mask
from properly.numeric import functions as fn
from properly.numeric.probabilities import Array

_TRUST = 30.0  # of the prior: ½ of the weight of the squared deviation, in units of log-likelihood
_POWER, _FEW = 4.0, 200.0  # prior weights are proportional to log losses to the power -4, with so many rows to -2


def average(log_p: Array, weights: Array) -> Array:
    """Log-probabilities (n, K) of the average: Σ_m b_m ln p_m, less the logarithm of the sum over the classes.

    >>> certain, even = np.log([[0.1, 0.9]]), np.log([[0.5, 0.5]])
    >>> np.exp(average(np.array([certain, even]), np.array([0.5, 0.5]))).round(2)
    array([[0.25, 0.75]])
    """
    return fn.log_softmax(np.tensordot(weights, log_p, axes=1), axis=1)


def average_weights(log_p: Array, codes: NDArray[np.intp], row_weight: Array | None = None) -> Array:
    """Non-negative weights b of models with log-probabilities of shape (models, n, K) for rows of these classes.

    They minimise the log loss of `average` plus 30 Σ (b_m - a_m)²: a Gaussian prior of standard deviation 0.13 around
    weights a_m that add up to 1 and are proportional to L_m⁻ᵖ, with L_m the model's own log loss and p = 4 n/(n + 200).
    Models of about the same quality start with equal weights, from which few rows hardly move them, and many rows
    decide; where some find a rule without exceptions, and have a loss close to 0, the others start with next to none.
    The problem is convex. Weights need not add up to 1: averages of calibrated models are too timid, and a larger sum
    corrects that.

    >>> p = np.array([0.9, 0.2, 0.8, 0.3, 0.9, 0.1] * 100)
    >>> y = np.array([1, 0, 1, 0, 1, 0] * 100)
    >>> both = np.log([np.column_stack([1 - p, p]), np.full((600, 2), 0.5)])
    >>> good, useless = average_weights(both, y)
    >>> bool(good > 1 > useless)
    True
    """
    n_models, at = len(log_p), np.arange(len(codes))
    weight = np.ones(len(codes)) if row_weight is None else row_weight
    n_rows = float(weight.sum())
    own = log_p[:, at, codes]
    losses = np.finfo(np.float64).tiny - own @ weight
    prior = (losses.min() / losses) ** (_POWER * n_rows / (n_rows + _FEW))
    prior /= prior.sum()

    def objective(b: Array) -> tuple[float, Array]:
        mean = average(log_p, b)
        gradient = np.einsum("nk,mnk,n->m", np.exp(mean), log_p, weight) - own @ weight
        away = b - prior
        return float(_TRUST * away @ away - mean[at, codes] @ weight), 2.0 * _TRUST * away + gradient

    found = minimize(objective, prior, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * n_models, tol=1e-12)
    return np.asarray(found.x)


def cross_weighted(log_p: Array, rows: Rows) -> Array:
    """Held-out log-probabilities (n, K) of the average, its weights for every fold from the other folds.

    Where these have no predictions of every model, as before the first period that is judged, weights are equal.
    """
    known = np.isfinite(log_p).all(axis=(0, 2))
    codes, weight = rows.repeated(rows.codes), None if rows.weight is None else rows.repeated(rows.weight)

    def learn_apply(train: Mask, test: Mask) -> Array:
        train = train & known
        weights = average_weights(log_p[:, train], codes[train], None if weight is None else weight[train])
        return average(log_p[:, test], weights)

    return rows.cross_learned(learn_apply)
