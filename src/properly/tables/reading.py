"""Tables from files: CSV, Parquet and Arrow, read whole or in batches."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from properly.files import Format
from properly.tables.base import TableError, arrow, csv, format_of, ipc, parquet, require_columns
from properly.tables.columns import MISSING, joined_type, typed_column

BATCH_BYTES = 2**21
BATCH_ROWS = 2**16
_PIECE = 2**21
_QUOTE = b'"'
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# What Arrow says of a row with another number of cells than the header.
_RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


class TableFile:
    """A table in a file, whose columns are known and whose rows are read when they are asked for.

    A CSV or TSV file has a header and is encoded in UTF-8. Its batches hold texts, because what they mean depends on
    the whole file (`read` finds out) or on the model that reads them (`TableEncoder`). A cell is missing if it is empty
    or one of NA, N/A, NaN, null and the like, without quotation marks.

    Parameters
    ----------
    path : path
        The ending determines the format: .csv, .tsv, .csv.gz, .tsv.gz, .parquet, .pq, .arrow, .feather, .ipc.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = str(path)
        self.format = format_of(self.path)
        self._quotes_checked = False
        if not Path(path).exists():
            raise FileNotFoundError(f"{self.path}: there is no such file.")
        if Path(path).is_dir():
            raise IsADirectoryError(f"{self.path} is a folder; give the name of a file in it.")
        if not Path(path).stat().st_size:
            raise TableError(f"{self.path} is empty.")
        with _readable(self):
            self.schema, self.n_rows = _READERS[self.format.kind][0](self)
        repeated = [name for name, count in Counter(self.schema.names).items() if count > 1]
        if repeated:
            raise TableError(f"{self.path} has several columns named {repeated[0]!r}; give every column its own name.")

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    def require(self, columns: Iterable[str]) -> None:
        """Refuse the table if it lacks one of these columns."""
        require_columns(columns, self.names, self.path)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows, in record batches of a few MB."""
        columns = self.names if columns is None else list(columns)
        self.require(columns)
        with _readable(self):
            yield from _READERS[self.format.kind][1](self, columns)

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

        Columns named in `texts` are left as texts there, so that 007 does not become 7.
        """
        columns = self.names if columns is None else list(columns)
        batches = list(self.batches(columns))
        schema = arrow.schema([self.schema.field(name) for name in columns])
        table = arrow.Table.from_batches(batches, batches[0].schema if batches else schema)
        if not table.num_rows:
            raise TableError(f"{self.path} has no rows.")
        if self.format.kind == "text":
            for j, name in enumerate(columns):
                if name not in texts:
                    table = table.set_column(j, name, typed_column(table.column(j)))
        return table


def read_table(path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> Any:
    """A file as a `pyarrow.Table`, or some of its columns; at least one row."""
    return TableFile(path).read(columns)


def read_batches(path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> Iterator[Any]:
    """The rows of a file in record batches, so that memory does not grow with the file; see `TableFile`."""
    return TableFile(path).batches(columns)


@contextmanager
def _readable(file: TableFile) -> Iterator[None]:
    """Turns what Arrow finds wrong with a file into one line that names the file."""
    try:
        yield
    except (TableError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except (arrow.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        problem = _text_problem(error, file) if file.format.kind == "text" else None
        if problem is None:
            reason = " ".join(str(error).split()).rstrip(".")
            problem = f" cannot be read: it is damaged, incomplete or of another format ({reason})."
        raise TableError(f"{file.path}{problem}") from error


def _text_problem(error: Exception, file: TableFile) -> str | None:
    """The usual mistakes in text files."""
    if "UTF8" in str(error) or isinstance(error, UnicodeDecodeError):
        return " is not encoded in UTF-8; convert it first."
    if "straddling" in str(error):
        return f" has a row of more than {BATCH_BYTES:,} bytes, the most that can be read; use Parquet."
    ragged = _RAGGED.search(str(error))
    if ragged is None:
        return None
    row, expected, found = ragged.groups()
    return (
        f": {'a row' if row is None else f'line {row}'} has {found} cells, the header {expected}; cells are separated "
        f"by {file.format.delimiter!r}, and a cell that holds this must stand in quotation marks."
    )


def _opened(path: str, form: Format) -> Any:
    """The bytes of a text file, unpacked."""
    return arrow.input_stream(path, compression="gzip" if form.gzipped else None)


def _text_reader(file: TableFile, columns: list[str] | None = None) -> Any:
    """Arrow's reader: of texts if columns are named, else one that knows the header."""
    return csv.open_csv(
        _opened(file.path, file.format),
        read_options=csv.ReadOptions(use_threads=False, block_size=BATCH_BYTES),
        parse_options=csv.ParseOptions(delimiter=file.format.delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(columns or (), arrow.string()),
            include_columns=columns,
            null_values=MISSING,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _text_header(file: TableFile) -> tuple[Any, int | None]:
    with Path(file.path).open("rb") as start:
        if start.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            raise TableError(f"{file.path} is encoded in UTF-16; convert it to UTF-8 first.")
    names = _text_reader(file).schema.names
    if len(names) == 1 and any(sign in names[0] for sign in ",;\t"):
        raise TableError(
            f"{file.path} has a single column, {names[0]!r}; its cells must be separated by {file.format.delimiter!r}."
        )
    return arrow.schema([(name, arrow.string()) for name in names]), None


def _text_batches(file: TableFile, columns: list[str]) -> Iterator[Any]:
    if not file._quotes_checked:
        _require_closed_quotes(file.path, file.format)
        file._quotes_checked = True
    yield from _text_reader(file, columns)


def _parquet_header(file: TableFile) -> tuple[Any, int | None]:
    opened = parquet.ParquetFile(file.path)
    return opened.schema_arrow, opened.metadata.num_rows


def _parquet_batches(file: TableFile, columns: list[str]) -> Iterator[Any]:
    opened = parquet.ParquetFile(file.path, pre_buffer=False)
    for batch in opened.iter_batches(batch_size=BATCH_ROWS, columns=columns, use_threads=True):
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
            yield batch.slice(start, BATCH_ROWS).select(columns)


# What reads the header (the schema, and the number of rows where that is known), and what reads the batches.
_READERS: dict[str, tuple[Callable[..., tuple[Any, int | None]], Callable[..., Iterator[Any]]]] = {
    "text": (_text_header, _text_batches),
    "parquet": (_parquet_header, _parquet_batches),
    "ipc": (lambda file: (_ipc_reader(file).schema, None), _ipc_batches),
}


def _require_closed_quotes(path: str, form: Format) -> None:
    """Refuse a text file with a quotation mark that opens a cell and does not close it: rows after it would be lost.

    Almost every file passes a fast test: each mark that opens stands after a separator, each that closes stands before
    one. Only if some do not, as in ``5" pipe``, the file is read again mark by mark, as the parser of CSV would.
    """
    line = None if _plainly_closed(path, form) else _unclosed(path, form)
    if line is not None:
        raise TableError(
            f'{path}: the quotation mark (") that opens a cell in line {line} is never closed, or closed in the middle '
            "of a cell; a quotation mark inside a cell in quotation marks must be doubled."
        )


def _plainly_closed(path: str, form: Format) -> bool:
    """Whether every other mark opens a cell, the ones between close it, and their number is even."""
    edges = np.frombuffer(b"\r\n" + _QUOTE + form.delimiter.encode(), dtype=np.uint8)
    n_marks, last = 0, b"\n"
    carried = b""  # a byte whose successor is not known yet
    for piece in _pieces(path, form):
        text = np.frombuffer(last + carried + piece, dtype=np.uint8)
        # The last byte waits for its successor; the first one is only there to precede.
        marks = np.flatnonzero(text[1:-1] == _QUOTE[0]) + 1
        opening = (n_marks + np.arange(len(marks))) % 2 == 0
        beside = np.where(opening, text[marks - 1], text[marks + 1])
        if not np.isin(beside, edges).all():
            return False
        n_marks += len(marks)
        last, carried = text[-2:-1].tobytes(), text[-1:].tobytes()
    return (n_marks + (carried == _QUOTE)) % 2 == 0


def _unclosed(path: str, form: Format) -> int | None:
    """The line in which a cell opens with a mark that is not closed as it should be; None if there is none."""
    separators = (b"", b"\r", b"\n", form.delimiter.encode())
    opened = None
    for number, line in enumerate(_lines(path, form), start=1):
        place = line.find(_QUOTE)
        while place >= 0:
            if opened is None:
                if line[max(place - 1, 0) : place] in separators:  # elsewhere it is a part of the text
                    opened = number
                place += 1
            elif line[place + 1 : place + 2] == _QUOTE:
                place += 2
            elif line[place + 1 :].lstrip(b" ")[:1] in separators:
                opened = None
                place += 1
            else:
                return opened
            place = line.find(_QUOTE, place)
    return opened


def _lines(path: str, form: Format) -> Iterator[bytes]:
    rest = b""
    for piece in _pieces(path, form):
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line + b"\n" for line in lines)
    yield rest


def _pieces(path: str, form: Format) -> Iterator[bytes]:
    """The bytes of the file, unpacked, without a byte order mark."""
    with _opened(path, form) as stream:
        piece: Any = stream.read(_PIECE).removeprefix(_BYTE_ORDER_MARK)
        while piece:
            yield piece
            piece = stream.read(_PIECE)
