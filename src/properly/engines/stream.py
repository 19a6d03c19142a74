"""Rows that are read part by part and never held in memory together: iterables, and files of Parquet, Arrow and CSV."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

from properly.engines.base import Given
from properly.engines.cache import PartCache
from properly.engines.description import Part
from properly.engines.memory import number_of_threads, one_blas_thread
from properly.engines.partitioned import PARTS_A_SOURCE, PartitionedEngine, refuse_beside
from properly.engines.stream_files import Files
from properly.files import check_outside
from properly.inputs.frames import column_names, is_frame
from properly.inputs.options import check_boolean
from properly.kernels import Statistic
from properly.progress import tracked

T = TypeVar("T")


class Stream:
    """Data that can be read again and again, a part at a time.

    Parameters
    ----------
    source : iterable of blocks, callable, path, or list of paths
        Blocks are tuples ``(X, y)``, or longer ones, ``(X, y, sample_weight, offset, group)``; None stands for
        a part that is missing. A fit reads the data several times, so an iterator that is exhausted after one pass
        is refused: give a list, an object whose ``__iter__`` starts anew, or a callable that returns a new iterator.
        Paths name files of Parquet, Arrow (IPC, Feather) or CSV, or folders of them; they need ``properly[arrow]``.
    target : str
        For files: the column with the labels.
    features : list of str, or str, optional
        For files: the columns used, by default all others.
    sample_weight, offset : str, optional
        For files: the columns with weights and offsets.
    group : str, optional
        For files: a column of any labels, such as a customer or a region. Rows with the same one stay together in the
        folds of a cross-validation, and are judged together by an audit.
    encoder : fitted transformer, optional
        For files: turns a table of the features into numbers, for columns of categories. Its ``transform`` takes a
        `pyarrow.Table`, as that of `properly.tables.TableEncoder` does, or of a pipeline that begins with one.
    cache : str or path, optional
        A folder on a local disk, in which a fit keeps the rows as raw numbers, so that they are decoded and encoded
        once; removed when the fit ends. Worth its room (that of the decoded columns) for CSV, encoders, remote files.
    verbose : bool, default False
        For files, and for what is kept in `cache`: show the progress of every pass.

    Notes
    -----
    Files are read by several threads, as many as BLAS may use; every thread decodes its own files, or row groups of a
    Parquet file, into columns of numbers, at most 16 MiB at a time, and adds them up. Numbers of 32 bits stay so until
    they are used.

    All files are of one format. Those of text have a header and the separator that their ending says: commas (.csv) or
    tabs (.tsv). Cells without quotation marks that are empty, NA, null and the like are missing, as for the commands;
    missing labels and numbers are refused. Labels and groups are texts if the first megabyte of any file has texts
    there. The names of folders (``region=north``) are no columns.

    Every pass must find the same rows: files that were written to since the stream was made are refused, and so are
    blocks with more or fewer rows than in the first pass.

    Examples
    --------
    >>> import numpy as np
    >>> from properly.linear import ProperLinearClassifier
    >>> rng = np.random.default_rng(0)
    >>> blocks = [(rng.normal(size=(100, 2)), rng.integers(0, 2, 100)) for _ in range(5)]
    >>> ProperLinearClassifier().fit(Stream(blocks)).coef_.shape
    (1, 2)
    """

    def __init__(
        self,
        source: Any,
        *,
        target: str | None = None,
        features: Sequence[str] | str | None = None,
        sample_weight: str | None = None,
        offset: str | None = None,
        group: str | None = None,
        encoder: Any = None,
        cache: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        check_boolean(verbose, "verbose")
        self.files: Files | None = None
        self.cache, self.verbose = cache, verbose
        paths = [source] if isinstance(source, str | Path) else source
        if isinstance(paths, list | tuple) and paths and all(isinstance(path, str | Path) for path in paths):
            if cache is not None:
                check_outside(str(cache), paths)
            roles = target, sample_weight, offset, group
            self.files = Files.found([str(path) for path in paths], features, roles, encoder)
            return
        if any(option is not None for option in (target, features, sample_weight, offset, group, encoder)):
            raise ValueError(
                "target, features, sample_weight, offset, group and encoder are for the columns of files, and source "
                f"must then be a path or a list of paths, got {_described(source)}; blocks are tuples."
            )
        if isinstance(source, Collection) and any(isinstance(each, str | Path) for each in source):
            raise ValueError(
                f"source must be blocks, a callable or paths, got {_described(source)}; give a path or a list of "
                "paths, or blocks, which are tuples (X, y)."
            )
        self._open: Callable[[], Iterable[Any]]
        if callable(source):
            self._open = source
        elif isinstance(source, Iterator):
            raise ValueError(
                "source is an iterator, which can be read only once, but a fit reads the data several times; "
                "give a list of blocks or a callable that returns a new iterator."
            )
        elif isinstance(source, Iterable):
            self._open = lambda: source
        else:
            raise ValueError(f"source must be blocks, a callable or paths, got {_described(source)}.")

    def blocks(self) -> Iterator[Part]:
        """What users pass as blocks."""
        opened = self._open()
        if not isinstance(opened, Iterable):
            raise ValueError(f"source must return an iterator of blocks at every call, got {_described(opened)}.")
        for index, item in enumerate(opened):
            parts = tuple(item) if isinstance(item, tuple | list) else (item,)
            if not 1 <= len(parts) <= 5:
                raise ValueError(
                    f"block {index} has {len(parts)} parts; it must be (X, y[, sample_weight[, offset[, group]]])."
                )
            yield Part(*parts)._replace(place=f"block {index}")


def _described(given: Any) -> str:
    """What a user gave in place of paths or blocks."""
    if given is None:
        return "None"
    empty = isinstance(given, Collection) and not len(given)
    return f"{'an empty' if empty else 'a'} {type(given).__name__}"


class StreamEngine(PartitionedEngine):
    """A stream, read anew in every pass."""

    def __init__(
        self, X: Stream, y: Given = None, sample_weight: Given = None, offset: Given = None, group: Given = None
    ) -> None:
        refuse_beside("the blocks when X is a Stream", y=y, sample_weight=sample_weight, offset=offset, group=group)
        self.stream = X
        if X.files is not None:
            self.feature_names = X.files.feature_names
            self.shape = X.files.n_rows, len(self.feature_names)

    cache: PartCache | None = None

    def prepare(self, several: bool) -> None:
        if several and self.stream.cache is not None:
            self.cache = PartCache(str(self.stream.cache))

    def release(self) -> None:
        if self.cache is not None:
            self.cache.close()

    def visit(self, function: Callable[[Part, int], T]) -> Iterator[T]:
        cache = self.cache
        if cache is None:
            yield from self._read(function)
        elif cache.complete:
            parts = cache.parts()
            yield from self._told(lambda i: iter([function(parts[i].part(), parts[i].number)]), len(parts))
        else:
            yield from self._read(cache.keeping(function))
            cache.complete = True

    def _read(self, function: Callable[[Part, int], T]) -> Iterator[T]:
        files = self.stream.files
        if files is None:
            for number, part in enumerate(self.stream.blocks()):
                self._check_names(part)
                yield function(part, number)
            return
        sources = files.sources
        alone = len(sources) < number_of_threads()  # then decoding is left to other threads, and adding up to ours

        def read(index: int) -> Iterator[T]:
            for i, part in enumerate(files.parts(sources[index], alone)):
                yield function(part, PARTS_A_SOURCE * index + i)

        yield from self._told(read, len(sources))

    def _told(self, work: Callable[[int], Iterator[T]], number: int) -> Iterator[T]:
        for results in tracked(_in_order(work, number), number, "reading", self.stream.verbose):
            yield from results

    def _check_names(self, part: Part) -> None:
        """Blocks that are data frames must all have the same columns in the same order."""
        if not is_frame(part.X):
            return
        names = [str(name) for name in column_names(part.X)]
        if self.feature_names is None:
            self.feature_names = names
            if self.estimator is not None:
                self.predicting(self.estimator)
        elif names != self.feature_names:
            raise ValueError(
                f"{part.place} has the columns {names}, but {self.feature_names} came before; give every block the "
                "same columns in the same order."
            )


def _in_order(work: Callable[[int], Iterator[T]], number: int) -> Iterator[list[T]]:
    """What work(0), work(1), ... give, by several threads, of which none is more than a few numbers ahead.

    If there are fewer numbers than threads, one after the other. When this generator is closed, the threads end as soon
    as they have their next result.
    """
    threads, stopped = number_of_threads(), Event()
    if threads == 1 or number < threads:
        yield from (_together(work(index), stopped) for index in range(number))
        return
    with one_blas_thread(os.getpid()), ThreadPoolExecutor(threads, thread_name_prefix="properly-read") as pool:
        waiting: deque[Future[list[T]]] = deque()
        try:
            for index in range(number):
                waiting.append(pool.submit(lambda i: _together(work(i), stopped), index))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            stopped.set()
            for future in waiting:
                future.cancel()


def _together(results: Iterator[T], stopped: Event) -> list[T]:
    """The results of one number, statistics added up: a file may have any number of parts."""
    found: list[T] = []
    for result in results:
        if found and isinstance(result, Statistic) and isinstance(found[-1], Statistic):
            found[-1] = found[-1] + result
        else:
            found.append(result)
        if stopped.is_set():
            break
    return found
