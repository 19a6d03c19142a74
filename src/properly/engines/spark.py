"""Spark data frames: their rows are kept by Spark as blocks of numbers, and only sums come to the driver."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from properly.engines.arrow import Columns, pickled_parts
from properly.engines.base import Engine, Given
from properly.engines.description import Part
from properly.engines.partitioned import PARTS_A_SOURCE, PartitionedEngine, refuse_beside
from properly.inputs.optional import require

T = TypeVar("T")


class Spark:
    """A Spark data frame, and which of its columns mean what: what `fit` takes as X.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Of a classic session, not of Spark Connect.
    target : str
        The column with the labels.
    features : list of str, or str, optional
        The columns used, by default all others; or the one column that holds vectors or arrays.
    sample_weight, offset : str, optional
        The columns with weights and offsets.
    group : str, optional
        A column of any labels, such as a customer or a region. Rows with the same one stay together in the folds of a
        cross-validation, and are judged together by an audit.

    Notes
    -----
    The first pass turns the rows into blocks of numbers, which Spark keeps in memory, and on disk where memory is
    short, until the fit ends. There is one task for every core, since each takes a while to start.
    """

    def __init__(
        self,
        frame: Any,
        *,
        target: str | None = None,
        features: Sequence[str] | str | None = None,
        sample_weight: str | None = None,
        offset: str | None = None,
        group: str | None = None,
    ) -> None:
        if ".connect." in type(frame).__module__:
            raise ValueError("a frame of Spark Connect cannot keep parts on its workers; use a classic session.")
        self.columns = Columns.chosen(frame.columns, "the frame", features, target, sample_weight, offset, group)
        kinds = [frame.schema[name].dataType.typeName() for name in self.columns.features]
        self.vectors = kinds in (["vectorudt"], ["array"])
        # Spark itself does not find all names again: those with dots.
        self.frame = frame.select(*(column_of(frame, name).alias(f"c{k}") for k, name in enumerate(self.columns.names)))


class SparkEngine(PartitionedEngine):
    """The blocks of a frame, in a persistent RDD."""

    counts_rows = True

    def __init__(
        self, X: Any, y: Given = None, sample_weight: Given = None, offset: Given = None, group: Given = None
    ) -> None:
        if not isinstance(X, Spark):
            raise ValueError("wrap the frame: X = properly.engines.Spark(frame, target=...).")
        inside = "the frame: name its column in Spark(frame, ...)"
        refuse_beside(inside, y=y, sample_weight=sample_weight, offset=offset, group=group)
        cores = X.frame.sparkSession.sparkContext.defaultParallelism
        packed = X.frame.coalesce(cores).mapInArrow(partial(pickled_parts, X.columns, X.vectors), "part binary")
        self.parts = packed.rdd.map(_unpacked)
        self.feature_names = None if X.vectors else X.columns.features

    @classmethod
    def of_new_data(cls, estimator: Any, X: Any, offset: Given) -> Engine:
        raise ValueError("predictions stay in Spark: use properly.spark.SparkModel(model, ...).transform(frame).")

    def keep(self) -> None:
        self.parts = self.parts.persist(require("pyspark", "spark").StorageLevel.MEMORY_AND_DISK)

    def visit(self, function: Callable[[Part, int], T]) -> Iterator[T]:
        for result in self.parts.mapPartitionsWithIndex(partial(_visited, function)).collect():
            if isinstance(result, Exception):
                raise result
            yield result

    def release(self) -> None:
        self.parts.unpersist()


def column_of(frame: Any, name: str) -> Any:
    """A column of a frame; vectors as arrays."""
    column = frame["`" + name.replace("`", "``") + "`"]
    if frame.schema[name].dataType.typeName() == "vectorudt":
        return require("pyspark.ml.functions", "spark").vector_to_array(column).alias(name)
    return column


def _unpacked(row: Any) -> Any:
    return pickle.loads(row[0])


def _visited(function: Callable[[Part, int], T], partition: int, parts: Iterator[Any]) -> Iterator[Any]:
    """Errors of the data come back as results: Spark would try four times, and bury them in a trace."""
    for i, part in enumerate(parts):
        try:
            yield part if isinstance(part, Exception) else function(part, PARTS_A_SOURCE * partition + i)
        except ValueError as error:
            yield error
