"""Ranking: the area under the ROC curve, with intervals by DeLong's method."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize
from scipy import special as sc

from properly.forecasts import read_binary
from properly.inputs.forecast import Forecast
from properly.inputs.options import CONFIDENCE, checked_confidence
from properly.inputs.weights import row_factor
from properly.metrics.paired import PairedDifference
from properly.metrics.thresholds import DistinctForecasts, distinct_forecasts, distinct_in_order
from properly.numeric.arrays import Array, namespace, require_values
from properly.numeric.functions import cumulative

_ROUNDING = 1e-15  # of shares


class AreaUnderCurve(NamedTuple):
    """The area under the ROC curve, its standard error and confidence interval.

    Attributes
    ----------
    area : float
        The probability that a positive is ranked above a negative.
    standard_error : float
        DeLong's.
    low, high : float
        The confidence interval.
    """

    area: float
    standard_error: float
    low: float
    high: float


def auc(
    y: ArrayLike,
    p: ArrayLike,
    *,
    confidence: float = CONFIDENCE,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> AreaUnderCurve:
    """The probability that a positive is ranked above a negative, ties counting half; with DeLong's standard error.

    The larger the better: 1 is perfect ranking, ½ chance. It says nothing about calibration.

    Mathematics: formula (6.5).

    Parameters
    ----------
    y, p, sample_weight, classes
        As for `proper_score`, of two classes, and rows of both. In the standard error whole weights are numbers of
        rows: 2 is the row twice. With others the rows of either class count as the effective number, (Σw)²/Σw².
    confidence : float, default 0.95
        Of the interval, which is a normal one on the scale of log-odds, and so stays within [0, 1].

    Returns
    -------
    AreaUnderCurve
        Where DeLong's variance is 0 or cannot be estimated (perfect ranking, or a class of one row), the interval is
        Newcombe's score interval with the variance of Hanley & McNeil, and the standard error theirs.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44. Newcombe (2006), Statistics in Medicine 25.

    Examples
    --------
    >>> result = auc([0, 0, 1, 1, 0, 1], [0.1, 0.4, 0.35, 0.8, 0.2, 0.9])
    >>> round(result.area, 4), round(result.standard_error, 4)
    (0.8889, 0.1571)
    """
    level = checked_confidence(confidence)
    return auc_of(read_binary(y, p, sample_weight, classes, keep_library=True), level)


def auc_of(forecast: Forecast, confidence: float = CONFIDENCE) -> AreaUnderCurve:
    """`auc` of a checked forecast of two classes."""
    z = float(sc.ndtri(0.5 + 0.5 * confidence))
    forecast, (n_negative, n_positive) = _in_rows(forecast)
    found = distinct_forecasts(forecast)
    above, below = _placements(found)
    area, error = _mean_and_error((above, found.positive), (below, found.negative))
    if error == 0.0 or not 0.0 < area < 1.0 or min(n_positive, n_negative) == 1.0:
        return _by_newcombe(area, n_positive, n_negative, z)
    centre, spread = sc.logit(area), z * error / (area * (1.0 - area))
    return AreaUnderCurve(area, error, float(sc.expit(centre - spread)), float(sc.expit(centre + spread)))


def auc_difference(
    y: ArrayLike,
    p_a: ArrayLike,
    p_b: ArrayLike,
    *,
    confidence: float = CONFIDENCE,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> PairedDifference:
    """The difference of the areas under the ROC curve of two forecasts of the same rows, a - b (above 0: a is better).

    Interval and test are DeLong's: normal, with the covariance of the two areas. Forecasts that rank alike differ by 0,
    with an interval of no width and a p-value of 1. Of others the variance may be unknown: if a class has one row, or
    if the difference is the same for every row, as between a perfect ranking and a reversed one. Then the interval is
    [-1, 1], and the p-value and the standard error are nan.

    Parameters
    ----------
    y, p_a, p_b, confidence, sample_weight, classes
        As for `auc`.

    Examples
    --------
    >>> result = auc_difference([0, 0, 1, 1, 0], [0.1, 0.4, 0.35, 0.8, 0.2], [0.6, 0.3, 0.35, 0.5, 0.2])
    >>> round(result.difference, 3), round(result.p_value, 3)
    (0.167, 0.724)
    """
    z = float(sc.ndtri(0.5 + 0.5 * checked_confidence(confidence)))
    for name, p in (("p_a", p_a), ("p_b", p_b)):
        require_values(p, name)
    first, second = (read_binary(y, p, sample_weight, classes) for p in (p_a, p_b))
    (first, counts), (second, _) = _in_rows(first), _in_rows(second)
    apart = _row_placements(first) - _row_placements(second)
    if not apart.any():
        return PairedDifference(0.0, 0.0, 0.0, 1.0, 0.0)
    weight = np.ones(len(apart)) if first.weight is None else first.weight
    sides = [(apart[rows], weight[rows]) for rows in (first.positive, ~first.positive)]
    difference, error = _mean_and_error(*sides)
    if counts.min() <= 1.0 or all(np.ptp(values) <= _ROUNDING for values, _ in sides):
        return PairedDifference(difference, -1.0, 1.0, np.nan, np.nan)
    p_value = float(sc.erfc(abs(difference) / error / np.sqrt(2.0)))
    return PairedDifference(difference, difference - z * error, difference + z * error, p_value, error)


def _in_rows(forecast: Forecast) -> tuple[Forecast, Array]:
    """With weights that are numbers of rows, in each class by itself; and those of negatives and positives."""
    if not forecast.class_weight.all():
        raise ValueError("a ranking needs rows of both classes, but all rows of positive weight belong to one.")
    weight, unit = forecast.weight, forecast.unit
    if weight is None or unit is None:
        return forecast, forecast.class_weight
    own = forecast.codes == 1
    factors = [row_factor(weight[each], unit[each]) for each in (own, ~own)]
    scaled = replace(forecast, weight=weight * namespace(weight).where(own, *factors))
    return scaled, np.maximum(scaled.class_weight, 1.0)  # less is by rounding


def _placements(found: DistinctForecasts) -> tuple[Array, Array]:
    """For a positive at each forecast the share of negatives below, for a negative that of positives above; ties half.

    Both have the area as their mean.
    """
    sums = ((x, cumulative(x)[1:]) for x in (found.negative, found.positive))
    above, below = ((upto - 0.5 * own) / upto[-1] for own, upto in sums)
    return above, 1.0 - below


def _row_placements(forecast: Forecast) -> Array:
    """The placement of every row, in the order in which the rows came."""
    order = np.argsort(forecast.p)
    found, sizes = distinct_in_order(forecast, order)
    above, below = (np.repeat(each, sizes) for each in _placements(found))
    placements = np.empty(len(order))
    placements[order] = np.where(forecast.positive[order], above, below)
    return placements


def _mean_and_error(positives: tuple[Array, Array], negatives: tuple[Array, Array]) -> tuple[float, float]:
    """The mean placement of positives, and its standard error; either class comes as placements and their weights."""
    mean, of_positives = _mean_and_variance(*positives)
    return mean, float(np.sqrt(of_positives + _mean_and_variance(*negatives)[1]))


def _mean_and_variance(values: Array, weight: Array) -> tuple[float, float]:
    """The weighted mean and its variance, which is 0 for a single row or less, as these say nothing about it."""
    xp = namespace(values)
    n_rows = float(xp.sum(weight))
    mean = float(xp.sum(weight * values) / n_rows)
    squares = float(xp.sum(weight * (values - mean) ** 2))
    return mean, squares / n_rows / (n_rows - 1.0) if n_rows > 1.0 else 0.0


def _by_newcombe(area: float, n_positive: float, n_negative: float, z: float) -> AreaUnderCurve:
    """The areas A with |area - A| <= z · standard error at A, from at least one row of either class."""
    if area < 0.5:
        mirrored = _by_newcombe(1.0 - area, n_positive, n_negative, z)
        return AreaUnderCurve(area, mirrored.standard_error, 1.0 - mirrored.high, 1.0 - mirrored.low)
    of_pairs = 1.0 / n_positive / n_negative
    of_rows = 0.5 / n_positive + 0.5 / n_negative - of_pairs

    def unit_variance(at: float) -> float:
        return of_pairs + of_rows * ((1.0 - at) / (2.0 - at) + at / (1.0 + at))

    def excess(at: float) -> float:
        return (area - at) ** 2 - z**2 * at * (1.0 - at) * unit_variance(at)

    def excess_of_perfect(at: float) -> float:  # without the factor 1 - at, which has a root of its own
        return (1.0 - at) - z**2 * at * unit_variance(at)

    error = float(np.sqrt(area * (1.0 - area) * unit_variance(area)))
    if area == 1.0:
        return AreaUnderCurve(area, error, float(optimize.brentq(excess_of_perfect, 0.0, 1.0)), 1.0)
    low, high = (float(optimize.brentq(excess, *ends)) for ends in ((0.0, area), (area, 1.0)))
    return AreaUnderCurve(area, error, low, high)
