"""Newton's method for affine softmax maps with a ridge for every coefficient."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from properly import kernels
from properly.engines.base import Engine
from properly.engines.memory import MemoryEngine
from properly.inputs.scores import Sample
from properly.kernels import LinearModel
from properly.losses import LogLoss, SoftmaxComposite
from properly.numeric.probabilities import Array
from properly.solvers.dense import solve_positive

_WHOLE_MATRIX = 1500  # with more coefficients, products with the curvature matrix are cheaper than the matrix
_MAX_ITER = 300
_TOLERANCE = 3e-8  # a Newton step that promises to lower the mean loss by less than its square is the last one
_GOOD_ENOUGH = 1e-6  # where rounding hides any further descent
_SHORTEST_STEP = 1e-10


class _Point(NamedTuple):
    value: float
    gradient: Array


@dataclass(frozen=True)
class _Objective:
    """Mean log loss + ½ Σ strength · (coef - identity)², over the free coefficients' departures from the identity."""

    engine: Engine
    weight: float
    strengths: Array  # of shape (K, K + 1); infinite: held at the identity

    @property
    def free(self) -> NDArray[np.bool_]:
        return np.isfinite(self.strengths)

    def coef(self, change: Array) -> Array:
        coef = np.eye(*self.strengths.shape)
        coef[self.free] += change
        return coef

    def point(self, change: Array) -> _Point:
        sums = self.engine.reduce(kernels.gradient, _MODEL, self.coef(change), True)
        pull = self.strengths[self.free] * change
        return _Point(
            sums.value / self.weight + 0.5 * float(pull @ change), sums.gradient[self.free] / self.weight + pull
        )

    def step(self, change: Array, gradient: Array) -> Array:
        """-H⁻¹g, from the whole curvature matrix or by conjugate gradients."""
        if len(change) > _WHOLE_MATRIX:
            return self._conjugate_gradients(change, gradient)
        index = np.flatnonzero(self.free)
        hessian = self.engine.reduce(kernels.hessian, _MODEL, self.coef(change), False, None).hessian
        return -solve_positive(
            hessian[np.ix_(index, index)] / self.weight + np.diag(self.strengths[self.free]), gradient
        )

    def _conjugate_gradients(self, change: Array, gradient: Array) -> Array:
        coef = self.coef(change)

        def product(direction: Array) -> Array:
            step = np.zeros_like(coef)
            step[self.free] = direction.ravel()
            total = self.engine.reduce(kernels.hessian_product, _MODEL, coef, step).product
            return np.asarray(total[self.free] / self.weight + self.strengths[self.free] * direction.ravel())

        size = len(change)
        # The nearer the optimum, the more exact the step: convergence stays faster than linear.
        precision = min(0.1, float(np.linalg.norm(gradient)))
        matrix: Callable[..., LinearOperator] = LinearOperator
        return -np.asarray(cg(matrix((size, size), matvec=product, dtype=np.float64), gradient, rtol=precision)[0])


_MODEL = LinearModel(SoftmaxComposite(LogLoss()))


def fit_softmax(features: Array, sample: Sample, weight: float, strengths: Array) -> Array:
    """Coefficients and intercepts, of shape (K, K + 1), that minimise mean log loss plus penalty.

    The problem is convex, and strictly so thanks to the penalty: Newton's method with steps that are halved until they
    descend ends at the optimum.
    """
    objective = _Objective(MemoryEngine(features, sample.codes, sample.weight), weight, strengths)
    change = np.zeros(int(np.count_nonzero(objective.free)))
    at = objective.point(change)
    promised = 0.0
    for _ in range(_MAX_ITER):
        step = objective.step(change, at.gradient)
        promised = max(-float(at.gradient @ step), 0.0)
        if promised <= _TOLERANCE**2:
            return objective.coef(change + step)
        length = 1.0
        new = objective.point(change + step)
        shortest = _SHORTEST_STEP if promised > _GOOD_ENOUGH**2 else 1e-2
        while not new.value <= at.value - 1e-4 * length * promised and length > shortest:
            length *= 0.5
            new = objective.point(change + length * step)
        if length <= shortest:
            break
        change, at = change + length * step, new
    if promised > _GOOD_ENOUGH**2:
        warnings.warn(
            f"the coefficients did not converge: a further step promises to lower the mean log loss by {promised:.1g}. "
            "Look for scores that are far from all others, or use StructuredMatrixScaling, which holds them firmly.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return objective.coef(change)
