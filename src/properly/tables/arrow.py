"""Arrow, in which tables are read, held and written: imported when needed, and named with its remedy if missing."""

from __future__ import annotations

from typing import Any

from properly.inputs.optional import require
from properly.tables.errors import TableError


class _Module:
    """A module of Arrow that is imported when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(require(self._name, "arrow"), attribute)


# Their type is Any, as that of the modules themselves would be.
arrow: Any = _Module("pyarrow")
compute: Any = _Module("pyarrow.compute")
csv: Any = _Module("pyarrow.csv")
ipc: Any = _Module("pyarrow.ipc")
parquet: Any = _Module("pyarrow.parquet")
types: Any = _Module("pyarrow.types")


def as_table(data: Any) -> Any:
    """A `pyarrow.Table` of a data frame, a record batch, a mapping from names to values, or of a table itself."""
    if isinstance(data, arrow.Table):
        return data
    if isinstance(data, arrow.RecordBatch):
        return arrow.Table.from_batches([data])
    if type(data).__module__.partition(".")[0] == "pandas":
        return arrow.Table.from_pandas(data, preserve_index=False)
    try:
        return arrow.table(data)
    except (TypeError, ValueError) as error:
        raise TableError(
            f"a table must be a data frame, a pyarrow.Table or a mapping, got {type(data).__name__}."
        ) from error


def plain(column: Any) -> Any:
    """A column in one piece, and in a type that all functions of Arrow take."""
    if isinstance(column, arrow.ChunkedArray):
        column = column.combine_chunks()
    return column.cast(plain_type(column.type))


def plain_type(column_type: Any) -> Any:
    """The type without a dictionary and without views."""
    if types.is_dictionary(column_type):
        column_type = column_type.value_type
    return arrow.string() if types.is_string_view(column_type) else column_type


def is_text(column_type: Any) -> bool:
    """Whether a column of this type holds texts."""
    return bool(types.is_string(column_type) or types.is_large_string(column_type) or types.is_string_view(column_type))


def is_numeric(column_type: Any) -> bool:
    """Whether a column of this type holds numbers; truth values count as numbers."""
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    return any(test(column_type) for test in tests)
