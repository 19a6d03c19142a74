"""Which rows train and which are held out, where some rows do not count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.utils.validation import _check_method_params

from properly.probabilities import Array

Indices = NDArray[np.intp]


class GivenRows(NamedTuple):
    """All rows as the user gave them, of which those of weight 0 do not count."""

    X: Any
    y: Any
    for_split: dict[str, Any]
    weight: Array | None

    @property
    def counted(self) -> NDArray[np.bool_]:
        return np.full(len(self.y), True) if self.weight is None else self.weight > 0.0

    def balanced_folds(self, n_folds: int, codes: NDArray[Any]) -> Iterable[tuple[Any, Any]]:
        """Stratified folds of the rows that count."""
        for_split = _check_method_params(self.X, self.for_split, np.flatnonzero(self.counted))
        return check_cv(n_folds, codes, classifier=True).split(codes, codes, **for_split)

    def thinned(self, cv: Any) -> Iterator[tuple[Indices, Indices]]:
        """The splits of all rows, as a splitter or a list of row numbers speaks of them, less those that do not count.

        A row has its place among those that count in the end.
        """
        place = np.where(self.counted, np.cumsum(self.counted) - 1, -1)
        for sides in check_cv(cv).split(self.X, self.y, **self.for_split):
            train, test = (place[side] for side in sides)
            yield train[train >= 0], test[test >= 0]
