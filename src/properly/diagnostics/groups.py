"""Calibration within groups of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.diagnostics.intervals import as_frame, jeffreys_interval
from properly.diagnostics.reliability import most_probable
from properly.inputs.forecast import Forecast, check_confidence, read_forecast
from properly.inputs.options import numbered
from properly.inputs.weights import read_weight
from properly.losses import Loss, get_loss
from properly.metrics import score_decomposition
from properly.numeric.probabilities import Array

MISSING = "(missing)"


@dataclass(frozen=True)
class GroupCalibration:
    """What `by_group` returns, one entry a group.

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
        The part of the score that recalibration within the group would mend; too large by chance in small groups.
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

    @property
    def off(self) -> NDArray[np.bool_]:
        """Where the mean forecast lies outside the interval; by chance alone, 1 - confidence of the groups or less."""
        return (self.mean_p < self.low) | (self.mean_p > self.high)

    def frame(self) -> Any:
        """A pandas DataFrame, one row a group."""
        names = ("weight", "base_rate", "low", "high", "mean_p", "off", "score", "miscalibration")
        return as_frame({"group": list(self.groups)} | {name: getattr(self, name) for name in names})

    def plot(self, ax: Any = None, *, max_groups: int = 30) -> Any:
        """Draw the base rates with their intervals, and the mean forecasts, one line a group.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        max_groups : int, default 30
            If there are more, those with the most weight are drawn.
        """
        from properly.plots.scores import draw_groups

        return draw_groups(self, ax, max_groups=max_groups)


def by_group(
    y: ArrayLike,
    p: ArrayLike,
    group: ArrayLike,
    *,
    loss: str | Loss = "log",
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    confidence: float = 0.9,
) -> GroupCalibration:
    """Whether forecasts are right in every group of rows, not only on the whole.

    Errors of groups may cancel: a forecast can be calibrated for all rows together, and too low for women and too high
    for men. For each group this gives the share of positives with Jeffreys' interval, the mean forecast, which should
    lie within, the score, and how much of that is miscalibration.

    Parameters
    ----------
    y : array of shape (n,)
    p : array of shape (n,), (n, 2) or (n, K)
        For K > 2 classes the question is whether the most probable class is the true one, as often as it says.
    group : array of shape (n,)
        Any labels; missing values (None, nan) are a group of their own. Different labels that read the same, such as
        1 and "1", get a number.
    loss : loss or its key, default "log"
    sample_weight : array of shape (n,), optional
        A weight counts as that many rows.
    classes : labels, optional
        Where y does not have all of them.
    confidence : float, default 0.9

    Examples
    --------
    >>> y, p = [0, 0, 0, 1, 0, 1, 1, 1], [0.2, 0.3, 0.2, 0.3, 0.2, 0.3, 0.2, 0.3]
    >>> result = by_group(y, p, list("aaaabbbb"))
    >>> result.groups, result.base_rate, result.mean_p, result.off
    (('a', 'b'), array([0.25, 0.75]), array([0.25, 0.25]), array([False,  True]))
    """
    check_confidence(confidence)
    kind = get_loss(loss)
    forecast = read_forecast(y, p, sample_weight, classes)
    names, codes = _coded(_read_groups(group, len(np.asarray(y)), sample_weight))
    looked_at = forecast if forecast.binary else most_probable(forecast)
    rows = [_of_one(part, kind) for part in _parts(looked_at, codes, len(names))]
    total, positive, mean_p, score, miscalibration = np.array(rows).T
    low, high = jeffreys_interval(positive, total - positive, confidence)
    return GroupCalibration(names, total, positive / total, low, high, mean_p, score, miscalibration, float(confidence))


def _read_groups(group: ArrayLike, n_rows: int, sample_weight: ArrayLike | None) -> NDArray[Any]:
    """The group of each row that has a weight."""
    labels = np.asarray(group)
    if labels.dtype.kind in "US" and isinstance(group, list | tuple):
        labels = np.array(group, dtype=object)  # NumPy would make the text "nan" of a missing value among texts
    if labels.shape != (n_rows,):
        raise ValueError(f"group must be a label for each row of y, of shape ({n_rows},), got {labels.shape}.")
    weight = read_weight(sample_weight, n_rows)
    return labels if weight is None else labels[weight > 0.0]


def _of_one(part: Forecast, loss: Loss) -> tuple[float, float, float, float, float]:
    p = part.p if part.complement is None else np.column_stack([part.complement, part.p])
    parts = score_decomposition(part.positive, p, loss, sample_weight=part.weight)
    return part.total, float(part.class_weight[1]), part.mean(part.p), parts.score, parts.miscalibration


def _parts(forecast: Forecast, codes: NDArray[np.intp], n_groups: int) -> Iterator[Forecast]:
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=n_groups))
    for begin, end in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True):
        rows = order[begin:end]
        weight = None if forecast.weight is None else forecast.weight[rows]
        complement = None if forecast.complement is None else forecast.complement[rows]
        yield Forecast(forecast.codes[rows], forecast.p[rows], complement, weight)


def _coded(labels: NDArray[Any]) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """The names of the groups in sorted order, missing values last, and the position of every row's."""
    if labels.dtype != object:
        found, codes = np.unique(labels, return_inverse=True)
        return tuple(MISSING if _is_missing(each) else str(each) for each in found), codes
    values = labels.tolist()
    distinct = set(values)
    known = [each for each in distinct if not _is_missing(each)]
    try:
        known.sort()
    except TypeError:  # labels of several kinds
        known.sort(key=str)
    position = dict.fromkeys(distinct, len(known)) | {each: k for k, each in enumerate(known)}
    names = numbered([str(each) for each in known] + [MISSING] * (len(known) < len(distinct)))
    return names, np.fromiter(map(position.__getitem__, values), dtype=np.intp, count=len(values))


def _is_missing(label: Any) -> bool:
    """None, and what differs from itself or will not tell: nan, NaT, pandas' NA."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True
