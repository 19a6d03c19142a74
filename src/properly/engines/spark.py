"""Spark data frames: their rows are kept on the disks of the executors, and only sums come to the driver."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from properly.engines.base import Engine, Given
from properly.engines.cache import StoredPart
from properly.engines.description import Part
from properly.engines.partitioned import PartitionedEngine, refuse_beside
from properly.engines.room import reuse_memory
from properly.engines.spark_frame import Spark, visited

T = TypeVar("T")


class SparkEngine(PartitionedEngine):
    """The rows of a frame as parts: read from it anew, or kept in files that the workers of a machine share."""

    counts_rows = True
    kept: Any = None  # an RDD of parts in files

    def __init__(
        self, X: Any, y: Given = None, sample_weight: Given = None, offset: Given = None, group: Given = None
    ) -> None:
        if not isinstance(X, Spark):
            raise ValueError("wrap the frame: X = properly.engines.Spark(frame, target=...).")
        inside = "the frame: name its column in Spark(frame, ...)"
        refuse_beside(inside, y=y, sample_weight=sample_weight, offset=offset, group=group)
        self.context = X.frame.sparkSession.sparkContext
        self.frame, self.columns = X.frame.coalesce(self.context.defaultParallelism), X.columns
        self.feature_names = None if X.vectors else X.columns.features
        self.folder = f"properly-{uuid4().hex}"

    @classmethod
    def of_new_data(cls, estimator: Any, X: Any, offset: Given) -> Engine:
        raise ValueError("predictions stay in Spark: use properly.spark.SparkModel(model, ...).transform(frame).")

    def keep(self) -> None:
        self.kept = visited(self.frame, self.columns, partial(_stored, self.folder)).persist()

    def visit(self, function: Callable[[Part, int], T]) -> Iterator[T]:
        kept = self.kept
        results = None if kept is None else kept.mapPartitions(partial(_of_stored, function)).collect()
        if results is None or any(isinstance(result, FileNotFoundError) for result in results):
            results = visited(
                self.frame, self.columns, function
            ).collect()  # a task may have come to a machine that lacks the files
        for result in results:
            if isinstance(result, Exception):
                raise result
            yield result

    def release(self) -> None:
        if self.kept is not None:
            self.kept.unpersist()
            slots = self.context.defaultParallelism
            with suppress(Exception):  # what is left is removed with the executor
                self.context.parallelize(range(slots), slots).foreachPartition(partial(_removed, self.folder))
            self.kept = None


def _of_stored(function: Callable[[Part, int], Any], kept: Iterable[Any]) -> Iterator[Any]:
    """What a function gives for parts in files; errors of the data come back as results."""
    reuse_memory()
    for each in kept:
        try:
            yield each if isinstance(each, Exception) else function(each.part(), each.number)
        except (FileNotFoundError, ValueError) as error:
            yield error


def _stored(folder: str, part: Part, number: int) -> StoredPart:
    folder = f"{_disk()}/{folder}"
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return StoredPart.written(folder, part, number)


def _removed(folder: str, _: Iterable[Any]) -> None:
    shutil.rmtree(f"{_disk()}/{folder}", ignore_errors=True)


def _disk() -> str:
    """A folder of the executor's, which Spark removes with it."""
    return os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).partition(",")[0]
