"""What decisions by p >= threshold cost and gain."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.inputs.forecast import Forecast, read_binary
from properly.inputs.options import checked_thresholds
from properly.numeric.probabilities import Array


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
