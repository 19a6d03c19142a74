"""Affine maps of the logits of all classes together: what vector, matrix and Dirichlet scaling share."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy import optimize
from scipy import special as sc

from properly import kernels
from properly.calibration.base import Calibrator
from properly.calibration.inputs import Sample
from properly.calibration.temperature import bounded
from properly.engines.memory import MemoryEngine
from properly.kernels import LinearModel
from properly.losses import LogLoss, SoftmaxComposite
from properly.probabilities import Array

_WHOLE_MATRIX = 1500  # with more coefficients, products with the curvature matrix are cheaper than the matrix
TINY = 1e-3  # of a row: what keeps otherwise free coefficients finite when the classes are separable


class Ridge(NamedTuple):
    """How strongly coefficients are held at those of the identity map, in units of the summed loss.

    The penalty is ½ (diagonal Σ_k (W_kk - 1)² + off_diagonal Σ_{k≠j} W_kj² + intercept Σ_k b_k²); infinite: held fast.
    """

    diagonal: float
    off_diagonal: float
    intercept: float

    def table(self, n_classes: int) -> Array:
        """The strengths, of shape (K, K + 1) like the coefficients."""
        strengths = np.full((n_classes, n_classes + 1), self.off_diagonal)
        strengths[:, -1] = self.intercept
        np.fill_diagonal(strengths, self.diagonal)
        return strengths


class AffineScaling(Calibrator):
    """p = softmax(W z + b), z being the logits less their mean in every row; a subclass says how W and b are held.

    Two classes are treated the same, with logits -s/2 and s/2.
    """

    coef_: Array
    intercept_: Array
    slope_: float

    @abstractmethod
    def _ridge(self, n_classes: int, weight: float) -> Ridge:
        """The penalty for K classes and a total weight of the rows."""

    def _slope(self, sample: Sample) -> float:
        """What the logits are multiplied by before anything else."""
        return 1.0

    def _features(self, scores: Array) -> Array:
        logits = bounded(scores, self.slope_)
        if scores.ndim == 1:
            return np.column_stack([-0.5 * logits, 0.5 * logits])
        return logits - logits.mean(axis=1, keepdims=True)

    def _fit(self, sample: Sample) -> None:
        self.slope_ = self._slope(sample)
        n_classes = len(self.classes_)
        weight = float(len(sample.codes) if sample.weight is None else sample.weight.sum())
        coef = _fit_softmax(self._features(sample.scores), sample, self._ridge(n_classes, weight).table(n_classes))
        self.coef_, self.intercept_ = coef[:, :-1], coef[:, -1]

    def _log_scores(self, scores: Array) -> Array:
        v = self._features(scores) @ self.coef_.T + self.intercept_
        return np.asarray(v[:, 1] - v[:, 0] if scores.ndim == 1 else sc.log_softmax(v, axis=1))


def _fit_softmax(features: Array, sample: Sample, strengths: Array) -> Array:
    """Coefficients and intercepts that minimise log loss plus penalty, by Newton's method in a trust region."""
    n_classes = len(strengths)
    identity = np.eye(n_classes, n_classes + 1)
    free = np.isfinite(strengths)
    held = np.where(free, strengths, 0.0)
    engine = MemoryEngine(features, sample.codes, sample.weight)
    model = LinearModel(SoftmaxComposite(LogLoss()))

    def at(change: Array) -> Array:
        coef = identity.copy()
        coef[free] += change
        return coef

    def loss(change: Array) -> tuple[float, Array]:
        coef = at(change)
        sums = engine.reduce(kernels.gradient, model, coef, True)
        pull = held * (coef - identity)
        return sums.value + 0.5 * float(np.sum(pull * (coef - identity))), (sums.gradient + pull)[free]

    def hessian(change: Array) -> Array:
        total = engine.reduce(kernels.hessian, model, at(change), False, None).hessian
        index = np.flatnonzero(free)
        return np.asarray(total[np.ix_(index, index)] + np.diag(held[free]))

    def curvature(change: Array, direction: Array) -> Array:
        step = np.zeros_like(identity)
        step[free] = direction
        product = engine.reduce(kernels.hessian_product, model, at(change), step).product
        return np.asarray((product + held * step)[free])

    weight = float(len(sample.codes) if sample.weight is None else sample.weight.sum())
    small = np.count_nonzero(free) <= _WHOLE_MATRIX
    found = optimize.minimize(
        loss,
        np.zeros(int(free.sum())),
        jac=True,
        **({"method": "trust-exact", "hess": hessian} if small else {"method": "trust-ncg", "hessp": curvature}),
        options={"gtol": 1e-7 * np.sqrt(weight), "maxiter": 500},
    )
    return at(found.x)


def check_strength(value: float, name: str) -> None:
    if not (isinstance(value, Real) and 0.0 < value < np.inf):
        raise ValueError(f"{name} must be positive and finite, got {value!r}.")
