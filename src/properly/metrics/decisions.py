"""From probabilities to decisions: the cheapest class for given costs, and the cheapest threshold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.forecasts import read_binary
from properly.inputs.forecast import Forecast, read_probabilities
from properly.inputs.misuse import Misuse
from properly.metrics.thresholds import distinct_forecasts
from properly.numeric.arrays import (
    as_integers,
    columns_of,
    constant,
    is_foreign,
    namespace,
    require_one_library,
    require_values,
    to_numpy,
)
from properly.numeric.functions import matmul
from properly.numeric.probabilities import Array, as_float

_BLOCK = 1 << 16
_ROUNDING = 1e-13  # of the sums that make expected costs, relative to sums of sizes: up to there costs are equal
_NEARLY = 1e-6
_HUGE = np.finfo(np.float64).max / 8.0


def parse_costs(text: str) -> tuple[Any, ...]:
    """Costs written as "false positive:false negative", or for K classes as K rows "0:1:4,1:0:1,4:1:0".

    A row holds the costs of all decisions for one true class; the classes are in sorted order.

    Parameters
    ----------
    text : str
        Two numbers with a colon between them, as in "1:20".

    Examples
    --------
    >>> parse_costs("1:20")
    (1.0, 20.0)
    >>> parse_costs("0:1:4,1:0:1,4:1:0")
    ((0.0, 1.0, 4.0), (1.0, 0.0, 1.0), (4.0, 1.0, 0.0))
    """
    try:
        rows = tuple(tuple(float(part) for part in row.split(":")) for row in text.split(","))
    except (AttributeError, ValueError):
        rows = ()
    lengths = [len(row) for row in rows]
    if lengths != [2] and not (len(rows) > 1 and set(lengths) == {len(rows)}):
        raise ValueError(
            "costs must be two numbers, of a false positive and a false negative (for K > 2 classes K rows of K, "
            f"cost[true, decision], such as 0:1:4,1:0:1,4:1:0), written like 1:20, got {text!r}."
        )
    costs = rows[0] if len(rows) == 1 else rows
    cost_matrix(costs)
    return costs


def written_costs(costs: Any) -> str:
    """Costs as `parse_costs` reads them; a text stays as it is.

    >>> written_costs((1, 20)), written_costs(np.eye(2))
    ('1:20', '1:0,0:1')
    """
    if isinstance(costs, str):
        return costs
    return ",".join(":".join(f"{cost:.15g}" for cost in row) for row in np.atleast_2d(costs))


def cost_matrix(costs: ArrayLike) -> Array:
    """Costs as cost[..., true class, decision], from any form that is accepted.

    That is a pair (false positive, false negative), a text like "1:20", a matrix (K, K), or one for each row (n, K, K).

    Parameters
    ----------
    costs : (float, float), str or array
        The costs in any form that is accepted, see above.

    Examples
    --------
    >>> cost_matrix((1, 20))
    array([[ 0.,  1.],
           [20.,  0.]])
    """
    if isinstance(costs, str):
        costs = parse_costs(costs)
    matrix = as_float(costs, "costs")
    if not np.isfinite(matrix).all():
        raise ValueError(f"costs must be finite, got {matrix[~np.isfinite(matrix)].flat[0]}.")
    if matrix.shape == (2,):
        if matrix.min() < 0.0 or not matrix.any():
            raise ValueError(
                f"the costs of a false positive and a false negative must not be negative, nor both 0, got {costs!r}; "
                "benefits are negative entries in a full matrix cost[true, decision]."
            )
        return np.array([[0.0, matrix[0]], [matrix[1], 0.0]])
    if matrix.ndim not in (2, 3) or matrix.shape[-1] != matrix.shape[-2] or matrix.shape[-1] < 2:
        raise ValueError(
            "costs must be a pair (false positive, false negative), a matrix (K, K) with cost[true, decision], or one "
            f"such matrix for every row (n, K, K); got shape {matrix.shape}."
        )
    return matrix


def cost_threshold(costs: ArrayLike) -> float:
    """The probability from which on calling a row positive is cheaper, if the probabilities are right.

    c = cost of a false positive / (cost of a false positive + cost of a false negative). In a full matrix the cost of
    an error is what it costs more than the right decision.

    Parameters
    ----------
    costs : (float, float), str or array of shape (2, 2)
        The costs of a false positive and of a false negative, or of every decision for every class.

    Examples
    --------
    >>> cost_threshold((1, 20)), cost_threshold([[0, 5], [95, -5]])
    (0.0476..., 0.0476...)
    """
    return threshold_of(binary_costs(costs))


def binary_costs(costs: ArrayLike) -> Array:
    """The matrix (2, 2) of costs that agree with each other: no error costs less than the right decision."""
    matrix = cost_matrix(costs)
    if matrix.shape != (2, 2):
        raise Misuse(f"a threshold needs the costs of two classes, a pair or a 2 x 2 matrix; got {matrix.shape}.")
    false_positive, false_negative = _costs_of_errors(matrix)
    if false_positive < 0.0 or false_negative < 0.0 or false_positive + false_negative == 0.0:
        raise Misuse(
            "costs contradict themselves: an error must not cost less than the right decision, and one of the two "
            f"errors must cost more; got cost[true, decision] = {matrix.tolist()}."
        )
    return matrix


def class_costs(costs: ArrayLike, n_classes: int) -> Array:
    """The costs of a number of classes, as cost[true, decision]: `binary_costs` for two, a full matrix for more."""
    if n_classes == 2:
        return binary_costs(costs)
    matrix = cost_matrix(costs)
    if matrix.shape != (n_classes, n_classes):
        raise Misuse(
            f"the costs of {n_classes} classes must be a matrix cost[true, decision] of shape "
            f"({n_classes}, {n_classes}), got {np.asarray(costs).tolist()!r}."
        )
    return matrix


def threshold_of(matrix: Array) -> float:
    """`cost_threshold` of checked costs."""
    false_positive, false_negative = _costs_of_errors(matrix)
    return float(false_positive / (false_positive + false_negative))


def decide(
    p: ArrayLike, costs: ArrayLike, *, reject_cost: ArrayLike | None = None, classes: ArrayLike | None = None
) -> NDArray[Any]:
    """The decision of least expected cost, Σ_true p[true] cost[true, decision], for every row.

    With two classes that is the positive class where p >= `cost_threshold(costs)`. Costs are given here, when decisions
    are made: a model that gives probabilities need not be trained again when they change.

    Parameters
    ----------
    p : array of shape (n,), (n, 2) or (n, K)
        The probability of the positive class, or of every class. Positions are of the library that p is of.
    costs : pair, text, or array of shape (K, K) or (n, K, K)
        (cost of a false positive, cost of a false negative), or the same written "1:20", or cost[true, decision] for
        all rows or for each. Entries of a matrix may be negative: benefits.
    reject_cost : number or array of shape (n,), optional
        The cost of not deciding (say, of asking a human). A row is rejected if every decision is expected to cost more.
    classes : array of K labels, optional
        To have labels returned in place of the positions of classes.

    Returns
    -------
    array of shape (n,)
        Positions, with -1 for rejected rows; or labels, with None for rejected rows (an array of objects, then).
        Of decisions that cost the same, but for rounding (with two classes: exactly), the last one is taken: p = c is
        positive. Rejecting comes after them.

    References
    ----------
    Chow (1970), On optimum recognition error and reject tradeoff, IEEE Transactions on Information Theory 16.
    Elkan (2001), The foundations of cost-sensitive learning, IJCAI.

    Examples
    --------
    >>> decide([0.01, 0.05, 0.6], (1, 20))
    array([0, 1, 1])
    >>> decide([0.01, 0.3, 0.9], (1, 1), reject_cost=0.2, classes=["no", "yes"])
    array(['no', None, 'yes'], dtype=object)
    >>> costs = [[0, 1, 4], [1, 0, 1], [4, 1, 0]]  # far errors are dear
    >>> decide([[0.5, 0.0, 0.5], [0.9, 0.1, 0.0]], costs)
    array([1, 0])
    """
    require_one_library(p=p, costs=costs, reject_cost=reject_cost)
    values, complement = read_probabilities(p, keep_library=True)
    matrix = cost_matrix(costs)
    n_classes = 2 if values.ndim == 1 else values.shape[1]
    if matrix.shape[-1] != n_classes:
        raise ValueError(
            f"costs are for {matrix.shape[-1]} classes, but p has {n_classes}; costs must have shape "
            f"({n_classes}, {n_classes})."
        )
    n_rows = values.shape[0]
    if matrix.ndim == 3 and len(matrix) != n_rows:
        raise ValueError(f"costs has {len(matrix)} matrices, p has {n_rows} rows: every row needs one.")
    limit = _reject_costs(reject_cost, n_rows)
    decisions = decisions_of(values, complement, matrix, limit)
    return decisions if classes is None else _labels(to_numpy(decisions), classes, n_classes, limit is not None)


def decisions_of(values: Array, complement: Array | None, matrix: Array, limit: Array | None = None) -> Any:
    """`decide` for checked probabilities, costs from `cost_matrix` and costs of not deciding, as positions."""

    def decided(rows: slice) -> Any:
        own = matrix if matrix.ndim == 2 else matrix[rows]
        q = None if complement is None else complement[rows]
        return _cheapest(values[rows, ...], q, own, None if limit is None else limit[rows])

    if is_foreign(values):
        return decided(slice(None))
    decisions = np.empty(len(values), dtype=np.intp)
    for start in range(0, len(values), _BLOCK):
        decisions[start : start + _BLOCK] = decided(slice(start, start + _BLOCK))
    return decisions


def least_cost(costs: Any, p: Array) -> NDArray[np.intp]:
    """The decision of least expected cost for rows of probabilities of more than two classes."""
    found: NDArray[np.intp] = decisions_of(p, None, class_costs(costs, p.shape[1]))
    return found


def _cheapest(p: Array, complement: Array | None, matrix: Array, limit: Array | None) -> Any:
    """The decision of least expected cost for some rows; -1 where it costs more than the limit."""
    xp = namespace(p)
    if p.ndim == 1:
        p = xp.stack([1.0 - p if complement is None else complement, p], axis=1)
    n_classes = p.shape[1]
    if n_classes == 2:
        decisions = as_integers(_is_positive(p, matrix, complement is not None))
        if limit is None:
            return decisions
    expected = _expected_costs(p, matrix)
    least = xp.min(expected, axis=1)
    allowance = _ROUNDING * xp.max(_expected_costs(p, np.abs(matrix)), axis=1)  # benefits and costs may cancel
    if n_classes > 2:
        is_cheapest = expected <= (least + allowance)[:, None]
        from_last = xp.flip(is_cheapest if xp is np else as_integers(is_cheapest), axis=1)
        decisions = n_classes - 1 - xp.argmax(from_last, axis=1)
    return decisions if limit is None else xp.where(least - allowance > constant(limit, p), -1, decisions)


def _expected_costs(p: Array, matrix: Array) -> Array:
    if matrix.ndim == 2:
        return matmul(p, matrix)
    if is_foreign(p):
        return namespace(p).sum(p[:, :, None] * constant(matrix, p), axis=1)
    return np.einsum("ij,ijk->ik", p, matrix)


def _costs_of_errors(matrix: Array) -> tuple[Any, Any]:
    """What a false positive and a false negative cost more than the right decision, for all rows or for each."""
    if np.abs(matrix).max() > _HUGE:
        matrix = matrix * 0.125  # only ratios matter, and these add up safely
    return matrix[..., 0, 1] - matrix[..., 0, 0], matrix[..., 1, 0] - matrix[..., 1, 1]


def _is_positive(block: Array, matrix: Array, own_digits: bool) -> NDArray[np.bool_]:
    """p >= c. Where p is 1 but for a millionth, the column of 1 - p decides, if it was given, with digits of its own.

    Where costs contradict themselves, so that an error pays, a larger p may speak against calling a row positive.
    """
    xp, (q, p) = namespace(block), columns_of(block)
    false_positive, false_negative = _costs_of_errors(matrix)
    total = false_positive + false_negative
    sign, unit = np.where(total < 0.0, -1.0, 1.0), np.where(total == 0.0, 1.0, total)
    least_p, most_q = sign * (false_positive / unit), sign * (false_negative / unit)
    by_costs = (sign, least_p, most_q, total == 0.0, false_positive <= 0.0)
    sign, least_p, most_q, indifferent, pays = (constant(each, block) for each in by_costs)
    by_p, by_q = sign * p >= least_p, sign * q <= most_q
    decided = xp.where(p > 1.0 - _NEARLY, by_q, by_p) if own_digits else by_p
    return xp.where(indifferent, pays, decided)


def _reject_costs(reject_cost: ArrayLike | None, n_rows: int) -> Array | None:
    if reject_cost is None:
        return None
    limit = as_float(reject_cost, "reject_cost")
    if limit.shape not in ((), (n_rows,)):
        raise ValueError(f"reject_cost must be a number or one for each of {n_rows} rows, got shape {limit.shape}.")
    if not np.isfinite(limit).all():
        raise ValueError("reject_cost must be finite; leave it out to decide every row.")
    return np.broadcast_to(limit, n_rows)


def _labels(decisions: NDArray[np.intp], classes: ArrayLike, n_classes: int, may_reject: bool) -> NDArray[Any]:
    require_values(classes, "classes")
    labels = np.asarray(classes)
    if labels.shape != (n_classes,):
        raise ValueError(f"classes must be {n_classes} labels, one for every class of p, got {classes!r}.")
    if not may_reject:
        return labels[decisions]
    return np.append(labels.astype(object), [None])[decisions]  # -1 is the last


class ThresholdChoice(NamedTuple):
    """The cheapest threshold, its cost per row, and that of the theoretical one; decisions are by p >= threshold.

    Attributes
    ----------
    threshold, expected_cost : float
        The threshold that is cheapest on these rows, and its cost a row.
    theoretical_threshold, expected_cost_there : float
        The threshold that follows from the costs alone, and its cost a row.
    true_positives, false_positives, false_negatives, true_negatives : float
        Rows (or weight) at the cheapest threshold.
    """

    threshold: float
    expected_cost: float
    theoretical_threshold: float
    expected_cost_there: float
    true_positives: float
    false_positives: float
    false_negatives: float
    true_negatives: float


def best_threshold(
    y: ArrayLike,
    p: ArrayLike,
    costs: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> ThresholdChoice:
    """The threshold that would have been cheapest on these rows, and what it costs.

    If the probabilities are right, no threshold is better than `cost_threshold`, and the difference between the two
    costs is chance; a large difference is what miscalibration costs. (On few rows the cheapest one is mostly chance.)

    Parameters
    ----------
    y, p, sample_weight, classes
        As for `proper_score`, of two classes.
    costs : pair (false positive, false negative), text "1:20", or matrix (2, 2) with cost[true, decision]

    Returns
    -------
    ThresholdChoice
        A row is positive when p >= threshold. All thresholds between two neighbouring forecasts decide alike: the
        theoretical one is returned if it lies in the cheapest such interval, its middle otherwise. Of several
        cheapest intervals the one nearest to the theoretical threshold is taken. If it is cheapest to call no row
        positive although a forecast is 1, the threshold is the smallest number above 1. The counts are sums of
        weights, at `threshold`.

    Examples
    --------
    >>> choice = best_threshold([0, 0, 1, 0, 1], [0.05, 0.2, 0.3, 0.4, 0.9], (1, 3))
    >>> choice.threshold, choice.expected_cost, choice.false_positives
    (0.25, 0.2, 1.0)
    """
    matrix = binary_costs(costs)
    return best_threshold_of(read_binary(y, p, sample_weight, classes), matrix)


def best_threshold_of(forecast: Forecast, matrix: Array) -> ThresholdChoice:
    """`best_threshold` of a checked forecast and of costs from `binary_costs`."""
    theory = threshold_of(matrix)
    found = distinct_forecasts(forecast)
    # Cut i calls the forecasts from the i-th on positive; the last cut calls none so.
    missed, false = found.positives_below, found.negatives_from
    negative, positive = forecast.class_weight
    total = forecast.total

    def cost(cut: Any, each: Array = matrix) -> Any:
        counts = ((negative - false[cut], false[cut]), (missed[cut], positive - missed[cut]))
        return sum(each[i, j] * (counts[i][j] / total) for i in (0, 1) for j in (0, 1))

    costs, sizes = cost(slice(None)), cost(slice(None), np.abs(matrix))
    lowest = costs.argmin()
    cheapest = np.flatnonzero(costs <= costs[lowest] + _ROUNDING * np.maximum(sizes, sizes[lowest]))
    at_theory = int(np.searchsorted(found.p, theory))  # as p >= theory decides, and `decide`
    # Thresholds above `low` and up to `high` amount to the same cut.
    edges = np.concatenate([[0.0], found.p, [1.0 if found.p[-1] < 1.0 else np.nextafter(1.0, 2.0)]])
    low, high = edges[cheapest], edges[cheapest + 1]
    chosen = int(np.argmin(np.where(cheapest == at_theory, -1.0, np.maximum(low - theory, theory - high))))
    cut = int(cheapest[chosen])
    middle = low[chosen] + 0.5 * (high[chosen] - low[chosen])
    threshold = theory if cut == at_theory else float(middle if middle > low[chosen] else high[chosen])
    counts = (positive - missed[cut], false[cut], missed[cut], negative - false[cut])
    return ThresholdChoice(threshold, float(cost(cut)), theory, float(cost(at_theory)), *map(float, counts))
