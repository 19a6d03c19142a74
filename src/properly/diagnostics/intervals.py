"""Intervals of shares, and results as data frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import special as sc

from properly.inputs.optional import require
from properly.numeric.probabilities import Array


def jeffreys_interval(positive: Array, negative: Array, confidence: float) -> tuple[Array, Array]:
    """Of a share of positives, from the weights of both: quantiles of Beta(positive + ½, negative + ½).

    The lower end is 0 without positives, the upper end 1 without negatives. On average over all shares the
    interval covers the true one as often as it says, also for rare classes, where the normal one does not.

    >>> low, high = jeffreys_interval(np.array([0.0, 5.0]), np.array([10.0, 5.0]), 0.9)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.262]), array([0.171, 0.738]))
    """
    tail = 0.5 * (1.0 - confidence)
    a, b = positive + 0.5, negative + 0.5
    low = np.where(positive > 0.0, sc.betaincinv(a, b, tail), 0.0)
    high = np.where(negative > 0.0, sc.betainccinv(a, b, tail), 1.0)
    return low, high


def as_frame(columns: Mapping[str, Any]) -> Any:
    """A pandas DataFrame with these columns."""
    return require("pandas", "frames").DataFrame(dict(columns))
