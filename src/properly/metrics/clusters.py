"""Rows that belong together, such as those of a customer: how much less they tell than independent ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special as sc

from properly.inputs.forecast import Forecast
from properly.inputs.weights import squares
from properly.numeric.probabilities import Array

_UPPER, _DEVIATIONS = 0.975, 1.96  # of a normal number


def cluster_sums(values: Array, cluster: NDArray[Any]) -> Array:
    """The sums of one or more columns over the rows of each cluster."""
    number = np.unique(cluster, return_inverse=True)[1]
    columns = values.reshape(len(values), -1).T
    return np.column_stack([np.bincount(number, column) for column in columns])


def design_effect(forecast: Forecast, cluster: NDArray[Any] | None) -> float:
    """How many rows that belong together tell as much as one independent row; at least 1, ∞ for a single cluster.

    Without clusters it is 1 for weights that are numbers of rows, and otherwise Σw²(y - p)²/Σw(y - p)², which undoes
    any scale of the weights, and holds for weights that differ between the classes as well.

    The variance of the sum of w(y - p) between clusters, over that between independent rows. It is estimated from G
    clusters (or, where their sizes differ, from as many equal ones as G = (Σv)²/Σv², with v = Σw p(1-p) of a cluster),
    and therefore widened as the t distribution with G - 1 degrees of freedom is wider than the normal one.

    References
    ----------
    Rao & Scott (1992), A simple method for the analysis of clustered binary data, Biometrics 48.

    Examples
    --------
    >>> positive, p = np.arange(400) % 2 == 0, np.full(400, 0.5)
    >>> rows = Forecast.of_positives(np.repeat(positive, 10), np.repeat(p, 10))
    >>> round(design_effect(rows, np.repeat(np.arange(400), 10)), 1)
    10.1
    """
    if cluster is None and forecast.unit is None:
        return 1.0
    weight = np.ones(len(forecast.p)) if forecast.weight is None else forecast.weight
    residual = forecast.positive - forecast.p
    residual -= np.average(residual, weights=weight)
    if cluster is None:
        largest = weight.max()
        share, unit = weight / largest, None if forecast.unit is None else forecast.unit / largest
        square = np.square(residual)
        if share @ square == 0.0:
            square = np.ones(len(share))
        return float(squares(share, unit) @ square / (share @ square) * largest)
    sums, chances = cluster_sums(
        np.column_stack([weight * residual, weight * forecast.p * (1.0 - forecast.p)]), cluster
    ).T
    within = float(weight @ np.square(residual))
    if within == 0.0 or chances.sum() == 0.0:
        return 1.0
    degrees = float(np.square(chances.sum()) / np.square(chances).sum()) - 1.0
    if len(sums) == 1 or degrees <= 0.0:
        return np.inf
    between = float(np.square(sums).sum()) * (degrees + 1.0) / degrees
    return max(1.0, between / within) * float(sc.stdtrit(degrees, _UPPER) / _DEVIATIONS) ** 2
