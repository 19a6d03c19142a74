"""What reading, writing and encoding of tables share: Arrow, the formats of files, and errors that name the place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from properly.files import FORMATS, Format
from properly.inputs.misuse import Misuse
from properly.inputs.optional import require
from properly.numeric.arrays import require_values


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
json: Any = _Module("pyarrow.json")
parquet: Any = _Module("pyarrow.parquet")
types: Any = _Module("pyarrow.types")


def as_table(data: Any) -> Any:
    """A `pyarrow.Table` of a data frame, a record batch, a mapping from names to values, or of a table itself.

    Parameters
    ----------
    data : data frame, Arrow table or mapping
        What is converted.
    """
    require_values(data, "the table")
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


class DrawnFrom(str):
    """The name of a source of which rows were drawn at random; messages name the file and the row that each comes from.

    >>> source = DrawnFrom("folder", ["folder/1.csv", "folder/2.csv"], np.array([0, 1]), np.array([6, 2]))
    >>> print(source, "|", Place(source, "age").error(1, "too old."))
    folder | folder/2.csv, column 'age', row 3: too old.
    """

    files: Sequence[str]
    file: NDArray[np.intp]  # of every drawn row, the position of its file
    row: NDArray[np.intp]  # and how many rows of that come before it

    def __new__(cls, path: str, files: Sequence[str], file: NDArray[np.intp], row: NDArray[np.intp]) -> Self:
        made = super().__new__(cls, path)
        made.files, made.file, made.row = files, file, row
        return made


class TableError(ValueError):
    """A table that cannot be used; the message names the file, and the column and row where they are known."""


@dataclass(frozen=True)
class Place:
    """Where values come from. Rows are counted from 1, the header of a CSV file not included.

    >>> print(Place("table.csv", "age"))
    table.csv, column 'age'
    """

    source: str
    column: str
    first_row: int = 0  # how many rows of the file came before

    def __str__(self) -> str:
        return f"{self.source}, column {self.column!r}"

    def error(self, index: int, problem: str) -> TableError:
        """An error at one of the values, by its position."""
        source, row = self.source, self.first_row + index
        if isinstance(source, DrawnFrom):
            source, row = source.files[source.file[row]], int(source.row[row])
        return TableError(f"{Place(source, self.column)}, row {row + 1}: {problem}")

    def refuse(self, bad: NDArray[np.bool_], problem: str, values: Any = None) -> None:
        """Raise an error at the first value that is bad, if there is one; {} in the problem stands for the value."""
        if bad.any():
            row = int(bad.argmax())
            raise self.error(row, problem if values is None else problem.format(values[row]))


def distinct(*names: str | None) -> list[str]:
    """The names that are given, once each.

    >>> distinct("y", "p", None, "y")
    ['y', 'p']
    """
    return list(dict.fromkeys(name for name in names if name is not None))


def require_columns(
    wanted: Iterable[str], present: list[str], source: str, error: type[ValueError] = TableError
) -> None:
    """Refuse a table that lacks a column."""
    for name in wanted:
        if name not in present:
            raise error(f"{source} has no column {name!r}; it has {listed(present)}.")


def require_named(columns: Iterable[str], source: str) -> None:
    """Refuse to learn from a column whose name is empty."""
    if "" in columns:
        raise TableError(
            f"{source} has a column without a name, perhaps the row numbers of a data frame (pandas writes none with "
            "index=False); give it a name, or ignore it (on the command line: --ignore '\"\"')."
        )


def listed(values: Iterable[Any], most: int = 12) -> str:
    """The first few values, for messages.

    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    shown = [repr(value) for value in values]
    rest = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {rest} more" if rest > 0 else "")


def ending_of(path: str) -> str:
    """The ending that determines the format, as it is written.

    >>> ending_of("data/scores.v2.csv.gz")
    '.csv.gz'
    """
    name = Path(path).name
    found = [name[-len(ending) :] for ending in FORMATS if name.lower().endswith(ending)]
    if not found:
        raise Misuse(f"{path}: the ending must be one of {', '.join(FORMATS)}.")
    return max(found, key=len)


def format_of(path: str) -> Format:
    """The format that the ending of a name stands for.

    >>> format_of("a.tsv").delimiter
    '\\t'
    >>> format_of("a.xlsx")
    Traceback (most recent call last):
    properly.inputs.misuse.Misuse: a.xlsx: the ending must be one of .csv, .tsv, .jsonl, .ndjson, .csv.gz, .tsv.gz,
    .jsonl.gz, .ndjson.gz, .csv.zst, .tsv.zst, .jsonl.zst, .ndjson.zst, .parquet, .pq, .arrow, .feather, .ipc.
    """
    return FORMATS[ending_of(path).lower()]
