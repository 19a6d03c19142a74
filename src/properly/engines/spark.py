"""Spark data frames: their rows are kept on the disks of the executors, and only sums come to the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from properly.engines.base import Engine, Given
from properly.engines.description import Part
from properly.engines.partitioned import PartitionedEngine, refuse_beside
from properly.engines.spark_frame import Spark
from properly.engines.spark_rows import limited_jobs, named_jobs, of_stored, prepared, removed, stored, totals, visited
from properly.inputs.optional import require

T = TypeVar("T")
_PATIENCE = 10.0  # seconds that the removal of files may take; then they stay until the executor ends


class SparkEngine(PartitionedEngine):
    """The rows of a frame as parts: read from it anew, or kept in files that the workers of a machine share."""

    counts_rows = True
    complete = False  # whether all files have been written

    def __init__(
        self, X: Any, y: Given = None, sample_weight: Given = None, offset: Given = None, group: Given = None
    ) -> None:
        if not isinstance(X, Spark):
            raise ValueError("wrap the frame: X = properly.engines.Spark(frame, target=...).")
        if X.connect:
            raise ValueError("Spark Connect keeps no rows on its workers between passes: fit in a classic session.")
        inside = "the frame: name its column in Spark(frame, ...)"
        refuse_beside(inside, y=y, sample_weight=sample_weight, offset=offset, group=group)
        self.context = X.frame.sparkSession.sparkContext
        self.frame = prepared(X.frame, X.n_features)
        self.columns = X.columns
        self.feature_names = None if X.vectors else X.columns.features
        self.folder = f"properly-{uuid4().hex}"
        self.kept: list[Any] = []  # the RDD of parts in files, for engines of other weights as well

    @classmethod
    def of_new_data(cls, estimator: Any, X: Any, offset: Given) -> Engine:
        raise ValueError("predictions stay in Spark: use properly.spark.SparkModel(model, ...).transform(frame).")

    def prepare(self, several: bool) -> None:
        if several:
            level = require("pyspark", "spark").StorageLevel.MEMORY_AND_DISK
            self.kept[:] = [visited(self.frame, self.columns, partial(stored, self.folder)).persist(level)]

    def visit(self, function: Callable[[Part, int], T]) -> Iterator[T]:
        """What the function gives is added up in every task, so that one sum of each comes to the driver."""
        with named_jobs(self.context, self.folder):
            results = totals(self.kept[0].mapPartitions(partial(of_stored, function))) if self.kept else None
            if results is None or any(isinstance(result, FileNotFoundError) for result in results):
                # No files are kept, or a task has come to a machine that does not have them.
                results = totals(visited(self.frame, self.columns, function))
        for result in results:
            if isinstance(result, Exception):
                raise result
            yield result
        self.complete = True

    def release(self) -> None:
        with suppress(Exception):  # of a session that has ended
            self.context.cancelJobsWithTag(self.folder)  # tasks that go on after an interruption
        while self.kept:
            kept = self.kept.pop()
            try:
                with suppress(Exception), limited_jobs(self.context, _PATIENCE):
                    slots = self.context.defaultParallelism
                    here = kept if self.complete else self.context.parallelize(range(slots), slots)
                    here.foreachPartition(partial(removed, self.folder))  # tasks go to where the paths are
            finally:  # what is left is removed with the executor
                with suppress(Exception):
                    kept.unpersist()
