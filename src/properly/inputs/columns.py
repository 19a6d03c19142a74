"""Tables with columns of numbers and of categories, read column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from properly.inputs.frames import column_names, column_of, is_category, is_frame, located, missing_in
from properly.numeric.probabilities import Array

Indices = NDArray[np.intp]


class Columns(NamedTuple):
    """Data split by type: numbers of shape (numeric columns, points), values of every categorical column."""

    numeric: Array
    categorical: list[NDArray[Any]]


def read_columns(
    estimator: BaseEstimator, X: Any, named: Sequence[str | int] | None, fitted: Indices | None
) -> tuple[Columns, Indices]:
    """The columns of X and which of them are categorical: those of the fit, or else those named or without numbers.

    Records the features on the estimator, or compares them with those of the fit.
    """
    if named is not None and (isinstance(named, str) or not hasattr(named, "__len__")):
        raise ValueError(f"categorical must be a list of columns, got {named!r}.")
    named = None if named is None else list(named)
    reset, frame = fitted is None, is_frame(X)
    if not frame and not (named if fitted is None else len(fitted)):
        numbers = validate_data(estimator, X, reset=reset, dtype=np.float64)
        return Columns(np.array(numbers.T, order="C"), []), np.empty(0, dtype=np.intp)
    if not frame:
        X = check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    names = column_names(X)
    columns = [column_of(X, name) for name in names]
    if not columns or not len(columns[0]):
        raise ValueError(
            f"Found array with 0 sample(s) or 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    values = [column_values(column, name) for column, name in zip(columns, names, strict=True)]
    if fitted is None:
        of_type = {j for j in range(len(names)) if frame and (is_category(columns[j]) or not are_numbers(values[j]))}
        of_name = {located(entry, names, "categorical names") for entry in named or ()}
        fitted = np.array(sorted(of_type | of_name), dtype=np.intp)
    numeric = [_as_numbers(values[j], names[j]) for j in range(len(names)) if j not in fitted]
    categorical = [_as_categories(values[j]) for j in fitted]
    return Columns(np.array(numeric).reshape(len(numeric), len(values[0])), categorical), fitted


def column_values(column: Any, name: object) -> NDArray[Any]:
    """The values of a column, as numbers if all of them are; missing ones are refused, and so are dates."""
    values = np.asarray(column)
    if values.dtype.kind in "fO" and missing_in(values).any():
        raise ValueError(
            f"column {name!r} has missing values, first in row {int(np.argmax(missing_in(values)))}; give them a value "
            "of their own, or drop the rows."
        )
    if values.dtype.kind == "O":
        values = np.asarray(values.tolist())  # numpy finds out what they have in common
    if values.ndim != 1 or values.dtype.kind not in "biufUST":
        raise ValueError(
            f"column {name!r} holds {type(np.asarray(column).flat[0]).__name__}, neither numbers nor categories; turn "
            "it into numbers (a date into the day of the year), or into text."
        )
    return values


def are_numbers(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "biuf"


def _as_numbers(values: NDArray[Any], name: object) -> Array:
    try:
        numbers = values.astype(np.float64)
    except ValueError as error:
        raise ValueError(f"column {name!r} must hold numbers: {error}.") from error
    if not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        raise ValueError(f"column {name!r} holds {numbers[row]}, first in row {row}; give it a finite value.")
    return numbers


def _as_categories(values: NDArray[Any]) -> NDArray[Any]:
    """Categories as numbers where all of them are, as text otherwise."""
    return values.astype(np.float64 if are_numbers(values) else str)
