"""Columns that a command is told to use: each once, and with a name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from properly.cli.parser import Misuse
from properly.tables.errors import TableError


def require_distinct(used: Mapping[str, str | Sequence[str] | None]) -> None:
    """Refuse a column that is named twice, by one option or by two; the keys are the options.

    >>> require_distinct({"--target": "y", "--weight": "y"})
    Traceback (most recent call last):
    properly.cli.parser.Misuse: --target and --weight name the same column, 'y'; each needs its own.
    """
    taken: dict[str, str] = {}
    for option, given in used.items():
        for name in [given] if isinstance(given, str) else given or []:
            if taken.get(name) == option:
                raise Misuse(f"{option} names the column {name!r} twice.")
            if name in taken:
                raise Misuse(f"{taken[name]} and {option} name the same column, {name!r}; each needs its own.")
            taken[name] = option


def require_named(columns: Iterable[str], source: str) -> None:
    """Refuse to learn from a column whose name is empty."""
    if "" in columns:
        raise TableError(
            f"{source} has a column without a name, perhaps the row numbers of a data frame (pandas writes none with "
            "index=False); give it a name, or leave it out with --ignore '\"\"'."
        )
