"""Dask arrays and data frames: their parts stay on the workers, and only sums come to the client."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import numpy as np

from properly.engines.base import Given
from properly.engines.description import Part
from properly.engines.partitioned import PartitionedEngine, mapped, no_rows
from properly.inputs.frames import is_frame
from properly.inputs.optional import require
from properly.kernels import Block

T = TypeVar("T")
_PATIENCE = 15  # seconds without a connection to the scheduler


class DaskEngine(PartitionedEngine):
    """Every chunk of an array, or partition of a frame, with the labels, weights and offsets that belong to it."""

    counts_rows = True
    client: Any

    def __init__(
        self, X: Any, y: Given = None, sample_weight: Given = None, offset: Given = None, group: Given = None
    ) -> None:
        if not is_frame(X):
            X = X.rechunk({1: -1}) if X.ndim == 2 else X[:, None]
        elif X.ndim == 1:
            X = X.to_frame()
        elif all(isinstance(name, str) for name in X.columns):
            self.feature_names = list(X.columns)
        self.chunks = (math.nan,) * X.npartitions if is_frame(X) else X.chunks[0]
        self.n_rows = None if np.isnan(self.chunks).any() else sum(self.chunks)
        columns = {"y": y, "sample_weight": sample_weight, "offset": offset, "group": group}
        aligned = [self._aligned(each, name) for name, each in columns.items()]
        loaded = require("dask", "dask").delayed(_loaded)
        parts = zip(_delayed(X), *aligned, strict=True)
        self.parts: list[Any] = [loaded(f"part {number} of X", *part) for number, part in enumerate(parts)]

    def keep(self) -> None:
        """From here on the parts are on the workers."""
        try:
            self.client = require("distributed", "dask").get_client()
        except ValueError as error:
            raise ValueError("a fit to Dask data needs a client; begin with distributed.Client().") from error
        self.parts = self.client.compute(self.parts)

    def visit(self, function: Callable[[Part, int], T]) -> Iterator[T]:
        futures = self.client.map(function, self.parts, range(len(self.parts)), pure=False)
        try:
            yield from (self._result(future) for future in futures)
        finally:  # also when the user interrupts: nothing keeps running
            with suppress(Exception):
                self.client.cancel(futures)

    def release(self) -> None:
        self.parts = []  # what nobody holds the scheduler lets go

    def map(self, function: Callable[[Block], Any]) -> Any:
        """A dask array, of which nothing is computed yet."""
        dask, nothing = require("dask", "dask"), function(no_rows(self.estimator))
        work = dask.delayed(partial(mapped, self.estimator, function), pure=False)
        array = require("dask.array", "dask")
        results = [
            array.from_delayed(work(part, number), (rows, *nothing.shape[1:]), meta=nothing)
            for number, (part, rows) in enumerate(zip(self.parts, self.chunks, strict=True))
        ]
        return array.concatenate(results, allow_unknown_chunksizes=True)

    def _aligned(self, values: Any, name: str) -> list[Any]:
        """The parts of labels, weights or offsets that belong to those of X."""
        if values is None:
            return [None] * len(self.chunks)
        if not hasattr(values, "to_delayed"):
            raise ValueError(f"{name} must be a Dask array or series, like X, got a {type(values).__name__}.")
        if hasattr(values, "rechunk") and not np.isnan((*self.chunks, *values.chunks[0])).any():
            if sum(values.chunks[0]) != sum(self.chunks):
                raise ValueError(f"{name} has {sum(values.chunks[0])} rows, X has {sum(self.chunks)}.")
            values = values.rechunk({0: self.chunks} | ({1: -1} if values.ndim == 2 else {}))
        parts = _delayed(values)
        if len(parts) != len(self.chunks):
            raise ValueError(f"{name} has {len(parts)} partitions, X has {len(self.chunks)}; give both the same ones.")
        return parts

    def _result(self, future: Any) -> Any:
        """The result of a task; an error if the scheduler is gone."""
        silent = 0  # seconds
        while silent < _PATIENCE:
            try:
                return future.result(timeout=1.0)
            except (CancelledError, OSError) as error:  # what clients tell tasks that are lost, or are not done yet
                if future.status == "error":
                    raise
                if not isinstance(error, TimeoutError):
                    break
                silent = 0 if self.client.status == "running" else silent + 1
        raise ConnectionError("the Dask scheduler no longer answers; start it again, connect a new client, and refit.")


def _delayed(values: Any) -> list[Any]:
    """The parts, as they are: of every column by itself, Dask would join other small files."""
    return list(np.ravel(values.to_delayed(optimize_graph=False)))


def _loaded(place: str, X: Any, y: Any, weight: Any, offset: Any, group: Any) -> Part:
    return Part(X, y, weight, offset, group, place).converted()
