"""Labels and scores wherever their rows are: those that are not in memory are counted by score, in one pass.

A count is a row with a weight: whatever takes labels, scores and weights takes counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.engines.description import Part
from properly.forecasts.counting import CountedRows, counted_rows, is_elsewhere, part_counts, rows_of, total_of
from properly.forecasts.several import ClassCounts
from properly.inputs import forecast as in_memory
from properly.inputs.forecast import Forecast, read_probabilities
from properly.inputs.labels import positive_last
from properly.inputs.options import checked_names
from properly.numeric.probabilities import Array
from properly.score_counts import ScoreCounts


def audited_forecast(
    p: Any,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    group: Any = None,
    classes: ArrayLike | None = None,
    decide: Callable[[Array], NDArray[np.intp]] | None = None,
) -> tuple[Forecast, NDArray[Any] | None, float]:
    """Probabilities that are not in memory, of any number of classes, as a forecast, the groups of its entries
    (of those of the most probable class, for several classes), and the width of a cell.

    `decide` makes decisions of rows of probabilities, if these are not the most probable class.
    """
    total = total_of(p, y, sample_weight, group, partial(_part_counts, decide), _by_group)
    if isinstance(total, ClassCounts):
        return (*total.forecast(classes), total.width)
    found = rows_of(total)
    known = positive_last(found.y) if classes is None else classes
    return forecast_of(found, known), found.group, found.counts.width


def _part_counts(decide: Any, part: Part, number: int) -> ScoreCounts | ClassCounts | None:
    """Of probabilities of two classes, or of more."""
    if np.ndim(part.X) < 2 or part.X.shape[1] < 3:
        return part_counts(_one_column, True, part, number)
    return ClassCounts.of(decide, part, number)


def _by_group(total: ScoreCounts | ClassCounts) -> ScoreCounts:
    return total.top if isinstance(total, ClassCounts) else total


def read_forecast(
    y: ArrayLike | None,
    p: Any,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    *,
    keep_library: bool = False,
) -> Forecast:
    """`properly.inputs.forecast.read_forecast`, also of probabilities that are not in memory (two classes)."""
    if not is_elsewhere(p):
        return in_memory.read_forecast(y, p, sample_weight, classes, keep_library=keep_library)  # type: ignore[arg-type]
    return forecast_of(counted_forecast(p, y, sample_weight), classes)


def counted_forecast(
    p: Any, y: ArrayLike | None, sample_weight: ArrayLike | None, group: Any = None, *, labelled: bool = True
) -> CountedRows:
    """Probabilities of the second of two classes, or of both, counted."""
    return counted_rows(p, y, sample_weight, group, read=_one_column, labelled=labelled)


def forecast_of(found: CountedRows, classes: ArrayLike | None = None) -> Forecast:
    forecast = in_memory.read_forecast(found.y, found.score, found.weight, classes)
    return replace(forecast, unit=found.unit, rows=found.rows)


def _one_column(values: Array) -> Array:
    p, _ = read_probabilities(values)
    if p.ndim > 1:
        raise ValueError(
            f"probabilities that are not in memory are judged for two classes, but there are {p.shape[1]} columns; "
            "look at one class against the rest: its column, and labels that say whether it occurred"
        )
    return np.asarray(p)


def read_binary(
    y: ArrayLike | None,
    p: Any,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    *,
    keep_library: bool = False,
) -> Forecast:
    """As `read_forecast`, for what is defined for two classes only."""
    forecast = read_forecast(y, p, sample_weight, classes, keep_library=keep_library)
    if not forecast.binary:
        raise ValueError(
            f"this is defined for two classes, but p has {forecast.p.shape[1]} columns; look at one class k against "
            "the rest: y == classes[k] and p[:, k]."
        )
    return forecast


def read_named(
    y: ArrayLike | None,
    p: Any,
    sample_weight: ArrayLike | None,
    classes: ArrayLike | None,
    reserved: Iterable[str] = (),
) -> dict[str, Forecast]:
    """One forecaster, called "forecast", or several by name, of the same rows of two classes.

    `reserved` names are those of other columns.
    """
    if not isinstance(p, Mapping):
        return {"forecast": read_binary(y, p, sample_weight, classes)}
    if not p:
        raise ValueError("p is an empty mapping; it must map the name of at least one forecaster to its probabilities.")
    forecasts = {}
    for name, each in zip(checked_names(p, reserved), p.values(), strict=True):
        try:
            forecasts[name] = read_binary(y, each, sample_weight, classes)
        except ValueError as error:
            raise ValueError(f"forecaster {name!r}: {error}") from error
    return forecasts
