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
from properly.solvers import Status
from properly.solvers.dense import newton_minimum, solve_positive

_WHOLE_MATRIX = 1500  # with more coefficients, products with the curvature matrix are cheaper than the matrix
_MAX_ITER = 300
_TOLERANCE = 3e-8  # a Newton step that promises to lower the mean loss by less than its square is the last one
_GOOD_ENOUGH = 1e-6  # where rounding hides any further descent


@dataclass(frozen=True)
class _Objective:
    """Mean log loss + ½ Σ strength · (coef - identity)², over the free coefficients' departures from the identity."""

    engine: Engine
    weight: float
    strengths: Array  # of shape (K, K + 1); infinite: held at the identity

    @property
    def free(self) -> NDArray[np.bool_]:
        return np.isfinite(self.strengths)

    def matrix(self, departure: Array) -> Array:
        """All coefficients, of shape (K, K + 1)."""
        matrix = np.eye(*self.strengths.shape)
        matrix[self.free] += departure
        return matrix

    def point(self, departure: Array) -> _Point:
        sums = self.engine.reduce(kernels.gradient, _MODEL, self.matrix(departure), True)
        pull = self.strengths[self.free] * departure
        return _Point(
            self,
            departure,
            sums.value / self.weight + 0.5 * float(pull @ departure),
            sums.gradient[self.free] / self.weight + pull,
        )


class _Point(NamedTuple):
    objective: _Objective
    coef: Array
    value: float
    gradient: Array

    def step(self) -> Array:
        """-H⁻¹g, from the whole curvature matrix or by conjugate gradients."""
        engine, weight, strengths = self.objective.engine, self.objective.weight, self.objective.strengths
        matrix, free = self.objective.matrix(self.coef), self.objective.free
        if len(self.coef) <= _WHOLE_MATRIX:
            hessian = engine.reduce(kernels.hessian, _MODEL, matrix, False, None).hessian
            index = np.flatnonzero(free)
            return -solve_positive(hessian[np.ix_(index, index)] / weight + np.diag(strengths[free]), self.gradient)

        def product(direction: Array) -> Array:
            step = np.zeros_like(matrix)
            step[free] = direction.ravel()
            total = engine.reduce(kernels.hessian_product, _MODEL, matrix, step).product
            return np.asarray(total[free] / weight + strengths[free] * direction.ravel())

        operator: Callable[..., LinearOperator] = LinearOperator
        curvature = operator((len(self.coef), len(self.coef)), matvec=product, dtype=np.float64)
        # The nearer the optimum, the more exact the step: convergence stays faster than linear.
        return -np.asarray(cg(curvature, self.gradient, rtol=min(0.1, float(np.linalg.norm(self.gradient))))[0])


_MODEL = LinearModel(SoftmaxComposite(LogLoss()))


def fit_softmax(features: Array, sample: Sample, weight: float, strengths: Array) -> Array:
    """Coefficients and intercepts, of shape (K, K + 1), that minimise mean log loss plus penalty.

    The problem is strictly convex thanks to the penalty.
    """
    objective = _Objective(MemoryEngine(features, sample.codes, sample.weight), weight, strengths)
    start = np.zeros(int(np.count_nonzero(objective.free)))
    found = newton_minimum(objective.point, start, _TOLERANCE**2, _MAX_ITER)
    if found.status is Status.CONVERGED:
        return objective.matrix(found.at.coef + found.step)
    if found.history[-1] > _GOOD_ENOUGH**2:
        warnings.warn(
            f"the coefficients did not converge: a further step promises to lower the mean log loss by "
            f"{found.history[-1]:.1g}. Look for scores that are far from all others, or use StructuredMatrixScaling, "
            "which has a stronger penalty.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return objective.matrix(found.at.coef)
