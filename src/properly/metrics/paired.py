"""Which of two forecasts is better, and could it be chance? Both are judged on the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special as sc
from sklearn.utils import check_random_state

from properly.inputs.options import Seed, checked_confidence, checked_count
from properly.inputs.weights import checked_weight
from properly.numeric.probabilities import Array, as_float

_MOST_UNITS = 10_000  # more rows are pooled at random into this many groups, and these are resampled
_DRAWS_AT_ONCE = 1 << 20


class SignTest(NamedTuple):
    """On how many rows either forecast had the smaller loss, and how probable so uneven a split is by chance."""

    wins_a: float
    wins_b: float
    ties: float
    p_value: float


class PairedDifference(NamedTuple):
    """A difference a - b with its confidence interval, two-sided p-value for no difference, and standard error."""

    difference: float
    low: float
    high: float
    p_value: float
    standard_error: float


def sign_test(losses_a: ArrayLike, losses_b: ArrayLike, *, sample_weight: ArrayLike | None = None) -> SignTest:
    """The paired micro sign test: of the rows where the losses differ, does one forecast win too often for chance?

    Without a difference, wins ~ Binomial(number of unequal rows, ½); the p-value is exact and two-sided, 1 if all rows
    are ties. It asks who is better on more rows, not by how much: for a difference of scores see `paired_bootstrap`.

    Parameters
    ----------
    losses_a, losses_b : arrays of shape (n,)
        Losses of the same rows, as from `row_losses`; they may be infinite, and two infinite losses are a tie.
    sample_weight : array of shape (n,), optional
        Numbers of rows: a weight of 2 is the row twice. Fractions go through the continuous form of the binomial
        distribution function, the incomplete beta function.

    References
    ----------
    Yang & Liu (1999), A re-examination of text categorization methods, SIGIR.

    Examples
    --------
    >>> sign_test([0.1, 0.2, 0.3, 0.4, 0.5, 0.1], [0.2, 0.3, 0.4, 0.5, 0.6, 0.1])
    SignTest(wins_a=5.0, wins_b=0.0, ties=1.0, p_value=0.0625)
    """
    return sign_test_of(*_losses(losses_a, losses_b, sample_weight))


def sign_test_of(a: Array, b: Array, weight: Array | None = None) -> SignTest:
    """`sign_test` of checked losses; no weight is 0."""
    wins_a, ties, wins_b = map(float, np.bincount(1 + (a > b).astype(np.int8) - (a < b), weight, 3))
    fewer, more = min(wins_a, wins_b), max(wins_a, wins_b)
    # P(at most `fewer` of all) = I_½(more, fewer + 1)
    tail = float(sc.betainc(more, fewer + 1.0, 0.5)) if more > 0.0 else 1.0
    return SignTest(wins_a, wins_b, ties, min(1.0, 2.0 * tail))


def paired_bootstrap(
    losses_a: ArrayLike,
    losses_b: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_resamples: int = 2000,
    confidence: float = 0.95,
    random_state: Seed = None,
) -> PairedDifference:
    """The difference of two mean losses, a - b (below 0: a is better), with a bootstrap interval.

    Rows are drawn with replacement, both losses of a row together. The interval is that of the quantiles of the
    resampled differences, and the p-value is twice the share of them beyond 0, with one more resample counted there.
    More than 10,000 rows are first pooled at random into 10,000 groups, and groups are drawn: the variance of the mean
    is the same up to about 1 %, and it takes seconds for any number of rows.

    Parameters
    ----------
    losses_a, losses_b : arrays of shape (n,)
        Losses of the same rows, as from `row_losses`. They must be finite, unless both are equal in a row.
    sample_weight : array of shape (n,), optional
        Weights in the means. Every row of positive weight is one row to be drawn.
    n_resamples : int, default 2000
    confidence : float, default 0.95
    random_state : int, RandomState or None, default None

    Examples
    --------
    >>> result = paired_bootstrap([0.1, 0.2, 0.3, 0.1], [0.3, 0.3, 0.4, 0.3], random_state=0)
    >>> result.difference, result.low, result.high
    (-0.15, -0.2, -0.1)
    """
    a, b, weight = _losses(losses_a, losses_b, sample_weight)
    level = checked_confidence(confidence)
    n_resamples = checked_count(n_resamples, "n_resamples", 1)
    with np.errstate(invalid="ignore"):
        difference = np.where(a == b, 0.0, a - b)
    if not np.isfinite(difference).all():
        count = int(np.count_nonzero(~np.isfinite(difference)))
        raise ValueError(
            f"the losses of {count} rows are infinite for one of the two: the means have no finite difference; compare "
            'by a bounded loss such as "squared", or by sign_test.'
        )
    return bootstrap_of(difference, weight, n_resamples, level, random_state)


def bootstrap_of(
    difference: Array,
    weight: Array | None,
    n_resamples: int = 2000,
    confidence: float = 0.95,
    random_state: Seed = None,
) -> PairedDifference:
    """`paired_bootstrap` of the finite differences of checked losses, row by row; no weight is 0."""
    generator = check_random_state(random_state)
    sums, masses = _units(difference, weight, generator)
    centre = float(sums.sum() / masses.sum())
    resampled = np.concatenate(list(_resampled_means(sums, masses, n_resamples, generator)))
    low, high = np.quantile(resampled, [0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence])
    beyond = int(min(np.count_nonzero(resampled <= 0.0), np.count_nonzero(resampled >= 0.0)))
    p_value = min(1.0, 2.0 * (1 + beyond) / (1 + len(resampled)))
    return PairedDifference(centre, float(low), float(high), p_value, float(resampled.std()))


def _units(difference: Array, weight: Array | None, generator: np.random.RandomState) -> tuple[Array, Array]:
    """What is drawn: weighted differences and weights of rows, or of groups of rows."""
    mass = np.ones(len(difference)) if weight is None else weight
    if len(difference) <= _MOST_UNITS:
        return difference * mass, mass
    group = generator.randint(_MOST_UNITS, size=len(difference), dtype=np.int32)
    sums = np.bincount(group, difference if weight is None else difference * weight, _MOST_UNITS).astype(np.float64)
    masses = np.bincount(group, weight, _MOST_UNITS).astype(np.float64)
    used = masses > 0.0
    return sums[used], masses[used]


def _resampled_means(sums: Array, masses: Array, n_resamples: int, generator: np.random.RandomState) -> Iterator[Array]:
    size = len(sums)
    at_once = max(1, _DRAWS_AT_ONCE // size)
    for start in range(0, n_resamples, at_once):
        draw = generator.randint(size, size=(min(at_once, n_resamples - start), size), dtype=np.int32)
        yield sums[draw].sum(axis=1) / masses[draw].sum(axis=1)


def _losses(
    losses_a: ArrayLike, losses_b: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Array, Array, Array | None]:
    """Both losses and the weights, of the rows that have any."""
    a, b = as_float(losses_a, "losses_a"), as_float(losses_b, "losses_b")
    if a.ndim != 1 or a.shape != b.shape or len(a) == 0:
        raise ValueError(f"losses must be two arrays of the same n > 0 rows, got shapes {a.shape} and {b.shape}.")
    for name, values in (("losses_a", a), ("losses_b", b)):
        if np.isnan(values).any():
            raise ValueError(f"{name} must not contain nan, as row {int(np.isnan(values).argmax())} does.")
    weight = checked_weight(sample_weight, len(a), positive_sum=True)
    if weight is None or weight.all():
        return a, b, weight
    rows = weight > 0.0
    return a[rows], b[rows], weight[rows]
