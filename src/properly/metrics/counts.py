"""Forecasts counted: the weight of either class at every distinct forecast, sorted once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.inputs.forecast import Forecast
from properly.numeric.isotonic import isotonic_blocks
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
