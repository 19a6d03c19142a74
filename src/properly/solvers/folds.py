"""Cross-validation with shared passes: every split's problem along a path of ridge penalties.

The problems differ in the rows they leave out and in the penalty only, so they share what is expensive. One product
with the features gives the scores under every split's coefficients; the same pass yields the gradients of the training
rows and the losses of the held-out rows. One curvature matrix of all rows, scaled to the share of the training rows, is
used for every split and every penalty, and corrected for each by BFGS updates until the steps converge too slowly. A
new penalty starts with a Newton step that needs no pass, since the gradient of the loss is known already.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from properly import kernels
from properly.losses.base import Loss
from properly.numeric.probabilities import Array
from properly.solvers.directions import Factor, Problem, Update, solve_updated
from properly.solvers.newton import minimise

_KEPT_UPDATES = 10
_SHARED_MATRIX = 1500  # with more coefficients every split is solved on its own
_SHARED_STEPS = 12  # splits that have not converged after so many are solved on their own


class FoldPoint(NamedTuple):
    """Coefficients of every split, the gradients of their losses (without penalty), and their held-out scores."""

    coef: Array
    gradient: Array
    held_out: Array


@dataclass
class FoldedProblem:
    """`problem` is that of all rows; `share` about the part of its weight that is in the training rows of a split."""

    problem: Problem
    share: float
    score: Loss
    tol: float  # absolute, on the Newton decrement
    max_iter: int
    hessian: Array | None = None
    updates: list[list[Update]] = field(default_factory=list)

    def path(self, start: Array, ridges: list[float]) -> Iterator[FoldPoint]:
        """The solutions for every ridge penalty, in the order given: from strong to weak is best."""
        with np.errstate(all="ignore"):  # steps that overflow are refused
            at = self.evaluate(start)
            for ridge in ridges:
                at = self._solve(at, ridge)
                yield at

    def polish(self, at: FoldPoint, ridge: float, tol: float) -> FoldPoint:
        """The solution for one penalty, more precisely."""
        with np.errstate(all="ignore"):
            return replace(self, tol=tol)._solve(at, ridge)

    def evaluate(self, coef: Array) -> FoldPoint:
        problem = self.problem
        problem.passes += 1
        sums = problem.engine.reduce(kernels.fold_gradients, problem.model, coef, self.score)
        return FoldPoint(coef, sums.gradient, sums.held_out)

    def _solve(self, at: FoldPoint, ridge: float) -> FoldPoint:
        if at.coef.shape[1] > _SHARED_MATRIX:
            return self._one_by_one(at, ridge, np.full(len(at.coef), np.inf))
        fresh = self.hessian is None
        if fresh:
            self._refresh(at)
        factor = self._factor(ridge)
        step, size = self._steps(at, ridge, factor)
        for _ in range(_SHARED_STEPS):
            moving = size > self.tol
            if not moving.any():
                return at
            new = self.evaluate(np.where(moving[:, None], at.coef + step, at.coef))
            if np.isfinite(new.gradient).all():
                self._learn(at, new)
            new_step, new_size = self._steps(new, ridge, factor)
            accepted = moving & (new_size <= 0.7 * size)
            slow = moving & ~(new_size <= 0.3 * size) & ~(new_size <= self.tol)
            at = FoldPoint(*(np.where(_like(accepted, a), a, b) for a, b in zip(new, at, strict=True)))
            if slow.any():
                if fresh and not accepted.any():
                    break
                self._refresh(at)
                factor, fresh = self._factor(ridge), True
                step, size = self._steps(at, ridge, factor)
            else:
                fresh = False
                step, size = (np.where(_like(accepted, a), a, b) for a, b in ((new_step, step), (new_size, size)))
        return self._one_by_one(at, ridge, size)

    def _refresh(self, at: FoldPoint) -> None:
        mean = at.coef.mean(axis=0, keepdims=True)
        self.hessian = self.share * replace(self.problem, ridge=0.0).hessian(mean, False)
        self.updates = [[] for _ in at.coef]

    def _factor(self, ridge: float) -> Factor:
        matrix = cast(Array, self.hessian).copy()
        features = np.arange(self.problem.n_features)
        matrix[features, features] += ridge
        return Factor(matrix, self.problem.squares, self.problem.weight)

    def _learn(self, at: FoldPoint, new: FoldPoint) -> None:
        for pairs, moved, changed in zip(self.updates, new.coef - at.coef, new.gradient - at.gradient, strict=True):
            if moved @ changed > 0.0:
                pairs.append(Update(moved, changed, float(moved @ changed)))
                del pairs[:-_KEPT_UPDATES]

    def _steps(self, at: FoldPoint, ridge: float, factor: Factor) -> tuple[Array, Array]:
        """Newton steps and their sizes, the decrements; nan where something is not finite."""
        penalised = ridge * (np.arange(at.coef.shape[1]) < self.problem.n_features)
        gradient = at.gradient + penalised * at.coef
        step = np.empty_like(gradient)
        for f, pairs in enumerate(self.updates):
            ridged = [
                Update(moved, changed + penalised * moved, curvature + float(moved @ (penalised * moved)))
                for moved, changed, curvature in pairs
            ]
            step[f] = -solve_updated(factor, ridged, gradient[f])
        return step, np.sqrt(np.maximum(0.0, -np.sum(step * gradient, axis=1)))

    def _one_by_one(self, at: FoldPoint, ridge: float, size: Array) -> FoldPoint:
        """Solve the splits that the shared steps have not solved, each by the general solver."""
        coef, problem = at.coef.copy(), self.problem
        for f in np.flatnonzero(~(size <= self.tol)).tolist():
            alone = replace(problem, engine=problem.engine.training(f), ridge=ridge, passes=0)
            solution = minimise(alone, coef[f : f + 1], self.tol / np.sqrt(problem.null_loss), self.max_iter)
            coef[f] = solution.coef[0]
        return self.evaluate(coef)


def _like(mask: NDArray[np.bool_], x: Array) -> NDArray[np.bool_]:
    """The mask of the splits, ready to be broadcast."""
    return mask.reshape(-1, *(1,) * (x.ndim - 1))
