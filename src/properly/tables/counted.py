"""Tables of any size with rows of the same label, score and group counted as one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from properly.engines import Stream
from properly.forecasts.counting import NoRows, TooManyGroups, counted_rows
from properly.inputs.misuse import Misuse
from properly.numeric.probabilities import Array
from properly.tables.base import Place, TableError, arrow, distinct, plain
from properly.tables.clusters import connected, dask_block, delayed_pieces, joined
from properly.tables.folders import TableBlock, TableFolder, column_as_read, labels_of, located, meanings, typed_labels
from properly.tables.reading import TableFile
from properly.tables.targets import MAX_CLASSES, Label, probabilities, row_weights

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
    blocks = partial(_blocks, target, score, read, group, weight)
    with counting(source, group, weight):
        if dask is None:
            found = counted_rows(Stream(partial(blocks, source)), None, read=_first)
        else:
            none = np.empty(0)
            no_rows = TableBlock(
                none[:, None], none, None if weight is None else none, group=None if group is None else none
            )
            made = delayed_pieces(source, partial(_piece_of, blocks, no_rows))
            with connected(dask):
                rows = dask_block(made, no_rows)
                found = counted_rows(rows.X, rows.y, rows.weight, rows.group, read=_first)
    name = weight or _unused("rows", distinct(target, score, group))
    columns = {target: typed_labels(found.y, source, target), score: arrow.array(found.score)}
    columns[name] = arrow.array(found.weight)
    if group is not None and found.group is not None:
        columns[group] = column_as_read(found.group, source, group)
    return CountedTable(arrow.table(columns), name, found.unit, found.rows, found.counts.width)


@contextmanager
def counting(source: TableFile | TableFolder, group: str | None, weight: str | None) -> Iterator[None]:
    """What cannot be counted while the block runs is told with the name of the table."""
    try:
        yield
    except NoRows as error:
        raise TableError(f"{source.path} has no rows{'' if weight is None else ' of a positive weight'}.") from error
    except TooManyGroups as error:
        raise TooManyGroups(Place(source.path, str(group))) from error


def _blocks(
    target: str,
    score: str,
    read: Callable[[Any, Place], Array],
    group: str | None,
    weight: str | None,
    source: TableFile | TableFolder,
) -> Iterator[TableBlock]:
    """Blocks of a `Stream`, with every value checked."""
    for file, batch, begin in located(source, distinct(target, score, group, weight)):
        values = read(batch.column(score), Place(file.path, score, begin))
        mass = None if weight is None else row_weights(batch.column(weight), Place(file.path, weight, begin))
        labels_of(file, batch, target, begin)
        labels, groups = (
            None if name is None else plain(batch.column(name)).to_numpy(zero_copy_only=False)
            for name in (target, group)
        )
        yield TableBlock(values[:, None], labels, mass, group=groups)


def classes_in(source: TableFile | TableFolder, target: str) -> dict[Label, str]:
    """All labels of a table of any size, and the names of the classes that they stand for, in sorted order."""
    found: set[Label] = set()
    for file, batch, begin in located(source, [target]):
        found.update(labels_of(file, batch, target, begin).classes)
        if len(found) > MAX_CLASSES:
            raise Misuse(f"{source.path}, column {target!r} has more than {MAX_CLASSES} different values.")
    if not found:
        raise TableError(f"{source.path} has no rows.")
    return {label: str(meaning) for label, meaning in meanings(found, source, target).items()}


def class_blocks(
    source: TableFile | TableFolder,
    target: str,
    classes: Mapping[Label, str],
    columns: Mapping[str, str],
    group: str | None,
    weight: str | None,
) -> Iterator[TableBlock]:
    """Blocks of a `Stream`: the probabilities of the classes, and the position of the true one among them.

    `classes` is what `classes_in` finds, and `columns` says which column is for which of them.
    """
    names = list(columns)
    for file, batch, begin in located(source, distinct(target, *columns.values(), group, weight)):
        p = [probabilities(batch.column(name), Place(file.path, name, begin)) for name in columns.values()]
        refuse_other_sums(p, file.path, begin)
        found = labels_of(file, batch, target, begin)
        own = np.array([names.index(classes[label]) for label in found.classes], dtype=np.intp)
        mass = None if weight is None else row_weights(batch.column(weight), Place(file.path, weight, begin))
        groups = None if group is None else plain(batch.column(group)).to_numpy(zero_copy_only=False)
        yield TableBlock(np.column_stack(p), own[found.codes], mass, group=groups)


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
    blocks: Callable[[TableFile], Iterator[TableBlock]], no_rows: TableBlock, piece: TableFile, position: int
) -> TableBlock:
    """On a worker: all rows of a piece."""
    return joined(list(blocks(piece)) or [no_rows])


def _first(values: Array) -> Array:
    return values[:, 0]


def _unused(name: str, taken: Collection[str]) -> str:
    return name if name not in taken else _unused(f"{name} counted", taken)
