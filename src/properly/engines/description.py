"""The first pass over rows that are not in memory: everything that a fit wants to know before its first gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import column_or_1d

from properly.engines.memory import MemoryEngine
from properly.inputs.finite import refuse_dates
from properly.inputs.frames import column_names, is_frame, missing_in
from properly.inputs.labels import encode, found_classes
from properly.inputs.weights import checked_weight
from properly.kernels import Block, FirstRow, Moments, Statistic, first_row
from properly.numeric.arrays import require_values
from properly.numeric.functions import bincount
from properly.numeric.probabilities import Array, as_float

SAMPLE_BYTES = 2**26
_OURS = 0x70726F7065726C79  # begins all seeds: labels that users draw by default_rng(0) must not be drawn along with


class Part(NamedTuple):
    """Some rows as they are read, with labels in place of class numbers; `place` is their name in messages."""

    X: Any
    y: Any = None
    weight: Any = None
    offset: Any = None
    group: Any = None  # a label of any kind, by which rows are judged or kept together in folds
    place: str = "the data"

    def converted(self) -> Part:
        """The same rows as arrays of numbers (labels as they are)."""
        for name, column in zip(("X", "y", "sample_weight", "offset", "group"), self[:5], strict=True):
            require_values(column, f"{name} of {self.place}")
        X = self.X
        if sparse.issparse(X):
            X = sparse.csr_array(X, dtype=np.float64)
        elif not (type(X) is np.ndarray and X.dtype in (np.float32, np.float64)):
            with said_of(self.place):
                refuse_dates(X)
            X = as_float(X, f"X of {self.place}")
        y = None if self.y is None else np.asarray(column_or_1d(self.y, warn=True))
        weight = None if self.weight is None else column_or_1d(as_float(self.weight, f"sample_weight of {self.place}"))
        offset = None if self.offset is None else as_float(self.offset, f"offset of {self.place}")
        group = None if self.group is None else np.asarray(column_or_1d(self.group))
        return Part(X, y, weight, offset, group, self.place)

    def labels(self) -> NDArray[Any]:
        """Those of the rows converted; refused where there are none."""
        if self.y is None:
            raise ValueError(f"{self.place} has no labels; blocks must be (X, y, ...), files and frames need target=.")
        return cast("NDArray[Any]", self.y)

    def checked(self, names: Sequence[str] | None = None) -> Part:
        """The rows converted; values that no fit or prediction can use are refused; `names` are of columns."""
        X, y, weight, offset, group, place = part = self.converted()
        if X.ndim != 2:
            raise ValueError(f"X of {place} must have two dimensions, got {X.ndim}.")
        if not X.shape[1]:
            raise ValueError(f"X of {place} has no features; give it at least one column.")
        finite = np.isfinite(X.data if sparse.issparse(X) else X)
        if not finite.all():
            column = int(X.tocoo().coords[1][~finite].min() if sparse.issparse(X) else np.argmin(finite.all(axis=0)))
            names = column_names(self.X) if is_frame(self.X) else names
            name = column if names is None or len(names) != X.shape[1] else names[column]
            raise ValueError(
                f"X of {place} contains NaN or infinity in column {name!r}; drop or impute such rows first."
            )
        if offset is not None and offset.ndim not in (1, 2):
            raise ValueError(f"offset of {place} must have one or two dimensions, got {offset.ndim}.")
        for name, rows in (("y", y), ("sample_weight", weight), ("offset", offset), ("group", group)):
            if rows is not None and len(rows) != X.shape[0]:
                raise ValueError(f"{name} of {place} has {len(rows)} rows, its X has {X.shape[0]}.")
        if offset is not None and not np.isfinite(offset).all():
            raise ValueError(f"offset of {place} must be finite.")
        checked_weight(weight, X.shape[0], name=f"sample_weight of {place}")
        return part


@contextmanager
def said_of(place: str) -> Iterator[None]:
    """An error while the block runs is given the place of the rows."""
    try:
        yield
    except ValueError as error:
        kind = type(error) if type(error).__init__ is ValueError.__init__ else ValueError  # that takes a text
        raise kind(f"{str(error).removesuffix('.')} (in {place}).") from error


def priorities(n_rows: int, *place: int) -> Array:
    """A random number from 0 to 1 for every row of a part, by which rows are drawn; `place` is the seed."""
    return np.random.default_rng([_OURS, *place]).random(n_rows)


def _row_bytes(X: Any) -> int:
    """Of a row as float64; if X is sparse, of its entries and their columns, as many as rows have on average."""
    return 12 * max(1, X.nnz // max(1, X.shape[0])) if sparse.issparse(X) else 8 * max(1, X.shape[1])


@dataclass(frozen=True)
class Sample(Statistic):
    """The rows whose priority, drawn by the seed of their part, is below a limit.

    The limit is halved until there is room for them. Which rows are kept thus depends neither on the order in which
    samples are added nor on how often a part is read.
    """

    limit: float
    parts: tuple[tuple[Array, Part], ...]
    n_rows: int
    room: int

    @classmethod
    def drawn(cls, part: Part, number: int, limit: float, most: int | None = None) -> Self:
        """At most so many rows of a part, or as many as a stated number of bytes holds."""
        priority = priorities(part.X.shape[0], number)
        room = max(1, SAMPLE_BYTES // _row_bytes(part.X)) if most is None else most
        return cls(np.inf, ((priority, part),), len(priority), room)._below(limit)._fitting()

    def __add__(self, other: Self) -> Self:
        limit, room = min(self.limit, other.limit), min(self.room, other.room)
        mine, others = self._below(limit), other._below(limit)
        n_rows = mine.n_rows + others.n_rows
        return type(self)(limit, mine.parts + others.parts, n_rows, room)._fitting()

    def _fitting(self) -> Self:
        sample = self
        while sample.n_rows > sample.room:
            sample = sample._below(0.5 * sample.limit)
        return sample

    def _below(self, limit: float) -> Self:
        if limit == self.limit:
            return self
        kept = []
        for priority, part in self.parts:
            rows = np.flatnonzero(priority < limit)
            X, y, weight, offset = (None if column is None else column[rows] for column in part[:4])
            kept.append((priority[rows], Part(X, y, weight, offset)))
        return replace(self, limit=limit, parts=tuple(kept), n_rows=sum(len(priority) for priority, _ in kept))

    def engine(self, classes: NDArray[Any]) -> MemoryEngine:
        return MemoryEngine(*self.columns(classes))

    def columns(self, classes: NDArray[Any]) -> tuple[Any, NDArray[np.intp], Array | None, Array | None]:
        """X, the positions of the labels among sorted classes, weights and offsets of all rows in one piece each.

        Where a part has no weights they are 1, and where it has no offsets they are 0; None if no part has any.
        """
        parts = [part for _, part in self.parts]
        matrices = [part.X for part in parts]
        any_sparse = any(map(sparse.issparse, matrices))
        X = sparse.vstack(matrices, format="csr") if any_sparse else np.concatenate(matrices)
        y = np.concatenate([encode(part.y, classes) for part in parts])
        weight, offset = None, None
        if any(part.weight is not None for part in parts):
            weight = np.concatenate([np.ones(len(p.y)) if p.weight is None else p.weight for p in parts])
        if any(part.offset is not None for part in parts):
            width = next(part.offset.shape[1:] for part in parts if part.offset is not None)
            offset = np.concatenate([np.zeros((len(p.y), *width)) if p.offset is None else p.offset for p in parts])
        return X, y, weight, offset


@dataclass
class _Summary(Statistic):
    """By class: rows of positive weight, the weights, and the weighted sums of the features and their squares."""

    rows: Array
    weight: Array
    total: Array
    squares: Array
    sparse_rows: int


def _summary(block: Block, n_classes: int) -> _Summary:
    share = np.zeros((n_classes, len(block.y)))  # of a row for every class: products are faster than of a column
    share[block.y, np.arange(len(block.y))] = 1.0 if block.weight is None else block.weight
    rows = len(block.y) if sparse.issparse(block.X) else 0
    squares = block.X.power(2) if rows else np.square(block.X)
    weight = bincount(block.y, block.weight, n_classes)
    counts = weight if block.weight is None else bincount(block.y, np.sign(block.weight), n_classes)
    return _Summary(counts, weight, block.X.T @ share.T, squares.T @ share.T, rows)


@dataclass
class Description(Statistic):
    """The classes, and for each its weight and the moments of the features; offsets; first row; a sample."""

    place: str
    n_rows: int
    classes: NDArray[Any]
    summary: _Summary
    offsets: tuple[Array, Array]  # the smallest and the largest of each column
    offset_shape: tuple[int, ...] | None  # after the number of rows
    first: FirstRow
    sample: Sample | None  # until an engine has been made of it

    @classmethod
    def of(cls, part: Part, number: int, share: float, names: Sequence[str] | None = None) -> Self | None:
        """Of the rows of one part, whose values are checked here and nowhere else; `number` is its seed."""
        part = part.checked(names)
        if not part.X.shape[0]:
            return None
        y = part.labels()
        if y.dtype.kind in "fOmM" and missing_in(y).any():
            raise ValueError(
                f"{part.place} has rows without a label; drop such rows, or give them a class of their own."
            )
        with said_of(part.place):
            classes = found_classes(y)
        engine = MemoryEngine(part.X, encode(y, classes), part.weight)
        with np.errstate(over="ignore", invalid="ignore"):  # sums that overflow are refused when they are used
            summary = engine.reduce(_summary, len(classes))
        offset = np.zeros(1) if part.offset is None else part.offset
        offsets = np.atleast_1d(offset.min(axis=0)), np.atleast_1d(offset.max(axis=0))
        shape = None if part.offset is None else part.offset.shape[1:]
        first = first_row(Block(part.X, engine.y, part.weight))
        sample = Sample.drawn(part, number, share)
        return cls(part.place, part.X.shape[0], classes, summary, offsets, shape, first, sample)

    def __add__(self, other: Self) -> Self:
        here, there = (len(each.summary.total) for each in (self, other))
        if here != there and other.place == self.place:
            raise ValueError(
                f"{self.place} has rows of different lengths, {sorted({here, there})}; mend such rows first."
            )
        if here != there:
            raise ValueError(f"{other.place} has {there} features, {self.place} has {here}.")
        if None not in (self.offset_shape, other.offset_shape) and self.offset_shape != other.offset_shape:
            raise ValueError(f"the offsets of {other.place} have other columns than those of {self.place}.")
        kinds = {each.dtype.kind in "biuf" for each in (self.classes, other.classes)}
        kind = object if len(kinds) > 1 else None  # of numbers and texts NumPy would make texts
        with said_of(f"{other.place}, unlike {self.place}"):
            classes = found_classes(np.concatenate([self.classes, other.classes], dtype=kind))
        low, high = zip(self.offsets, other.offsets, strict=True)
        return type(self)(
            self.place,
            self.n_rows + other.n_rows,
            classes,
            self._of_classes(classes) + other._of_classes(classes),
            (np.minimum(*low), np.maximum(*high)),
            other.offset_shape if self.offset_shape is None else self.offset_shape,
            self.first + other.first,
            self.sample + other.sample if self.sample and other.sample else None,
        )

    def _of_classes(self, classes: NDArray[Any]) -> _Summary:
        """The summary with a column for each of these classes."""
        own, summary = np.searchsorted(classes, self.classes), self.summary

        def widened(part: Array) -> Array:
            wide = np.zeros((*part.shape[:-1], len(classes)))
            wide[..., own] = part
            return wide

        rows, weight, total, squares = map(widened, (summary.rows, summary.weight, summary.total, summary.squares))
        return _Summary(rows, weight, total, squares, summary.sparse_rows)

    def moments(self, class_factor: Array | None) -> Moments:
        factor = np.ones(len(self.classes)) if class_factor is None else class_factor
        with np.errstate(over="ignore", invalid="ignore"):
            return Moments(self.summary.total @ factor, self.summary.squares @ factor, self.summary.sparse_rows)
