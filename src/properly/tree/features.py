"""Which columns are categories, and how a table with categories becomes numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import OrdinalEncoder

from properly.probabilities import Array
from properly.tree.structure import Booleans


def categorical_mask(columns: Sequence[Any], names: NDArray[Any] | None, n_features: int) -> Booleans:
    """The columns given by position, by name or by a mask, as a mask.

    >>> categorical_mask(["job"], np.array(["age", "job"]), 2)
    array([False,  True])
    """
    given = list(columns) if not isinstance(columns, str) else [columns]
    mask = np.zeros(n_features, dtype=np.bool_)
    if all(isinstance(column, bool | np.bool_) for column in given) and len(given) == n_features:
        return np.array(given, dtype=np.bool_)
    known = {} if names is None else {name: position for position, name in enumerate(names)}
    for column in given:
        position = known.get(column, -1) if isinstance(column, str) else column
        if isinstance(position, bool | np.bool_) or not isinstance(position, int | np.integer):
            raise ValueError(f"categorical_features must hold positions, names or a mask, got {column!r}.")
        if not 0 <= position < n_features:
            where = f"the positions are 0 to {n_features - 1}" + (f", the names {list(known)}" if known else "")
            raise ValueError(f"categorical_features names {column!r}, which is no column of X; {where}.")
        mask[position] = True
    return mask


def plain_objects(X: Any) -> Any:
    """A pandas frame with ordinary objects in it, whatever its types were; nan where something is missing."""
    return X.astype(object).where(X.notna(), np.nan) if hasattr(X, "notna") else X


def category_encoder(columns: NDArray[Any]) -> OrdinalEncoder | None:
    """Fitted to columns of categories: whole numbers from 0, nan for what is missing and, later, for what is new."""
    if not columns.shape[1]:
        return None
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
    return encoder.fit(_with_nan(columns))


def as_numbers(X: NDArray[Any], categorical: Booleans, encoder: OrdinalEncoder | None) -> Array:
    """X as float64, its categories as codes."""
    numbers = np.empty(X.shape)
    if encoder is not None:
        numbers[:, categorical] = encoder.transform(_with_nan(X[:, categorical]))
    for position in np.flatnonzero(~categorical):
        try:
            numbers[:, position] = _with_nan(X[:, position])
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"column {position} of X is not numeric ({error}); convert it, or name it in categorical_features."
            ) from error
    if np.isinf(numbers).any():
        raise ValueError("X contains infinity; use nan for missing values, and large numbers otherwise.")
    return numbers


def _with_nan(columns: NDArray[Any]) -> NDArray[Any]:
    """None is a missing value, too."""
    if columns.dtype != object:
        return columns
    return np.where(columns == np.array(None), np.nan, columns)
