"""The rows that models learn from and are judged by, and the folds in which they are held out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.crossfit import Mask, cross_fitted, grouped_folds, stratified_folds, time_folds
from properly.inputs.frames import missing_in
from properly.inputs.weights import checked_weight
from properly.numeric.arrays import require_values
from properly.numeric.probabilities import Array

_ENOUGH_OF_A_CLASS, _MORE = 200, 2.5  # rows of a sample, which may be so many times as large for them


class Rows(NamedTuple):
    """Checked labels and weights, and the fold in which each row is held out.

    Folds may be made several times, in other ways; then what is predicted for held-out rows has all rows of the first
    time, then all of the second, and so on.
    """

    classes: NDArray[Any]
    codes: NDArray[Any]  # of the labels, among the classes
    folds: NDArray[np.intp]  # (repeats, n)
    weight: Array | None
    groups: NDArray[Any] | None = None
    forward: bool = False  # whether a fold is predicted from those before it only
    first: int = 0  # the first fold that is judged

    @classmethod
    def divided(
        cls,
        classes: NDArray[Any],
        codes: NDArray[Any],
        cv: int,
        sample_weight: ArrayLike | None,
        random_state: int,
        group: ArrayLike | None,
        time: ArrayLike | None,
        calibrated: bool,
        repeats: int = 1,
    ) -> Self:
        """Rows in folds by group, by time or at random; `calibrated` says that predictions will be learned from."""
        weight = checked_weight(sample_weight, len(codes))
        counted = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
        folds = np.zeros((repeats, len(codes)), dtype=np.intp)  # the fold of a row of weight 0 makes no difference
        if time is not None:
            if group is not None:
                raise ValueError("group and time exclude each other: choose one kind of folds.")
            first = 2 if calibrated else 1
            folds[:, counted] = time_folds(_column(time, len(codes), "time")[counted], cv + first)
            _check_oldest(codes[counted], classes, folds[0, counted] == 0)
            return cls(classes, codes, folds[:1], weight, forward=True, first=first)
        groups = None if group is None else _column(group, len(codes), "group")
        for repeat in range(repeats):
            given = codes[counted], classes
            folds[repeat, counted] = (
                stratified_folds(*given, cv, random_state + repeat)
                if groups is None
                else grouped_folds(*given, groups[counted], cv, random_state + repeat)
            )
        return cls(classes, codes, folds, weight, groups)

    def sampled(self, most: int, random_state: int) -> tuple[Self, NDArray[np.intp]]:
        """About so many rows, each class with its share, and their numbers; more if the rarest class would have few."""
        n_rows, counts = len(self.codes), np.bincount(self.codes)
        most = min(max(most, n_rows * _ENOUGH_OF_A_CLASS // max(int(counts.min()), 1)), int(_MORE * most))
        if n_rows <= most:
            return self, np.arange(n_rows)
        random = np.random.RandomState(random_state)
        wanted = np.minimum(counts, np.ceil(most * counts / n_rows).astype(np.intp))
        order = random.permutation(n_rows)
        rank = np.empty(n_rows, dtype=np.intp)  # among the rows of a class
        for code in range(len(counts)):
            own = order[self.codes[order] == code]
            rank[own] = np.arange(len(own))
        at = np.flatnonzero(rank < wanted[self.codes])
        kept = self._replace(
            codes=self.codes[at],
            folds=self.folds[:, at],
            weight=None if self.weight is None else self.weight[at],
            groups=None if self.groups is None else self.groups[at],
        )
        return kept, at

    @property
    def judged(self) -> Mask:
        return self.folds.ravel() >= self.first

    def repeated(self, values: NDArray[Any]) -> NDArray[Any]:
        """What belongs to a row, once for every time that folds were made."""
        return np.tile(values, len(self.folds))

    @property
    def entry_weight(self) -> Array | None:
        """The weight of every prediction for a held-out row, so that those of a row add up to its weight."""
        repeats = len(self.folds)
        if repeats == 1:
            return self.weight
        return self.repeated(np.ones(len(self.codes)) if self.weight is None else self.weight) / repeats

    def cross_fitted(
        self, fit_predict: Callable[[Mask, Mask], Array], tell: Callable[[float], None] = lambda share: None
    ) -> Array:
        """Held-out predictions of all rows, from `fit_predict(train, test)`; `tell` hears the share that is done."""

        def told(repeat: int) -> Callable[[float], None]:
            return lambda share: tell((repeat + share) / len(self.folds))

        parts = [
            cross_fitted(folds, fit_predict, told(repeat), forward=self.forward)
            for repeat, folds in enumerate(self.folds)
        ]
        return np.concatenate(parts)

    def splits(self, repeat: int, at: NDArray[np.intp]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Numbers of training and held-out rows among those at hand, fold by fold."""
        folds = self.folds[repeat, at]
        numbers = np.unique(folds)[int(self.forward) :]
        return [
            (np.flatnonzero(folds < k if self.forward else folds != k), np.flatnonzero(folds == k)) for k in numbers
        ]

    def cross_learned(self, learn_apply: Callable[[Mask, Mask], NDArray[Any]]) -> NDArray[Any]:
        """What `learn_apply(train, test)` learns from held-out predictions of some folds and says about another.

        Its masks are over all predictions; those to learn from are of the same time as those that are asked about. If
        folds follow each other in time, nothing is said about the first for which there are predictions (nan).
        """
        parts, n = [], len(self.codes)
        for start, folds in zip(range(0, n * len(self.folds), n), self.folds - int(self.forward), strict=True):

            def within(train: Mask, test: Mask, start: int = start) -> NDArray[Any]:
                sides = np.zeros((2, len(self.folds) * n), dtype=bool)
                sides[:, start : start + n] = train, test
                return learn_apply(sides[0], sides[1])

            parts.append(cross_fitted(folds, within, forward=self.forward))
        return np.concatenate(parts)


def _column(values: ArrayLike, n_rows: int, name: str) -> NDArray[Any]:
    """What a user gave for every row, as the positions of its sorted distinct values."""
    require_values(values, name)
    column = np.asarray(values)
    if name == "time" and column.dtype.kind not in "biufmM":
        column = _dates(column)
    if column.shape != (n_rows,):
        raise ValueError(f"{name} must have an entry for each of {n_rows} rows, got shape {column.shape}.")
    if missing_in(column).any():
        raise ValueError(f"{name} is missing in row {int(missing_in(column).argmax())}; leave out such rows.")
    return np.unique(column, return_inverse=True)[1]


def _dates(column: NDArray[Any]) -> NDArray[Any]:
    """Texts or objects as dates: in the order of texts the tenth would come before the second."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="no explicit representation of timezones")  # all become UTC
            return column.astype("datetime64[us]")
    except (TypeError, ValueError) as error:
        raise ValueError(f"time must be numbers or dates such as 2024-05-31, got {column.flat[0]!r}.") from error


def _check_oldest(codes: NDArray[Any], classes: NDArray[Any], oldest: Mask) -> None:
    counts = np.bincount(codes[oldest], minlength=len(classes))
    if counts.min() < 2:
        label = classes.tolist()[int(counts.argmin())]
        raise ValueError(
            f"the oldest {oldest.sum():,} rows, from which the first model learns, have {counts.min()} of class "
            f"{label!r}, but 2 are needed; use fewer folds."
        )
