"""Training rows and held-out rows of a boosted model, checked, and when to stop boosting."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import column_or_1d

from properly.inputs.options import check_boolean, check_interval, check_split, checked_count
from properly.inputs.weights import checked_class_weights, row_weights
from properly.numeric.arrays import require_values
from properly.numeric.probabilities import Array

Indices = NDArray[np.intp]


class Rows(NamedTuple):
    """Features, class codes and weights of rows, all of which have a positive weight."""

    X: Any
    codes: Indices
    weight: Array

    @classmethod
    def training(cls, X: Any, codes: Indices, sample_weight: ArrayLike | None, classes: NDArray[Any]) -> Self:
        """The rows of positive weight."""
        weight = row_weights(sample_weight, len(codes))
        checked_class_weights(np.bincount(codes, weight, len(classes)).astype(np.float64), classes)
        return cls(X, codes.astype(np.intp), weight)._without_zeros()

    @classmethod
    def held_out(cls, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, classes: NDArray[Any], name: str) -> Self:
        """The same for held-out rows: their labels must be those of the training rows, but not all need occur."""
        require_values(y, name)
        labels = np.asarray(column_or_1d(y))
        check_consistent_length(X, labels)
        unknown = np.setdiff1d(labels, classes)
        if len(unknown):
            raise ValueError(f"{name} holds the label {unknown.tolist()[0]!r}, but the classes are {classes.tolist()}.")
        rows = cls(X, np.searchsorted(classes, labels), row_weights(sample_weight, len(labels)))._without_zeros()
        if not len(rows.codes):
            raise ValueError(f"{name} has no row of positive weight; at least one is needed.")
        return rows

    def _without_zeros(self) -> Self:
        """Without the rows of weight 0, so that they do not count where rows are counted either."""
        return self if np.all(self.weight > 0.0) else self.take(np.flatnonzero(self.weight))

    def take(self, rows: Indices) -> Self:
        return type(self)(self.X[rows], self.codes[rows], self.weight[rows])

    def given(self, model: Any, eval_set: Any) -> Self | None:
        """The held-out rows that the user gave, if any."""
        if eval_set is None:
            return None
        if not isinstance(eval_set, tuple | list) or len(eval_set) not in (2, 3):
            raise ValueError("eval_set must be (X, y) or (X, y, sample_weight).")
        X, y, *weight = eval_set
        return self.held_out(model._read(X), y, weight[0] if weight else None, model.classes_, "eval_set")

    def divided(self, model: Any, eval_set: Any, random: np.random.RandomState) -> tuple[Self, Self | None]:
        """Training rows, and held-out rows: those of `eval_set`, or a part of these if the model may stop early."""
        if eval_set is None and model.early_stopping:
            return self._split(model.validation_fraction, random)
        return self, self.given(model, eval_set)

    def _split(self, fraction: float, random: np.random.RandomState) -> tuple[Self, Self | None]:
        """The training rows, and a `fraction` of each class to be held out (one row at least).

        A class of one row stays in training. If fewer than two classes are left, nothing is held out: on rows of one
        class every forecast looks better the closer it is to that class.
        """
        by_class = [np.flatnonzero(self.codes == code) for code in range(int(self.codes.max()) + 1)]
        divisible = [rows for rows in by_class if len(rows) > 1]
        if len(divisible) < 2:
            return self, None
        is_held_out = np.zeros(len(self.codes), dtype=bool)
        for rows in divisible:
            count = min(max(round(fraction * len(rows)), 1), len(rows) - 1)
            is_held_out[random.permutation(rows)[:count]] = True
        return self.take(np.flatnonzero(~is_held_out)), self.take(np.flatnonzero(is_held_out))


Split = tuple[Indices, Indices]  # the numbers of training rows and of held-out rows


def stratified_splits(codes: Indices, n_folds: int, random: np.random.RandomState) -> list[Split]:
    """Every fold held out once; each has its share of every class. A class of one row is never held out.

    Nothing is held out if fewer than two classes can be: on rows of one class every forecast looks better the closer
    it is to that class.

    >>> stratified_splits(np.array([0, 0, 1, 1, 2]), 2, np.random.RandomState(0))
    [(array([1, 3, 4]), array([0, 2])), (array([0, 2, 4]), array([1, 3]))]
    """
    shuffled = random.permutation(len(codes))
    dealt = shuffled[np.argsort(codes[shuffled], kind="stable")]
    folds = np.empty(len(codes), dtype=np.intp)
    folds[dealt] = np.arange(len(codes)) % n_folds
    counts = np.bincount(codes)
    if np.sum(counts > 1) < 2:
        return []
    folds[counts[codes] == 1] = -1
    return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in np.unique(folds[folds >= 0])]


def splits_of(cv: Any, codes: Indices, counted: Indices, n_rows: int, random: np.random.RandomState) -> list[Split]:
    """Training and held-out rows of a number of folds, or of what else scikit-learn takes as `cv`.

    `codes` are the classes of the rows `counted`, which have a positive weight, among `n_rows`; the result numbers
    them. A split needs two classes to fit to; held-out rows of other classes are left out. If all rows are of one
    class, there are no splits.
    """
    if isinstance(cv, Integral):
        return stratified_splits(codes, checked_count(cv, "cv", 2), random)
    place, labels = np.full(n_rows, -1), np.zeros(n_rows, dtype=np.intp)
    place[counted], labels[counted] = np.arange(len(codes)), codes
    found = []
    for number, sides in enumerate(check_cv(cv, labels, classifier=True).split(labels, labels)):
        check_split(np.concatenate(sides), n_rows, number)
        train, test = (np.sort(place[side][place[side] >= 0]) for side in sides)
        known = np.unique(codes[train])
        test = test[np.isin(codes[test], known)]
        if len(known) > 1 and len(test):
            found.append((train, test))
    if not found and len(np.unique(codes)) > 1:
        raise ValueError(
            "cv must have a split with training rows of two classes and a held-out row of one of them; use stratified "
            "splits, or a number of folds."
        )
    return found


class BestRound:
    """The smallest held-out loss so far, and the number of rounds after which it was reached."""

    def __init__(self, loss: float, patience: int, rounds: int = 0) -> None:
        self.loss, self.rounds, self.patience = loss, rounds, patience

    def exhausted(self, loss: float, rounds: int) -> bool:
        """Record the loss after `rounds` rounds; True if the last improvement is `patience` rounds ago."""
        if loss < self.loss:
            self.loss, self.rounds = loss, rounds
        return rounds - self.rounds >= self.patience


class BestForOthers:
    """The losses of each split's rows after the number of rounds that is best for the rows of the other splits.

    The smallest of many means looks smaller than it is; these losses do not, since no row chose its own number.
    """

    def __init__(self, losses: Array, weight: Array, sizes: list[int]) -> None:
        ends = np.cumsum(sizes)
        self.splits = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        self.weight, self.losses, self.own = weight, losses.copy(), np.eye(len(sizes), dtype=bool)
        self.least = self._of_others(losses)

    def look(self, losses: Array) -> None:
        """At the losses after one more round."""
        now = self._of_others(losses)
        for split in np.flatnonzero(now < self.least):
            self.losses[self.splits[split]] = losses[self.splits[split]]
        self.least = np.fmin(now, self.least)

    def _of_others(self, losses: Array) -> Array:
        """The summed loss of all rows but those of one split, for each split."""
        with np.errstate(invalid="ignore", over="ignore"):
            sums = np.array([np.sum(self.weight[split] * losses[split]) for split in self.splits])
        return np.asarray(np.where(self.own, 0.0, sums).sum(axis=1))


def scaled_weights(weight: Array) -> Array:
    """Weights times a power of 2, the largest about 1: means are the same to the last digit, and no sum overflows."""
    _, exponent = np.frexp(weight.max())
    return np.asarray(np.ldexp(weight, -exponent))


def check_rounds(model: Any) -> None:
    """Check the options that every boosted model has: how many rounds, how long steps are and when to stop."""
    checked_count(model.n_estimators, "n_estimators", 1)
    check_interval(model.learning_rate, "learning_rate", 0.0)
    check_boolean(model.early_stopping, "early_stopping")
    checked_count(model.n_iter_no_change, "n_iter_no_change", 1)
