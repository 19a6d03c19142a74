"""The features that estimators are given: their names, columns of numbers and columns of categories.

One rule for every model. A column is categorical if it has a data frame's own type for categories, or if a parameter of
the model lists it; all other columns are numbers. Trees and boosting take missing values (`training_table`,
`known_table`), `MaxentFeatures` refuses them (`read_columns`), and takes every column of text in a data frame as
categorical without being told.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_X_y, validate_data

from properly.inputs.finite import columns_named, is_finite, refuse_dates
from properly.inputs.frames import (
    column_at,
    column_names,
    is_category,
    is_frame,
    located,
    missing_in,
)
from properly.inputs.weights import checked_offset
from properly.numeric import functions as fn
from properly.numeric.arrays import (
    Array,
    anywhere,
    columns_of,
    floats,
    is_foreign,
    is_traced,
    namespace,
    refuse_booleans,
    require_real,
    require_values,
    to_numpy,
)

Categories = dict[int, NDArray[Any]]
"""The known values of each categorical column, by its position, in the order of their codes."""
Indices = NDArray[np.intp]
_NUMBERS = "biufc"  # NumPy's kinds of types that are left to scikit-learn


class Columns(NamedTuple):
    """Data split by type: numbers of shape (numeric columns, points), values of every categorical column."""

    numeric: Array
    categorical: list[NDArray[Any]]


def checked_features(estimator: BaseEstimator, X: Any, *, reset: bool, finite: bool = True) -> Any:
    """X as an array or sparse matrix of numbers; records the features, or compares them with those of the fit.

    With `finite` False the caller looks at the values of arrays of float64 himself, as a fit does.
    """
    options = {
        "accept_sparse": ("csr", "csc"),
        "dtype": (np.float64, np.float32),
        "ensure_all_finite": not reset,  # a fit looks at the sums of squares instead, which saves it a pass
    }
    if _is_plain(estimator, X, reset, finite and not reset):
        estimator.n_features_in_ = X.shape[1]
        return X
    with columns_named(X):
        refuse_dates(X)
        if not is_frame(X) or hasattr(X, "iloc"):
            return validate_data(estimator, X, reset=reset, **options)
        names = column_names(X)  # of polars and pyarrow, where not every version of scikit-learn looks for them
        X = check_array(X, estimator=estimator, input_name="X", **options)
    check_names(estimator, names, reset=reset)
    if reset:
        estimator.n_features_in_ = X.shape[1]
    return X


def _is_plain(estimator: Any, X: Any, reset: bool, finite: bool) -> bool:
    """Whether X is an array that nothing is to be said about: scikit-learn's checks take longer than a small fit."""
    if type(X) is not np.ndarray or X.dtype not in (np.float64, np.float32) or X.ndim != 2 or 0 in X.shape:
        return False
    if hasattr(estimator, "feature_names_in_"):
        return False
    if not reset and X.shape[1] != getattr(estimator, "n_features_in_", None):
        return False
    return not finite or is_finite(X)


def checked_tensor(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as it is, an array of numbers of another library; records the number of features, or compares it.

    Values are looked at where they are used: a fit sees them in its sums.
    """
    refuse_booleans(X, "X")
    require_real(X, "X")
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got X with {X.ndim} dimensions; reshape it to (rows, features).")
    for what, size in zip(("sample(s)", "feature(s)"), X.shape, strict=True):
        if reset and size == 0:
            raise ValueError(f"Found array with 0 {what} (shape={tuple(X.shape)}) while a minimum of 1 is required.")
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
        estimator.__dict__.pop("feature_names_in_", None)  # those of an earlier fit
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(f"X must have shape (n, {estimator.n_features_in_}), as in fit, got {tuple(X.shape)}.")
    return X


def checked_array(estimator: Any, X: Any, offset: ArrayLike | None = None, *, missing: bool = False) -> tuple[Any, Any]:
    """X and an offset as arrays of float64 of a library other than NumPy, with the features of a fitted estimator."""
    X, offset = floats(X=X, offset=offset)
    if X.ndim != 2 or X.shape[1] != estimator.n_features_in_:
        raise ValueError(f"X must have shape (n, {estimator.n_features_in_}), as in fit, got {tuple(X.shape)}.")
    if not missing and anywhere(~namespace(X).isfinite(X)):
        raise ValueError("X must be finite; drop or impute missing values first.")
    if offset is not None and not is_traced(X):
        checked_offset(to_numpy(offset), X.shape[0], len(estimator.classes_))
    return X, offset


def check_names(estimator: BaseEstimator, names: list[str], *, reset: bool) -> None:
    """Record the names of the features, or compare them with those of the fit."""
    if reset:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
        return
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is not None and list(fitted) != names:
        raise ValueError(
            f"The feature names should match those that were passed during fit: {list(fitted)}, got {names}; "
            "select the columns in this order."
        )


def training_table(estimator: Any, X: Any, y: Any, given: Any, **options: Any) -> tuple[Any, Any, Categories]:
    """(X as numbers, y, categories); records the features on the estimator. `options` are those of `check_array`.

    Distinct categories have the codes 0, 1, ... in sorted order; a missing value is nan.
    """
    X = _readable(estimator, X, given is not None)
    columns = categorical_columns(X, given, "categorical_features")
    if not columns and _has_numbers_only(X):
        with columns_named(X):
            return *validate_data(estimator, X, y, **options), {}
    _, y = validate_data(estimator, X, y, skip_check_array=True)
    categories = {column: _distinct(X, column) for column in columns}
    with columns_named(X):
        return *check_X_y(_numbers(X, categories), y, estimator=estimator, **options), categories


def known_table(estimator: Any, X: Any, categories: Categories, **options: Any) -> Any:
    """X as numbers, with the features and the categories of the fit; a category not seen there is nan, as missing."""
    if is_foreign(X):
        columns = columns_of(checked_array(estimator, X, missing=True)[0])
        for position, known in categories.items():
            columns[position] = _codes_in_array(columns[position], known, position)
        return namespace(X).stack(columns, axis=1) if categories else floats(X=X)[0]
    X = _readable(estimator, X, bool(categories))
    if not categories and _has_numbers_only(X):
        with columns_named(X):
            return validate_data(estimator, X, reset=False, **options)
    validate_data(estimator, X, reset=False, skip_check_array=True)
    with columns_named(X):
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


def read_columns(estimator: Any, X: Any, given: Any, fitted: Indices | None) -> tuple[Columns, Indices]:
    """The columns of X and which of them are categorical: those of the fit (`fitted`), or those listed or of text.

    Records the features on the estimator, or compares them with those of the fit. Missing values are refused.
    """
    reset, with_categories = fitted is None, given is not None if fitted is None else len(fitted) > 0
    X = _readable(estimator, X, with_categories)
    if not is_frame(X) and not with_categories:
        numbers = validate_data(estimator, X, reset=reset, dtype=np.float64)
        return Columns(np.array(numbers.T, order="C"), []), np.empty(0, dtype=np.intp)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if 0 in X.shape:
        raise ValueError(
            f"Found array with 0 sample(s) or 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    names = column_names(X)
    values = [column_values(X, j) for j in range(len(names))]
    if fitted is None:
        of_text = {j for j in range(len(names)) if is_frame(X) and not are_numbers(values[j])}
        fitted = np.array(sorted(of_text | categorical_columns(X, given, "categorical")), dtype=np.intp)
    numeric = [_finite_numbers(values[j], names[j]) for j in range(len(names)) if j not in fitted]
    categorical = [values[j].astype(np.float64 if are_numbers(values[j]) else str) for j in fitted]
    return Columns(np.array(numeric).reshape(len(numeric), len(values[0])), categorical), fitted


def categorical_columns(X: Any, given: Any, parameter: str) -> set[int]:
    """The positions of the columns of a data frame's own type for categories, and of those that `parameter` lists."""
    columns = {j for j in range(len(column_names(X))) if is_category(column_at(X, j))} if is_frame(X) else set()
    if given is None:
        return columns
    if sparse.issparse(X):
        raise ValueError(f"{parameter} need dense X, got a sparse matrix; pass an array or a data frame.")
    return columns | set(listed_columns(given, column_names(X), parameter))


def listed_columns(given: Any, names: list[Any], parameter: str) -> list[int]:
    """The positions of columns that are listed by position, by name or by a mask."""
    if isinstance(given, str | bytes) or not np.iterable(given):
        raise ValueError(f"{parameter} must be a list of columns, got {given!r}; give positions, names or a mask.")
    given = list(given)
    flags = [isinstance(entry, bool | np.bool_) for entry in given]
    if not any(flags):
        return [located(entry, names, f"{parameter} names") for entry in given]
    if not all(flags) or len(given) != len(names):
        raise ValueError(f"{parameter} as a mask must have {len(names)} entries, all bool, got {given!r}.")
    return list(np.flatnonzero(given).tolist())


def column_values(X: Any, position: int) -> NDArray[Any]:
    """The values of a column, as numbers if all of them are; missing ones are refused, and so are dates."""
    values, name = np.asarray(column_at(X, position)), column_names(X)[position]
    if values.dtype.kind in "fO" and missing_in(values).any():
        raise ValueError(
            f"column {name!r} has missing values, first in row {int(np.argmax(missing_in(values)))}; give them a value "
            "of their own, or drop the rows."
        )
    common = np.asarray(values.tolist()) if values.dtype.kind == "O" else values  # the type that all values have
    if common.ndim != 1 or common.dtype.kind not in "biufUST":
        raise _neither(values, name)
    return common


def are_numbers(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "biuf"


def _readable(estimator: Any, X: Any, with_categories: bool) -> Any:
    """Data frames and sparse matrices as they are, all else as an array; of two dimensions if it is not numeric."""
    require_values(X, "X")
    if is_frame(X) or sparse.issparse(X):
        return X
    # Of rows that mix text and numbers NumPy would make text.
    X = np.asarray(X, dtype=object if with_categories and isinstance(X, list | tuple) else None)
    if not with_categories and X.dtype.kind in _NUMBERS:
        return X
    return check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator, input_name="X")


def _has_numbers_only(X: Any) -> bool:
    if is_frame(X):
        return all(np.asarray(column_at(X, j)).dtype.kind in _NUMBERS for j in range(len(column_names(X))))
    return sparse.issparse(X) or X.dtype.kind in _NUMBERS


def _numbers(X: Any, categories: Categories) -> Array:
    """X as float64, categories as codes; X itself, not a copy, if that is what it holds."""
    names = column_names(X)
    codes = {j: _codes(np.asarray(column_at(X, j)), known, names[j]) for j, known in categories.items()}
    plain = type(X) is np.ndarray and X.dtype == np.float64
    if plain and all(np.array_equal(X[:, j], each, equal_nan=True) for j, each in codes.items()):
        return X
    result = np.empty((X.shape[0], len(names)))
    for j, name in enumerate(names):
        values = np.asarray(column_at(X, j))
        result[:, j] = codes[j] if j in codes else _as_numbers(values, name, "categorical_features")
    return result


def _as_numbers(values: NDArray[Any], name: Any, parameter: str) -> Array:
    """A column as float64, nan where it is missing; `parameter` is the one that lists categorical columns."""
    remedy = f"turn it into numbers, or name it in {parameter}."
    if values.dtype.kind in "mM":
        raise _neither(values, name)
    if values.dtype.kind not in _NUMBERS + "US":  # what is text throughout may be so because NumPy made it so
        values = np.where(missing_in(values), np.nan, values)
        text = next((value for value in values.tolist() if isinstance(value, str)), None)
        if text is not None:
            raise ValueError(f"column {name!r} holds text, such as {text!r}; {remedy}")
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"column {name!r} does not hold numbers ({error}); {remedy}") from error


def _finite_numbers(values: NDArray[Any], name: Any) -> Array:
    numbers = _as_numbers(values, name, "categorical")
    if not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        raise ValueError(f"column {name!r} holds {numbers[row]}, first in row {row}; give it a finite value.")
    return numbers


def _neither(values: NDArray[Any], name: Any) -> ValueError:
    return ValueError(
        f"column {name!r} holds {type(values.flat[0]).__name__}, neither numbers nor categories; turn it into numbers "
        "(a date into the day of the year, or into days since a date), or into text."
    )


def _distinct(X: Any, position: int) -> NDArray[Any]:
    """The values of a column that occur, in order; as numbers or text, where that is what they are."""
    values, name = np.asarray(column_at(X, position)), column_names(X)[position]
    try:
        distinct = np.unique(values[~missing_in(values)])
    except TypeError as error:
        raise ValueError(
            f"categorical column {name!r} mixes types that have no order ({error}); turn all its values into text, or "
            "all into numbers."
        ) from error
    plain = np.array(distinct.tolist()) if distinct.dtype == object and len(distinct) else distinct
    return plain if plain.ndim == 1 else distinct


def _codes_in_array(values: Any, known: NDArray[Any], column: int) -> Any:
    """`_codes` of a column of an array of numbers of any library."""
    if known.dtype.kind not in _NUMBERS:
        raise ValueError(f"column {column} has categories that are texts, which an array of numbers cannot hold.")
    xp, known = namespace(values), known.astype(np.float64)
    place = xp.minimum(fn.searchsorted(known, values), len(known) - 1)
    return xp.where(fn.entries(known, place) == values, fn.entries(np.arange(float(len(known))), place), math.nan)


def _codes(values: NDArray[Any], known: NDArray[Any], name: Any) -> Array:
    """The positions of the values among the known ones; nan where they are missing or not known."""
    if values.dtype.kind in _NUMBERS and known.dtype.kind in _NUMBERS and len(known):
        place = np.minimum(np.searchsorted(known, values), len(known) - 1)
        return np.where(known[place] == values, place, np.nan)
    try:
        places = {value: float(place) for place, value in enumerate(known.tolist())}
        return np.array([places.get(value, np.nan) for value in values.tolist()], dtype=np.float64)
    except TypeError as error:
        raise ValueError(
            f"categorical column {name!r} holds a value that cannot be a category ({error}); turn its values into "
            "text, or into numbers."
        ) from error
