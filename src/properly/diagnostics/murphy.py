"""Murphy diagrams: forecasts compared at every threshold at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special as sc

from properly.diagnostics.intervals import as_frame
from properly.inputs.forecast import Forecast, check_confidence, read_named, read_thresholds
from properly.metrics.thresholds import errors_at
from properly.numeric.probabilities import Array

_THRESHOLD, _BASE = "threshold", "base rate"  # columns


@dataclass(frozen=True)
class Murphy:
    """What `murphy` returns.

    Attributes
    ----------
    thresholds : array of shape (n_thresholds,)
    names : tuple of str
    errors : array of shape (n_forecasters, n_thresholds)
        Mean cost-weighted errors; the smaller the better.
    base : array of shape (n_thresholds,)
        The error of forecasting the share of positives for every row.
    """

    thresholds: Array
    names: tuple[str, ...]
    errors: Array
    base: Array

    def frame(self) -> Any:
        """A pandas DataFrame, one row a threshold, one column a forecaster."""
        errors = dict(zip(self.names, self.errors, strict=True))
        return as_frame({_THRESHOLD: self.thresholds, **errors, _BASE: self.base})

    def plot(self, ax: Any = None, *, scale: str = "probability") -> Any:
        """Draw the error at every threshold, one line a forecaster.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        scale : {"probability", "log-odds"}, default "probability"
            Of the thresholds; "log-odds" for rare classes.
        """
        from properly.plots.curves import draw_murphy

        return draw_murphy(self, ax, scale=scale)


@dataclass(frozen=True)
class MurphyDifference:
    """What `murphy_difference` returns: the error of one forecaster less that of another, with an interval.

    Attributes
    ----------
    thresholds, difference, low, high : array of shape (n_thresholds,)
    confidence : float
    """

    thresholds: Array
    difference: Array
    low: Array
    high: Array
    confidence: float

    def frame(self) -> Any:
        """A pandas DataFrame, one row a threshold."""
        return as_frame(
            {
                _THRESHOLD: self.thresholds,
                "difference": self.difference,
                "low": self.low,
                "high": self.high,
            }
        )

    def plot(self, ax: Any = None, *, scale: str = "probability") -> Any:
        """Draw the difference with its interval; below the line at 0 the first forecaster is better."""
        from properly.plots.curves import draw_murphy_difference

        return draw_murphy_difference(self, ax, scale=scale)


def murphy(
    y: ArrayLike,
    p: ArrayLike | Mapping[str, ArrayLike],
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    thresholds: ArrayLike | None = None,
) -> Murphy:
    """The cost-weighted error at every threshold, for one forecaster or several.

    At the threshold c a false alarm costs c and a miss 1 - c; decisions are right if p >= c means alarm. A forecaster
    whose curve is the lowest everywhere is the best by every proper score, whatever the costs; where curves cross, it
    depends on the costs (or on the score) which one to choose. The area under a curve, weighted by ω(c), is the proper
    score with the weight function ω; without a weight it is half the Brier score.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of two classes; the larger is the positive one.
    p : array of shape (n,) or (n, 2), or a mapping from names to such
        Probabilities of the positive class.
    sample_weight : array of shape (n,), optional
    classes : pair of labels, optional
    thresholds : array in [0, 1], optional
        A thousand by default, dense towards 0 and 1. The errors at each are exact.

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
    """
    forecasts = read_named(y, p, sample_weight, classes, (_THRESHOLD, _BASE))
    return murphy_of(forecasts, read_thresholds(thresholds, next(iter(forecasts.values())).total))


def murphy_of(forecasts: Mapping[str, Forecast], thresholds: Array | None = None) -> Murphy:
    """`murphy` of checked forecasts of the same rows, at sorted thresholds."""
    first = next(iter(forecasts.values()))
    at = read_thresholds(None, first.total) if thresholds is None else thresholds
    negative, positive = first.class_weight / first.total
    errors = [errors_at(each, at) for each in forecasts.values()]
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
    confidence: float = 0.9,
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
    confidence : float, default 0.9

    Examples
    --------
    >>> result = murphy_difference([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], [0.4, 0.4, 0.5, 0.6], thresholds=[0.3, 0.5])
    >>> result.difference
    array([-0.15,  0.  ])
    """
    check_confidence(confidence)
    one, two = read_named(y, {"p": p, "other": other}, sample_weight, classes).values()
    at = read_thresholds(thresholds, one.total)
    missed_less = shares_below(one, one.p, at) - shares_below(one, two.p, at)
    differ = shares_below(one, np.minimum(one.p, two.p), at) - shares_below(one, np.maximum(one.p, two.p), at)
    difference = (1.0 - at) * missed_less[1] - at * missed_less[0]
    square = np.square(1.0 - at) * differ[1] + np.square(at) * differ[0]
    deviation = np.sqrt(np.maximum(square - np.square(difference), 0.0) / one.total)
    reach = float(sc.ndtri(0.5 + 0.5 * confidence)) * deviation
    return MurphyDifference(at, difference, difference - reach, difference + reach, float(confidence))


def shares_below(forecast: Forecast, p: Array, at: Array) -> Array:
    """For each sorted threshold c the share of all rows that are negative with p < c, and positive with p < c."""
    position = np.searchsorted(at, p, side="right")  # how many thresholds do not exceed p
    counted = np.bincount(2 * position + forecast.codes, forecast.weight, 2 * (len(at) + 1))
    return np.cumsum(counted.reshape(-1, 2)[:-1], axis=0).T / forecast.total
