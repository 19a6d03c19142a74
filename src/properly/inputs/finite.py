"""Errors about features that say what was found, and in which column."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from properly.inputs.frames import column_at, column_names, is_frame
from properly.numeric.arrays import require_values


@contextmanager
def columns_named(X: Any) -> Iterator[None]:
    """An error of scikit-learn about NaN, infinity or text is given the column and row; X must have values."""
    require_values(X, "X")
    if is_frame(X) and not len(column_names(X)):
        raise ValueError(f"Found array with 0 feature(s) (shape=({len(X)}, 0)) while a minimum of 1 is required.")
    try:
        yield
    except ValueError as error:
        message, test = str(error), np.isnan if "contains NaN" in str(error) else np.isinf
        if message.startswith("could not convert string to float"):
            raise _text(X) or error from error
        where = _first(X, test) if "contains NaN" in message or "contains infinity" in message else None
        if where is None:
            raise
        column, row = where
        first_line = message.partition("\n")[0]
        raise ValueError(
            f"{first_line} It is in column {column!r}, first in row {row}; drop or impute such rows."
        ) from error


def is_finite(x: NDArray[Any]) -> bool:
    """Whether all entries are: the sum of their squares tells, unless it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        flat = x.ravel(order="K")
        return bool(np.isfinite(flat @ flat) or np.isfinite(x).all())


def refuse_dates(X: Any) -> None:
    """Refuse columns of dates and times, of which scikit-learn says little, or which it takes for numbers."""
    if not is_frame(X):
        if getattr(getattr(X, "dtype", None), "kind", "") in ("m", "M"):
            raise _dates(0 if np.ndim(X) == 2 else "X")
        return
    for position, name in enumerate(column_names(X)):
        kind = str(getattr(column_at(X, position), "dtype", getattr(column_at(X, position), "type", ""))).lower()
        if kind.startswith(("datetime", "timedelta", "period", "date", "timestamp", "duration")):
            raise _dates(name)


def _dates(name: Any) -> ValueError:
    return ValueError(
        f"column {name!r} holds dates or times, neither numbers nor categories; turn it into the day of the year, or "
        "into days since a date."
    )


def _text(X: Any) -> ValueError | None:
    """What is wrong with the first column that holds text which is no number."""
    if not is_frame(X):
        X = np.asarray(X)
    for position, name in enumerate(column_names(X) if len(X.shape) == 2 else ()):
        for value in np.asarray(column_at(X, position)).tolist():
            if isinstance(value, str) and not _is_number(value):
                return ValueError(
                    f"column {name!r} holds text, such as {value!r}; turn it into numbers, for example with "
                    "sklearn.preprocessing.OneHotEncoder."
                )
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _first(X: Any, test: Any) -> tuple[Any, int] | None:
    """The first column with a value of which the test is true, and its first row there."""
    if not is_frame(X):
        X = X.tocsc() if sparse.issparse(X) else np.asarray(X)
        if X.ndim != 2:
            return None
    for position, name in enumerate(column_names(X)):
        found = test(_numbers(column_at(X, position)))
        if found.any():
            return name, int(np.argmax(found))
    return None


def _numbers(column: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):  # text, which is reported elsewhere
        return np.zeros(len(column))
