"""Calibration within groups of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.diagnostics.results import Result
from properly.forecasts import counted_forecast, forecast_of, read_forecast
from properly.forecasts.counting import is_elsewhere
from properly.inputs.forecast import Forecast, read_groups
from properly.inputs.options import CONFIDENCE, checked_confidence
from properly.losses import Loss, get_loss
from properly.metrics.clusters import design_effect
from properly.metrics.scores import decomposition_of
from properly.numeric.probabilities import Array
from properly.numeric.tails import quantile, two_sided

_ROUNDING = 1e-12  # of sums of weights


@dataclass(frozen=True)
class GroupCalibration(Result):
    """What `by_group` returns: one entry, and one row of the frame, for each group.

    Attributes
    ----------
    groups : tuple of str
    weight : array
        The weight of the rows; their number if no weights were given.
    base_rate : array
        The share of positives.
    mean_p, low, high : array
        What was forecast on average, and the interval in which the share of positives lies with the probability
        `confidence` if the forecasts are right.
    p_value : array
        How probable a share as far from the mean forecast is if the forecasts are right.
    deviation : array
        The standard error of the share around the mean forecast, whether the forecasts are right or not.
    score : array
        Mean loss; it depends on the base rate of a group, so that groups cannot be compared by it.
    miscalibration : array
        The part of the score that recalibration within the group would remove; overestimated in small groups.
    confidence : float
    """

    groups: tuple[str, ...]
    weight: Array
    base_rate: Array
    mean_p: Array
    low: Array
    high: Array
    p_value: Array
    deviation: Array
    score: Array
    miscalibration: Array
    confidence: float
    _drawn_by: ClassVar[str] = "draw_groups"

    @property
    def off(self) -> NDArray[np.bool_]:
        """Where the share of positives lies outside the interval; by chance alone, 1 - confidence of the groups."""
        return self.p_value < 1.0 - self.confidence

    def _columns(self) -> dict[str, Any]:
        names = ("weight", "base_rate", "mean_p", "low", "high", "p_value", "off", "score", "miscalibration")
        return {"group": list(self.groups), **self._attributes(*names)}

    def plot(self, ax: Any = None, *, max_groups: int = 30) -> Any:
        """Draw the base rates, and the mean forecasts with the intervals of right ones, one line a group.

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
    high for men. For each group this gives the share of positives, the mean forecast, the interval around it in which
    the share should lie, the score, and how much of that is miscalibration. The sum of independent labels has the
    variance Σp(1-p); its interval and p-value are those of the gamma distribution with its first three moments.

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
    >>> result.p_value.round(2)
    array([0.92, 0.04])
    """
    level, kind = checked_confidence(confidence), get_loss(loss)
    if is_elsewhere(p):
        found = counted_forecast(p, y, sample_weight, group)
        forecast, group = forecast_of(found, classes), cast(NDArray[Any], found.group)
    else:
        forecast = read_forecast(y, p, sample_weight, classes)
    return groups_of(forecast, *read_groups(group, forecast), kind, level)


def groups_of(
    forecast: Forecast,
    names: tuple[str, ...],
    codes: NDArray[np.intp],
    loss: Loss,
    confidence: float,
    cluster: NDArray[Any] | None = None,
) -> GroupCalibration:
    """`by_group` of a checked forecast and of groups as `read_groups` gives them; every group has a row.

    `cluster` numbers the rows that belong together, which count as fewer by the design effect in their group.
    """
    forecast = forecast if forecast.binary else forecast.most_probable()
    rows_by_group = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    found = []
    for rows in rows_by_group:
        group = forecast.take(rows)
        parts = decomposition_of(group, loss)
        moments = _moments(group, None if cluster is None else cluster[rows])
        found.append(
            (group.total, group.class_weight[1], group.mean(group.p), *moments, parts.score, parts.miscalibration)
        )
    total, positive, mean_p, variance, third, spread, score, miscalibration = np.array(found).T
    tail = 0.5 * (1.0 - confidence)
    low, high = (np.clip(mean_p + quantile(end, variance, third) / total, 0.0, 1.0) for end in (tail, 1.0 - tail))
    excess = positive - total * mean_p
    impossible = (variance == 0.0) & (np.abs(excess) > _ROUNDING * total)  # rows that were certain, and wrong
    p_value = np.where(impossible, 0.0, two_sided(excess, variance, third))
    deviation = np.sqrt(spread) / total
    return GroupCalibration(
        names, total, positive / total, mean_p, low, high, p_value, deviation, score, miscalibration, confidence
    )


def _moments(group: Forecast, cluster: NDArray[Any] | None) -> tuple[float, float, float]:
    """Variance and third moment of the sum of the labels if the forecasts are right, and its variance in any case."""
    weight = np.ones(len(group.p)) if group.weight is None else group.weight
    residual, variance = group.positive - group.p, weight * group.p * (1.0 - group.p)
    spread = float(weight @ np.square(residual - np.average(residual, weights=weight)))
    together = design_effect(group, cluster)
    if together == np.inf:
        return np.inf, 0.0, np.inf
    third = float(variance @ (1.0 - 2.0 * group.p))
    return together * float(variance.sum()), together**2 * third, together * spread
