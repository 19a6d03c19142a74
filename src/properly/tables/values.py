"""What the values of a column mean, whatever type they are stored in: numbers, truth values, dates, categories."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from properly.numeric.probabilities import Array
from properly.tables.arrow import arrow, compute, types
from properly.tables.errors import Place, TableError

# Cells of a text file that mean "missing" if they stand without quotation marks.
MISSING = ["", "#N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]

_NUMBER = r"(?i)^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$|^\s*[+-]?(inf|infinity|nan)\s*$"
_WHOLE = r"^(-?(?:0|[1-9]\d*))\.0+$"  # a whole number written as a fraction
_TRUTH_VALUES = ("false", "true")
_FEW_ROWS = 0.1  # a mean weight below this is rather a share than a number of rows
_MICROSECONDS_A_DAY = 86_400e6


def numbers(column: Any, place: Place) -> Array:
    """A column of Arrow as float64, nan where a value is missing; texts are read as numbers."""
    column = plain(column)
    if is_text(column.type):
        column = _parsed(column, place)
    elif types.is_null(column.type):
        return np.full(len(column), np.nan)
    elif not is_numeric(column.type):
        raise place.error(0, f"numbers are needed, the column holds {column.type}.")
    return np.asarray(column.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def weights(column: Any, place: Place) -> Array:
    """How many rows each row stands for: finite, not negative, not all 0."""
    values = numbers(column, place)
    bad = ~(np.isfinite(values) & (values >= 0.0))
    if bad.any():
        row = int(bad.argmax())
        raise place.error(row, f"a weight must be a number of at least 0, got {values[row]:g}.")
    if not values.any():
        raise TableError(f"{place.source}, column {place.column!r}: every weight is 0.")
    total, n_rows = float(values.sum()), np.count_nonzero(values)
    if total < _FEW_ROWS * n_rows:
        warnings.warn(
            f"{place.source}, column {place.column!r}: the weights of {n_rows:,} rows add up to {total:g} only; they "
            "are numbers of rows, so everything is judged as if there were so few. Rescale them if they are not.",
            UserWarning,
            stacklevel=2,
        )
    return values


def booleans(column: Any, place: Place) -> Array:
    """0 for false, 1 for true, nan for missing; texts may be in any case, numbers are 0 and 1."""
    column = plain(column)
    if is_text(column.type):
        cells = compute.utf8_lower(_cells(column))
        named = compute.index_in(cells, value_set=arrow.array(_TRUTH_VALUES))
        neither = compute.and_(compute.is_null(named), compute.invert(is_number_text(cells)))
        _refuse(neither, column, place, "true or false")
        column = compute.if_else(compute.is_null(named), cells, named.cast(arrow.string()))
    values = numbers(column, place)
    bad = ~(np.isnan(values) | (values == 0.0) | (values == 1.0))
    if bad.any():
        raise place.error(int(bad.argmax()), f"true or false is needed, got {values[bad][0]:g}.")
    return values


def dates(column: Any, place: Place) -> Array:
    """Days since the beginning of 1970, nan where the date is missing; texts are in the form of ISO 8601."""
    column = plain(column)
    if types.is_null(column.type):
        return np.full(len(column), np.nan)
    if is_text(column.type):
        column = _parsed_dates(column, place)
    elif not (types.is_date(column.type) or types.is_timestamp(column.type)):
        raise place.error(0, f"dates are needed, the column holds {column.type}.")
    microseconds = column.cast(arrow.timestamp("us"), safe=False).cast(arrow.int64()).cast(arrow.float64(), safe=False)
    return np.asarray(microseconds.to_numpy(zero_copy_only=False), dtype=np.float64) / _MICROSECONDS_A_DAY


def texts(column: Any, place: Place) -> Any:
    """A column of Arrow as texts, so that the category 3 is the same in every type that can hold it, and in 3.0."""
    column = plain(column)
    if types.is_floating(column.type):
        column = column.cast(arrow.float64())
        column = compute.if_else(compute.is_nan(column), arrow.scalar(None, arrow.float64()), column)
        whole = compute.and_(compute.equal(column, compute.floor(column)), compute.less(compute.abs(column), 2.0**53))
        as_whole = compute.if_else(whole, column, 0.0).cast(arrow.int64()).cast(arrow.string())
        return compute.if_else(whole, as_whole, column.cast(arrow.string()))
    if types.is_nested(column.type) or types.is_binary(column.type) or types.is_large_binary(column.type):
        raise place.error(0, f"categories are needed, the column holds {column.type}.")
    words = column.cast(arrow.string())
    return compute.replace_substring_regex(words, _WHOLE, r"\1") if is_text(column.type) else words


# How a column that is not of categories becomes a column of numbers.
NUMERIC_KINDS: dict[str, Callable[[Any, Place], Array]] = {"number": numbers, "boolean": booleans, "date": dates}


def kind_of(column_type: Any) -> str | None:
    """What a column of this type means; None if it cannot be used."""
    column_type = plain_type(column_type)
    if types.is_boolean(column_type):
        return "boolean"
    if is_numeric(column_type) or types.is_null(column_type):
        return "number"
    if types.is_date(column_type) or types.is_timestamp(column_type):
        return "date"
    return "category" if is_text(column_type) else None


def typed(table: Any, keep: Collection[str] = ()) -> Any:
    """The columns of a text file in the type that all their values agree with; those to keep stay texts."""
    for j, name in enumerate(table.column_names):
        if name not in keep:
            table = table.set_column(j, name, typed_column(table.column(j)))
    return table


def joined_type(first: Any, second: Any) -> Any:
    """The type of two parts of a column of a text file together."""
    if first == second or types.is_null(second):
        return first
    if types.is_null(first):
        return second
    both = {first, second}
    return arrow.float64() if both == {arrow.int64(), arrow.float64()} else arrow.string()


def is_number_text(column: Any) -> Any:
    """Which of the texts are numbers."""
    return compute.match_substring_regex(column, _NUMBER)


def plain(column: Any) -> Any:
    """In one piece, and in a type that all functions of Arrow take."""
    if isinstance(column, arrow.ChunkedArray):
        column = column.combine_chunks()
    return column.cast(plain_type(column.type))


def plain_type(column_type: Any) -> Any:
    """The type without a dictionary and without views."""
    if types.is_dictionary(column_type):
        column_type = column_type.value_type
    return arrow.string() if types.is_string_view(column_type) else column_type


def is_text(column_type: Any) -> bool:
    return bool(types.is_string(column_type) or types.is_large_string(column_type) or types.is_string_view(column_type))


def is_numeric(column_type: Any) -> bool:
    return bool(
        types.is_integer(column_type)
        or types.is_floating(column_type)
        or types.is_decimal(column_type)
        or types.is_boolean(column_type)
    )


def typed_column(column: Any) -> Any:
    """Texts in the type that all of them agree with."""
    if column.null_count == len(column):
        return arrow.nulls(len(column))
    cells = _cells(column)
    if cells.null_count == len(cells):  # such as "NA" in quotation marks, and nothing else
        return column
    for target in (arrow.int64(), arrow.float64()):
        try:
            return _cast_numbers(cells, target)
        except arrow.ArrowInvalid:
            continue
    if compute.all(compute.is_in(compute.utf8_lower(cells), value_set=arrow.array([*_TRUTH_VALUES, None]))).as_py():
        return cells.cast(arrow.bool_())
    for target in _times():
        try:
            return cells.cast(target)
        except arrow.ArrowInvalid:
            continue
    return column


def converted(column: Any, target: Any) -> Any:
    """A column in the type that was found for it: texts by the rules of `typed_column`, others by a plain cast."""
    if not is_text(column.type) or is_text(target):
        return column.cast(target)
    if types.is_null(target):
        return arrow.nulls(len(column))
    return _cells(column).cast(target)


def _times() -> tuple[Any, Any]:
    """Points in time without and with an offset from Greenwich."""
    return arrow.timestamp("us"), arrow.timestamp("us", "UTC")


def _cells(column: Any) -> Any:
    """Texts without the white space around them; null where they say that a value is missing."""
    trimmed = compute.utf8_trim_whitespace(column.cast(arrow.string()))
    missing = compute.is_in(trimmed, value_set=arrow.array(MISSING))
    return compute.if_else(missing, arrow.scalar(None, arrow.string()), trimmed)


def _cast_numbers(cells: Any, target: Any) -> Any:
    """Texts as numbers; 0x1F, which Arrow takes for 31, is none."""
    result = cells.cast(target)
    if compute.any(compute.match_substring(cells, "x", ignore_case=True)).as_py():
        raise arrow.ArrowInvalid("hexadecimal")
    return result


def _parsed(column: Any, place: Place) -> Any:
    cells = _cells(column)
    try:
        return _cast_numbers(cells, arrow.float64())
    except arrow.ArrowInvalid:
        _refuse(compute.invert(is_number_text(cells)), column, place, "a number")
        raise


def _parsed_dates(column: Any, place: Place) -> Any:
    cells = _cells(column)
    for target in _times():
        try:
            return cells.cast(target)
        except arrow.ArrowInvalid:
            continue
    looks_like_date = compute.match_substring_regex(cells, r"^\d{4}-\d{2}-\d{2}([ T].*)?$")
    _refuse(compute.invert(looks_like_date), column, place, "a date such as 2024-05-31")
    raise place.error(0, "the dates have no common form; write them as 2024-05-31 or 2024-05-31T12:00:00.")


def _refuse(bad: Any, column: Any, place: Place, needed: str) -> None:
    """An error at the first value that is bad."""
    found = compute.index(bad, True).as_py()
    if found >= 0:
        raise place.error(found, f"{needed} is needed, got {column[found].as_py()!r}.")
