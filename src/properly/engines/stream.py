"""Rows that are read block by block and never held in memory together: iterables, Parquet and Arrow files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d

from properly.engines.base import Engine, Given, combine_weights
from properly.engines.memory import MemoryEngine
from properly.files import FORMATS
from properly.inputs.features import check_names
from properly.inputs.frames import column_names, is_frame
from properly.inputs.labels import encode, found_classes
from properly.inputs.optional import require
from properly.inputs.options import choose
from properly.inputs.weights import checked_offset, checked_weight
from properly.kernels import Block
from properly.numeric.probabilities import Array, as_float

BATCH_BYTES = 2**24
_FORMATS = {ending: form.kind for ending, form in FORMATS.items() if form.kind in ("parquet", "ipc")}


class Stream:
    """Data that can be read again and again, a block at a time.

    Parameters
    ----------
    source : iterable of blocks, callable, path, or list of paths
        Blocks are tuples ``(X, y)``, ``(X, y, sample_weight)`` or ``(X, y, sample_weight, offset)``; None stands for
        a part that is missing. A fit reads the data several times, so an iterator that is exhausted after one pass
        is refused: give a list, an object whose ``__iter__`` starts anew, or a callable that returns a new iterator.
        Paths name Parquet or Arrow (IPC, Feather) files, or folders of them; they need ``properly[arrow]``.
    target : str
        For files: the column with the labels.
    features : list of str, optional
        For files: the columns used, by default all others.
    sample_weight, offset : str, optional
        For files: the columns with weights and offsets.

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
        features: Sequence[str] | None = None,
        sample_weight: str | None = None,
        offset: str | None = None,
    ) -> None:
        self.feature_names: list[str] | None = None
        self._open: Callable[[], Iterable[Any]]
        paths = [source] if isinstance(source, str | Path) else source
        if isinstance(paths, list | tuple) and paths and all(isinstance(path, str | Path) for path in paths):
            files = _dataset([str(path) for path in paths])
            special = [name for name in (target, sample_weight, offset) if name is not None]
            names = list(files.schema.names)
            self.feature_names = [name for name in names if name not in special] if features is None else list(features)
            for name in [*special, *self.feature_names]:
                if name not in names:
                    raise ValueError(f"there is no column {name!r}; the file has {', '.join(map(repr, names))}.")
            self._open = partial(_batches, files, self.feature_names, target, sample_weight, offset)
            return
        if any(option is not None for option in (target, features, sample_weight, offset)):
            raise ValueError("target, features, sample_weight and offset name columns of files; blocks are tuples.")
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

    def raw_blocks(self) -> Iterator[tuple[Any, NDArray[Any] | None, Array | None, Array | None]]:
        """(X, labels, weight, offset) of every block that has rows, checked."""
        n_features = None
        for index, item in enumerate(self._open()):
            self._check_names(item, index)
            X, y, weight, offset = _checked_block(item, index)
            if n_features not in (None, X.shape[1]):
                raise ValueError(f"block {index} has {X.shape[1]} features, the blocks before it have {n_features}.")
            n_features = X.shape[1]
            if X.shape[0]:
                yield X, y, weight, offset

    def _check_names(self, item: Any, index: int) -> None:
        """Blocks that are data frames must all have the same columns in the same order."""
        X = item[0] if isinstance(item, tuple | list) and len(item) else item
        if not is_frame(X):
            return
        names = [str(name) for name in column_names(X)]
        if self.feature_names is None:
            self.feature_names = names
        elif names != self.feature_names:
            raise ValueError(
                f"block {index} has the columns {names}, but {self.feature_names} came before; give every block the "
                "same columns in the same order."
            )


def _checked_block(item: Any, index: int) -> tuple[Any, NDArray[Any] | None, Array | None, Array | None]:
    parts = tuple(item) if isinstance(item, tuple | list) else (item,)
    if not 1 <= len(parts) <= 4:
        raise ValueError(f"block {index} has {len(parts)} parts; it must be (X, y[, sample_weight[, offset]]).")
    X, y, weight, offset = parts + (None,) * (4 - len(parts))
    X = sparse.csr_array(X, dtype=np.float64) if sparse.issparse(X) else as_float(X, f"X of block {index}")
    if X.ndim != 2:
        raise ValueError(f"X of block {index} must have two dimensions, got {X.ndim}.")
    if not np.isfinite(X.data if sparse.issparse(X) else X).all():
        raise ValueError(f"X of block {index} contains NaN or infinity; drop or impute such rows first.")
    labels = None if y is None else np.asarray(column_or_1d(y, warn=True))
    weight = None if weight is None else column_or_1d(weight)
    offset = None if offset is None else as_float(offset, f"offset of block {index}")
    if offset is not None and offset.ndim not in (1, 2):
        raise ValueError(f"offset of block {index} must have one or two dimensions, got {offset.ndim}.")
    for name, part in (("y", labels), ("sample_weight", weight), ("offset", offset)):
        if part is not None and len(part) != X.shape[0]:
            raise ValueError(f"{name} of block {index} has {len(part)} rows, its X has {X.shape[0]}.")
    if offset is not None and not np.isfinite(offset).all():
        raise ValueError(f"offset of block {index} must be finite.")
    return X, labels, checked_weight(weight, X.shape[0], name=f"sample_weight of block {index}"), offset


def _dataset(paths: list[str]) -> Any:
    """Parquet or Arrow files, or folders of them, as a data set of Arrow."""
    missing = [path for path in paths if not Path(path).exists()]
    if missing:
        raise FileNotFoundError(f"no such file: {missing[0]}")
    first = Path(paths[0])
    suffix = first.suffix if first.is_file() else next((f.suffix for f in sorted(first.rglob("*.*"))), ".parquet")
    form = choose(suffix, _FORMATS, "the ending of a file")
    return require("pyarrow.dataset", "arrow").dataset(paths if len(paths) > 1 else paths[0], format=form)


def _batches(
    files: Any, features: list[str], target: str | None, weight: str | None, offset: str | None
) -> Iterator[tuple[Any, ...]]:
    """Blocks of rows, with memory bounded by one batch."""
    rows = max(1, BATCH_BYTES // (8 * max(1, len(features))))
    columns = list(dict.fromkeys([*features, *filter(None, (target, weight, offset))]))
    for batch in files.to_batches(columns=columns, batch_size=rows, batch_readahead=1, fragment_readahead=1):
        X = np.empty((batch.num_rows, len(features)))
        for j, name in enumerate(features):
            X[:, j] = _numbers(batch, name)
        y = None if target is None else batch.column(target).to_numpy(zero_copy_only=False)
        yield X, y, *(None if name is None else _numbers(batch, name) for name in (weight, offset))


def _numbers(batch: Any, name: str) -> Array:
    column = batch.column(name)
    if column.null_count:
        raise ValueError(f"column {name!r} has missing values; drop or impute such rows first.")
    try:
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r} holds {column.type}, not numbers; encode or leave it out.") from error


class StreamEngine(Engine):
    """A stream with its labels turned into class codes and its blocks cut to the size of the cache.

    Without `classes` its labels are not read; `fitted` is the estimator whose features it must have.
    """

    def __init__(
        self, stream: Stream, classes: NDArray[Any] | None, class_factor: Array | None = None, fitted: Any = None
    ) -> None:
        self.stream, self.classes, self.class_factor, self.fitted = stream, classes, class_factor, fitted

    @classmethod
    def of_training_data(
        cls, estimator: BaseEstimator, X: Stream, y: Given, sample_weight: Given, offset: Given
    ) -> tuple[Engine, NDArray[Any]]:
        if y is not None or sample_weight is not None or offset is not None:
            raise ValueError("y, sample_weight and offset must come inside the blocks when X is a Stream.")
        classes: NDArray[Any] | None = None
        n_features = 0
        for features, labels, _, _ in X.raw_blocks():
            if labels is None:
                raise ValueError("the stream has no labels; blocks must be (X, y, ...), files need target=.")
            found = found_classes(labels)
            classes = found if classes is None else np.union1d(classes, found)
            n_features = features.shape[1]
        if classes is None:
            raise ValueError("the stream has no rows.")
        estimator.n_features_in_ = n_features
        if X.feature_names is not None:
            check_names(estimator, X.feature_names, reset=True)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return cls(X, classes), classes

    @classmethod
    def of_new_data(cls, estimator: Any, X: Stream, offset: Given) -> Engine:
        if offset is not None:
            raise ValueError("offset must come inside the blocks when X is a Stream.")
        return cls(X, None, fitted=estimator)

    def blocks(self) -> Iterator[Block]:
        for X, y, weight, offset in self.stream.raw_blocks():
            if self.fitted is not None and X.shape[1] != self.fitted.n_features_in_:
                raise ValueError(
                    f"X has {X.shape[1]} features, but the model was fitted with {self.fitted.n_features_in_}."
                )
            if self.fitted is not None and self.stream.feature_names is not None:
                check_names(self.fitted, self.stream.feature_names, reset=False)
            known = self.fitted.classes_ if self.classes is None else self.classes
            offset = checked_offset(offset, X.shape[0], len(known))
            codes = np.zeros(X.shape[0], dtype=np.intp)
            if y is not None and self.classes is not None:
                codes = encode(y, self.classes)
            weight = combine_weights(weight, codes, self.class_factor)
            yield from MemoryEngine(X, codes, weight, offset).blocks()

    def reweighted(self, class_factor: Array) -> Engine:
        factor = class_factor if self.class_factor is None else self.class_factor * class_factor
        return StreamEngine(self.stream, self.classes, factor)
