"""Weights and offsets of rows, checked."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.inputs.labels import require_several_classes
from properly.numeric.arrays import Array, anywhere, constant_like, float_like, namespace
from properly.numeric.limits import SMALLEST_NORMAL

_LARGEST_COUNT = 2.0**53  # beyond, float64 does not hold every whole number
_NONE_POSITIVE = "sample_weight is zero for every row; at least one must be positive."


def checked_offset(offset: ArrayLike | None, n_rows: int, n_classes: int, like: Any = None) -> Array | None:
    """One offset per row for two classes, one per row and class for more; where `like` is."""
    if offset is None:
        return None
    offset = cast(Array, float_like(offset, like, "offset"))
    check_offset_shape(tuple(offset.shape), n_rows, n_classes)
    if anywhere(~namespace(offset).isfinite(offset)):
        raise ValueError("offset must be finite.")
    return offset


def check_offset_shape(shape: tuple[int, ...], n_rows: int, n_classes: int) -> None:
    expected = (n_rows,) if n_classes <= 2 else (n_rows, n_classes)
    if shape != expected:
        raise ValueError(f"offset must have shape {expected} for {n_rows} rows and {n_classes} classes, got {shape}.")


def checked_weight(
    sample_weight: ArrayLike | None,
    n_rows: int,
    *,
    positive_sum: bool = False,
    name: str = "sample_weight",
    like: Any = None,
) -> Array | None:
    """One finite weight of at least 0 for every row, where `like` is; a single number is the weight of all of them.

    With `positive_sum` not all of them may be 0, and float64 must be able to hold their sum.
    """
    if sample_weight is None:
        return None
    weight = cast(Array, float_like(sample_weight, like, name))
    if weight.ndim == 0:
        weight = constant_like(np.full(n_rows, float(weight)), like)
    if weight.ndim != 1:
        raise ValueError(f"{name} must be 1D, got {weight.ndim} dimensions.")
    if weight.shape[0] != n_rows:
        raise ValueError(f"{name} has {weight.shape[0]} entries, but there are {n_rows} rows; every row needs one.")
    xp = namespace(weight)
    finite = xp.isfinite(weight)
    if not xp.all(finite):
        raise ValueError(f"{name} must be finite, got {float(weight[~finite][0])}.")
    lowest, highest = (float(xp.min(weight)), float(xp.max(weight))) if n_rows else (0.0, 0.0)
    if lowest < 0.0:
        raise ValueError(f"{name} must not be negative, got {lowest}.")
    if positive_sum and highest == 0.0:
        raise ValueError(_NONE_POSITIVE)
    if positive_sum and highest > np.finfo(np.float64).max / n_rows:
        raise ValueError(f"{name} adds up to more than float64 can hold; divide all weights by their largest.")
    return weight


def row_weights(sample_weight: ArrayLike | None, n_rows: int, *, positive_sum: bool = False) -> Array:
    """As `checked_weight`, with a weight of 1 for every row where none are given."""
    weight = checked_weight(sample_weight, n_rows, positive_sum=positive_sum)
    return np.ones(n_rows) if weight is None else weight


def are_counts(weight: Array | None) -> bool:
    """Whether checked weights are whole numbers, so that each row can be taken for as many; without any, for one."""
    if weight is None:
        return True
    xp = namespace(weight)
    return bool(xp.all((weight == xp.round(weight)) & (weight <= _LARGEST_COUNT)))


def unit_of(weight: Array | None) -> Array | None:
    """What one row weighs: each its weight, but None, for 1, if weights are numbers of rows.

    That is decided once, for all rows; some of them keep their units. Rows that were counted as one have as their unit
    the weighted mean of their weights, Σw²/Σw.
    """
    return None if are_counts(weight) else weight


def squares(weight: Array, unit: Array | None) -> Array:
    """Σw² of the rows behind each weight."""
    return weight if unit is None else weight * unit


def row_factor(weight: Array, unit: Array | None) -> float:
    """What makes weights numbers of rows: others than those then add up to the effective number, (Σw)²/Σw².

    So many rows of equal weight tell as much, if weights do not depend on what is measured.

    >>> [row_factor(weight, unit_of(weight)) for weight in (np.array([3.0, 2.0]), np.array([0.5, 1.0, 1.5]))]
    [1.0, 0.857142857142857]
    """
    if unit is None:
        return 1.0
    xp = namespace(weight)
    largest = float(xp.max(weight))
    share = weight / largest
    return float(xp.sum(share)) / float(xp.sum(squares(share, unit / largest))) / largest


def in_rows(weight: Array, unit: Array | None) -> tuple[Array, Array | None]:
    """Weights, and those of one row, that add up to the number of rows, or to the effective one."""
    if unit is None:
        return weight, None
    factor = row_factor(weight, unit)
    scaled = weight * factor
    return scaled, scaled if unit is weight else unit * factor  # one array of rows in memory


def checked_class_weights(weight: Array, classes: NDArray[Any]) -> Array:
    """The summed weights of the classes: of two or more, with a finite sum.

    Some may be 0, as in a bootstrap sample without the rows of a rare class: models give such a class probability 0.
    """
    require_several_classes(classes)
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not np.isfinite(total):
        raise ValueError("sample_weight must have a finite sum; divide the weights by a large number.")
    if not total > 0.0:
        raise ValueError(_NONE_POSITIVE)
    for label, own in zip(classes.tolist(), weight.tolist(), strict=True):
        if own > 0.0 and own / total < SMALLEST_NORMAL:
            raise ValueError(
                f"the rows of class {label!r} have a weight of {own:.3g} in all, too little to count beside "
                f"{total:.3g}; make the weights less unequal."
            )
    return weight
