"""The maps that `AutoCalibration` averages: their features, priors, fits and log-evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from properly.inputs.scores import without_last_digits, zero_of
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, beside, columns_at, columns_of, constant, namespace
from properly.numeric.scaling import Standardizer, root_mean_square
from properly.solvers.dense import newton_minimum, positive_factor

# Standard deviations of the priors, in log-odds over one standard deviation of the scores unless said otherwise.
NEAR = (0.1, 1.0)  # of intercept and slope around those of the identity, 0 and 1
FREE = (2.0, 5.0)  # of intercept and slope around 0: scores of any unit
BENDS = (0.3, 1.0)  # of what is added to a straight line
OWN = (0.1, 0.3, 1.0, 3.0)  # of one class's departure from what all classes share
OTHERS = (0.3, 1.0)  # of the weight of the other classes' logits
_WIDEST = 1e3  # a prior no wider than this, for scores of any size
_WAVES = 8
_FEW_CLASSES = 12  # up to here the K² weights of other classes' logits come in several strengths ...
_MANY_CLASSES = 30  # ... up to here in one, and beyond they are left out: the time grows as K⁴


class Features(Protocol):
    """What a map sees of the logits (n, K): for each class, an array of shape (n, number of its coefficients)."""

    def __call__(self, logits: Array) -> list[Array]: ...


class Candidate(NamedTuple):
    """Logits are base_slope · score + features · coefficients, where coefficients ~ N(0, precision⁻¹)."""

    name: str
    base_slope: float  # 1: the coefficients are departures from the scores as log-odds; 0: from equal log-odds
    features: Features
    precision: Array


@dataclass(frozen=True)
class Straight:
    """The standardised log-odds, after an intercept unless that is left out."""

    standardize: Standardizer
    intercept: bool = True

    def columns(self, score: Array) -> Array:
        z = self.standardize(score)
        xp = namespace(z)
        return xp.stack([xp.ones_like(z), z], axis=1) if self.intercept else z[:, None]

    def __call__(self, logits: Array) -> list[Array]:
        return _of_second_class(self.columns(columns_of(logits)[1]))


@dataclass(frozen=True)
class Curve:
    """An intercept, the standardised log-odds, and bends: functions of them less their own straight line.

    The bends are scaled together, so that the largest has the root mean square 1 over the calibration data.
    """

    straight: Straight
    bends: Callable[[Array], Array]
    line: Array  # coefficients of the bends' straight lines, of shape (2, number of bends)
    scale: float

    @classmethod
    def of(cls, straight: Straight, bends: Callable[[Array], Array], score: Array, weight: Array) -> Curve | None:
        """None if the bends are straight lines on these data, and so tell nothing."""
        columns, bent = straight.columns(score), bends(score)
        root = np.sqrt(weight)[:, None]
        line = np.asarray(np.linalg.lstsq(root * columns, root * bent, rcond=None)[0], dtype=np.float64)
        scale = float(np.sqrt(np.average(np.square(bent - columns @ line), axis=0, weights=weight)).max(initial=0.0))
        return cls(straight, bends, line, scale) if scale > 1e-6 else None

    def __call__(self, logits: Array) -> list[Array]:
        score = columns_of(logits)[1]
        columns = self.straight.columns(score)
        bent = (self.bends(score) - fn.matmul(columns, self.line)) / self.scale
        return _of_second_class(beside(columns, bent))


def _of_second_class(columns: Array) -> list[Array]:
    return [columns[:, :0], columns]


@dataclass(frozen=True)
class Flattening:
    """asinh s: what over-confident log-odds need, as of naive Bayes or of trees that are certain."""

    def __call__(self, score: Array) -> Array:
        return fn.asinh(score)[:, None]


@dataclass(frozen=True)
class Waves:
    """cos(kπr)/k^1.5, k = 1 ... 8, of the rank r in (0, 1) of a score: any smooth curve.

    The rank is the mean of the ranks within either class, so that a rare class is seen as sharply as the other. It can
    rise much between neighbouring scores, so scores that differ by rounding only count as equal.
    """

    score: Array  # distinct, sorted, without last digits
    rank: Array
    zero: float = 0.0  # scores below this in size count as 0

    @classmethod
    def of(cls, score: Array, labels: Labels) -> Waves:
        share, zero = np.bincount(labels.codes, labels.weight, 2), zero_of(score)
        distinct, position = np.unique(without_last_digits(score, zero), return_inverse=True)
        mass = np.bincount(position, labels.weight * (0.5 / share)[labels.codes])
        return cls(distinct, np.cumsum(mass) - 0.5 * mass, zero)

    def __call__(self, score: Array) -> Array:
        rank = fn.interp(without_last_digits(score, self.zero), self.score, self.rank)
        first = fn.cos(math.pi * rank)
        waves = [first, 2.0 * first * first - 1.0]
        while len(waves) < _WAVES:  # cos kθ = 2 cos θ cos (k-1)θ - cos (k-2)θ, several times as fast as cosines
            waves.append(2.0 * first * waves[-1] - waves[-2])
        return beside(*(wave[:, None] / k**1.5 for k, wave in enumerate(waves, start=1)))


def for_two_classes(logits: Array, labels: Labels, waves: Waves) -> Iterator[Candidate]:
    """Temperatures, straight lines and curves; `logits` has the columns 0 and log-odds."""
    score, weight = logits[:, 1], labels.weight
    standardize = Standardizer.of(score, weight)
    spread = min(standardize.scale, _WIDEST)
    unit = root_mean_square(score, weight)
    temperature = Straight(Standardizer(0.0, unit), intercept=False)
    yield Candidate(f"near {NEAR[-1]:g} temperature", 1.0, temperature, _precision(NEAR[-1] * min(unit, _WIDEST)))
    yield Candidate(f"free {FREE[-1]:g} temperature", 0.0, temperature, _precision(FREE[-1]))
    lines = [(f"near {sd:g}", 1.0, (sd, sd * spread)) for sd in NEAR] + [(f"free {sd:g}", 0.0, (sd, sd)) for sd in FREE]
    straight = Straight(standardize)
    for name, base_slope, sds in lines:
        yield Candidate(f"{name} line", base_slope, straight, _precision(*sds))
    kinds: dict[str, Callable[[Array], Array]] = {"asinh": Flattening(), "waves": waves}
    for bent, bends in kinds.items():
        curve = Curve.of(straight, bends, score, weight)
        if curve is not None:
            for bend in BENDS:
                for name, base_slope, sds in lines:
                    width = curve.line.shape[1]
                    yield Candidate(f"{name} {bent} {bend:g}", base_slope, curve, _precision(*sds, *[bend] * width))


def _precision(*sds: float) -> Array:
    return np.diag(1.0 / np.square(np.maximum(sds, 1.0 / _WIDEST)))


@dataclass(frozen=True)
class Joint:
    """For each class an intercept, its own log-probability, asinh of it, and, if asked for, those of the others.

    All but the own log-probability are centred over the calibration data, so that their priors are about shape.
    """

    unit: float
    center: Array  # of the log-probabilities
    flat_center: Array  # of their asinh
    others: bool

    @classmethod
    def of(cls, logits: Array, weight: Array, others: bool) -> Joint:
        log_p = log_softmax(logits)
        center, flat_center = (np.average(x, axis=0, weights=weight) for x in (log_p, np.arcsinh(log_p)))
        deviation = log_p - center
        deviation -= deviation.mean(axis=1, keepdims=True)
        return cls(max(root_mean_square(deviation, weight), 1.0 / _WIDEST), center, flat_center, others)

    def __call__(self, logits: Array) -> list[Array]:
        xp, log_p = namespace(logits), log_softmax(logits)
        flat = fn.asinh(log_p) - constant(self.flat_center, logits)
        rest = (log_p - constant(self.center, logits)) / (self.unit * math.sqrt(log_p.shape[1]))
        features = []
        for k, (own, bent) in enumerate(zip(columns_of(log_p), columns_of(flat), strict=True)):
            others = [_without_column(rest, k)] if self.others else []
            columns = (xp.ones_like(own), own / self.unit, bent)
            features.append(beside(*(each[:, None] for each in columns), *others))
        return features


def _without_column(x: Array, k: int) -> Array:
    if namespace(x) is np:
        return np.delete(x, k, axis=1)
    return columns_at(x, np.delete(np.arange(x.shape[1]), k))


def for_many_classes(logits: Array, labels: Labels) -> Iterator[Candidate]:
    """Maps of each class's own logit, and of all of them, in which the classes share what they can."""
    n_classes = logits.shape[1]
    strengths = [(own, 0.0) for own in OWN]
    if n_classes <= _FEW_CLASSES:
        strengths += [(own, others) for others in OTHERS for own in OWN[1:3]]
    elif n_classes <= _MANY_CLASSES:
        strengths += [(OWN[2], OTHERS[0])]
    features = {others: Joint.of(logits, labels.weight, others) for others in (False, True)}
    slope = min(NEAR[-1] * features[False].unit, _WIDEST)
    for own, others in strengths:
        for name, base_slope, width in (("near", 1.0, slope), ("free", 0.0, FREE[-1])):
            label = f"{name} own {own:g}" + (f" others {others:g}" if others else "")
            yield Candidate(label, base_slope, features[others > 0.0], _joint_precision(n_classes, width, own, others))


def _joint_precision(n_classes: int, slope: float, own: float, others: float) -> Array:
    """A class's slope is a part that all share plus one of its own; intercepts and weights of others are its own."""
    shared = np.array([0.0, slope, 1.0])
    width = 3 + (n_classes - 1 if others else 0)
    precision = np.zeros((n_classes, width, n_classes, width))
    k = np.arange(n_classes)
    for j in range(3):
        # (own² I + shared² 11ᵀ)⁻¹
        common = shared[j] ** 2 / (own**2 * (own**2 + n_classes * shared[j] ** 2))
        precision[:, j, :, j] = -common
        precision[k, j, k, j] += own**-2
    for j in range(3, width):
        precision[k, j, k, j] = others**-2
    return precision.reshape(n_classes * width, n_classes * width)


_MAX_ITER = 50
_TOLERANCE = 1e-6  # of the log-evidence, which counts in units of 1


class Labels(NamedTuple):
    """The classes of the rows as 0, 1, ..., and what every row weighs."""

    codes: NDArray[np.intp]
    weight: Array

    def log_likelihood(self, log_p: Array) -> float:
        return float(self.weight @ log_p[np.arange(len(self.codes)), self.codes])


class Fitted(NamedTuple):
    """Coefficients, those of the first class first, and ln ∫ likelihood · prior (−∞ if beyond float64)."""

    coef: Array
    log_evidence: float


def log_softmax(logits: Array) -> Array:
    """Of finite logits; for two classes SciPy's, which allows for infinite ones, takes half as long again."""
    xp, shifted = namespace(logits), logits - fn.largest(logits, axis=1)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True))


def apply(features: list[Array], coef: Array, offset: Array) -> Array:
    """Logits: the offset, plus for every class its own features times its own coefficients."""
    xp, parts = namespace(offset), _split(features, coef)
    if xp is not np:
        columns = zip(columns_of(offset), features, parts, strict=True)
        return xp.stack([v + fn.matmul(own, part) if part.size else v for v, own, part in columns], axis=1)
    logits = np.array(offset, order="F")  # what is done class by class is twice as fast then
    for k, part in enumerate(parts):
        if part.size:
            logits[:, k] += features[k] @ part
    return logits


def fit_with_prior(features: list[Array], offset: Array, labels: Labels, precision: Array, start: Array) -> Fitted:
    """The mode of likelihood · N(coef; 0, precision⁻¹) by Newton's method, and Laplace's approximation of the integral.

    ln ∫ likelihood · prior ≈ ln likelihood(mode) - ½ modeᵀ precision mode - ½ ln(|precision + curvature|/|precision|)
    """
    posterior = partial(_Posterior, features, offset, labels, precision)
    with np.errstate(over="ignore", invalid="ignore"):
        mode = newton_minimum(posterior, start, _TOLERANCE, _MAX_ITER).at
        volume = _half_log_determinant(*positive_factor(precision)) - _half_log_determinant(*mode.factor)
        log_evidence = volume - mode.value
    return Fitted(mode.coef, log_evidence if np.isfinite(log_evidence) else -np.inf)


@dataclass(frozen=True)
class _Posterior:
    """Minus the log-posterior of coefficients, up to a constant.

    Its curvature is that of the multinomial logit, Σ weight·(diag p - p pᵀ) between the classes, plus `precision`: it
    is convex, and any start will do.
    """

    features: list[Array]
    offset: Array
    labels: Labels
    precision: Array
    coef: Array

    @cached_property
    def log_p(self) -> Array:
        return log_softmax(apply(self.features, self.coef, self.offset))

    @cached_property
    def value(self) -> float:
        return 0.5 * float(self.coef @ (self.precision @ self.coef)) - self.labels.log_likelihood(self.log_p)

    @property
    def gradient(self) -> Array:
        return self._derivatives[0]

    @cached_property
    def factor(self) -> tuple[Array, Array]:
        """That of the curvature matrix, see `positive_factor`."""
        return positive_factor(self._derivatives[1])

    def step(self) -> Array:
        factor, scale = self.factor
        return -np.asarray(lapack.dpotrs(factor, self.gradient / scale, lower=1)[0] / scale)

    @cached_property
    def _derivatives(self) -> tuple[Array, Array]:
        p, (codes, weight) = np.exp(self.log_p), self.labels
        gradient = self.precision @ self.coef
        joint = np.concatenate([x * p[:, k, None] for k, x in enumerate(self.features)], axis=1)
        hessian = self.precision - joint.T @ (joint * weight[:, None])
        end = 0
        for k, x in enumerate(self.features):
            rows = slice(end, end := end + x.shape[1])
            gradient[rows] -= (weight * ((codes == k) - p[:, k])) @ x
            curvature = weight * p[:, k] * (1.0 - p[:, k])  # never negative, unlike a difference of sums
            hessian[rows, rows] = self.precision[rows, rows] + x.T @ (x * curvature[:, None])
        return gradient, hessian


def _split(features: list[Array], coef: Array) -> list[Array]:
    return np.split(coef, np.cumsum([each.shape[1] for each in features])[:-1])


def _half_log_determinant(factor: Array, scale: Array) -> float:
    return float(np.log(np.diag(factor) * scale).sum())
