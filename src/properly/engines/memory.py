"""Rows that lie in memory: dense arrays in either order, float32 or float64, and scipy.sparse."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from threading import Lock
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from threadpoolctl import ThreadpoolController

from properly.engines.base import Engine, Given, S, add_up, combine_weights
from properly.engines.folds import checked_keys
from properly.inputs.features import checked_features
from properly.inputs.finite import is_finite
from properly.inputs.labels import checked_labels
from properly.inputs.weights import checked_offset, checked_weight
from properly.kernels import Block, LinearModel
from properly.numeric.arrays import namespace
from properly.numeric.probabilities import Array

BLOCK_BYTES = 2**21  # small enough for the cache, large enough for threads not to wait for each other
_BLOCK_ROWS = 1024  # at least: products of matrices need them
_CHUNK = 4  # blocks that are added up together, so that sums do not depend on the number of threads
_SAMPLE_ROWS = 4096  # a sample has at least so many
_LEAST = 2000  # rows of a sample for a curvature: with fewer nothing is gained
_SPARSEST = 12  # one row in so many: a row far out, if it is among them, counts that much too much
_WIDE = 400  # columns: from here on a fit takes dozens of passes, for which a copy in float32 pays
_SMALLEST_COPY, _LARGEST_COPY = 2**21, 2**28  # bytes of it: smaller tables lie in the cache, larger ones take memory


class MemoryEngine(Engine):
    """Arrays cut into blocks that fit the cache; large ones are added up by several threads."""

    thin: ClassVar[int] = 6  # a sample is every sixth row
    group: NDArray[Any] | None = None  # the keys of rows that belong into the same fold

    def __init__(
        self,
        X: Any,
        y: NDArray[np.intp],
        weight: Array | None = None,
        offset: Array | None = None,
        fold: NDArray[np.int8] | None = None,
    ) -> None:
        self.X = X.tocsr() if sparse.issparse(X) else X
        self.y, self.weight, self.offset, self.fold = y, weight, offset, fold
        self.cut: dict[int, Any] = {}  # sparse blocks, which take longer to cut than to add up
        self.refuse: Callable[[], Any] | None = None  # says what is wrong with X, whose values were not checked yet
        self.single: Engine | None = None  # the same rows in float32, once they were asked for
        n_rows, n_features = X.shape
        row_bytes = 12 * max(1, X.nnz // max(1, n_rows)) if sparse.issparse(X) else 8 * max(1, n_features)
        self.block_rows = int(np.clip(BLOCK_BYTES // row_bytes, _BLOCK_ROWS, 2**16))

    @classmethod
    def of_training_data(
        cls, estimator: BaseEstimator, X: Any, y: Given, sample_weight: Given, offset: Given, group: Given = None
    ) -> tuple[Engine, NDArray[Any]]:
        X = checked_features(estimator, X, reset=True)
        classes, codes = checked_labels(y, X.shape[0])
        weight = checked_weight(sample_weight, X.shape[0])
        offset = checked_offset(offset, X.shape[0], len(classes))
        engine = cls(X, codes.astype(np.intp), weight, offset)
        engine.group = checked_keys(group, X.shape[0])
        return engine, classes

    @classmethod
    def of_new_data(cls, estimator: Any, X: Any, offset: Given) -> Engine:
        table = checked_features(estimator, X, reset=False, finite=False)
        offset = checked_offset(offset, table.shape[0], len(estimator.classes_))
        engine = cls(table, np.broadcast_to(np.intp(0), table.shape[0]), offset=offset)
        if table is X:  # its values are looked at block by block, while they are in the cache
            engine.refuse = partial(checked_features, estimator, X, reset=False)
        return engine

    def rows(self, which: Any) -> Block:
        """Some of the rows, by a slice or by their numbers."""
        return self._beside(self.X[which], which)

    def _beside(self, X: Any, which: Any) -> Block:
        weight, offset, fold = (None if x is None else x[which] for x in (self.weight, self.offset, self.fold))
        return Block(X, self.y[which], weight, offset, fold)

    def block(self, start: int) -> Block:
        which = slice(start, start + self.block_rows)
        if not sparse.issparse(self.X):
            return self._beside(self.X[which].astype(np.float64, copy=False), which)
        if start not in self.cut:
            self.cut[start] = _rows_in_place(self.X, which)
        return self._beside(self.cut[start], which)

    def blocks(self) -> Iterator[Block]:
        """The blocks, in the same order every time."""
        return (self.block(start) for start in self._starts())

    def map(self, function: Callable[[Block], Any]) -> Any:
        if sparse.issparse(self.X):
            return function(Block(self.X, self.y, self.weight, self.offset, self.fold))
        starts, first = self._starts(), self._part(function, 0)
        if len(starts) == 1:
            return first
        found = np.empty((self.X.shape[0], *first.shape[1:]), first.dtype)
        found[: len(first)] = first

        def fill(start: int) -> None:
            found[start : start + self.block_rows] = self._part(function, start)

        threads = number_of_threads()
        if threads == 1:
            for start in starts[1:]:
                fill(start)
        else:
            with one_blas_thread(os.getpid()):
                list(_pool(threads, os.getpid()).map(fill, starts[1:]))
        return found

    def _part(self, function: Callable[[Block], Any], start: int) -> Any:
        block = self.block(start)
        if self.refuse is not None and not is_finite(block.X):
            self.refuse()
        return function(block)

    def _starts(self) -> range:
        return range(0, self.X.shape[0], self.block_rows)

    def reduce(self, kernel: Callable[..., S], *params: Any) -> S:
        starts = self._starts()
        size = _CHUNK if len(starts) > 8 * _CHUNK else 1
        chunks = [starts[i : i + size] for i in range(0, len(starts), size)]

        def add_chunk(chunk: range) -> S:
            return add_up(kernel(self.block(start), *params) for start in chunk)

        threads = number_of_threads() if len(chunks) > 1 else 1
        if threads == 1:
            return add_up(map(add_chunk, chunks))
        with one_blas_thread(os.getpid()):  # each of ours calls BLAS for itself
            return add_up(_pool(threads, os.getpid()).map(add_chunk, chunks))

    def reweighted(self, class_factor: Array) -> Engine:
        return type(self)(self.X, self.y, combine_weights(self.weight, self.y, class_factor), self.offset, self.fold)

    def rough(self, model: LinearModel) -> Engine | None:
        if self.single is None and self._copies(model):
            X = self.X.astype(np.float32, copy=False)
            self.single = _SinglePrecision(X, self.y, self.weight, self.offset)
        return self.single

    def _copies(self, model: LinearModel) -> bool:
        """Whether a copy in float32 pays, and loses nothing but digits."""
        return (
            isinstance(self.X, np.ndarray)
            and model.center is None
            and self.X.shape[1] > _WIDE
            and _SMALLEST_COPY <= 4 * self.X.size <= _LARGEST_COPY
        )

    def training(self, split: int) -> MemoryEngine:
        """The rows that train in one split; the others have weight 0."""
        xp, fold = namespace(self.y), cast("NDArray[np.int8]", self.fold)
        trains = xp.astype(fold[:, split] > 0, xp.float64)
        return type(self)(self.X, self.y, trains if self.weight is None else trains * self.weight, self.offset)

    def thinned(self) -> Engine | None:
        if self.X.shape[0] < self.thin * max(_SAMPLE_ROWS, 50 * self.X.shape[1]):
            return None
        return type(self)(*self.rows(slice(None, None, self.thin)))

    def sampled(self, rows: int) -> tuple[Engine, float] | None:
        every = min(self.X.shape[0] // max(rows, _LEAST), _SPARSEST)
        if every < 3:
            return None
        sample = type(self)(*self.rows(slice(None, None, every)))
        if self.weight is None:
            return sample, sample.X.shape[0] / self.X.shape[0]
        whole, part = (float(namespace(x).sum(x)) for x in (self.weight, cast(Array, sample.weight)))
        share = part / whole
        return (sample, share) if share > 0.0 else None


class _SinglePrecision(MemoryEngine):
    """Rows whose products with coefficients are computed in float32; what is added up over blocks is float64."""

    def block(self, start: int) -> Block:
        return self.rows(slice(start, start + self.block_rows))

    def rough(self, model: LinearModel) -> Engine | None:
        return None


def _rows_in_place(X: Any, which: slice) -> Any:
    """Rows of a CSR matrix that share its memory."""
    ends = X.indptr[which.start : which.stop + 1]
    entries = slice(int(ends[0]), int(ends[-1]))
    shape = (len(ends) - 1, X.shape[1])
    data = X.data[entries].astype(np.float64, copy=False)
    return type(X)((data, X.indices[entries], ends - ends[0]), shape=shape, copy=False)


def number_of_threads() -> int:
    """As many as BLAS would use, so that one setting (OMP_NUM_THREADS, threadpoolctl, joblib) governs both."""
    return max((library["num_threads"] for library in _blas().info()), default=1)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


class _OneBlasThread:
    """Limits BLAS to one thread while anything runs inside: the first to enter sets the limit, the last lifts it."""

    def __init__(self) -> None:
        self.lock, self.users = Lock(), 0

    def __enter__(self) -> None:
        with self.lock:
            if self.users == 0:
                self.limit = _blas().limit(limits=1)
            self.users += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.limit.restore_original_limits()


@cache
def one_blas_thread(process: int) -> _OneBlasThread:
    return _OneBlasThread()


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """A pool per process: threads do not survive a fork."""
    return ThreadPoolExecutor(threads, thread_name_prefix="properly")
