"""Default class proportions, and bounds on those that are estimated from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from properly.numeric.probabilities import Array, as_float
from properly.prevalence.prior import as_prior

_SUM_TOLERANCE = 1e-9


def n_classes_of(default_prevalence: ArrayLike | None) -> int:
    """The number of classes that a default asks for: its length, 2 if it is a number or missing."""
    return 2 if default_prevalence is None else max(2, np.size(default_prevalence))


def checked_default(default_prevalence: ArrayLike | None, n_classes: int) -> Array:
    """ν(y) of every class: a number is that of class 1 out of two, None means all alike."""
    if default_prevalence is None:
        return np.full(n_classes, 1.0 / n_classes)
    return as_prior(default_prevalence, n_classes, "default_prevalence")


def checked_bounds(bounds: Any, n_classes: int) -> Array:
    """The lowest and highest proportion of every class, of shape (n_classes, 2).

    A pair is meant for class 1 out of two, a mapping names classes, an array has a row for each.
    """
    result = np.tile([0.0, 1.0], (n_classes, 1))
    if isinstance(bounds, Mapping):
        unknown = [label for label in bounds if label not in range(n_classes)]
        if unknown:
            raise ValueError(f"prevalence_bounds names {unknown[0]!r}, which is no class: 0 … {n_classes - 1}.")
        for label, pair in bounds.items():
            result[int(label)] = _pair(pair)  # 1.0 and True are names of class 1, too
    elif np.ndim(bounds) == 1 and n_classes == 2:
        result[1] = _pair(bounds)
    else:
        result = as_float(bounds, "prevalence_bounds")
        if result.shape != (n_classes, 2):
            raise ValueError(
                "prevalence_bounds must be (low, high) for class 1 out of two, a mapping from classes to pairs, or of "
                f"shape ({n_classes}, 2), got shape {result.shape}."
            )
    low, high = result.T
    if not np.all((low >= 0.0) & (low <= high) & (high <= 1.0)):
        raise ValueError(f"prevalence_bounds must have 0 ≤ low ≤ high ≤ 1 for every class, got {result.tolist()}.")
    if low.sum() > 1.0 + _SUM_TOLERANCE or high.sum() < 1.0 - _SUM_TOLERANCE:
        raise ValueError(
            f"prevalence_bounds contradict each other: proportions add up to 1, but the lowest add up to {low.sum():g} "
            f"and the highest to {high.sum():g}."
        )
    return result


def projected(prevalence: Array, bounds: Array) -> Array:
    """argmin RE(p ‖ prevalence) over proportions p within bounds: p_y = c · prevalence_y, cut off at its bounds.

    The sum grows with c and is linear between the values at which a class reaches a bound.

    >>> projected(np.array([0.9, 0.06, 0.04]), np.array([[0.0, 1.0], [0.1, 1.0], [0.0, 0.05]]))
    array([0.86, 0.1 , 0.04])
    """
    low, high = bounds.T

    def at(c: Array) -> Array:
        return np.clip(np.outer(c, prevalence), low, high)

    corners = np.unique(np.append(bounds.T / prevalence, 0.0))
    sums = at(corners).sum(axis=1)
    c = np.interp(1.0, sums, corners)
    p = at(np.array([c]))[0]
    return np.asarray(p / p.sum())


def _pair(bounds: Any) -> Array:
    pair = as_float(bounds, "prevalence_bounds")
    if pair.shape != (2,):
        raise ValueError(f"prevalence_bounds must give (low, high) for a class, got {bounds!r}.")
    return pair
