"""What the values of a column mean, whatever type they are stored in: numbers, truth values, dates, categories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from properly.files import MISSING_CELLS
from properly.numeric.probabilities import Array
from properly.tables.base import Place, arrow, compute, is_numeric, is_text, plain, plain_type, types

_NUMBER = r"(?i)^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$|^\s*[+-]?(inf|infinity|nan)\s*$"
_LEADING_ZERO = r"^\s*[+-]?0\d"
_WHOLE = r"^(-?(?:0|[1-9]\d*))\.0+$"  # a whole number written as a fraction
_DATE = r"^\d{4}-\d{2}-\d{2}([ T].*)?$"
_TRUTH_VALUES = ("false", "true")
_MICROSECONDS_A_DAY = 86_400e6


def numbers(column: Any, place: Place) -> Array:
    """A column of Arrow as float64, nan where a value is missing; texts are read as numbers.

    Parameters
    ----------
    column : Arrow array
        The column.
    place : str
        Where it comes from, for error messages.
    """
    column = plain(column)
    if is_text(column.type):
        cells = _cells(column)
        column = _cast(cells, arrow.float64())
        if column is None:
            raise _first_error(compute.invert(is_number_text(cells)), cells, place, "a number")
    elif types.is_null(column.type):
        return np.full(len(column), np.nan)
    elif not is_numeric(column.type):
        raise place.error(0, f"numbers are needed, the column holds {column.type}.")
    return np.asarray(column.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def booleans(column: Any, place: Place) -> Array:
    """0 for false, 1 for true, nan for missing; texts may be in any case, numbers are 0 and 1."""
    column = plain(column)
    if is_text(column.type):
        cells = compute.utf8_lower(_cells(column))
        named = compute.index_in(cells, value_set=arrow.array(_TRUTH_VALUES))
        neither = compute.and_(compute.is_null(named), compute.invert(is_number_text(cells)))
        if compute.any(neither).as_py():
            raise _first_error(neither, column, place, "true or false")
        column = compute.if_else(compute.is_null(named), cells, named.cast(arrow.string()))
    values = numbers(column, place)
    place.refuse(~(np.isnan(values) | np.isin(values, (0.0, 1.0))), "true or false is needed, got {:g}.", values)
    return values


def dates(column: Any, place: Place) -> Array:
    """Days since the beginning of 1970, nan where the date is missing; texts are in the form of ISO 8601."""
    column = plain(column)
    if types.is_null(column.type):
        return np.full(len(column), np.nan)
    if is_text(column.type):
        cells = _cells(column)
        column = _cast(cells, *_times())
        if column is None:
            other = compute.invert(compute.match_substring_regex(cells, _DATE))
            if compute.any(other).as_py():
                raise _first_error(other, cells, place, "a date such as 2024-05-31")
            raise place.error(0, "the dates have no common form; write them as 2024-05-31 or 2024-05-31T12:00:00.")
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


def is_number_text(column: Any) -> Any:
    """Which of the texts are numbers."""
    return compute.match_substring_regex(column, _NUMBER)


def first_leading_zero(column: Any) -> str | None:
    """The first text that begins with a superfluous 0, as codes do, None if there is none; as a number it loses it.

    >>> first_leading_zero(arrow.array(["0.5", "12", "007"])), first_leading_zero(arrow.array(["0", "-0.5", "10"]))
    ('007', None)
    """
    padded = compute.filter(column, compute.fill_null(compute.match_substring_regex(column, _LEADING_ZERO), False))
    return str(padded[0].as_py()).strip() if len(padded) else None


def typed_column(column: Any) -> Any:
    """Texts in the type that all of them agree with."""
    if column.null_count == len(column):
        return arrow.nulls(len(column))
    cells = _cells(column)
    if cells.null_count == len(cells):  # such as "NA" in quotation marks, and nothing else
        return column
    found = _cast(cells, arrow.int64(), arrow.float64(), *_times())
    if found is not None:
        return found
    truths = compute.is_in(compute.utf8_lower(cells), value_set=arrow.array([*_TRUTH_VALUES, None]))
    return cells.cast(arrow.bool_()) if compute.all(truths).as_py() else column


def dated_type(column: Any) -> Any:
    """The type of a column of JSON: texts that are all dates are points in time, with microseconds."""
    if types.is_timestamp(column.type):  # which Arrow finds in dates without fractions of seconds only
        column = column.cast(arrow.string())
    cells = _cells(column) if is_text(column.type) else None
    found = None if cells is None or cells.null_count == len(cells) else _cast(cells, *_times())
    return column.type if found is None else found.type


def joined_type(first: Any, second: Any) -> Any:
    """The type of two parts of a column together, which holds all values of both."""
    if first == second or types.is_null(second):
        return first
    if types.is_null(first):
        return second
    first, second = plain_type(first), plain_type(second)
    kinds = {_number_kind(each) for each in (first, second)}
    if None in kinds:
        return arrow.large_string() if types.is_large_string(first) or types.is_large_string(second) else arrow.string()
    if "floating" in kinds:
        return arrow.float64()
    if kinds == {"whole", "decimal"}:
        first, second = (each if types.is_decimal(each) else arrow.decimal128(20) for each in (first, second))
    schemas = [arrow.schema([("", each)]) for each in (first, second)]
    return arrow.unify_schemas(schemas, promote_options="permissive").types[0]


def _number_kind(given: Any) -> str | None:
    if types.is_floating(given):
        return "floating"
    if types.is_integer(given):
        return "whole"
    return "decimal" if types.is_decimal(given) else None


def converted(column: Any, target: Any) -> Any:
    """A column in the type that was found for it: texts by the rules of `typed_column`, others by a plain cast."""
    if not is_text(column.type) or is_text(target):
        return column.cast(target)
    return arrow.nulls(len(column)) if types.is_null(target) else _cells(column).cast(target)


def _times() -> tuple[Any, Any]:
    """Points in time without and with an offset from Greenwich."""
    return arrow.timestamp("us"), arrow.timestamp("us", "UTC")


def _cells(column: Any) -> Any:
    """Texts without the white space around them; null where they say that a value is missing."""
    trimmed = compute.utf8_trim_whitespace(column.cast(arrow.string()))
    missing = compute.is_in(trimmed, value_set=arrow.array(MISSING_CELLS))
    return compute.if_else(missing, arrow.scalar(None, arrow.string()), trimmed)


def _cast(cells: Any, *targets: Any) -> Any | None:
    """The texts in the first of these types that can hold all of them, None if there is none."""
    for target in targets:
        try:
            found = cells.cast(target)
        except arrow.ArrowInvalid:
            continue
        # Arrow reads 0x1F as the number 31; to users it is a text.
        if not compute.any(compute.match_substring(cells, "x", ignore_case=True)).as_py():
            return found
    return None


def _first_error(bad: Any, values: Any, place: Place, needed: str) -> Exception:
    """An error at the first value that is bad."""
    found = compute.index(bad, True).as_py()
    return place.error(found, f"{needed} is needed, got {values[found].as_py()!r}.")
