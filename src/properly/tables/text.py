"""Text files: their separator and decimal sign, recognised or given, and their cells as texts."""

from __future__ import annotations

import csv as rows_of
import io
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from properly.files import MISSING_CELLS, Format
from properly.inputs.misuse import Misuse
from properly.tables.base import arrow, compute, csv
from properly.tables.content import BYTE_ORDER_MARK, opened
from properly.tables.quoting import require_closed_quotes

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_SAMPLE = 2**18  # bytes from which separator and decimal sign are recognised
_WHOLE = re.compile(r"[+-]?\d+")
_WITH_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_WITH_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?|[+-]?\d{1,3}(\.\d{3})+,\d+")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
# Numbers with a decimal comma and perhaps points between thousands, for Arrow.
_COMMA_NUMBER = r"^\s*[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?([eE][+-]?\d+)?\s*$"
# What Arrow says of a row with another number of cells than the header.
_RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


class Notation(NamedTuple):
    """How cells are separated, and what stands before the decimals of a number."""

    separator: str
    decimal: str


def recognised(path: str, form: Format, separator: str | None, decimal: str | None) -> Notation:
    """The notation of a text file: what is given, or else what its first rows look like.

    The separator is that of the ending if it divides all of these rows into the same number of cells, two or more;
    otherwise the one of comma, semicolon, tab and bar that does. The decimal sign is a comma if some column holds
    numbers such as 1,5 and none such as 1.5; numbers that could have commas between thousands (1,234) do not count.
    """
    with opened(path, form) as stream:
        start = stream.read(_SAMPLE).removeprefix(BYTE_ORDER_MARK)
    text = start.decode("utf-8", errors="replace")
    if len(start) >= _SAMPLE:
        text = text[: text.rfind("\n") + 1] or text
    if separator is None:
        fits = {each: _width(text, each) for each in dict.fromkeys([form.delimiter, *SEPARATORS])}
        separator = form.delimiter if fits[form.delimiter] > 1 else max(fits, key=fits.__getitem__)
        if fits[separator] < 2:
            separator = form.delimiter
    if decimal is None:
        decimal = "," if separator != "," and _has_decimal_commas(text, separator) else "."
    return Notation(separator, decimal)


def _rows(text: str, separator: str) -> list[list[str]]:
    try:
        return [row for row in rows_of.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    except rows_of.Error:
        return []


def _width(text: str, separator: str) -> int:
    """How many cells all rows have; 0 if they differ."""
    widths = {len(row) for row in _rows(text, separator)}
    return widths.pop() if len(widths) == 1 else 0


def _has_decimal_commas(text: str, separator: str) -> bool:
    found = False
    for column in zip(*_rows(text, separator)[1:], strict=False):
        cells = [cell.strip() for cell in column if cell.strip() not in MISSING_CELLS]
        others = [cell for cell in cells if not _WHOLE.fullmatch(cell)]
        if others and all(_WITH_POINT.fullmatch(cell) for cell in others):
            return False
        commas = bool(others) and all(_WITH_COMMA.fullmatch(cell) for cell in others)
        found |= commas and not all(_THOUSANDS.fullmatch(cell) for cell in others)
    return found


def text_names(path: str, form: Format, notation: Notation) -> list[str]:
    """The names of the columns."""
    names: list[str] = _reader(path, form, notation, None, 2**21).schema.names
    return names


def text_batches(
    path: str, form: Format, notation: Notation, columns: list[str], size: int, quotes_checked: bool
) -> Iterator[Any]:
    """The rows, every cell a text; numbers with a decimal comma are written with a point."""
    if not quotes_checked:
        require_closed_quotes(path, form._replace(delimiter=notation.separator))
    for batch in _reader(path, form, notation, columns, size):
        yield batch if notation.decimal == "." else _with_points(batch)


def _with_points(batch: Any) -> Any:
    columns = []
    for cells in batch.columns:
        plain = compute.replace_substring(compute.replace_substring(cells, ".", ""), ",", ".")
        columns.append(compute.if_else(compute.match_substring_regex(cells, _COMMA_NUMBER), plain, cells))
    return arrow.RecordBatch.from_arrays(columns, schema=batch.schema)


def _reader(path: str, form: Format, notation: Notation, columns: list[str] | None, size: int) -> Any:
    """Arrow's reader: of texts if columns are named, else one that knows the header."""
    return csv.open_csv(
        opened(path, form),
        read_options=csv.ReadOptions(use_threads=False, block_size=size),
        parse_options=csv.ParseOptions(delimiter=notation.separator, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(columns or (), arrow.string()),
            include_columns=columns,
            null_values=MISSING_CELLS,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def text_problem(error: Exception, notation: Notation, size: int) -> str | None:
    """The usual mistakes in text files."""
    if "UTF8" in str(error) or isinstance(error, UnicodeDecodeError):
        return " is not encoded in UTF-8; convert it first."
    if "straddling" in str(error):
        return f" has a row of more than {size:,} bytes, the most that can be read; use Parquet."
    ragged = _RAGGED.search(str(error))
    if ragged is None:
        return None
    row, expected, found = ragged.groups()
    return (
        f": {'a row' if row is None else f'line {row}'} has {found} cells, the header {expected}; cells are separated "
        f"by {notation.separator!r}, and a cell that holds this must stand in quotation marks (another separator is "
        "given with --separator)."
    )


def require_several(path: str, names: list[str], notation: Notation) -> None:
    """Refuse a header of one column that rather looks like several."""
    signs = [sign for sign in SEPARATORS if sign in names[0]] if len(names) == 1 else []
    if signs:
        option = "tab" if signs[0] == "\t" else f"'{signs[0]}'"
        raise Misuse(
            f"{path} has a single column, {names[0]!r}, if cells are separated by {notation.separator!r}; name the "
            f"separator (on the command line: --separator {option}), and see that all rows have the same number of "
            "cells."
        )
