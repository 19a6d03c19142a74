"""The Newton loop for every direction: step, check, keep or renew the curvature, stop with a stated status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from properly.numeric.probabilities import Array
from properly.solvers.directions import Direction, NewtonDirection, Point, Problem
from properly.solvers.limited_memory import ConjugateGradientDirection, LimitedMemoryDirection
from properly.solvers.proximal import ProximalNewtonDirection

# With more coefficients than this, conjugate gradients are cheaper than the curvature matrix: for one score, and for a
# softmax of up to ten classes, whose matrix has a block for every pair of scores. Problems that are not convex need a
# hundred iterations with them, since they use the expected curvature only, and ten with the matrix.
_WHOLE_MATRIX, _WHOLE_SOFTMAX_MATRIX, _WHOLE_SOFTMAX_SCORES = 400, 1000, 20
_WHOLE_MATRIX_IF_NOT_CONVEX = 1500
_CLOSE = 0.01  # a relative Newton decrement
_SMALL_STEP = 1e-3  # a relative Newton decrement, after which the curvature is kept even where a pass could bring it
_ROUGH = 1e-4  # float32 arithmetic serves down to steps of this size; the point after such a step is in float64
_CERTAIN = 1e-4  # quasi-Newton steps of this size give way to Newton steps by conjugate gradients
_WHERE_DEAR = 2  # times as many where passes are dear, since conjugate gradients take one for every product


class Status(Enum):
    """How a fit ended, in words."""

    CONVERGED = "converged"
    STALLED = "stalled: no step lowers the objective any more"
    OUT_OF_ITERATIONS = "out of iterations"
    ON_A_KINK = "on a kink of the loss, where no gradient vanishes"

    def __reduce__(self) -> tuple[type[Status], tuple[str]]:
        return type(self), (self.value,)  # how skops makes it again


@dataclass
class Solution:
    """Where a solver ended and how.

    `size` is the last Newton decrement λ relative to the loss L of the best constant forecast, λ/√L: the loss can fall
    by about size²/2 of L at most. `history` holds it for every Newton step: those of quasi-Newton steps shrink in
    another way.
    """

    coef: Array
    status: Status
    n_iter: int
    passes: int
    size: float
    history: list[float] = field(repr=False, default_factory=list)


@np.errstate(all="ignore")  # steps that overflow are refused
def minimise(problem: Problem, start: Array, tol: float, max_iter: int) -> Solution:
    """Newton's method, with a curvature that is kept as long as the steps converge fast.

    A step is accepted when the Newton decrement shrinks and the objective hardly rises at its end (convex problems), or
    when the objective falls (others), and otherwise shortened by a line search. The curvature is renewed unless the
    decrement fell fast (`slow` of the direction), and at every point where it comes with the gradient. A problem that
    is not convex uses the observed curvature where that is positive definite and the expected one elsewhere. Gradients
    in float32 count as convergence only for a tolerance that they can certify.
    """
    direction, scale = _direction_for(problem, start), np.sqrt(problem.null_loss)
    drawn = problem.fused and problem.smooth and problem.drawn(start.shape[1])
    at = problem.point(start, rough=True, curved=not drawn)
    history: list[float] = []
    iterations = 0.0  # several quasi-Newton steps are one

    def ended(status: Status, n_iter: float, size: float = np.nan) -> Solution:
        newton = [] if direction.quasi_newton else history
        return Solution(at.coef, status, max(1, round(np.ceil(n_iter - 1e-9))), problem.passes, size / scale, newton)

    def renewed(at: Point) -> tuple[Array, float]:
        if problem.convex or not problem.observed or not direction.refresh(at, True):
            direction.refresh(at, False)
        return direction.step(at)

    def followed(at: Point, new: Point, size: float) -> tuple[Array, float, bool]:
        if new.hessians or size > direction.keeps_below * scale:
            return *renewed(new), True
        if at.rough == new.rough:  # else the gradients differ by what float32 has rounded
            direction.learn(at, new)
        return *direction.step(new), False

    if not np.isfinite(at.gradient).all():
        return ended(Status.STALLED, 0)
    direction.refresh(at, False)
    fresh = rough = True
    step, size = direction.step(at)
    history.append(size / scale)
    while iterations < max_iter - 1e-9:
        before, iterations = iterations, iterations + 1.0 / direction.steps_per_iteration
        if size <= max(_CERTAIN, tol) * scale and direction.quasi_newton and not at.rough:
            step, size = direction.confirm(at, tol)
            iterations = min(before + 1.0, float(max_iter))
        if size <= tol * scale and problem.kinked and not fresh:
            (step, size), fresh = renewed(at), True
        if size <= _ROUGH * scale and at.rough and tol < _ROUGH:
            at, rough = problem.point(at.coef), False  # for good: rounding may have cost more than that
            step, size = direction.step(at)
            continue
        if size <= tol * scale and not direction.incomplete:
            if direction.from_sample:  # steps gain a digit or less: the last one, which costs nothing, is worth taking
                at = at._replace(coef=at.coef + step)
            return ended(Status.CONVERGED, before, size)
        step = _bounded(problem, at, step)
        far = size > _ROUGH * scale
        new = problem.point(at.coef + step, rough=rough and far, curved=size > _SMALL_STEP * scale)
        contraction, new_step, new_size, new_fresh = np.inf, step, np.inf, False
        if np.isfinite(new.gradient).all():
            new_step, new_size, new_fresh = followed(at, new, size)
            contraction = new_size / size if size > 0.0 else 1.0
        if not _accepted(problem, at, step, new, 0.0 if direction.quasi_newton else contraction):
            old = not (fresh or direction.quasi_newton)
            if old or direction.sharpen(size <= _CLOSE * scale):  # perhaps because of the curvature
                (step, size), fresh = renewed(at), True
                continue
            length = search(problem, at, step) if np.isfinite(step).all() else 0.0
            if length == 0.0 and at.rough:  # perhaps because of what float32 has rounded
                at, rough = problem.point(at.coef), False
                (step, size), fresh = renewed(at), True
                continue
            if length == 0.0:
                precise = size <= 100.0 * tol * scale and not direction.incomplete
                return ended(Status.CONVERGED if precise else Status.STALLED, iterations, size)
            contraction = 1.0
            if length < 1.0:
                new = problem.point(at.coef + length * step, rough=at.rough)
                new_step, new_size, new_fresh = followed(at, new, size)
        at, fresh = new, new_fresh
        if (contraction > direction.slow or direction.incomplete) and not fresh:
            if contraction > 0.6:
                direction.sharpen(new_size <= _CLOSE * scale)
            (new_step, new_size), fresh = renewed(at), True
        step, size = new_step, new_size
        history.append(size / scale)
        if isinstance(direction, LimitedMemoryDirection) and direction.gives_way(history, tol):
            direction = NewtonDirection(problem)
            (step, size), fresh = renewed(at), True
            history.clear()
    uncertain = direction.incomplete or direction.quasi_newton or (problem.kinked and not fresh)
    uncertain = uncertain or (at.rough and tol < _ROUGH)
    converged = size <= tol * scale and not uncertain
    return ended(Status.CONVERGED if converged else Status.OUT_OF_ITERATIONS, iterations, size)


def shrinks_linearly(sizes: Sequence[float] | Array) -> bool:
    """Whether the last of twelve Newton steps or more shrank by no more than a constant factor.

    Near an optimum they shrink faster and faster. Otherwise there is no finite optimum: the classes are separable, if
    only up to some rows on the border between them (quasi-complete separation).

    >>> shrinks_linearly([0.5**k for k in range(12)]), shrinks_linearly([1.0, 0.1, 0.001, 1e-7] * 4)
    (True, False)
    """
    late = np.array(sizes[-4:])
    return len(sizes) >= 12 and bool(np.all(late[1:] > 0.4 * late[:-1]))


def _bounded(problem: Problem, at: Point, step: Array) -> Array:
    """Limit a step: in the root mean square it may move the scores by 100 plus ten times their present size.

    Optima are not farther away, but in flat regions of a loss Newton steps can be far longer.
    """
    distance, limit = problem.rms_score(step), 100.0 + 10.0 * problem.rms_score(at.coef)
    return step if distance <= limit else step * (limit / distance)


def _accepted(problem: Problem, at: Point, step: Array, new: Point, contraction: float) -> bool:
    if not np.isfinite(contraction):
        return False
    lasso = problem.lasso_change(at.coef, step, np.ones(1))[0]
    promised = float(np.vdot(at.gradient, step)) + lasso
    if problem.convex:
        slope = float(np.vdot(new.gradient, step)) + problem.lasso_slope(new.coef, step)
        return contraction <= 0.7 and slope <= 0.1 * abs(promised)
    change = new.value - at.value + lasso
    return bool(change <= 1e-4 * promised or (contraction <= 0.7 and abs(change) <= 1e-12 * abs(at.value)))


def _direction_for(problem: Problem, coef: Array) -> Direction:
    if problem.lasso > 0.0:
        return ProximalNewtonDirection(problem)
    largest = _WHOLE_MATRIX if len(coef) == 1 else _WHOLE_SOFTMAX_MATRIX
    largest = _WHERE_DEAR * largest if problem.engine.passes_are_dear else largest
    if not problem.convex:
        largest = _WHOLE_MATRIX_IF_NOT_CONVEX
    if coef.size <= largest and len(coef) <= _WHOLE_SOFTMAX_SCORES:
        return NewtonDirection(problem)
    return LimitedMemoryDirection(problem) if problem.convex else ConjugateGradientDirection(problem)


def fuses(problem: Problem, start: Array) -> bool:
    """Whether gradient and curvature should come from the same pass: passes are dear, and the whole matrix is used."""
    return problem.engine.passes_are_dear and _direction_for(problem, start).whole_matrix


STEPS = 2.0 ** -np.arange(40.0)


def search(problem: Problem, at: Point, direction: Array) -> float:
    """The largest step that surely lowers the objective; 0 if there is none.

    Convex problems need slopes φ' only: φ' increases, so φ(s) - φ(0) <= s/2 (φ'(s/2) + φ'(s)), and a step is taken
    when this bound is negative. Others need a real decrease of the value (Armijo's rule).
    """
    for steps in (STEPS[:8], STEPS[7:]):  # the short ones are rarely needed
        values, slopes = problem.line(at.coef, direction, steps, at.rough)
        lasso = problem.lasso_change(at.coef, direction, steps)
        if problem.convex:
            bound = 0.5 * steps * (slopes + np.append(slopes[1:], np.inf))  # half of a step is the next one
            good = bound + lasso < 0.0
        else:
            promised = np.sum(at.gradient * direction) + lasso[0] / steps[0]
            good = values + lasso - at.value <= 1e-4 * steps * promised
        if good.any():
            return float(steps[np.argmax(good)])
    return 0.0
