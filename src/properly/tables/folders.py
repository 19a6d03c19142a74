"""Folders of files, and files larger than memory: read in batches, or counted by score."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.engines import Stream
from properly.files import files_in
from properly.forecasts import counted_rows
from properly.inputs.misuse import Misuse
from properly.inputs.optional import require
from properly.numeric.probabilities import Array
from properly.tables.base import Place, TableError, arrow, listed, plain, require_columns
from properly.tables.columns import joined_type, typed_column
from properly.tables.reading import TableFile, typed_table
from properly.tables.targets import MAX_CLASSES, Label, Labels, class_labels, named_numbers, probabilities

LARGE = 2**31  # bytes of a file from which on its rows are counted rather than held in memory


class TableFolder:
    """The files of a folder, and of folders in it, as one table; they have the same format and the same columns.

    Files and folders whose names begin with a dot or an underscore, as those that Spark leaves behind, are not read.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, separator: str | None = None, decimal: str | None = None
    ) -> None:
        self.path = str(path)
        found = files_in(path)
        if not found:
            raise TableError(f"{self.path} is a folder without files.")
        self.files = [TableFile(each, separator=separator, decimal=decimal) for each in found]
        first = self.files[0]
        self.format, self.notation, self.schema = first.format, first.notation, first.schema
        for each in self.files[1:]:
            if each.format.kind != self.format.kind:
                raise TableError(
                    f"{each.path} has another format than {first.path}, but a folder is one table; convert one of "
                    "them, or move it elsewhere."
                )
            if sorted(each.names) != sorted(self.names):
                raise TableError(
                    f"{each.path} has other columns ({listed(each.names)}) than {first.path} ({listed(self.names)}); "
                    "a folder is one table."
                )
            for name in self.names if self.format.kind != "text" else []:
                kinds = [_kind(file.schema.field(name).type) for file in (first, each)]
                if kinds[0] != kinds[1] and None not in kinds:
                    raise TableError(
                        f"column {name!r} holds {kinds[0]} in {first.path} and {kinds[1]} in {each.path}; a folder is "
                        "one table: convert one of them."
                    )

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    @property
    def n_rows(self) -> int | None:
        numbers = [each.n_rows for each in self.files]
        return None if None in numbers else sum(number for number in numbers if number is not None)

    def require(self, columns: Iterable[str]) -> None:
        require_columns(columns, self.names, self.path, Misuse)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows, in record batches of a few MB, file by file."""
        columns = self.names if columns is None else list(columns)
        for each in self.files:
            yield from each.batches(columns)

    def typed_schema(self, texts: Collection[str] = ()) -> Any:
        schemas = [each.typed_schema(texts) for each in self.files]
        if self.format.kind != "text":
            return self.schema
        found = {name: arrow.null() for name in self.names}
        for schema in schemas:
            found = {name: joined_type(so_far, schema.field(name).type) for name, so_far in found.items()}
        return arrow.schema(list(found.items()))


def table_at(
    path: str | os.PathLike[str], *, separator: str | None = None, decimal: str | None = None
) -> TableFile | TableFolder:
    """A file, or a folder of files."""
    kind = TableFolder if Path(path).is_dir() else TableFile
    return kind(path, separator=separator, decimal=decimal)


def is_large(path: str | os.PathLike[str]) -> bool:
    """Whether a table is counted: a folder, or a file of two gigabytes or more."""
    return Path(path).is_dir() or (Path(path).is_file() and Path(path).stat().st_size >= LARGE)


def sampled_table(
    source: TableFile | TableFolder, columns: Sequence[str], rows: int, seed: int, texts: Sequence[str] = ()
) -> tuple[Any, int]:
    """So many rows of a table of any size, drawn at random in one pass, and the number of all rows.

    Texts of a text file have the types that all drawn values of a column agree with, except for the columns in `texts`.
    """
    kept: list[Any] = []
    priorities: list[Array] = []
    number = 0

    def thin() -> None:
        priority, table = np.concatenate(priorities), arrow.Table.from_batches(kept)
        order = np.sort(np.argsort(priority, kind="stable")[:rows])
        kept[:], priorities[:] = table.take(order).to_batches(), [priority[order]]

    for index, batch in enumerate(source.batches(columns)):
        number += batch.num_rows
        kept.append(batch)
        priorities.append(np.random.default_rng([seed, index]).random(batch.num_rows))
        if sum(map(len, priorities)) > 4 * rows:
            thin()
    if not number:
        raise TableError(f"{source.path} has no rows.")
    thin()
    table = arrow.Table.from_batches(kept)
    return (typed_table(table, texts) if source.format.kind == "text" else table), number


class LabelledBlocks:
    """The rows of a table of any size as blocks of a `Stream`: features, codes of the classes, weights.

    `features` makes numbers of a table; `classes` are those of a sample. What features warn of is told once, in the
    first pass.
    """

    def __init__(
        self,
        source: TableFile | TableFolder,
        features: Callable[..., Array],
        columns: Sequence[str],
        classes: Sequence[Label],
        target: str,
        weight: str | None,
    ) -> None:
        self.source, self.features, self.classes = source, features, [str(label) for label in classes]
        self.columns, self.target, self.weight = list(columns), target, weight
        self.class_weight = np.zeros(len(classes))  # of all rows, after the first pass
        self._passes, self._told = 0, set[str]()

    def __call__(self) -> Iterator[tuple[Any, ...]]:
        self._passes += 1
        wanted = list(dict.fromkeys([*self.columns, self.target, *([self.weight] if self.weight else [])]))
        for file, batch, begin in _batches(self.source, wanted):
            block = self.block(batch, file.path, begin)
            if self._passes == 1:
                self.class_weight += self._weights(block)
            yield block

    def block(self, batch: Any, path: str, begin: int = 0) -> tuple[Any, ...]:
        """One batch of a file, which begins with this row."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always" if self._passes == 1 else "ignore")
            X = self.features(batch, source=path, first_row=begin)
        for each in caught:
            told = re.sub(r"\d+ rows?|row \d+", "", str(each.message).removeprefix(path))
            if told not in self._told:
                self._told.add(told)
                warnings.warn(each.message, each.category, stacklevel=2)
        weight = None
        if self.weight is not None:
            weight = named_numbers(batch.column(self.weight), Place(path, self.weight, begin))
        return X, self._codes(batch.column(self.target), Place(path, self.target, begin)), weight

    def of_cluster(self, n_features: int, weigh: bool) -> tuple[Any, Any, Any]:
        """Features, codes and weights as dask arrays, a part for every partition of the Parquet files.

        `weigh` says whether `class_weight` is wanted, which takes a pass of its own.
        """
        dask, arrays = require("dask", "dask"), require("dask.array", "dask")
        wanted = list(dict.fromkeys([*self.columns, self.target, *([self.weight] if self.weight else [])]))
        parts = _dask_frame(self.source, wanted).to_delayed()
        made = [dask.delayed(self._of_pandas)(part, n_features) for part in parts]

        def joined(which: int, meta: Any) -> Any:
            shape = (np.nan, *meta.shape[1:])
            return arrays.concatenate([arrays.from_delayed(each[which], shape, meta=meta) for each in made])

        if weigh:
            self.class_weight = sum(dask.compute(*map(dask.delayed(self._weights), made)), self.class_weight)
        weight = None if self.weight is None else joined(2, np.empty(0))
        return joined(0, np.empty((0, n_features))), joined(1, np.empty(0, dtype=np.intp)), weight

    def _weights(self, block: tuple[Any, ...]) -> Array:
        return np.bincount(block[1], block[2], len(self.classes)).astype(np.float64)

    def _of_pandas(self, frame: Any, n_features: int) -> tuple[Any, ...]:
        self._passes = 1
        if not len(frame):  # a file without rows, which encoders refuse
            return np.empty((0, n_features)), np.empty(0, dtype=np.intp), None if self.weight is None else np.empty(0)
        return self.block(arrow.Table.from_pandas(frame, preserve_index=False), self.source.path)

    def _codes(self, column: Any, place: Place) -> NDArray[np.intp]:
        if not len(column):
            return np.empty(0, dtype=np.intp)
        found = _labels(self.source, column, place)
        for k, label in enumerate(found.classes):
            if str(label) not in self.classes:
                row = int((found.codes == k).argmax())
                raise place.error(
                    row, f"the class {label!r} is so rare that no row of it was drawn to compare models; leave it out."
                )
        own = np.array([self.classes.index(str(label)) for label in found.classes], dtype=np.intp)
        return np.asarray(own[found.codes])


class CountedTable(NamedTuple):
    """Rows of the same label, score and group as one, in a table with the columns that were asked for."""

    table: Any
    weight: str  # the column with the weight of all of them
    rows: Array  # how many there are
    width: float  # of a cell, as that of `ScoreCounts`


def _kind(given: Any) -> str | None:
    """What a column of this type holds; None if that is nothing."""
    types, value = arrow.types, given.value_type if arrow.types.is_dictionary(given) else given
    if types.is_null(value):
        return None
    if types.is_integer(value) or types.is_floating(value) or types.is_decimal(value):
        return "numbers"
    return (
        "texts" if types.is_string(value) or types.is_large_string(value) or types.is_string_view(value) else str(value)
    )


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
    wanted = [target, score, *(name for name in (group, weight) if name is not None)]
    source.require(wanted)
    if dask is None:
        found = counted_rows(Stream(lambda: _blocks(source, target, score, read, group, weight)), None, read=_first)
    else:
        found = _by_cluster(dask, source, target, score, group, weight)
    labels, name = arrow.array(found.y), weight or _unused("rows", wanted)
    if source.format.kind == "text":
        labels = typed_column(labels.cast(arrow.string()))
    columns = {target: labels, score: arrow.array(found.score), name: arrow.array(found.weight)}
    if group is not None:
        columns[group] = arrow.array(found.group.tolist() if found.group is not None else [None] * len(labels))
    return CountedTable(arrow.table(columns), name, found.rows, found.counts.width)


def _blocks(
    source: TableFile | TableFolder,
    target: str,
    score: str,
    read: Callable[[Any, Place], Array],
    group: str | None,
    weight: str | None,
) -> Iterator[tuple[Any, ...]]:
    wanted = list(dict.fromkeys([target, score, *(name for name in (group, weight) if name is not None)]))
    for file, batch, begin in _batches(source, wanted):
        values = read(batch.column(score), Place(file.path, score, begin))
        mass = None if weight is None else named_numbers(batch.column(weight), Place(file.path, weight, begin))
        labels, groups = (
            None if name is None else plain(batch.column(name)).to_numpy(zero_copy_only=False)
            for name in (target, group)
        )
        yield values[:, None], labels, mass, None, groups


def classes_in(source: TableFile | TableFolder, target: str) -> set[str]:
    """The names of all classes of a table of any size."""
    found: set[str] = set()
    for file, batch, begin in _batches(source, [target]):
        found.update(map(str, _labels(source, batch.column(target), Place(file.path, target, begin)).classes))
        if len(found) > MAX_CLASSES:
            raise Misuse(f"{source.path}, column {target!r} has more than {MAX_CLASSES} different values.")
    return found


def class_blocks(
    source: TableFile | TableFolder, target: str, columns: Mapping[str, str], group: str | None, weight: str | None
) -> Iterator[tuple[Any, ...]]:
    """Blocks of a `Stream`: the probabilities of the classes, and the position of the true one among them."""
    names = list(columns)
    wanted = list(dict.fromkeys([target, *columns.values(), *(name for name in (group, weight) if name is not None)]))
    for file, batch, begin in _batches(source, wanted):
        p = [probabilities(batch.column(name), Place(file.path, name, begin)) for name in columns.values()]
        found = _labels(source, batch.column(target), Place(file.path, target, begin))
        own = np.array([names.index(str(label)) for label in found.classes], dtype=np.intp)
        mass = None if weight is None else named_numbers(batch.column(weight), Place(file.path, weight, begin))
        groups = None if group is None else plain(batch.column(group)).to_numpy(zero_copy_only=False)
        yield np.column_stack(p), own[found.codes], mass, None, groups


def _batches(source: TableFile | TableFolder, wanted: Sequence[str]) -> Iterator[tuple[TableFile, Any, int]]:
    """Every batch that has rows, with its file and the number of rows of the file before it."""
    for file in source.files if isinstance(source, TableFolder) else [source]:
        begin = 0
        for batch in file.batches(wanted):
            if batch.num_rows:
                yield file, batch, begin
            begin += batch.num_rows


def _labels(source: TableFile | TableFolder, column: Any, place: Place) -> Labels:
    return class_labels(typed_column(column) if source.format.kind == "text" else column, place, fewest=1)


def _first(values: Array) -> Array:
    return values[:, 0]


def sampled_by_cluster(
    scheduler: str, source: TableFile | TableFolder, columns: Sequence[str], rows: int, seed: int
) -> tuple[Any, int]:
    """About so many rows of Parquet files, drawn by a cluster, and the number of all rows."""
    with connected(scheduler):
        frame, number = _dask_frame(source, columns), source.n_rows or 0
        drawn = frame if number <= rows else frame.sample(frac=rows / number, random_state=seed)
        return arrow.Table.from_pandas(drawn.compute(), preserve_index=False), number


def _dask_frame(source: TableFile | TableFolder, columns: Sequence[str]) -> Any:
    files = [str(Path(each.path).resolve()) for each in (source.files if isinstance(source, TableFolder) else [source])]
    return require("dask.dataframe", "dask").read_parquet(files, columns=list(columns))


def _by_cluster(
    scheduler: str, source: TableFile | TableFolder, target: str, score: str, group: str | None, weight: str | None
) -> Any:
    if source.format.kind != "parquet":
        raise Misuse(f"{source.path}: a Dask cluster reads Parquet files; leave out --dask for others.")
    with connected(scheduler):
        names = list(dict.fromkeys([target, score, *(name for name in (group, weight) if name is not None)]))
        frame = _dask_frame(source, names)
        columns = (None if name is None else frame[name] for name in (target, weight, group))
        return counted_rows(frame[[score]], *columns, read=_first)


def connected(scheduler: str) -> Any:
    """A client of a Dask scheduler, to be used in a with block."""
    try:
        return require("distributed", "dask").Client(scheduler, timeout=10)
    except (OSError, ValueError) as error:
        raise Misuse(f"there is no Dask scheduler at {scheduler!r} that answers ({error}).") from error


def _unused(name: str, taken: Collection[str]) -> str:
    return name if name not in taken else _unused(f"{name} counted", taken)
