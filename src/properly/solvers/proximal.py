"""The proximal Newton direction for L1 and elastic-net penalties."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lasso_path

from properly.numeric.limits import SMALLEST_NORMAL
from properly.numeric.probabilities import Array
from properly.solvers.directions import Direction, Factor, Point, Problem

_ALL_FEATURES = 500  # up to here the curvature of every feature is worth having


class ProximalNewtonDirection(Direction):
    """Minimises gᵀd + ½dᵀHd + lasso ‖w + d‖₁, by coordinate descent and an exact solution on the support found.

    With many features H is formed on a working set only: the features in use, and the unused ones with the largest
    gradients.
    """

    keeps_below = 0.02  # steps are dear, and rarely good enough with an old curvature farther away

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.whole_matrix = problem.n_features <= _ALL_FEATURES
        self.columns: NDArray[np.intp] | None = None
        self._outside = 0.0

    def refresh(self, at: Point, observed: bool) -> bool:
        problem = self.problem
        if not self.whole_matrix:
            excess = self._excess(at)
            used = np.any(at.coef[:, : problem.n_features] != 0.0, axis=0)
            size = max(200, 2 * int(used.sum()))
            order = np.argsort(np.where(used, -np.inf, -excess), kind="stable")[:size]
            self.columns = np.sort(order[used[order] | (excess[order] > 0.0)])
        hessian = problem.hessian(at.coef, observed, self.columns)
        scores, width = len(at.coef), len(hessian) // len(at.coef)
        n_features = problem.n_features if self.columns is None else len(self.columns)
        feature = np.tile(np.arange(width) < n_features, scores)
        squares = np.tile(problem.squares[self._kept], scores)
        self.model = _QuadraticModel(hessian, feature, squares, problem.weight)
        return self.model.positive

    def step(self, at: Point) -> tuple[Array, float]:
        if self.columns is not None:
            self._outside = float(np.delete(self._excess(at), self.columns).max(initial=0.0))
        direction, size = self._solved(at, precise=False)
        if size > self.keeps_below * np.sqrt(self.problem.null_loss):
            return direction, size
        return self._solved(at, precise=True)

    def _solved(self, at: Point, precise: bool) -> tuple[Array, float]:
        coef, gradient = at.coef[:, self._kept], at.gradient[:, self._kept]
        step = self.model.minimise(coef.ravel(), gradient.ravel(), self.problem.lasso, precise)
        direction = np.zeros_like(at.coef)
        direction[:, self._kept] = step.reshape(coef.shape)
        # The decrease that the model predicts is at least dᵀHd/2, and more where H is not positive definite.
        promised = (
            -float(np.sum(at.gradient * direction)) - self.problem.lasso_change(at.coef, direction, np.ones(1))[0]
        )
        return direction, float(np.sqrt(np.maximum(0.0, np.maximum(promised, step @ self.model.hessian @ step))))

    @property
    def incomplete(self) -> bool:
        return self._outside > 1e-9 * self.problem.lasso

    def _excess(self, at: Point) -> Array:
        """By how much the gradient of each unused feature exceeds the lasso penalty (0 if it does not)."""
        k = self.problem.n_features
        unused = np.where(at.coef[:, :k] == 0.0, np.abs(at.gradient[:, :k]) - self.problem.lasso, 0.0)
        return np.asarray(np.maximum(unused, 0.0).max(axis=0))

    @property
    def _kept(self) -> Any:
        """Indexes the coefficients of the columns and the intercept's."""
        if self.columns is None:
            return slice(None)
        return np.append(self.columns, np.arange(self.problem.n_features, len(self.problem.squares)))


class _QuadraticModel:
    """gᵀd + ½dᵀHd + lasso ‖w + d‖₁ with free intercepts, which are eliminated first."""

    def __init__(self, hessian: Array, feature: NDArray[np.bool_], squares: Array, weight: float) -> None:
        self.hessian, self.feature, self.squares, self.weight = hessian, feature, squares, weight
        free = ~feature
        self.free_inverse = linalg.pinvh(hessian[np.ix_(free, free)]) if free.any() else np.zeros((0, 0))
        self.cross = hessian[np.ix_(feature, free)]
        reduced = hessian[np.ix_(feature, feature)] - self.cross @ self.free_inverse @ self.cross.T
        self.reduced = 0.5 * (reduced + reduced.T)
        # A tiny ridge, so that the root exists; the exact solution on the support removes its effect.
        jitter = 1e-10 * np.diag(self.reduced) + 1e-14 * squares[feature] + SMALLEST_NORMAL
        self.root, self.positive = _root(self.reduced + np.diag(jitter))
        self.gram = np.ascontiguousarray(self.reduced + np.diag(jitter) if self.positive else self.root.T @ self.root)
        intercepts = linalg.eigvalsh(hessian[np.ix_(free, free)]) if free.any() else np.zeros(1)
        self.positive &= bool(intercepts[0] >= -1e-8 * abs(intercepts[-1]))

    def minimise(self, coef: Array, gradient: Array, lasso: float, precise: bool) -> Array:
        w = coef[self.feature]
        linear = gradient[self.feature] - self.cross @ self.free_inverse @ gradient[~self.feature]
        target = self.reduced @ w - linear
        z = self._descend(w, target, lasso, 1e-7 if precise else 1e-3)
        if precise:
            z = self._polish(z, target, lasso)
        step = np.empty_like(coef)
        step[self.feature] = z - w
        step[~self.feature] = -self.free_inverse @ (gradient[~self.feature] + self.cross.T @ (z - w))
        return step

    def _descend(self, start: Array, target: Array, lasso: float, tol: float) -> Array:
        """Coordinate descent on ½zᵀSz - targetᵀz + lasso ‖z‖₁, written as a regression on the root of S."""
        rows = len(self.root)
        if rows == 0:
            return start
        with warnings.catch_warnings(), config_context(skip_parameter_validation=True):
            warnings.simplefilter("ignore", ConvergenceWarning)  # the outer iteration checks convergence
            _, path, _ = lasso_path(
                self.root,
                linalg.solve_triangular(self.root, target, trans="T", check_finite=False),
                precompute=self.gram,
                Xy=target,
                alphas=[lasso / rows],
                check_input=False,
                coef_init=start.copy(),  # it is overwritten
                tol=tol,
                max_iter=2000,
            )
        return np.asarray(path[:, 0])

    def _polish(self, z: Array, target: Array, lasso: float) -> Array:
        """The exact minimiser for the signs of z, if it has these signs; coefficients that change sign become 0."""
        sign = np.sign(z)
        for _ in range(10):
            support = sign != 0.0
            exact = np.zeros_like(z)
            if support.any():
                part = self.reduced[np.ix_(support, support)]
                factor = Factor(part, self.squares[self.feature][support], self.weight)
                exact[support] = factor.solve(target[support] - lasso * sign[support])
            wrong = sign * exact < 0.0
            if not wrong.any():
                residual = np.abs(target - self.reduced @ exact)[~support]
                return exact if np.all(residual <= lasso * (1.0 + 1e-7)) else z
            sign[wrong] = 0.0
        return z


def _root(matrix: Array) -> tuple[Array, bool]:
    """An upper triangular R with RᵀR = matrix, and whether the matrix is positive definite up to rounding."""
    try:
        return np.asfortranarray(linalg.cholesky(matrix, check_finite=False)), True
    except linalg.LinAlgError:
        values, vectors = linalg.eigh(matrix)
        largest = values.max(initial=0.0)
        raised = np.sqrt(np.maximum(values, 1e-12 * largest + SMALLEST_NORMAL))
        triangular = linalg.qr(raised[:, None] * vectors.T, mode="r")[0]
        return np.asfortranarray(triangular), bool(values[0] > -1e-8 * largest)
