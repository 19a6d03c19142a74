"""What a user hands to a boosted model, checked: rows, labels and weights, and which rows are held out."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from properly.inputs.options import checked_count
from properly.inputs.weights import checked_class_weights, checked_weight
from properly.numeric.probabilities import Array

Indices = NDArray[np.intp]


class Rows(NamedTuple):
    """Features, class codes and weights of rows that all count."""

    X: Any
    codes: Indices
    weight: Array

    @classmethod
    def checked(cls, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None) -> tuple[Self, NDArray[Any]]:
        """The rows of positive weight and the sorted classes, of which there must be two or more."""
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        weight = checked_weight(sample_weight, len(codes))
        checked_class_weights(np.bincount(codes, weight, len(classes)).astype(np.float64), classes)
        return cls(X, codes, np.ones(len(codes)) if weight is None else weight).counted(), classes

    @classmethod
    def held_out(cls, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, classes: NDArray[Any], name: str) -> Self:
        """The same for rows that judge: their labels must be those of the training rows, but not all need occur."""
        labels = np.asarray(column_or_1d(y))
        check_consistent_length(X, labels)
        unknown = np.setdiff1d(labels, classes)
        if len(unknown):
            raise ValueError(f"{name} holds the label {unknown.tolist()[0]!r}, but the classes are {classes.tolist()}.")
        weight = checked_weight(sample_weight, len(labels))
        rows = cls(X, np.searchsorted(classes, labels), np.ones(len(labels)) if weight is None else weight).counted()
        if not len(rows.codes):
            raise ValueError(f"{name} has no row of positive weight; at least one is needed.")
        return rows

    def counted(self) -> Self:
        """Without the rows of weight 0: those are absent, also where rows are counted."""
        return self if np.all(self.weight > 0.0) else self.take(np.flatnonzero(self.weight))

    def take(self, rows: Indices) -> Self:
        return type(self)(self.X[rows], self.codes[rows], self.weight[rows])

    def split(self, fraction: float, random_state: Any) -> tuple[Self, Self | None]:
        """The rows that train, and a `fraction` of each class to be held out (one row at least).

        A class of one row cannot be on both sides, and trains. If fewer than two are left, nothing is held out: rows of
        one class would praise any forecast of it.
        """
        by_class = [np.flatnonzero(self.codes == code) for code in range(int(self.codes.max()) + 1)]
        divided = [rows for rows in by_class if len(rows) > 1]
        if len(divided) < 2:
            return self, None
        random = check_random_state(random_state)
        judging = np.concatenate([_drawn(rows, fraction, random) for rows in divided])
        is_judging = np.zeros(len(self.codes), dtype=bool)
        is_judging[judging] = True
        return self.take(np.flatnonzero(~is_judging)), self.take(np.flatnonzero(is_judging))


def _drawn(rows: Indices, fraction: float, random: np.random.RandomState) -> Indices:
    count = min(max(round(fraction * len(rows)), 1), len(rows) - 1)
    return random.permutation(rows)[:count]


def unpack_eval_set(eval_set: Any) -> tuple[Any, Any, Any]:
    """(X, y, sample_weight), the last one None if it was left out."""
    if not isinstance(eval_set, tuple | list) or len(eval_set) not in (2, 3):
        raise ValueError("eval_set must be (X, y) or (X, y, sample_weight).")
    X, y, *weight = eval_set
    return X, y, weight[0] if weight else None


class Best:
    """The smallest held-out loss so far, and the number of rounds after which it came."""

    def __init__(self, loss: float, patience: int, rounds: int = 0) -> None:
        self.loss, self.rounds, self.patience = loss, rounds, patience

    def exhausted(self, loss: float, rounds: int) -> bool:
        """Note the loss after `rounds` rounds; True if the last improvement is `patience` rounds ago."""
        if loss < self.loss:
            self.loss, self.rounds = loss, rounds
        return rounds - self.rounds >= self.patience


def small_numbers(weight: Array) -> Array:
    """Weights times a power of 2, the largest about 1: means are the same to the last digit, and no sum overflows."""
    _, exponent = np.frexp(weight.max())
    return np.asarray(np.ldexp(weight, -exponent))


def check_interval(value: Any, name: str, low: float, high: float, *, with_low: bool = False) -> None:
    """Refuse what is not a number in (low, high), or in [low, high)."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if number and (low < value < high or (with_low and value == low)):
        return
    rule = f"at least {low:g}" if with_low else f"above {low:g}"
    raise ValueError(f"{name} must be {rule} and below {high:g}, got {value!r}.")


def check_stopping(early_stopping: object, validation_fraction: object, n_iter_no_change: object) -> None:
    if not isinstance(early_stopping, bool | np.bool_):
        raise ValueError(f"early_stopping must be True or False, got {early_stopping!r}.")
    check_interval(validation_fraction, "validation_fraction", 0.0, 1.0)
    checked_count(n_iter_no_change, "n_iter_no_change", 1)
