"""Newton's method for small dense problems, linear systems, and quadratic functions over non-negative coefficients.

The loop is for convex objectives of up to about a thousand coefficients whose curvature is cheap to form at every
step: calibration maps, mixing proportions, groups' lines. `properly.solvers.newton` is for data where it is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import lapack

from properly.numeric.probabilities import Array
from properly.solvers.newton import Status

_JITTER = 1e-13  # of a unit diagonal: directions that rounding has left without curvature stay finite
_HALVINGS = 40
_ROUNDING = 1e-14  # of a value: smaller changes are hidden by rounding


class Local(Protocol):
    """A convex objective at one point, or m independent ones at once, a row of the arrays for each.

    Derivatives are asked for at points that a line search accepts, so they may be properties that compute late.
    """

    @property
    def coef(self) -> Array:
        """The point: (d,), or (m, d)."""

    @property
    def value(self) -> Array | float | None:
        """One number, or (m,); None if values cost more than gradients: then slopes alone judge the steps."""

    @property
    def gradient(self) -> Array:
        """Of the shape of `coef`."""

    def step(self) -> Array:
        """Where the quadratic model has its minimum, -H⁻¹ gradient, seen from `coef`."""


L = TypeVar("L", bound=Local)
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Minimum(Generic[L]):
    """Where Newton's method ended and how.

    `step` is the next step, which was not taken: a last one that costs nothing, if the status is CONVERGED. `history`
    has the gap of every point, the last entry that of `at`.
    """

    at: L
    step: Array
    status: Status
    history: list[Array]


def newton_minimum(
    evaluate: Callable[[Array], L],
    start: Array,
    tolerance: float,
    max_iter: int = 100,
    *,
    gap: Callable[[L], Array] | None = None,
    unbounded: Callable[[L], bool] | None = None,
) -> Minimum[L]:
    """Minimise one convex objective, or many independent ones, by Newton's method.

    A step is halved until the value falls by 1e-4 of what was promised (Armijo's rule). Where values are not known, or
    rounding hides their change, it is halved until the slope at its end is not steeply uphill. The search ends when no
    objective is farther than `tolerance` from its minimum, when no step helps, or when rounding allows no progress.

    Parameters
    ----------
    evaluate : function of coefficients
        It may move them, say onto a constraint; `Local.coef` tells where to.
    start : array of shape (d,), or (m, d) for m objectives
    tolerance : float
        In the unit of the objective, or that of `gap`.
    gap : function of a `Local`, optional
        How far it is from its minimum; by default what the next step promises to first order, -gradient·step.
    unbounded : function of a `Local`, optional
        Whether the point shows that there is no minimum; the search then ends as stalled.

    Examples
    --------
    >>> class Quartic:  # Σ (x - centre)⁴/4 + (x - centre)²/2
    ...     def __init__(self, coef):
    ...         x = coef - np.array([1.0, -2.0])
    ...         self.coef, self.value, self.gradient = coef, np.sum(x**4 / 4 + x**2 / 2), x**3 + x
    ...         self.hessian = np.diag(3 * x**2 + 1)
    ...     def step(self):
    ...         return -solve_positive(self.hessian, self.gradient)
    >>> found = newton_minimum(Quartic, np.zeros(2), tolerance=1e-12)
    >>> found.at.coef.round(6), found.status.name
    (array([ 1., -2.]), 'CONVERGED')
    """
    with np.errstate(all="ignore"):  # what overflows is refused by the line search
        at, history = evaluate(start), list[Array]()
        stuck = hidden = np.zeros(start.shape[:-1], dtype=np.bool_)
        status = Status.OUT_OF_ITERATIONS
        for iteration in range(max_iter + 1):
            step = at.step()
            promised = np.asarray(-np.sum(at.gradient * step, axis=-1))
            history.append(promised if gap is None else np.asarray(gap(at)))
            stuck = stuck | (hidden & ~(history[-1] <= 0.5 * history[max(0, iteration - 1)]))
            moving = (history[-1] > tolerance) & ~stuck
            endless = unbounded is not None and unbounded(at)
            if endless or not moving.any():
                status = Status.STALLED if endless or not np.all(history[-1] <= tolerance) else Status.CONVERGED
                break
            if iteration < max_iter:
                search = _Search(evaluate, at, np.where(moving[..., None], step, 0.0), promised)
                at, hidden, failed = search.along(~moving)
                stuck = stuck | failed
    return Minimum(at, step, status, history)


@dataclass(frozen=True)
class _Search(Generic[L]):
    """A line search of every objective: from `at` along `step`, which promises to lower the value by `promised`."""

    evaluate: Callable[[Array], L]
    at: L
    step: Array
    promised: Array

    def along(self, still: Mask) -> tuple[L, Mask, Mask]:
        """The new point, where rounding hides the change of value, and where no step helped: these did not move.

        Objectives that stand `still` have a step of 0.
        """
        length = np.ones_like(self.promised)
        for _ in range(_HALVINGS):
            new = self.evaluate(self.at.coef + length[..., None] * self.step)
            lower, hidden = self._judged(new, length)
            good = lower | still
            if good.all():
                return new, hidden & ~still, ~good
            length = np.where(good, length, 0.5 * length)
        length = np.where(good, length, 0.0)
        return self.evaluate(self.at.coef + length[..., None] * self.step), hidden & good & ~still, ~good

    def _judged(self, new: L, length: Array) -> tuple[Mask, Mask]:
        """Where the objective is lower at the new point, and where only slopes can tell."""
        if self.at.value is None or new.value is None:
            return self._not_uphill(new), np.zeros_like(length, dtype=np.bool_)
        change = np.asarray(new.value - self.at.value)
        lower = change <= -1e-4 * length * self.promised
        hidden = np.abs(change) <= _ROUNDING * (1.0 + np.abs(self.at.value))
        if np.any(hidden & ~lower):
            lower = lower | (hidden & self._not_uphill(new))
        return lower, hidden

    def _not_uphill(self, new: L) -> Mask:
        return np.asarray(np.sum(new.gradient * self.step, axis=-1) <= 0.1 * np.abs(self.promised))


def solve_positive(matrix: Array, right: Array) -> Array:
    """The solution of a positive semi-definite system, scaled to unit diagonal so that units do not matter."""
    factor, scale = positive_factor(matrix)
    return np.asarray(lapack.dpotrs(factor, right / scale, lower=1)[0] / scale)


def solve_least_norm(matrix: Array, right: Array) -> Array:
    """The same by the pseudo-inverse: directions without curvature, but for rounding, are left alone."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    scale = np.where(scale > 0.0, scale, 1.0)
    inverse = np.linalg.pinv(matrix / np.outer(scale, scale), rcond=_JITTER, hermitian=True)
    return np.asarray(inverse @ (right / scale) / scale)


def positive_factor(matrix: Array) -> tuple[Array, Array]:
    """(L, s) with diag(s) L Lᵀ diag(s) the matrix, up to the smallest jitter that makes it positive definite."""
    diagonal = np.diag(matrix)
    scale = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = matrix / scale / scale[:, None]
    jitter = 0.0
    while True:
        factor, failed = lapack.dpotrf(scaled + jitter * np.eye(len(scaled)) if jitter else scaled, lower=1)
        if not failed:
            return np.asarray(factor), scale
        if not jitter < 1.0:  # not a number: no jitter helps
            raise linalg.LinAlgError("the matrix is not positive definite.")
        jitter = max(_JITTER, 10.0 * jitter)


_ROUNDS = 50
_LENGTHS = (1.0, 0.5, 0.2, 0.05)  # of steps that are cut off where they would become negative


def nonnegative_minimum(matrix: Array, gradient: Array, start: Array) -> Array:
    """argmin ½dᵀHd + gradientᵀd over z = start + d ≥ 0, as z, for a positive definite H with diagonal 1 (about).

    An active set method that lets many coefficients enter and leave at once while that lowers the function, and
    otherwise one at a time. The function falls with every round; a hard problem may end before its minimum is reached.
    LinAlgError if H is not positive definite.

    >>> nonnegative_minimum(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([-1.0, 1.0]), np.zeros(2))
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
            steepest = np.arange(len(z)) == np.argmin(np.where(entering, slope, np.inf))
            new = _descended(matrix, slope, z, (z > 0.0) | steepest)
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
        # The routine itself: for matrices this small, `cho_factor` and `cho_solve` spend most of their time around it.
        _, step[free], failed = lapack.dposv(matrix[free][:, free], -slope[free])
        if failed:
            raise linalg.LinAlgError("the matrix is not positive definite.")
        new = z + step
        if new.min() >= 0.0:
            return new
        for length in _LENGTHS:
            cut = np.maximum(z + length * step, 0.0)
            if _lower(matrix, slope, cut - z):
                return cut
        falling = np.flatnonzero(new < 0.0)
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
