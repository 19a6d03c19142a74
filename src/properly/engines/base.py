"""An engine is anything that can add up a kernel over blocks of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from properly.kernels import Block, Statistic
from properly.numeric.probabilities import Array

S = TypeVar("S", bound=Statistic)
Given = ArrayLike | None  # what users may leave out


class Engine(ABC):
    """Rows in blocks. `reduce` adds a kernel's statistics over all of them, always in the same order.

    A subclass defines the four abstract methods; two of them check what users pass as X and make the engine from it.
    """

    @classmethod
    @abstractmethod
    def of_training_data(
        cls, estimator: BaseEstimator, X: Any, y: Given, sample_weight: Given, offset: Given
    ) -> tuple[Engine, NDArray[Any]]:
        """The engine over checked rows to fit, and the sorted classes; records the features on the estimator."""

    @classmethod
    @abstractmethod
    def of_new_data(cls, estimator: Any, X: Any, offset: Given) -> Engine:
        """The engine over checked rows with the features of a fitted estimator; labels and weights are not read."""

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """The blocks, in the same order every time."""

    def reduce(self, kernel: Callable[..., S], *params: Any) -> S:
        """The sum of ``kernel(block, *params)`` over all blocks."""
        return add_up(kernel(block, *params) for block in self.blocks())

    def map(self, function: Callable[[Block], Any]) -> Iterator[Any]:
        """``function(block)`` of every block, in order: for prediction."""
        return (function(block) for block in self.blocks())

    @abstractmethod
    def reweighted(self, class_factor: Array) -> Engine:
        """The same rows, every weight times the factor of the row's class."""

    def thinned(self) -> Engine | None:
        """An engine over a sample of the rows, for a first fit to start from; None where that would not pay."""
        return None


def combine_weights(weight: Array | None, codes: NDArray[np.intp], class_factor: Array | None) -> Array | None:
    """The weights of rows times the factors of their classes; None stands for 1 in either."""
    if class_factor is None:
        return weight
    return class_factor[codes] if weight is None else weight * class_factor[codes]


def add_up(statistics: Iterator[S]) -> S:
    total = next(statistics, None)
    if total is None:
        raise ValueError("there are no rows: the data are empty, or their source can be read only once.")
    for statistic in statistics:
        total = total + statistic
    return total
