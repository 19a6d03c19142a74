"""Murphy diagrams: forecasts compared at every threshold at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special as sc

from properly.diagnostics.results import THRESHOLD, ForecasterCurves, ThresholdCurves
from properly.forecasts import read_named
from properly.inputs.forecast import Forecast, read_thresholds
from properly.inputs.options import CONFIDENCE, checked_confidence
from properly.metrics.thresholds import distinct_forecasts, errors_at, shares_below
from properly.numeric.arrays import require_values
from properly.numeric.probabilities import Array

_BASE = "base rate"  # a column


@dataclass(frozen=True)
class Murphy(ForecasterCurves):
    """What `murphy` returns; the frame has a row for each threshold and a column for each forecaster.

    Attributes
    ----------
    thresholds : array of shape (n_thresholds,)
    names : tuple of str
    errors : array of shape (n_forecasters, n_thresholds)
        Mean cost-weighted errors; the smaller the better.
    base : array of shape (n_thresholds,)
        The error of forecasting the share of positives for every row.
    """

    errors: Array
    base: Array
    _drawn_by: ClassVar[str] = "draw_murphy"

    def _columns(self) -> dict[str, Any]:
        return self._with_names(self.errors, **{_BASE: self.base})


@dataclass(frozen=True)
class MurphyDifference(ThresholdCurves):
    """What `murphy_difference` returns: the error of one forecaster less that of another, with an interval.

    The frame has a row for each threshold. In the picture the first forecaster is better where the curve is below 0.

    Attributes
    ----------
    thresholds, difference, low, high : array of shape (n_thresholds,)
    confidence : float
    """

    difference: Array
    low: Array
    high: Array
    confidence: float
    _drawn_by: ClassVar[str] = "draw_murphy_difference"

    def _columns(self) -> dict[str, Any]:
        return {THRESHOLD: self.thresholds, **self._attributes("difference", "low", "high")}


def murphy(
    y: ArrayLike,
    p: ArrayLike | Mapping[str, ArrayLike],
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    thresholds: ArrayLike | str | None = None,
) -> Murphy:
    """The cost-weighted error at every threshold, for one forecaster or several.

    At the threshold c, where rows are called positive if p >= c, a false alarm costs c and a miss 1 - c. A forecaster
    whose curve is the lowest everywhere is the best by every proper score, whatever the costs; where curves cross, it
    depends on the costs (or on the score) which one to choose. The area under a curve, weighted by ω(c), is the proper
    score with the weight function ω; without a weight it is half the Brier score.

    Mathematics: formula (1.5), formula (1.6).

    Parameters
    ----------
    y : array of shape (n,)
        Labels of two classes; the larger is the positive one.
    p : array of shape (n,) or (n, 2), or a mapping from names to such
        Probabilities of the positive class.
    sample_weight : array of shape (n,), optional
    classes : pair of labels, optional
    thresholds : array in [0, 1] or "exact", optional
        A thousand by default, dense towards 0 and 1. The errors at each are exact. "exact" gives the whole curves:
        they are linear between neighbouring forecasts and jump at each of them, so their corners are 0, every
        distinct forecast twice (the error at this threshold, then that just above it), and 1.

    References
    ----------
    Ehm, Gneiting, Jordan & Krüger (2016), Of quantiles and expectiles, JRSS B 78.

    Examples
    --------
    >>> result = murphy([0, 0, 1, 1], {"sharp": [0.1, 0.2, 0.7, 0.9], "dull": [0.4, 0.4, 0.5, 0.6]},
    ...                 thresholds=[0.3, 0.5, 0.8])
    >>> result.errors
    array([[0.  , 0.  , 0.05],
           [0.15, 0.  , 0.1 ]])
    >>> result.base
    array([0.15, 0.25, 0.1 ])
    >>> curve = murphy([0, 1], [0.2, 0.6], thresholds="exact")
    >>> curve.thresholds, curve.errors[0]
    (array([0. , 0.2, 0.2, 0.6, 0.6, 1. ]), array([0. , 0.1, 0. , 0. , 0.2, 0. ]))
    """
    forecasts = read_named(y, p, sample_weight, classes, (THRESHOLD, _BASE))
    if isinstance(thresholds, str) and thresholds == "exact":
        return _exact_murphy(forecasts)
    return murphy_of(forecasts, read_thresholds(thresholds, forecasts))


def murphy_of(forecasts: Mapping[str, Forecast], thresholds: Array | None = None) -> Murphy:
    """`murphy` of checked forecasts of the same rows, at sorted thresholds or those by default."""
    at = read_thresholds(None, forecasts) if thresholds is None else thresholds
    return _with_base(forecasts, at, [errors_at(each, at) for each in forecasts.values()])


def _exact_murphy(forecasts: Mapping[str, Forecast]) -> Murphy:
    """Errors are linear in the threshold between neighbouring forecasts, and jump at each: all corners."""
    found = [distinct_forecasts(each) for each in forecasts.values()]
    jumps = found[0].p if len(found) == 1 else np.unique(np.concatenate([each.p for each in found]))
    at = np.concatenate([[0.0], np.repeat(jumps, 2), [1.0]])
    errors = []
    for each, forecast in zip(found, forecasts.values(), strict=True):
        if each.p is jumps:
            cut = np.repeat(np.arange(len(jumps) + 1), 2)
        else:
            below, upto = (np.searchsorted(each.p, jumps, side) for side in ("left", "right"))
            cut = np.concatenate([[0], np.column_stack([below, upto]).ravel(), [len(each.p)]])
        errors.append(((1.0 - at) * each.positives_below[cut] + at * each.negatives_from[cut]) / forecast.total)
    return _with_base(forecasts, at, errors)


def _with_base(forecasts: Mapping[str, Forecast], at: Array, errors: list[Array]) -> Murphy:
    negative, positive = next(iter(forecasts.values())).rates
    base = np.where(at <= positive, at * negative, (1.0 - at) * positive)
    return Murphy(at, tuple(forecasts), np.array(errors), base)


def murphy_difference(
    y: ArrayLike,
    p: ArrayLike,
    other: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    thresholds: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
) -> MurphyDifference:
    """Error of the forecaster p less that of another at every threshold, with an interval at each alone.

    Both are judged on the same rows, so that only rows on which their decisions differ count: d = ±(1 - c) for
    a positive, ±c for a negative. The interval is the normal one for the mean of d over the rows, which needs a
    dozen such rows. It says nothing about all thresholds together.

    Parameters
    ----------
    y, p, sample_weight, classes, thresholds
        As for `murphy`, but for one forecaster. A weight counts as that many rows.
    other : array of shape (n,) or (n, 2)
        What to compare with.
    confidence : float, default 0.95

    Examples
    --------
    >>> result = murphy_difference([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], [0.4, 0.4, 0.5, 0.6], thresholds=[0.3, 0.5])
    >>> result.difference
    array([-0.15,  0.  ])
    """
    level = checked_confidence(confidence)
    for name, each in (("p", p), ("other", other)):
        require_values(each, name)
    forecasts = read_named(y, {"p": p, "other": other}, sample_weight, classes)
    at = read_thresholds(thresholds, forecasts)
    one, two = forecasts.values()
    missed_less = shares_below(one, one.p, at) - shares_below(one, two.p, at)
    differ = shares_below(one, np.minimum(one.p, two.p), at) - shares_below(one, np.maximum(one.p, two.p), at)
    difference = (1.0 - at) * missed_less[1] - at * missed_less[0]
    square = np.square(1.0 - at) * differ[1] + np.square(at) * differ[0]
    deviation = np.sqrt(np.maximum(square - np.square(difference), 0.0) / one.total)
    reach = float(sc.ndtri(0.5 + 0.5 * level)) * deviation
    return MurphyDifference(at, difference, difference - reach, difference + reach, level)
