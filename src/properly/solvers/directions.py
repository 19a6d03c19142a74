"""The problem a solver sees, and directions: the step to take from a point, a Newton step of some kind.

A problem has coefficient-sized arrays, and sums it may ask an engine for.

A direction d comes with its size λ = √(dᵀHd), the Newton decrement: λ²/2 is the decrease that the quadratic model
predicts, and λ is the distance to the optimum in standard errors. It does not depend on the scale of the features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import blas, lapack

from properly import kernels
from properly.engines.base import Engine
from properly.kernels import LinearModel
from properly.numeric.limits import SMALLEST_NORMAL
from properly.numeric.probabilities import Array

_KNOWN_POINTS = 8  # a search for the best of several optima comes back to some
_DEAR = 500  # coefficients
_PATIENCE = 3  # failures with the curvature of a sample
_ROWS_PER_COLUMN = 100  # of a sample whose curvature resembles that of all rows: errors of about a fifth
_MANY_ROWS_PER_COLUMN = 5_000  # errors of a percent or two: as good for a first step
_SMALLEST_PIVOT = 1e-2  # of a matrix in float32 and scaled to unit diagonal: then its inverse has three digits


class Update(NamedTuple):
    """A change of the coefficients, what it changed in the gradient, and their product."""

    moved: Array
    changed: Array
    curvature: float


class Solver(Protocol):
    def solve(self, x: Array) -> Array:
        """H⁻¹x."""


class Point(NamedTuple):
    """Coefficients and the smooth part of the objective there: its value (nan if convex) and gradient.

    `hessians` are the curvature matrices that came with them: the observed one (True) or the expected one (False).
    """

    coef: Array
    value: float
    gradient: Array
    hessians: Mapping[bool, Array] = MappingProxyType({})
    rough: bool = False  # computed in float32


@dataclass
class Problem:
    """Σ weight · loss + ½ ridge ‖w‖² + lasso ‖w‖₁, over coefficients of shape (scores, width).

    w are the coefficients of the features; the intercepts, in a last column if there is one, are free.
    `weight` is the sum of the weights, `squares` the weighted sum of squares of every column (the intercept's is
    `weight`): the scale that curvatures are judged by. `null_loss` is about the loss of the best constant forecast,
    the unit of everything measured in losses. Convex problems are solved from derivatives alone; only the others
    ask for values. `observed` says whether they may use the observed curvature: at a kink of the loss it says nothing,
    while the expected one grows without limit and so keeps the rows there whose optimum lies there. `fused` says that
    a pass for the gradient is to bring the curvature as well, which pays where passes are dear. `passes` counts the
    passes over the data.
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
    fused: bool = False
    passes: int = 0
    known: dict[bytes, Point] = field(default_factory=dict, init=False, repr=False)  # the last points, if fused
    sample: tuple[tuple[Engine, float] | None] | None = field(default=None, init=False, repr=False)  # once looked for

    def penalised(self, share: float, **changes: Any) -> Problem:
        """The problem with this share of the penalties, and with other changes."""
        return replace(self, ridge=self.ridge * share, lasso=self.lasso * share, **changes)

    @property
    def convex(self) -> bool:
        return self.model.composite.canonical

    @property
    def kinked(self) -> bool:
        """Whether curvatures may jump, so that an old one says nothing about convergence."""
        return self.model.composite.kinked

    @property
    def smooth(self) -> bool:
        """Whether a curvature may be kept while steps are small, or be that of a sample."""
        return self.convex and not self.kinked and self.lasso == 0.0

    def point(self, coef: Array, rough: bool = False, curved: bool = True) -> Point:
        """With `rough` in float32, where the engine has that, of a convex problem.

        `curved` says whether a pass that can bring the curvature as well should, unless one may be kept.
        """
        if coef.tobytes() in self.known:
            return self.known[coef.tobytes()]
        self.passes += 1
        engine = self._rough_engine() if rough else None
        hessians = {}
        if self.fused and (curved or not self.smooth):
            kinds = (False,) if self.convex or not self.observed else (True, False)
            sums: Any = self.engine.reduce(kernels.newton, self.model, coef, not self.convex, kinds)
            hessians = {kind: self._ridged(sums.hessians[i], coef) for i, kind in enumerate(kinds)}
        else:
            sums = (engine or self.engine).reduce(kernels.gradient, self.model, coef, not self.convex)
        w = self._features(coef)
        value = sums.value + 0.5 * self.ridge * float(np.sum(w**2))
        point = Point(coef, value, sums.gradient + self.ridge * w, hessians, engine is not None)
        if self.fused:
            self.known[coef.tobytes()] = point
            for oldest in list(self.known)[:-_KNOWN_POINTS]:
                del self.known[oldest]
        return point

    def _rough_engine(self) -> Engine | None:
        """The engine for sums in float32: not where they decide which coefficients are 0, nor beyond its range."""
        ordinary = self.squares[self.squares > 0.0]
        if not self.convex or self.lasso > 0.0 or not np.all((ordinary > 1e-20) & (ordinary < 1e20)):
            return None
        return self.engine.rough(self.model)

    def hessian(self, coef: Array, observed: bool, columns: NDArray[np.intp] | None = None) -> Array:
        """The curvature matrix of the smooth part over the flattened coefficients, or those of some features."""
        known = self.known.get(coef.tobytes())
        if known is not None and columns is None and observed in known.hessians:
            return known.hessians[observed]
        self.passes += 1
        total = self.engine.reduce(kernels.hessian, self.model, coef, observed, columns).hessian
        return self._ridged(total, coef)

    def drawn(self, width: int) -> tuple[Engine, float] | None:
        """A sample of the rows that is large enough for the curvature of so many columns, and its share."""
        if not self.convex or self.kinked:
            return None
        if self.sample is None:
            self.sample = (self.engine.sampled((_MANY_ROWS_PER_COLUMN if self.fused else _ROWS_PER_COLUMN) * width),)
        return self.sample[0]

    def sampled_hessian(self, coef: Array) -> Array | None:
        """About the (expected) curvature matrix, from a sample of the rows; None where the rows are too few for one."""
        found = self.drawn(coef.shape[1])
        if found is None:
            return None
        engine, share = found
        return self._ridged(engine.reduce(kernels.hessian, self.model, coef, False, None).hessian / share, coef)

    def rough_hessian(self, coef: Array) -> Array | None:
        """The (expected) curvature matrix in float32; None where the engine has none."""
        engine = None if self.fused or self.kinked else self._rough_engine()
        if engine is None:
            return None
        self.passes += 1
        return self._ridged(engine.reduce(kernels.hessian, self.model, coef, False, None).hessian, coef)

    def _ridged(self, total: Array, coef: Array) -> Array:
        """The curvature of the loss, plus that of the ridge penalty."""
        width = len(total) // len(coef)
        intercepts = coef.shape[1] - self.n_features
        features = np.tile(np.arange(width) < width - intercepts, len(coef))
        total.flat[:: len(total) + 1] += self.ridge * features
        return total

    def hessian_product(self, coef: Array, direction: Array) -> Array:
        """In float32 where the engine has that: a product is a means to a step, which gradients then judge."""
        self.passes += 1
        engine = self._rough_engine() or self.engine
        sums = engine.reduce(kernels.hessian_product, self.model, coef, direction)
        return sums.product + self.ridge * self._features(direction)

    def hessian_diagonal(self, coef: Array) -> tuple[Array, Array]:
        """The diagonal of the curvature matrix; the means of the columns with the curvatures as weights."""
        self.passes += 1
        sums = (self._rough_engine() or self.engine).reduce(kernels.hessian_diagonal, self.model, coef)
        mean = np.zeros_like(coef)
        if coef.shape[1] > self.n_features:
            mean = self._features(sums.total / np.maximum(sums.total[:, -1:], SMALLEST_NORMAL))
        return sums.diagonal + self.ridge * self._features(np.ones_like(coef)), mean

    def line(self, coef: Array, direction: Array, steps: Array, rough: bool = False) -> tuple[Array, Array]:
        """The smooth part (nan if convex) and its slope at every step along a line."""
        self.passes += 1
        engine = (self._rough_engine() if rough else None) or self.engine
        sums = engine.reduce(kernels.along_line, self.model, coef, direction, steps, not self.convex)
        w, d = self._features(coef), self._features(direction)
        square, cross, start = np.sum(d * d), np.sum(w * d), np.sum(w * w)
        values = sums.values + 0.5 * self.ridge * (start + 2.0 * steps * cross + steps**2 * square)
        return values, sums.slopes + self.ridge * (cross + steps * square)

    def lasso_change(self, coef: Array, direction: Array, steps: Array) -> Array:
        """By how much the lasso penalty differs from the start at every step along a line."""
        if self.lasso == 0.0:
            return np.zeros(len(steps))
        w, d = self._features(coef), self._features(direction)
        return np.array([self.lasso * np.sum(np.abs(w + step * d) - np.abs(w)) for step in steps])

    def lasso_slope(self, coef: Array, direction: Array) -> float:
        """The slope of the lasso penalty on arriving at `coef` along a direction."""
        if self.lasso == 0.0:
            return 0.0
        w, d = self._features(coef), self._features(direction)
        return self.lasso * float(np.sum(np.where(w == 0.0, -np.abs(d), np.sign(w) * d)))

    def rms_score(self, direction: Array) -> float:
        """About how far a direction moves the scores, in the root mean square."""
        return float(np.sqrt((direction**2 @ self.squares).max() / self.weight))

    def _features(self, coef: Array) -> Array:
        """The coefficients with the intercepts set to 0."""
        w = coef.copy()
        w[:, self.n_features :] = 0.0
        return w


def decrement(direction: Array, at: Point) -> float:
    """√(-gᵀd); nan (which never counts as convergence) if the direction or the gradient holds nan."""
    return float(np.sqrt(np.maximum(0.0, -np.vdot(direction, at.gradient))))


class Direction(ABC):
    """A rule that turns a point into a step, with a curvature that may be kept over several points."""

    whole_matrix = False
    """Whether steps use the curvature matrix of all coefficients."""
    from_sample = False
    """Whether that is the matrix of a sample of the rows."""
    keeps_below = np.inf
    """Above this relative decrement every new point has its own curvature at once."""
    quasi_newton = False
    """Whether sizes are rough, and neither they nor slow convergence ask for another curvature."""

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

    steps_per_iteration = 1
    """How many of its steps count as one iteration."""

    @property
    def slow(self) -> float:
        """Steps that leave more than this of the decrement ask for a new curvature; infinite: none does."""
        return 0.1

    def sharpen(self, close: bool) -> bool:
        """After a step that failed, perhaps use a better curvature from now on; whether there is one.

        Close to the optimum, where the objective is nearly quadratic, it must be the curvature that is to blame.
        """
        return False

    def confirm(self, at: Point, tol: float) -> tuple[Array, float]:
        """A Newton step and its size, where `step` has a rough one only; good enough to reach `tol` soon."""
        return self.step(at)


class NewtonDirection(Direction):
    """d = -H⁻¹g with the whole curvature matrix, for up to about a thousand coefficients.

    While H is kept, BFGS updates correct it with every new gradient, so that convergence stays superlinear without a
    new curvature matrix. For the same reason H may be that of a sample of the rows, or a sum in float32, until steps
    with it fail.
    """

    whole_matrix = True

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.from_sample, self.rough, self.failures = True, True, 0

    def refresh(self, at: Point, observed: bool) -> bool:
        self.updates: list[Update] = []
        self.dear = at.coef.size > _DEAR  # a further matrix costs more than many steps
        matrix = self.problem.sampled_hessian(at.coef) if self.from_sample and not at.hessians else None
        self.from_sample = matrix is not None
        if matrix is None and self.rough:
            matrix = self.problem.rough_hessian(at.coef)
            self.rough = matrix is not None
            if matrix is not None:
                self.factor = self._factor(matrix, at.coef)
                if self.factor.smallest_pivot > _SMALLEST_PIVOT:
                    return True
                self.rough, matrix = False, None
        if matrix is None:
            matrix = self.problem.hessian(at.coef, observed)
        self.factor = self._factor(matrix, at.coef)
        return self.factor.positive

    def _factor(self, matrix: Array, coef: Array) -> Factor:
        squares = np.tile(self.problem.squares, len(coef))
        return Factor(self._anchored(matrix, coef), squares, self.problem.weight)

    def _anchored(self, matrix: Array, coef: Array) -> Array:
        """A curvature for the shift of all scores of a softmax together, which has none, nor a gradient."""
        scores, width = coef.shape
        if scores > 1:
            free = np.arange(0 if self.problem.ridge == 0.0 else self.problem.n_features, width)
            blocks = matrix.reshape(scores, width, scores, width)
            blocks[:, free, :, free] += (self.problem.squares[free] / scores**2)[:, None, None]
        return matrix

    @property
    def slow(self) -> float:
        return 0.6 if self.dear else 0.3 if self.from_sample else 0.1

    def sharpen(self, close: bool) -> bool:
        self.failures += 1
        if not (self.from_sample or self.rough) or not (close or self.failures >= _PATIENCE):
            return False
        self.from_sample = self.rough = False
        return True

    def learn(self, at: Point, new: Point) -> None:
        moved, changed = (new.coef - at.coef).ravel(), (new.gradient - at.gradient).ravel()
        curvature = float(moved @ changed)
        if curvature > 0.0:
            self.updates.append(Update(moved, changed, curvature))

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
        diagonal = matrix.diagonal()
        self.positive = bool((diagonal >= 0.0).all())
        diagonal = np.maximum(diagonal, 1e-14 * squares)
        self.scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        self.rounding = 1e-13 * float(np.linalg.norm(self.scale * np.sqrt(squares * weight)))
        scaled = matrix * self.scale * self.scale[:, None]
        self.cholesky: Array | None = None
        # The routines themselves: for small matrices SciPy's functions spend most of their time around them.
        factor, failed = lapack.dpotrf(scaled, lower=1, clean=0)
        self.smallest_pivot = 0.0 if failed else float(factor.diagonal().min())
        if self.smallest_pivot**2 > 1e-9:
            self.cholesky = factor
        if self.cholesky is None:
            # Without eigenvalues (curvatures that overflowed) the direction is that of steepest descent.
            found = _eigen(scaled)
            self.values, self.vectors = found or (np.ones(len(scaled)), np.eye(len(scaled)))
            self.positive &= found is not None and bool(self.values[0] > -1e-8 * self.values[-1])

    def solve(self, x: Array) -> Array:
        scaled = self.scale * x
        if self.cholesky is not None:
            return np.asarray(self.scale * lapack.dpotrs(self.cholesky, scaled, lower=1)[0])
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


def solve_updated(factor: Solver, updates: list[Update], x: Array) -> Array:
    """H⁻¹x with H corrected by BFGS updates (change of coefficients, change of gradient): L-BFGS's two loops."""
    shares, x = [], x.copy()
    for moved, changed, curvature in reversed(updates):
        shares.append(float(moved @ x) / curvature)
        x = blas.daxpy(changed, x, a=-shares[-1])  # in place
    x = factor.solve(x)
    for (moved, changed, curvature), share in zip(updates, reversed(shares), strict=True):
        x = blas.daxpy(moved, x, a=share - float(changed @ x) / curvature)
    return x
