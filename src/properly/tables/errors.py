"""What is wrong with a table, and where; and which ending of a file name stands for which format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from properly.tables.arrow import arrow


class TableError(ValueError):
    """A table that cannot be used; the message names the file, and the column and row where they are known."""


@dataclass(frozen=True)
class Place:
    """Where values come from. Rows are counted from 1, the header of a CSV file not included."""

    source: str
    column: str
    first_row: int = 0  # how many rows of the file came before

    def error(self, index: int, problem: str) -> TableError:
        """An error at one of the values, by its position."""
        return TableError(f"{self.source}, column {self.column!r}, row {self.first_row + index + 1}: {problem}")


@contextmanager
def readable(source: str) -> Iterator[None]:
    """What Arrow finds wrong with a file, told in one line with its name."""
    try:
        yield
    except TableError:
        raise
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except (arrow.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise TableError(
            f"{source} cannot be read: it is damaged, incomplete or of another format ({reason})."
        ) from error


def require_columns(wanted: Iterable[str], present: list[str], source: str) -> None:
    """Refuse a table that lacks a column."""
    for name in wanted:
        if name not in present:
            raise TableError(f"{source} has no column {name!r}; it has {listed(present)}.")


def listed(values: Iterable[Any], most: int = 12) -> str:
    """The first few values, for messages.

    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    shown = [repr(value) for value in values]
    rest = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {rest} more" if rest > 0 else "")


class Format(NamedTuple):
    """How a table is written."""

    kind: str  # "text", "parquet" or "arrow"
    delimiter: str = ""
    gzipped: bool = False


FORMATS = {
    ".csv": Format("text", ","),
    ".tsv": Format("text", "\t"),
    ".csv.gz": Format("text", ",", gzipped=True),
    ".tsv.gz": Format("text", "\t", gzipped=True),
    ".parquet": Format("parquet"),
    ".pq": Format("parquet"),
    ".arrow": Format("arrow"),
    ".feather": Format("arrow"),
    ".ipc": Format("arrow"),
}


def ending_of(path: str) -> str:
    """The ending that tells the format, as it is written.

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
