"""Affine maps of the logits of all classes together: what vector, matrix and Dirichlet scaling share."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy import special as sc

from properly.calibration.base import Calibrator
from properly.calibration.inputs import Sample
from properly.calibration.softmax_newton import fit_softmax
from properly.calibration.temperature import bounded
from properly.probabilities import Array

_LARGEST = float(np.finfo(np.float64).max)
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
    """p = softmax(W z + b), z being the logits less their mean in every row, times `slope_`; a subclass holds W and b.

    The slope makes z of root mean square 1, so that penalties mean the same for logits of any unit.
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
        return standard_slope(sample.scores, sample.weight)

    def _features(self, scores: Array) -> Array:
        logits = bounded(scores, self.slope_)
        if scores.ndim == 1:
            return np.column_stack([-0.5 * logits, 0.5 * logits])
        return logits - logits.mean(axis=1, keepdims=True)

    def _fit(self, sample: Sample) -> None:
        self.slope_ = self._slope(sample)
        n_classes = len(self.classes_)
        weight = float(len(sample.codes) if sample.weight is None else sample.weight.sum())
        strengths = self._ridge(n_classes, weight).table(n_classes) / weight
        coef = fit_softmax(self._features(sample.scores), sample, weight, strengths)
        self.coef_, self.intercept_ = coef[:, :-1], coef[:, -1]

    def _log_scores(self, scores: Array) -> Array:
        v = self._features(scores) @ self.coef_.T + self.intercept_
        return np.asarray(v[:, 1] - v[:, 0] if scores.ndim == 1 else sc.log_softmax(v, axis=1))


def standard_slope(logits: Array, weight: Array | None) -> float:
    """1 over the root mean square of the logits less their mean in every row; 1 if all of them are equal."""
    largest = float(np.abs(logits).max())
    if largest == 0.0:
        return 1.0
    relative = logits / largest  # squares must neither overflow nor vanish
    relative = 0.5 * relative[:, None] if relative.ndim == 1 else relative - relative.mean(axis=1, keepdims=True)
    unit = largest * float(np.sqrt(np.average(np.square(relative).mean(axis=1), weights=weight)))
    return min(1.0 / unit, _LARGEST) if unit > 0.0 else 1.0


def check_strength(value: float, name: str) -> None:
    if not (isinstance(value, Real) and 0.0 < value < np.inf):
        raise ValueError(f"{name} must be positive and finite, got {value!r}.")
