"""Tails of sums, from their first three moments."""

from __future__ import annotations

import numpy as np
from scipy import special as sc

from properly.numeric.probabilities import Array

_ALMOST_NORMAL = 1e-3  # a skewness, below which the normal distribution is used
_MOST_SKEWED = 1e3  # larger ones make no difference


def tails(excess: Array | float, variance: Array | float, third: Array | float) -> tuple[Array, Array]:
    """P(sum ≤ mean + excess) and P(sum ≥ mean + excess), of the gamma distribution with these central moments.

    It is shifted, and mirrored where the third moment is negative; without variance both are 1. For a sum of labels,
    which jumps, each is about P(beyond) + ½ P(there).

    >>> lower, upper = tails(np.array([-1.0, 0.0, 3.0]), 1.0, 0.0)
    >>> lower.round(4), upper.round(4)
    (array([0.1587, 0.5   , 0.9987]), array([0.8413, 0.5   , 0.0013]))
    """
    x, skewness = _standardised(excess, variance, third)
    shape = _shape(skewness)
    place = np.maximum(shape + np.sqrt(shape) * np.where(skewness < 0.0, -x, x), 0.0)
    below, above = sc.gammainc(shape, place), sc.gammaincc(shape, place)
    normal = np.abs(skewness) < _ALMOST_NORMAL
    lower = np.where(normal, sc.ndtr(x), np.where(skewness < 0.0, above, below))
    upper = np.where(normal, sc.ndtr(-x), np.where(skewness < 0.0, below, above))
    unknown = np.asarray(variance) <= 0.0
    return np.where(unknown, 1.0, lower), np.where(unknown, 1.0, upper)


def two_sided(excess: Array | float, variance: Array | float, third: Array | float = 0.0) -> Array:
    """Twice the smaller tail, at most 1."""
    return np.minimum(2.0 * np.minimum(*tails(excess, variance, third)), 1.0)


def quantile(tail: float, variance: Array, third: Array) -> Array:
    """The excess over the mean whose lower tail is `tail`.

    >>> quantile(0.975, np.array([4.0]), np.array([0.0])).round(3)
    array([3.92])
    """
    deviation = np.sqrt(variance)
    _, skewness = _standardised(0.0, variance, third)
    shape = _shape(skewness)
    above = (sc.gammaincinv(shape, tail) - shape) / np.sqrt(shape)
    below = (shape - sc.gammainccinv(shape, tail)) / np.sqrt(shape)
    x = np.where(np.abs(skewness) < _ALMOST_NORMAL, sc.ndtri(tail), np.where(skewness < 0.0, below, above))
    return deviation * x


def _standardised(excess: Array | float, variance: Array | float, third: Array | float) -> tuple[Array, Array]:
    variance = np.where(np.asarray(variance) > 0.0, variance, 1.0)
    deviation = np.sqrt(variance)
    x = np.asarray(excess) / deviation
    return x, np.broadcast_to(np.clip(third / variance / deviation, -_MOST_SKEWED, _MOST_SKEWED), x.shape)


def _shape(skewness: Array) -> Array:
    """Of the gamma distribution: its skewness is 2/√shape."""
    return 4.0 / np.square(np.maximum(np.abs(skewness), _ALMOST_NORMAL))
