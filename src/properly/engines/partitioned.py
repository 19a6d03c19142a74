"""What engines share whose rows are not in memory: everything but the way to the rows."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from properly import kernels
from properly.engines.base import Engine, Given, S, add_up, combine_weights, total_of
from properly.engines.description import SAMPLE_BYTES, Description, Part, Sample, priorities
from properly.engines.folds import KeyedFolds
from properly.engines.memory import MemoryEngine
from properly.inputs.features import check_names
from properly.inputs.labels import encode
from properly.inputs.weights import check_offset_shape, checked_offset
from properly.kernels import Block, Statistic
from properly.numeric.probabilities import Array

T = TypeVar("T")
PARTS_A_SOURCE = 2**32  # parts are numbered anew in every file, row group or partition
_SAMPLE_ROWS = 2**18  # about so many are drawn where the number of rows is known beforehand


class PartitionedEngine(Engine):
    """Rows in parts. A subclass says how functions visit the parts, and makes an engine of what users pass as X.

    The first pass finds the classes, weights, moments and offsets, checks all values, and draws a sample, in which the
    fit has its start. Later passes add up and check nothing.
    """

    passes_are_dear: ClassVar[bool] = True
    feature_names: list[str] | None = None
    shape: tuple[int, int] | None = None  # of all rows, if that is about known before the first pass
    counts_rows: ClassVar[bool] = False  # whether it is quickly found, because parts are kept
    estimator: Any = None  # the fitted one, for prediction

    folds: KeyedFolds | None = None
    split: int | None = None  # if only the training rows of one split count
    shares: Array | None = None  # if only a random part of the rows of each class counts
    seed: int = 0

    @abstractmethod
    def __init__(
        self, X: Any, y: Given = None, sample_weight: Given = None, offset: Given = None, group: Given = None
    ) -> None:
        """From what users pass; nothing is read yet."""

    @classmethod
    def of_training_data(
        cls, estimator: BaseEstimator, X: Any, y: Given, sample_weight: Given, offset: Given, group: Given = None
    ) -> tuple[Engine, NDArray[Any]]:
        return cls(X, y, sample_weight, offset, group).trained(estimator)

    @classmethod
    def of_new_data(cls, estimator: Any, X: Any, offset: Given) -> Engine:
        return cls(X, None, None, offset).predicting(estimator)

    def prepare(self, several: bool) -> None:
        """Get ready for a pass, or for several, for which rows may be kept."""

    @abstractmethod
    def visit(self, function: Callable[[Part, int], T]) -> Iterable[T]:
        """``function(part, number)`` of every part, in the order of their numbers; statistics may come added up.

        The function can be pickled, and what it returns is small. A part may be visited twice, as after a failure.
        """

    @contextmanager
    def visited(self, function: Callable[[Part, int], T]) -> Iterator[Iterable[T]]:
        """What `visit` gives. When the block ends, also by an error in it, nothing of the visit runs any longer."""
        results = self.visit(function)
        try:
            yield results
        finally:
            if isinstance(results, Generator):
                results.close()

    def trained(self, estimator: BaseEstimator) -> tuple[Self, NDArray[Any]]:
        """The engine after its first pass, and the sorted classes; records the features on the estimator."""
        try:
            self.prepare(several=True)
            self._describe()
        except BaseException:
            self.release()
            raise
        estimator.n_features_in_ = len(self.description.summary.total)
        if self.feature_names is not None:
            check_names(estimator, self.feature_names, reset=True)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return self, self.classes

    def _describe(self) -> None:
        if self.shape is None and self.counts_rows:
            with self.visited(_size) as results:
                sizes: list[Any] = [size for size in results if size is not None]
            rows, numbers = map(int, np.sum([(0, 0), *sizes], axis=0))
            self.shape = rows, numbers // max(1, rows)
        share = 1.0
        if self.shape is not None:
            rows, n_features = self.shape
            share = min(1.0, _SAMPLE_ROWS / max(1, rows), SAMPLE_BYTES / max(1, 8 * rows * n_features))
        self._origin = self
        self.class_factor: Array | None = None
        self._passes = 1
        with self.visited(partial(Description.of, share=share, names=self.feature_names)) as described:
            self.description = add_up(described)
        self.classes = self.description.classes
        if self.description.offset_shape is not None:
            rows = self.description.n_rows
            check_offset_shape((rows, *self.description.offset_shape), rows, len(self.classes))
        self.sample: Engine = cast(Sample, self.description.sample).engine(self.classes)
        self.description.sample = None  # its rows have been copied

    def predicting(self, estimator: Any) -> Self:
        """The engine over new rows for a fitted estimator."""
        if self.feature_names is not None:
            check_names(estimator, self.feature_names, reset=False)
        self.estimator = estimator
        return self

    def reduce(self, kernel: Callable[..., S], *params: Any) -> S:
        known = self._known(kernel, params)
        if known is not None:
            return known
        self._origin._passes += 1
        rows = _Rows(self.classes, self.class_factor, self.folds, self.split, self.shares, self.seed)
        with self.visited(partial(_added, rows, kernel, params)) as results:
            found: _Pass = add_up(results)
        if found.n_rows != self.description.n_rows:
            raise ValueError(
                f"the data had {self.description.n_rows} rows in the first pass and {found.n_rows} in a later one; fit "
                "a copy that nobody writes to, or blocks that are the same in every pass."
            )
        return add_up([found.sums])

    def _known(self, kernel: Callable[..., S], params: tuple[Any, ...]) -> Any:
        """What the first pass has found already."""
        if self.split is not None or self.shares is not None:
            return None
        found, factor = self.description, self.class_factor
        if kernel is kernels.classes:
            weight = found.summary.weight if factor is None else found.summary.weight * factor
            return kernels.Classes(found.n_rows, weight)
        if kernel is kernels.moments and params[0] is None:
            return found.moments(factor)
        if kernel is kernels.first_row:
            return found.first
        if kernel is kernels.offset_range:
            low, high = (ends[params[0] if len(ends) > 1 else 0] for ends in found.offsets)
            return kernels.OffsetRange(float(low), float(high))
        return None

    def map(self, function: Callable[[Block], Any]) -> Any:
        with self.visited(partial(mapped, self.estimator, function)) as results:
            return self.joined(results, function)

    def joined(self, results: Iterable[Any], function: Callable[[Block], Any]) -> Any:
        """The results of a function for all parts in one array, also if there are no rows."""
        return np.concatenate([function(no_rows(self.estimator)), *results])

    def reweighted(self, class_factor: Array) -> Self:
        new = copy.copy(self)
        new.class_factor = class_factor if self.class_factor is None else self.class_factor * class_factor
        new.sample = self.sample.reweighted(class_factor)
        return new

    def with_folds(self, folds: KeyedFolds) -> Self:
        new = copy.copy(self)
        new.folds = folds
        return new

    def training(self, split: int) -> Self:
        new = copy.copy(self)
        new.split = split
        return new

    def undersampled(self, seed: int) -> Self:
        """All rows of the rarest class, and about as many of every other; rows of weight 0 do not count."""
        new, rows = copy.copy(self), self.description.summary.rows
        new.shares, new.seed = rows.min() / rows, seed
        new.sample = self.sample.reweighted(new.shares)
        return new

    def thinned(self) -> Engine | None:
        return self.sample

    def sampled(self, rows: int) -> tuple[Engine, float] | None:
        if self.split is not None or self.shares is not None:
            return None
        n_classes = len(self.classes)
        drawn, whole = (each.reduce(kernels.classes, n_classes) for each in (self.sample, self))
        if drawn.rows < rows or not drawn.weight.sum() > 0.0:
            return None
        return self.sample, float(drawn.weight.sum() / whole.weight.sum())

    @property
    def n_passes(self) -> int:
        return self._origin._passes  # that of engines with other weights included


def refuse_beside(X: str, **columns: Any) -> None:
    """For kinds of X that bring their own columns."""
    for name, given in columns.items():
        if given is not None:
            raise ValueError(f"{name} must come inside {X}.")


def _size(part: Part, number: int) -> NDArray[np.int64]:
    """The number of rows, and that of the numbers in them."""
    return np.array([part.X.shape[0], part.X.size], dtype=np.int64)  # of a sparse matrix its entries


def no_rows(estimator: Any) -> Block:
    """A block with the features of a fitted estimator and no rows."""
    return Block(np.empty((0, estimator.n_features_in_)), np.empty(0, dtype=np.intp))


class _Rows(NamedTuple):
    """What makes blocks of parts."""

    classes: NDArray[Any]
    class_factor: Array | None
    folds: KeyedFolds | None
    split: int | None
    shares: Array | None
    seed: int

    def engine(self, part: Part, number: int) -> MemoryEngine:
        X, y, weight, offset, group, _ = part
        codes = encode(y, self.classes)
        fold = None if self.folds is None else self.folds.roles(X, group)
        engine = MemoryEngine(X, codes, combine_weights(weight, codes, self.class_factor), offset, fold)
        if self.shares is not None:
            drawn = priorities(len(codes), self.seed, number) < self.shares[codes]
            engine = MemoryEngine(*engine.rows(np.flatnonzero(drawn)))
        return engine if self.split is None else engine.training(self.split)


@dataclass(frozen=True)
class _Pass(Statistic):
    """The number of rows, before some are drawn, and the sums over them."""

    n_rows: int
    sums: Any  # a statistic, or None

    def __add__(self, other: Self) -> Self:
        return replace(self, n_rows=self.n_rows + other.n_rows, sums=total_of([self.sums, other.sums]))


def _added(rows: _Rows, kernel: Callable[..., S], params: tuple[Any, ...], part: Part, number: int) -> _Pass:
    part = part.converted()
    n_rows = int(part.X.shape[0])
    engine = rows.engine(part, number) if n_rows else None
    return _Pass(n_rows, engine.reduce(kernel, *params) if engine and engine.X.shape[0] else None)


def mapped(estimator: Any, function: Callable[[Block], Any], part: Part, number: int) -> Any:
    X, _, _, offset, _, place = part._replace(y=None, weight=None, group=None).checked(
        getattr(estimator, "feature_names_in_", None)
    )
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but the model was fitted with {estimator.n_features_in_} ({place})."
        )
    offset = checked_offset(offset, X.shape[0], len(estimator.classes_))
    return function(Block(X, np.broadcast_to(np.intp(0), X.shape[0]), offset=offset))
