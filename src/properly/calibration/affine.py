"""Affine maps of the logits of all classes together: vector, matrix, structured matrix and Dirichlet scaling."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from properly import kernels
from properly.calibration.base import Calibrator
from properly.calibration.by_sums import SummedRows, largest_size, mean_square
from properly.calibration.temperature import best_slope, bounded, summed_best_slope
from properly.classifier import difference, log_probabilities
from properly.engines import engine_over
from properly.engines.base import Engine
from properly.inputs.options import check_interval
from properly.inputs.scores import Sample
from properly.kernels import LinearModel
from properly.losses import LogLoss, SoftmaxComposite
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, constant, namespace
from properly.numeric.limits import LARGEST
from properly.solvers import Status
from properly.solvers.dense import newton_minimum, solve_positive

Sums = Engine | SummedRows
TINY = 1e-3  # of a row: what keeps otherwise free coefficients finite when the classes are separable


class AffineScaling(Calibrator):
    """p = softmax(W z + b), z being the logits less their mean in every row, times `slope_`.

    The slope makes z of root mean square 1, so that penalties mean the same for logits of any unit. A subclass says how
    strongly W and b are held at the identity. Two classes are treated the same, with logits -s/2 and s/2.
    """

    _fits_anywhere: ClassVar[bool] = True

    coef_: Array
    intercept_: Array
    slope_: float

    @abstractmethod
    def _strengths(self, n_classes: int, weight: float) -> tuple[float, float, float]:
        """Those of the penalty on the diagonal, off it and on intercepts, for K classes and a total weight of the rows.

        The penalty, in units of the summed loss, is
        ½ (diagonal Σ_k (W_kk - 1)² + off_diagonal Σ_{k≠j} W_kj² + intercept Σ_k b_k²); infinite means held at 1 or 0.
        """

    def _slope(self, sample: Sample) -> float:
        """What the logits are multiplied by before anything else."""
        return standard_slope(sample.scores, sample.weight)

    def _features(self, scores: Array) -> Array:
        xp, logits = namespace(scores), bounded(scores, self.slope_)
        if scores.ndim == 1:
            return xp.stack([-0.5 * logits, 0.5 * logits], axis=1)
        return logits - xp.mean(logits, axis=1, keepdims=True)

    def _slope_by_sums(self, rows: SummedRows) -> float:
        return summed_slope(rows)

    def _fit(self, sample: Sample) -> None:
        self.slope_ = self._slope(sample)
        engine = engine_over(self._features(sample.scores), sample.codes, sample.weight)
        self._fit_coefficients(engine, sample.total_weight)

    def _fit_by_sums(self, rows: SummedRows) -> None:
        self.slope_ = self._slope_by_sums(rows)
        self._fit_coefficients(rows.transformed(self._features), rows.total_weight)

    def _fit_coefficients(self, engine: Sums, weight: float) -> None:
        n_classes = len(self.classes_)
        diagonal, off_diagonal, intercept = self._strengths(n_classes, weight)
        strengths = np.full((n_classes, n_classes + 1), off_diagonal)
        strengths[:, -1] = intercept
        np.fill_diagonal(strengths, diagonal)
        coef = fit_softmax(engine, weight, strengths / weight)
        self.coef_, self.intercept_ = coef[:, :-1], coef[:, -1]

    def _log_scores(self, scores: Array) -> Array:
        v = fn.matmul(self._features(scores), self.coef_.T) + constant(self.intercept_, scores)
        return difference(v) if scores.ndim == 1 else fn.log_softmax(v, axis=1)


def standard_slope(logits: Array, weight: Array | None) -> float:
    """1 over the root mean square of the logits less their mean in every row; 1 if all of them are equal."""
    xp = namespace(logits)
    largest = float(xp.max(xp.abs(logits)))
    if largest == 0.0:
        return 1.0
    relative = logits / largest  # squares must neither overflow nor vanish
    relative = 0.5 * relative[:, None] if relative.ndim == 1 else relative - xp.mean(relative, axis=1, keepdims=True)
    unit = largest * float(np.sqrt(fn.average(xp.mean(xp.square(relative), axis=1), weight)))
    return min(1.0 / unit, LARGEST) if unit > 0.0 else 1.0


def summed_slope(rows: SummedRows) -> float:
    """`standard_slope` of logits of more than two classes that are not in memory."""
    largest = largest_size(rows)
    if largest == 0.0:
        return 1.0
    unit = largest * float(np.sqrt(mean_square(rows.transformed(partial(_relative, largest)))))
    return min(1.0 / unit, LARGEST) if unit > 0.0 else 1.0


def _relative(largest: float, logits: Array) -> Array:
    relative = logits / largest
    return np.asarray(relative - relative.mean(axis=1, keepdims=True))


class VectorScaling(AffineScaling):
    """One slope and one intercept per class: p = softmax(w_k z_k + b_k), z the standardised logits.

    z are the logits less their mean in every row, times `slope_`, which makes their root mean square 1: nothing
    depends on the unit of the logits. The coefficients have maximum likelihood, but for a ridge of a thousandth of a
    row towards the identity, ½ · 0.001 (Σ (w_k - 1)² + Σ b_k²), which keeps them finite where the classes are
    separable.

    Parameters
    ----------
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
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

    def _strengths(self, n_classes: int, weight: float) -> tuple[float, float, float]:
        return TINY, np.inf, TINY


class MatrixScaling(AffineScaling):
    """The full matrix: p = softmax(W z + b), z the standardised logits.

    z are the logits less their mean in every row, times `slope_`, which makes their root mean square 1: nothing
    depends on the unit of the logits. K(K + 1) coefficients overfit unless there are many rows:
    `StructuredMatrixScaling` is the safer choice. They have maximum likelihood, but for a ridge of a thousandth of a
    row towards the identity, ½ · 0.001 (Σ (W - I)² + Σ b²), which keeps them finite where the classes are separable.

    Parameters
    ----------
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
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

    def _strengths(self, n_classes: int, weight: float) -> tuple[float, float, float]:
        return TINY, TINY, TINY


@dataclass(eq=False, repr=False)
class StructuredMatrixScaling(AffineScaling):
    """Matrix scaling with a penalty towards temperature scaling, stronger for groups of more coefficients.

    First the logits are divided by the best temperature. Then W and b of p = softmax(W z + b) minimise
    Σ weight · log loss + ½ strength (K Σ_k (W_kk - 1)² + K(K - 1) Σ_{k≠j} W_kj² + K Σ_k b_k²). With few rows this is
    close to temperature scaling; with more rows the diagonal and the intercepts adapt first, and then the rest of W.

    Parameters
    ----------
    strength : float, default 1.0
        Positive; in units of rows, so that its influence fades as the data grow.
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
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

    strength: float = 1.0

    def _slope(self, sample: Sample) -> float:
        return best_slope(sample)

    def _slope_by_sums(self, rows: SummedRows) -> float:
        return summed_best_slope(rows)

    def _strengths(self, n_classes: int, weight: float) -> tuple[float, float, float]:
        check_interval(self.strength, "strength", 0.0)
        few = self.strength * n_classes
        return few, few * (n_classes - 1), few


_STEEPEST = 1e50  # a penalty beyond its square is the same: nothing moves


@dataclass(eq=False, repr=False)
class DirichletCalibration(AffineScaling):
    """p = softmax(W ln p + b), as Dirichlet distributions of p in every class imply, with a penalty on mixing classes.

    Minimises the mean log loss + off_diagonal · mean of W_kj² over k ≠ j + intercept · mean of b_k² ("ODIR"). The
    diagonal is free. What keeps it finite where the classes are separable is a ridge of a thousandth of a row, in the
    unit of the log-probabilities: ½ · 0.001 (Σ_k (W_kk/s - 1)² + Σ_{k≠j} (W_kj/s)² + Σ_k b_k²), with 1/s their root
    mean square, less their mean in every row.

    Parameters
    ----------
    off_diagonal : float, default 0.01
    intercept : float, default 0.01
        Both positive; the authors choose them by cross-validation.
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
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

    off_diagonal: float = 0.01
    intercept: float = 0.01

    def _slope(self, sample: Sample) -> float:
        return standard_slope(log_probabilities(bounded(sample.scores)), sample.weight)

    def _slope_by_sums(self, rows: SummedRows) -> float:
        return summed_slope(rows.transformed(bounded).transformed(log_probabilities))

    def _features(self, scores: Array) -> Array:
        return bounded(log_probabilities(bounded(scores)), self.slope_)

    def _strengths(self, n_classes: int, weight: float) -> tuple[float, float, float]:
        for name in ("off_diagonal", "intercept"):
            check_interval(getattr(self, name), name, 0.0)
        off_diagonal = self.off_diagonal * min(self.slope_, _STEEPEST) ** 2
        off_diagonal = TINY + 2.0 * weight * off_diagonal / (n_classes * (n_classes - 1))
        return TINY, off_diagonal, TINY + 2.0 * weight * self.intercept / n_classes


_WHOLE_MATRIX = 1500  # with more coefficients, products with the curvature matrix are cheaper than the matrix
_MAX_ITER = 300
_TOLERANCE = 3e-8  # a Newton step that promises to lower the mean loss by less than its square is the last one
_GOOD_ENOUGH = 1e-6  # where rounding hides any further descent


@dataclass(frozen=True)
class _Objective:
    """Mean log loss + ½ Σ strength · (coef - identity)², over the free coefficients' departures from the identity."""

    engine: Sums
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
        value = sums.value / self.weight + 0.5 * float(pull @ departure)
        return _Point(self, departure, value, sums.gradient[self.free] / self.weight + pull)


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


def fit_softmax(engine: Sums, weight: float, strengths: Array) -> Array:
    """Coefficients and intercepts, of shape (K, K + 1), that minimise mean log loss plus penalty.

    The problem is strictly convex thanks to the penalty.
    """
    objective = _Objective(engine, weight, strengths)
    start = np.zeros(int(np.count_nonzero(objective.free)))
    found = newton_minimum(objective.point, start, _TOLERANCE**2, _MAX_ITER)
    if found.status is Status.CONVERGED:
        return objective.matrix(found.at.coef + found.step)
    if found.history[-1] > _GOOD_ENOUGH**2:
        warnings.warn(
            f"the coefficients did not converge: the next step would lower the mean log loss by about "
            f"{found.history[-1]:.1g}. Check the scores for outliers, or use StructuredMatrixScaling, which has a "
            "stronger penalty.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return objective.matrix(found.at.coef)
