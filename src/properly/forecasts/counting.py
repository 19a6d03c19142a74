"""Rows that are not in memory, counted by score in one pass: what of a part, and of all parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.engines import PartitionedEngine, engine_for
from properly.engines.description import Part, said_of
from properly.inputs.frames import in_microseconds, missing_in
from properly.inputs.labels import encode, found_classes
from properly.inputs.misuse import Misuse
from properly.numeric.probabilities import Array
from properly.score_counts import ScoreCounts

MOST_GROUPS = 1_000


class NoRows(ValueError):
    """There is nothing to count."""


class TooManyGroups(Misuse):
    """Groups are hardly groups."""

    def __init__(self, name: object = "group") -> None:
        super().__init__(f"{name} has more than {MOST_GROUPS:,} different values; is it the right column?")


class CountedRows(NamedTuple):
    """Rows of the same label, score and group as one, with their weight, its unit and their number."""

    y: NDArray[Any]
    score: Array
    weight: Array
    unit: Array | None
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
    return rows_of(total_of(scores, y, sample_weight, group, partial(part_counts, read, labelled), lambda total: total))


def total_of(
    scores: Any,
    y: Any,
    sample_weight: Any,
    group: Any,
    function: Callable[[Part, int], Any],
    by_group: Callable[[Any], ScoreCounts],
) -> Any:
    """What a function counts of all parts, in one pass; `by_group` are the counts that tell groups apart."""
    engine = cast(type[PartitionedEngine], engine_for(scores))(scores, y, sample_weight, None, group)
    total: Any = None
    try:
        engine.prepare(several=False)
        with engine.visited(function) as results:
            for found in results:
                if found is not None:
                    total = found if total is None else total + found
                    _check_groups(by_group(total))
    finally:
        engine.release()
    if total is None or not any(len(each.score) for each in by_group(total).kinds.values()):
        raise NoRows("there are no rows of a positive weight.")
    return total


def _check_groups(counts: ScoreCounts) -> None:
    if len(counts.kinds) > MOST_GROUPS:
        number = len({kind[-1] for kind in counts.kinds})  # the group is the last
        if number > MOST_GROUPS:
            raise TooManyGroups


def part_counts(read: Callable[[Array], Array], labelled: bool, part: Part, number: int) -> ScoreCounts | None:
    """The counts of a part by label and group."""
    part = part.checked()
    n_rows = part.X.shape[0]
    if not n_rows:
        return None
    y = part.labels() if labelled else np.zeros(n_rows, dtype=np.int8)
    classes, (groups, group) = found_classes(y), groups_of(part)
    with said_of(part.place):
        score = read(np.asarray(part.X, dtype=np.float64))
    names = [(label, name) for name in groups for label in listed(classes)]
    return ScoreCounts.of(score, len(classes) * group + encode(y, classes), part.weight).named(names)


def rows_of(total: ScoreCounts) -> CountedRows:
    """Counts by label and group as rows."""
    names = [name for _, name in total.kinds]
    _, place, score, rows, weight, unit = total.entries(names)
    labels, groups = column([label for label, _ in total.kinds]), group_column(names)
    return CountedRows(labels[place], score, weight, unit, rows, None if groups is None else groups[place], total)


_NO_GROUP = "\0no group"


def groups_of(part: Part) -> tuple[list[Any], NDArray[np.intp]]:
    """The groups of a part, missing ones as None, and the position of every row's."""
    labels = part.group
    if labels is None:
        return [_NO_GROUP], np.zeros(part.X.shape[0], dtype=np.intp)
    missing = missing_in(labels)
    known = labels[~missing]
    if labels.dtype == object:
        found = list(dict.fromkeys(known.tolist()))
        position = {label: k for k, label in enumerate(found)}
        places: Any = [position[label] for label in known.tolist()]
    else:
        distinct, places = np.unique(in_microseconds(known), return_inverse=True)
        found = listed(distinct)
    place = np.full(len(labels), len(found), dtype=np.intp)
    place[~missing] = places
    return [*found, None], place


def group_column(names: Sequence[Any]) -> NDArray[Any] | None:
    """The groups of `groups_of` as an array; None if no part has any."""
    if all(name == _NO_GROUP for name in names):
        return None
    return column(None if name == _NO_GROUP else name for name in names)


def listed(labels: NDArray[Any]) -> list[Any]:
    """Labels as objects of Python; times as those of NumPy, in one unit."""
    return list(in_microseconds(labels)) if labels.dtype.kind in "mM" else labels.tolist()


def column(values: Iterable[Any]) -> NDArray[Any]:
    """Labels as NumPy would hold them, except that mixed kinds stay apart."""
    values = list(values)
    times = [each.dtype for each in values if isinstance(each, np.datetime64 | np.timedelta64)]
    if times and len(times) == sum(each is not None for each in values):
        return np.array(values, dtype=times[0])
    if len({isinstance(each, str) for each in values}) > 1 or any(each is None for each in values):
        return np.array([*values, None], dtype=object)[:-1]
    return np.array(values)
