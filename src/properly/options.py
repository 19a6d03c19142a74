"""String options are keys of one table, and the table writes the error message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


def choose(key: object, table: Mapping[str, T], name: str) -> T:
    """The table's entry for `key`.

    >>> choose("logit", {"logit": 1, "probit": 2}, "link")
    1
    """
    if isinstance(key, str) and key in table:
        return table[key]
    valid = ", ".join(repr(option) for option in table)
    raise ValueError(f"{name} must be one of {valid}, got {key!r}.")
