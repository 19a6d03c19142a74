"""In which proportions known densities are mixed, by maximum likelihood."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.optimize import nnls

from properly.probabilities import Array

_TOLERANCE = 1e-11
_FAR = 0.5  # beyond this gap a step of expectation maximisation is taken, as Newton's model is poor there
_MAX_ITER = 100
_MAX_HALVINGS = 40
_RIDGE = 1e-12  # beside a diagonal of 1; proportions that matter to no row stay where they are


class Mixture(NamedTuple):
    """Mixing proportions, and by how much their mean log-likelihood may at most lie below the largest one."""

    share: Array
    gap: float


def mixing_proportions(density: Array, weight: Array, start: Array) -> Mixture:
    """Maximise the concave Σ_i weight_i ln Σ_k x_k density_ik over x ≥ 0, Σ x_k = 1; the weights add up to 1.

    This is what expectation maximisation, x_k ← Σ_i weight_i x_k density_ik / m_i with m_i = Σ_j x_j density_ij,
    climbs to in many small steps. Newton's method, begun when close, needs about five: as Σ x_k = 1 holds by itself at
    the minimum of Σ x_k - Σ weight_i ln m_i over x ≥ 0, a step is a least-squares problem with x ≥ 0 and nothing else
    (Kim et al. 2020).

    With g_k = Σ_i weight_i density_ik / m_i, the gradient, no proportions are better than x by more than max g_k - 1,
    because Σ x_k g_k = 1 and the likelihood is concave. The search ends when this gap is below 1e-11, or when rounding
    allows no further step. Weights must be positive, and so must every m_i at `start`.

    References
    ----------
    Kim, Carbonetto, Stephens & Anitescu (2020), A fast algorithm for maximum likelihood estimation of mixture
    proportions using sequential quadratic programming, Journal of Computational and Graphical Statistics 29.
    """
    x, mixed = start, density @ start
    value, progress, best = float(weight @ np.log(mixed)), True, Mixture(x, np.inf)
    for _ in range(_MAX_ITER):
        ratio = density / mixed[:, None]
        gradient = weight @ ratio
        gap = float(gradient.max()) - 1.0
        progress |= gap < 0.5 * best.gap
        if gap < best.gap:
            best = Mixture(x, gap)
        if gap <= _TOLERANCE or not progress:
            break
        if gap > _FAR and x[gradient.argmax()] > 0.0:
            direction = x * gradient - x
        else:
            direction = _newton_point(ratio, weight, gradient, x) - x
        rise = float((gradient - 1.0) @ direction)
        rounding = 1e-15 * (1.0 + abs(value))
        for halving in range(_MAX_HALVINGS):
            step = 0.5**halving
            trial = x + step * direction
            trial /= trial.sum()  # which never makes the objective worse
            mixed = density @ trial
            with np.errstate(divide="ignore"):
                trial_value = float(weight @ np.log(mixed))
            if trial_value >= value + 1e-4 * step * rise - rounding:
                break
        else:
            break
        progress = trial_value > value + rounding
        x, value = trial, trial_value
    return best


def _newton_point(ratio: Array, weight: Array, gradient: Array, x: Array) -> Array:
    """The minimum of the quadratic model over y ≥ 0: ½ yᵀHy - (2g - 1)·y, as Hx = g for H = Σ weight ratio ratioᵀ."""
    hessian = (ratio * weight[:, None]).T @ ratio
    scale = np.sqrt(np.maximum(np.diag(hessian), 1.0))  # it is at least g_k², and g_k = 1 where a proportion is not 0
    hessian /= scale * scale[:, None]
    hessian[np.diag_indices_from(hessian)] += _RIDGE
    lower = linalg.cholesky(hessian, lower=True)
    target = (2.0 * gradient - 1.0) / scale + _RIDGE * (x * scale)
    point, _ = nnls(lower.T, linalg.solve_triangular(lower, target, lower=True))
    return np.asarray(point / scale)
