"""Labels and scores wherever their rows are: those that are not in memory are counted by score, in one pass.

A count is a row with a weight: whatever takes labels, scores and weights takes counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.engines import PartitionedEngine, engine_for
from properly.engines.description import Part
from properly.inputs import forecast as in_memory
from properly.inputs.forecast import Forecast, read_probabilities
from properly.inputs.frames import missing_in
from properly.inputs.labels import encode, found_classes
from properly.inputs.misuse import Misuse
from properly.inputs.options import checked_names
from properly.numeric.probabilities import Array
from properly.score_counts import ScoreCounts

MOST_GROUPS = 1_000


class CountedRows(NamedTuple):
    """Rows of the same label, score and group as one, with their weight and their number."""

    y: NDArray[Any]
    score: Array
    weight: Array
    rows: Array
    group: NDArray[Any] | None
    counts: ScoreCounts


def is_elsewhere(X: Any) -> bool:
    """Whether the rows are not in memory."""
    return issubclass(engine_for(X), PartitionedEngine)


def counted_rows(
    scores: Any,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None = None,
    group: ArrayLike | None = None,
    *,
    read: Callable[[Array], Array],
    labelled: bool = True,
) -> CountedRows:
    """Rows that are not in memory, counted; `read` makes one column of the columns of a part.

    Rows without labels, if they are not wanted, have the label 0.
    """
    engine = cast(type[PartitionedEngine], engine_for(scores))(scores, y, sample_weight, None, group)
    total: ScoreCounts | None = None
    try:
        engine.keep()
        for found in engine.visit(partial(_counted, read, labelled)):
            if found is not None:
                total = found if total is None else total + found
                _check_groups(total)
    finally:
        engine.release()
    if total is None or not any(len(counts.score) for counts in total.kinds.values()):
        raise ValueError("there are no rows of a positive weight.")
    kinds, place, score, rows, weight = total.entries()
    labels, groups = (_column(each) for each in zip(*kinds, strict=True))
    no_group = bool((groups == _NO_GROUP).all())
    return CountedRows(labels[place], score, weight, rows, None if no_group else groups[place], total)


_NO_GROUP = "\0no group"


def _counted(read: Callable[[Array], Array], labelled: bool, part: Part, number: int) -> ScoreCounts | None:
    part = part.checked()
    if not part.X.shape[0]:
        return None
    if labelled and part.y is None:
        raise ValueError(f"{part.place} has no labels; blocks must be (X, y, ...), files and frames need target=.")
    y = part.y if labelled and part.y is not None else np.zeros(part.X.shape[0], dtype=np.int8)
    classes = found_classes(y)
    groups: list[Any] = [_NO_GROUP]
    group = np.zeros(1, dtype=np.intp)
    if part.group is not None:
        groups, group = _distinct(part.group)
    try:
        score = read(np.asarray(part.X, dtype=np.float64))
    except ValueError as error:
        raise type(error)(f"{error} (in {part.place})") from error
    names = [(label, name) for name in groups for label in classes.tolist()]
    return ScoreCounts.of(score, len(classes) * group + encode(y, classes), part.weight).named(names)


def _distinct(labels: NDArray[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """Labels of any kind, missing ones as None, and the position of every row's."""
    if labels.dtype != object and not missing_in(labels).any():
        found, place = np.unique(labels, return_inverse=True)
        return found.tolist(), place
    missing = missing_in(labels)
    known = [*dict.fromkeys(labels[~missing].tolist()), None]
    position = {label: k for k, label in enumerate(known)}
    place = np.full(len(labels), len(known) - 1, dtype=np.intp)
    place[~missing] = [position[label] for label in labels[~missing].tolist()]
    return known, place


def _check_groups(counts: ScoreCounts) -> None:
    if len(counts.kinds) > MOST_GROUPS:
        number = len({group for _, group in counts.kinds})
        if number > MOST_GROUPS:
            raise Misuse(f"group has more than {MOST_GROUPS:,} different values; is it the right column?")


def _column(values: Iterable[Any]) -> NDArray[Any]:
    """Labels as NumPy would hold them, except that mixed kinds stay apart."""
    listed = list(values)
    if len({isinstance(each, str) for each in listed}) > 1 or any(each is None for each in listed):
        return np.array([*listed, None], dtype=object)[:-1]
    return np.array(listed)


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
    return replace(in_memory.read_forecast(found.y, found.score, found.weight, classes), rows=found.rows)


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
