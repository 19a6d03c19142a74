"""Tables of every kind in use: arrays, sparse matrices, and data frames of pandas, polars and pyarrow."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

ColumnName = Any  # of a data frame usually text, of an array a number


def is_frame(X: Any) -> bool:
    return hasattr(X, "columns")


def as_table(X: Any) -> Any:
    """Data frames as they are, sparse matrices by rows, everything else as an array of two dimensions."""
    if is_frame(X):
        return X
    table = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    if table.ndim != 2:
        raise ValueError(f"X must be a table with rows and columns, got shape {table.shape}; reshape it.")
    return table


def column_names(X: Any) -> list[ColumnName]:
    """The names of a data frame's columns, the numbers of an array's."""
    if not is_frame(X):
        return list(range(X.shape[1]))
    return list(getattr(X, "column_names", X.columns))  # what pyarrow calls columns are values


def column_of(X: Any, name: ColumnName) -> Any:
    """One column, in the library's own form."""
    if is_frame(X):
        return X[name]
    return X[:, [name]].toarray()[:, 0] if sparse.issparse(X) else X[:, name]


def selected(X: Any, names: list[ColumnName]) -> Any:
    """A table of some columns."""
    if hasattr(X, "select") and hasattr(X, "column_names"):  # pyarrow
        return X.select(names)
    return X[names] if is_frame(X) else X[:, names]


def table_like(X: Any, columns: dict[ColumnName, NDArray[Any]]) -> Any:
    """A table of the same kind from other values; a dense one if X is sparse."""
    if hasattr(X, "from_pydict"):  # pyarrow
        return X.from_pydict(columns)
    return type(X)(columns) if is_frame(X) else np.column_stack(list(columns.values()))


def stacked(background: Any, X: Any) -> Any:
    """The background on top of the records: arrays, or data frames with the columns of the background."""
    if not is_frame(background):
        points, records = as_table(background), as_table(X if not is_frame(X) else np.asarray(X))
        if points.shape[1] != records.shape[1]:
            raise ValueError(
                f"background and X must be tables with the same columns, got shapes {points.shape} and {records.shape}."
            )
        both = sparse.issparse(points) or sparse.issparse(records)
        return sparse.vstack([points, records], format="csr") if both else np.vstack([points, records])
    if is_frame(X) and type(X) is not type(background):
        raise ValueError(f"background and X must be tables of the same kind, got {type(background)} and {type(X)}.")
    names = column_names(background)
    missing = [name for name in names if name not in (column_names(X) if is_frame(X) else ())]
    if missing:
        raise ValueError(f"X has no column {missing[0]!r}, which the background has; give both the same columns.")
    library = sys.modules[type(background).__module__.partition(".")[0]]
    together = library.concat if hasattr(library, "concat") else library.concat_tables  # the latter of pyarrow
    table = together([background, selected(X, names)])
    categories = [name for name in names if is_category(background[name]) or is_category(X[name])]
    lost = [name for name in categories if not is_category(table[name])]  # where those of pandas differ
    return table.astype(dict.fromkeys(lost, "category")) if lost else table


def is_category(column: Any) -> bool:
    """Whether a column is of the library's own type for categories, whatever their values are."""
    kind = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    return kind.startswith(("category", "categorical", "enum", "dictionary"))


def located(entry: Any, names: Sequence[ColumnName], what: str) -> int:
    """The place of a column that is given by its name or else by its number."""
    if entry in names:
        return names.index(entry)
    if isinstance(entry, Integral) and not isinstance(entry, bool) and 0 <= int(entry) < len(names):
        return int(entry)
    raise ValueError(f"{what} {entry!r}, which is no column of X: {list(names)}.")


def missing_in(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries are None or nan, or pandas' NA, which answers no comparison."""
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        return np.asarray(pandas.isna(values), dtype=bool)
    return np.array((values != values) | (values == None), dtype=bool)  # noqa: E711 - of every element


def checked_features(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """X as an array or sparse matrix of numbers; records the features, or compares them with those of the fit."""
    options = {
        "accept_sparse": ("csr", "csc"),
        "dtype": (np.float64, np.float32),
        "ensure_all_finite": not reset,  # a fit looks at the sums of squares instead, which saves it a pass
    }
    names = _column_names(X)
    if names is None:
        return validate_data(estimator, X, reset=reset, **options)
    X = check_array(X, estimator=estimator, input_name="X", **options)
    check_names(estimator, names, reset=reset)
    if reset:
        estimator.n_features_in_ = X.shape[1]
    return X


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


def _column_names(X: Any) -> list[str] | None:
    """The names of Arrow and polars tables, which not every version of scikit-learn looks for."""
    library = type(X).__module__.partition(".")[0]
    attribute = {"pyarrow": "column_names", "polars": "columns"}.get(library, "")
    return list(getattr(X, attribute)) if hasattr(X, attribute) else None
