"""Rows that lie in memory: dense arrays in either order, float32 or float64, and scipy.sparse."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from threadpoolctl import ThreadpoolController

from properly.engines.base import Engine, Given, S, add_up, combine_weights
from properly.inputs.features import checked_features
from properly.inputs.labels import checked_labels
from properly.inputs.weights import checked_offset, checked_weight
from properly.kernels import Block
from properly.numeric.arrays import namespace
from properly.numeric.probabilities import Array

BLOCK_BYTES = 2**21  # small enough for the cache, large enough for threads not to wait for each other
_CHUNK = 4  # blocks that are added up together, so that sums do not depend on the number of threads
_SAMPLE_ROWS = 4096  # a sample has at least so many


class MemoryEngine(Engine):
    """Arrays cut into blocks that fit the cache; large ones are added up by several threads."""

    thin: ClassVar[int] = 6  # a sample is every sixth row

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
        n_rows, n_features = X.shape
        row_bytes = 12 * max(1, X.nnz // max(1, n_rows)) if sparse.issparse(X) else 8 * max(1, n_features)
        self.block_rows = int(np.clip(BLOCK_BYTES // row_bytes, 64, 2**16))

    @classmethod
    def of_training_data(
        cls, estimator: BaseEstimator, X: Any, y: Given, sample_weight: Given, offset: Given
    ) -> tuple[Engine, NDArray[Any]]:
        X = checked_features(estimator, X, reset=True)
        classes, codes = checked_labels(y, X.shape[0])
        weight = checked_weight(sample_weight, X.shape[0])
        offset = checked_offset(offset, X.shape[0], len(classes))
        return cls(X, codes.astype(np.intp), weight, offset), classes

    @classmethod
    def of_new_data(cls, estimator: Any, X: Any, offset: Given) -> Engine:
        X = checked_features(estimator, X, reset=False)
        offset = checked_offset(offset, X.shape[0], len(estimator.classes_))
        return cls(X, np.broadcast_to(np.intp(0), X.shape[0]), offset=offset)

    def rows(self, which: Any) -> Block:
        """Some of the rows, by a slice or by their numbers."""
        weight, offset, fold = (None if x is None else x[which] for x in (self.weight, self.offset, self.fold))
        return Block(self.X[which], self.y[which], weight, offset, fold)

    def block(self, start: int) -> Block:
        block = self.rows(slice(start, start + self.block_rows))
        return block if block.X.dtype == np.float64 else block._replace(X=block.X.astype(np.float64))

    def blocks(self) -> Iterator[Block]:
        """The blocks, in the same order every time."""
        return (self.block(start) for start in self._starts())

    def map(self, function: Callable[[Block], Any]) -> Any:
        return function(Block(self.X, self.y, self.weight, self.offset, self.fold))  # at once: nothing to join

    def _starts(self) -> range:
        return range(0, self.X.shape[0], self.block_rows)

    def reduce(self, kernel: Callable[..., S], *params: Any) -> S:
        starts = self._starts()
        chunks = [starts[i : i + _CHUNK] for i in range(0, len(starts), _CHUNK)]

        def add_chunk(chunk: range) -> S:
            return add_up(kernel(self.block(start), *params) for start in chunk)

        threads = number_of_threads() if len(chunks) > 1 else 1
        if threads == 1:
            return add_up(map(add_chunk, chunks))
        with one_blas_thread(os.getpid()):  # each of ours calls BLAS for itself
            return add_up(_pool(threads, os.getpid()).map(add_chunk, chunks))

    def reweighted(self, class_factor: Array) -> Engine:
        return type(self)(self.X, self.y, combine_weights(self.weight, self.y, class_factor), self.offset, self.fold)

    def training(self, split: int) -> MemoryEngine:
        """The rows that train in one split; the others have weight 0."""
        xp, fold = namespace(self.y), cast("NDArray[np.int8]", self.fold)
        trains = xp.astype(fold[:, split] > 0, xp.float64)
        return type(self)(self.X, self.y, trains if self.weight is None else trains * self.weight, self.offset)

    def thinned(self) -> Engine | None:
        if self.X.shape[0] < self.thin * max(_SAMPLE_ROWS, 50 * self.X.shape[1]):
            return None
        return type(self)(*self.rows(slice(None, None, self.thin)))


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
