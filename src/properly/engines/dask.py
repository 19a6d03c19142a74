"""Dask arrays and data frames: their parts stay on the workers, and only sums come to the client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from itertools import takewhile
from typing import Any, TypeVar

from properly.engines.base import Given
from properly.engines.dask_parts import DaskParts, lazily
from properly.engines.description import Part
from properly.engines.partitioned import PartitionedEngine, mapped, no_rows
from properly.inputs.optional import require
from properly.kernels import Block

T = TypeVar("T")
_PATIENCE = 15  # seconds without a connection to the scheduler
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
            raise ValueError("a fit to Dask data needs a client; begin with distributed.Client().") from error
        self.parts = self.client.compute(self.parts)

    def visit(self, function: Callable[[Part, int], T]) -> Iterator[T]:
        futures, done = self.client.map(function, self.parts, range(len(self.parts)), pure=False), 0
        try:
            while done < len(futures):
                results = self._results(futures[done : done + _TOGETHER])
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

    def _results(self, futures: list[Any]) -> list[Any]:
        """What the first tasks gave that are done, at least one of them; an error if the scheduler is gone."""
        silent, wait = 0, require("distributed", "dask").wait  # seconds
        while silent < _PATIENCE:
            try:
                wait(futures[0], timeout=1.0)
                done = list(takewhile(lambda future: future.status == "finished", futures))
                return list(self.client.gather(done)) if done else [futures[0].result(timeout=1.0)]
            except (CancelledError, OSError) as error:  # what clients tell tasks that are lost, or are not done yet
                if futures[0].status == "error":
                    raise
                if not isinstance(error, TimeoutError):
                    if self.client.status == "running":
                        raise RuntimeError("Dask has cancelled tasks, as a restart does; fit again.") from error
                    break
                silent = 0 if self.client.status == "running" else silent + 1
        raise ConnectionError("the Dask scheduler no longer answers; start it again, connect a new client, and refit.")
