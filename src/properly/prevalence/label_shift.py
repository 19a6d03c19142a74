"""How class proportions are found under label shift: by likelihood, or by the equations of a confusion matrix."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from properly.calibration.inputs import checked_labels
from properly.prevalence.mixture import mixing_proportions
from properly.prevalence.prior import as_columns
from properly.probabilities import Array

SINGULAR = 1e12  # a condition number beyond this is rounding: nothing can be said
_BATCH = 2_000_000  # rows drawn at a time


@dataclass(frozen=True)
class Validation:
    """Probabilities of labelled rows, class by class."""

    classes: NDArray[Any]
    by_class: list[Array]

    @classmethod
    def checked(cls, p: ArrayLike | None, y: ArrayLike | None, n_classes: int) -> Self | None:
        if p is None and y is None:
            return None
        if p is None or y is None:
            raise ValueError("p_validation and y_validation belong together; give both or neither.")
        columns = as_columns(p, "p_validation")
        classes, codes = checked_labels(y)
        if len(columns) != len(codes):
            raise ValueError(f"p_validation has {len(columns)} rows, y_validation has {len(codes)}.")
        if not columns.shape[1] == len(classes) == n_classes:
            raise ValueError(
                f"p is for {n_classes} classes, p_validation for {columns.shape[1]}, and y_validation holds "
                f"{classes.tolist()}; all must have the same number of classes."
            )
        return cls(classes, [columns[codes == code] for code in range(n_classes)])


class LabelShift(Protocol):
    """What a method makes of the data."""

    @property
    def confusion(self) -> Array:
        """(K, K): what is predicted, on average, for rows of each class, in its column."""

    @property
    def prior(self) -> Array:
        """The estimate."""

    def replicates(self, number: int, random: np.random.RandomState) -> Array:
        """The estimate from data drawn again, (number, K); nan where they say nothing."""


class _Likelihood:
    """Maximum likelihood from the target rows."""

    def __init__(self, p: Array, train: Array, validation: Validation | None) -> None:
        if validation is not None:
            raise ValueError('method="em" takes no validation data; leave them out, or choose a "bbse" method.')
        self.density = p / train
        self.prior, gap = mixing_proportions(self.density, np.full(len(p), 1.0 / len(p)), train)
        if gap > 1e-6:
            warnings.warn(
                f"the likelihood may be {gap:.1g} a row below its maximum; check p for rows that contradict it.",
                ConvergenceWarning,
                stacklevel=3,
            )

    @property
    def confusion(self) -> Array:
        """What the model expects of its own predictions at equal class proportions.

        A row stands for the target density, so that density_k/Σ π density of it stands for class k.
        """
        predicted = self.density / self.density.sum(axis=1, keepdims=True)
        own = self.density / (self.density @ self.prior)[:, None]
        total = own.sum(axis=0)
        # Where no row can belong to a class, that class is told apart.
        confusion = np.where(total > 0.0, predicted.T @ own, np.eye(len(total)))
        return np.asarray(confusion / np.where(total > 0.0, total, 1.0))

    def replicates(self, number: int, random: np.random.RandomState) -> Array:
        n, shares = len(self.density), []
        for _ in range(number):
            count = np.bincount(random.randint(n, size=n), minlength=n)
            drawn = count > 0
            shares.append(mixing_proportions(self.density[drawn], count[drawn] / n, self.prior).share)
        return np.array(shares)


class _Equations:
    """The prior that explains the mean predictions on the target rows by those on the validation rows."""

    def __init__(self, p: Array, train: Array, validation: Validation | None) -> None:
        if validation is None:
            raise ValueError('the "bbse" methods need p_validation and y_validation; method="em" does not.')
        self.target = self._predictions(p)
        self.by_class = [self._predictions(rows) for rows in validation.by_class]

    @staticmethod
    def _predictions(p: Array) -> Array:
        return p

    @property
    def confusion(self) -> Array:
        return np.column_stack([rows.mean(axis=0) for rows in self.by_class])

    @property
    def prior(self) -> Array:
        return _onto_simplex(np.linalg.solve(self.confusion, self.target.mean(axis=0)))

    def replicates(self, number: int, random: np.random.RandomState) -> Array:
        target = _resampled_means(self.target, number, random)
        confusion = np.stack([_resampled_means(rows, number, random) for rows in self.by_class], axis=2)
        usable = np.linalg.cond(confusion) <= SINGULAR
        result = np.full(target.shape, np.nan)
        result[usable] = _onto_simplex(np.linalg.solve(confusion[usable], target[usable][:, :, None])[:, :, 0])
        return result


class _HardEquations(_Equations):
    """The same for the most probable class instead of probabilities."""

    @staticmethod
    def _predictions(p: Array) -> Array:
        return np.asarray(np.eye(p.shape[1])[p.argmax(axis=1)])


METHODS: dict[str, Callable[[Array, Array, Validation | None], LabelShift]] = {
    "em": _Likelihood,
    "bbse-hard": _HardEquations,
    "bbse-soft": _Equations,
}


def _resampled_means(rows: Array, number: int, random: np.random.RandomState) -> Array:
    """The means (number, K) of as many rows, drawn with replacement."""
    n, means = len(rows), []
    for done in range(0, number, max(1, _BATCH // n)):
        size = min(max(1, _BATCH // n), number - done)
        drawn = random.randint(n, size=(size, n)) + n * np.arange(size)[:, None]
        means.append(np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n) @ rows / n)
    return np.concatenate(means)


def _onto_simplex(x: Array) -> Array:
    """The nearest distribution to each row: max(x - shift, 0), with the shift that makes the sum 1."""
    descending = -np.sort(-x, axis=-1)
    shifts = (np.cumsum(descending, axis=-1) - 1.0) / np.arange(1, x.shape[-1] + 1)
    used = np.count_nonzero(descending > shifts, axis=-1)[..., None]
    nearest = np.maximum(x - np.take_along_axis(shifts, used - 1, axis=-1), 0.0)
    return np.asarray(nearest / nearest.sum(axis=-1, keepdims=True))
