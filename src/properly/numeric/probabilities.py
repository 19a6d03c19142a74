"""Probabilities that keep both tails: p, q = 1 - p, and their logarithms, carried together.

A probability near 1 is rounded in float64 (1 - 1e-17 is 1), its complement is not. Everything below the estimators
therefore passes the four arrays of `Probabilities` around, and a public function that takes `p` also takes `q`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Probabilities(NamedTuple):
    """p, q = 1 - p and their logarithms, each accurate to its own last digit."""

    p: Array
    q: Array
    log_p: Array
    log_q: Array


def as_probabilities(p: ArrayLike, q: ArrayLike | None = None, name: str = "p") -> Probabilities:
    """Check that `p` (and `q`, if given) lie in [0, 1] and complete them; `q` matters where `p` is close to 1."""
    p = _checked_probability(p, name)
    if q is None:
        q = 1.0 - p
        with np.errstate(divide="ignore"):
            log_q = np.log1p(-p)
    else:
        q = _checked_probability(q, "q")
        p, q = np.broadcast_arrays(p, q)
        total = p + q
        if np.any(np.abs(total - 1.0) > 1e-9):
            worst = total.flat[np.argmax(np.abs(total - 1.0))]
            raise ValueError(
                f"q must be 1 - {name}, but {name} + q is {worst:.17g} in one place; leave q out if unsure."
            )
        log_q = log_of_complement(q, p)
    return Probabilities(p, q, log_of_complement(p, q), log_q)


def log_of_complement(p: Array, q: Array) -> Array:
    """ln p, taken from q = 1 - p where p is the larger of the two."""
    with np.errstate(divide="ignore"):
        return np.where(p <= 0.5, np.log(p), np.log1p(-np.minimum(q, 0.5)))


def as_scores(v: ArrayLike, name: str = "v") -> Array:
    """`v` as float64, refused if it holds nan (infinite scores are meaningful: p is 0 or 1 there)."""
    v = as_float(v, name)
    if np.isnan(v).any():
        raise ValueError(f"{name} must not contain nan; drop or impute the missing scores first.")
    return v


def as_float(x: ArrayLike, name: str) -> Array:
    try:
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, got a {type(x).__name__} that is not numeric.") from error


def unwrap(x: Any) -> Any:
    """A 0-dimensional array becomes a NumPy scalar, as in NumPy's own functions."""
    return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x


def product(x: Array, y: Array) -> Array:
    """x y, with 0 · ∞ = 0: the zero is an exact limit, the infinity only an overflow."""
    return np.where((x == 0.0) | (y == 0.0), 0.0, x * y)


def without_nan(x: Array) -> Array:
    """0 in place of nan: outside the support of a link p is constant, but its derivatives come out as ∞ - ∞ or 0/0."""
    return np.where(np.isnan(x), 0.0, x)


def _checked_probability(p: ArrayLike, name: str) -> Array:
    p = as_float(p, name)
    bad = ~((p >= 0.0) & (p <= 1.0))
    if bad.any():
        raise ValueError(
            f"{name} must lie in [0, 1], got {p[bad].flat[0]!s}; turn scores into probabilities with a link first."
        )
    return p
