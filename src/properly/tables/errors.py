"""Errors that name the file, and the column and the row where they are known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from properly.files import FORMATS, Format


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
        return TableError(f"{self}, row {self.first_row + index + 1}: {problem}")

    def refuse(self, bad: NDArray[np.bool_], problem: str, values: Any = None) -> None:
        """Raise an error at the first value that is bad, if there is one; {} in the problem stands for the value."""
        if bad.any():
            row = int(bad.argmax())
            raise self.error(row, problem if values is None else problem.format(values[row]))


def require_columns(wanted: Iterable[str], present: list[str], source: str) -> None:
    """Refuse a table that lacks a column."""
    for name in wanted:
        if name not in present:
            raise TableError(f"{source} has no column {name!r}; it has {listed(present)}.")


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
        raise TableError(f"{path}: the ending must be one of {', '.join(FORMATS)}.")
    return max(found, key=len)


def format_of(path: str) -> Format:
    """The format that the ending of a name stands for.

    >>> format_of("a.tsv").delimiter
    '\\t'
    >>> format_of("a.xlsx")
    Traceback (most recent call last):
    properly.tables.errors.TableError: a.xlsx: the ending must be one of .csv, .tsv, .csv.gz, .tsv.gz, .parquet, .pq,
    .arrow, .feather, .ipc.
    """
    return FORMATS[ending_of(path).lower()]
