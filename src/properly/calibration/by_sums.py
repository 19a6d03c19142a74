"""Scores of more than two classes that are not in memory: calibrators get the sums that they ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from properly import kernels
from properly.engines import Engine, training_engine
from properly.engines.base import S
from properly.inputs.scores import Reader
from properly.kernels import Block, Statistic
from properly.numeric.arrays import Array


@dataclass(frozen=True)
class SummedRows:
    """Logits elsewhere, or functions of them; `reduce` adds up kernels of blocks of them."""

    engine: Engine
    functions: tuple[Callable[[Array], Array], ...]
    class_weight: Array

    @property
    def total_weight(self) -> float:
        return float(self.class_weight.sum())

    def transformed(self, function: Callable[[Array], Array]) -> SummedRows:
        return SummedRows(self.engine, (*self.functions, function), self.class_weight)

    def reduce(self, kernel: Callable[..., S], *params: Any) -> S:
        return self.engine.reduce(partial(_of_functions, self.functions, kernel), *params)


def _of_functions(
    functions: tuple[Callable[[Array], Array], ...], kernel: Callable[..., S], block: Block, *params: Any
) -> S:
    for function in functions:
        block = block._replace(X=function(np.asarray(block.X)))
    return kernel(block, *params)


@contextmanager
def summed_rows(
    learn: Callable[[Array], Reader], scores: Any, y: ArrayLike | None, sample_weight: ArrayLike | None
) -> Iterator[tuple[SummedRows, Reader, NDArray[Any]]]:
    """The rows, how they are read, and their classes."""
    with training_engine(BaseEstimator(), scores, y, sample_weight, None) as (engine, classes):
        found = engine.reduce(_extreme_rows)
        if found.rows.shape[1] != len(classes):
            raise ValueError(
                f"scores must have a column for each of the {len(classes)} sorted classes, but have "
                f"{found.rows.shape[1]}."
            )
        weight = engine.reduce(kernels.classes, len(classes)).weight
        if not weight.all():
            empty = classes[weight == 0.0].tolist()[0]
            raise ValueError(f"every row of class {empty!r} has weight 0; drop these rows.")
        reader = learn(found.rows)
        yield SummedRows(engine, (reader,), weight), reader, classes


@dataclass
class _ExtremeRows(Statistic):
    """Rows with the largest and smallest values, also among those inside (0, 1), and the sum furthest from 1.

    They tell how all rows are to be read.
    """

    rows: Array

    def __add__(self, other: Self) -> Self:
        return type(self)(_extremes(np.concatenate([self.rows, other.rows])))


def _extreme_rows(block: Block) -> _ExtremeRows:
    X = np.asarray(block.X)
    return _ExtremeRows(_extremes(X if block.weight is None else X[block.weight > 0.0]))


def _extremes(X: Array) -> Array:
    if not len(X):
        return X
    inside = np.where((X > 0.0) & (X < 1.0), X, np.nan)
    lowest, highest = np.where(np.isnan(inside), np.inf, inside), np.where(np.isnan(inside), -np.inf, inside)
    places = [X.argmin(), X.argmax(), lowest.argmin(), highest.argmax()]
    furthest = np.abs(X.sum(axis=1) - 1.0).argmax()
    return X[sorted({int(furthest), *(int(place) // X.shape[1] for place in places)})]


@dataclass
class _Largest(Statistic):
    """The largest size of a number."""

    size: float

    def __add__(self, other: Self) -> Self:
        return type(self)(max(self.size, other.size))


def largest_size(rows: SummedRows) -> float:
    return rows.reduce(_largest).size


def _largest(block: Block) -> _Largest:
    return _Largest(float(np.abs(block.X).max()))


@dataclass
class _Squares(Statistic):
    total: float


def mean_square(rows: SummedRows) -> float:
    """The weighted mean over rows of their mean square."""
    return float(rows.reduce(_squares).total) / rows.total_weight


def _squares(block: Block) -> _Squares:
    return _Squares(float(kernels.weighted(block, np.square(block.X).mean(axis=1)).sum()))
