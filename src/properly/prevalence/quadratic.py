"""Quadratic functions over coefficients that must not be negative."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from properly.probabilities import Array


_ROUNDS = 50
_LENGTHS = (1.0, 0.5, 0.2, 0.05)  # of steps that are cut off where they would become negative


def bounded_minimum(matrix: Array, linear: Array, start: Array) -> Array:
    """argmin ½zᵀHz - linearᵀz over z ≥ 0 for a positive definite H with diagonal 1 (about), from `start` ≥ 0.

    An active set method that lets many coefficients enter and leave at once while that lowers the function, and
    otherwise one at a time. The function falls with every round; a hard problem may end before its minimum is reached.
    LinAlgError if H is not positive definite.

    >>> bounded_minimum(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0]), np.zeros(2))
    array([1., 0.])
    """
    z = start
    precise = 1e-13 * max(1.0, float(np.abs(linear).max(initial=0.0)))
    for _ in range(_ROUNDS):
        gradient = matrix @ z - linear
        entering = (z == 0.0) & (gradient < -precise)
        if not entering.any() and np.all(np.abs(gradient[z > 0.0]) <= precise):
            break
        new = _descended(matrix, linear, z, (z > 0.0) | entering)
        if not _lower(matrix, linear, z, new):
            keenest = np.arange(len(z)) == np.argmin(np.where(entering, gradient, np.inf))
            new = _descended(matrix, linear, z, (z > 0.0) | keenest)
            if not _lower(matrix, linear, z, new):
                break  # what is left is rounding
        z = new
    return z


def _descended(matrix: Array, linear: Array, z: Array, free: NDArray[np.bool_]) -> Array:
    """The minimum over the free coefficients, if it is not negative; else a lower point on the way to it."""
    while free.any():
        target = np.zeros_like(z)
        factor = linalg.cho_factor(matrix[np.ix_(free, free)], check_finite=False)
        target[free] = linalg.cho_solve(factor, linear[free], check_finite=False)
        if target.min() >= 0.0:
            return target
        for length in _LENGTHS:
            cut = np.maximum(z + length * (target - z), 0.0)
            if _lower(matrix, linear, z, cut):
                return cut
        falling = np.flatnonzero(free & (target < 0.0))
        lengths = z[falling] / (z[falling] - target[falling])
        blocked = falling[lengths == lengths.min()]
        z = np.maximum(z + lengths.min() * (target - z), 0.0)
        z[blocked] = 0.0
        if lengths.min() > 0.0:
            return z
        free[blocked] = False
    return z


def _lower(matrix: Array, linear: Array, old: Array, new: Array) -> bool:
    change = new - old
    return bool(change @ (0.5 * (matrix @ (old + new)) - linear) < 0.0)
