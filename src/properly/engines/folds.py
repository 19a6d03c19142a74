"""Folds that do not depend on the order of the rows, which data on several machines do not have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import column_or_1d

from properly.inputs.frames import in_microseconds, missing_in
from properly.inputs.options import check_boolean, checked_count
from properly.numeric.arrays import is_foreign, require_values, to_numpy

_MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # of the finaliser of splitmix64
_STEP = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class KeyedFolds:
    """Folds by a hash of every row's key: a splitter like those of scikit-learn, in memory and on every engine.

    Rows of the same key, such as a customer, are in the same fold, whatever the order of the rows, and wherever they
    are. Folds are about equally large, and have about the same share of every class, if there are many keys.

    Parameters
    ----------
    n_splits : int, default 5
    hashed : bool, default True
        False: the keys are the folds themselves, whole numbers from 0 to n_splits - 1.

    Notes
    -----
    The keys are the `groups` of `split`, or of a model's `fit`; files and frames of Spark name a column,
    ``Stream(..., group="customer")``. Without keys the features of a row are its key. The hash is the same on every
    machine and in every version. Rows whose key is missing are in one fold.

    Examples
    --------
    >>> folds = KeyedFolds(3).of_rows(None, np.array(["ann", "bob", "ann", "eve", "kim"]))
    >>> bool(folds[0] == folds[2])
    True
    >>> KeyedFolds(2, hashed=False).of_rows(None, np.array([0, 1, 1])).tolist()
    [0, 1, 1]
    """

    n_splits: int = 5
    hashed: bool = True

    def __post_init__(self) -> None:
        checked_count(self.n_splits, "n_splits", 2)
        check_boolean(self.hashed, "hashed")

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """The numbers of the training rows and of the held-out rows, fold by fold."""
        for name, given in (("X", X), ("groups", groups)):
            require_values(given, name)
        fold = self.of_rows(X, None if groups is None else np.asarray(groups))
        for number in range(self.n_splits):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)

    def of_rows(self, X: Any, key: NDArray[Any] | None) -> NDArray[np.int64]:
        """The fold of every row."""
        if self.hashed:
            return (_hash_of(X if key is None else key) % np.uint64(self.n_splits)).astype(np.int64)
        if key is None:
            raise ValueError("KeyedFolds(hashed=False) needs the fold of every row: give groups, or name group=.")
        rule = f"a fold must be a whole number from 0 to {self.n_splits - 1}"
        remedy = "set n_splits, or leave out hashed=False."
        try:
            folds = np.asarray(key, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{rule}, got keys that are no numbers; {remedy}") from error
        bad = ~((folds >= 0) & (folds < self.n_splits) & (folds == np.floor(folds)))
        if bad.any():
            raise ValueError(f"{rule}, got {key[bad][0]}; {remedy}")
        return folds.astype(np.int64)

    def roles(self, X: Any, key: NDArray[Any] | None) -> NDArray[np.int8]:
        """A column for every split: 1 for a training row, -1 for a held-out row."""
        held_out = self.of_rows(X, key)[:, None] == np.arange(self.n_splits)
        return np.where(held_out, np.int8(-1), np.int8(1))


def checked_keys(groups: Any, n_rows: int) -> NDArray[Any] | None:
    """The key of every row, or None."""
    if groups is None:
        return None
    require_values(groups, "groups")
    found = np.asarray(column_or_1d(to_numpy(groups) if is_foreign(groups) else groups))
    if len(found) != n_rows:
        raise ValueError(f"groups has {len(found)} rows, X has {n_rows}.")
    return found


def _hash_of(values: Any) -> NDArray[np.uint64]:
    """64 bits for every row of a matrix, or every entry of a column: numbers of equal value have the same."""
    if sparse.issparse(values):
        return _hash_of_sparse(values.tocsr())
    values = np.asarray(values)
    if values.dtype.kind == "O" and values.ndim == 1:
        return _hash_of_objects(values)
    if values.dtype.kind == "O":
        with suppress(TypeError, ValueError):  # a text among numbers makes all of them texts
            values = values.astype(np.float64)
    if values.dtype.kind in "OUST":
        texts = np.ascontiguousarray(values.astype(np.str_))
        width = texts[:1].size * texts.dtype.itemsize // 4
        digits = texts.view(np.uint32).reshape(len(texts), width) if width else np.empty((len(texts), 0))
        columns = digits.astype(np.uint64).T
    elif values.dtype.kind in "mM":
        columns = in_microseconds(values).view(np.uint64)[None]
    else:
        numbers = np.asarray(values, dtype=np.float64) + 0.0  # -0.0 is 0.0
        numbers[np.isnan(numbers)] = np.nan  # of which there are many, with other digits
        columns = np.ascontiguousarray(np.atleast_2d(numbers.T)).view(np.uint64)
    found = np.zeros(len(values), dtype=np.uint64)
    for number, column in enumerate(columns, start=1):
        found ^= _placed(column, np.uint64(number))
    return _mixed(found)


def _hash_of_objects(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Of every object for itself, a number, a date, a text or nothing: the others of its part change nothing."""
    missing, kinds = missing_in(values), set(map(type, values))
    numbers, dates = (
        np.isin([id(type(each)) for each in values], [id(kind) for kind in kinds if issubclass(kind, sort)])
        for sort in (Real | Decimal | np.bool_, date)
    )
    numbers, dates = numbers | missing, dates & ~missing
    dates[dates] = [getattr(each, "tzinfo", None) is None for each in values[dates]]
    texts = ~(numbers | dates)
    found = np.empty(len(values), dtype=np.uint64)
    found[numbers] = _hash_of(np.where(missing[numbers], np.nan, values[numbers]).astype(np.float64))
    found[dates] = _hash_of(values[dates].astype("datetime64[us]"))
    found[texts] = _hash_of(values[texts].astype(np.str_))
    return found


def _hash_of_sparse(X: Any) -> NDArray[np.uint64]:
    """The same as of a dense matrix, since zeros change nothing."""
    X.sum_duplicates()
    bits = (X.data.astype(np.float64) + 0.0).view(np.uint64)
    placed, found = _placed(bits, X.indices.astype(np.uint64) + np.uint64(1)), np.zeros(X.shape[0], dtype=np.uint64)
    filled = np.diff(X.indptr) > 0
    if filled.any():
        found[filled] = np.bitwise_xor.reduceat(placed, X.indptr[:-1][filled])
    return _mixed(found)


@np.errstate(over="ignore")
def _placed(values: NDArray[np.uint64], number: Any) -> NDArray[np.uint64]:
    """What values add to the hash from the places of these numbers.

    0 adds nothing: shorter texts end with it, however long the longest of their part is.
    """
    return np.where(values == 0, np.uint64(0), _mixed(values + number * np.uint64(_STEP)))


@np.errstate(over="ignore")
def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(_MULTIPLIERS[0])
    x = (x ^ (x >> np.uint64(27))) * np.uint64(_MULTIPLIERS[1])
    return x ^ (x >> np.uint64(31))
