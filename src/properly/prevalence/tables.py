"""Tables with columns of numbers and of categories, read column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from properly.prevalence.design import Indices
from properly.probabilities import Array, as_float


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
    reset, frame = fitted is None, hasattr(X, "columns")
    if not frame and not (named if fitted is None else len(fitted)):
        numbers = validate_data(estimator, X, reset=reset, dtype=np.float64)
        return Columns(np.array(numbers.T, order="C"), []), np.empty(0, dtype=np.intp)
    if not frame:
        X = check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    names = list(getattr(X, "column_names", X.columns)) if frame else list(range(X.shape[1]))
    values = [np.asarray(X[name] if frame else X[:, name]) for name in names]
    if not values or not len(values[0]):
        raise ValueError(
            f"Found array with 0 sample(s) or 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    if fitted is None:
        fitted = _categorical(values, names, named, frame)
    numeric = [column for j, column in enumerate(values) if j not in fitted]
    numbers = np.empty((0, len(values[0])))
    if numeric:
        numbers = check_array(np.stack(numeric), dtype=np.float64, ensure_min_samples=0, estimator=estimator)
    return Columns(numbers, [_category_values(values[j], names[j]) for j in fitted]), fitted


def _categorical(
    values: list[NDArray[Any]], names: list[Any], named: Sequence[str | int] | None, frame: bool
) -> Indices:
    chosen = {j for j, column in enumerate(values) if frame and column.dtype.kind not in "biuf"}
    for name in named or ():
        if name in names:
            chosen.add(names.index(name))
        elif isinstance(name, int) and 0 <= name < len(names):
            chosen.add(name)
        else:
            raise ValueError(f"categorical names {name!r}, which is no column of X: {names}.")
    return np.array(sorted(chosen), dtype=np.intp)


def _category_values(column: NDArray[Any], name: object) -> NDArray[Any]:
    """Categories as numbers where all of them are, as text otherwise."""
    if column.dtype.kind in "biuf":
        values = as_float(column, "X")
        missing = np.isnan(values)
    else:
        missing = np.array((column != column) | (column == None), dtype=bool)  # noqa: E711 - of every element
        values = column.astype(str)
    if missing.any():
        raise ValueError(
            f"column {name!r} has missing values, first in row {int(np.argmax(missing))}; give them a category of "
            "their own, or drop the rows."
        )
    return values
