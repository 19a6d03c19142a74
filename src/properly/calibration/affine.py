"""Affine maps of the logits of all classes together: what vector, matrix and Dirichlet scaling share."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy import special as sc

from properly.calibration.base import Calibrator
from properly.calibration.softmax_fit import fit_softmax
from properly.calibration.temperature import best_slope, bounded
from properly.inputs.scores import Sample
from properly.numeric.probabilities import Array

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


class VectorScaling(AffineScaling):
    """One slope and one intercept per class: p = softmax(w_k z_k + b_k), z the standardised logits.

    z are the logits less their mean in every row, times `slope_`, which makes their root mean square 1: nothing
    depends on the unit of the logits. The coefficients have maximum likelihood, but for a ridge of a thousandth of a
    row towards the identity, ½ · 0.001 (Σ (w_k - 1)² + Σ b_k²), which keeps them finite where the classes are
    separable.

    Parameters
    ----------
    input : {"score", "probability"}, default "score"

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    slope_ : float
        1 over the root mean square of the logits less their mean in every row.
    coef_ : array of shape (n_classes, n_classes), diagonal
        Of the standardised logits; times `slope_`, of the logits.
    intercept_ : array of shape (n_classes,)

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks, ICML.

    Examples
    --------
    >>> logits = [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [2.0, 0.0, 1.0]]
    >>> VectorScaling().fit(logits, ["a", "b", "c", "b", "b", "a"]).coef_.shape
    (3, 3)
    """

    def __init__(self, *, input: str = "score") -> None:
        self.input = input

    def _ridge(self, n_classes: int, weight: float) -> Ridge:
        return Ridge(TINY, np.inf, TINY)


class MatrixScaling(AffineScaling):
    """Every logit helps every class: p = softmax(W z + b), z the standardised logits.

    z are the logits less their mean in every row, times `slope_`, which makes their root mean square 1: nothing
    depends on the unit of the logits. K(K + 1) coefficients need many rows: `StructuredMatrixScaling` is the safer
    choice. They have maximum likelihood, but for a ridge of a thousandth of a row towards the identity,
    ½ · 0.001 (Σ (W - I)² + Σ b²), which keeps them finite where the classes are separable.

    Parameters
    ----------
    input : {"score", "probability"}, default "score"

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    slope_ : float
        1 over the root mean square of the logits less their mean in every row.
    coef_ : array of shape (n_classes, n_classes)
        Of the standardised logits; times `slope_`, of the logits.
    intercept_ : array of shape (n_classes,)

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks, ICML.

    Examples
    --------
    >>> logits = [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [2.0, 0.0, 1.0]]
    >>> MatrixScaling().fit(logits, ["a", "b", "c", "b", "b", "a"]).intercept_.shape
    (3,)
    """

    def __init__(self, *, input: str = "score") -> None:
        self.input = input

    def _ridge(self, n_classes: int, weight: float) -> Ridge:
        return Ridge(TINY, TINY, TINY)


class StructuredMatrixScaling(AffineScaling):
    """Matrix scaling held at temperature scaling, the more strongly the more coefficients a group has.

    First the logits are divided by the best temperature. Then W and b of p = softmax(W z + b) minimise
    Σ weight · log loss + ½ strength (K Σ_k (W_kk - 1)² + K(K - 1) Σ_{k≠j} W_kj² + K Σ_k b_k²). With few rows this is
    temperature scaling; more rows bend the diagonal and the intercepts first, and then whatever the data ask for.

    Parameters
    ----------
    strength : float, default 1.0
        Positive; in units of rows, so that its influence fades as the data grow.
    input : {"score", "probability"}, default "score"

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    slope_ : float
        1/T of the temperature that comes first.
    coef_ : array of shape (n_classes, n_classes)
    intercept_ : array of shape (n_classes,)

    References
    ----------
    The idea of a penalty by groups is that of Berta, Holzmüller, Jordan & Bach (2025), Structured matrix scaling for
    multi-class calibration; the strengths and the ridge form given above are this library's.

    Examples
    --------
    >>> logits = [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [2.0, 0.0, 1.0]]
    >>> model = StructuredMatrixScaling().fit(logits, ["a", "b", "c", "b", "b", "a"])
    >>> model.coef_.round(2)
    array([[ 0.95, -0.03,  0.05],
           [ 0.08,  1.01, -0.09],
           [-0.06,  0.03,  1.07]])
    """

    def __init__(self, strength: float = 1.0, *, input: str = "score") -> None:
        self.strength = strength
        self.input = input

    def _slope(self, sample: Sample) -> float:
        return best_slope(sample)

    def _ridge(self, n_classes: int, weight: float) -> Ridge:
        check_strength(self.strength, "strength")
        few, many = self.strength * n_classes, self.strength * n_classes * (n_classes - 1)
        return Ridge(few, many, few)


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
        return standard_slope(_log_probabilities_of(sample.scores), sample.weight)

    def _features(self, scores: Array) -> Array:
        return bounded(_log_probabilities_of(scores), self.slope_)

    def _ridge(self, n_classes: int, weight: float) -> Ridge:
        check_strength(self.off_diagonal, "off_diagonal")
        check_strength(self.intercept, "intercept")
        pairs = n_classes * (n_classes - 1)
        return Ridge(
            TINY,
            TINY + 2.0 * weight * self.off_diagonal * min(self.slope_, _STEEPEST) ** 2 / pairs,
            TINY + 2.0 * weight * self.intercept / n_classes,
        )


def _log_probabilities_of(scores: Array) -> Array:
    logits = bounded(scores)
    if scores.ndim == 1:
        return np.column_stack([sc.log_expit(-logits), sc.log_expit(logits)])
    return np.asarray(sc.log_softmax(logits, axis=1))
