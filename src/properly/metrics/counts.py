"""Forecasts counted: the weight of either class at every distinct forecast, sorted once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.inputs.forecast import Forecast
from properly.numeric.isotonic import isotonic_blocks
from properly.numeric.probabilities import Array


class Cuts(NamedTuple):
    """The distinct forecasts in rising order, and the weight of negatives and positives at each."""

    values: Array
    negative: Array
    positive: Array

    @property
    def missed(self) -> Array:
        """The weight of positives below each value, and below a threshold above them all."""
        return np.concatenate([[0.0], np.cumsum(self.positive)])

    @property
    def false(self) -> Array:
        """The weight of negatives at or above each value, and above them all."""
        return np.concatenate([np.cumsum(self.negative[::-1])[::-1], [0.0]])


def cuts_of(forecast: Forecast) -> Cuts:
    """All places where decisions change, by one sort."""
    if forecast.weight is not None:
        return ordered_cuts(forecast, np.argsort(forecast.p))[0]
    # The two highest bits of a float64 in [0, 1] are 0, and numbers are in the order of their bits: with the label
    # as a new lowest bit a single plain sort, much faster than an argsort, brings both into order.
    keys = np.abs(forecast.p).view(np.uint64) << np.uint64(1)  # -0 has a sign
    keys |= forecast.codes.view(np.uint8)
    keys.sort()
    own = (keys & np.uint64(1)).astype(np.int8)
    keys >>= np.uint64(1)
    begins = group_begins(keys)
    sizes = np.diff(begins, append=len(keys))
    positive = _group_sums(own, begins)
    return Cuts(keys[begins].view(np.float64), sizes - positive, positive)


def ordered_cuts(forecast: Forecast, order: NDArray[np.intp]) -> tuple[Cuts, NDArray[np.intp]]:
    """The cuts from a known order of the rows, and the number of rows at each."""
    p, positive = forecast.p[order], forecast.positive[order]
    begins = group_begins(p)
    weight = np.ones(len(p)) if forecast.weight is None else forecast.weight[order]
    cuts = Cuts(p[begins], _group_sums(weight * ~positive, begins), _group_sums(weight * positive, begins))
    return cuts, np.diff(begins, append=len(p))


def group_begins(ordered: NDArray[np.generic]) -> NDArray[np.intp]:
    """Where each of the distinct values begins."""
    new = np.empty(len(ordered), dtype=bool)
    new[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return np.flatnonzero(new)


def _group_sums(values: NDArray[np.generic], begins: NDArray[np.intp]) -> Array:
    if len(begins) == len(values):
        return values.astype(np.float64)
    return np.add.reduceat(values, begins, dtype=np.float64)


class PointCounts(NamedTuple):
    """Distinct forecasts from small to large, the weight of their rows, and the weight of the positives among these."""

    forecast: Array
    weight: Array
    positive: Array


def point_counts(forecast: Forecast, max_points: int) -> PointCounts:
    """Count every distinct forecast; if there are more than `max_points`, neighbours are taken together.

    The groups of neighbours have about equal weight, and none reaches across two blocks of the isotonic regression of
    all rows (unless there are more than half as many blocks as points): that of the groups is the same, exactly.
    """
    cuts = cuts_of(forecast)
    exact = PointCounts(cuts.values, cuts.negative + cuts.positive, cuts.positive)
    if len(exact.forecast) <= max_points:
        return exact
    return _grouped(exact, _group_starts(exact, max_points))


def _group_starts(exact: PointCounts, max_points: int) -> NDArray[np.intp]:
    blocks = isotonic_blocks(exact.positive, exact.weight)
    if 2 * len(blocks) > max_points:
        blocks = blocks[:1]
    n_equal = max_points - len(blocks)
    below = np.cumsum(exact.weight)
    equal = np.searchsorted(below, below[-1] * np.arange(1, n_equal) / n_equal)
    return np.union1d(blocks, np.minimum(equal, len(below) - 1))


def _grouped(exact: PointCounts, starts: NDArray[np.intp]) -> PointCounts:
    weight, positive = np.add.reduceat(exact.weight, starts), np.add.reduceat(exact.positive, starts)
    mean = np.add.reduceat(exact.weight * exact.forecast, starts) / weight
    last = np.append(starts[1:], len(exact.forecast)) - 1
    return PointCounts(
        np.clip(mean, exact.forecast[starts], exact.forecast[last]), weight, positive
    )  # rounding stays inside
