"""Log-odds that are linear in a few features of the score, fitted by maximum likelihood.

A Newton iteration needs one pass: gradient and curvature are added up together. It starts from the fit to a sample of
the rows, so that large data are passed over two or three times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from properly import kernels
from properly.engines.base import Engine
from properly.engines.memory import MemoryEngine
from properly.inputs.scores import BinarySample
from properly.kernels import Block, Statistic
from properly.numeric.probabilities import Array
from properly.solvers import Status
from properly.solvers.dense import newton_minimum, shrinks_linearly, solve_least_norm

_MAX_ITER = 50
_TOLERANCE = 1e-6  # a Newton step this small, in units of the null loss, leaves an error of about its square


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
    features: Array | Callable[[Array], Array], sample: BinarySample, *, noisy: bool, ridge: Array | None = None
) -> LogOdds:
    """Minimise Σ weight · log loss + ½ Σ ridge · coef².

    The features are columns, or a function that makes them of scores, block by block whenever they are needed: where
    that is quick, it is quicker than reading them from memory.

    Where the classes can be told apart perfectly there is no finite optimum; the targets of noisy labels are then used
    whether asked for or not, which makes it finite.
    """
    codes = cast(NDArray[np.intp], sample.positive.view(np.int8))  # a byte a row is enough
    if callable(features):
        source, columns_of = sample.score[:, None], _made_of_scores(features)
    else:
        source, columns_of = np.asfortranarray(features), _as_they_are
    engine = MemoryEngine(source, codes, sample.weight)
    width = columns_of(source[:1]).shape[1]
    penalty = np.append(np.zeros(width) if ridge is None else ridge, 0.0)
    plain = _Likelihood(engine, np.array(sample.class_weight), columns_of, Targets(), penalty)
    if not noisy:
        fit = plain.fitted()
        if fit.converged:
            return fit
    return replace(plain, targets=Targets.noisy(sample)).fitted()


def _made_of_scores(features: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda scores: features(scores[:, 0])


def _as_they_are(columns: Array) -> Array:
    return columns


@dataclass
class NewtonSums(Statistic):
    """Gradient and curvature matrix of the log loss, over coefficients and intercept."""

    gradient: Array
    hessian: Array
    wrong: float  # weight of the rows that are not on the side of their class


def newton_sums(block: Block, features: Callable[[Array], Array], coef: Array, targets: Targets) -> NewtonSums:
    columns = list(features(block.X).T)
    v = np.full(len(block.y), coef[-1])
    for x, w in zip(columns, coef, strict=False):
        v += w * x
    wrong = kernels.weighted(block, np.where(block.y, v <= 0.0, v >= 0.0)).sum()
    with np.errstate(over="ignore"):
        p = np.exp(-v)
        p += 1.0
        np.divide(1.0, p, out=p)
    residual = p - (targets.rest + (targets.own - targets.rest) * block.y)
    p -= p * p
    residual, curvature = kernels.weighted(block, residual), kernels.weighted(block, p)
    width = len(coef)
    gradient, hessian = np.empty(width), np.empty((width, width))
    gradient[-1], hessian[-1, -1] = residual.sum(), curvature.sum()
    for i, x in enumerate(columns):
        bent = curvature * x
        gradient[i] = residual @ x
        hessian[i, -1] = hessian[-1, i] = bent.sum()
        for j in range(i + 1):
            hessian[i, j] = hessian[j, i] = bent @ columns[j]
    return NewtonSums(gradient, hessian, float(wrong))


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
    features: Callable[[Array], Array]
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
        separated = self.targets == Targets() and sums.wrong == 0.0 and sums.hessian[-1, -1] < 1e-3
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
