"""Scores at single thresholds: cost-weighted error, Murphy curve, net benefit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from properly.inputs.forecast import Forecast, read_binary
from properly.metrics.counts import cuts_of
from properly.numeric.probabilities import Array, as_float


class MurphyCurve(NamedTuple):
    """Mean cost-weighted errors at thresholds; exact curves have every jump as two points of the same threshold."""

    thresholds: Array
    errors: Array


class NetBenefitCurve(NamedTuple):
    """Net benefits at thresholds: of the forecast, and of calling every row positive (calling none is 0)."""

    thresholds: Array
    benefits: Array
    treat_all: Array


class _Alarms(NamedTuple):
    """Shares of all rows at some thresholds: positives and negatives at or above them, and positives below."""

    hit: Array
    missed: Array
    false: Array


def cost_weighted_error(
    y: ArrayLike,
    p: ArrayLike,
    threshold: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> float | Array:
    """What decisions at a threshold c cost, if c is the cost of a false alarm and 1 - c that of a miss.

    The mean of L_c = (1 - c) 1[p < c] at y = 1 and c 1[p >= c] at y = 0; the smaller the better. A row is called
    positive when p >= c, which is the best decision at these costs if p is right. Every proper score is an average of
    these errors over c, with its own weight function ω(c).

    Parameters
    ----------
    y, p, sample_weight, classes
        As for `proper_score`, of two classes.
    threshold : number or array in [0, 1]
        Many thresholds cost little more than one.

    Returns
    -------
    float, or an array of the shape of `threshold`

    Examples
    --------
    >>> cost_weighted_error([0, 0, 1, 1], [0.1, 0.6, 0.3, 0.8], 0.5)
    0.25
    >>> cost_weighted_error([0, 0, 1, 1], [0.1, 0.6, 0.3, 0.8], [0.25, 0.5, 0.75])
    array([0.0625, 0.25  , 0.0625])
    """
    forecast = read_binary(y, p, sample_weight, classes)
    errors = errors_at(forecast, _thresholds(threshold))
    return float(errors) if errors.ndim == 0 else errors


def murphy_curve(
    y: ArrayLike,
    p: ArrayLike,
    thresholds: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> MurphyCurve:
    """The cost-weighted error at every threshold c from 0 to 1.

    A forecast whose curve lies below that of another everywhere is better by every proper score. The area under
    the curve, weighted by ω(c), is the proper score with weight function ω: without a weight ½ Brier score.

    Parameters
    ----------
    y, p, sample_weight, classes
        As for `proper_score`, of two classes.
    thresholds : array in [0, 1], optional
        Where to look. By default the whole curve, exactly: it is linear between neighbouring forecasts and jumps at
        each of them, so 0, every distinct forecast twice, and 1 are its corners.

    Returns
    -------
    MurphyCurve
        At a jump the first of the two points is the error at this threshold, the second that just above it.

    References
    ----------
    Ehm, Gneiting, Jordan & Krüger (2016), Of quantiles and expectiles, JRSS B 78.

    Examples
    --------
    >>> curve = murphy_curve([0, 1], [0.2, 0.6])
    >>> curve.thresholds
    array([0. , 0.2, 0.2, 0.6, 0.6, 1. ])
    >>> curve.errors
    array([0. , 0.1, 0. , 0. , 0.2, 0. ])
    """
    forecast = read_binary(y, p, sample_weight, classes)
    if thresholds is not None:
        at = _thresholds(thresholds)
        return MurphyCurve(at, errors_at(forecast, at))
    cuts = cuts_of(forecast)
    corners = np.concatenate([[0.0], np.repeat(cuts.values, 2), [1.0]])
    missed, false = np.repeat(cuts.missed, 2), np.repeat(cuts.false, 2)
    return MurphyCurve(corners, ((1.0 - corners) * missed + corners * false) / forecast.total)


def net_benefit(
    y: ArrayLike,
    p: ArrayLike,
    thresholds: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> NetBenefitCurve:
    """What decisions at a threshold c gain over calling every row negative, in true positives per row.

    True positives/n - false positives/n · c/(1 - c): the larger the better, at most the share of positives. It says
    the same as the cost-weighted error: share of positives - error/(1 - c).

    Parameters
    ----------
    y, p, sample_weight, classes
        As for `proper_score`, of two classes.
    thresholds : array in [0, 1)
        At 1 a false positive would weigh infinitely.

    References
    ----------
    Vickers & Elkin (2006), Decision curve analysis, Medical Decision Making 26.

    Examples
    --------
    >>> net_benefit([0, 0, 1, 1], [0.1, 0.6, 0.3, 0.8], [0.2, 0.5]).benefits
    array([0.4375, 0.    ])
    """
    forecast = read_binary(y, p, sample_weight, classes)
    at = _thresholds(thresholds)
    check_below_one(at)
    return net_benefit_of(forecast, at)


def check_below_one(thresholds: Array) -> None:
    if thresholds.size and thresholds.max() >= 1.0:
        raise ValueError("thresholds of net benefit must be below 1, where a false positive would weigh infinitely.")


def net_benefit_of(forecast: Forecast, at: Array) -> NetBenefitCurve:
    """`net_benefit` of a checked forecast, at thresholds below 1."""
    negative, positive = forecast.class_weight / forecast.total
    alarms, odds = _alarms(forecast, at), at / (1.0 - at)
    return NetBenefitCurve(at, alarms.hit - alarms.false * odds, positive - negative * odds)


def _thresholds(thresholds: ArrayLike) -> Array:
    at = as_float(thresholds, "threshold")
    bad = ~((at >= 0.0) & (at <= 1.0))
    if bad.any():
        raise ValueError(f"a threshold must lie in [0, 1], got {at[bad].flat[0]}.")
    return at


def errors_at(forecast: Forecast, at: Array) -> Array:
    """`cost_weighted_error` of a checked forecast."""
    alarms = _alarms(forecast, at)
    return np.asarray((1.0 - at) * alarms.missed + at * alarms.false)


def _alarms(forecast: Forecast, at: Array) -> _Alarms:
    """Each row is counted between two thresholds, so that nothing need be sorted but these."""
    ordered = np.unique(at)
    position = np.searchsorted(ordered, forecast.p, side="right")  # how many thresholds call the row positive
    size = len(ordered) + 1
    tally = np.bincount(2 * position + forecast.codes, forecast.weight, 2 * size).reshape(size, 2) / forecast.total
    false, hit = np.cumsum(tally[::-1], axis=0)[-2::-1].T
    missed = np.cumsum(tally[:-1, 1])
    index = np.searchsorted(ordered, at)
    return _Alarms(hit[index], missed[index], false[index])
