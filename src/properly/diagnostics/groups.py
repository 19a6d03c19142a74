"""Calibration within groups of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.diagnostics.results import Result, jeffreys_interval
from properly.inputs.forecast import Forecast, read_forecast, read_groups
from properly.inputs.options import CONFIDENCE, checked_confidence
from properly.losses import Loss, get_loss
from properly.metrics.scores import decomposition_of
from properly.numeric.probabilities import Array


@dataclass(frozen=True)
class GroupCalibration(Result):
    """What `by_group` returns: one entry, and one row of the frame, for each group.

    Attributes
    ----------
    groups : tuple of str
    weight : array
        The weight of the rows; their number if no weights were given.
    base_rate, low, high : array
        The share of positives, and its interval.
    mean_p : array
        What was forecast on average; it should lie within the interval.
    score : array
        Mean loss; it depends on the base rate of a group, so that groups cannot be compared by it.
    miscalibration : array
        The part of the score that recalibration within the group would remove; overestimated in small groups.
    confidence : float
    """

    groups: tuple[str, ...]
    weight: Array
    base_rate: Array
    low: Array
    high: Array
    mean_p: Array
    score: Array
    miscalibration: Array
    confidence: float
    _drawn_by: ClassVar[str] = "draw_groups"

    @property
    def off(self) -> NDArray[np.bool_]:
        """Where the mean forecast lies outside the interval; by chance alone, 1 - confidence of the groups or less."""
        return (self.mean_p < self.low) | (self.mean_p > self.high)

    def _columns(self) -> dict[str, Any]:
        names = ("weight", "base_rate", "low", "high", "mean_p", "off", "score", "miscalibration")
        return {"group": list(self.groups), **self._attributes(*names)}

    def plot(self, ax: Any = None, *, max_groups: int = 30) -> Any:
        """Draw the base rates with their intervals, and the mean forecasts, one line a group.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        max_groups : int, default 30
            If there are more, those with the most weight are drawn.
        """
        return self._draw(ax, max_groups=max_groups)


def by_group(
    y: ArrayLike,
    p: ArrayLike,
    group: ArrayLike,
    *,
    loss: str | Loss = "log",
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
) -> GroupCalibration:
    """Whether forecasts are right in every group of rows, not only on the whole.

    Errors of groups may cancel: a forecast can be calibrated for all rows together, but be too low for women and too
    high for men. For each group this gives the share of positives with Jeffreys' interval, the mean forecast, which
    should lie within it, the score, and how much of that is miscalibration.

    Parameters
    ----------
    y : array of shape (n,)
    p : array of shape (n,), (n, 2) or (n, K)
        For K > 2 classes "positive" means that the most probable class is the true one, with its probability.
    group : array of shape (n,)
        Any labels; missing values (None, nan) are a group of their own. Different labels that read the same, such as
        1 and "1", get a number.
    loss : loss or its key, default "log"
    sample_weight : array of shape (n,), optional
        A weight counts as that many rows.
    classes : labels, optional
        Where y does not have all of them.
    confidence : float, default 0.95

    Examples
    --------
    >>> y, p = [0, 0, 0, 1, 0, 1, 1, 1], [0.2, 0.3, 0.2, 0.3, 0.2, 0.3, 0.2, 0.3]
    >>> result = by_group(y, p, list("aaaabbbb"))
    >>> result.groups, result.base_rate, result.mean_p, result.off
    (('a', 'b'), array([0.25, 0.75]), array([0.25, 0.25]), array([False,  True]))
    """
    level, kind = checked_confidence(confidence), get_loss(loss)
    forecast = read_forecast(y, p, sample_weight, classes)
    return groups_of(forecast, *read_groups(group, forecast), kind, level)


def groups_of(
    forecast: Forecast, names: tuple[str, ...], codes: NDArray[np.intp], loss: Loss, confidence: float
) -> GroupCalibration:
    """`by_group` of a checked forecast and of groups as `read_groups` gives them; every group has a row."""
    forecast = forecast if forecast.binary else forecast.most_probable()
    rows_by_group = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    found = []
    for group in (forecast.take(rows) for rows in rows_by_group):
        parts = decomposition_of(group, loss)
        found.append((group.total, group.class_weight[1], group.mean(group.p), parts.score, parts.miscalibration))
    total, positive, mean_p, score, miscalibration = np.array(found).T
    low, high = jeffreys_interval(positive, total - positive, confidence)
    return GroupCalibration(names, total, positive / total, low, high, mean_p, score, miscalibration, confidence)
