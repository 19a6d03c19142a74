"""Quadratic functions over coefficients that must not be negative."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import lapack

from properly.numeric.probabilities import Array

_ROUNDS = 50
_LENGTHS = (1.0, 0.5, 0.2, 0.05)  # of steps that are cut off where they would become negative


def nonnegative_minimum(matrix: Array, gradient: Array, start: Array) -> Array:
    """argmin ½dᵀHd + gradientᵀd over z = start + d ≥ 0, as z, for a positive definite H with diagonal 1 (about).

    An active set method that lets many coefficients enter and leave at once while that lowers the function, and
    otherwise one at a time. The function falls with every round; a hard problem may end before its minimum is reached.
    LinAlgError if H is not positive definite.

    >>> nonnegative_minimum(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([-1.0, 1.0]), np.zeros(2))
    array([1., 0.])
    """
    z, slope = start, gradient
    precise = 1e-12 * float(np.abs(gradient).max(initial=0.0))
    for _ in range(_ROUNDS):
        entering = (z == 0.0) & (slope < -precise)
        if not entering.any() and np.all(np.abs(slope[z > 0.0]) <= precise):
            break
        new = _descended(matrix, slope, z, (z > 0.0) | entering)
        if not _lower(matrix, slope, new - z):
            steepest = np.arange(len(z)) == np.argmin(np.where(entering, slope, np.inf))
            new = _descended(matrix, slope, z, (z > 0.0) | steepest)
            if not _lower(matrix, slope, new - z):
                break  # what is left is rounding
        z, slope = new, gradient + matrix @ (new - start)
    return z


def _descended(matrix: Array, slope: Array, z: Array, free: NDArray[np.bool_]) -> Array:
    """The minimum over the free coefficients, if it is not negative; else a lower point on the way to it.

    `slope` is the gradient at z; coefficients that are not free are 0.
    """
    while free.any():
        step = np.zeros_like(z)
        # The routine itself: for matrices this small, `cho_factor` and `cho_solve` spend most of their time around it.
        _, step[free], failed = lapack.dposv(matrix[free][:, free], -slope[free])
        if failed:
            raise linalg.LinAlgError("the matrix is not positive definite.")
        new = z + step
        if new.min() >= 0.0:
            return new
        for length in _LENGTHS:
            cut = np.maximum(z + length * step, 0.0)
            if _lower(matrix, slope, cut - z):
                return cut
        falling = np.flatnonzero(new < 0.0)
        lengths = -z[falling] / step[falling]
        blocked = falling[lengths == lengths.min()]
        if lengths.min() > 0.0:
            z = np.maximum(z + lengths.min() * step, 0.0)
            z[blocked] = 0.0
            return z
        free[blocked] = False
    return z


def _lower(matrix: Array, slope: Array, change: Array) -> bool:
    return bool(change @ (slope + 0.5 * (matrix @ change)) < 0.0)
