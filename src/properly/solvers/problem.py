"""The problem a solver sees: coefficient-sized arrays, and sums it may ask an engine for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly import kernels
from properly.engines.base import Engine
from properly.kernels import LinearModel
from properly.numeric.probabilities import Array


class Point(NamedTuple):
    """Coefficients and the smooth part of the objective there: its value (nan if convex) and gradient."""

    coef: Array
    value: float
    gradient: Array


@dataclass
class Problem:
    """Σ weight · loss + ½ ridge ‖w‖² + lasso ‖w‖₁, over coefficients of shape (scores, width).

    w are the coefficients of the features; the intercepts, in a last column if there is one, are free.
    `weight` is the sum of the weights, `squares` the weighted sum of squares of every column (the intercept's is
    `weight`): the scale that curvatures are judged by. `null_loss` is about the loss of the best constant forecast,
    the unit of everything measured in losses. Convex problems are solved from derivatives alone; only the others
    ask for values. `observed` says whether they may use the observed curvature: at a kink of the loss it says nothing,
    while the expected one grows without limit and so keeps the rows there whose optimum lies there. `passes` counts
    the passes over the data.
    """

    engine: Engine
    model: LinearModel
    ridge: float
    lasso: float
    weight: float
    squares: Array
    n_features: int
    null_loss: float
    observed: bool = True
    passes: int = 0

    @property
    def convex(self) -> bool:
        return self.model.composite.canonical

    @property
    def kinked(self) -> bool:
        """Whether curvatures may jump, so that an old one says nothing about convergence."""
        return self.model.composite.kinked

    def point(self, coef: Array) -> Point:
        self.passes += 1
        sums = self.engine.reduce(kernels.gradient, self.model, coef, not self.convex)
        w = self._features(coef)
        return Point(coef, sums.value + 0.5 * self.ridge * float(np.sum(w**2)), sums.gradient + self.ridge * w)

    def hessian(self, coef: Array, observed: bool, columns: NDArray[np.intp] | None = None) -> Array:
        """The curvature matrix of the smooth part over the flattened coefficients, or those of some features."""
        self.passes += 1
        total = self.engine.reduce(kernels.hessian, self.model, coef, observed, columns).hessian
        width = len(total) // len(coef)
        n_features = self.n_features if columns is None else len(columns)
        total[np.diag_indices_from(total)] += self.ridge * np.tile(np.arange(width) < n_features, len(coef))
        return total

    def hessian_product(self, coef: Array, direction: Array) -> Array:
        self.passes += 1
        sums = self.engine.reduce(kernels.hessian_product, self.model, coef, direction)
        return sums.product + self.ridge * self._features(direction)

    def hessian_diagonal(self, coef: Array) -> Array:
        self.passes += 1
        diagonal = self.engine.reduce(kernels.hessian_diagonal, self.model, coef).diagonal
        return diagonal + self.ridge * self._features(np.ones_like(coef))

    def line(self, coef: Array, direction: Array, steps: Array) -> tuple[Array, Array]:
        """The smooth part (nan if convex) and its slope at every step along a line."""
        self.passes += 1
        sums = self.engine.reduce(kernels.along_line, self.model, coef, direction, steps, not self.convex)
        w, d = self._features(coef), self._features(direction)
        square, cross, start = np.sum(d * d), np.sum(w * d), np.sum(w * w)
        values = sums.values + 0.5 * self.ridge * (start + 2.0 * steps * cross + steps**2 * square)
        return values, sums.slopes + self.ridge * (cross + steps * square)

    def lasso_change(self, coef: Array, direction: Array, steps: Array) -> Array:
        """By how much the lasso penalty differs from the start at every step along a line."""
        w, d = self._features(coef), self._features(direction)
        return np.array([self.lasso * np.sum(np.abs(w + step * d) - np.abs(w)) for step in steps])

    def lasso_slope(self, coef: Array, direction: Array) -> float:
        """The slope of the lasso penalty on arriving at `coef` along a direction."""
        w, d = self._features(coef), self._features(direction)
        return self.lasso * float(np.sum(np.where(w == 0.0, -np.abs(d), np.sign(w) * d)))

    def rms_score(self, direction: Array) -> float:
        """About how far a direction moves the scores, in the root mean square."""
        return float(np.sqrt(np.max(np.sum(self.squares * direction**2, axis=1)) / self.weight))

    def _features(self, coef: Array) -> Array:
        """The coefficients with the intercepts set to 0."""
        w = coef.copy()
        w[:, self.n_features :] = 0.0
        return w
