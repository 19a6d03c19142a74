"""What a model is fitted to, of a table of any size: blocks of features, codes of the classes, weights."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from properly.inputs.optional import require
from properly.numeric.probabilities import Array
from properly.tables.base import Place, distinct
from properly.tables.clusters import dask_block, delayed_pieces, joined
from properly.tables.folders import TableBlock, TableFolder, labels_of, located, meanings
from properly.tables.reading import TableFile
from properly.tables.targets import Label, row_weights


class LabelledBlocks:
    """The rows of a table of any size as blocks of a `Stream`: features, codes of the classes, weights.

    `features` makes numbers of a table; `classes` are those of a sample. What features warn of is told once, in the
    first pass.
    """

    def __init__(
        self,
        source: TableFile | TableFolder,
        features: Callable[..., Array],
        columns: Sequence[str],
        classes: Sequence[Label],
        target: str,
        weight: str | None,
    ) -> None:
        self.source, self.features, self.classes = source, features, list(classes)
        self.columns, self.target, self.weight = list(columns), target, weight
        self._codes = dict[Label, int]()  # of labels as they are stored
        self.class_weight = np.zeros(len(classes))  # of all rows, after the first pass
        self._passes, self._told = 0, set[str]()
        self._wanted = distinct(*columns, target, weight)

    def __call__(self) -> Iterator[TableBlock]:
        self._passes += 1
        for file, batch, begin in located(self.source, self._wanted):
            block = self.block(file, batch, begin)
            if self._passes == 1:
                self.class_weight += self._weights(block)
            yield block

    def block(self, file: TableFile, batch: Any, begin: int) -> TableBlock:
        """One batch of a file, which begins with this row."""
        path = file.path
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always" if self._passes == 1 else "ignore")
            X = self.features(batch, source=path, first_row=begin)
        for each in caught:
            told = re.sub(r"\d+ rows?|row \d+", "", str(each.message).removeprefix(path))
            if told not in self._told:
                self._told.add(told)
                warnings.warn(each.message, each.category, stacklevel=2)
        weight = None
        if self.weight is not None:
            weight = row_weights(batch.column(self.weight), Place(path, self.weight, begin))
        return TableBlock(X, self._codes_of(file, batch, begin), weight)

    def of_cluster(self, n_features: int, weigh: bool) -> TableBlock:
        """All rows as dask arrays, a part for every piece of the Parquet files.

        `weigh` says whether `class_weight` is wanted, which takes a pass of its own.
        """
        weight = None if self.weight is None else np.empty(0)
        no_rows = TableBlock(np.empty((0, n_features)), np.empty(0, dtype=np.intp), weight)
        made = delayed_pieces(self.source, partial(self._of_piece, no_rows))
        if weigh:
            parts = require("dask", "dask").compute(*map(require("dask", "dask").delayed(self._weights), made))
            self.class_weight = sum(parts, self.class_weight)
        return dask_block(made, no_rows)

    def _weights(self, block: TableBlock) -> Array:
        return np.bincount(block.y, block.weight, len(self.classes)).astype(np.float64)

    def _of_piece(self, no_rows: TableBlock, piece: TableFile, position: int) -> TableBlock:
        self._passes = 1
        return joined([self.block(*batch) for batch in located(piece, self._wanted)] or [no_rows])

    def _codes_of(self, file: TableFile, batch: Any, begin: int) -> NDArray[np.intp]:
        found = labels_of(file, batch, self.target, begin)
        for k, label in enumerate(found.classes):
            if label in self._codes:
                continue
            meaning = self._meaning(label)
            if meaning not in self.classes:
                problem = (
                    f"the class {meaning!r} is so rare that no row of it was drawn to compare models; leave it out."
                )
                raise Place(file.path, self.target, begin).error(int((found.codes == k).argmax()), problem)
            self._codes[label] = self.classes.index(meaning)
        own = np.array([self._codes[label] for label in found.classes], dtype=np.intp)
        return np.asarray(own[found.codes])

    def _meaning(self, label: Label) -> Label:
        """What a label stands for beside the known classes, in whose place a text file has their names."""
        known = map(str, self.classes) if self.source.format.kind == "text" else self.classes
        return meanings([*known, label], self.source, self.target)[label]
