"""Linear systems with matrices that are positive definite, but for rounding."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from properly.numeric.probabilities import Array

_JITTER = 1e-13  # of a unit diagonal: directions that rounding has left without curvature stay finite


def solve_positive(matrix: Array, right: Array) -> Array:
    """The solution of a positive semi-definite system, scaled to unit diagonal so that units do not matter."""
    factor, scale = positive_factor(matrix)
    return np.asarray(linalg.cho_solve((factor, True), right / scale, check_finite=False) / scale)


def positive_factor(matrix: Array) -> tuple[Array, Array]:
    """(L, s) with diag(s) L Lᵀ diag(s) the matrix, up to the smallest jitter that makes it positive definite."""
    diagonal = np.diag(matrix)
    scale = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = matrix / scale / scale[:, None]
    jitter = 0.0
    while True:
        try:
            factor = linalg.cholesky(scaled + jitter * np.eye(len(scaled)), lower=True, check_finite=False)
            return np.asarray(factor), scale
        except linalg.LinAlgError:
            if not jitter < 1.0:  # not a number: no jitter helps
                raise
            jitter = max(_JITTER, 10.0 * jitter)
