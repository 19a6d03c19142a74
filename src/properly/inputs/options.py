"""How options are checked. String options are keys of one table, and the table writes the error message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf, isfinite
from numbers import Integral, Real
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.numeric.probabilities import Array, as_float

T = TypeVar("T")
Seed = int | np.random.RandomState | None  # of random numbers, as scikit-learn takes it


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
    """A whole number from `least` to `most` (None: without upper limit); True and False are refused.

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


def check_boolean(value: object, name: str) -> None:
    """Refuse what is neither True nor False.

    >>> check_boolean("yes", "fit_intercept")
    Traceback (most recent call last):
    ValueError: fit_intercept must be True or False, got 'yes'.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


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


def check_interval(value: object, name: str, low: float, high: float = inf, *, with_low: bool = False) -> None:
    """Refuse what is not a number in (low, high), or in [low, high).

    >>> check_interval(-1, "learning_rate", 0.0)
    Traceback (most recent call last):
    ValueError: learning_rate must be above 0 and finite, got -1.
    """
    number = isinstance(value, Real) and not isinstance(value, bool)
    if number and (low < value < high or (with_low and value == low)):  # type: ignore[operator]
        return
    rule = f"{'at least' if with_low else 'above'} {low:g} and {'finite' if high == inf else f'below {high:g}'}"
    raise ValueError(f"{name} must be {rule}, got {value!r}.")


def check_split(rows: NDArray[np.intp], n_rows: int, number: int) -> None:
    """Refuse the numbers of the training and held-out rows of a split that are no rows, or not different ones."""
    if rows.dtype.kind not in "iu" or rows.min(initial=0) < 0 or rows.max(initial=0) >= n_rows:
        raise ValueError(f"split {number} of cv must hold row numbers from 0 to {n_rows - 1}.")
    if np.bincount(rows).max(initial=0) > 1:
        raise ValueError(
            f"split {number} of cv holds row {int(np.bincount(rows).argmax())} twice; a row may be used once, either "
            "for training or held out. Use sample_weight to count a row more than once."
        )


def checked_names(names: Iterable[object], reserved: Iterable[str] = ()) -> tuple[str, ...]:
    """Names that a user chose, as strings.

    >>> checked_names(["a", 1, "1"])
    Traceback (most recent call last):
    ValueError: the name '1' is given twice; names must differ as strings.
    """
    taken = set(reserved)
    found: list[str] = []
    for name in map(str, names):
        if name in taken:
            raise ValueError(f"the name {name!r} is that of another column of the result; choose another one.")
        if name in found:
            raise ValueError(f"the name {name!r} is given twice; names must differ as strings.")
        found.append(name)
    return tuple(found)


def numbered(names: Iterable[str]) -> tuple[str, ...]:
    """Names that no user chose: equal ones are numbered.

    >>> numbered(["PlattScaling()", "auto", "PlattScaling()"])
    ('PlattScaling()', 'auto', 'PlattScaling() (2)')
    """
    found: list[str] = []
    for name in names:
        count, new = 1, name
        while new in found:
            count += 1
            new = f"{name} ({count})"
        found.append(new)
    return tuple(found)


def named(things: Iterable[T] | Mapping[str, T], reserved: Iterable[str] = ()) -> dict[str, T]:
    """Under the names that a user gave, or else under what each prints as (a key as itself), numbered where equal.

    >>> named(["log", 1, "log"])
    {'log': 'log', '1': 1, 'log (2)': 'log'}
    """
    if isinstance(things, Mapping):
        return dict(zip(checked_names(things, reserved), things.values(), strict=True))
    listed = list(things)
    return dict(zip(numbered(each if isinstance(each, str) else repr(each) for each in listed), listed, strict=True))


CONFIDENCE = 0.95  # of all intervals and bands, unless another one is asked for


def checked_confidence(confidence: object) -> float:
    """A probability strictly between 0 and 1."""
    check_interval(confidence, "confidence", 0.0, 1.0)
    return float(confidence)  # type: ignore[arg-type]


def checked_thresholds(thresholds: ArrayLike) -> Array:
    """One or several probabilities from 0 to 1, as an array of the same shape."""
    at = as_float(thresholds, "thresholds")
    if at.size == 0:
        raise ValueError("thresholds must have at least one entry, got none.")
    bad = ~((at >= 0.0) & (at <= 1.0))
    if bad.any():
        raise ValueError(f"thresholds must lie in [0, 1], got {at[bad].flat[0]}.")
    return at
