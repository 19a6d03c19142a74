"""Tables from files: CSV, JSON lines, Parquet and Arrow, read whole or in batches."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any, Self

from properly.files import state_of
from properly.inputs.misuse import Misuse
from properly.tables.base import TableError, arrow, format_of, ipc, is_numeric, parquet, plain, require_columns
from properly.tables.columns import first_leading_zero, joined_type, typed_column
from properly.tables.content import check_content
from properly.tables.json_lines import json_batches, json_schema
from properly.tables.text import Notation, recognised, require_several, text_batches, text_names, text_problem

BATCH_BYTES = 2**21
BATCH_ROWS = 2**16
PIECE_NUMBERS = 2**24
LEADING_ZERO = b"leading zero"  # a key of the metadata of columns


class TableFile:
    """A table in a file, whose columns are known and whose rows are read when they are asked for.

    A CSV or TSV file has a header and is encoded in UTF-8. Its batches hold texts, because what they mean depends on
    the whole file (`read` finds out) or on the model that reads them (`TableEncoder`). A cell is missing if it is empty
    or one of NA, N/A, NaN, null and the like, without quotation marks.

    Parameters
    ----------
    path : path
        The ending determines the format: .csv, .tsv, .jsonl or .ndjson (also with .gz or .zst after it), .parquet, .pq,
        .arrow, .feather, .ipc.
    separator : str, optional
        What separates the cells of a text file; recognised if it is not given (`properly.tables.text.recognised`).
    decimal : {".", ","}, optional
        What stands before the decimals of a number in a text file; recognised if it is not given.

    Attributes
    ----------
    notation : Notation
        Separator and decimal sign of a text file; without meaning for other formats.
    """

    notation = Notation(",", ".")
    row_groups: list[int] | None = None  # of a piece of a Parquet file
    first_row = 0  # how many rows of the file come before the piece
    joined = False  # whether `schema` is that of a folder, and columns are cast to it

    def __init__(
        self, path: str | os.PathLike[str], *, separator: str | None = None, decimal: str | None = None
    ) -> None:
        self.path = str(path)
        if Path(path).is_dir():
            raise IsADirectoryError(
                f"{self.path} is a folder, which audit, fit, calibrate and predict take; here, give the name of a file."
            )
        if not Path(path).exists():
            raise FileNotFoundError(f"{self.path}: there is no such file or folder.")
        self.format = format_of(self.path)
        self._quotes_checked, self._state = False, state_of(path)
        if not Path(path).stat().st_size:
            raise TableError(f"{self.path} is empty.")
        with _readable(self):
            check_content(self.path, self.format)
            if self.format.kind == "text":
                self.notation = recognised(self.path, self.format, separator, decimal)
            self.schema, self.n_rows = _READERS[self.format.kind][0](self)
        repeated = [name for name, count in Counter(self.schema.names).items() if count > 1]
        if repeated:
            raise TableError(f"{self.path} has several columns named {repeated[0]!r}; give every column its own name.")

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    def __getstate__(self) -> dict[str, Any]:
        """On another machine the file may be a copy, with a time of its own."""
        return self.__dict__ | {"_state": None}

    def check_unchanged(self) -> None:
        """Refuse a file that was written to since it was opened, as every pass must find the same rows."""
        if self._state is not None and state_of(self.path) not in (self._state, None):
            raise TableError(f"{self.path} has changed since it was opened; use a copy that nobody writes to.")

    def require(self, columns: Iterable[str]) -> None:
        """Refuse names of columns that the table does not have.

        Parameters
        ----------
        columns : list of str, optional
            The columns; all by default.
        """
        require_columns(columns, self.names, self.path, Misuse)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows, in record batches of a few MB.

        Parameters
        ----------
        columns : list of str, optional
            The columns; all by default.
        """
        columns = self.names if columns is None else list(columns)
        self.require(columns)
        with _readable(self):
            for batch in _READERS[self.format.kind][1](self, columns):
                yield self._cast(batch) if self.joined else batch

    def _cast(self, batch: Any) -> Any:
        """A batch in the types that its columns have in all files of a folder together."""
        found, schema = [], arrow.schema([self.schema.field(name) for name in batch.schema.names])
        for field, column in zip(schema, batch.columns, strict=True):
            try:
                found.append(column if column.type == field.type else plain(column).cast(field.type))
            except arrow.ArrowInvalid as error:
                raise TableError(
                    f"{self.path}, column {field.name!r} holds {column.type} here and another type in other files; "
                    f"their common type, {field.type}, cannot hold all values ({error}); store the column in one "
                    "type, such as text."
                ) from error
        return arrow.RecordBatch.from_arrays(found, schema=schema)

    def pieces(self) -> list[Self]:
        """A Parquet file as row groups that together are at most a few million numbers, if several are not more."""
        metadata, groups, begin = parquet.ParquetFile(self.path).metadata, list[list[int]](), 0
        sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
        room = PIECE_NUMBERS // max(1, len(self.names))
        for number, rows in enumerate(sizes):
            if not groups or sum(sizes[each] for each in groups[-1]) + rows > room:
                groups.append([])
            groups[-1].append(number)
        found = []
        for row_groups in groups or [[]]:
            piece = copy(self)
            piece.row_groups, piece.first_row = row_groups, begin
            begin += sum(sizes[each] for each in row_groups)
            found.append(piece)
        return found

    def typed_schema(self, texts: Collection[str] = ()) -> Any:
        """The types of the columns; a text file is read once for them. Columns named in `texts` stay texts there."""
        if self.format.kind != "text":
            return self.schema
        found = {name: arrow.null() for name in self.names if name not in texts}
        for batch in self.batches(list(found)):
            for name, so_far in found.items():
                if so_far != arrow.string():
                    found[name] = joined_type(so_far, typed_column(batch.column(name)).type)
        return arrow.schema([(name, found.get(name, arrow.string())) for name in self.names])

    def read(self, columns: Sequence[str] | None = None, texts: Sequence[str] = ()) -> Any:
        """All rows as a table; the columns of a text file have the type that all their values agree with.

        Columns named in `texts` are left as texts there, so that 007 does not become 7. The field of another column of
        numbers that had such a text has the first one in its metadata, under `LEADING_ZERO`.

        Parameters
        ----------
        columns : list of str, optional
            The columns; all by default.
        """
        columns = self.names if columns is None else list(columns)
        batches = list(self.batches(columns))
        schema = arrow.schema([self.schema.field(name) for name in columns])
        table = arrow.Table.from_batches(batches, batches[0].schema if batches else schema)
        if not table.num_rows:
            raise TableError(f"{self.path} has no rows.")
        return typed_table(table, texts) if self.format.kind == "text" else table


def typed_table(table: Any, texts: Sequence[str] = ()) -> Any:
    """A table of texts with the types that all values of a column agree with; see `TableFile.read`."""
    for j, name in enumerate(table.column_names):
        if name not in texts:
            column = typed_column(table.column(j))
            zero = first_leading_zero(table.column(j)) if is_numeric(column.type) else None
            field = arrow.field(name, column.type, metadata=None if zero is None else {LEADING_ZERO: zero})
            table = table.set_column(j, field, column)
    return table


def read_table(path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> Any:
    """A file as a `pyarrow.Table`, or some of its columns; at least one row.

    Parameters
    ----------
    path : str or Path
        A file of any format that the commands read.
    columns : list of str, optional
        The columns to read; all by default.
    """
    return TableFile(path).read(columns)


def read_batches(path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> Iterator[Any]:
    """The rows of a file in record batches, so that memory does not grow with the file; see `TableFile`.

    Parameters
    ----------
    path : str or Path
        A file of any format that the commands read.
    columns : list of str, optional
        The columns to read; all by default.
    """
    return TableFile(path).batches(columns)


@contextmanager
def _readable(file: TableFile) -> Iterator[None]:
    """Turns what Arrow finds wrong with a file into one line that names the file."""
    file.check_unchanged()
    try:
        yield
    except (TableError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except (arrow.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        file.check_unchanged()
        problem = text_problem(error, file.notation, BATCH_BYTES) if file.format.kind == "text" else None
        if problem is None:
            reason = " ".join(str(error).split()).rstrip(".")
            problem = f" cannot be read: it is damaged, incomplete or of another format ({reason})."
        raise TableError(f"{file.path}{problem}") from error


def _text_header(file: TableFile) -> tuple[Any, int | None]:
    names = text_names(file.path, file.format, file.notation)
    require_several(file.path, names, file.notation)
    return arrow.schema([(name, arrow.string()) for name in names]), None


def _text_batches(file: TableFile, columns: list[str]) -> Iterator[Any]:
    yield from text_batches(file.path, file.format, file.notation, columns, BATCH_BYTES, file._quotes_checked)
    file._quotes_checked = True


def _parquet_header(file: TableFile) -> tuple[Any, int | None]:
    opened = parquet.ParquetFile(file.path)
    return opened.schema_arrow, opened.metadata.num_rows


def _parquet_batches(file: TableFile, columns: list[str]) -> Iterator[Any]:
    opened = parquet.ParquetFile(file.path, pre_buffer=False)
    for batch in opened.iter_batches(BATCH_ROWS, row_groups=file.row_groups, columns=columns, use_threads=True):
        yield batch.select(columns)


def _ipc_reader(file: TableFile) -> Any:
    """Of a file with an index of its batches, or of a stream without."""
    try:
        return ipc.open_file(arrow.memory_map(file.path))
    except arrow.ArrowInvalid:
        return ipc.open_stream(arrow.memory_map(file.path))


def _ipc_batches(file: TableFile, columns: list[str]) -> Iterator[Any]:
    reader = _ipc_reader(file)
    indexed = hasattr(reader, "num_record_batches")
    batches = (reader.get_batch(k) for k in range(reader.num_record_batches)) if indexed else reader
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            rows = batch.slice(start, BATCH_ROWS).select(columns)
            rows.validate(full=True)  # Arrow would follow any offset, also out of the file
            yield rows


# What reads the header (the schema, and the number of rows where that is known), and what reads the batches.
_READERS: dict[str, tuple[Callable[..., tuple[Any, int | None]], Callable[..., Iterator[Any]]]] = {
    "text": (_text_header, _text_batches),
    "json": (
        lambda file: json_schema(file.path, file.format),
        lambda file, columns: json_batches(file.path, file.format, file.schema, columns),
    ),
    "parquet": (_parquet_header, _parquet_batches),
    "ipc": (lambda file: (_ipc_reader(file).schema, None), _ipc_batches),
}
