"""Quadratic functions over non-negative coefficients, against SciPy's least squares."""

import numpy as np
import pytest
from scipy import linalg
from scipy.optimize import nnls

from properly.solvers.dense import nonnegative_minimum


@pytest.mark.parametrize("n", [1, 3, 20, 60])
def test_it_is_the_solution_of_least_squares(n):
    random = np.random.default_rng(n)
    for _ in range(5):
        A = random.normal(size=(80, n)).cumsum(axis=1)
        A /= np.sqrt(np.sum(A**2, axis=0))
        b, start = random.normal(size=80), np.maximum(random.normal(size=n), 0.0)
        found = nonnegative_minimum(A.T @ A, A.T @ (A @ start - b), start)
        np.testing.assert_allclose(found, nnls(A, b)[0], atol=1e-9)


def test_a_matrix_that_is_not_positive_definite_is_refused():
    with pytest.raises(linalg.LinAlgError):
        nonnegative_minimum(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([-1.0, -1.0]), np.zeros(2))
