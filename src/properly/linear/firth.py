"""Logistic regression with the bias of maximum likelihood removed: Firth's penalty and King and Zeng's correction.

The first-order bias of the maximum-likelihood coefficients is -I⁻¹ Σ hᵢ (½ - pᵢ) xᵢ with I the information and hᵢ
the leverage of row i. Firth (1993) adds Σ hᵢ (½ - pᵢ) xᵢ to the score, which maximises the likelihood times √|I|; the
maximum is finite also for separated data. King and Zeng (2001) subtract the bias afterwards, which is one such step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.optimize import minimize

from properly import kernels
from properly.kernels import Block, LinearModel, Statistic
from properly.linear.fitting import Data
from properly.links import Logit
from properly.losses import Composite, LogLoss
from properly.numeric.limits import SMALLEST_NORMAL
from properly.numeric.probabilities import Array
from properly.solvers import Solution, Status


@dataclass
class _Score(Statistic):
    """The log-likelihood, its gradient, and Firth's addition to the gradient."""

    log_likelihood: float
    gradient: Array
    addition: Array


def _score(block: Block, model: LinearModel, coef: Array, inverse: Array) -> _Score:
    X, y, v = model.read(block, coef)
    p, q = Logit()._pair(v)
    weight = np.ones(len(v)) if block.weight is None else block.weight
    design = np.asarray(X.todense()) if hasattr(X, "todense") else X
    if coef.shape[1] > X.shape[1]:
        design = np.column_stack([design, np.ones(len(v))])
    leverage = weight * p * q * np.einsum("ij,ij->i", design @ inverse, design)
    residual = weight * np.where(y, q, -p)
    return _Score(
        -float(np.sum(weight * model.composite._value(y, v))),
        design.T @ residual,
        design.T @ (leverage * (0.5 - p)),
    )


class BiasReduction:
    """The penalised likelihood ln L + ½ ln|I| - ½ ridge ‖w‖², its gradient, and the step that removes the bias."""

    def __init__(self, data: Data, ridge: float, null_loss: float) -> None:
        self.engine, self.null_loss, self.passes = data.engine, null_loss, 0
        self.model = LinearModel(Composite(LogLoss()), center=data.center)
        self.ridge = ridge * np.append(np.ones(len(data.squares)), [0.0] * int(data.fit_intercept))
        start = np.zeros((1, len(self.ridge)))
        self.basis = _row_space(self.engine.reduce(kernels.hessian, self.model, start, False, None).hessian)

    def evaluate(self, coef: Array) -> tuple[float, Array, Array, Array]:
        """Objective, gradient, a root R of the inverse curvature (RRᵀ), and the step that removes the bias."""
        with np.errstate(all="ignore"):  # an infinite objective is refused by the line search
            return self._evaluate(coef)

    def _evaluate(self, coef: Array) -> tuple[float, Array, Array, Array]:
        self.passes += 2
        information = self.engine.reduce(kernels.hessian, self.model, coef, False, None).hessian
        root, log_determinant = self._root_of_inverse(information)
        sums = self.engine.reduce(_score, self.model, coef, root @ root.T)
        if self.ridge.any():
            root, _ = self._root_of_inverse(information + np.diag(self.ridge))
        objective = sums.log_likelihood + 0.5 * log_determinant - 0.5 * float(np.sum(self.ridge * coef**2))
        gradient = sums.gradient + sums.addition - self.ridge * coef[0]
        return objective, gradient, root, root @ (root.T @ sums.addition)

    def _root_of_inverse(self, matrix: Array) -> tuple[Array, float]:
        """R with RRᵀ the inverse on the row space, and the log-determinant there."""
        values, vectors = linalg.eigh(self.basis.T @ matrix @ self.basis, check_finite=False)
        values = np.maximum(values, SMALLEST_NORMAL)
        return self.basis @ (vectors / np.sqrt(values)), float(np.sum(np.log(values)))

    def maximise(self, coef: Array, tol: float, max_iter: int) -> Solution:
        """BFGS in coordinates in which the curvature at the start is 1, restarted until the decrement is small."""
        history: list[float] = []
        iterations, scale = 0, np.sqrt(self.null_loss)
        while True:
            _, gradient, root, _ = self.evaluate(coef)
            size = float(np.linalg.norm(root.T @ gradient)) / scale
            stuck = bool(history) and not size < 0.5 * history[-1]
            history.append(size)
            if size <= (100.0 * tol if stuck else tol):
                return Solution(coef, Status.CONVERGED, max(1, iterations), self.passes, size, history)
            if stuck or iterations >= max_iter:
                status = Status.STALLED if stuck else Status.OUT_OF_ITERATIONS
                return Solution(coef, status, max(1, iterations), self.passes, size, history)

            def downhill(u: Array, start: Array = coef, root: Array = root) -> tuple[float, Array]:
                objective, gradient, _, _ = self.evaluate(start + root @ u)
                return -objective, -(root.T @ gradient)

            options = {"gtol": 0.1 * tol * scale, "maxiter": max_iter - iterations}
            result = minimize(downhill, np.zeros(root.shape[1]), jac=True, method="BFGS", options=options)
            coef, iterations = coef + root @ result.x, iterations + int(result.nit)


def _row_space(information: Array) -> Array:
    """A basis of the coefficients that the data determine: all of them unless columns are collinear."""
    scale = 1.0 / np.sqrt(np.where(np.diag(information) > 0.0, np.diag(information), 1.0))
    values, vectors = linalg.eigh(information * scale * scale[:, None], check_finite=False)
    return np.asarray(scale[:, None] * vectors[:, values > 1e-12 * len(values) * values[-1]])
