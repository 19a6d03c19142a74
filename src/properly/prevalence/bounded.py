"""Maxent's solver: Newton's method on a working set of signed features, with coefficients that stay on their side of 0.

With λ = λ⁺ - λ⁻, λ^± ≥ 0, the scores Σ_j λ_j (f_j - μ̃_j) + Σ_j β_j |λ_j| are linear: every signed feature has the
column ±(f_j - μ̃_j) + β_j. What remains is a smooth convex function with bounds, and no λ_j is ever positive and
negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

from properly.prevalence.design import Design, Indices
from properly.prevalence.potentials import Potential
from properly.prevalence.quadratic import bounded_minimum
from properly.probabilities import Array

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
