"""Reliability: forecast probabilities against observed frequencies, for two classes and for more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from properly.diagnostics.results import Result
from properly.inputs.forecast import Forecast, read_forecast, read_named
from properly.inputs.options import CONFIDENCE, Seed, checked_confidence, checked_count
from properly.metrics.calibration_tests import label_drawer
from properly.metrics.thresholds import grouped_forecasts
from properly.numeric.isotonic import isotonic_rates
from properly.numeric.probabilities import Array

_FORECASTER = "forecaster"  # a column
_CHUNK = 4096  # points whose quantiles are taken at a time


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
        Where `recalibrated` would lie, with probability `confidence` at each forecast, if the forecasts were right.
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
        """The share of the weight that lies outside the band; about 1 - confidence, or less, if all is well."""
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
    n_resamples: int = 200,
    confidence: float = CONFIDENCE,
    random_state: Seed = 0,
    max_points: int = 100_000,
) -> Reliability | ReliabilityByForecaster:
    """Reliability diagram without bins to choose: isotonic regression of the labels on the forecasts (CORP).

    Forecasts are right, or calibrated, if of the rows that are given the probability p a share p is positive. Isotonic
    regression estimates that share as a non-decreasing function of the forecast; its blocks are bins whose number and
    widths follow from the data. The closer to the diagonal the better. Even right forecasts differ from it by chance:
    the band shows how far. For it, labels are drawn as if every forecast were right, and recalibrated in turn.

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
    n_resamples : int, default 200
    confidence : float, default 0.95
        Of the band, at each forecast alone.
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
    n_resamples: int = 200,
    confidence: float = CONFIDENCE,
    random_state: Seed = 0,
    max_points: int = 100_000,
) -> Reliability:
    """`reliability` of a checked forecast of two classes."""
    p, weight, positive = grouped_forecasts(forecast, max_points)
    low, high = _consistency_band(p, weight, n_resamples, confidence, check_random_state(random_state))
    return Reliability(p, weight, positive, isotonic_rates(positive, weight), low, high, confidence)


def _consistency_band(
    p: Array, weight: Array, n_resamples: int, confidence: float, random: np.random.RandomState
) -> tuple[Array, Array]:
    """Pointwise quantiles of the recalibrated forecasts under labels drawn from the forecasts."""
    draw, curves = label_drawer(p, weight, random), np.empty((n_resamples, len(p)))
    for curve in curves:
        curve[:] = isotonic_rates(weight * draw(), weight)
    tail = 0.5 * (1.0 - confidence)
    band = np.empty((2, len(p)))
    for begin in range(0, len(p), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        # These quantiles of a few curves hold one more as often as asked for; NumPy's usual ones are too narrow.
        band[:, part] = np.quantile(curves[:, part], [tail, 1.0 - tail], axis=0, method="weibull")
    low, high = np.clip(band, 0.0, 1.0)
    return low, high


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
    n_resamples: int = 200,
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
    n_resamples: int = 200,
    confidence: float = CONFIDENCE,
    random_state: Seed = 0,
    max_points: int = 10_000,
) -> MulticlassReliability:
    """`multiclass_reliability` of a checked forecast of more than two classes."""
    settings = (n_resamples, confidence, random_state, max_points)
    by_class = tuple(reliability_of(each, *settings) for each in forecast.against_rest())
    return MulticlassReliability(
        tuple(forecast.classes.tolist()), by_class, top=reliability_of(forecast.most_probable(), *settings)
    )
