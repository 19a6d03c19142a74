"""Probabilities that keep both tails: p, q = 1 - p, and their logarithms, carried together.

A probability near 1 is rounded in float64 (1 - 1e-17 is 1), its complement is not. Everything below the estimators
therefore passes the four arrays of `Probabilities` around, and a public function that takes `p` also takes `q`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from properly.numeric.arrays import Array as Array
from properly.numeric.arrays import anywhere, floats, namespace, to_numpy
from properly.numeric.arrays import as_float as as_float


class Probabilities(NamedTuple):
    """p, q = 1 - p and their logarithms, each accurate to its own last digit."""

    p: Array
    q: Array
    log_p: Array
    log_q: Array


def as_probabilities(p: ArrayLike, q: ArrayLike | None = None, name: str = "p") -> Probabilities:
    """Check that `p` (and `q`, if given) lie in [0, 1] and complete them; `q` matters where `p` is close to 1."""
    one, other = floats(**{name: p, "q": q})
    _require_probabilities(one, name)
    xp = namespace(one)
    if other is None:
        other = 1.0 - one
        with np.errstate(divide="ignore"):
            log_other = xp.log1p(-one)
    else:
        _require_probabilities(other, "q")
        one, other = xp.broadcast_arrays(one, other)
        total = one + other
        if anywhere(xp.abs(total - 1.0) > 1e-9):
            sums = to_numpy(total).ravel()
            worst = sums[np.argmax(np.abs(sums - 1.0))]
            raise ValueError(
                f"q must be 1 - {name}, but {name} + q is {worst:.17g} in one place; leave q out if unsure."
            )
        log_other = log_of_complement(other, one)
    return Probabilities(one, other, log_of_complement(one, other), log_other)


def _require_probabilities(p: Array, name: str) -> None:
    good = (p >= 0.0) & (p <= 1.0)
    if anywhere(~good):
        first = to_numpy(p)[~to_numpy(good)].flat[0]
        raise ValueError(f"{name} must lie in [0, 1], got {first!s}; turn scores into probabilities with a link first.")


def log_of_complement(p: Array, q: Array) -> Array:
    """ln p, taken from q = 1 - p where p is the larger of the two."""
    xp = namespace(p)
    with np.errstate(divide="ignore"):
        return xp.where(p <= 0.5, xp.log(p), xp.log1p(-xp.minimum(q, 0.5)))


def as_scores(v: ArrayLike, name: str = "v") -> Array:
    """`v` as float64, refused if it holds nan (infinite scores are meaningful: p is 0 or 1 there)."""
    scores: Array = floats(**{name: v})[0]
    require_no_missing(scores, name)
    return scores


def require_no_missing(v: Array, name: str = "v") -> None:
    if anywhere(namespace(v).isnan(v)):
        raise ValueError(f"{name} must not contain nan; drop or impute the missing scores first.")


def unwrap(x: Any) -> Any:
    """A 0-dimensional array becomes a NumPy scalar, as in NumPy's own functions."""
    return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x


def product(x: Array, y: Array) -> Array:
    """x y, with 0 · ∞ = 0: the zero is an exact limit, the infinity only an overflow."""
    return namespace(x, y).where((x == 0.0) | (y == 0.0), 0.0, x * y)


def without_nan(x: Array) -> Array:
    """0 in place of nan: outside the support of a link p is constant, but its derivatives come out as ∞ - ∞ or 0/0."""
    xp = namespace(x)
    return xp.where(xp.isnan(x), 0.0, x)
