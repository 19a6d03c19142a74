"""How the rows of a Spark data frame come to functions in Python: by Arrow, or from files in which they are kept."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from math import isqrt
from operator import itemgetter
from threading import Timer
from typing import Any
from uuid import uuid4

from properly.engines.arrow import PART_BYTES, Columns, gathered, rows_a_part, rows_of_lists
from properly.engines.base import total_of
from properly.engines.cache import StoredPart
from properly.engines.description import Part
from properly.engines.partitioned import PARTS_A_SOURCE
from properly.engines.room import reuse_memory

_DATA_ERRORS = (TypeError, ValueError)  # come back as results: Spark would try four times, and bury them in a trace
_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_MANY_TASKS = 32  # whose sums come to the driver one by one
_MOST_ROWS = 2000  # in a batch; with more, handing over is no faster


def prepared(frame: Any, n_features: int | None) -> Any:
    """The same frame in a session of its own, which has the settings of the other, but for the size of batches.

    To end a batch after a number of bytes, as is usual, Spark adds them up anew for every row, which takes longer than
    handing over the row. Where the number of features is known, a number of rows does as well. There are at most as
    many partitions as cores, unless Spark may get more of them.
    """
    old, name = frame.sparkSession, f"properly_{uuid4().hex}"
    new = old.newSession()
    settings = {row.key: row.value for row in old.sql("SET").collect()}
    if n_features is None:
        settings[_BYTES] = str(PART_BYTES)
    else:
        settings |= {_BYTES: str(2**31 - 1), _ROWS: str(min(_MOST_ROWS, rows_a_part(n_features)))}
    for key, value in settings.items():
        if new.conf.isModifiable(key):
            new.conf.set(key, value)
    frame.createGlobalTempView(name)
    try:
        rows = new.table(f"{new.conf.get('spark.sql.globalTempDatabase')}.{name}")
    finally:
        old.catalog.dropGlobalTempView(name)
    grows = old.sparkContext.getConf().get("spark.dynamicAllocation.enabled", "false") == "true"
    return rows if grows else rows.coalesce(old.sparkContext.defaultParallelism)


def visited(frame: Any, columns: Columns, function: Callable[[Part, int], Any]) -> Any:
    """An RDD of what a function gives for the parts of a frame of `Spark`, or of the errors that their rows make."""
    return frame.mapInArrow(partial(_pickled, columns, function), "result binary").rdd.map(_unpickled)


def _pickled(columns: Columns, function: Callable[[Part, int], Any], batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa
    from pyspark import TaskContext

    reuse_memory()
    first = PARTS_A_SOURCE * TaskContext.get().partitionId()
    for i, batch in enumerate(gathered(batches, rows_of_lists)):
        result: Any
        try:
            result = function(columns.part_of_lists(batch, "the frame"), first + i)
        except _DATA_ERRORS as error:
            result = error
        yield pa.RecordBatch.from_pydict({"result": [pickle.dumps(result, protocol=5)]})


def _unpickled(row: Any) -> Any:
    return pickle.loads(row[0])


@contextmanager
def named_jobs(context: Any, name: str) -> Iterator[None]:
    """Jobs that begin meanwhile in this thread can be cancelled by their name.

    The threads of a search share their properties, and with them the names of jobs: this one has a copy meanwhile.
    """
    scala = context._jsc.sc()
    shared = scala.getLocalProperties()
    scala.setLocalProperties(shared.clone())
    context.addJobTag(name)
    try:
        yield
    finally:
        scala.setLocalProperties(shared)


@contextmanager
def limited_jobs(context: Any, seconds: float) -> Iterator[None]:
    """Jobs that begin meanwhile in this thread are cancelled after some time."""
    name = f"properly-{uuid4().hex}"
    end = Timer(seconds, context.cancelJobsWithTag, [name])
    end.start()
    try:
        with named_jobs(context, name):
            yield
    finally:
        end.cancel()


def totals(results: Any) -> list[Any]:
    """The sums of an RDD of results, as the driver gets them, or the first error of a task.

    Every task adds up its own; those of many tasks are added up by fewer, in the same order, since Spark limits what
    the driver may get.
    """
    sums = results.mapPartitions(_total)
    n_tasks = sums.getNumPartitions()
    if n_tasks > _MANY_TASKS:
        groups = isqrt(n_tasks)
        keyed = sums.mapPartitionsWithIndex(partial(_keyed, n_tasks, groups))
        sums = keyed.groupByKey(groups).map(_total_of_group).sortByKey(numPartitions=1).values()
    try:
        return list(sums.collect())
    except Exception as error:  # of classes that depend on the version of Spark
        said = re.findall(
            r"^(?:Caused by: |: )?((?:\w+\.)*\w+(?:Error|Exception): .*)$", str(error), flags=re.MULTILINE
        )
        if not said:
            raise
        raise RuntimeError(f"a task of Spark failed each time: {said[-1]}") from error


def _keyed(n_tasks: int, groups: int, task: int, sums: Iterable[Any]) -> Iterator[tuple[int, tuple[int, Any]]]:
    return ((task * groups // n_tasks, (task, each)) for each in sums)


def _total_of_group(group: tuple[int, Iterable[tuple[int, Any]]]) -> tuple[int, Any]:
    key, sums = group
    return key, next(_total(each for _, each in sorted(sums, key=itemgetter(0))))


def _total(results: Iterable[Any]) -> Iterator[Any]:
    errors: list[Exception] = []

    def good() -> Iterator[Any]:
        for result in results:
            if isinstance(result, Exception):
                errors.append(result)
                return
            yield result

    total = None
    try:
        total = total_of(good())
    except _DATA_ERRORS as error:  # parts that do not belong together
        errors.append(error)
    yield errors[0] if errors else total


def of_stored(function: Callable[[Part, int], Any], kept: Iterable[Any]) -> Iterator[Any]:
    """What a function gives for parts in files; errors of the data come back as results."""
    reuse_memory()
    for each in kept:
        try:
            yield each if isinstance(each, Exception) else function(each.part(), each.number)
        except (FileNotFoundError, *_DATA_ERRORS) as error:
            yield error


def stored(folder: str, part: Part, number: int) -> StoredPart:
    disks, place = _disks(), sum(divmod(number, PARTS_A_SOURCE))
    path = f"{disks[place % len(disks)]}/{folder}"
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        return StoredPart.written(path, part, number)
    except OSError as error:
        raise OSError(f"{error}; set spark.local.dir to disks with room for the rows, 8 bytes a number") from error


def removed(folder: str, rows: Iterable[Any]) -> None:
    """`rows` are read, because Spark ends a worker that leaves some, and the next fit would wait for a new one."""
    deque(rows, maxlen=0)
    for disk in _disks():
        shutil.rmtree(f"{disk}/{folder}", ignore_errors=True)


def _disks() -> list[str]:
    """Folders of the executor's, which Spark removes with it."""
    return os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")
