"""Reliability of more than two classes: of each class, and of the one that is thought most probable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from properly.diagnostics.frames import as_frame
from properly.diagnostics.inputs import check_confidence
from properly.diagnostics.reliability import Reliability, reliability_of
from properly.metrics.inputs import Forecast, read_forecast
from properly.options import checked_count
from properly.probabilities import Array

_COLUMNS = ("forecast", "weight", "positive", "recalibrated", "low", "high")


@dataclass(frozen=True)
class MulticlassReliability:
    """What `multiclass_reliability` returns.

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

    def frame(self) -> Any:
        """A pandas DataFrame with the rows of all panels; the column "panel" has the label, or "most probable"."""
        parts = [self.top, *self.by_class]
        names = np.empty(len(parts), dtype=object)
        names[:] = ["most probable", *self.classes]
        panel = np.repeat(names, [len(part.forecast) for part in parts])
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS}
        return as_frame({"panel": panel, **columns})

    def plot(self, *, scale: str = "probability", max_panels: int = 12) -> Any:
        """Draw a panel for the most probable class and one for each class; returns the matplotlib Figure.

        Parameters
        ----------
        scale : {"probability", "log-odds"}, default "probability"
        max_panels : int, default 12
            If there are more, the classes with the most positives are drawn.
        """
        from properly.plots.multiclass_reliability import draw_multiclass_reliability

        return draw_multiclass_reliability(self, scale=scale, max_panels=max_panels)


def multiclass_reliability(
    y: ArrayLike,
    p: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    n_resamples: int = 200,
    confidence: float = 0.9,
    random_state: int | np.random.RandomState | None = 0,
    max_points: int = 10_000,
) -> MulticlassReliability:
    """Reliability of every class against the rest, and of the most probable class.

    Right probabilities are right for each class alone, and the class thought most probable is the true one as often
    as its probability says. Neither is enough for the whole vector of probabilities to be right, but what is wrong
    mostly shows here.

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
    checked_count(n_resamples, "n_resamples", 2)
    checked_count(max_points, "max_points", 2)
    check_confidence(confidence)
    forecast = read_forecast(y, p, sample_weight, classes)
    if forecast.binary:
        raise ValueError("p has the probabilities of two classes; reliability(y, p) shows all there is.")
    labels = np.unique(np.asarray(y)) if classes is None else np.asarray(classes)
    settings = (n_resamples, confidence, random_state, max_points)
    return MulticlassReliability(
        tuple(labels.tolist()),
        tuple(reliability_of(each, *settings) for each in forecast.against_rest()),
        reliability_of(most_probable(forecast), *settings),
    )


def most_probable(forecast: Forecast) -> Forecast:
    """Whether the class of the largest probability (the first of equals) is the true one, and that probability."""
    top = forecast.p.argmax(axis=1)
    p: Array = np.take_along_axis(forecast.p, top[:, None], axis=1)[:, 0]
    return Forecast((top == forecast.codes).view(np.int8), p, None, forecast.weight)
