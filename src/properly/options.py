"""How options are checked. String options are keys of one table, and the table writes the error message."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite
from numbers import Integral, Real
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


def checked_count(value: object, name: str, least: int, most: int | None = None) -> int:
    """A whole number of at least `least`, and of at most `most`; True is none.

    >>> checked_count(1.5, "n_resamples", 2)
    Traceback (most recent call last):
    ValueError: n_resamples must be a whole number of at least 2, got 1.5.
    """
    if isinstance(value, Integral) and not isinstance(value, bool):
        whole = int(value)
        if least <= whole <= (inf if most is None else most):
            return whole
    rule = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise ValueError(f"{name} must be a whole number {rule}, got {value!r}.")


def check_finite(value: object, name: str) -> None:
    """Refuse what is not a finite number.

    >>> check_finite(float("nan"), "xi")
    Traceback (most recent call last):
    ValueError: xi must be finite, got nan.
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ValueError(f"{name} must be a number, got {value!r}.")
    if not isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}.")
