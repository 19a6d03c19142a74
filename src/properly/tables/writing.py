"""Tables into files, batch by batch; an incomplete file is never left."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from properly.files import MISSING_CELLS, Format, atomic_path
from properly.tables.base import TableError, arrow, compute, format_of, ipc, is_text, parquet, plain_type, types

Write = Callable[[Any], None]


def write_batches(path: str | os.PathLike[str], schema: Any, batches: Iterable[Any]) -> int:
    """Write record batches of a schema to a file, in the format of its ending; return the number of rows.

    The file appears when it is complete. After an error, an existing file is still as it was.

    Parameters
    ----------
    path : str or Path
        Where to; the ending says which format.
    schema : Arrow schema
        The columns.
    batches : iterable of Arrow batches
        The rows.
    """
    form = format_of(str(path))
    n_rows = 0
    with atomic_path(path) as temporary, _WRITERS[form.kind](temporary, schema, form) as write:
        for batch in batches:
            write(batch)
            n_rows += batch.num_rows
    return n_rows


@contextmanager
def _parquet_writer(path: Path, schema: Any, form: Format) -> Iterator[Write]:
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        yield writer.write_batch


@contextmanager
def _ipc_writer(path: Path, schema: Any, form: Format) -> Iterator[Write]:
    schema = _plain(schema)  # which may change from batch to batch in other formats
    with ipc.new_file(str(path), schema) as writer:
        yield lambda batch: writer.write_batch(batch.cast(schema))


@contextmanager
def _text_writer(path: Path, schema: Any, form: Format) -> Iterator[Write]:
    schema = _plain(schema)
    for field in schema:
        if types.is_nested(field.type) or types.is_binary(field.type):
            raise TableError(f"{path.suffix} files cannot hold the column {field.name!r} of {field.type}; use Parquet.")
    with arrow.output_stream(str(path), compression=form.compression) as stream:
        stream.write((form.delimiter.join(_cell(name, form) for name in schema.names) + "\n").encode())
        yield lambda batch: _write_text(stream, batch.cast(schema), form)


def _write_text(stream: Any, batch: Any, form: Format) -> None:
    """Rows as lines, written here because Arrow puts quotation marks around every text or around none."""
    cells = [_cells(column, form) for column in batch.columns]
    empty = "" if len(cells) > 1 else "NA"  # a line without anything is no row
    _write_lines(stream, _joined(cells, form.delimiter, empty))


def _joined(cells: list[Any], separator: str, missing: str = "") -> Any:
    return compute.binary_join_element_wise(
        *cells, _large(separator), null_handling="replace", null_replacement=missing
    )


def _write_lines(stream: Any, lines: Any) -> None:
    lines = compute.binary_join_element_wise(lines, _large(""), _large("\n"))
    offsets = lines.buffers()[1]
    if offsets is not None and len(lines):
        ends = memoryview(offsets).cast("q")
        stream.write(lines.buffers()[2][ends[lines.offset] : ends[lines.offset + len(lines)]])


def _cells(column: Any, form: Format) -> Any:
    """Texts in quotation marks where they need them: to hold a separator, or not to be taken for a missing value."""
    cells = column.cast(arrow.large_string())
    if not is_text(column.type):
        return cells
    special = compute.or_(
        compute.match_substring_regex(cells, f'["\r\n{form.delimiter}]'),
        compute.is_in(cells, value_set=arrow.array(MISSING_CELLS, arrow.large_string())),
    )
    if not compute.any(special).as_py():
        return cells
    doubled = compute.replace_substring(cells, '"', '""')
    quoted = compute.binary_join_element_wise(_large('"'), doubled, _large('"'), _large(""))
    return compute.if_else(special, quoted, cells)


@contextmanager
def _json_writer(path: Path, schema: Any, form: Format) -> Iterator[Write]:
    schema = _plain(schema)
    with arrow.output_stream(str(path), compression=form.compression) as stream:
        yield lambda batch: _write_json(stream, batch.cast(schema))


def _write_json(stream: Any, batch: Any) -> None:
    """Rows as objects, one a line; infinite numbers and nan, which JSON does not have, are null."""
    values = [
        compute.binary_join_element_wise(
            _large(f"{json.dumps(name, ensure_ascii=False)}: "), _json_values(column), _large("")
        )
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    _write_lines(stream, compute.binary_join_element_wise(_large("{"), _joined(values, ", "), _large("}"), _large("")))


def _json_values(column: Any) -> Any:
    """The values of a column in the notation of JSON; each distinct text is converted once."""
    if types.is_floating(column.type):
        column = compute.if_else(compute.is_finite(column), column, arrow.scalar(None, column.type))
    if types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type):
        return compute.fill_null(column.cast(arrow.large_string()), "null")
    if types.is_nested(column.type) or types.is_binary(column.type):
        raise TableError(f"JSON lines cannot hold a column of {column.type} here; use Parquet.")
    texts = column.cast(arrow.large_string()).dictionary_encode()
    words = [json.dumps(word, ensure_ascii=False) for word in texts.dictionary.to_pylist()]
    return compute.fill_null(arrow.array(words, arrow.large_string()).take(texts.indices), "null")


def _large(text: str) -> Any:
    return arrow.scalar(text, arrow.large_string())


def _cell(name: str, form: Format) -> str:
    if any(sign in name for sign in f'"\r\n{form.delimiter}'):
        return '"' + name.replace('"', '""') + '"'
    return name


def _plain(schema: Any) -> Any:
    return arrow.schema([(field.name, plain_type(field.type)) for field in schema])


_WRITERS = {"text": _text_writer, "json": _json_writer, "parquet": _parquet_writer, "ipc": _ipc_writer}
