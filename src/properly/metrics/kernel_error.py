"""The squared kernel calibration error: whether the whole vector of probabilities is right, not only its parts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from properly.inputs.forecast import Forecast, read_clusters, read_forecast
from properly.inputs.options import choose
from properly.inputs.weights import row_factor
from properly.numeric.probabilities import Array
from properly.numeric.tails import tails

_MOST_IN_PAIRS = 10_000  # rows, of which all pairs are looked at
_STRIPE = 500  # rows whose distances to others are held at a time
_ESTIMATORS: dict[str, int | None] = {"auto": 0, "pairs": None, "blocks": 1_000, "linear": 2}  # rows of a block
_MOST_REDRAWN = 300  # rows, for which labels are redrawn
_DRAWS = 499
_SAMPLE = 400  # rows from which the moments of right forecasts are found
_DEVIATIONS = 1.96  # half the width of a 95 % interval, in standard errors


class KernelCalibrationError(NamedTuple):
    """What `kernel_calibration_error` returns: the squared error, its 95 % interval, the p-value of right forecasts.

    Attributes
    ----------
    error : float
        The squared error; 0 for right forecasts, and its estimate may be negative.
    low, high : float
        Its 95 % interval.
    p_value : float
        Of right forecasts.
    """

    error: float
    low: float
    high: float
    p_value: float


def kernel_calibration_error(
    y: ArrayLike,
    p: ArrayLike,
    *,
    estimator: str = "auto",
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
) -> KernelCalibrationError:
    """How far the vectors of probabilities are from right, squared: 0 if they are, the smaller the better.

    E[(e_Y - p)ᵀ(e_Y' - p') k(p, p')] over two independent rows, where e_Y has a 1 for the class of the row and 0
    elsewhere, k = exp(-‖p - p'‖/γ), and γ² is the mean of ‖p - p'‖². It is 0 if and only if the rows of every forecast
    p have the class proportions p: calibration in the strongest sense. The estimate is unbiased, so it may be negative.

    Mathematics: formula (5.10).

    Parameters
    ----------
    y, p, classes
        As for `proper_score`.
    estimator : {"auto", "pairs", "blocks", "linear"}, default "auto"
        Which pairs of rows are averaged: all of them; those within random blocks of 1,000 rows; or n/2 disjoint pairs.
        "auto" takes all pairs of up to 10,000 rows, and blocks of more.
    sample_weight : array of shape (n,), optional
        Whole weights are numbers of rows: 2 is the row twice, and copies of a row are a pair too. Others count as the
        effective number of rows, (Σw)²/Σw².
    cluster : array of shape (n,), optional
        Rows of the same value, such as those of a customer, need not be independent: only pairs of rows of different
        clusters are averaged, and the interval is that of independent clusters.

    Returns
    -------
    KernelCalibrationError
        Its p-value is that of right forecasts: by redrawn labels for up to 300 rows without weights, and otherwise
        from the first three moments of the estimate; nan with clusters.

    References
    ----------
    Widmann, Lindsten & Zachariah (2019), Calibration tests in multi-class classification, NeurIPS.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> p = random.dirichlet([1.0, 1.0, 1.0], 400)
    >>> y = (random.random((400, 1)) > p.cumsum(axis=1)).sum(axis=1)
    >>> kernel_calibration_error(y, p).p_value > 0.05
    True
    >>> result = kernel_calibration_error(y, p[:, [1, 2, 0]])
    >>> result.low > 0.0, result.p_value < 0.01
    (True, True)
    """
    rows = choose(estimator, _ESTIMATORS, "estimator")
    forecast = read_forecast(y, p, sample_weight, classes)
    return kernel_error_of(forecast, rows, None if cluster is None else read_clusters(cluster, forecast))


def kernel_error_of(
    forecast: Forecast, block_rows: int | None = 0, cluster: NDArray[Any] | None = None
) -> KernelCalibrationError:
    """`kernel_calibration_error` of a checked forecast; blocks of None have all rows, 0 rows mean "auto"."""
    rows = _Rows.of(forecast)
    if cluster is not None:
        return _of_clusters(rows, block_rows, cluster)
    blocks = _blocks(len(rows.p), block_rows, len(rows.p))
    error, standard_error = _estimate(rows, blocks)
    variance, third = _moments_if_right(rows, len(blocks))
    small = forecast.weight is None and len(blocks) == 1 and len(rows.p) <= _MOST_REDRAWN
    p_value = _simulated(rows) if small else float(tails(error, variance, third)[1])
    reach = _DEVIATIONS * float(np.sqrt(standard_error**2 + variance))
    return KernelCalibrationError(error, error - reach, error + reach, p_value)


def squared_kernel_error_of(forecast: Forecast) -> float:
    """The estimate alone."""
    rows = _Rows.of(forecast)
    return _estimate(rows, _blocks(len(rows.p), 0, len(rows.p)))[0]


class _Rows(NamedTuple):
    p: Array  # (n, K)
    residual: Array  # e_Y - p
    weight: Array
    copies: Array  # how many more there are of a row
    scale: float  # of the kernel

    @classmethod
    def of(cls, forecast: Forecast) -> _Rows:
        p = forecast.p if not forecast.binary else np.column_stack([forecast.of_class(0).p, forecast.p])
        given = np.ones(len(p)) if forecast.weight is None else forecast.weight
        weight = given * row_factor(given, forecast.unit)
        copies = weight - 1.0 if forecast.unit is None else np.zeros(len(p))
        centre = np.average(p, axis=0, weights=weight)
        scale = np.sqrt(2.0 * np.average(np.square(p - centre).sum(axis=1), weights=weight))
        return cls(p, _residual(forecast.codes, p), weight, copies, float(scale))

    def kernel(self, some: Array, others: Array) -> Array:
        """exp(-distance / scale); 1 if all rows are the same."""
        return np.exp(cdist(some, others) / -(self.scale or 1.0))


def _residual(codes: NDArray[np.integer], p: Array) -> Array:
    residual = -p
    residual[np.arange(len(p)), codes] += 1.0
    return residual


def _blocks(n_units: int, block_rows: int | None, n_rows: int) -> list[NDArray[np.intp]]:
    """The rows or clusters of every block; they are drawn at random, since neighbours in a file may be alike."""
    if block_rows == 0:
        block_rows = None if n_rows <= _MOST_IN_PAIRS else _ESTIMATORS["blocks"]
    n_blocks = 1 if block_rows is None else max(1, min(n_rows // block_rows, n_units // 2))
    order = np.arange(n_units) if n_blocks == 1 else np.random.RandomState(0).permutation(n_units)
    return np.array_split(order, n_blocks)


def _estimate(rows: _Rows, blocks: list[NDArray[np.intp]]) -> tuple[float, float]:
    """The mean over all pairs within the blocks, and its standard error: between rows, or between blocks if several."""
    if len(blocks) == 1:
        total, pairs, means = _within(rows, blocks[0])
        spread = np.average(np.square(means - total / pairs), weights=rows.weight)
        return total / pairs, float(2.0 * np.sqrt(spread / rows.weight.sum()))
    found = [_within(rows, block)[:2] for block in blocks]
    totals, weights = np.array(found).T
    error = float(totals.sum() / weights.sum())
    return error, float(np.sqrt(np.square(totals - error * weights).sum()) / weights.sum())


def _within(rows: _Rows, block: NDArray[np.intp]) -> tuple[float, float, Array]:
    """Σ w w' h over the pairs of a block, Σ w w', and the mean of h between each row and the others.

    Pairs are counted both ways. A row of weight w is w(w-1) pairs of its own copies, if it has any.
    """
    p, residual, weight, copies = (each[block] for each in rows[:4])
    own = np.square(residual).sum(axis=1)
    weighted = weight[:, None] * residual
    sums = np.empty(len(p))
    for begin in range(0, len(p), _STRIPE):
        part = slice(begin, begin + _STRIPE)
        sums[part] = np.einsum("ik,ik->i", rows.kernel(p[part], p) @ weighted, residual[part])
    sums += (copies - weight) * own
    others = np.maximum(weight.sum() - weight + copies, np.finfo(float).tiny)
    return float(weight @ sums), float(weight @ others), sums / others


def _of_clusters(rows: _Rows, block_rows: int | None, cluster: NDArray[Any]) -> KernelCalibrationError:
    """From pairs of rows of different clusters, which are independent, within blocks of whole clusters.

    With H the sum of w w' h over the rows of two clusters, and W that of w w', the estimate is ΣH/ΣW. Its variance is
    taken for the sum of two: that of the mean between each cluster and the others, and that of pairs if right, 2ΣH².
    """
    number = np.unique(cluster, return_inverse=True)[1]
    blocks = _blocks(int(number.max()) + 1, block_rows, len(number))
    block = np.empty(int(number.max()) + 1, dtype=np.intp)
    block[np.concatenate(blocks)] = np.repeat(np.arange(len(blocks)), [len(each) for each in blocks])
    order = np.lexsort((number, block[number]))
    ends = np.searchsorted(block[number][order], np.arange(1, len(blocks)))
    found = [_between(rows, each, number[each]) for each in np.split(order, ends)]
    sums, pairs, squares = (np.concatenate(each) for each in zip(*found, strict=True))
    total = float(pairs.sum())
    if total == 0.0:
        return KernelCalibrationError(np.nan, np.nan, np.nan, np.nan)
    error = float(sums.sum()) / total
    variance = 4.0 * np.square(sums - error * pairs).sum() + 2.0 * squares.sum()
    reach = _DEVIATIONS * float(np.sqrt(variance)) / total
    return KernelCalibrationError(error, error - reach, error + reach, np.nan)


def _between(rows: _Rows, block: NDArray[np.intp], number: NDArray[np.intp]) -> tuple[Array, Array, Array]:
    """For each cluster of a block, whose rows follow each other: ΣH and ΣW with the others, and ΣH²."""
    p, weight = rows.p[block], rows.weight[block]
    weighted = weight[:, None] * rows.residual[block]
    begins = np.flatnonzero(np.diff(number, prepend=-1))
    masses, sums, squares = np.add.reduceat(weight, begins), np.empty(len(begins)), np.empty(len(begins))
    stripes = np.flatnonzero(np.diff(begins // _STRIPE, prepend=-1))  # of whole clusters
    for first, last in pairwise([*stripes, len(begins)]):
        start, stop = begins[first], begins[last] if last < len(begins) else len(block)
        h = rows.kernel(p[start:stop], p) * (weighted[start:stop] @ weighted.T)
        h = np.add.reduceat(np.add.reduceat(h, begins, axis=1), begins[first:last] - start, axis=0)
        h[np.arange(last - first), np.arange(first, last)] = 0.0
        sums[first:last], squares[first:last] = h.sum(axis=1), np.square(h).sum(axis=1)
    return sums, masses * (masses.sum() - masses), squares


def _simulated(rows: _Rows) -> float:
    """The share of redrawn labels, these among them, whose estimate is as large."""
    kernel, random = rows.kernel(rows.p, rows.p), np.random.RandomState(0)
    np.fill_diagonal(kernel, 0.0)

    def total(residual: Array) -> float:
        return float(np.sum((kernel @ residual) * residual))

    here, beyond = total(rows.residual), 1
    for _ in range(_DRAWS):
        beyond += total(_residual(_drawn(rows.p, random), rows.p)) >= here - 1e-12 * abs(here)
    return beyond / (_DRAWS + 1)


def _moments_if_right(rows: _Rows, n_blocks: int) -> tuple[float, float]:
    """Variance and third moment of the estimate, from E h², E h³ and E h₁₂h₂₃h₃₁ of rows whose labels are redrawn."""
    random, total = np.random.RandomState(0), float(rows.weight.sum())
    m = min(_SAMPLE, len(rows.p))
    p = rows.p[random.choice(len(rows.p), m, replace=False, p=rows.weight / total)]
    residual = _residual(_drawn(p, random), p)
    h = rows.kernel(p, p) * (residual @ residual.T)
    np.fill_diagonal(h, 0.0)
    second, third = (np.sum(h**power) / max(m * (m - 1.0), 1.0) for power in (2, 3))
    triangle = np.sum((h @ h) * h) / max(m * (m - 1.0) * (m - 2.0), 1.0)
    size = total / n_blocks
    pairs = max(size * (size - 1.0), 1.0)
    skewed = (4.0 * third + 8.0 * max(size - 2.0, 0.0) * triangle) / pairs**2
    return float(2.0 * second / pairs / n_blocks), float(skewed / n_blocks**2)


def _drawn(p: Array, random: np.random.RandomState) -> NDArray[np.intp]:
    """A class for every row, with its probabilities."""
    return np.asarray((random.random_sample((len(p), 1)) >= np.cumsum(p, axis=1)[:, :-1]).sum(axis=1))
