"""One loop for every direction: step, check, keep or renew the curvature, stop with a stated status."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from properly.probabilities import Array
from properly.solvers.directions import ConjugateGradientDirection, Direction, NewtonDirection
from properly.solvers.line_search import search
from properly.solvers.problem import Point, Problem
from properly.solvers.proximal import ProximalNewtonDirection

# With more coefficients than this it is cheaper to go by conjugate gradients than to form the curvature matrix,
# for one score and for a softmax with its blocks for every pair of scores.
_WHOLE_MATRIX, _WHOLE_SOFTMAX_MATRIX = 1000, 200


class Status(Enum):
    CONVERGED = "converged"
    STALLED = "stalled: no step lowers the objective any more"
    OUT_OF_ITERATIONS = "out of iterations"


@dataclass
class Solution:
    """Where a solver ended and how.

    `size` is the last Newton decrement per unit of weight, λ/√Σw; `history` has it for every iteration.
    """

    coef: Array
    status: Status
    n_iter: int
    passes: int
    size: float
    history: list[float] = field(repr=False, default_factory=list)


def minimise(problem: Problem, start: Array, tol: float, max_iter: int) -> Solution:
    """Newton's method with a curvature that is kept while it serves.

    A step is accepted when the Newton decrement shrinks (convex problems) or the objective falls (others), and
    otherwise shortened by a line search. The curvature is renewed unless the decrement fell tenfold. A problem that
    is not convex uses the observed curvature where that is positive definite and the expected one elsewhere.
    """
    direction = _direction_for(problem, start)
    at = problem.point(start)
    direction.refresh(at, "expected")
    step, size = direction.step(at)
    fresh, scale = True, np.sqrt(problem.weight)
    history = [size / scale]
    for iteration in range(max_iter + 1):
        if size <= tol * scale and not direction.incomplete:
            return Solution(at.coef, Status.CONVERGED, max(1, iteration), problem.passes, size / scale, history)
        if iteration == max_iter:
            break
        new = problem.point(at.coef + step)
        finite = bool(np.isfinite(new.gradient).all())
        if finite:
            direction.learn(at, new)
        new_step, new_size = direction.step(new) if finite else (step, np.inf)
        contraction = new_size / size if size > 0.0 else 1.0
        if not finite or not _accepted(problem, at, step, new, contraction):
            if not fresh:  # an old curvature may be to blame
                _refresh(problem, direction, at)
                fresh = True
                step, size = direction.step(at)
                continue
            length = search(problem, at, step)
            if length == 0.0:
                status = Status.CONVERGED if size <= 100.0 * tol * scale else Status.STALLED
                return Solution(at.coef, status, iteration + 1, problem.passes, size / scale, history)
            new, contraction = problem.point(at.coef + length * step), 1.0
        at, fresh = new, False
        if contraction > 0.1 or direction.incomplete:
            _refresh(problem, direction, at)
            fresh = True
            new_step, new_size = direction.step(at)
        step, size = new_step, new_size
        history.append(size / scale)
    return Solution(at.coef, Status.OUT_OF_ITERATIONS, max_iter, problem.passes, size / scale, history)


def _refresh(problem: Problem, direction: Direction, at: Point) -> None:
    if problem.convex or not direction.refresh(at, "observed"):
        direction.refresh(at, "expected")


def _accepted(problem: Problem, at: Point, step: Array, new: Point, contraction: float) -> bool:
    if problem.convex:
        return contraction <= 0.7
    promised = np.sum(at.gradient * step) + problem.lasso_change(at.coef, step, np.ones(1))[0]
    change = new.value - at.value + problem.lasso_change(at.coef, step, np.ones(1))[0]
    return bool(change <= 1e-4 * promised or (contraction <= 0.7 and abs(change) <= 1e-12 * abs(at.value)))


def _direction_for(problem: Problem, coef: Array) -> Direction:
    if problem.lasso > 0.0:
        return ProximalNewtonDirection(problem)
    if coef.size <= (_WHOLE_MATRIX if len(coef) == 1 else _WHOLE_SOFTMAX_MATRIX):
        return NewtonDirection(problem)
    return ConjugateGradientDirection(problem)
