"""What is wrong with a table, and where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

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
