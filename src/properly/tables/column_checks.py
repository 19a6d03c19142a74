"""Columns that a model should perhaps not learn from, or that were read in another way than they are meant."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from properly.files import MISSING_CELLS
from properly.numeric.probabilities import Array
from properly.tables.base import plain
from properly.tables.encoder import Column, TableEncoder
from properly.tables.reading import LEADING_ZERO

_MOST_ROWS = 100_000  # that are looked at for leaks
_FEWEST_ROWS = 30  # below which everything may be different, or separate the classes, by chance
_LEAK = 0.9  # the share of the uncertainty about the class that no honest column removes by itself
_MANY_DIGITS = 1e9  # from here on whole numbers are rather codes (or points in time) than quantities
_MOSTLY = 0.9  # the share of the texts of a column that must look alike
_NUMBER = re.compile(r"[^\w\s,.+-]{0,3}\s*[+-]?(\d+|\d{1,3}([.,' ]\d{3})+)([.,]\d+)?\s*(%|[^\w\s]|[A-Z]{3})?")
_DATE = re.compile(
    r"(\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|\d{1,2}[. -]?\s?[A-Za-z]{3,9}[., -]\s?\d{2,4}|[A-Za-z]{3,9} \d{1,2},? \d{4})"
    r"([ T,]+\d{1,2}:\d{2}.*)?"
)


class _Values(NamedTuple):
    """A column that the encoder keeps, and the classes of the rows."""

    column: Column
    encoded: Array  # numbers, or codes of categories; nan where missing
    texts: list[str]  # the distinct texts, of a column of texts
    codes: NDArray[Any]
    leading_zero: str  # a number that was written with one, "" if none was


def column_warnings(table: Any, encoder: TableEncoder, X: Array, codes: NDArray[Any]) -> list[str]:
    """What is suspicious about the columns of a table, one sentence each; `X` is what the encoder made of it."""
    found = []
    for j, column in enumerate(encoder.columns_):
        texts = list(column.categories) if column.kind == "category" and column.name not in encoder.categories else []
        zero = (table.schema.field(column.name).metadata or {}).get(LEADING_ZERO, b"").decode()
        values = _Values(column, X[:, j], texts, codes, zero)
        problem = next((said for check in _CHECKS if (said := check(values)) is not None), None)
        if problem is not None:
            found.append(f"column {column.name!r} {problem}")
    for name in encoder.left_out_:
        texts = [text for text in plain(table.column(name)).unique().to_pylist()[:1000] if isinstance(text, str)]
        notation = _notation(texts)
        if notation is not None:
            found.append(f"column {name!r} {notation}")
    return found


def _constant(values: _Values) -> str | None:
    known = values.encoded[~np.isnan(values.encoded)]
    if values.column.missing or (known != known[0]).any():
        return None
    return "has the same value in all rows, from which nothing can be learned"


def _separating(values: _Values) -> str | None:
    """Whether the column alone tells the class of almost every row."""
    encoded, codes = values.encoded, values.codes
    if len(codes) < _FEWEST_ROWS:
        return None
    if len(codes) > _MOST_ROWS:
        rows = np.random.RandomState(0).choice(len(codes), _MOST_ROWS, replace=False)
        encoded, codes = encoded[rows], codes[rows]
    if values.column.kind == "category":
        cell = np.unique(encoded, return_inverse=True)[1]
    else:
        tree = DecisionTreeClassifier(max_leaf_nodes=int(codes.max()) + 2, random_state=0)
        cell = tree.fit(encoded[:, None].astype(np.float32), codes).apply(encoded[:, None].astype(np.float32))
    share = _explained(cell, codes)
    if share < _LEAK:
        return None
    return (
        f"alone tells the class of almost every row (it removes {100.0 * share:.0f} % of the uncertainty): if it is "
        "known only after the outcome, the model is of no use; leave it out then (--ignore)"
    )


def _explained(cell: NDArray[Any], codes: NDArray[Any]) -> float:
    """1 - log loss of the class shares in the cells, without the row itself, divided by that of the overall shares."""
    table = np.zeros((int(cell.max()) + 1, int(codes.max()) + 1))
    np.add.at(table, (cell, codes), 1.0)
    share = table.sum(axis=0) / len(codes)
    own = (table[cell, codes] - 1.0 + share[codes]) / table.sum(axis=1)[cell]
    return float(1.0 - np.mean(np.log(own)) / np.mean(np.log(share[codes])))


def _identifier(values: _Values) -> str | None:
    known = values.encoded[~np.isnan(values.encoded)]
    if len(known) < _FEWEST_ROWS:
        return None
    remedy = "leave it out (--ignore) if it identifies rows"
    if values.column.kind == "category":
        distinct = len(np.unique(known)) == len(known)
        return f"has a different text in every row; {remedy}" if distinct else None
    if values.column.kind != "number" or (known != np.floor(known)).any():
        return None
    if np.abs(known).min() >= _MANY_DIGITS:
        return f"holds whole numbers of ten or more digits, as numbers of accounts and cards; {remedy}"
    step = np.diff(known)
    different = len(np.unique(known)) == len(known)
    if different and ((step > 0).all() or (step < 0).all() or np.ptp(known) < 2 * len(known)):
        return f"numbers the rows: its whole numbers are all different, and without large gaps or in order; {remedy}"
    return None


def _leading_zero(values: _Values) -> str | None:
    if not values.leading_zero:
        return None
    return (
        f"holds numbers with leading zeros, such as {values.leading_zero}, which are lost; if they are codes, name the "
        "column in --categories"
    )


def _other_notation(values: _Values) -> str | None:
    return _notation(values.texts)


def _notation(texts: list[str]) -> str | None:
    """Whether texts are dates or numbers that are written in another way than this package reads."""
    known = [text.strip() for text in texts if text.strip() not in MISSING_CELLS]
    if not known:
        return None
    for pattern, what, remedy in (
        (_DATE, "dates", "write them as 2024-05-31"),
        (_NUMBER, "numbers in another notation", "write them as 1234.5, or name the decimal sign (--decimal)"),
    ):
        alike = [text for text in known if pattern.fullmatch(text)]
        if len(alike) > _MOSTLY * len(known) and any(not text.isdigit() for text in alike):
            example = next(text for text in alike if not text.isdigit())
            return f"holds {what}, such as {example!r}, that are read as texts; {remedy}"
    return None


_CHECKS: tuple[Callable[[_Values], str | None], ...] = (
    _constant,
    _separating,
    _identifier,
    _leading_zero,
    _other_notation,
)
