"""Forecasts counted: how much weight each value has, and how much of it is positive. Sorted once, short ever after."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.calibration.isotonic import isotonic_blocks
from properly.metrics.inputs import Forecast
from properly.metrics.ordering import cuts_of
from properly.probabilities import Array


class Tally(NamedTuple):
    """Distinct forecasts from small to large, the weight of their rows, and the weight of the positives among these."""

    forecast: Array
    weight: Array
    positive: Array


def tally(forecast: Forecast, max_points: int) -> Tally:
    """Count every distinct forecast; if there are more than `max_points`, neighbours are taken together.

    The groups of neighbours have about equal weight, and none reaches across two blocks of the isotonic regression of
    all rows (unless there are more than half as many blocks as points): that of the groups is the same, exactly.
    """
    cuts = cuts_of(forecast)
    exact = Tally(cuts.values, cuts.negative + cuts.positive, cuts.positive)
    if len(exact.forecast) <= max_points:
        return exact
    return _grouped(exact, _group_starts(exact, max_points))


def isotonic_rates(positive: Array, weight: Array) -> Array:
    """The non-decreasing shares of positives closest to the observed ones: those of pooled adjacent violators."""
    blocks = isotonic_blocks(positive, weight)
    rates = np.maximum.accumulate(np.add.reduceat(positive, blocks) / np.add.reduceat(weight, blocks))
    return np.repeat(rates, np.diff(blocks, append=len(weight)))


def _group_starts(exact: Tally, max_points: int) -> NDArray[np.intp]:
    blocks = isotonic_blocks(exact.positive, exact.weight)
    if 2 * len(blocks) > max_points:
        blocks = blocks[:1]
    n_equal = max_points - len(blocks)
    below = np.cumsum(exact.weight)
    equal = np.searchsorted(below, below[-1] * np.arange(1, n_equal) / n_equal)
    return np.union1d(blocks, np.minimum(equal, len(below) - 1))


def _grouped(exact: Tally, starts: NDArray[np.intp]) -> Tally:
    weight, positive = np.add.reduceat(exact.weight, starts), np.add.reduceat(exact.positive, starts)
    mean = np.add.reduceat(exact.weight * exact.forecast, starts) / weight
    last = np.append(starts[1:], len(exact.forecast)) - 1
    return Tally(np.clip(mean, exact.forecast[starts], exact.forecast[last]), weight, positive)  # rounding stays inside
