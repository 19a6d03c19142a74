"""JSON lines: a file with an object on every line, whose keys are columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from properly.files import Format
from properly.tables.base import TableError, arrow, json, types
from properly.tables.columns import converted, dated_type, joined_type
from properly.tables.content import pieces

# What Arrow says of values of several kinds under one key.
_CHANGED = re.compile(r"Column\(/(.+)\) changed from (\w+) to (\w+) in row (\d+)")


def json_schema(path: str, form: Format) -> tuple[Any, int]:
    """The columns with the types that all their values agree with, and the number of rows; the file is read once."""
    found: dict[str, Any] = {}
    n_rows = 0
    for piece in _whole_lines(path, form):
        table = _parsed(piece, path, n_rows)
        for name in table.column_names:
            kind = dated_type(table.column(name))
            found[name] = joined_type(found[name], kind) if name in found else kind
        n_rows += table.num_rows
    return arrow.schema(list(found.items())), n_rows


def json_batches(path: str, form: Format, schema: Any, columns: list[str]) -> Iterator[Any]:
    """The rows; what an object lacks is missing."""
    wanted = arrow.schema([schema.field(name) for name in columns])
    as_text = [arrow.string() if types.is_timestamp(field.type) else field.type for field in wanted]
    n_rows = 0
    for piece in _whole_lines(path, form):
        table = _parsed(piece, path, n_rows, arrow.schema(list(zip(columns, as_text, strict=True))))
        n_rows += table.num_rows
        values = [converted(table.column(field.name), field.type) for field in wanted]
        yield from arrow.table(values, schema=wanted).combine_chunks().to_batches()


def _parsed(piece: bytes, path: str, n_rows: int, schema: Any = None) -> Any:
    ignored = {} if schema is None else {"explicit_schema": schema, "unexpected_field_behavior": "ignore"}
    try:
        return json.read_json(
            arrow.BufferReader(piece),
            read_options=json.ReadOptions(use_threads=False, block_size=len(piece) + 1),
            parse_options=json.ParseOptions(**ignored),
        )
    except arrow.ArrowInvalid as error:
        changed = _CHANGED.search(str(error))
        if changed is None:
            raise TableError(
                f'{path} cannot be read: every line must be one JSON object, such as {{"age": 30, "town": "Rome"}} '
                f"({' '.join(str(error).split())})."
            ) from error
        name, before, after, row = changed.groups()
        raise TableError(
            f"{path}, column {name!r}, row {n_rows + int(row) + 1}: the value is a {after}, those before are of the "
            f"kind {before}; write all of them in the same way."
        ) from error


def _whole_lines(path: str, form: Format) -> Iterator[bytes]:
    """The file in pieces that end with a line."""
    rest = b""
    for piece in pieces(path, form):
        lines, end, rest = (rest + piece).rpartition(b"\n")
        if lines.strip():
            yield lines + end
    if rest.strip():
        yield rest
