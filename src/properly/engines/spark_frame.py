"""What users say of a Spark data frame, and how its rows come to functions in Python."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any

from properly.engines.arrow import Columns, gathered
from properly.engines.description import Part
from properly.engines.partitioned import PARTS_A_SOURCE
from properly.engines.room import reuse_memory
from properly.inputs.optional import require

_SMALL = ("float", "byte", "short", "boolean")  # float32 holds every value
_NUMBERS = (*_SMALL, "integer", "long", "double", "decimal")
_SETTINGS = Lock()  # of sessions, which threads may share
_BATCHES = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
}


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
    The first pass of a fit writes the rows as raw numbers to the local disks of the executors (``spark.local.dir``),
    from where the workers of a machine map them into their memory, and which are cleared when the fit ends. There is
    one task for every core, since each takes a while to start.
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
        names = self.columns.features
        kinds = [frame.schema[name].dataType.typeName() for name in names]
        self.vectors = kinds in (["vectorudt"], ["array"])
        self.X = _vectors(frame, *names) if self.vectors else _array(frame, names, kinds)
        # Spark itself does not find all names again: those with dots.
        roles = (_column(frame, name).alias(f"c{k}") for k, name in enumerate(self.columns.roles, start=1))
        self.frame = frame.select(self.X.alias("c0"), *roles)


def _column(frame: Any, name: str) -> Any:
    """A column of a frame, whatever dots its name has."""
    return frame["`" + name.replace("`", "``") + "`"]


def _vectors(frame: Any, name: str) -> Any:
    """A column of vectors, or of arrays of numbers, as arrays of numbers that NumPy has."""
    column, kind = _column(frame, name), frame.schema[name].dataType
    if kind.typeName() == "array":
        element = _checked(kind.elementType.typeName(), name)
        return column.cast("array<double>") if element == "decimal" else column
    sql, as_array = require("pyspark.sql.functions", "spark"), require("pyspark.ml.functions", "spark").vector_to_array
    inside = sql.unwrap_udt(column)  # that of a dense vector is there already: it need not be made
    return sql.when(inside["type"] == 1, inside["values"]).otherwise(as_array(column))


def _array(frame: Any, names: Sequence[str], kinds: Sequence[str]) -> Any:
    """Columns of numbers as arrays, which Spark hands over much faster than many columns."""
    small = all(_checked(kind, name) in _SMALL for name, kind in zip(names, kinds, strict=True))
    columns = [_column(frame, name).cast("float" if small else "double") for name in names]
    return require("pyspark.sql.functions", "spark").array(*columns)


def _checked(kind: str, name: str) -> str:
    if kind not in _NUMBERS:
        raise ValueError(f"column {name!r} holds {kind} in the frame, not numbers; encode or leave it out.")
    return kind


def visited(frame: Any, columns: Columns, function: Callable[[Part, int], Any]) -> Any:
    """An RDD of what a function gives for the parts of a frame of `Spark`, or of the errors that their rows make."""
    with _batches_by_rows(frame.sparkSession.conf):
        return frame.mapInArrow(partial(_pickled, columns, function), "result binary").rdd.map(_unpickled)


def _pickled(columns: Columns, function: Callable[[Part, int], Any], batches: Iterable[Any]) -> Iterator[Any]:
    """Errors of the data come back as results: Spark would try four times, and bury them in a trace."""
    import pyarrow as pa
    from pyspark import TaskContext

    reuse_memory()
    first = PARTS_A_SOURCE * TaskContext.get().partitionId()
    for i, batch in enumerate(gathered(batches)):
        result: Any
        try:
            result = function(columns.part_of_lists(batch, "the frame"), first + i)
        except (OSError, TypeError, ValueError) as error:
            result = error
        yield pa.RecordBatch.from_pydict({"result": [pickle.dumps(result, protocol=5)]})


def _unpickled(row: Any) -> Any:
    return pickle.loads(row[0])


@contextmanager
def _batches_by_rows(settings: Any) -> Iterator[None]:
    """Jobs made meanwhile end a batch after a number of rows.

    To end it after a number of bytes, Spark adds them up anew for every row, which takes longer than handing it over.
    """
    with _SETTINGS:
        before = {name: settings.get(name, None) for name in _BATCHES if settings.isModifiable(name)}
        try:
            for name in before:
                settings.set(name, _BATCHES[name])
            yield
        finally:
            for name, value in before.items():
                settings.unset(name) if value is None else settings.set(name, value)
