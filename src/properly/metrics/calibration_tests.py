"""Tests of whether probabilities are right.

The hypothesis is simple: given the probabilities, labels are independent, and each is positive with its own. Only the
probability of a row matters, so the tests work on cells: a probability, the weight of its rows, that of the positives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special as sc

from properly.forecasts import read_forecast
from properly.inputs.forecast import Forecast, read_clusters
from properly.metrics.clusters import design_effect
from properly.metrics.kernel_error import KernelCalibrationError, kernel_error_of
from properly.metrics.thresholds import DistinctForecasts, distinct_forecasts
from properly.numeric.probabilities import Array
from properly.numeric.tails import two_sided

_MOST_CELLS = 20_000
_MOST_TESTED_CELLS = 2_000
_MOST_SIMULATED_CELLS = 128
_CERTAIN = 1e-12  # a class of this probability, or a smaller one, should not occur
_FEW = 15.0  # Σ p(1-p): with less, p-values come from redrawn labels
_DRAWS = 499
_MOST_FUNCTIONS = 12  # of the smooth test: a constant, the log-odds and cosines,
_PER_FUNCTION = 5.0  # and at most one of them for so much of Σ p(1-p)
_NEWTON_STEPS = 40
_LARGEST_STEP = 3.0  # of an intercept or a slope, in Newton's method
_CONVERGED = 1e-5
_SMALLEST = 1e-300
_SHORTEST = 0.3  # range, below which the probability of a larger one is 1 to all digits
_DEPENDENT = 1e-7  # the share of a function that is left when those before it are taken out
_LARGEST_P_VALUE = 0.99  # in a join, so that one test cannot outweigh the others by fitting too well
# What each test counts for in the join, the smooth one for each of its sums.
_SHARES = {"mean": 4.0, "line": 2.0, "cumulative": 1.0, "smooth": 0.5}
_SEVERAL_CLASSES = 1.2  # what the joined p-value is multiplied by: classes depend on each other
_POWER = 0.8
_PRICE = 0.25  # of joining tests, in standard deviations
_MOST_DRAWS = 2**31 - 1  # of one binomial number


class Test(NamedTuple):
    """One test of calibration: its statistic, and how probable one as large is if the probabilities are right."""

    name: str
    statistic: float
    p_value: float


class CalibrationTest(NamedTuple):
    """What `calibration_test` returns: the p-value of all tests together, the tests, and for several classes the kernel
    calibration error.

    Attributes
    ----------
    p_value : float
        Of all tests together; small if the probabilities are wrong.
    tests : tuple
        Every test with its name, statistic and p-value.
    kernel_error : KernelCalibrationError or None
        Of the whole vector, for several classes.
    """

    p_value: float
    tests: tuple[Test, ...]
    kernel_error: KernelCalibrationError | None = None


def calibration_test(
    y: ArrayLike,
    p: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
) -> CalibrationTest:
    """Could the probabilities be right? A small p-value says that they are not.

    Four tests of two classes, each strong where others are weak:

    - mean: the sum of the labels against that of the probabilities, z = Σw(y-p)/√(Σw p(1-p)), with its skewness;
    - line: Cox's likelihood ratio of log-odds of y = a + b · log-odds of p against a = 0, b = 1; χ² with 2 degrees;
    - cumulative: in the order of p, the range of the sums of y - p, without bins; that of a Brownian motion;
    - smooth: score tests of 3 to 12 functions of p, which are 1, the log-odds, and cosines of a mean of the rank and of
      the share of Σp(1-p) below p; χ² with as many degrees.

    They are joined by the weighted Cauchy rule, p = ½ - arctan(Σ_k s_k tan((½ - p_k)π))/π, which nearly keeps a small
    level under any dependence: benchmarks/bench_verdict.py counts its false alarms. Where Σw p(1-p) is below 15, all
    p-values are those of 499 draws of labels from the probabilities (with a fixed seed), which are exact. A row of a
    class whose probability was 0 is a certain fault: p = 0; where it was below 1e-12, p is at most the sum of all such
    probabilities. Of more than 2,000 different probabilities, neighbours are taken together.

    Of more than two classes, each is tested against the rest, the most probable one by whether it is true, and the
    whole vector by the squared kernel calibration error; each of the three counts a third in the join, whose p-value is
    multiplied by 1.2, since they depend on each other.

    Mathematics: formula (5.2), formula (5.3), formula (5.5), formula (5.6), formula (5.7).

    Parameters
    ----------
    y, p, sample_weight, classes
        As for `proper_score`. Whole weights are numbers of rows: 2 is the row twice. Others may have any scale: they
        are divided by Σw²(y - p)²/Σw(y - p)². For whole weights that are no numbers of rows, give `cluster` a value
        for each row.
    cluster : array of shape (n,), optional
        Rows of the same value, such as those of a customer or a day, need not be independent. They then count as
        fewer: all weights are divided by the design effect, the variance of Σw(y-p) between clusters over that between
        rows (at least 1). With a single cluster nothing can be told, and p = 1, unless probabilities of nearly 0
        were wrong; the test of the whole vector is left out.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression, Biometrika 45.
    Liu & Xie (2020), Cauchy combination test, JASA 115.
    Rao & Scott (1992), A simple method for the analysis of clustered binary data, Biometrics 48.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> p = random.beta(1.0, 5.0, 1000)
    >>> y = random.random(1000) < p
    >>> calibration_test(y, p).p_value > 0.05
    True
    >>> result = calibration_test(y, p**0.8)
    >>> result.p_value < 0.01, [test.name for test in result.tests]
    (True, ['mean', 'line', 'cumulative', 'smooth'])
    """
    forecast = read_forecast(y, p, sample_weight, classes).in_rows()
    return calibration_test_of(forecast, None if cluster is None else read_clusters(cluster, forecast))


def calibration_test_of(
    forecast: Forecast, cluster: NDArray[Any] | None = None, names: Sequence[str] | None = None
) -> CalibrationTest:
    """`calibration_test` of a checked forecast, of the numbers of the clusters, and of the names of the classes."""
    if forecast.binary:
        return _of_two_classes(forecast, cluster)
    top = _of_two_classes(forecast.most_probable(), cluster)
    by_class = [_of_two_classes(each, cluster).p_value for each in forecast.against_rest()]
    parts = [top.p_value, float(joined(np.array(by_class), np.ones(len(by_class))))]
    tests = [Test(f"most probable class: {each.name}", *each[1:]) for each in top.tests]
    tests += [
        Test(f"class {name}", np.nan, p) for name, p in zip(names or forecast.classes.tolist(), by_class, strict=True)
    ]
    kernel = kernel_error_of(forecast, cluster=cluster)
    if cluster is None:
        parts.append(kernel.p_value)
        tests.append(Test("whole vector", kernel.error, kernel.p_value))
    rule = min(_SEVERAL_CLASSES * float(joined(np.array(parts), np.ones(len(parts)))), 1.0)
    return CalibrationTest(0.0 if forecast.surprises else rule, tuple(tests), kernel)


def joined(p_values: Array, shares: Array) -> Array:
    """The Cauchy rule along the first axis."""
    cotangents = 1.0 / np.tan(np.pi * np.clip(p_values, _SMALLEST, _LARGEST_P_VALUE))
    return np.arctan2(1.0, np.tensordot(shares / shares.sum(), cotangents, 1)) / np.pi


def detectable_shift(information: float, level: float = 0.05) -> float:
    """The shift of all log-odds that the joined tests find with a probability of 80 %.

    A shift δ moves z by δ√information, where information is Σw p(1-p). The z-test alone finds it if that exceeds
    2.80 at a level of 5 %; the others cost a quarter more, as benchmarks/bench_verdict.py shows.

    >>> detectable_shift(930.25)
    0.1
    """
    return sum(deviations_needed(level)) / float(np.sqrt(information)) if information > 0.0 else np.inf


def deviations_needed(level: float) -> tuple[float, float]:
    """By how many standard deviations a number of positives must exceed what is expected for the joined tests to find
    it, and by how many its mean must exceed that bound for a power of 80 %.
    """
    return float(sc.ndtri(1.0 - 0.5 * level)) + _PRICE, float(sc.ndtri(_POWER))


@dataclass(frozen=True)
class Cells:
    """Rows by rising probability, without those of 0 and 1, which hold no chance."""

    p: Array
    weight: Array
    positive: Array

    @classmethod
    def of(cls, forecast: Forecast) -> Cells:
        """One cell for each distinct probability, or 20,000 of neighbours, whatever their labels."""
        return cls.inside(distinct_forecasts(forecast))

    @classmethod
    def inside(cls, found: DistinctForecasts) -> Cells:
        """Those of probabilities other than 0 and 1."""
        inside = (found.p > 0.0) & (found.p < 1.0)
        return cls(found.p[inside], found.weight[inside], found.positive[inside]).merged(_MOST_CELLS)

    def merged(self, most: int) -> Cells:
        """Neighbours taken together, in equal steps of the `clock`, where there are more cells than `most`."""
        if len(self.p) <= most:
            return self
        begins = np.flatnonzero(np.diff((self.clock * most).astype(np.intp), prepend=-1))
        sums = (np.add.reduceat(each, begins) for each in (self.weight * self.p, self.weight, self.positive))
        moment, weight, positive = sums
        return Cells(moment / weight, weight, positive)

    @property
    def variance(self) -> Array:
        """Of the positives of each cell, if the probabilities are right."""
        return self.weight * self.p * (1.0 - self.p)

    @property
    def clock(self) -> Array:
        """The place of each cell between 0 and 1, half by rows and half by variance, so that neither end is lost."""
        shares = (each / each.sum() for each in (self.weight, self.variance))
        return 0.5 * np.sum([np.cumsum(share) - 0.5 * share for share in shares], axis=0)


class _Found(NamedTuple):
    """A statistic, its p-value by a formula, and its share of the join.

    The first entry is that of the labels as they are; those of drawn ones may follow.
    """

    statistic: Array
    p_value: Array
    share: float


def _of_two_classes(forecast: Forecast, cluster: NDArray[Any] | None) -> CalibrationTest:
    distinct = distinct_forecasts(forecast)
    certainty = _certainty(distinct, forecast.surprises)
    certain = (certainty,) if certainty.statistic else ()
    cells, fewer = Cells.inside(distinct), design_effect(forecast, cluster)
    if len(cells.p) == 0 or fewer == np.inf:
        return CalibrationTest(certainty.p_value, certain)
    cells = Cells(cells.p, cells.weight / fewer, cells.positive / fewer).merged(_MOST_TESTED_CELLS)
    if cells.variance.sum() < _FEW:
        cells = cells.merged(_MOST_SIMULATED_CELLS)
        draw = label_drawer(cells.p, cells.weight, np.random.RandomState(0))
        found = _independent(cells, np.array([cells.positive] + [cells.weight * draw() for _ in range(_DRAWS)]))
    else:
        found = _independent(cells, cells.positive[None])
    p_values, shares = (np.array(each) for each in list(zip(*found.values(), strict=True))[1:])
    together = _exact(joined(p_values, shares))
    tests = (Test(name, float(each.statistic[0]), _exact(each.p_value)) for name, each in found.items())
    return CalibrationTest(min(certainty.p_value, together), (*certain, *tests))


def _certainty(found: DistinctForecasts, impossible: int) -> Test:
    """The rows of a class whose probability was 0, or too small for the other tests, which go by variances.

    That there is one among them is no more probable than the sum of their probabilities.
    """
    if impossible:
        return Test("certainty", float(impossible), 0.0)
    low, high = found.p <= _CERTAIN, 1.0 - found.p <= _CERTAIN
    chance = found.weight[low] @ found.p[low] + found.weight[high] @ (1.0 - found.p[high])
    against = float(found.positive[low].sum() + found.negative[high].sum())
    return Test("certainty", against, min(float(chance), 1.0) if against else 1.0)


def _exact(p_values: Array) -> float:
    """The share of p-values that are as small as the first, itself included; if it is the only one, the first."""
    if len(p_values) == 1:
        return float(p_values[0])
    return float(np.mean(p_values <= p_values[0] * (1.0 + 1e-9)))


def label_drawer(p: Array, weight: Array, random: np.random.RandomState) -> Callable[[], Array]:
    """A function that draws the share of positives of each cell if its probability is right.

    The share has the mean p and the variance p(1-p)/weight: binomial where the weight is whole.
    """
    draws = np.clip(np.rint(weight), 1, _MOST_DRAWS).astype(np.int64)
    spread = np.sqrt(draws / weight)
    if (draws == 1).all():
        return lambda: p + spread * ((random.random_sample(len(p)) < p) - p)
    return lambda: p + spread * (random.binomial(draws, p) / draws - p)


def _independent(cells: Cells, positive: Array) -> dict[str, _Found]:
    """All tests of rows that are independent, for each row of `positive`."""
    variance, residual = cells.variance, positive - cells.weight * cells.p
    total, information = residual.sum(axis=1), float(variance.sum())
    third = float((variance * (1.0 - 2.0 * cells.p)).sum())
    found = {"mean": _Found(total / np.sqrt(information), two_sided(total, information, third), _SHARES["mean"])}
    scaled, log_odds = np.sqrt(variance), sc.logit(cells.p)
    most = int(information / _PER_FUNCTION)
    orthogonal = _orthogonal(scaled[:, None] * _functions(log_odds, cells.clock), most)
    if orthogonal.shape[1] > 1:
        ratio = fitted_lines(log_odds, cells.weight, positive).ratio
        found["line"] = _Found(ratio, sc.chdtrc(2.0, ratio), _SHARES["line"])
        found["cumulative"] = _range(np.cumsum(residual / np.sqrt(information), axis=1))
    return found | _smooth((residual / scaled) @ orthogonal)


def _functions(log_odds: Array, clock: Array) -> Array:
    """What the smooth test looks for, a column each: a constant, the log-odds, and cosines of rising frequency."""
    waves = np.cos(np.pi * np.arange(1, _MOST_FUNCTIONS - 1) * clock[:, None])
    return np.column_stack([np.ones(len(log_odds)), log_odds, waves])


def _orthogonal(columns: Array, most: int) -> Array:
    """Orthonormal columns that span the first, the first two, ... of so many, at least two.

    Columns that depend on those before them are left out.
    """
    basis, triangle = np.linalg.qr(columns)
    kept = np.abs(np.diag(triangle)) > _DEPENDENT * np.linalg.norm(columns, axis=0)[: len(triangle)]
    return np.asarray(basis[:, kept][:, : max(2, most)])


def _smooth(normal: Array) -> dict[str, _Found]:
    """Of independent normal numbers in each row: sums of 3, 4, ... squares, whose p-values are joined."""
    orders = np.arange(3, normal.shape[1] + 1)
    if len(orders) == 0:
        return {}
    sums = np.cumsum(np.square(normal), axis=1).T[2:]
    p_values = sc.chdtrc(orders[:, None], sums)
    clearest = np.take_along_axis(sums, p_values.argmin(axis=0)[None], axis=0)[0]
    share = _SHARES["smooth"] * len(orders)
    return {"smooth": _Found(clearest, joined(p_values, np.ones(len(orders))), share)}


def _range(path: Array) -> _Found:
    """The range of a path from 0; that of a Brownian motion exceeds x with probability 8 Σ_k (-1)^(k+1) k Φ(-kx)."""
    x = np.maximum(path.max(axis=1), 0.0) - np.minimum(path.min(axis=1), 0.0)
    k = np.arange(1.0, 40.0)
    series = 8.0 * sc.ndtr(-k * np.maximum(x, _SHORTEST)[:, None]) @ np.where(k % 2.0 == 1.0, k, -k)
    return _Found(x, np.clip(series, 0.0, 1.0), _SHARES["cumulative"])


class Lines(NamedTuple):
    """Log-odds of y = intercept + slope · log-odds of p, fitted to one or more sets of labels of the same rows."""

    coef: Array  # (n, 2): intercepts and slopes
    information: Array  # (n, 3): of the intercept, of both, of the slope
    ratio: Array  # twice the log-likelihood that is gained over intercept 0 and slope 1
    converged: NDArray[np.bool_]


def fitted_lines(log_odds: Array, weight: Array, positive: Array) -> Lines:
    """By maximum likelihood, for each row of `positive`; where none is the best, far along the way to it."""
    columns = np.stack([np.ones_like(log_odds), log_odds])
    products = np.stack([columns[0], log_odds, np.square(log_odds)])

    def value(coef: Array, which: NDArray[np.intp]) -> Array:
        v = coef @ columns
        return np.asarray((positive[which] * v).sum(axis=1) - np.logaddexp(0.0, v) @ weight)

    n = len(positive)
    coef, information, damping = np.tile([0.0, 1.0], (n, 1)), np.empty((n, 3)), np.ones(n)
    which = np.arange(n)  # those on their way
    first = value(coef, which)
    best = first.copy()
    for _ in range(_NEWTON_STEPS):
        p = sc.expit(coef[which] @ columns)
        slope_at_zero, slope = ((positive[which] - weight * p) @ columns.T).T
        information[which] = (weight * p * (1.0 - p)) @ products.T
        one, both, square = information[which].T
        determinant = np.maximum(one * square - both * both, _SMALLEST)
        step = np.stack([square * slope_at_zero - both * slope, one * slope - both * slope_at_zero], axis=1)
        step /= determinant[:, None]
        longest = np.abs(step).max(axis=1)
        going = longest >= _CONVERGED
        which, step, longest = which[going], step[going], longest[going]
        if len(which) == 0:
            break
        step *= (damping[which] * np.minimum(1.0, _LARGEST_STEP / longest))[:, None]
        reached = value(coef[which] + step, which)
        better = reached >= best[which]
        coef[which[better]] += step[better]
        best[which[better]] = reached[better]
        damping[which] = np.where(better, np.minimum(4.0 * damping[which], 1.0), 0.25 * damping[which])
    return Lines(coef, information, np.maximum(2.0 * (best - first), 0.0), ~np.isin(np.arange(n), which))
