"""Tables of any size with rows of the same label, score and group counted as one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.engines import Stream
from properly.forecasts.counting import NoRows, counted_rows
from properly.inputs.misuse import Misuse
from properly.numeric.probabilities import Array
from properly.tables.base import Place, TableError, arrow, distinct, plain, plain_type, types
from properly.tables.clusters import connected, dask_columns, delayed_pieces, joined_columns
from properly.tables.columns import typed_column
from properly.tables.folders import TableFolder, labels_of, located
from properly.tables.reading import TableFile
from properly.tables.targets import MAX_CLASSES, probabilities, row_weights

_ROW_SUM_TOLERANCE = 1e-3  # probabilities in files are often rounded


class CountedTable(NamedTuple):
    """Rows of the same label, score and group as one, in a table with the columns that were asked for."""

    table: Any
    weight: str  # the column with the weight of all of them
    unit: Array | None  # what one of them weighs, as of `properly.inputs.weights.unit_of`
    rows: Array  # how many there are
    width: float  # of a cell, as that of `ScoreCounts`


def counted_table(
    source: TableFile | TableFolder,
    target: str,
    score: str,
    *,
    read: Callable[[Any, Place], Array],
    group: str | None = None,
    weight: str | None = None,
    dask: str | None = None,
) -> CountedTable:
    """A table of any size, counted by score in one pass: here, or by the Dask cluster of a scheduler.

    `read` checks a column of scores.
    """
    source.require(distinct(target, score, group, weight))
    columns_of = partial(_blocks, target, score, read, group, weight)
    with no_rows_refused(source, weight):
        if dask is None:
            found = counted_rows(Stream(partial(columns_of, source)), None, read=_first)
        else:
            no_rows = np.empty((0, 1)), np.empty(0), weight and np.empty(0), None, group and np.empty(0)
            made = delayed_pieces(source, partial(_piece_of, columns_of, no_rows))
            with connected(dask):
                score_, y, mass, _, groups = dask_columns(made, no_rows)
                found = counted_rows(score_, y, mass, groups, read=_first)
    name = weight or _unused("rows", distinct(target, score, group))
    columns = {target: column_as_read(source, target, found.y), score: arrow.array(found.score)}
    columns[name] = arrow.array(found.weight)
    if group is not None and found.group is not None:
        columns[group] = column_as_read(source, group, found.group)
    return CountedTable(arrow.table(columns), name, found.unit, found.rows, found.counts.width)


@contextmanager
def no_rows_refused(source: TableFile | TableFolder, weight: str | None) -> Iterator[None]:
    """Refuse a table in which there is nothing to count while the block runs."""
    try:
        yield
    except NoRows as error:
        raise TableError(f"{source.path} has no rows{'' if weight is None else ' of a positive weight'}.") from error


def column_as_read(source: TableFile | TableFolder, name: str, values: NDArray[Any]) -> Any:
    """Values of a column in the type that they have when the whole table is read."""
    column, kind = arrow.array(values.tolist()), plain_type(source.schema.field(name).type)
    if source.format.kind == "text":
        return typed_column(column.cast(arrow.string()))
    return column.cast(kind) if types.is_temporal(kind) else column


def _blocks(
    target: str,
    score: str,
    read: Callable[[Any, Place], Array],
    group: str | None,
    weight: str | None,
    source: TableFile | TableFolder,
) -> Iterator[tuple[Any, ...]]:
    """Blocks of a `Stream`, with every value checked."""
    for file, batch, begin in located(source, distinct(target, score, group, weight)):
        values = read(batch.column(score), Place(file.path, score, begin))
        mass = None if weight is None else row_weights(batch.column(weight), Place(file.path, weight, begin))
        labels_of(file, batch.column(target), Place(file.path, target, begin))
        labels, groups = (
            None if name is None else plain(batch.column(name)).to_numpy(zero_copy_only=False)
            for name in (target, group)
        )
        yield values[:, None], labels, mass, None, groups


def classes_in(source: TableFile | TableFolder, target: str) -> set[str]:
    """The names of all classes of a table of any size."""
    found: set[str] = set()
    for file, batch, begin in located(source, [target]):
        found.update(map(str, labels_of(file, batch.column(target), Place(file.path, target, begin)).classes))
        if len(found) > MAX_CLASSES:
            raise Misuse(f"{source.path}, column {target!r} has more than {MAX_CLASSES} different values.")
    if not found:
        raise TableError(f"{source.path} has no rows.")
    return found


def class_blocks(
    source: TableFile | TableFolder, target: str, columns: Mapping[str, str], group: str | None, weight: str | None
) -> Iterator[tuple[Any, ...]]:
    """Blocks of a `Stream`: the probabilities of the classes, and the position of the true one among them."""
    names = list(columns)
    for file, batch, begin in located(source, distinct(target, *columns.values(), group, weight)):
        p = [probabilities(batch.column(name), Place(file.path, name, begin)) for name in columns.values()]
        refuse_other_sums(p, file.path, begin)
        found = labels_of(file, batch.column(target), Place(file.path, target, begin))
        own = np.array([names.index(str(label)) for label in found.classes], dtype=np.intp)
        mass = None if weight is None else row_weights(batch.column(weight), Place(file.path, weight, begin))
        groups = None if group is None else plain(batch.column(group)).to_numpy(zero_copy_only=False)
        yield np.column_stack(p), own[found.codes], mass, None, groups


def refuse_other_sums(p: Sequence[Array], source: str, begin: int = 0) -> None:
    """Refuse probabilities of all classes, a column each, that do not add up to 1."""
    total = np.sum(p, axis=0)
    off = np.abs(total - 1.0)
    row = int(off.argmax())
    if off[row] > _ROW_SUM_TOLERANCE:
        raise TableError(
            f"{source}, row {begin + row + 1}: the probabilities must add up to 1, but they add up to {total[row]:g}."
        )


def _piece_of(
    columns_of: Callable[..., Iterator[Any]], no_rows: tuple[Any, ...], piece: TableFile, position: int
) -> tuple[Any, ...]:
    """On a worker: all columns of a piece."""
    return joined_columns(list(columns_of(piece)), no_rows)


def _first(values: Array) -> Array:
    return values[:, 0]


def _unused(name: str, taken: Collection[str]) -> str:
    return name if name not in taken else _unused(f"{name} counted", taken)
