"""Rows counted by forecast and class: at every distinct forecast, and below and above thresholds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.forecasts import read_binary
from properly.inputs.forecast import Forecast
from properly.inputs.options import checked_thresholds
from properly.numeric.arrays import is_foreign, namespace
from properly.numeric.functions import sums_between
from properly.numeric.isotonic import first_of_equals, isotonic_blocks
from properly.numeric.probabilities import Array


class DistinctForecasts(NamedTuple):
    """The distinct forecasts in rising order, and the weight of negatives and positives at each."""

    p: Array
    negative: Array
    positive: Array

    @property
    def weight(self) -> Array:
        return self.negative + self.positive

    @property
    def positives_below(self) -> Array:
        """The weight of positives below each forecast, and below a threshold above them all: the misses."""
        return np.concatenate([[0.0], np.cumsum(self.positive)])

    @property
    def negatives_from(self) -> Array:
        """The weight of negatives from each forecast on, and above them all: the false alarms."""
        return np.concatenate([np.cumsum(self.negative[::-1])[::-1], [0.0]])


def distinct_forecasts(forecast: Forecast) -> DistinctForecasts:
    """All places where decisions change, by one sort."""
    if is_foreign(forecast.p):
        return _distinct_there(forecast)
    if forecast.weight is not None:
        return distinct_in_order(forecast, np.argsort(forecast.p))[0]
    # The two highest bits of a float64 in [0, 1] are 0, and numbers are in the order of their bits: with the label
    # as a new lowest bit a single plain sort, much faster than an argsort, brings both into order.
    keys = np.abs(forecast.p).view(np.uint64) << np.uint64(1)  # -0 has a sign
    keys |= forecast.codes.view(np.uint8)
    keys.sort()
    own = (keys & np.uint64(1)).astype(np.int8)
    keys >>= np.uint64(1)
    begins = _begins(keys)
    positive = _sums(own, begins)
    return DistinctForecasts(keys[begins].view(np.float64), np.diff(begins, append=len(keys)) - positive, positive)


def _distinct_there(forecast: Forecast) -> DistinctForecasts:
    """The same, sorted and added up in the library of the forecasts, without weights by whole numbers."""
    xp = namespace(forecast.p)
    order = xp.argsort(forecast.p)
    p = xp.take(forecast.p, order)
    begins = first_of_equals(p)
    edges = xp.concat([begins, xp.zeros_like(begins[:1]) + p.shape[0]])
    own = xp.astype(xp.take(forecast.codes, order), xp.float64)
    weight = xp.ones_like(own) if forecast.weight is None else xp.take(forecast.weight, order)
    sums = (sums_between(weight * side, edges) for side in (1.0 - own, own))
    return DistinctForecasts(xp.take(p, begins), *sums)


def distinct_in_order(forecast: Forecast, order: NDArray[np.intp]) -> tuple[DistinctForecasts, NDArray[np.intp]]:
    """The distinct forecasts from a known order of the rows, and the number of rows at each."""
    p, positive = forecast.p[order], forecast.positive[order]
    begins = _begins(p)
    weight = np.ones(len(p)) if forecast.weight is None else forecast.weight[order]
    found = DistinctForecasts(p[begins], _sums(weight * ~positive, begins), _sums(weight * positive, begins))
    return found, np.diff(begins, append=len(p))


def grouped_forecasts(forecast: Forecast, max_points: int) -> tuple[Array, Array, Array]:
    """Every distinct forecast with its weight and that of its positives; neighbours are grouped if there are too many.

    The groups of neighbours have about equal weight, and none reaches across two blocks of the isotonic regression of
    all rows (unless there are more than half as many blocks as points): that of the groups is the same, exactly.
    """
    found = distinct_forecasts(forecast)
    p, weight, positive = found.p, found.weight, found.positive
    if len(p) <= max_points:
        return p, weight, positive
    blocks = isotonic_blocks(positive, weight)
    if 2 * len(blocks) > max_points:
        blocks = blocks[:1]
    n_equal = max_points - len(blocks)
    below = np.cumsum(weight)
    equal = np.searchsorted(below, below[-1] * np.arange(1, n_equal) / n_equal)
    begins = np.union1d(blocks, np.minimum(equal, len(below) - 1))
    last = np.append(begins[1:], len(p)) - 1
    moment, weight, positive = (np.add.reduceat(each, begins) for each in (weight * p, weight, positive))
    return np.clip(moment / weight, p[begins], p[last]), weight, positive  # rounding stays inside


def _begins(ordered: NDArray[np.generic]) -> NDArray[np.intp]:
    """Where each of the distinct values begins."""
    new = np.empty(len(ordered), dtype=bool)
    new[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return np.flatnonzero(new)


def _sums(values: NDArray[np.generic], begins: NDArray[np.intp]) -> Array:
    if len(begins) == len(values):
        return values.astype(np.float64)
    return np.add.reduceat(values, begins, dtype=np.float64)


def cost_weighted_error(
    y: ArrayLike,
    p: ArrayLike,
    threshold: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> float | Array:
    """What decisions at a threshold c cost, if c is the cost of a false alarm and 1 - c that of a miss.

    The mean of L_c = (1 - c) 1[p < c] at y = 1 and c 1[p >= c] at y = 0; the smaller the better. A row is called
    positive when p >= c, which is the best decision at these costs if p is right. Every proper score is an average of
    these errors over c, with its own weight function ω(c). `properly.diagnostics.murphy` shows them at all thresholds.

    Parameters
    ----------
    y, p, sample_weight, classes
        As for `proper_score`, of two classes.
    threshold : number or array in [0, 1]
        Many thresholds cost little more than one.

    Returns
    -------
    float, or an array of the shape of `threshold`

    Examples
    --------
    >>> cost_weighted_error([0, 0, 1, 1], [0.1, 0.6, 0.3, 0.8], 0.5)
    0.25
    >>> cost_weighted_error([0, 0, 1, 1], [0.1, 0.6, 0.3, 0.8], [0.25, 0.5, 0.75])
    array([0.0625, 0.25  , 0.0625])
    """
    forecast = read_binary(y, p, sample_weight, classes)
    errors = errors_at(forecast, checked_thresholds(threshold))
    return float(errors) if errors.ndim == 0 else errors


def errors_at(forecast: Forecast, at: Array) -> Array:
    """`cost_weighted_error` of a checked forecast, at thresholds in any order and shape."""
    ordered = np.unique(at)
    shares = _weight_between(forecast, forecast.p, ordered) / forecast.total
    missed, false = np.cumsum(shares[:-1, 1]), _from_above(shares[:, 0])
    index = np.searchsorted(ordered, at)
    return np.asarray((1.0 - at) * missed[index] + at * false[index])


def net_benefits(forecast: Forecast, at: Array) -> Array:
    """True positives less false positives weighted by c/(1 - c), per row, at sorted thresholds c below 1."""
    shares = _weight_between(forecast, forecast.p, at) / forecast.total
    return _from_above(shares[:, 1]) - _from_above(shares[:, 0]) * (at / (1.0 - at))


def shares_below(forecast: Forecast, p: Array, at: Array) -> Array:
    """For each sorted threshold c the share of all rows that are negative with p < c, and positive with p < c."""
    return np.cumsum(_weight_between(forecast, p, at)[:-1], axis=0).T / forecast.total


def _weight_between(forecast: Forecast, p: Array, at: Array) -> NDArray[Any]:
    """The weight of negatives and of positives with p between two neighbouring thresholds (n_thresholds + 1, 2).

    Nothing is sorted but the thresholds: each row is counted by the number of thresholds that do not exceed its p.
    """
    position = np.searchsorted(at, p, side="right")
    counted = np.bincount(2 * position + forecast.codes, forecast.weight, 2 * (len(at) + 1))
    return counted.reshape(-1, 2)


def _from_above(shares: Array) -> Array:
    """The sum of all shares above each threshold."""
    return np.cumsum(shares[::-1])[-2::-1]
