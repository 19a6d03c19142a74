"""Files of Parquet, Arrow and CSV, of which a batch at a time is in memory, and what is wrong with them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

from properly.files import MISSING_CELLS, Format, state_of
from properly.inputs.optional import require

_BUFFER = 2**18  # bytes of a column of Parquet that are read at once; otherwise all of a row group are
_ROW = 2**20  # bytes of the longest row of text
_SHOWN = 60  # characters of a value in a message
_CONVERSION = re.compile(r"In CSV column #(\d+):.*CSV conversion error to (\w+): invalid value '(.*)'", re.DOTALL)


@dataclass
class Source:
    """A file, or a row group of a Parquet file."""

    path: str
    form: Format
    name: str  # in messages
    state: tuple[int, int] | None
    schema: Any = None  # the types in which its columns are read
    n_rows: int = 0  # about, of text
    metadata: Any = None  # of a Parquet file
    row_group: int = 0

    @classmethod
    def opened(cls, path: str, form: Format) -> Self:
        source = cls(path, form, path, state_of(path))
        with source.told():
            source.schema, source.n_rows, source.metadata = _HEADS[form.kind](source)
            names = source.schema.names
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise ValueError(f"{path} has several columns named {repeated[0]!r}; give every column its own name.")
        if form.kind == "text":
            _refuse_other_separators(path, names, form.delimiter)
        return source

    def row_groups(self) -> list[Self]:
        groups = range(self.metadata.num_row_groups)
        return [replace(self, row_group=group, name=f"row group {group} of {self.path}") for group in groups]

    def read_as(self, name: str, kind: Any) -> None:
        """Set the type in which a column is read."""
        self.schema = self.schema.set(self.schema.names.index(name), self.schema.field(name).with_type(kind))

    def batches(self, columns: list[str], rows: int, alone: bool) -> Iterator[Any]:
        """The rows, at most so many at a time; `alone` says whether other threads are free to decode."""
        batches = _BATCHES[self.form.kind](self, columns, rows, alone)
        while True:
            with self.told():
                batch = next(batches, None)
                if batch is None:
                    return
                batch.validate(full=True)  # otherwise Arrow would follow any offset, also out of its memory
            yield batch

    @contextmanager
    def told(self) -> Iterator[None]:
        """What Arrow finds wrong while the block runs becomes one line that names the place."""
        self.check_unchanged()
        try:
            yield
        except (OSError, ValueError, require("pyarrow", "arrow").ArrowException) as error:
            self.check_unchanged()
            raise ValueError(self._problem(error)) from error

    def _problem(self, error: Exception) -> str:
        said, of_text = " ".join(str(error).split()), self.form.kind == "text"
        mixed = _CONVERSION.search(str(error))
        if mixed is not None:
            column, kind, value = mixed.groups()
            shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
            return (
                f"column {self.schema.names[int(column)]!r} of {self.path} holds {shown!r}, though it was of type "
                f"{kind} up to there; write all its values alike (1.0 and 0.5, not 1 and 0.5), or use Parquet."
            )
        if of_text and (isinstance(error, UnicodeDecodeError) or "UTF8" in said):
            return f"{self.path} is not encoded in UTF-8; save it as UTF-8."
        if of_text and "straddling" in said:
            return (
                f"{self.path} has a row of more than {_ROW:,} bytes, or a quotation mark that opens a cell and is "
                "never closed; close it, leave out long texts, or use Parquet."
            )
        return f"{self.name} cannot be read: {said}"

    def check_unchanged(self) -> None:
        """Refuse a file that was written to since it was opened: passes over different rows add up to nothing."""
        if state_of(self.path) != self.state:
            raise ValueError(
                f"{self.path} has changed since the Stream was made; make a new one, of a copy that nobody writes to."
            )


def _refuse_other_separators(path: str, names: Sequence[str], delimiter: str) -> None:
    """Refuse a header of one column that rather looks like several."""
    if len(names) == 1 and any(sign in names[0] for sign in ",;|\t"):
        raise ValueError(
            f"{path} has a single column, {names[0]!r}, if cells are separated by {delimiter!r}, as the ending says; "
            "write it with that separator (.csv: commas, .tsv: tabs)."
        )


def _text_head(source: Source) -> tuple[Any, int, None]:
    """The number of rows is that which a file of this size would have if all were as long as the first ones."""
    reader, size = _text_reader(source, None, False), os.path.getsize(source.path)
    first = next(reader, None)
    return reader.schema, 0 if first is None else first.num_rows * size // min(_ROW, size), None


def _text_batches(source: Source, columns: list[str], rows: int, alone: bool) -> Iterator[Any]:
    """Of a megabyte each."""
    yield from _text_reader(source, columns, alone)


def _text_reader(source: Source, columns: list[str] | None, alone: bool) -> Any:
    """Arrow's reader: of columns of known types, or of all, with the types of the first megabyte."""
    csv = require("pyarrow.csv", "arrow")
    return csv.open_csv(
        require("pyarrow", "arrow").input_stream(source.path, compression=source.form.compression),
        csv.ReadOptions(use_threads=alone, block_size=_ROW),
        csv.ParseOptions(delimiter=source.form.delimiter, newlines_in_values=True),
        csv.ConvertOptions(
            column_types=None if columns is None else source.schema,
            include_columns=columns,
            null_values=MISSING_CELLS,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _parquet_head(source: Source) -> tuple[Any, int, Any]:
    with require("pyarrow.parquet", "arrow").ParquetFile(source.path) as file:
        return file.schema_arrow, file.metadata.num_rows, file.metadata


def _parquet_batches(source: Source, columns: list[str], rows: int, alone: bool) -> Iterator[Any]:
    opened = require("pyarrow.parquet", "arrow").ParquetFile
    with opened(source.path, metadata=source.metadata, buffer_size=_BUFFER, pre_buffer=False) as file:
        for batch in file.iter_batches(rows, row_groups=[source.row_group], columns=columns, use_threads=alone):
            yield batch.select(columns)


def _ipc_head(source: Source) -> tuple[Any, int, None]:
    local = require("pyarrow.fs", "arrow").LocalFileSystem()
    file = require("pyarrow.dataset", "arrow").IpcFileFormat().make_fragment(source.path, filesystem=local)
    return file.physical_schema, file.count_rows(), None


def _ipc_batches(source: Source, columns: list[str], rows: int, alone: bool) -> Iterator[Any]:
    """The file is not mapped into memory: if somebody cuts a file that is, the process ends."""
    pa, ipc = require("pyarrow", "arrow"), require("pyarrow.ipc", "arrow")
    wanted = [source.schema.names.index(name) for name in columns]
    with pa.OSFile(source.path) as file:
        reader = ipc.open_file(file, options=ipc.IpcReadOptions(use_threads=alone, included_fields=wanted))
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number).select(columns)
            for begin in range(0, batch.num_rows, rows):
                yield batch.slice(begin, rows)


# What reads the schema, the number of rows and what else is in the head of a file, and what reads its batches.
_HEADS: dict[str, Callable[[Source], tuple[Any, int, Any]]] = {
    "text": _text_head,
    "parquet": _parquet_head,
    "ipc": _ipc_head,
}
_BATCHES: dict[str, Callable[[Source, list[str], int, bool], Iterator[Any]]] = {
    "text": _text_batches,
    "parquet": _parquet_batches,
    "ipc": _ipc_batches,
}
