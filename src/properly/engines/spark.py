"""Spark data frames: their rows are kept by Spark as blocks of numbers, and only sums come to the driver."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from properly.engines.base import Engine, Given
from properly.engines.description import Part
from properly.engines.partitioned import PartitionedEngine, refuse_beside
from properly.inputs.optional import require

T = TypeVar("T")
_PART_BYTES = 2**24
_ROLES = ("y", "weight", "offset", "group")
_PARTS_A_PARTITION = 2**32  # parts are numbered anew in every partition


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
        self.frame, self.roles = frame, (target, sample_weight, offset, group)
        special = [name for name in self.roles if name is not None]
        chosen = [name for name in frame.columns if name not in special] if features is None else features
        self.features = [chosen] if isinstance(chosen, str) else list(chosen)
        for name in [*self.features, *special]:
            if name not in frame.columns:
                raise ValueError(f"there is no column {name!r}; the frame has {', '.join(map(repr, frame.columns))}.")
        self.vectors = len(self.features) == 1 and frame.schema[self.features[0]].dataType.typeName() in (
            "vectorudt",
            "array",
        )

    def columns(self) -> list[Any]:
        """The features, vectors as arrays."""
        if not self.vectors:
            return [self.frame[name] for name in self.features]
        column = self.frame[self.features[0]]
        if self.frame.schema[self.features[0]].dataType.typeName() != "array":
            column = require("pyspark.ml.functions", "spark").vector_to_array(column)
        return [column.alias(self.features[0])]


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
        sql = require("pyspark.sql", "spark").functions
        others = [sql.lit(None).cast("double") if name is None else X.frame[name] for name in X.roles]
        renamed = [column.alias(name) for column, name in zip(others, _ROLES, strict=True)]
        context = X.frame.sparkSession.sparkContext
        columns = X.frame.select(sql.struct(*X.columns()).alias("X"), *renamed).coalesce(context.defaultParallelism)
        packed = columns.mapInArrow(partial(_packed, X.vectors, len(X.features)), "part binary")
        self.parts = packed.rdd.map(_unpacked)
        if not X.vectors:
            self.feature_names = X.features

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


def _packed(vectors: bool, n_features: int, batches: Iterator[Any]) -> Iterator[Any]:
    """Arrow's batches as pickled parts of about 16 MiB, or the error that their rows make."""
    import pyarrow as pa

    rows = max(1, _PART_BYTES // (8 * max(1, n_features)))
    waiting: list[Any] = []

    def together() -> Any:
        part: Any
        try:
            part = _part(pa.Table.from_batches(waiting), vectors)
        except (TypeError, ValueError) as error:
            part = ValueError(str(error))
        return pa.RecordBatch.from_pydict({"part": [pickle.dumps(part, protocol=5)]})

    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= rows:
            yield together()
            waiting.clear()
    if waiting:
        yield together()


def _part(table: Any, vectors: bool) -> Part:
    struct = table.column("X").combine_chunks()
    columns = struct.flatten()
    if vectors:
        lengths = set(columns[0].value_lengths().unique().to_pylist())
        if len(lengths) > 1:
            raise ValueError(f"the vectors of the features have different lengths: {lengths}.")
        X = columns[0].flatten().to_numpy(zero_copy_only=False).reshape(table.num_rows, -1)
    else:
        small = all(str(column.type) in ("float", "int8", "int16", "bool") for column in columns)
        X = np.empty((table.num_rows, len(columns)), np.float32 if small else np.float64, order="F")
        for j, column in enumerate(columns):
            if column.null_count:
                raise ValueError(
                    f"column {struct.type.field(j).name!r} has missing values; drop or impute such rows first."
                )
            X[:, j] = column.to_numpy(zero_copy_only=False)
    y, weight, offset, group = (_column(table.column(name)) for name in _ROLES)
    return Part(X, y, weight, offset, group, "the frame").converted()


def _column(column: Any) -> NDArray[Any] | None:
    return None if str(column.type) == "null" or column.null_count == len(column) else column.to_numpy()


def _unpacked(row: Any) -> Any:
    return pickle.loads(row[0])


def _visited(function: Callable[[Part, int], T], partition: int, parts: Iterator[Any]) -> Iterator[Any]:
    """Errors of the data come back as results: Spark would try four times, and bury them in a trace."""
    for i, part in enumerate(parts):
        try:
            yield part if isinstance(part, Exception) else function(part, _PARTS_A_PARTITION * partition + i)
        except ValueError as error:
            yield error
