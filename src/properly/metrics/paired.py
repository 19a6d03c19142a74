"""Which of two forecasts is better, and could it be chance? Both are judged on the same rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special as sc
from sklearn.utils import check_random_state

from properly.inputs.options import CONFIDENCE, Seed, checked_confidence, checked_count
from properly.inputs.weights import checked_weight, in_rows, squares, unit_of
from properly.metrics.clusters import cluster_sums
from properly.numeric.probabilities import Array, as_float

_MOST_UNITS = 10_000  # more rows are pooled at random into this many groups, and these are resampled
_MOST_REPEATED = 10_000_000  # rows of whole weights, which are repeated
_DRAWS_AT_ONCE = 1 << 20


class SignTest(NamedTuple):
    """On how many rows either forecast had the smaller loss, and how probable so uneven a split is by chance.

    Attributes
    ----------
    wins_a, wins_b : float
        Rows (or weight) on which the first, or the second, had the smaller loss.
    ties : float
        Rows with equal losses.
    p_value : float
        Exact and two-sided.
    """

    wins_a: float
    wins_b: float
    ties: float
    p_value: float


class PairedDifference(NamedTuple):
    """A difference a - b with its confidence interval, two-sided p-value for no difference, and standard error.

    Attributes
    ----------
    difference : float
        The mean of a - b; below 0 the first is better, if losses were compared.
    low, high : float
        Its confidence interval.
    p_value : float
        Two-sided, for no difference.
    standard_error : float
        Of the difference.
    """

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
    confidence: float = CONFIDENCE,
    random_state: Seed = None,
) -> PairedDifference:
    """The difference of two mean losses, a - b (below 0: a is better), with a bootstrap interval.

    Rows are drawn with replacement, both losses of a row together. The interval is that of the quantiles of the
    resampled differences, and the p-value is twice the share of them beyond 0, with one more resample counted there.
    More than 10,000 rows are first pooled at random into 10,000 groups, and groups are drawn: the variance of the mean
    is the same up to about 1 %, and it takes seconds for any number of rows. Where weights are not whole numbers,
    resampled means are drawn from the normal distribution of their variance, Σw²(d - mean)²/(Σw)²; where whole ones add
    up to more than 10 million, of Σw(d - mean)²/(Σw)².

    Parameters
    ----------
    losses_a, losses_b : arrays of shape (n,)
        Losses of the same rows, as from `row_losses`. They must be finite, unless both are equal in a row.
    sample_weight : array of shape (n,), optional
        Whole weights are numbers of rows: 2 is the row twice. Others may have any scale.
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
    return bootstrap_of(difference, weight, None, n_resamples, level, random_state, unit_of(weight))


def bootstrap_of(
    difference: Array,
    weight: Array | None,
    cluster: NDArray[Any] | None = None,
    n_resamples: int = 2000,
    confidence: float = CONFIDENCE,
    random_state: Seed = None,
    unit: Array | None = None,
) -> PairedDifference:
    """`paired_bootstrap` of the finite differences of checked losses, row by row; no weight is 0.

    With the number of the cluster of every row, clusters are drawn, not rows. `unit` is what one row weighs, as of
    `unit_of`.
    """
    given = weight, cluster, n_resamples, check_random_state(random_state), unit
    centres, samples = _resampled_means(difference[None], *given)
    centre, resampled = float(centres[0]), samples[0]
    low, high = np.quantile(resampled, [0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence])
    beyond = int(min(np.count_nonzero(resampled <= 0.0), np.count_nonzero(resampled >= 0.0)))
    p_value = min(1.0, 2.0 * (1 + beyond) / (1 + len(resampled)))
    return PairedDifference(centre, float(low), float(high), p_value, float(resampled.std()))


def simultaneous_bootstrap_of(
    differences: Array,
    weight: Array | None,
    cluster: NDArray[Any] | None = None,
    n_resamples: int = 2000,
    confidence: float = CONFIDENCE,
    random_state: Seed = None,
    unit: Array | None = None,
) -> list[PairedDifference]:
    """Several differences, of shape (m, n), on the same rows: intervals that hold together, and adjusted p-values.

    With t = max_j |resampled mean_j - mean_j| / error_j of a resample, an interval is mean_j ± c·error_j with c the
    quantile of t, and a p-value is the share of the resamples with t >= |mean_j| / error_j (one more is counted there).
    All intervals contain the true means, and no true mean of 0 has a p-value of 1 - confidence or less, with the
    probability `confidence`. An interval excludes 0 exactly if the p-value is that small.

    References
    ----------
    Westfall & Young (1993), Resampling-based multiple testing (the single-step method).

    Examples
    --------
    >>> rows = np.array([[0.1, 0.3, 0.2, 0.2], [0.1, -0.1, 0.2, -0.2]])
    >>> [(each.low > 0, each.p_value < 0.05) for each in simultaneous_bootstrap_of(rows, None, random_state=0)]
    [(True, True), (False, False)]
    """
    given = weight, cluster, n_resamples, check_random_state(random_state), unit
    means, samples = _resampled_means(differences, *given)
    errors = samples.std(axis=1)
    unit = np.where(errors > 0.0, errors, 1.0)
    largest = np.sort((np.abs(samples - means[:, None]) / unit[:, None]).max(axis=0))
    size = np.where(errors > 0.0, np.abs(means) / unit, np.where(means == 0.0, 0.0, np.inf))
    p_values = (1 + n_resamples - np.searchsorted(largest, size)) / (1 + n_resamples)
    beyond = int(
        (1.0 - confidence) * (1 + n_resamples)
    )  # resamples beyond the limit, with the one more that is counted
    reach = (largest[n_resamples - beyond] if beyond else np.inf) * errors
    found = np.column_stack([means, means - reach, means + reach, p_values, errors])
    return [PairedDifference(*each) for each in found.tolist()]


def _resampled_means(
    differences: Array,
    weight: Array | None,
    cluster: NDArray[Any] | None,
    n_resamples: int,
    generator: np.random.RandomState,
    unit: Array | None,
) -> tuple[Array, Array]:
    """The weighted means of m differences, of shape (m,), and those of resamples, of shape (m, n_resamples)."""
    if cluster is not None:
        mass = np.ones(differences.shape[1]) if weight is None else weight
        sums = cluster_sums(np.vstack([differences * mass, mass]).T, cluster).T
        return _of_drawn_units(*_pooled(sums[:-1], sums[-1], generator), n_resamples, generator)
    if weight is None:
        return _of_drawn_units(*_pooled(differences, None, generator), n_resamples, generator)
    if unit is not None and np.ptp(unit) == 0.0:  # of equal weights each is a row
        weight, unit = np.rint(weight / unit), None
    if unit is None and len(differences) * weight.sum() <= _MOST_REPEATED:
        repeated = np.repeat(differences, weight.astype(np.intp), axis=1)
        return _of_drawn_units(*_pooled(repeated, None, generator), n_resamples, generator)
    means = np.average(differences, axis=1, weights=weight)
    weight, unit = in_rows(weight, unit)
    scaled = (differences - means[:, None]) * (np.sqrt(squares(weight, unit)) / weight.sum())
    sizes, directions = np.linalg.eigh(scaled @ scaled.T)
    normal = generator.standard_normal((len(means), n_resamples))
    return means, means[:, None] + directions @ (np.sqrt(np.maximum(sizes, 0.0))[:, None] * normal)


def _of_drawn_units(
    sums: Array, masses: Array | None, n_resamples: int, generator: np.random.RandomState
) -> tuple[Array, Array]:
    """As `_resampled_means`, of units with these sums and weights (None: 1 each); units are drawn with replacement."""
    size = sums.shape[1]
    at_once, found = max(1, _DRAWS_AT_ONCE // size), []
    for start in range(0, n_resamples, at_once):
        draw = generator.randint(size, size=(min(at_once, n_resamples - start), size), dtype=np.int32)
        mass = size if masses is None else masses[draw].sum(axis=1)
        found.append(np.array([each[draw].sum(axis=1) for each in sums]) / mass)
    return sums.sum(axis=1) / (size if masses is None else masses.sum()), np.concatenate(found, axis=1)


def _pooled(sums: Array, masses: Array | None, generator: np.random.RandomState) -> tuple[Array, Array | None]:
    """The units, or groups of them at random if they are many."""
    n_units = sums.shape[1]
    if n_units <= _MOST_UNITS:
        return sums, masses
    group = generator.randint(_MOST_UNITS, size=n_units, dtype=np.int32)
    pooled = np.array([np.bincount(group, each, _MOST_UNITS) for each in sums])
    mass = np.bincount(group, masses, _MOST_UNITS).astype(np.float64)
    used = mass > 0.0
    return pooled[:, used], mass[used]


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
