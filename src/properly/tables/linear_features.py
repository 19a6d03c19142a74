"""What linear models need: no missing values, categories as indicators, numbers of one scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from properly.engines.select import checked_weight
from properly.probabilities import Array


class LinearFeatures(TransformerMixin, BaseEstimator):
    """Columns of numbers and of category codes, as `TableEncoder` makes them, turned into features of a linear model.

    A column of numbers is brought to mean 0 and standard deviation 1; a missing value becomes 0, the mean, and has an
    indicator if some were missing in training. A column of categories becomes an indicator for each of the most
    frequent ones, one for all others together, and one for missing values. What was not there in training has 0 in all
    of them.

    Parameters
    ----------
    categorical : sequence of int, default ()
        Which columns hold codes of categories.
    max_levels : int, default 30
        How many categories of a column have an indicator of their own.

    Examples
    --------
    >>> X = [[1.0, 0.0], [3.0, 1.0], [float("nan"), 1.0]]
    >>> LinearFeatures(categorical=[1]).fit_transform(X).tolist()
    [[-1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0]]
    """

    mean_: Array
    scale_: Array
    indicated_: NDArray[np.intp]
    levels_: list[Array]
    other_: list[bool]

    def __init__(self, categorical: Sequence[int] = (), *, max_levels: int = 30) -> None:
        self.categorical = categorical
        self.max_levels = max_levels

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn means, scales and levels; weight 2 means the row twice."""
        numeric, coded = self._split(validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan"))
        weight = checked_weight(sample_weight, len(numeric))
        weight = np.ones(len(numeric)) if weight is None else weight
        if not weight.any():
            raise ValueError("sample_weight is zero for every row; at least one must be positive.")
        missing = np.isnan(numeric)
        known = np.where(missing, 0.0, weight[:, None])
        known /= np.maximum(known.sum(axis=0), np.finfo(np.float64).tiny)
        filled = np.where(missing, 0.0, numeric)
        unit = np.maximum(np.abs(filled).max(axis=0, initial=0.0), np.finfo(np.float64).tiny)  # squares stay finite
        mean = (known * (filled / unit)).sum(axis=0)
        spread = np.sqrt((known * (filled / unit - mean) ** 2).sum(axis=0))
        # A constant column has no spread but that of rounding, which must not be blown up.
        self.mean_, self.scale_ = mean * unit, np.where(spread > 1e-12 * np.abs(mean), spread * unit, unit)
        self.indicated_ = np.flatnonzero((missing & (weight[:, None] > 0.0)).any(axis=0))
        levels = [self._levels(column, weight) for column in coded.T]
        self.levels_ = [kept for kept, _ in levels]
        self.other_ = [more for _, more in levels]
        return self

    def transform(self, X: Any) -> Array:
        """The features of rows, of shape (n_samples, n_features_out)."""
        check_is_fitted(self, "mean_")
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        numeric, coded = self._split(X)
        missing = np.isnan(numeric)
        parts = [np.where(missing, 0.0, (numeric - self.mean_) / self.scale_), missing[:, self.indicated_]]
        for column, levels, other in zip(coded.T, self.levels_, self.other_, strict=True):
            hit = (column[:, None] == levels) | (np.isnan(column)[:, None] & np.isnan(levels))
            parts.append(hit)
            if other:
                parts.append(~hit.any(axis=1, keepdims=True) & ~np.isnan(column)[:, None])
        return np.hstack(parts, dtype=np.float64)

    def _split(self, X: Array) -> tuple[Array, Array]:
        coded = np.zeros(X.shape[1], dtype=bool)
        coded[list(self.categorical)] = True
        return X[:, ~coded], X[:, coded]

    def _levels(self, column: Array, weight: Array) -> tuple[Array, bool]:
        """The codes that have an indicator, the most frequent first, and whether there are others; nan is a level."""
        values, place = np.unique(column, return_inverse=True)
        count = np.bincount(place, weight)
        values, count = values[count > 0.0], count[count > 0.0]
        kept = np.argsort(-count, kind="stable")[: self.max_levels]
        missing = np.isnan(values[-1:]) & ~np.isin(len(values) - 1, kept)
        return np.append(values[kept], values[-1:][missing]), len(values) > len(kept) + int(missing.sum())
