"""The columns of a table as numbers for a model, and a record of what they were in training."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from properly.inputs.options import choose
from properly.numeric.arrays import Array, is_traced, namespace
from properly.tables.base import Place, TableError, arrow, as_table, compute, is_text, listed, plain, require_columns
from properly.tables.columns import NUMERIC_KINDS, is_number_text, kind_of, texts

_MOSTLY = 0.9  # if more than this share of a text column are numbers, the others are mistakes
MISSING_RULES = {"allow": True, "refuse": False}
UNSEEN_RULES = {"missing": True, "refuse": False}


@dataclass(frozen=True)
class Column:
    """What is known about a column: what its values mean, and what they were in training."""

    name: str
    kind: str  # "number", "boolean", "date" or "category"
    missing: bool = False  # whether values were missing
    mean: float = 0.0  # of a column that is not of categories
    categories: tuple[str, ...] = ()
    other: bool = False  # whether there were more categories, which count as one


class UnseenCategories(UserWarning):
    """Categories of a column that did not occur in training, and so count as missing.

    Attributes
    ----------
    source, column : str
    example : str
        The first such category.
    n_rows : int
        How many rows have one.
    """

    def __init__(self, source: str, column: str, example: str, n_rows: int) -> None:
        self.source, self.column, self.example, self.n_rows = source, column, example, n_rows
        rows = "1 row has" if n_rows == 1 else f"{n_rows:,} rows have"
        super().__init__(
            f"{source}, column {column!r}: {rows} a category that did not occur in training, first {example!r}; it "
            "counts as missing."
        )


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turns tables into matrices of float64, and checks that every table has the columns of the first.

    What a column means does not depend on how it is stored: whole numbers and fractions are numbers, texts and
    dictionaries of texts are categories, whether they come from CSV, Parquet or a data frame. Numbers are not changed,
    true becomes 1, dates become days since 1970, a category becomes its position among the sorted categories, and a
    missing value of any kind becomes nan.

    Parameters
    ----------
    categories : sequence of str, default ()
        Columns whose values are categories even if they look like numbers.
    max_categories : int, default 200
        Of more categories, the most frequent are kept; all others count as one, and so do those never seen before.
        A text column with more categories than that, and with different values in more than half of its rows, holds
        names of the rows and is left out.
    missing : {"allow", "refuse"}, default "allow"
        Whether values may be missing.

    Attributes
    ----------
    columns_ : list of `Column`
        In the order of the matrix.
    left_out_ : dict from the names of columns that are not used to the reason
    categorical_ : list of int, which columns of the matrix hold categories

    Notes
    -----
    Refused, with column and row: a column that is missing, a value of another kind, an infinite number. A category not
    seen in training counts as missing, with a warning (as one of the others, if there were more than
    `max_categories`), or is refused (``unseen="refuse"``). In training, a text column of which more than nine in ten
    values are numbers is refused as well, because the others are probably mistakes; name it in `categories` if they are
    not. A missing number in a column that had none in training is replaced by the mean, with a warning; a missing
    category stays missing, with a warning too.

    Examples
    --------
    >>> import pyarrow
    >>> table = pyarrow.table({"age": [30, None, 50], "town": ["Rome", "Bath", "Rome"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.transform(table).tolist()
    [[30.0, 1.0], [nan, 0.0], [50.0, 1.0]]
    >>> encoder.transform({"town": ["Paris"], "age": [1]}, unseen="refuse")
    Traceback (most recent call last):
    properly.tables.base.TableError: table, column 'town', row 1: the category 'Paris' did not occur in training, only
    'Bath', 'Rome'.
    """

    columns_: list[Column]
    left_out_: dict[str, str]

    def __init__(self, categories: Sequence[str] = (), *, max_categories: int = 200, missing: str = "allow") -> None:
        self.categories = categories
        self.max_categories = max_categories
        self.missing = missing

    def fit(self, X: Any, y: Any = None, *, source: str = "table") -> Self:
        """Learn the columns of a table (a data frame, `pyarrow.Table` or mapping); `source` is its name in messages."""
        choose(self.missing, MISSING_RULES, "missing")
        table = as_table(X)
        require_columns(self.categories, table.column_names, source)
        if not table.num_rows:
            raise TableError(f"{source} has no rows.")
        self.left_out_ = {}
        found = [self._learned(plain(table.column(name)), Place(source, name)) for name in table.column_names]
        self.columns_ = [column for column in found if column is not None]
        if not self.columns_:
            reasons = "; ".join(f"{name!r}: {reason}" for name, reason in self.left_out_.items())
            raise TableError(f"{source} has no column to learn from{f' ({reasons})' if reasons else ''}.")
        return self

    def transform(self, X: Any, *, source: str = "table", first_row: int = 0, unseen: str = "missing") -> Array:
        """The matrix of a table with these columns, in any order, and possibly others.

        `first_row` is the number of rows that came before in the file, for messages. A category that did not occur in
        training counts as missing, with a warning (`UnseenCategories`); with ``unseen="refuse"`` it is an error.
        """
        check_is_fitted(self, "columns_")
        if isinstance(X, dict) and all(map(is_traced, X.values())):
            return self._of_graph(X)
        lenient = choose(unseen, UNSEEN_RULES, "unseen")
        table = as_table(X)
        require_columns((column.name for column in self.columns_), table.column_names, source)
        result = np.empty((table.num_rows, len(self.columns_)))
        for j, column in enumerate(self.columns_):
            place = Place(source, column.name, first_row)
            result[:, j] = self._encoded(column, plain(table.column(column.name)), place, lenient)
        return result

    @property
    def categorical_(self) -> list[int]:
        return [j for j, column in enumerate(self.columns_) if column.kind == "category"]

    def __getstate__(self) -> dict[str, Any]:
        # One text: thousands of columns or categories would be more objects than a model file may hold.
        state = dict(super().__getstate__())
        if "columns_" in state:
            state["columns_"] = json.dumps([asdict(column) for column in self.columns_])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state.get("columns_"), str):  # older files hold the columns themselves
            found = [
                Column(**{**each, "categories": tuple(each["categories"])}) for each in json.loads(state["columns_"])
            ]
            state = {**state, "columns_": found}
        super().__setstate__(state)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        check_is_fitted(self, "columns_")
        return np.array([column.name for column in self.columns_], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = MISSING_RULES.get(self.missing, False)
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _learned(self, column: Any, place: Place) -> Column | None:
        """What there is to know about a column, None if it is left out."""
        name = place.column
        self._check_missing(column.is_null().to_numpy(zero_copy_only=False), place)
        if column.null_count == len(column):
            self.left_out_[name] = "all its values are missing"
            return None
        kind = "category" if name in self.categories else kind_of(column.type)
        if kind is None:
            raise TableError(f"{place} holds {column.type}, which no model takes; leave the column out.")
        if kind != "category":
            values = self._numeric(kind, column, place)
            missing = np.isnan(values)
            if missing.all():
                self.left_out_[name] = "all its values are missing"
                return None
            return Column(name, kind, bool(missing.any()), float(values[~missing].mean()))
        if name not in self.categories and is_text(column.type):
            _refuse_mistakes(column, place)
        counts = compute.value_counts(texts(column, place).drop_null())
        found = sorted((-each["counts"], each["values"]) for each in counts.to_pylist())
        if len(found) > max(self.max_categories, len(column) // 2):
            self.left_out_[name] = f"{len(found):,} different texts in {len(column):,} rows"
            return None
        kept = sorted(value for _, value in found[: self.max_categories])
        return Column(name, kind, column.null_count > 0, categories=tuple(kept), other=len(found) > self.max_categories)

    def _encoded(self, column: Column, values: Any, place: Place, lenient: bool) -> Array:
        if column.kind != "category":
            numbers = self._numeric(column.kind, values, place)
            missing = np.isnan(numbers)
            if missing.any() and not column.missing:
                _warn_missing(missing, place, f"they are replaced by its mean, {column.mean:g}")
                numbers = np.where(missing, column.mean, numbers)
            return numbers
        words = texts(values, place)
        missing = words.is_null().to_numpy(zero_copy_only=False)
        self._check_missing(missing, place)
        if missing.any() and not column.missing:
            _warn_missing(missing, place, "the model has not learned what that means")
        codes = compute.index_in(words, value_set=arrow.array(column.categories, type=arrow.string()))
        codes = codes.cast(arrow.float64()).to_numpy(zero_copy_only=False)
        strange = np.isnan(codes) & ~missing
        if column.other:
            codes = np.where(strange, float(len(column.categories)), codes)
        elif strange.any():
            row, known = int(strange.argmax()), listed(column.categories)
            found = words[row].as_py()
            if not lenient:
                raise place.error(row, f"the category {found!r} did not occur in training, only {known}.")
            warnings.warn(UnseenCategories(place.source, column.name, found, int(strange.sum())), stacklevel=3)
        return np.asarray(codes)

    def _of_graph(self, X: dict[str, Any]) -> Any:
        """The matrix of columns of an ONNX graph: numbers; a category is its place, the one after the last if unknown.

        Nothing can be refused there: an unknown category counts as missing, unless several counted as one in training.
        """
        xp, columns = namespace(*X.values()), []
        for column in self.columns_:
            values = X[column.name]
            if column.kind == "category" and not column.other:
                values = xp.where(values == float(len(column.categories)), math.nan, values)
            if column.kind != "category" and not column.missing:
                values = xp.where(xp.isnan(values), column.mean, values)
            columns.append(values)
        return xp.stack(columns, axis=1)

    def _numeric(self, kind: str, column: Any, place: Place) -> Array:
        values = NUMERIC_KINDS[kind](column, place)
        place.refuse(np.isinf(values), "the number must be finite.")
        self._check_missing(np.isnan(values), place)
        return values

    def _check_missing(self, missing: NDArray[np.bool_], place: Place) -> None:
        if not MISSING_RULES[self.missing]:
            place.refuse(missing, "the value is missing; fill it in, or leave out the row.")


def _warn_missing(missing: NDArray[np.bool_], place: Place, meaning: str) -> None:
    warnings.warn(
        f"{place} has missing values, first in row {place.first_row + int(missing.argmax()) + 1}, but had none in "
        f"training; {meaning}.",
        UserWarning,
        stacklevel=4,
    )


def _refuse_mistakes(column: Any, place: Place) -> None:
    """Refuse texts in a column of numbers."""
    are_numbers = is_number_text(column)
    share = compute.mean(are_numbers).as_py()
    if share is not None and _MOSTLY < share < 1.0:
        first = compute.index(are_numbers, False).as_py()
        raise place.error(
            first,
            f"{column[first].as_py()!r} is no number, but {share:.1%} of the column are; correct it, or name the "
            "column among the categories.",
        )
