"""Temperature scaling: one number for all classes, alone or in a mixture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from properly.calibration.base import Calibrator
from properly.calibration.by_sums import SummedRows, largest_size, mean_square
from properly.classifier import difference, log_probabilities
from properly.inputs.scores import Sample
from properly.kernels import Block, Statistic
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, anywhere, as_integers, constant, namespace, to_numpy
from properly.numeric.limits import FARTHEST, LARGEST, SMALLEST
from properly.numeric.scaling import root_mean_square
from properly.solvers.dense import newton_minimum

_MAX_ITER = 200
_TOLERANCE = 1e-8  # of the slope: a step this small leaves an error of about its square


class TemperatureScaling(Calibrator):
    """All logits are divided by one temperature T > 0: p = softmax(logits/T), for two classes ln(p/q) = s/T.

    T > 1 makes an overconfident model less confident, T < 1 an underconfident one more; the ranking of the classes
    stays. T has maximum likelihood, which is a convex problem in the slope 1/T. If the logits predict no better than
    equal probabilities, the slope is 0 and all classes are equally probable. If every row's own class has the highest
    logit, the likelihood has no finite maximum; every label is then treated as wrong with the probability 1/(N + 2),
    spread evenly over the other classes, with N the weight of its class.

    Parameters
    ----------
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
    slope_ : float
        1/T.
    temperature_ : float
        T; infinite if the slope is 0.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks, ICML.

    Examples
    --------
    >>> model = TemperatureScaling().fit([-6.0, -4.0, 2.0, -2.0, 3.0, 5.0], [0, 0, 0, 1, 1, 1])
    >>> round(model.temperature_, 3)
    2.676
    """

    _fits_anywhere: ClassVar[bool] = True

    slope_: float

    @property
    def temperature_(self) -> float:
        return 1.0 / self.slope_ if self.slope_ > 0.0 else np.inf

    def _fit(self, sample: Sample) -> None:
        self.slope_ = best_slope(sample)

    def _fit_by_sums(self, rows: SummedRows) -> None:
        self.slope_ = summed_best_slope(rows)

    def _log_scores(self, scores: Array) -> Array:
        return bounded(scores if scores.ndim == 1 else _centred(scores), self.slope_)


def bounded(logits: Array, slope: float = 1.0) -> Array:
    """Logits times a slope; beyond ±1e100 they count as that, so that what is done to them cannot overflow."""
    with np.errstate(over="ignore"):
        return namespace(logits).clip(slope * logits, -FARTHEST, FARTHEST)


def best_slope(sample: Sample) -> float:
    """The slope 1/T that minimises the log loss, between 0 and ∞."""
    xp = namespace(sample.scores)
    unit = float(xp.max(xp.abs(sample.scores)))
    if unit == 0.0:
        return 0.0
    logits = sample.scores / unit if sample.scores.ndim == 1 else _centred(sample.scores / unit)
    problem = _Slope(logits, sample.codes if xp is np else as_integers(sample.codes), sample.weight)
    # The probability that a label of each class is wrong, which counts if the classes are separated.
    noise = 1.0 / (to_numpy(fn.bincount(problem.codes, sample.weight, _n_classes(sample))) + 2.0)
    own = problem.own_score(noise if problem.separated else None)
    if problem.sums(0.0)[0] >= own:
        return 0.0
    return _minimum(problem.sums, own, root_mean_square(logits, None), unit)


def summed_best_slope(rows: SummedRows) -> float:
    """`best_slope` of logits of more than two classes that are not in memory."""
    unit = largest_size(rows)
    if unit == 0.0:
        return 0.0
    centred, noise = rows.transformed(partial(_centred_unit, unit)), 1.0 / (rows.class_weight + 2.0)
    found = centred.reduce(_slope_sums, 0.0, noise)
    own = found.own if found.wrong else found.noisy
    if found.expected >= own:
        return 0.0

    def sums(slope: float) -> tuple[float, float]:
        at = centred.reduce(_slope_sums, slope, noise)
        return at.expected, at.curvature

    return _minimum(sums, own, float(np.sqrt(mean_square(centred))), unit)


def _centred_unit(unit: float, logits: Array) -> Array:
    return _centred(logits / unit)


@dataclass
class _SlopeSums(Statistic):
    """Expected logits and their derivative at a slope; the logits of the labels, and with noise; rows not separated."""

    expected: float
    curvature: float
    own: float
    noisy: float
    wrong: int


def _slope_sums(block: Block, slope: float, noise: Array) -> _SlopeSums:
    counted = slice(None) if block.weight is None else np.flatnonzero(block.weight)
    weight = None if block.weight is None else block.weight[counted]
    problem = _Slope(block.X[counted], block.y[counted], weight)
    return _SlopeSums(
        *problem.sums(slope), problem.own_score(None), problem.own_score(noise), 0 if problem.separated else 1
    )


def _minimum(sums: Callable[[float], tuple[float, float]], own: float, size: float, unit: float) -> float:
    def point(slope: Array) -> _Point:
        expected, curvature = sums(float(slope[0]))
        return _Point(slope, np.array([expected - own]), curvature)

    start = np.array([1.0 / size])
    found = newton_minimum(point, start, _TOLERANCE, _MAX_ITER, gap=lambda at: np.abs(at.step() / at.coef)[0])
    with np.errstate(over="ignore"):  # of logits that are subnormal numbers
        return float(min((found.at.coef[0] + found.step[0]) / unit, LARGEST))


class _Point(NamedTuple):
    """The derivatives of the log loss at a slope."""

    coef: Array
    gradient: Array
    curvature: float
    value: None = None

    def step(self) -> Array:
        """Newton's step, which at most halves or quadruples the slope: curvature may vanish far from the optimum."""
        return np.clip(-self.gradient / max(self.curvature, SMALLEST), -0.5 * self.coef, 3.0 * self.coef)


def _centred(logits: Array) -> Array:
    """Only differences within a row matter; with the largest at 0 nothing overflows."""
    with np.errstate(over="ignore"):
        return namespace(logits).maximum(logits - fn.largest(logits, axis=1), -LARGEST)


class _Slope(NamedTuple):
    """The log loss Σ weight (ln Σ_k exp(slope l_k) - slope l_y): convex in the slope, increasing derivative."""

    logits: Array  # (n,) for two classes, where those of the first are 0
    codes: NDArray[Any]
    weight: Array | None

    @property
    def separated(self) -> bool:
        """Whether every row's own class has the highest logit."""
        if self.logits.ndim == 1:
            xp = namespace(self.logits)
            return bool(xp.all(xp.where(self.codes == 1, self.logits >= 0.0, self.logits <= 0.0)))
        return not anywhere(fn.own_entries(self.logits, self.codes) != 0.0)

    def own_score(self, noise: Array | None) -> float:
        """Σ weight l_y, or its average over the label and the others."""
        if self.logits.ndim == 1:
            wrong = np.zeros(2) if noise is None else noise
            return self._total(fn.entries(np.array([wrong[0], 1.0 - wrong[1]]), self.codes) * self.logits)
        own = fn.own_entries(self.logits, self.codes)
        if noise is None:
            return self._total(own)
        others = (namespace(own).sum(self.logits, axis=1) - own) / (self.logits.shape[1] - 1)
        return self._total(own + fn.entries(noise, self.codes) * (others - own))

    def sums(self, slope: float) -> tuple[float, float]:
        """Σ weight · expected logit, and its derivative, Σ weight · variance of the logit."""
        if self.logits.ndim == 1:
            p = fn.expit(slope * self.logits)
            first = p * self.logits
            return self._total(first), self._total((1.0 - p) * first * self.logits)
        xp = namespace(self.logits)
        p = xp.exp(slope * self.logits)
        p /= xp.sum(p, axis=1, keepdims=True)
        if xp is not np:
            mean = xp.sum(p * self.logits, axis=1)
            return self._total(mean), self._total(xp.sum(p * self.logits**2, axis=1) - mean**2)
        mean = np.einsum("ik,ik->i", p, self.logits)
        return self._total(mean), self._total(np.einsum("ik,ik,ik->i", p, self.logits, self.logits) - mean**2)

    def _total(self, x: Array) -> float:
        return float(namespace(x).sum(x) if self.weight is None else self.weight @ x)


def _n_classes(sample: Sample) -> int:
    return 2 if sample.scores.ndim == 1 else int(sample.scores.shape[1])


class EnsembleTemperatureScaling(Calibrator):
    """A mixture of three forecasts: p = w₁ softmax(logits/T) + w₂ softmax(logits) + w₃/K, with weights that sum to 1.

    The temperature T is that of `TemperatureScaling`; then the weights minimise the log loss, which is convex. The
    uniform part keeps every probability away from 0, and the order of the classes in a row stays.

    Parameters
    ----------
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
    slope_ : float
        1/T.
    weights_ : array of shape (3,)
        Those of the tempered, the raw and the uniform probabilities.

    References
    ----------
    Zhang, Kailkhura & Han (2020), Mix-n-match: ensemble and compositional methods for uncertainty calibration, ICML.

    Examples
    --------
    >>> model = EnsembleTemperatureScaling().fit([-6.0, -4.0, 9.0, -2.0, 3.0, 5.0], [0, 0, 0, 1, 1, 1])
    >>> model.predict_proba([-100.0, 4.0]).round(3)
    array([[0.702, 0.298],
           [0.306, 0.694]])
    """

    slope_: float
    weights_: Array

    def _fit(self, sample: Sample) -> None:
        self.slope_ = best_slope(sample)
        log_p = _log_forecasts(sample.scores, self.slope_)[:, np.arange(len(sample.codes)), sample.codes]
        self.weights_ = _mixture_weights(log_p, sample.weight)

    def _log_scores(self, scores: Array) -> Array:
        with np.errstate(divide="ignore"):
            log_weight = constant(np.log(self.weights_)[:, None, None], scores)
        log_p = fn.logsumexp(_log_forecasts(scores, self.slope_) + log_weight, axis=0)
        return difference(log_p) if scores.ndim == 1 else log_p


def _log_forecasts(scores: Array, slope: float) -> Array:
    """The logarithms of the three forecasts, of shape (3, n, K)."""
    xp = namespace(scores)
    tempered, raw = log_probabilities(bounded(scores, slope)), log_probabilities(bounded(scores))
    return xp.stack([tempered, raw, xp.full_like(raw, -float(np.log(raw.shape[1])))])


def _mixture_weights(log_p: Array, weight: Array | None) -> Array:
    """Weights of maximum likelihood, given the logarithms that each forecast gives to what happened, (3, n)."""
    largest = log_p.max(axis=0)
    p = np.exp(log_p - largest)  # a factor a row changes nothing
    share = np.full(p.shape[1], 1.0 / p.shape[1]) if weight is None else weight / weight.sum()

    def loss(w: Array) -> tuple[float, Array]:
        mixed = np.maximum(w @ p, 1e-300)
        return -float(share @ np.log(mixed)), -(p @ (share / mixed))

    found = optimize.minimize(
        loss,
        np.full(3, 1.0 / 3.0),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 200},
    )
    w = np.maximum(found.x, 0.0)
    return np.asarray(w / w.sum())
