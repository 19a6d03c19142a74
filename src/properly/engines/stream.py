"""Rows that are read part by part and never held in memory together: iterables, and files of Parquet, Arrow and CSV."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from properly.engines.arrow import Columns, rows_a_part
from properly.engines.base import Given
from properly.engines.cache import PartCache
from properly.engines.description import Part
from properly.engines.memory import number_of_threads, one_blas_thread
from properly.engines.partitioned import PARTS_A_SOURCE, PartitionedEngine, refuse_beside
from properly.files import FORMATS, files_in
from properly.inputs.frames import column_names, is_frame
from properly.inputs.optional import require
from properly.inputs.options import choose
from properly.progress import progress

T = TypeVar("T")
_FORMATS = {ending: form for ending, form in FORMATS.items() if form.kind in ("parquet", "ipc", "text")}


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
        For files: show the progress of every pass.

    Notes
    -----
    Files are read by several threads, as many as BLAS may use; every thread decodes its own files, or row groups of a
    Parquet file, into columns of numbers, at most 16 MiB at a time, and adds them up. Numbers of 32 bits stay so until
    they are used.

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
        self.files: _Files | None = None
        self.cache, self.verbose = cache, verbose
        paths = [source] if isinstance(source, str | Path) else source
        if isinstance(paths, list | tuple) and paths and all(isinstance(path, str | Path) for path in paths):
            roles = target, sample_weight, offset, group
            self.files = _Files.found([str(path) for path in paths], features, roles, encoder)
            return
        if any(option is not None for option in (target, features, sample_weight, offset, group, encoder)):
            raise ValueError(
                "target, features, sample_weight, offset, group and encoder are for the columns of files; blocks are "
                "tuples."
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
            raise ValueError(f"source must be blocks, a callable or paths, got a {type(source).__name__}.")

    def blocks(self) -> Iterator[Part]:
        """What users pass as blocks."""
        for index, item in enumerate(self._open()):
            parts = tuple(item) if isinstance(item, tuple | list) else (item,)
            if not 1 <= len(parts) <= 5:
                raise ValueError(
                    f"block {index} has {len(parts)} parts; it must be (X, y[, sample_weight[, offset[, group]]])."
                )
            yield Part(*parts)._replace(place=f"block {index}")


class StreamEngine(PartitionedEngine):
    """A stream, read anew in every pass."""

    def __init__(
        self, X: Stream, y: Given = None, sample_weight: Given = None, offset: Given = None, group: Given = None
    ) -> None:
        refuse_beside("the blocks when X is a Stream", y=y, sample_weight=sample_weight, offset=offset, group=group)
        self.stream = X
        if X.files is not None:
            self.feature_names = X.files.feature_names
            if X.files.n_rows is not None:
                self.shape = X.files.n_rows, len(self.feature_names)

    cache: PartCache | None = None

    def keep(self) -> None:
        if self.stream.cache is not None:
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
            yield from _in_order(lambda i: function(parts[i].part(), parts[i].number), len(parts))
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
        sources, threads = files.sources, number_of_threads()
        alone = len(sources) < threads  # then decoding is left to the threads of Arrow, and adding up to ours

        def read(index: int) -> list[T]:
            parts = files.parts(sources[index], alone)
            return [function(part, PARTS_A_SOURCE * index + i) for i, part in enumerate(parts)]

        with progress("reading", len(sources), self.stream.verbose) as tell:
            for done, results in enumerate(_in_order(read, len(sources)), start=1):
                yield from results
                tell(done, f"{done} of {len(sources)}")

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


def _in_order(work: Callable[[int], T], number: int) -> Iterator[T]:
    """work(0), work(1), ... by several threads, of which none is more than a few numbers ahead.

    If there are fewer numbers than threads, one after the other.
    """
    threads = number_of_threads()
    if threads == 1 or number < threads:
        yield from map(work, range(number))
        return
    with one_blas_thread(os.getpid()), ThreadPoolExecutor(threads, thread_name_prefix="properly-read") as pool:
        waiting: deque[Future[T]] = deque()
        try:
            for index in range(number):
                waiting.append(pool.submit(work, index))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@dataclass
class _Source:
    """A file, or a row group of a Parquet file."""

    fragment: Any  # of a data set of Arrow
    name: str


@dataclass
class _Files:
    """Files of one format, and which of their columns mean what."""

    sources: list[_Source]
    n_rows: int | None
    columns: Columns
    feature_names: list[str]
    encoder: Any

    @classmethod
    def found(
        cls, paths: list[str], features: Sequence[str] | str | None, roles: tuple[str | None, ...], encoder: Any
    ) -> _Files:
        dataset, kind = _dataset(paths)
        columns = Columns.chosen(dataset.schema.names, "the file", features, *roles)
        sources, n_rows = [], 0 if kind != "text" else None
        needed = dataset.schema.names if features is None else columns.names
        for fragment in dataset.get_fragments():
            _check_columns(fragment, needed, features is None)
            if kind == "parquet":
                for group in fragment.row_groups:
                    sources.append(
                        _Source(fragment.subset(row_group_ids=[group.id]), f"row group {group.id} of {fragment.path}")
                    )
                    n_rows += group.num_rows
            else:
                sources.append(_Source(fragment, fragment.path))
                n_rows = None if n_rows is None else n_rows + fragment.count_rows()
        made = columns.features if encoder is None else [str(name) for name in encoder.get_feature_names_out()]
        return cls(sources, n_rows, columns, made, encoder)

    def parts(self, source: _Source, alone: bool) -> Iterator[Part]:
        """The rows of a source, a batch at a time; `alone` says whether other threads are free to decode."""
        ahead = {"use_threads": alone, "batch_readahead": 2 * alone, "fragment_readahead": 1}
        rows = rows_a_part(len(self.feature_names))
        batches = iter(source.fragment.to_batches(columns=self.columns.names, batch_size=rows, **ahead))
        while True:
            try:
                batch = next(batches, None)
            except (OSError, ValueError) as error:  # those of Arrow are among them
                raise ValueError(f"{source.name} cannot be read: {error}") from error
            if batch is None:
                return
            yield self.columns.part(batch, source.name, self.encoder)


def _check_columns(fragment: Any, needed: Sequence[str], others_count: bool) -> None:
    """Refuse a file without these columns, or with others where all of a file are features."""
    names = fragment.physical_schema.names
    wrong = [name for name in needed if name not in names]
    wrong += [name for name in names if others_count and name not in needed]
    if wrong:
        raise ValueError(
            f"column {wrong[0]!r} is not in all files: {fragment.path} has {', '.join(map(repr, names))}; give all "
            "files the same columns, or name those that all have (features=)."
        )


def _dataset(paths: list[str]) -> tuple[Any, str]:
    """Files, or folders of them, as a data set of Arrow, and their kind of format."""
    files: list[str] = []
    for path in paths:
        if not Path(path).exists():
            raise FileNotFoundError(f"no such file: {path}")
        found = [path] if Path(path).is_file() else [str(each) for each in files_in(path)]
        if not found:
            raise ValueError(f"{path} is a folder without files; name one that has some.")
        files += found
    name = Path(files[0]).name
    ending = next((end for end in sorted(_FORMATS, key=len, reverse=True) if name.endswith(end)), Path(name).suffix)
    form = choose(ending, _FORMATS, "the ending of a file")
    arrow = require("pyarrow.dataset", "arrow")
    how = form.kind
    if form.kind == "text":
        how = arrow.CsvFileFormat(require("pyarrow.csv", "arrow").ParseOptions(delimiter=form.delimiter))
    return arrow.dataset(files, format=how), form.kind
