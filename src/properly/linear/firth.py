"""Logistic regression with the bias of maximum likelihood removed: Firth's penalty and King and Zeng's correction.

The first-order bias of the maximum-likelihood coefficients is -I⁻¹ Σ hᵢ (½ - pᵢ) xᵢ with I the information and hᵢ
the leverage of row i. Firth (1993) adds Σ hᵢ (½ - pᵢ) xᵢ to the score, which maximises the likelihood times √|I| and
is finite for separated data, too; King and Zeng (2001) subtract the bias afterwards, which is one such step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from properly import kernels
from properly.engines.base import Engine
from properly.kernels import Block, LinearModel, Statistic
from properly.links import Logit
from properly.losses import Composite, LogLoss
from properly.probabilities import Array
from properly.solvers import Solution, Status


@dataclass
class _Score(Statistic):
    """The log-likelihood, its gradient, and Firth's addition to the gradient."""

    log_likelihood: float
    gradient: Array
    addition: Array


def _score(block: Block, model: LinearModel, coef: Array, inverse: Array) -> _Score:
    X, y = model.design(block), model.target(block)
    v = model.scores(block, X, coef)
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
    """The penalised likelihood ln L + ½ ln|I| - ½ ridge ‖w‖² and its Newton steps."""

    def __init__(self, engine: Engine, n_features: int, fit_intercept: bool, ridge: float, weight: float) -> None:
        self.engine, self.weight, self.passes = engine, weight, 0
        self.model = LinearModel(Composite(LogLoss()))
        self.ridge = ridge * np.append(np.ones(n_features), [0.0] * fit_intercept)

    def evaluate(self, coef: Array) -> tuple[float, Array, Array]:
        """Objective, full Newton step, and the part of it that removes the bias."""
        self.passes += 2
        information = self.engine.reduce(kernels.hessian, self.model, coef, False, None).hessian
        inverse, log_determinant = _inverse(information)
        sums = self.engine.reduce(_score, self.model, coef, inverse)
        solve = inverse if not self.ridge.any() else _inverse(information + np.diag(self.ridge))[0]
        objective = sums.log_likelihood + 0.5 * log_determinant - 0.5 * float(np.sum(self.ridge * coef**2))
        slope = sums.gradient + sums.addition - self.ridge * coef[0]
        self.size = float(np.sqrt(max(0.0, slope @ solve @ slope) / self.weight))
        return objective, solve @ slope, solve @ sums.addition

    def maximise(self, coef: Array, tol: float, max_iter: int) -> Solution:
        value, step, _ = self.evaluate(coef)
        history = [self.size]
        for iteration in range(max_iter):
            if self.size <= tol:
                return Solution(coef, Status.CONVERGED, iteration + 1, self.passes, self.size, history)
            length = min(1.0, 5.0 / float(np.abs(step).max(initial=0.0) or 1.0) * max(1.0, float(np.abs(coef).max())))
            for _ in range(40):
                new = coef + length * step
                new_value, new_step, _ = self.evaluate(new)
                if new_value >= value - 1e-12 * abs(value):
                    break
                length *= 0.5
            else:
                return Solution(coef, Status.STALLED, iteration + 1, self.passes, history[-1], history)
            coef, value, step = new, new_value, new_step
            history.append(self.size)
        return Solution(coef, Status.OUT_OF_ITERATIONS, max_iter, self.passes, self.size, history)


def _inverse(matrix: Array) -> tuple[Array, float]:
    """Pseudo-inverse and log-determinant of a positive semi-definite matrix, without directions of no information."""
    scale = 1.0 / np.sqrt(np.where(np.diag(matrix) > 0.0, np.diag(matrix), 1.0))
    values, vectors = linalg.eigh(matrix * scale * scale[:, None], check_finite=False)
    kept = values > 1e-13 * len(values) * values[-1]
    scaled = vectors[:, kept] * (1.0 / np.sqrt(values[kept]))
    root = scale[:, None] * scaled
    return root @ root.T, float(np.sum(np.log(values[kept])) - 2.0 * np.sum(np.log(scale)))
