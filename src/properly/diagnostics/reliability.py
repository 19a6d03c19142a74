"""Reliability: forecast probabilities against observed frequencies, for two classes and for more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from properly.diagnostics.results import Result
from properly.forecasts import read_forecast, read_named
from properly.inputs.forecast import Forecast
from properly.inputs.options import CONFIDENCE, Seed, checked_confidence, checked_count
from properly.metrics.calibration_tests import label_drawer
from properly.metrics.clusters import design_effect
from properly.metrics.thresholds import grouped_forecasts
from properly.numeric.isotonic import isotonic_rates
from properly.numeric.limits import SMALLEST_NORMAL
from properly.numeric.probabilities import Array

_FORECASTER = "forecaster"  # a column
_ROUNDING = 1e-6  # of a spread or a skewness: smaller ones are none
_MOST_SKEWED = 5.0  # beyond, too few of the drawn curves differ from the others to tell how far one may lie


@dataclass(frozen=True)
class Reliability(Result):
    """What `reliability` returns: one entry a distinct forecast, or a group of neighbouring ones, in rising order.

    Attributes
    ----------
    forecast : array
        The forecast probability.
    weight, positive : array
        The weight of the rows with this forecast, and of the positives among them.
    recalibrated : array
        What the forecast should have been: the share of positives in its isotonic block.
    low, high : array
        Between which all of `recalibrated` would lie, with probability `confidence`, if the forecasts were right.
    confidence : float
    """

    forecast: Array
    weight: Array
    positive: Array
    recalibrated: Array
    low: Array
    high: Array
    confidence: float
    _drawn_by: ClassVar[str] = "draw_reliability"

    @property
    def outside(self) -> float:
        """The share of the weight that lies outside the band; 0, with probability `confidence`, if all is well."""
        beyond = (self.recalibrated < self.low) | (self.recalibrated > self.high)
        return float(self.weight[beyond].sum() / self.weight.sum())

    def _columns(self) -> dict[str, Any]:
        return self._attributes("forecast", "weight", "positive", "recalibrated", "low", "high")

    def plot(self, ax: Any = None, *, scale: str = "probability", histogram: bool = True) -> Any:
        """Draw the recalibrated against the forecast probabilities, with the band around the diagonal.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A figure of its own if not given.
        scale : {"probability", "log-odds"}, default "probability"
            "log-odds" spreads both ends, for rare classes: 0.001 is as far from 0.01 as 0.01 from 0.1. There is no
            place for 0 and 1 on it: they have a lane of their own beyond the ends, marked by triangles, which holds
            everything nearer to 0 or 1 than 1/(10n), for n rows, or 1e-12.
        histogram : bool, default True
            Draw how the forecasts are distributed, above.
        """
        return self._draw(ax, scale=scale, histogram=histogram)


@dataclass(frozen=True)
class ReliabilityByForecaster(Result):
    """What `reliability` returns of several forecasters.

    The frame has the rows of all of them; its column "forecaster" holds the name.

    Attributes
    ----------
    names : tuple of str
    forecasters : tuple of `Reliability`
        One for each name.
    """

    names: tuple[str, ...]
    forecasters: tuple[Reliability, ...]
    _drawn_by: ClassVar[str] = "draw_reliability_by_forecaster"

    def __getitem__(self, name: str) -> Reliability:
        return self.forecasters[self.names.index(name)]

    def _columns(self) -> dict[str, Any]:
        return _stacked(_FORECASTER, self.names, self.forecasters)

    def plot(self, *, scale: str = "probability") -> Any:
        """Draw a panel for each forecaster, on common axes; returns the matplotlib Figure.

        Parameters
        ----------
        scale : {"probability", "log-odds"}, default "probability"
        """
        return self._draw(scale=scale)


def _stacked(heading: str, names: tuple[Any, ...], parts: tuple[Reliability, ...]) -> dict[str, Any]:
    """The columns of several results, one below the other, with the name of each row's in the first."""
    labels = np.empty(len(parts), dtype=object)
    labels[:] = names
    columns = [part._columns() for part in parts]
    joined = {name: np.concatenate([each[name] for each in columns]) for name in columns[0]}
    return {heading: np.repeat(labels, [len(part.forecast) for part in parts]), **joined}


def reliability(
    y: ArrayLike,
    p: ArrayLike | Mapping[str, ArrayLike],
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    n_resamples: int = 300,
    confidence: float = CONFIDENCE,
    random_state: Seed = 0,
    max_points: int = 100_000,
) -> Reliability | ReliabilityByForecaster:
    """Reliability diagram without bins to choose: isotonic regression of the labels on the forecasts (CORP).

    Forecasts are right, or calibrated, if of the rows that are given the probability p a share p is positive. Isotonic
    regression estimates that share as a non-decreasing function of the forecast; its blocks are bins whose number and
    widths follow from the data. The closer to the diagonal the better. Even right forecasts differ from it by chance:
    the band shows how far. For it, labels are drawn as if every forecast were right, and recalibrated in turn; of 100
    such curves, 95 lie within the band from end to end.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of two classes; the larger is the positive one.
    p : array of shape (n,) or (n, 2), or a mapping from names to such
        Probabilities of the positive class, of one forecaster or of several.
    sample_weight : array of shape (n,), optional
        A weight counts as that many rows, also for the band: weights that are not counts should have a mean of 1, or
        less if they differ much. Between whole numbers the spread of the drawn labels is interpolated.
    classes : pair of labels, optional
        The negative and the positive one, where the labels found do not tell.
    n_resamples : int, default 300
    confidence : float, default 0.95
        That the band holds the whole curve of right forecasts.
    random_state : int, RandomState or None, default 0
    max_points : int, default 100_000
        Where there are more distinct forecasts, neighbours are taken together. The curve stays exact if the isotonic
        regression has at most half as many blocks, as it has with the default; else it is that of the groups.

    References
    ----------
    Dimitriadis, Gneiting & Jordan (2021), Stable reliability diagrams for probabilistic classifiers, PNAS 118.

    Examples
    --------
    >>> p = [0.1, 0.2, 0.2, 0.4, 0.6, 0.9]
    >>> result = reliability([0, 0, 1, 1, 0, 1], p)
    >>> result.forecast
    array([0.1, 0.2, 0.4, 0.6, 0.9])
    >>> result.recalibrated
    array([0. , 0.5, 0.5, 0.5, 1. ])
    >>> both = reliability([0, 0, 1, 1, 0, 1], {"sharp": p, "dull": [0.5] * 6})
    >>> both["dull"].recalibrated
    array([0.5])
    """
    settings = _checked_settings(n_resamples, confidence, random_state, max_points)
    forecasts = read_named(y, p, sample_weight, classes)
    found = tuple(reliability_of(each, *settings) for each in forecasts.values())
    return ReliabilityByForecaster(tuple(forecasts), found) if isinstance(p, Mapping) else found[0]


def reliability_of(
    forecast: Forecast,
    n_resamples: int = 300,
    confidence: float = CONFIDENCE,
    random_state: Seed = 0,
    max_points: int = 100_000,
    cluster: NDArray[Any] | None = None,
) -> Reliability:
    """`reliability` of a checked forecast of two classes; `cluster` numbers the rows that belong together."""
    p, weight, positive = grouped_forecasts(forecast, max_points)
    effect = design_effect(forecast, cluster)
    rows = np.maximum(weight / effect, SMALLEST_NORMAL) if effect < np.inf else np.zeros(len(weight))
    low, high = _consistency_band(p, rows, n_resamples, confidence, check_random_state(random_state))
    return Reliability(p, weight, positive, isotonic_rates(positive, weight), low, high, confidence)


def _consistency_band(
    p: Array, weight: Array, n_resamples: int, confidence: float, random: np.random.RandomState
) -> tuple[Array, Array]:
    """Between which the whole curve lies with this confidence, under labels drawn from the forecasts.

    Half of the drawn curves give mean, spread and skewness at every forecast; of the others, the largest distance from
    the mean, in normal deviations, says how wide the band must be: it then holds one more such curve as often as asked.
    """
    if not weight.any():  # rows of a single cluster
        return np.zeros(len(p)), np.ones(len(p))
    draw, half = label_drawer(p, weight, random), n_resamples // 2
    drawn = (np.clip(isotonic_rates(weight * draw(), weight), 0.0, 1.0) - p for _ in range(n_resamples))
    sums = np.zeros((3, len(p)))
    for each in islice(drawn, half):
        sums += each, each * each, each * each * each
    mean, square, cube = sums / half
    variance = square - mean * mean
    unit = np.sqrt(np.where(variance > _ROUNDING**2 * p * (1.0 - p), variance, np.inf))
    skewness = (cube - 3.0 * mean * square + 2.0 * mean**3) / unit**3
    known = (unit < np.inf) & (np.abs(skewness) < _MOST_SKEWED)  # enough curves differ from the others here
    skewness = np.where(np.abs(skewness) < _ROUNDING, _ROUNDING, skewness)[known]
    mean, unit = mean[known], unit[known]
    farthest = [np.abs(_normal((each[known] - mean) / unit, skewness)).max(initial=0.0) for each in drawn]
    reach = float(np.quantile(farthest, confidence, method="weibull"))
    low, high = (p == 1.0).astype(np.float64), (p > 0.0).astype(np.float64)
    for edge, end in (low, -reach), (high, reach):
        edge[known] = np.clip(p[known] + mean + unit * _skewed(end, skewness), 0.0, 1.0)
    # Curves rise: one that is above `low` somewhere is so from there on. Where little is known, neighbours tell.
    return np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]


def _normal(x: Array, skewness: Array) -> Array:
    """Standardised skewed numbers made normal, by Wilson and Hilferty's cube root."""
    return 6.0 / skewness * (np.cbrt(1.0 + 0.5 * skewness * x) - 1.0) + skewness / 6.0


def _skewed(z: float, skewness: Array) -> Array:
    """The inverse of `_normal`."""
    return 2.0 / skewness * ((1.0 + skewness / 6.0 * (z - skewness / 6.0)) ** 3 - 1.0)


@dataclass(frozen=True)
class MulticlassReliability(Result):
    """What `multiclass_reliability` returns.

    The frame has the rows of all panels; its column "panel" holds the label, or "most probable".

    Attributes
    ----------
    classes : tuple
        The labels in the order of the columns of p.
    by_class : tuple of `Reliability`
        Of each class against the rest.
    top : `Reliability`
        Of the largest probability of each row: whether that class is the true one (confidence calibration).
    """

    classes: tuple[Any, ...]
    by_class: tuple[Reliability, ...]
    top: Reliability
    _drawn_by: ClassVar[str] = "draw_multiclass_reliability"

    def _columns(self) -> dict[str, Any]:
        return _stacked("panel", ("most probable", *self.classes), (self.top, *self.by_class))

    def plot(self, *, scale: str = "probability", max_panels: int = 12) -> Any:
        """Draw a panel for the most probable class and one for each class; returns the matplotlib Figure.

        Parameters
        ----------
        scale : {"probability", "log-odds"}, default "probability"
        max_panels : int, default 12
            If there are more, the classes with the most positives are drawn.
        """
        return self._draw(scale=scale, max_panels=max_panels)


def multiclass_reliability(
    y: ArrayLike,
    p: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    n_resamples: int = 300,
    confidence: float = CONFIDENCE,
    random_state: Seed = 0,
    max_points: int = 10_000,
) -> MulticlassReliability:
    """Reliability of every class against the rest, and of the most probable class.

    If probabilities are right, they are so for each class alone, and the most probable class is the true one as often
    as its probability says. Neither is enough for the whole vector of probabilities to be right, but most errors show
    here.

    Parameters
    ----------
    y : array of shape (n,)
    p : array of shape (n, K)
        Probabilities, columns in the order of the sorted labels, or of `classes`.
    sample_weight, n_resamples, confidence, random_state, max_points
        As for `reliability`, of each panel.
    classes : K labels, optional
        Needed where y does not have all of them.

    Examples
    --------
    >>> p = [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7], [0.5, 0.4, 0.1]]
    >>> result = multiclass_reliability(["a", "b", "c", "b"], p)
    >>> result.top.forecast, result.top.recalibrated
    (array([0.5, 0.6, 0.7]), array([0., 1., 1.]))
    >>> result.by_class[1].recalibrated
    array([0., 0., 1., 1.])
    """
    settings = _checked_settings(n_resamples, confidence, random_state, max_points)
    forecast = read_forecast(y, p, sample_weight, classes)
    if forecast.binary:
        raise ValueError("p has the probabilities of two classes; use reliability(y, p).")
    return multiclass_reliability_of(forecast, *settings)


def _checked_settings(
    n_resamples: int, confidence: float, random_state: Seed, max_points: int
) -> tuple[int, float, Seed, int]:
    n_resamples = checked_count(n_resamples, "n_resamples", 2)
    return n_resamples, checked_confidence(confidence), random_state, checked_count(max_points, "max_points", 2)


def multiclass_reliability_of(
    forecast: Forecast,
    n_resamples: int = 300,
    confidence: float = CONFIDENCE,
    random_state: Seed = 0,
    max_points: int = 10_000,
    cluster: NDArray[Any] | None = None,
) -> MulticlassReliability:
    """`multiclass_reliability` of a checked forecast of more than two classes."""
    settings = (n_resamples, confidence, random_state, max_points, cluster)
    by_class = tuple(reliability_of(each, *settings) for each in forecast.against_rest())
    return MulticlassReliability(
        tuple(forecast.classes.tolist()), by_class, top=reliability_of(forecast.most_probable(), *settings)
    )
