"""Dirichlet calibration: an affine map of the log-probabilities."""

from __future__ import annotations

import numpy as np
from scipy import special as sc

from properly.calibration.affine import TINY, AffineScaling, Ridge, check_strength, standard_slope
from properly.calibration.inputs import Sample
from properly.calibration.temperature import bounded
from properly.probabilities import Array

_STEEPEST = 1e50  # a penalty beyond its square is the same: nothing moves


class DirichletCalibration(AffineScaling):
    """p = softmax(W ln p + b), held where it mixes classes: what Dirichlet distributions of p in every class imply.

    Minimises the mean log loss + off_diagonal · mean of W_kj² over k ≠ j + intercept · mean of b_k² ("ODIR"). The
    diagonal is free. What keeps it finite where the classes are separable is a ridge of a thousandth of a row, in the
    unit of the log-probabilities: ½ · 0.001 (Σ_k (W_kk/s - 1)² + Σ_{k≠j} (W_kj/s)² + Σ_k b_k²), with 1/s their root
    mean square, less their mean in every row.

    Parameters
    ----------
    off_diagonal : float, default 0.01
    intercept : float, default 0.01
        Both positive; the authors choose them by cross-validation.
    input : {"score", "probability"}, default "score"

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    slope_ : float
        s.
    coef_ : array of shape (n_classes, n_classes)
        W/s.
    intercept_ : array of shape (n_classes,)

    References
    ----------
    Kull et al. (2019), Beyond temperature scaling: obtaining well-calibrated multiclass probabilities with Dirichlet
    calibration, NeurIPS.

    Examples
    --------
    >>> p = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8], [0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.6, 0.1, 0.3]]
    >>> model = DirichletCalibration(input="probability").fit(p, ["a", "b", "c", "b", "b", "a"])
    >>> model.predict_proba(p).argmax(axis=1)
    array([0, 1, 2, 1, 1, 0])
    """

    def __init__(self, off_diagonal: float = 0.01, intercept: float = 0.01, *, input: str = "score") -> None:
        self.off_diagonal = off_diagonal
        self.intercept = intercept
        self.input = input

    def _slope(self, sample: Sample) -> float:
        return standard_slope(_log_probabilities(sample.scores), sample.weight)

    def _features(self, scores: Array) -> Array:
        return bounded(_log_probabilities(scores), self.slope_)

    def _ridge(self, n_classes: int, weight: float) -> Ridge:
        check_strength(self.off_diagonal, "off_diagonal")
        check_strength(self.intercept, "intercept")
        pairs = n_classes * (n_classes - 1)
        return Ridge(
            TINY,
            TINY + 2.0 * weight * self.off_diagonal * min(self.slope_, _STEEPEST) ** 2 / pairs,
            TINY + 2.0 * weight * self.intercept / n_classes,
        )


def _log_probabilities(scores: Array) -> Array:
    logits = bounded(scores)
    if scores.ndim == 1:
        return np.column_stack([sc.log_expit(-logits), sc.log_expit(logits)])
    return np.asarray(sc.log_softmax(logits, axis=1))
