"""Groups of rows: any labels, missing ones among them, turned into names and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.inputs.forecast import Forecast
from properly.inputs.options import numbered

MISSING = "(missing)"


def read_groups(group: ArrayLike, forecast: Forecast) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """The names of the groups in sorted order, missing values last, and the position of the group of every row.

    Rows of weight 0 are left out, as they are in the forecast.
    """
    labels = np.asarray(group)
    if labels.dtype.kind in "US" and isinstance(group, list | tuple):
        labels = np.array(group, dtype=object)  # NumPy would make the text "nan" of a missing value among texts
    if labels.shape != (forecast.n_given,):
        raise ValueError(
            f"group must be a label for each row of y, of shape ({forecast.n_given},), got {labels.shape}."
        )
    return _coded(forecast.kept(labels))


def _coded(labels: NDArray[Any]) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    if labels.dtype != object:
        found, codes = np.unique(labels, return_inverse=True)
        return tuple(MISSING if _is_missing(each) else str(each) for each in found), codes
    values = labels.tolist()
    distinct = set(values)
    known = [each for each in distinct if not _is_missing(each)]
    try:
        known.sort()
    except TypeError:  # labels of several kinds
        known.sort(key=str)
    position = dict.fromkeys(distinct, len(known)) | {each: k for k, each in enumerate(known)}
    names = numbered([str(each) for each in known] + [MISSING] * (len(known) < len(distinct)))
    return names, np.fromiter(map(position.__getitem__, values), dtype=np.intp, count=len(values))


def _is_missing(label: Any) -> bool:
    """None, and what is not equal to itself or cannot be compared: nan, NaT, pandas' NA."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True
