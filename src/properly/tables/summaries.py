"""What the columns of a table hold, in a few numbers each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from properly.numeric.probabilities import Array
from properly.tables.encoder import Column, TableEncoder

_MOST = 3  # categories that are named


@dataclass(frozen=True)
class ColumnSummary:
    """One column of the rows that a model learned from; all shares are of rows, or of their weight.

    Attributes
    ----------
    name, kind : str
        As of `properly.tables.encoder.Column`.
    missing : float
        The share of missing values.
    low, mean, high : float
        The smallest, mean and largest known value: of numbers, of booleans as 0 and 1, of dates in days since 1970;
        nan for categories.
    n_categories : int
        How many different categories there are; 0 for other kinds.
    most_frequent : tuple of (str, float)
        The most frequent categories, with their shares of all rows.
    """

    name: str
    kind: str
    missing: float
    low: float = np.nan
    mean: float = np.nan
    high: float = np.nan
    n_categories: int = 0
    most_frequent: tuple[tuple[str, float], ...] = ()


def column_summaries(encoder: TableEncoder, X: Array, weight: Array | None = None) -> list[ColumnSummary]:
    """A summary of every column of a matrix that the fitted encoder made; rows of weight 0 are left out.

    Examples
    --------
    >>> import pyarrow
    >>> table = pyarrow.table({"age": [30, None, 50, 40], "town": ["Rome", "Bath", "Rome", "Rome"]})
    >>> encoder = TableEncoder().fit(table)
    >>> age, town = column_summaries(encoder, encoder.transform(table))
    >>> age.missing, age.low, age.mean, age.high
    (0.25, 30.0, 40.0, 50.0)
    >>> town.n_categories, town.most_frequent
    (2, (('Rome', 0.75), ('Bath', 0.25)))
    """
    weight = np.ones(len(X)) if weight is None else weight
    rows = weight > 0.0
    share = weight[rows] / weight.sum()
    return [_summary(column, X[rows, j], share) for j, column in enumerate(encoder.columns_)]


def _summary(column: Column, values: Array, share: Array) -> ColumnSummary:
    known = ~np.isnan(values)
    missing = float(share[~known].sum())
    if not known.any():
        return ColumnSummary(column.name, column.kind, missing)
    values, share = values[known], share[known]
    if column.kind != "category":
        mean = float(np.average(values, weights=share))
        return ColumnSummary(column.name, column.kind, missing, float(values.min()), mean, float(values.max()))
    names = [*column.categories, "all others"]
    shares = np.bincount(values.astype(np.intp), share, len(names))
    most = np.argsort(-shares, kind="stable")[:_MOST]
    return ColumnSummary(
        column.name,
        column.kind,
        missing,
        n_categories=len(column.categories),
        most_frequent=tuple((names[k], float(shares[k])) for k in most if shares[k] > 0.0),
    )
