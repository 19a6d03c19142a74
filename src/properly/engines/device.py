"""Rows in arrays of PyTorch or CuPy: they stay on their card, where blocks of them are added up and predicted."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from properly import kernels
from properly.engines.base import Engine, Given, S, add_up, combine_weights
from properly.engines.folds import checked_keys
from properly.engines.fused import covers, fused_sums
from properly.engines.memory import MemoryEngine
from properly.engines.room import chosen_bytes, within_memory
from properly.inputs.features import checked_tensor
from properly.inputs.labels import checked_labels
from properly.inputs.weights import checked_offset, checked_weight
from properly.kernels import Block, LinearModel
from properly.numeric.arrays import (
    Array,
    anywhere,
    as_integers,
    constant,
    fused_for,
    is_foreign,
    namespace,
    require_one_library,
)

T = TypeVar("T")
_WITHOUT_FEATURES = (kernels.classes, kernels.offset_range)  # need no blocks
_ON_A_CARD, _ON_THE_HOST = 2**29, 2**22  # bytes: a card needs much work for every call, the host's cache is small
_COPIES = 4  # of a block, that a curvature matrix makes at most
_SCORE_BYTES = 128  # of a row, where a prediction makes no copy of its features: probabilities, and what they need


class DeviceEngine(MemoryEngine):
    """Arrays of PyTorch or CuPy, on a card or on the host, cut into blocks that are large enough for a card.

    Every block is computed with in float64, whatever its type. Sums are added up where the blocks are, and brought to
    the host once a pass.
    """

    thin = 16  # a card has so many rows that a smaller share is enough, and its sums cost little
    rough_arithmetic = False

    def __init__(self, X: Any, y: Any, weight: Any = None, offset: Any = None, fold: Any = None) -> None:
        super().__init__(X, y, weight, offset, constant(fold, X) if isinstance(fold, np.ndarray) else fold)
        default = _ON_THE_HOST if "cpu" in str(X.device).lower() else _ON_A_CARD
        self.block_bytes = chosen_bytes(default)
        self.block_rows = max(1, self.block_bytes // (8 * max(1, X.shape[1])))

    @classmethod
    def of_training_data(
        cls, estimator: BaseEstimator, X: Any, y: Given, sample_weight: Given, offset: Given, group: Given = None
    ) -> tuple[Engine, NDArray[Any]]:
        require_one_library(X=X, y=y if is_foreign(y) else None, sample_weight=sample_weight, offset=offset)
        X = checked_tensor(estimator, X, reset=True)

        def read() -> tuple[Engine, NDArray[Any]]:
            classes, codes = checked_labels(y, X.shape[0], like=X)
            weight = checked_weight(sample_weight, X.shape[0], like=X)
            engine = cls(X, codes, weight, checked_offset(offset, X.shape[0], len(classes), like=X))
            engine.group = checked_keys(group, X.shape[0])
            return engine, classes

        return within_memory(read, "labels, weights and offsets", 24 * X.shape[0], "free some of it.")

    @classmethod
    def of_new_data(cls, estimator: Any, X: Any, offset: Given) -> Engine:
        require_one_library(X=X, offset=offset)
        X = checked_tensor(estimator, X, reset=False)
        offset = checked_offset(offset, X.shape[0], len(estimator.classes_), like=X)
        return cls(X, namespace(X).zeros(X.shape[0], dtype=namespace(X).int8, device=X.device), offset=offset)

    def rows(self, which: Any) -> Block:
        weight, offset, fold = (None if x is None else _rows(x, which) for x in (self.weight, self.offset, self.fold))
        return Block(_rows(self.X, which), _rows(self.y, which), weight, offset, fold)

    def block(self, start: int) -> Block:
        block, xp = self.rows(slice(start, min(start + self.block_rows, self.X.shape[0]))), namespace(self.X)
        return block._replace(X=xp.astype(block.X, xp.float64, copy=False), y=as_integers(block.y))

    def reduce(self, kernel: Callable[..., S], *params: Any) -> S:
        def added() -> S:
            fused = fused_sums(self, kernel, params)
            if fused is not None:
                return cast(S, fused)
            blocks = [self.rows(slice(None))] if kernel in _WITHOUT_FEATURES else self.blocks()
            return add_up(kernel(block, *params) for block in blocks).on_host()

        return self._in_blocks(added)

    def rough(self, model: LinearModel) -> Engine | None:
        if self.X.dtype == namespace(self.X).float64 or not covers(self, model, want_value=False):
            return None
        new = copy.copy(self)
        new.rough_arithmetic = True
        return new

    def map(self, function: Callable[[Block], Any]) -> Any:
        return self._in_blocks(lambda: self._mapped(function))

    def _mapped(self, function: Callable[[Block], Any]) -> Any:
        self._require_finite()
        n, rows = self.X.shape[0], self.block_rows
        if fused_for(self.X) is not None:
            rows = max(rows, min(_COPIES * rows, self.block_bytes // _SCORE_BYTES))
        if n <= rows:
            return function(self.rows(slice(None)))
        result: Any = None
        for start in range(0, n, rows):
            which = slice(start, min(start + rows, n))
            part = function(self.rows(which))
            if result is None:
                result = namespace(part).empty((n, *part.shape[1:]), dtype=part.dtype, device=part.device)
            result[which, ...] = part
        return result

    def _require_finite(self) -> None:
        """The sum of the features is finite only if all are; if it is not, it may have overflowed, and all are seen."""
        xp = namespace(self.X)
        if not xp.isdtype(self.X.dtype, "real floating"):
            return
        kind = xp.float64 if self.X.dtype == xp.float64 else xp.float32  # half precision would overflow
        with np.errstate(all="ignore"):
            total = float(xp.sum(self.X, dtype=kind))
        if not math.isfinite(total) and anywhere(~xp.isfinite(self.X)):
            raise ValueError("X must be finite; drop or impute missing values first.")

    def reweighted(self, class_factor: Array) -> Engine:
        weight = combine_weights(self.weight, as_integers(self.y), class_factor)
        return type(self)(self.X, self.y, weight, self.offset, self.fold)

    def _in_blocks(self, work: Callable[[], T]) -> T:
        size = 8 * self.block_rows * self.X.shape[1]
        remedy = f"use smaller blocks: with properly.engines.block_bytes({max(1, size // 8)}): ..."
        return within_memory(work, f"blocks of {self.block_rows:,} rows", _COPIES * size, remedy)


def _rows(x: Any, which: Any) -> Any:
    """Some of the rows of an array, by a slice or by their numbers."""
    return x[which, ...] if isinstance(which, slice) else namespace(x).take(x, constant(which, x), axis=0)
