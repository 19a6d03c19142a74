"""Directions for many coefficients, whose curvature matrix is never formed."""

from __future__ import annotations

import numpy as np

from properly.numeric.limits import SMALLEST_NORMAL
from properly.numeric.probabilities import Array
from properly.solvers.directions import Direction, Point, Problem, Update, decrement, solve_updated

_KEPT = 20  # changes of the gradient
_LARGEST_MATRIX, _NEAR = 4000, 0.002  # where the matrix hardly changes any more, one is enough
_COLUMNS_PER_PASS = 20  # a matrix costs about a pass for so many coefficients


class ConjugateGradientDirection(Direction):
    """d ≈ -H⁻¹g from products of H with vectors: for losses that are not convex, with their expected curvature."""

    keeps_below = 0.0
    slow = np.inf

    def refresh(self, at: Point, observed: bool) -> bool:
        if observed:
            return False
        diagonal, mean = self.problem.hessian_diagonal(at.coef)
        self._keep(diagonal, mean)
        return True

    def _keep(self, diagonal: Array, mean: Array) -> None:
        diagonal = np.maximum(diagonal, 1e-14 * self.problem.squares)
        self.diagonal = np.where(diagonal > 0.0, diagonal, 1.0)

    def step(self, at: Point) -> tuple[Array, float]:
        # The residual is reduced to a quarter while far from the optimum, to one hundredth when close to it.
        size = float(np.sum(at.gradient**2 / self.diagonal))
        direction = self._newton_step(at, float(np.clip(np.sqrt(size / self.problem.null_loss), 1e-4, 0.0625)))[0]
        return direction, decrement(direction, at)

    def _newton_step(self, at: Point, share: float, most: int = 500) -> tuple[Array, float]:
        """Conjugate gradients until this share of the squared residual is left, and about what it is in λ²."""
        direction = np.zeros_like(at.coef)
        residual = -at.gradient
        scaled = self._preconditioned(residual)
        conjugate, size = scaled, float(np.vdot(residual, scaled))
        target = share * size
        for _ in range(max(20, min(most, at.coef.size))):
            if size <= target:
                break
            product = self.problem.hessian_product(at.coef, conjugate)
            curvature = float(np.vdot(conjugate, product))
            if curvature <= 0.0:
                break
            direction = direction + size / curvature * conjugate
            residual = residual - size / curvature * product
            scaled = self._preconditioned(residual)
            previous, size = size, float(np.vdot(residual, scaled))
            conjugate = scaled + size / previous * conjugate
        if not direction.any():
            direction = self._preconditioned(-at.gradient)
        return direction, size

    def _preconditioned(self, x: Array) -> Array:
        return x / self.diagonal


class LimitedMemoryDirection(ConjugateGradientDirection):
    """Steps from the diagonal of H and the last changes of the gradient (L-BFGS): a pass each, for convex losses.

    The size of such a step may be far smaller than the decrement. Where it is small enough to stop, conjugate gradients
    with the same matrix as preconditioner find the decrement itself; if that is too large, their step is taken, and
    later sizes are multiplied by what the first one was too small by.
    """

    keeps_below, quasi_newton = np.inf, True
    steps_per_iteration = 20  # about what conjugate gradients would take for a step

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.updates: list[Update] = []
        self.excess = 1.0
        self.exhausted = False  # whether a Newton step would have taken more passes than the matrix
        self.scale = 1.0  # the diagonal is that of the first point; the last change tells what has become of it

    def learn(self, at: Point, new: Point) -> None:
        moved, changed = (new.coef - at.coef).ravel(), (new.gradient - at.gradient).ravel()
        curvature = float(moved @ changed)
        if curvature > 0.0:
            self.updates.append(Update(moved, changed, curvature))
            del self.updates[:-_KEPT]
            self.scale *= curvature / float(changed @ self.solve(changed))

    def step(self, at: Point) -> tuple[Array, float]:
        direction = self._preconditioned(-at.gradient)
        return direction, self.excess * decrement(direction, at)

    def confirm(self, at: Point, tol: float) -> tuple[Array, float]:
        known = decrement(self._preconditioned(-at.gradient), at)
        wanted = 0.2 * self.problem.null_loss * (tol / max(known, SMALLEST_NORMAL)) ** 2
        share = float(np.clip(wanted, 1e-4, 0.2))
        small = at.coef.size <= _LARGEST_MATRIX
        direction, left = self._newton_step(at, share, at.coef.size // _COLUMNS_PER_PASS if small else 500)
        self.exhausted = small and left > share * known**2
        size = float(np.sqrt(decrement(direction, at) ** 2 + left))
        self.excess = max(1.0, size / known) if known > 0.0 else 1.0
        return direction, size

    def gives_way(self, history: list[float], tol: float) -> bool:
        """Whether the whole matrix is the shorter way."""
        if self.exhausted:
            return True
        if self.diagonal.size > _LARGEST_MATRIX or len(history) < 11 or not history[-1] <= _NEAR:
            return False
        gain = np.log(history[-11] / history[-1]) / 10.0
        return bool(np.log(history[-1] / tol) > gain * self.diagonal.size / _COLUMNS_PER_PASS)

    def _keep(self, diagonal: Array, mean: Array) -> None:
        """With an intercept the matrix is that of centred columns: those far from 0 would all look alike."""
        self.mean = mean
        super()._keep(diagonal - mean**2 * diagonal[:, -1:], mean)

    def solve(self, x: Array) -> Array:
        """M⁻¹x, M = Tᵀ diag T: what is added to the intercept is the mean score, T = (1, 0; mean, 1)."""
        solved = x.reshape(self.diagonal.shape).copy()
        solved -= self.mean * solved[:, -1:]
        solved *= self.scale / self.diagonal
        solved[:, -1] -= np.sum(self.mean * solved, axis=1)
        return solved.ravel()

    def _preconditioned(self, x: Array) -> Array:
        return solve_updated(self, self.updates, x.ravel()).reshape(x.shape)
