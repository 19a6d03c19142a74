"""Newton's method on a working set of signed coefficients, and the two functions of scores that it minimises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy import special as sc

from properly.maxent.design import Design, Indices
from properly.numeric.probabilities import Array


class Potential(ABC):
    """A smooth, convex, increasing function of the scores."""

    @abstractmethod
    def value(self, scores: Array) -> float: ...

    @abstractmethod
    def derivative(self, scores: Array) -> Array:
        """Of the shape of the scores. Divided by its sum, a row is the density of its class over the points."""

    @abstractmethod
    def hessian(self, derivative: Array, columns: list[Array]) -> Array:
        """The curvature along `columns`, of shape (coefficients, points) for every class.

        Coefficients follow each other class by class.
        """


@dataclass(frozen=True)
class LogSum(Potential):
    """ln Σ_i π_i exp(s_i), of one class: the objective of maxent, with π the weights of the points, of sum 1."""

    weight: Array

    def value(self, scores: Array) -> float:
        highest = float(scores[0].max())
        return highest + float(np.log(np.exp(scores[0] - highest) @ self.weight))

    def derivative(self, scores: Array) -> Array:
        density = np.exp(scores - scores.max()) * self.weight
        return np.asarray(density / density.sum())

    def hessian(self, derivative: Array, columns: list[Array]) -> Array:
        centred = columns[0] - (columns[0] @ derivative[0])[:, None]
        centred *= np.sqrt(derivative[0])
        return np.asarray(centred @ centred.T)


@dataclass(frozen=True)
class LogMixture(Potential):
    """Σ_i π_i ln(ν(rest) + Σ_y ν(y) exp(s_i^y)): the objective of class-robust logistic regression.

    The sum goes over the classes that have labels; the rest has the scores 0.
    """

    weight: Array
    log_prior: Array  # ln ν of the classes with scores
    log_rest: float  # ln ν of all others together, -inf if there are none

    def _shifted(self, scores: Array) -> Array:
        rest = np.full((1, scores.shape[1]), self.log_rest)
        return np.concatenate([scores + self.log_prior[:, None], rest])

    def value(self, scores: Array) -> float:
        return float(sc.logsumexp(self._shifted(scores), axis=0) @ self.weight)

    def derivative(self, scores: Array) -> Array:
        return np.asarray(sc.softmax(self._shifted(scores), axis=0)[:-1] * self.weight)

    def hessian(self, derivative: Array, columns: list[Array]) -> Array:
        share = derivative / self.weight
        blocks = [
            [self._block(derivative, share, columns, y, other) for other in range(len(columns))]
            for y in range(len(columns))
        ]
        return np.block(blocks)

    def _block(self, derivative: Array, share: Array, columns: list[Array], y: int, other: int) -> Array:
        if y != other:
            return np.asarray(-(columns[y] * (derivative[y] * share[other])) @ columns[other].T)
        scaled = columns[y] * np.sqrt(derivative[y] * (1.0 - share[y]))
        return np.asarray(scaled @ scaled.T)


_ROUNDS = 50
_DESCENT_LENGTHS = (1.0, 0.5, 0.2, 0.05)  # of steps that are cut off where they would become negative


def bounded_minimum(matrix: Array, gradient: Array, start: Array) -> Array:
    """argmin ½dᵀHd + gradientᵀd over z = start + d ≥ 0, as z, for a positive definite H with diagonal 1 (about).

    An active set method that lets many coefficients enter and leave at once while that lowers the function, and
    otherwise one at a time. The function falls with every round; a hard problem may end before its minimum is reached.
    LinAlgError if H is not positive definite.

    >>> bounded_minimum(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([-1.0, 1.0]), np.zeros(2))
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
            keenest = np.arange(len(z)) == np.argmin(np.where(entering, slope, np.inf))
            new = _descended(matrix, slope, z, (z > 0.0) | keenest)
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
        factor = linalg.cho_factor(matrix[np.ix_(free, free)], check_finite=False)
        step[free] = linalg.cho_solve(factor, -slope[free], check_finite=False)
        if np.all(z + step >= 0.0):
            return z + step
        for length in _DESCENT_LENGTHS:
            cut = np.maximum(z + length * step, 0.0)
            if _lower(matrix, slope, cut - z):
                return cut
        falling = np.flatnonzero(z + step < 0.0)
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


GOOD_ENOUGH = 1e-6  # the largest violation that passes as converged
_PRECISE = 1e-10  # what the solver tries to reach, and the relative duality gap, too
_DAMPING = (1e-12, 1e-8, 1e-5, 1e-2, 1.0, 1e2, 1e4, 1e7, 1e10)  # of the curvature, relative to its diagonal
_LENGTHS = 0.5 ** np.arange(7)  # of steps


class Optimum(NamedTuple):
    """Where the solver ended.

    `coef` of shape (classes, features), `objective` the potential there, `gap` how far it lies above the value of the
    dual problem (exact where nothing is violated), `violation` the largest violation of the optimality conditions:
    expectations of features, each relative to its scale. `total` are the probabilities of the classes.
    """

    coef: Array
    total: Array
    objective: float
    gap: float
    violation: float
    n_iter: int


class _Point(NamedTuple):
    coef: Array
    scores: Array
    derivative: Array
    excess: Array  # E f - μ̃ of every class and feature, under the density of the class
    total: Array  # the probability of every class


@dataclass
class BoundedProblem:
    """A potential of the scores of labelled classes, each with means μ̃ and deviations β, of shape (classes, features).

    `scale` is the size of every feature, by which violations are judged.
    """

    design: Design
    potential: Potential
    mean: Array
    deviation: Array
    scale: Array

    def point(self, coef: Array, scores: Array) -> _Point:
        derivative = self.potential.derivative(scores)
        total = derivative.sum(axis=1)
        expected = np.stack([self.design.sums(row / whole) for row, whole in zip(derivative, total, strict=True)])
        return _Point(coef, scores, derivative, expected - self.mean, total)

    def violations(self, at: _Point) -> Array:
        """By how much |E f - μ̃| ≤ β, with equality on the right side where λ ≠ 0, fails."""
        used = np.abs(at.excess + np.sign(at.coef) * self.deviation)
        unused = np.maximum(np.abs(at.excess) - self.deviation, 0.0)
        return np.asarray(np.where(at.coef != 0.0, used, unused) / self.scale)

    def gap(self, at: _Point) -> float:
        """Φ(s) + Φ*(Φ'(s)) = s·Φ'(s): what the objective is above the dual value of the densities found."""
        slopes = at.total[:, None] * (np.sign(at.coef) * at.excess + self.deviation)
        return float(np.sum(np.abs(at.coef) * slopes))

    def _improvable(self, at: _Point, violation: Array, value: float) -> bool:
        return bool(violation.max(initial=0.0) > _PRECISE) or abs(self.gap(at)) > _PRECISE * abs(value)

    def _closer(self, new: _Point, new_violation: Array, at: _Point, violation: Array) -> bool:
        return bool(new_violation.max() < violation.max()) or abs(self.gap(new)) < 0.5 * abs(self.gap(at))

    def minimise(self, max_iter: int) -> Optimum:
        """From λ = 0 until nothing is violated by more than 1e-10, or rounding allows no better."""
        working = _WorkingSet(self)
        at = self.point(np.zeros_like(self.mean), np.zeros((len(self.mean), self.design.n_points)))
        value = self.potential.value(at.scores)
        violation = self.violations(at)
        iteration = 0
        while self._improvable(at, violation, value) and iteration < max_iter:
            iteration += 1
            working.choose(at, violation)
            found = working.advance(at, value)
            if found is None:
                break
            new, new_value = found
            new_violation = self.violations(new)
            noise = violation.max() < GOOD_ENOUGH and new_value > value - 1e-14 * (1.0 + abs(value))
            if noise and not self._closer(new, new_violation, at, violation):
                break
            at, value, violation = new, new_value, new_violation
        return Optimum(at.coef, at.total, value, self.gap(at), float(violation.max(initial=0.0)), iteration)


class _WorkingSet:
    """The signed features that may move: those in use, and of those that want to be, the keenest of every group."""

    def __init__(self, problem: BoundedProblem) -> None:
        self.problem = problem
        self.groups = problem.design.groups
        self.position = np.full(problem.design.n_features, -1)  # of a feature's column among those kept
        self.kept = np.empty((0, problem.design.n_points))
        self.level = 0  # of the damping that the last step needed

    def choose(self, at: _Point, violation: Array) -> None:
        self.which: list[Indices] = []
        self.sign: list[Array] = []
        self.columns: list[Array] = []
        problem = self.problem
        for y, coef in enumerate(at.coef):
            used = np.flatnonzero(coef)
            wanting = np.flatnonzero((coef == 0.0) & (violation[y] > 0.0))
            wanting = wanting[np.argsort(-violation[y, wanting], kind="stable")]
            _, first = np.unique(self.groups[wanting], return_index=True)
            which = np.concatenate([used, wanting[np.sort(first)[: max(20, len(used))]]])
            sign = np.where(coef[which] != 0.0, np.sign(coef[which]), -np.sign(at.excess[y, which]))
            self.which.append(which)
            self.sign.append(sign)
            shift = problem.deviation[y, which] - sign * problem.mean[y, which]
            self.columns.append(self._features(which) * sign[:, None] + shift[:, None])

    def _features(self, which: Indices) -> Array:
        new = which[self.position[which] < 0]
        if len(new):
            self.position[new] = len(self.kept) + np.arange(len(new))
            self.kept = np.concatenate([self.kept, self.problem.design.columns(new)])
        return self.kept[self.position[which]]

    def advance(self, at: _Point, value: float) -> tuple[_Point, float] | None:
        """Newton's step with |λ| ≥ 0, shortened or damped until it lowers the objective; None if nothing does.

        Where the quadratic model is nearly flat its minimum is far away and means nothing; damping brings it closer.
        """
        size = np.concatenate([np.abs(coef[which]) for coef, which in zip(at.coef, self.which, strict=True)])
        gradient = np.concatenate([part @ row for part, row in zip(self.columns, at.derivative, strict=True)])
        unit = [np.sqrt(whole) * self.problem.scale[which] for whole, which in zip(at.total, self.which, strict=True)]
        hessian = self.problem.potential.hessian(at.derivative, self.columns)
        # The floor is for features that do not vary where the density is.
        scale = 1.0 / np.sqrt(np.maximum(np.diag(hessian), 1e-14 * np.concatenate(unit) ** 2))
        scaled, start = hessian * scale * scale[:, None], size / scale
        for level in range(max(0, self.level - 1), len(_DAMPING)):
            self.level = level
            damped = scaled + _DAMPING[level] * np.eye(len(scaled))
            try:
                end = bounded_minimum(damped, scale * gradient, start)
            except linalg.LinAlgError:
                continue
            change = scale * end - size
            found = self._search(at, change, float(gradient @ change), value)
            if found is not None:
                return found
        return None

    def _search(self, at: _Point, change: Array, slope: float, value: float) -> tuple[_Point, float] | None:
        """The point at the first of the step lengths 1, ½, ¼ … that lowers the objective enough."""
        parts = np.split(change, np.cumsum([len(which) for which in self.which])[:-1])
        moved = np.stack([part @ columns for part, columns in zip(parts, self.columns, strict=True)])
        rounding = 1e-15 * (1.0 + abs(value))
        for length in _LENGTHS:
            scores = at.scores + length * moved
            new = self.problem.potential.value(scores)
            if new <= value + 1e-4 * length * slope + rounding:
                coef = at.coef.copy()
                for y, part in enumerate(parts):
                    reached = coef[y, self.which[y]] + length * self.sign[y] * part
                    # what reaches the bound is 0, not a rounding error on its wrong side
                    coef[y, self.which[y]] = np.where(reached * self.sign[y] > 0.0, reached, 0.0)
                return self.problem.point(coef, scores), new
        return None
