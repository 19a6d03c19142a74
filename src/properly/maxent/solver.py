"""Newton's method on a working set of coefficients, for objectives of scores with a penalty Σ β_j |λ_j|."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from scipy import linalg

from properly.maxent.design_matrix import DesignMatrix, Indices
from properly.maxent.sample import Constraints
from properly.numeric.probabilities import Array
from properly.solvers.dense import nonnegative_minimum

GOOD_ENOUGH = 1e-6  # the largest violation that passes as converged
_PRECISE = 1e-10  # what the solver tries to reach, and the relative duality gap, too
_MAX_ITER = 200
_DAMPING = (1e-12, 1e-8, 1e-5, 1e-2, 1.0, 1e2, 1e4, 1e7, 1e10)  # of the curvature, relative to its diagonal
_LENGTHS = 0.5 ** np.arange(7)  # of steps


class Objective(ABC):
    """A smooth, convex, increasing function Φ of the scores s of shape (classes, points)."""

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


class Optimum(NamedTuple):
    """Where the solver ended.

    `coef` of shape (classes, features), `objective` its value there, `gap` how far it lies above the value of the dual
    problem (exact where nothing is violated), `violation` the largest violation of the optimality conditions:
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
    value: float
    derivative: Array
    total: Array  # the probability of every class
    excess: Array  # E f - μ̃ of every class and feature, under the density of the class
    gap: float
    violation: Array  # of the optimality condition of every class and feature


class PenalisedProblem:
    """Minimise Φ(s) over λ, with s^y = λ^y·(f - μ̃^y) + Σ_j β_j^y |λ_j^y| of every labelled class y.

    The minimum has |E f - μ̃| ≤ β under the densities that Φ gives, with equality where λ ≠ 0.
    """

    def __init__(self, design: DesignMatrix, objective: Objective, constraints: Constraints) -> None:
        self.design, self.objective = design, objective
        self.mean, self.tolerance, self.scale = constraints

    def minimise(self) -> Optimum:
        """From λ = 0 until nothing is violated by more than 1e-10, or rounding allows no better."""
        working = _WorkingSet(self)
        scores = np.zeros((len(self.mean), self.design.n_points))
        at = self.point(np.zeros_like(self.mean), scores, self.objective.value(scores))
        iteration = 0
        while self._improvable(at) and iteration < _MAX_ITER:
            iteration += 1
            working.choose(at)
            new = working.advance(at)
            if new is None:
                break
            noise = at.violation.max() < GOOD_ENOUGH and new.value > at.value - 1e-14 * (1.0 + abs(at.value))
            if noise and not (new.violation.max() < at.violation.max() or abs(new.gap) < 0.5 * abs(at.gap)):
                break
            at = new
        violation = float(at.violation.max(initial=0.0))
        if np.isnan(violation):
            raise ValueError(
                "the fit ended in numbers beyond float64 (nan); scale the columns, or use more regularization."
            )
        return Optimum(at.coef, at.total, at.value, at.gap, violation, iteration)

    def point(self, coef: Array, scores: Array, value: float) -> _Point:
        """What is needed to know about coefficients with these scores and this value."""
        derivative = self.objective.derivative(scores)
        total = derivative.sum(axis=1)
        expected = np.stack([self.design.sums(row / whole) for row, whole in zip(derivative, total, strict=True)])
        excess = expected - self.mean
        # Φ(s) + Φ*(Φ'(s)) = s·Φ'(s) is what the objective is above the dual value of the densities found.
        gap = float(np.sum(np.abs(coef) * (total[:, None] * (np.sign(coef) * excess + self.tolerance))))
        used = np.abs(excess + np.sign(coef) * self.tolerance)
        unused = np.maximum(np.abs(excess) - self.tolerance, 0.0)
        violation = np.asarray(np.where(coef != 0.0, used, unused) / self.scale)
        return _Point(coef, scores, value, derivative, total, excess, gap, violation)

    def _improvable(self, at: _Point) -> bool:
        return bool(at.violation.max(initial=0.0) > _PRECISE) or abs(at.gap) > _PRECISE * abs(at.value)


class _WorkingSet:
    """The signed coefficients that may move: those in use, and of every group the one with the largest violation."""

    def __init__(self, problem: PenalisedProblem) -> None:
        self.problem = problem
        self.groups = problem.design.groups
        self.position = np.full(problem.design.n_features, -1)  # of a feature's column among those kept
        self.kept = np.empty((0, problem.design.n_points))
        self.level = 0  # of the damping that the last step needed

    def choose(self, at: _Point) -> None:
        """Which features of every class, with which sign, and their columns sign·(f - μ̃) + β."""
        self.which: list[Indices] = []
        self.sign: list[Array] = []
        self.columns: list[Array] = []
        for y, coef in enumerate(at.coef):
            used = np.flatnonzero(coef)
            entering = np.flatnonzero((coef == 0.0) & (at.violation[y] > 0.0))
            entering = entering[np.argsort(-at.violation[y, entering], kind="stable")]
            _, first = np.unique(self.groups[entering], return_index=True)
            which = np.concatenate([used, entering[np.sort(first)[: max(20, len(used))]]])
            sign = np.where(coef[which] != 0.0, np.sign(coef[which]), -np.sign(at.excess[y, which]))
            shift = self.problem.tolerance[y, which] - sign * self.problem.mean[y, which]
            self.which.append(which)
            self.sign.append(sign)
            self.columns.append(self._features(which) * sign[:, None] + shift[:, None])

    def _features(self, which: Indices) -> Array:
        new = which[self.position[which] < 0]
        if len(new):
            self.position[new] = len(self.kept) + np.arange(len(new))
            self.kept = np.concatenate([self.kept, self.problem.design.columns(new)])
        return self.kept[self.position[which]]

    def advance(self, at: _Point) -> _Point | None:
        """Newton's step with |λ| ≥ 0, shortened or damped until it lowers the objective; None if nothing does.

        Where the quadratic model is nearly flat its minimum is far away and means nothing; damping brings it closer.
        """
        size = np.concatenate([np.abs(coef[which]) for coef, which in zip(at.coef, self.which, strict=True)])
        gradient = np.concatenate([part @ row for part, row in zip(self.columns, at.derivative, strict=True)])
        unit = [np.sqrt(whole) * self.problem.scale[which] for whole, which in zip(at.total, self.which, strict=True)]
        hessian = self.problem.objective.hessian(at.derivative, self.columns)
        # The floor is for features that do not vary where the density is.
        scale = 1.0 / np.sqrt(np.maximum(np.diag(hessian), 1e-14 * np.concatenate(unit) ** 2))
        scaled, start = hessian * scale * scale[:, None], size / scale
        for level in range(max(0, self.level - 1), len(_DAMPING)):
            self.level = level
            damped = scaled + _DAMPING[level] * np.eye(len(scaled))
            try:
                change = scale * nonnegative_minimum(damped, scale * gradient, start) - size
            except linalg.LinAlgError:
                continue
            found = self._search(at, change, float(gradient @ change))
            if found is not None:
                return found
        return None

    def _search(self, at: _Point, change: Array, slope: float) -> _Point | None:
        """The point at the first of the step lengths 1, ½, ¼ … that lowers the objective enough."""
        parts = np.split(change, np.cumsum([len(which) for which in self.which])[:-1])
        moved = np.stack([part @ columns for part, columns in zip(parts, self.columns, strict=True)])
        rounding = 1e-15 * (1.0 + abs(at.value))
        for length in _LENGTHS:
            scores = at.scores + length * moved
            value = self.problem.objective.value(scores)
            if value <= at.value + 1e-4 * length * slope + rounding:
                coef = at.coef.copy()
                for row, which, sign, part in zip(coef, self.which, self.sign, parts, strict=True):
                    reached = row[which] + length * sign * part
                    # what reaches the bound is 0, not a rounding error on its wrong side
                    row[which] = np.where(reached * sign > 0.0, reached, 0.0)
                return self.problem.point(coef, scores, value)
        return None
