"""Directions: the step to take from a point. Each is a Newton step of some kind and reports its own size.

A direction d comes with its size λ = √(dᵀHd), the Newton decrement: λ²/2 is the decrease that the quadratic model
predicts, and λ is the distance to the optimum in standard errors. It does not depend on the scale of the features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy import linalg

from properly.numeric.limits import SMALLEST_NORMAL
from properly.numeric.probabilities import Array
from properly.solvers.problem import Point, Problem


def decrement(direction: Array, at: Point) -> float:
    """√(-gᵀd); nan (which never counts as convergence) if the direction or the gradient holds nan."""
    return float(np.sqrt(np.maximum(0.0, -np.sum(direction * at.gradient))))


class Direction(ABC):
    """A rule that turns a point into a step, with a curvature that may be kept over several points."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @abstractmethod
    def refresh(self, at: Point, observed: bool) -> bool:
        """Take the observed or the expected curvature at this point; False if it is not positive definite there.

        The expected curvature always is, up to rounding.
        """

    def learn(self, at: Point, new: Point) -> None:  # noqa: B027 - not every direction uses it
        """Correct the curvature by the change of the gradient between two points, until the next refresh."""

    @abstractmethod
    def step(self, at: Point) -> tuple[Array, float]:
        """The direction and its size λ."""

    @property
    def incomplete(self) -> bool:
        """Whether coefficients that the current step leaves out should change as well."""
        return False


class NewtonDirection(Direction):
    """d = -H⁻¹g with the whole curvature matrix, for up to about a thousand coefficients.

    While H is kept, BFGS updates correct it with every new gradient, so that convergence stays superlinear without a
    new curvature matrix.
    """

    def refresh(self, at: Point, observed: bool) -> bool:
        squares = np.tile(self.problem.squares, len(at.coef))
        self.factor = Factor(self.problem.hessian(at.coef, observed), squares, self.problem.weight)
        self.updates: list[tuple[Array, Array]] = []
        return self.factor.positive

    def learn(self, at: Point, new: Point) -> None:
        moved, changed = (new.coef - at.coef).ravel(), (new.gradient - at.gradient).ravel()
        curvature = float(moved @ changed)
        if curvature > 0.0:
            self.updates.append((moved, changed))

    def step(self, at: Point) -> tuple[Array, float]:
        direction = -solve_updated(self.factor, self.updates, at.gradient.ravel()).reshape(at.coef.shape)
        return direction, decrement(direction, at)


class Factor:
    """A symmetric matrix, scaled to unit diagonal and factorised.

    By Cholesky where that is safe. Otherwise (duplicated or constant columns, rows without curvature) eigenvalues at
    the level of rounding are raised to a floor, and components of the right-hand side there that are no larger than
    rounding are ignored, which gives the solution of least norm. `squares` and `weight` are those of the problem: the
    rounding error of a gradient is about 1e-16 √(squares · weight).
    """

    def __init__(self, matrix: Array, squares: Array, weight: float) -> None:
        diagonal = np.maximum(np.diag(matrix), 1e-14 * squares)
        self.positive = bool(np.all(np.diag(matrix) >= 0.0))
        self.scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        self.rounding = 1e-13 * float(np.linalg.norm(self.scale * np.sqrt(squares * weight)))
        scaled = matrix * self.scale * self.scale[:, None]
        self.cholesky: tuple[Array, bool] | None = None
        try:
            factor = linalg.cho_factor(scaled, lower=True, check_finite=False)
            if np.diag(factor[0]).min() ** 2 > 1e-9:
                self.cholesky = factor
        except linalg.LinAlgError:
            pass
        if self.cholesky is None:
            # Without eigenvalues (curvatures that overflowed) the direction is that of steepest descent.
            found = _eigen(scaled)
            self.values, self.vectors = found or (np.ones(len(scaled)), np.eye(len(scaled)))
            self.positive &= found is not None and bool(self.values[0] > -1e-8 * self.values[-1])

    def solve(self, x: Array) -> Array:
        scaled = self.scale * x
        if self.cholesky is not None:
            return np.asarray(self.scale * linalg.cho_solve(self.cholesky, scaled, check_finite=False))
        floor = max(1e-14 * len(x) * self.values[-1], SMALLEST_NORMAL)
        parts = self.vectors.T @ scaled
        empty = (self.values < floor) & (np.abs(parts) <= self.rounding)
        parts = np.where(empty, 0.0, parts / np.maximum(self.values, floor))
        return np.asarray(self.scale * (self.vectors @ parts))


def _eigen(matrix: Array) -> tuple[Array, Array] | None:
    """Eigenvalues and eigenvectors; None if the matrix is not finite or the algorithm fails."""
    if not np.isfinite(matrix).all():
        return None
    try:
        values, vectors = linalg.eigh(matrix, check_finite=False)
    except linalg.LinAlgError:
        return None
    return values, vectors


def solve_updated(factor: Factor, updates: list[tuple[Array, Array]], x: Array) -> Array:
    """H⁻¹x with H corrected by BFGS updates (change of coefficients, change of gradient): L-BFGS's two loops."""
    shares = []
    for moved, changed in reversed(updates):
        shares.append(float(moved @ x) / float(moved @ changed))
        x = x - shares[-1] * changed
    x = factor.solve(x)
    for (moved, changed), share in zip(updates, reversed(shares), strict=True):
        x = x + (share - float(changed @ x) / float(moved @ changed)) * moved
    return x


class ConjugateGradientDirection(Direction):
    """d ≈ -H⁻¹g from products of H with vectors, for many coefficients; H itself is never formed."""

    def refresh(self, at: Point, observed: bool) -> bool:
        if observed:
            return False
        diagonal = np.maximum(self.problem.hessian_diagonal(at.coef), 1e-14 * self.problem.squares)
        self.diagonal = np.where(diagonal > 0.0, diagonal, 1.0)
        return True

    def step(self, at: Point) -> tuple[Array, float]:
        direction = np.zeros_like(at.coef)
        residual = -at.gradient
        scaled = residual / self.diagonal
        conjugate, size = scaled, float(np.sum(residual * scaled))
        # The residual is reduced to a quarter while far from the optimum, to one hundredth when close to it.
        target = np.clip(np.sqrt(size / self.problem.null_loss), 1e-4, 0.0625) * size
        for _ in range(max(20, min(500, at.coef.size))):
            if size <= target:
                break
            product = self.problem.hessian_product(at.coef, conjugate)
            curvature = float(np.sum(conjugate * product))
            if curvature <= 0.0:
                break
            direction = direction + size / curvature * conjugate
            residual = residual - size / curvature * product
            scaled = residual / self.diagonal
            previous, size = size, float(np.sum(residual * scaled))
            conjugate = scaled + size / previous * conjugate
        if not direction.any():
            direction = -at.gradient / self.diagonal
        return direction, decrement(direction, at)
