"""How options are checked. String options are keys of one table, and the table writes the error message."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from numbers import Real
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


def check_finite(value: object, name: str) -> None:
    """Refuse what is not a finite number.

    >>> check_finite(float("nan"), "xi")
    Traceback (most recent call last):
    ValueError: xi must be finite, got nan.
    """
    if not isinstance(value, Real):
        raise ValueError(f"{name} must be a number, got {value!r}.")
    if not isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}.")
