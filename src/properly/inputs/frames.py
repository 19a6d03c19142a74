"""Tables of every kind in use: arrays, sparse matrices, and data frames of pandas, polars and pyarrow.

These functions are the only ones that know how the columns of each kind are reached.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from properly.numeric.arrays import require_values

ColumnName = Any  # of a data frame usually text, of an array a number


def is_frame(X: Any) -> bool:
    return hasattr(X, "columns")


def frame_or_array(X: Any) -> Any:
    """Data frames as they are, sparse matrices in rows, everything else as an array; of two dimensions."""
    require_values(X, "X")
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


def column_at(X: Any, position: int) -> Any:
    """One column, in the library's own form; found by its position, as names need not be unique."""
    if hasattr(X, "iloc"):
        return X.iloc[:, position]
    if hasattr(X, "column_names"):  # pyarrow
        return X.column(position)
    return X[:, [position]].toarray()[:, 0] if sparse.issparse(X) else X[:, position]


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
    require_values(background, "background")
    require_values(X, "X")
    if not is_frame(background):
        points, records = frame_or_array(background), frame_or_array(X if not is_frame(X) else np.asarray(X))
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
    """The position of a column that is given by its name or else by its position; `what` begins the message."""
    if entry in names:
        return names.index(entry)
    if isinstance(entry, Integral) and not isinstance(entry, bool) and 0 <= int(entry) < len(names):
        return int(entry)
    raise ValueError(f"{what} {entry!r}, which is no column of X: {list(names)}.")


def in_microseconds(values: NDArray[Any]) -> NDArray[Any]:
    """Times and durations in one unit, so that a day is one value in columns of any precision; others as they are."""
    return values.astype(f"{values.dtype.kind}8[us]") if values.dtype.kind in "mM" else values


def missing_in(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries are None, nan, or pandas' NA (which cannot be compared with anything)."""
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        return np.asarray(pandas.isna(values), dtype=bool)
    return np.array((values != values) | (values == None), dtype=bool)  # noqa: E711 - of every element
