"""An engine is anything that can add up a kernel over blocks of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from properly.kernels import Block, LinearModel, Statistic
from properly.numeric.functions import entries
from properly.numeric.probabilities import Array

S = TypeVar("S", bound=Statistic)
Given = ArrayLike | None  # what users may leave out


class Engine(ABC):
    """Rows, wherever they are. `reduce` adds a kernel's statistics over all of them, always in the same order.

    Two class methods check what users pass as X and make the engine from it. Rows that are not in memory are best left
    to `properly.engines.partitioned.PartitionedEngine`, which has everything but the way to the rows.
    """

    passes_are_dear: ClassVar[bool] = False
    """Whether reading the rows takes so long that a solver should have gradient and curvature from every pass."""

    @classmethod
    @abstractmethod
    def of_training_data(
        cls, estimator: BaseEstimator, X: Any, y: Given, sample_weight: Given, offset: Given, group: Given = None
    ) -> tuple[Engine, NDArray[Any]]:
        """The engine over checked rows to fit, and the sorted classes; records the features on the estimator.

        `group` has the keys by which folds are made, for models that make folds.
        """

    @classmethod
    @abstractmethod
    def of_new_data(cls, estimator: Any, X: Any, offset: Given) -> Engine:
        """The engine over checked rows with the features of a fitted estimator; labels and weights are not read."""

    @abstractmethod
    def reduce(self, kernel: Callable[..., S], *params: Any) -> S:
        """The sum of ``kernel(block, *params)`` over all blocks."""

    @abstractmethod
    def map(self, function: Callable[[Block], Any]) -> Any:
        """``function(block)``, which has an entry for every row, of all rows: for prediction."""

    @abstractmethod
    def reweighted(self, class_factor: Array) -> Engine:
        """The same rows, every weight times the factor of the row's class."""

    @abstractmethod
    def training(self, split: int) -> Engine:
        """The rows that train in one split of those by which `fold` was set; the others have weight 0."""

    @property
    def n_passes(self) -> int | None:
        """How often the rows were read, for engines that count it."""
        return None

    def release(self) -> None:  # noqa: B027 - most have nothing to release
        """Let go of what is kept elsewhere for further passes."""

    def rough(self, model: LinearModel) -> Engine | None:
        """The same rows with gradients of this model in float32, much faster; None where there is no such thing."""
        return None

    def thinned(self) -> Engine | None:
        """An engine over a sample of the rows, for a first fit to start from; None where that would not pay."""
        return None

    def sampled(self, rows: int) -> tuple[Engine, float] | None:
        """An engine over some of the rows, at least so many, and their share; None where that saves little."""
        return None


def combine_weights(weight: Array | None, codes: NDArray[np.intp], class_factor: Array | None) -> Array | None:
    """The weights of rows times the factors of their classes; None stands for 1 in either."""
    if class_factor is None:
        return weight
    factor = entries(class_factor, codes)
    return factor if weight is None else weight * factor


def add_up(statistics: Iterable[S | None]) -> S:
    """The sum, in the order given; None, of no rows, counts for nothing."""
    total = total_of(statistics)
    if total is None:
        raise ValueError("there are no rows: the data are empty, or their source can be read only once.")
    return total


def total_of(statistics: Iterable[S | None]) -> S | None:
    """The same, or None if there is nothing to add."""
    total: S | None = None
    for statistic in statistics:
        if statistic is not None:
            total = statistic if total is None else total + statistic
    return total
