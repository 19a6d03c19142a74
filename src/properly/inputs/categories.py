"""Tables in which some columns hold categories, read as numbers: one rule for all models that split by categories.

Categories are the columns of a data frame's own type for them, and those named in `categorical_features`. Their
distinct values have the codes 0, 1, ... in sorted order; what is missing is nan, and so is what training has not seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_array, check_X_y, validate_data

from properly.inputs.frames import column_names, is_category, is_frame, located, missing_in
from properly.numeric.probabilities import Array

Categories = dict[int, NDArray[Any]]
"""The known values of each categorical column, by its position, in the order of their codes."""
_NUMBERS = "biufc"  # NumPy's kinds of types that are left to scikit-learn


def training_table(estimator: Any, X: Any, y: Any, given: Any, **options: Any) -> tuple[Any, Any, Categories]:
    """(X as numbers, y, categories); records the features on the estimator. `options` are those of `check_array`."""
    X = _readable(estimator, X, given is not None)
    columns = _categorical_columns(X, given)
    if not columns and _has_numbers_only(X):
        return *validate_data(estimator, X, y, **options), {}
    _, y = validate_data(estimator, X, y, skip_check_array=True)
    categories = {column: _distinct(X, column) for column in columns}
    return *check_X_y(_numbers(X, categories), y, estimator=estimator, **options), categories


def known_table(estimator: Any, X: Any, categories: Categories, **options: Any) -> Any:
    """X as numbers, with the features and the categories of the fit."""
    X = _readable(estimator, X, bool(categories))
    if not categories and _has_numbers_only(X):
        return validate_data(estimator, X, reset=False, **options)
    validate_data(estimator, X, reset=False, skip_check_array=True)
    return check_array(_numbers(X, categories), estimator=estimator, input_name="X", **options)


def seen_categories(X: Any, categories: Categories) -> tuple[Any, Categories]:
    """The table and its categories without those that no row has, as when rows of weight 0 were dropped.

    >>> seen_categories(np.array([[0.0], [2.0], [np.nan]]), {0: np.array(["a", "b", "c"])})
    (array([[ 0.], [ 1.], [nan]]), {0: array(['a', 'c'], dtype='<U1')})
    """
    codes = {column: np.unique(X[~np.isnan(X[:, column]), column]) for column in categories}
    if all(len(codes[column]) == len(known) for column, known in categories.items()):
        return X, categories
    X = X.copy()
    for column, seen in codes.items():
        X[:, column] = np.where(np.isnan(X[:, column]), np.nan, np.searchsorted(seen, X[:, column]))
    return X, {column: known[codes[column].astype(np.intp)] for column, known in categories.items()}


def _readable(estimator: Any, X: Any, with_categories: bool) -> Any:
    """Data frames and sparse matrices as they are, all else as an array; of two dimensions if it is not numeric."""
    if is_frame(X) or sparse.issparse(X):
        return X
    # Of rows that mix text and numbers NumPy would make text.
    X = np.asarray(X, dtype=object if with_categories and isinstance(X, list | tuple) else None)
    if not with_categories and X.dtype.kind in _NUMBERS:
        return X
    return check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator, input_name="X")


def _categorical_columns(X: Any, given: Any) -> list[int]:
    columns = {j for j in range(len(column_names(X))) if is_category(_column(X, j))} if is_frame(X) else set()
    if given is None:
        return sorted(columns)
    if isinstance(given, str | bytes) or not np.iterable(given):
        raise ValueError(f"categorical_features must be a list of columns (positions, names or a mask), got {given!r}.")
    if sparse.issparse(X):
        raise ValueError("categorical_features need dense X, got a sparse matrix; hand over an array or a data frame.")
    given, names = list(given), column_names(X)
    flags = [isinstance(entry, bool | np.bool_) for entry in given]
    if any(flags):
        if not all(flags) or len(given) != len(names):
            raise ValueError(f"categorical_features as a mask must have {len(names)} entries, all bool, got {given!r}.")
        return sorted(columns | set(np.flatnonzero(given).tolist()))
    return sorted(columns | {located(entry, names, "categorical_features names") for entry in given})


def _column(X: Any, position: int) -> Any:
    """One column of a dense table, in the library's own form; names need not be unique."""
    if hasattr(X, "iloc"):
        return X.iloc[:, position]
    return X.column(position) if hasattr(X, "column_names") else X[:, position]


def _has_numbers_only(X: Any) -> bool:
    if is_frame(X):
        return all(np.asarray(_column(X, j)).dtype.kind in _NUMBERS for j in range(len(column_names(X))))
    return sparse.issparse(X) or X.dtype.kind in _NUMBERS


def _numbers(X: Any, categories: Categories) -> Array:
    """X as float64, column by column, categories as codes."""
    columns = []
    for position, name in enumerate(column_names(X)):
        values = np.asarray(_column(X, position))
        known = categories.get(position)
        columns.append(_as_numbers(values, name) if known is None else _codes(values, known, name))
    return np.column_stack(columns)


def _as_numbers(values: NDArray[Any], name: Any) -> Array:
    remedy = "turn it into numbers, or name it in categorical_features."
    if values.dtype.kind in "mM":
        raise ValueError(f"column {name!r} of X holds times; make numbers of them, such as days since a date.")
    if values.dtype.kind not in _NUMBERS + "US":  # what is text throughout may be so because NumPy made it so
        values = np.where(missing_in(values), np.nan, values)
        text = next((value for value in values.tolist() if isinstance(value, str)), None)
        if text is not None:
            raise ValueError(f"column {name!r} of X holds text, such as {text!r}; {remedy}")
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"column {name!r} of X does not hold numbers ({error}); {remedy}") from error


def _distinct(X: Any, position: int) -> NDArray[Any]:
    """The values of a column that occur, in order; as numbers or text, where that is what they are."""
    values, name = np.asarray(_column(X, position)), column_names(X)[position]
    try:
        distinct = np.unique(values[~missing_in(values)])
    except TypeError as error:
        raise ValueError(
            f"categorical column {name!r} of X mixes types that have no order ({error}); turn all its values into "
            "text, or all into numbers."
        ) from error
    plain = np.array(distinct.tolist()) if distinct.dtype == object and len(distinct) else distinct
    return plain if plain.ndim == 1 else distinct


def _codes(values: NDArray[Any], known: NDArray[Any], name: Any) -> Array:
    """The places of the values among the known ones; nan where they are missing or not known."""
    if values.dtype.kind in _NUMBERS and known.dtype.kind in _NUMBERS and len(known):
        place = np.minimum(np.searchsorted(known, values), len(known) - 1)
        return np.where(known[place] == values, place, np.nan)
    try:
        places = {value: float(place) for place, value in enumerate(known.tolist())}
        return np.array([places.get(value, np.nan) for value in values.tolist()], dtype=np.float64)
    except TypeError as error:
        raise ValueError(f"categorical column {name!r} of X holds what is no category: {error}.") from error
