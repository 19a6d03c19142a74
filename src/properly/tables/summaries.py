"""What a table holds that a model learned from: its classes, and a few numbers for every column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from properly.numeric.probabilities import Array
from properly.tables.encoder import Column, TableEncoder
from properly.tables.targets import Labels

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


@dataclass(frozen=True)
class TableSummary:
    """The rows that a model learned from, those of weight 0 left out.

    Attributes
    ----------
    n_rows : int
    class_weight : dict from str to float
        The number of rows of every class, or their weight.
    columns : list of ColumnSummary
    """

    n_rows: int
    class_weight: dict[str, float]
    columns: list[ColumnSummary]


def table_summary(encoder: TableEncoder, X: Array, labels: Labels, weight: Array | None = None) -> TableSummary:
    """The summary of a matrix that the fitted encoder made, and of the labels of its rows.

    Examples
    --------
    >>> import pyarrow
    >>> table = pyarrow.table({"age": [30, None, 50, 40], "town": ["Rome", "Bath", "Rome", "Rome"]})
    >>> encoder = TableEncoder().fit(table)
    >>> found = table_summary(encoder, encoder.transform(table), Labels(["no", "yes"], np.array([0, 1, 1, 1])))
    >>> found.class_weight
    {'no': 1.0, 'yes': 3.0}
    >>> age, town = found.columns
    >>> age.missing, age.low, age.mean, age.high
    (0.25, 30.0, 40.0, 50.0)
    >>> town.n_categories, town.most_frequent
    (2, (('Rome', 0.75), ('Bath', 0.25)))
    """
    weight = np.ones(len(X)) if weight is None else weight
    rows = weight > 0.0
    share = weight[rows] / weight.sum()
    class_weight = np.bincount(labels.codes, weight, len(labels.classes)).tolist()
    return TableSummary(
        n_rows=int(rows.sum()),
        class_weight=dict(zip(map(str, labels.classes), class_weight, strict=True)),
        columns=[_summary(column, X[rows, j], share) for j, column in enumerate(encoder.columns_)],
    )


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
