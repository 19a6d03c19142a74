"""Folders of files as one table, and tables of any size: read in batches, or drawn from."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.engines.description import priorities
from properly.files import files_in
from properly.inputs.misuse import Misuse
from properly.numeric.probabilities import Array
from properly.tables.base import DrawnFrom, Place, TableError, arrow, listed, plain_type, require_columns, types
from properly.tables.columns import joined_type, typed_column
from properly.tables.reading import TableFile, typed_table
from properly.tables.targets import Label, Labels, class_labels

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
            kinds = [(_kind(each.schema.field(name).type), each.path) for each in self.files]
            known = [(kind, place) for kind, place in kinds if kind is not None]
            for kind, place in known[1:]:
                if kind != known[0][0]:
                    raise TableError(
                        f"column {name!r} holds {known[0][0]} in {known[0][1]} and {kind} in {place}; a folder is one "
                        "table: convert one of them."
                    )
        self.schema = self._joined_schema()

    def _joined_schema(self) -> Any:
        """That of the first file, or one with the types that hold the values of all files, which are cast to it."""
        first = self.files[0].schema
        if all(each.schema.equals(first) for each in self.files):
            return first
        found = {name: first.field(name).type for name in first.names}
        for each in self.files[1:]:
            found = {name: joined_type(so_far, each.schema.field(name).type) for name, so_far in found.items()}
        schema = arrow.schema(list(found.items()))
        if self.format.kind != "text":
            for each in self.files:
                each.schema, each.joined = schema, True
        return schema

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
        for each in self.files:
            yield from each.batches(self.names if columns is None else columns)

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


def located(source: TableFile | TableFolder, wanted: Sequence[str]) -> Iterator[tuple[TableFile, Any, int]]:
    """Every batch that has rows, with its file and the number of rows of the file before it."""
    for file in files_of(source):
        begin = file.first_row
        for batch in file.batches(wanted):
            if batch.num_rows:
                yield file, batch, begin
            begin += batch.num_rows


def files_of(source: TableFile | TableFolder) -> list[TableFile]:
    return source.files if isinstance(source, TableFolder) else [source]


class TableBlock(NamedTuple):
    """Rows of a table as a block of a `Stream`, or dask arrays of them."""

    X: Any
    y: Any
    weight: Any = None
    offset: Any = None
    group: Any = None


def labels_of(file: TableFile, batch: Any, target: str, begin: int) -> Labels:
    """The labels of a batch, perhaps of one class only, as they are stored; `meanings` says what they stand for."""
    return class_labels(batch.column(target), Place(file.path, target, begin), fewest=1)


def meanings(labels: Iterable[Label], source: TableFile | TableFolder, target: str) -> dict[Label, Label]:
    """The classes that the labels of all batches stand for, in sorted order."""
    given = list(labels)
    found = class_labels(typed_labels(given, source, target), Place(source.path, target), fewest=1)
    return {given[k]: found.classes[found.codes[k]] for k in found.codes.argsort(kind="stable")}


def typed_labels(labels: Any, source: TableFile | TableFolder, target: str) -> Any:
    """The labels of all batches as a column, in the type that they have when the whole table is read."""
    typed = column_as_read(labels, source, target)
    if source.format.kind == "text" and typed.null_count:  # as of NA in quotation marks
        missing = str(labels[typed.is_null().index(True).as_py()])
        raise TableError(
            f"{Place(source.path, target)} holds {missing!r} beside values of another kind, so the class is missing; "
            "leave out such rows."
        )
    return typed


def column_as_read(values: Any, source: TableFile | TableFolder, name: str) -> Any:
    """Values of a column in the type that they have when the whole table is read.

    In text files that is the type that all of them agree with: 01 is the number 1, unless there is a value that is no
    number.
    """
    column, kind = arrow.array(np.asarray(values, dtype=object).tolist()), plain_type(source.schema.field(name).type)
    if source.format.kind == "text":
        return typed_column(column.cast(arrow.string()))
    return column.cast(kind) if types.is_temporal(kind) else column


class Sample:
    """Rows of a table of any size, those of the smallest priorities, and where each of them was."""

    def __init__(self, source: TableFile | TableFolder, rows: int) -> None:
        self.source, self.rows, self.n_rows = source, rows, 0
        self._batches: list[Any] = []
        self._where: list[Array] = []  # of every row its priority, the position of its file, and its row there

    def add(self, batch: Any, file: int, row: NDArray[np.intp], priority: Array) -> None:
        """Rows of a file, whose position this is."""
        self.n_rows += batch.num_rows
        self._batches.append(batch)
        self._where.append(np.array([priority, np.full(len(row), file), row]))
        if sum(map(len, self._batches)) > 4 * self.rows:
            self._thin()

    def _thin(self) -> None:
        where, table = np.concatenate(self._where, axis=1), arrow.Table.from_batches(self._batches)
        order = np.sort(np.argsort(where[0], kind="stable")[: self.rows])
        self._batches, self._where = table.take(order).to_batches(), [where[:, order]]

    def drawn(self, texts: Sequence[str]) -> tuple[Any, DrawnFrom, int]:
        """The table, the name of its source for messages, and the number of all rows.

        Texts of a text file have the types that all drawn values of a column agree with, except for the columns in
        `texts`.
        """
        if not self.n_rows:
            raise TableError(f"{self.source.path} has no rows.")
        self._thin()
        table, (_, file, row) = arrow.Table.from_batches(self._batches), self._where[0].astype(np.intp)
        name = DrawnFrom(self.source.path, [each.path for each in files_of(self.source)], file, row)
        return (typed_table(table, texts) if self.source.format.kind == "text" else table), name, self.n_rows


def sampled_table(
    source: TableFile | TableFolder, columns: Sequence[str], rows: int, seed: int, texts: Sequence[str] = ()
) -> tuple[Any, DrawnFrom, int]:
    """So many rows of a table of any size, drawn at random in one pass; see `Sample.drawn`."""
    sample, positions = Sample(source, rows), {id(file): k for k, file in enumerate(files_of(source))}
    for index, (file, batch, begin) in enumerate(located(source, columns)):
        priority = priorities(batch.num_rows, seed, index)
        sample.add(batch, positions[id(file)], begin + np.arange(batch.num_rows), priority)
    return sample.drawn(texts)


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
