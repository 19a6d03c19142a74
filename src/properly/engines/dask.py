"""Dask arrays and data frames: their parts stay on the workers, and only sums come to the client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from properly.engines.base import Given
from properly.engines.dask_parts import DaskParts, lazily
from properly.engines.dask_tasks import first_done, tried
from properly.engines.description import Part
from properly.engines.partitioned import PartitionedEngine, mapped, no_rows
from properly.inputs.optional import require
from properly.kernels import Block

T = TypeVar("T")
_TOGETHER = 16  # results that come to the client at once


class DaskEngine(PartitionedEngine):
    """Every chunk of an array, or partition of a frame, with the labels, weights and offsets that belong to it."""

    counts_rows = True
    client: Any

    def __init__(
        self, X: Any, y: Given = None, sample_weight: Given = None, offset: Given = None, group: Given = None
    ) -> None:
        found = DaskParts(X, y=y, sample_weight=sample_weight, offset=offset, group=group)
        self.parts, self.chunks = found.parts, found.chunks
        self.feature_names, self.shape = found.feature_names, found.shape

    def prepare(self, several: bool) -> None:
        """From here on the parts are on the workers."""
        try:
            self.client = require("distributed", "dask").get_client()
        except ValueError as error:
            raise ValueError("sums over Dask data need a client; begin with distributed.Client().") from error
        self.parts = self.client.compute(self.parts)

    def visit(self, function: Callable[[Part, int], T]) -> Iterator[T]:
        work, done = partial(tried, function), 0
        futures = self.client.map(work, self.parts, range(len(self.parts)), pure=False)
        try:
            while done < len(futures):
                results = first_done(self.client, futures[done : done + _TOGETHER])
                yield from results
                done += len(results)
        finally:  # also when the user interrupts: nothing keeps running
            with suppress(Exception):
                self.client.cancel(futures)

    def release(self) -> None:
        self.parts.clear()  # also for engines of other weights: what nobody holds the scheduler lets go

    def map(self, function: Callable[[Block], Any]) -> Any:
        """A dask array, of which nothing is computed yet."""
        nothing = function(no_rows(self.estimator))
        return lazily(partial(mapped, self.estimator, function), self.parts, self.chunks, nothing)
