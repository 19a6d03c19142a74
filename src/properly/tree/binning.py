"""Features as small whole numbers: bins of values that a split does not tell apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.numeric.probabilities import Array


class Bins(NamedTuple):
    """The bins of one feature and the bin of every row; a missing value has the code ``len(low)``."""

    code: NDArray[Any]  # (n_rows,)
    low: Array  # the smallest value in each bin
    high: Array  # the largest
    categorical: bool


def exact_weights(weight: Array) -> Array:
    """Weights rounded to a common unit, so fine that their sum has 52 digits: sums and differences of them are exact.

    Whole numbers stay what they are. What is lost is below 2⁻⁵² of the sum of all weights, in each row.
    """
    _, exponent = np.frexp(weight.sum())
    return np.ldexp(np.round(np.ldexp(weight, 52 - exponent)), exponent - 52)


def bin_categories(x: Array, n_categories: int) -> Bins:
    """A bin for every category, whose codes 0, 1, ... in x are those of the bins; none are put together."""
    values = np.arange(float(n_categories))
    return _coded(x, values, values, categorical=True)


def bin_numbers(x: Array, weight: Array | None, n_bins: int) -> Bins:
    """One bin per distinct value where there are at most `n_bins`, else bins of about equal weight."""
    values, weight_of = _distinct(x, weight)
    if len(values) <= n_bins:
        return _coded(x, values, values, categorical=False)
    below = np.cumsum(weight_of)
    wanted = below[-1] * np.arange(1, n_bins + 1) / n_bins
    last = np.unique(np.searchsorted(below, wanted * (1.0 - 1e-12)))  # rounding must not move a value on an edge
    last[-1] = len(values) - 1  # nor leave out the largest
    first = np.concatenate([[0], last[:-1] + 1])
    return _coded(x, values[first], values[last], categorical=False)


def _distinct(x: Array, weight: Array | None) -> tuple[Array, Array]:
    """The distinct values of x that are not missing, in order, and the weight of each."""
    present = ~np.isnan(x)
    if not present.all():
        x, weight = x[present], None if weight is None else weight[present]
    if weight is None:
        ordered = np.sort(x)
        first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(x) else np.arange(0)
        return ordered[first], np.diff(first, append=len(x)).astype(np.float64)
    values, position = np.unique(x, return_inverse=True)
    return values, np.asarray(np.bincount(position, weight, len(values)), dtype=np.float64)


def _coded(x: Array, low: Array, high: Array, categorical: bool) -> Bins:
    code = np.searchsorted(high, x)  # missing values come last
    return Bins(code.astype(np.min_scalar_type(len(high))), low, high, categorical)
