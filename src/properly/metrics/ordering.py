"""Forecasts in rising order: where decisions change, and how many rows of either class lie at each place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.metrics.inputs import Forecast
from properly.probabilities import Array


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
