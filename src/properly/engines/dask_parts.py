"""What users pass of Dask, part by part: chunks of arrays, or partitions of frames."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from properly.engines.description import Part
from properly.engines.room import reuse_memory
from properly.inputs.frames import is_frame
from properly.inputs.optional import require


class DaskParts:
    """Parts that are not computed yet, and what is known of them: the names of the features, the numbers of rows."""

    def __init__(self, X: Any, **columns: Any) -> None:
        self.feature_names: list[str] | None = None
        if not is_frame(X):
            X = X.rechunk({1: -1}) if X.ndim == 2 else X[:, None]
        elif X.ndim == 1:
            X = X.to_frame()
        elif all(isinstance(name, str) for name in X.columns):
            self.feature_names = list(X.columns)
        self.chunks = (math.nan,) * X.npartitions if is_frame(X) else X.chunks[0]
        self.n_rows = None if np.isnan(self.chunks).any() else sum(self.chunks)
        aligned = [self._aligned(values, name) for name, values in columns.items()]
        loaded = require("dask", "dask").delayed(_loaded)
        parts = zip(_delayed(X), *aligned, strict=True)
        self.parts: list[Any] = [loaded(f"part {number} of X", *part) for number, part in enumerate(parts)]

    def _aligned(self, values: Any, name: str) -> list[Any]:
        """The parts of labels, weights or offsets that belong to those of X."""
        if values is None:
            return [None] * len(self.chunks)
        if not hasattr(values, "to_delayed"):
            raise ValueError(f"{name} must be a Dask array or series, like X, got a {type(values).__name__}.")
        if hasattr(values, "rechunk") and not np.isnan((*self.chunks, *values.chunks[0])).any():
            if sum(values.chunks[0]) != sum(self.chunks):
                raise ValueError(f"{name} has {sum(values.chunks[0])} rows, X has {sum(self.chunks)}.")
            values = values.rechunk({0: self.chunks} | ({1: -1} if values.ndim == 2 else {}))
        parts = _delayed(values)
        if len(parts) != len(self.chunks):
            raise ValueError(f"{name} has {len(parts)} partitions, X has {len(self.chunks)}; give both the same ones.")
        return parts


def _delayed(values: Any) -> list[Any]:
    """The parts, as they are: of every column by itself, Dask would join other small files."""
    return list(np.ravel(values.to_delayed(optimize_graph=False)))


def _loaded(place: str, X: Any, y: Any, weight: Any, offset: Any, group: Any) -> Part:
    reuse_memory()
    return Part(X, y, weight, offset, group, place).converted()
