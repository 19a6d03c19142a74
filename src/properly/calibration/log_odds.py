"""Calibrators whose log-odds are linear in a few features of the score: Platt, beta, quadratic, piecewise.

Their coefficients have maximum likelihood. A Newton iteration needs one pass: gradient and curvature are added up
together. It starts from the fit to a sample of the rows, so that large data are passed over two or three times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from properly import kernels
from properly.calibration.base import BinaryCalibrator
from properly.calibration.bennett import AsymmetricLaplaceCalibration
from properly.engines import engine_over
from properly.engines.base import Engine
from properly.inputs.scores import BinarySample
from properly.kernels import Block, Statistic
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, beside, columns_at, is_foreign, namespace
from properly.numeric.limits import FARTHEST
from properly.numeric.scaling import Standardizer
from properly.solvers import Status, shrinks_linearly
from properly.solvers.dense import newton_minimum, solve_least_norm

Features = Callable[[Array], Array]


@dataclass(frozen=True)
class LinearMap:
    """ln(p/q) = intercept + Σ coef_j · feature_j(score); `features` makes columns of scores."""

    features: Features
    coef: Array
    intercept: float

    @classmethod
    def fitted(cls, features: Features, sample: BinarySample, noisy: bool = False) -> LinearMap:
        fit = fit_log_odds(features, sample, noisy=noisy)
        return cls(features, fit.coef, fit.intercept)

    def log_odds(self, score: Array) -> Array:
        return self.intercept + fn.matmul(self.features(score), self.coef)


def as_columns(*columns: Array) -> Array:
    """Beside each other; each in one piece of memory, where that is NumPy's."""
    xp = namespace(*columns)
    return np.stack(columns).T if xp is np else xp.stack(columns, axis=1)


@dataclass(frozen=True)
class Powers:
    """The standardised score z, and its square if `degree` is 2."""

    standardize: Standardizer
    degree: int

    @classmethod
    def of(cls, sample: BinarySample, degree: int) -> Powers:
        return cls(Standardizer.of(sample.score, sample.weight), degree)

    def __call__(self, score: Array) -> Array:
        z = self.standardize(score)
        return as_columns(z, z * z) if self.degree == 2 else z[:, None]


@dataclass(eq=False, repr=False)
class PlattScaling(BinaryCalibrator):
    """Calibrated log-odds are a straight line in the score: ln(p/q) = a + b s.

    Slope and intercept have maximum likelihood; a falling line is possible, if high scores mean the first class. Where
    a single threshold separates the classes the likelihood has no maximum, and noisy labels are assumed in any case.

    Mathematics: formula (3.7).

    Parameters
    ----------
    noisy_labels : bool, default True
        Fit to (N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2) instead of 1 and 0, with N₊ and N₋ the weights of the classes, as
        Platt does: a little more cautious, and finite for separated classes. False is plain logistic regression.
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
    maps_ : list of `LinearMap`, one for two classes, else one per class

    References
    ----------
    Platt (2000), Probabilities for support vector machines, in Advances in Large Margin Classifiers.

    Examples
    --------
    >>> scores, y = [-2.0, -1.0, -0.5, 0.0, 1.0, 2.0], [0, 0, 1, 0, 1, 1]
    >>> PlattScaling().fit(scores, y).predict_proba([-1.0, 3.0]).round(3)
    array([[0.661, 0.339],
           [0.091, 0.909]])
    """

    _fits_anywhere: ClassVar[bool] = True

    noisy_labels: bool = True

    def _fit_map(self, sample: BinarySample) -> LinearMap:
        return LinearMap.fitted(Powers.of(sample, 1), sample, self.noisy_labels)


class QuadraticScaling(BinaryCalibrator):
    """Calibrated log-odds are a parabola in the score: ln(p/q) = a + b s + c s².

    It is what two Gaussian densities of different width imply, but fitted to the classes directly, with maximum
    likelihood. One more parameter than Platt's line lets the ends bend differently; the parabola may turn back beyond
    its vertex. Classes that it could separate perfectly are fitted with Platt's noisy labels.

    Parameters
    ----------
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
    maps_ : list of `LinearMap`, one for two classes, else one per class

    Examples
    --------
    >>> scores, y = [-2.0, -1.0, -0.5, 0.0, 1.0, 2.0], [0, 0, 1, 0, 1, 1]
    >>> QuadraticScaling().fit(scores, y).predict_proba([-1.0, 3.0]).round(3)
    array([[0.837, 0.163],
           [0.001, 0.999]])
    """

    _fits_anywhere: ClassVar[bool] = True

    def _fit_map(self, sample: BinarySample) -> LinearMap:
        return LinearMap.fitted(Powers.of(sample, 2), sample)


@dataclass(frozen=True)
class LogProbabilities:
    """ln p and -ln q of a log-odds; beyond ±1e100 it counts as that."""

    def __call__(self, score: Array) -> Array:
        xp = namespace(score)
        v = xp.clip(score, -FARTHEST, FARTHEST)
        log_p = xp.minimum(v, 0.0) - xp.log1p(xp.exp(-xp.abs(v)))
        return as_columns(log_p, v - log_p)  # -ln q = ln(p/q) - ln p


class BetaCalibration(BinaryCalibrator):
    """Calibrated log-odds are ln(p'/q') = c + a ln p - b ln q, with a, b >= 0 and q = 1 - p.

    This is what follows if p is beta-distributed in either class. a = b = 1, c = 0 leaves p alone, so a calibrated
    model is not harmed; a ≠ b bends one end more than the other. The three have maximum likelihood. If a or b comes
    out negative, the map would not be monotone: it is set to 0 and the others are fitted again. Classes that the map
    could separate perfectly are fitted with Platt's noisy labels, as in `PlattScaling`.

    Scores are taken as log-odds, so unlike Platt's method this one does depend on their unit and origin.

    Parameters
    ----------
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
    maps_ : list of `LinearMap`, one for two classes, else one per class

    References
    ----------
    Kull, Silva Filho & Flach (2017), Beyond sigmoids, Electronic Journal of Statistics 11.

    Examples
    --------
    >>> p, y = [0.1, 0.2, 0.3, 0.6, 0.7, 0.9], [0, 0, 1, 0, 1, 1]
    >>> BetaCalibration(input="probability").fit(p, y).predict_proba([0.0, 0.5, 0.8]).round(3)
    array([[1.   , 0.   ],
           [0.446, 0.554],
           [0.142, 0.858]])
    """

    _fits_anywhere: ClassVar[bool] = True

    def _fit_map(self, sample: BinarySample) -> LinearMap:
        features, kept = LogProbabilities(), [0, 1]
        while True:
            some = features if len(kept) == 2 else partial(_some_columns, features, list(kept))
            fit = fit_log_odds(some, sample, noisy=False)
            if not kept or fit.coef.min() >= 0.0:
                break
            del kept[int(np.argmin(fit.coef))]
        coef = np.zeros(2)
        coef[kept] = fit.coef
        return LinearMap(features, coef, fit.intercept)


def _some_columns(features: Features, kept: list[int], score: Array) -> Array:
    columns = features(score)
    return columns_at(columns, np.array(kept, dtype=np.intp)) if is_foreign(columns) else columns.T[kept].T


@dataclass(frozen=True)
class Hinges:
    """The standardised score z, and max(z - knot, 0) for every knot."""

    standardize: Standardizer
    knots: Array

    def __call__(self, score: Array) -> Array:
        z = self.standardize(score)
        return as_columns(z, *(namespace(z).maximum(z - knot, 0.0) for knot in self.knots.tolist()))


class PiecewiseLogOddsCalibration(BinaryCalibrator):
    """Calibrated log-odds are a continuous line of three straight pieces, fitted to the labels directly.

    Two asymmetric Laplace densities imply log-odds of this form, with knots at their modes. Bennett (2003) proposes as
    future work to fit the pieces themselves, as logistic regression does for one. Here the knots are those modes, and
    the four coefficients have maximum likelihood with Platt's noisy labels: an outer piece without any positive, whose
    slope would otherwise grow without limit, stays finite. The pieces may rise or fall.

    Parameters
    ----------
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
    maps_ : list of `LinearMap`, one for two classes, else one per class

    References
    ----------
    Bennett (2003), Using asymmetric distributions to improve text classifier probability estimates, SIGIR.

    Examples
    --------
    >>> scores, y = [-3.0, -2.0, -1.0, -0.5, 0.0, 1.0, 2.0, 4.0], [0, 0, 0, 1, 0, 1, 1, 1]
    >>> PiecewiseLogOddsCalibration().fit(scores, y).predict_proba([-2.0, 0.0, 2.0]).round(3)
    array([[0.787, 0.213],
           [0.607, 0.393],
           [0.246, 0.754]])
    """

    def _fit_map(self, sample: BinarySample) -> LinearMap:
        sample = _in_order(sample)
        modes = AsymmetricLaplaceCalibration()._fit_map(sample)
        z = modes.standardize(sample.score)
        knots = np.unique([modes.rest.mode, modes.own.mode])
        knots = knots[(knots > z.min()) & (knots < z.max())]  # no data, no bend
        return LinearMap.fitted(Hinges(modes.standardize, knots), sample, noisy=True)


def _in_order(sample: BinarySample) -> BinarySample:
    """The rows by score, label and weight: sums of very unequal weights depend on the order of the rows."""
    if sample.weight is None:
        return sample
    order = np.lexsort((sample.weight, sample.positive, sample.score))
    return BinarySample(sample.score[order], sample.positive[order], sample.weight[order])


_MAX_ITER = 50
_TOLERANCE = 3e-6  # a Newton step this small, in units of the null loss, leaves an error of about its square
_CERTAIN = 1e-3  # the summed p(1-p) of rows that are all as good as certain


class Targets(NamedTuple):
    """The probability that each class is fitted to: 0 and 1, or less extreme ones."""

    rest: float = 0.0
    own: float = 1.0

    @classmethod
    def noisy(cls, sample: BinarySample) -> Targets:
        """Platt's (2000): 1/(N₋ + 2) and (N₊ + 1)/(N₊ + 2), as if one label of either class could be wrong."""
        rest, own = sample.class_weight
        return cls(1.0 / (rest + 2.0), (own + 1.0) / (own + 2.0))


class LogOdds(NamedTuple):
    """Fitted coefficients of the features, and the intercept."""

    coef: Array
    intercept: float
    hessian: Array  # of the summed loss, over coefficients and intercept
    converged: bool


def fit_log_odds(
    features: Array | Features, sample: BinarySample, *, noisy: bool, ridge: Array | None = None
) -> LogOdds:
    """Minimise Σ weight · log loss + ½ Σ ridge · coef².

    The features are columns, or a function that makes them of scores, block by block whenever they are needed: where
    that is quick, it is quicker than reading them from memory.

    Where the classes can be told apart perfectly there is no finite optimum; the targets of noisy labels are then used
    whether asked for or not, which makes it finite.
    """
    columns_of: Features
    if callable(features):
        source, columns_of = sample.score[:, None], lambda scores: features(scores[:, 0])
    else:
        source, columns_of = np.asfortranarray(features), np.asarray  # of NumPy only
    engine = engine_over(source, sample.codes, sample.weight)
    width = columns_of(source[:1, ...]).shape[1]
    penalty = np.append(np.zeros(width) if ridge is None else ridge, 0.0)
    plain = _Likelihood(engine, np.array(sample.class_weight), columns_of, Targets(), penalty)
    if not noisy:
        fit = plain.fitted()
        if fit.converged:
            return fit
    return replace(plain, targets=Targets.noisy(sample)).fitted()


@dataclass
class NewtonSums(Statistic):
    """Gradient and curvature matrix of the log loss, over coefficients and intercept."""

    gradient: Array
    hessian: Array
    wrong: float  # weight of the rows that are not on the side of their class; infinite where no one asks


def newton_sums(block: Block, features: Features, coef: Array, targets: Targets) -> NewtonSums:
    if is_foreign(block.X):
        return _newton_sums_there(block, features(block.X), coef, targets)
    columns = list(features(block.X).T)
    minus_v = np.full(len(block.y), -coef[-1])
    for x, w in zip(columns, coef, strict=False):
        minus_v -= w * x
    with np.errstate(over="ignore"):
        p = np.exp(minus_v)
        p += 1.0
        np.divide(1.0, p, out=p)
    residual = p - (block.y if targets == Targets() else targets.rest + (targets.own - targets.rest) * block.y)
    p -= p * p
    residual, curvature = kernels.weighted(block, residual), kernels.weighted(block, p)
    width = len(coef)
    gradient, hessian = np.empty(width), np.empty((width, width))
    gradient[-1], hessian[-1, -1] = residual.sum(), curvature.sum()
    wrong = np.inf  # it matters only where rows are as good as certain
    if hessian[-1, -1] < _CERTAIN:
        wrong = kernels.weighted(block, np.where(block.y, minus_v >= 0.0, minus_v <= 0.0)).sum()
    for i, x in enumerate(columns):
        bent = curvature * x
        gradient[i] = residual @ x
        hessian[i, -1] = hessian[-1, i] = bent.sum()
        for j in range(i + 1):
            hessian[i, j] = hessian[j, i] = bent @ columns[j]
    return NewtonSums(gradient, hessian, float(wrong))


def _newton_sums_there(block: Block, columns: Array, coef: Array, targets: Targets) -> NewtonSums:
    """The same from arrays of another library, in as few calls as possible."""
    xp = namespace(columns)
    design = beside(columns, xp.ones_like(columns[:, :1]))
    v = fn.matmul(design, coef[:, None])[:, 0]
    wrong = xp.astype(xp.where(block.y == 1, v <= 0.0, v >= 0.0), xp.float64)
    p = fn.expit(v)
    residual = p - (targets.rest + (targets.own - targets.rest) * xp.astype(block.y, xp.float64))
    residual, curvature, wrong = (kernels.weighted(block, each) for each in (residual, p * (1.0 - p), wrong))
    return NewtonSums(residual @ design, design.T @ (design * curvature[:, None]), xp.sum(wrong))


class _Point(NamedTuple):
    coef: Array
    gradient: Array
    hessian: Array
    separated: bool  # every row is on the side of its class, and as good as certain: there is no finite optimum
    value: None = None  # it would cost as much again as the derivatives

    def step(self) -> Array:
        return -solve_least_norm(self.hessian, self.gradient)


@dataclass(frozen=True)
class _Likelihood:
    """The log-likelihood of coefficients and intercept, with a minus, plus ½ Σ penalty · coef²."""

    engine: Engine
    class_weight: Array
    features: Features
    targets: Targets
    penalty: Array

    def fitted(self) -> LogOdds:
        weight = self.class_weight.sum()
        rate = float(self.class_weight @ self.targets / weight)
        null_loss = weight * -(rate * np.log(rate) + (1.0 - rate) * np.log1p(-rate))
        found = newton_minimum(
            self.point, self._start(rate), _TOLERANCE**2 * null_loss, _MAX_ITER, unbounded=lambda at: at.separated
        )
        converged = found.status is Status.CONVERGED and not shrinks_linearly(np.sqrt(found.history))
        coef = found.at.coef + found.step if converged else found.at.coef
        return LogOdds(coef[:-1], float(coef[-1]), found.at.hessian, converged)

    def point(self, coef: Array) -> _Point:
        sums = self.engine.reduce(newton_sums, self.features, coef, self.targets)
        # Noisy labels always have an optimum.
        separated = self.targets == Targets() and sums.wrong == 0.0 and sums.hessian[-1, -1] < _CERTAIN
        return _Point(coef, sums.gradient + self.penalty * coef, sums.hessian + np.diag(self.penalty), separated)

    def _start(self, rate: float) -> Array:
        """The solution on a sample, unless that is too small; else the class proportions."""
        plain = np.append(np.zeros(len(self.penalty) - 1), np.log(rate) - np.log1p(-rate))
        sample = self.engine.thinned()
        if sample is None:
            return plain
        classes = sample.reduce(kernels.classes, 2)
        rows, class_weight = classes.rows, classes.weight
        if rows * class_weight.min() < 3 * len(plain) * class_weight.sum():
            return plain
        penalty = self.penalty * (class_weight.sum() / self.class_weight.sum())
        fit = replace(self, engine=sample, class_weight=class_weight, penalty=penalty).fitted()
        return np.append(fit.coef, fit.intercept) if fit.converged else plain
