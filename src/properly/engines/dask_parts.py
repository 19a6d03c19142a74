"""What users pass of Dask, part by part: chunks of arrays, or partitions of frames."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from properly.engines.dask_tasks import applied, loaded
from properly.inputs.frames import is_frame
from properly.inputs.optional import require


class DaskParts:
    """Parts that are not computed yet, and what is known of them: the names of the features, the numbers of rows."""

    def __init__(self, X: Any, **columns: Any) -> None:
        self.feature_names = None
        if not _is_collection(X):
            raise ValueError(
                f"X must be a Dask array, data frame or series, got a {type(X).__name__}; make one of it with "
                "dask.array.from_delayed or dask.dataframe.from_delayed."
            )
        if is_frame(X):
            named = X.ndim == 2 and all(isinstance(name, str) for name in X.columns)
            X = _checked(X if X.ndim == 2 else X.to_frame())
            self.feature_names = list(X.columns) if named else None
        elif X.ndim > 2:
            raise ValueError(f"X must have two dimensions, got {X.ndim}; reshape it to a row for every example.")
        else:
            X = X.rechunk({1: -1}) if X.ndim == 2 else X[:, None]
        self.chunks = (math.nan,) * X.npartitions if is_frame(X) else X.chunks[0]
        unknown = np.isnan(self.chunks).any() or sparse.issparse(X._meta)  # of sparse rows their entries count
        self.shape = None if unknown else (sum(self.chunks), X.shape[1])
        aligned = [self._aligned(values, name) for name, values in columns.items()]
        load = require("dask", "dask").delayed(loaded)
        parts = zip(_delayed(X), *aligned, strict=True)
        self.parts: list[Any] = [load(f"part {number} of X", *part) for number, part in enumerate(parts)]

    def _aligned(self, values: Any, name: str) -> list[Any]:
        """The parts of labels, weights or offsets that belong to those of X."""
        if values is None:
            return [None] * len(self.chunks)
        if not _is_collection(values):
            raise ValueError(f"{name} must be a Dask array or series, like X, got a {type(values).__name__}.")
        if hasattr(values, "rechunk") and not np.isnan((*self.chunks, *values.chunks[0])).any():
            if sum(values.chunks[0]) != sum(self.chunks):
                raise ValueError(f"{name} has {sum(values.chunks[0])} rows, X has {sum(self.chunks)}.")
            values = values.rechunk({0: self.chunks} | ({1: -1} if values.ndim == 2 else {}))
        parts = _delayed(values)
        if len(parts) != len(self.chunks):
            raise ValueError(f"{name} has {len(parts)} partitions, X has {len(self.chunks)}; give both the same ones.")
        return parts


def _is_collection(x: Any) -> bool:
    """Whether x is an array, a frame or a series: a `Delayed` seems to have all attributes, a bag has no axes."""
    return hasattr(type(x), "to_delayed") and hasattr(type(x), "ndim")


def _checked(frame: Any) -> Any:
    """Refuse columns that are not numbers by their type, which Dask knows."""
    is_numeric = require("pandas.api.types", "frames").is_numeric_dtype
    for name, kind in frame.dtypes.items():
        if not is_numeric(kind):
            raise ValueError(f"column {name!r} of X holds {kind}, not numbers; encode or leave it out.")
    return frame


def _delayed(values: Any) -> list[Any]:
    """The parts, as they are: of every column by itself, Dask would join other small files."""
    return list(np.ravel(values.to_delayed(optimize_graph=False)))


def lazily(function: Callable[[Any, int], Any], parts: Sequence[Any], chunks: Sequence[int], nothing: Any) -> Any:
    """A dask array of what a function gives for every part, of which nothing is computed yet."""
    work = require("dask", "dask").delayed(partial(applied, function), pure=False)
    array = require("dask.array", "dask")
    results = [
        array.from_delayed(work(part, number), (rows, *nothing.shape[1:]), meta=nothing)
        for number, (part, rows) in enumerate(zip(parts, chunks, strict=True))
    ]
    return array.concatenate(results, allow_unknown_chunksizes=True)
