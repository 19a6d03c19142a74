"""What a user hands to a metric, checked in one place: labels, probabilities, weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, column_or_1d

from properly.calibration.inputs import BinarySample, distinct_labels
from properly.engines.select import checked_weight
from properly.probabilities import Array, Probabilities, as_float, as_probabilities, log_of_complement

_ROW_SUM_TOLERANCE = 1e-3  # probabilities printed with three digits are welcome, logits are not
_ROUNDING = 1e-12
_BLOCK = 1 << 16  # rows looked at together: what a loss needs besides then stays in the cache


@dataclass(frozen=True)
class Forecast:
    """Checked labels and probabilities; rows of weight 0 are gone.

    For two classes `p` is the probability of the second, of shape (n,), and `complement` that of the first where the
    user gave both columns. For K > 2 classes `p` has shape (n, K).
    """

    codes: NDArray[Any]  # position of the label among the classes, of a byte each for two classes
    p: Array
    complement: Array | None
    weight: Array | None

    @property
    def binary(self) -> bool:
        return self.p.ndim == 1

    @property
    def positive(self) -> NDArray[np.bool_]:
        """For two classes: whether the row belongs to the second."""
        return self.codes.view(np.bool_)

    @property
    def total(self) -> float:
        """The weight of all rows: their number if none was given. No class has more, not even by rounding."""
        return float(self.class_weight.sum())

    @cached_property
    def class_weight(self) -> Array:
        """The weight of the rows of every class."""
        return np.bincount(self.codes, self.weight, 2 if self.binary else self.p.shape[1]).astype(np.float64)

    def at(self, rows: slice) -> Probabilities:
        """p, q and their logarithms of some rows (two classes).

        Columns that add up to 1 complete each other's last digits; of others each has its own logarithm.
        """
        p = self.p[rows]
        if self.complement is None:
            return as_probabilities(p)
        q = self.complement[rows]
        exact = np.abs(p + q - 1.0) <= _ROUNDING
        with np.errstate(divide="ignore"):
            log_p, log_q = (np.where(exact, log_of_complement(a, b), np.log(a)) for a, b in ((p, q), (q, p)))
        return Probabilities(p, q, log_p, log_q)

    def blocks(self) -> Iterator[slice]:
        return (slice(start, start + _BLOCK) for start in range(0, len(self.codes), _BLOCK))

    def against_rest(self) -> list[Forecast]:
        """Each of K > 2 classes against the others; two classes are one such question."""
        if self.binary:
            return [self]
        return [self.of_class(k) for k in range(self.p.shape[1])]

    def of_class(self, k: int) -> Forecast:
        """Class k against the others."""
        own = (self.codes == k).view(np.int8)
        if not self.binary:
            return Forecast(own, np.ascontiguousarray(self.p[:, k]), None, self.weight)
        p, q = self.p, 1.0 - self.p if self.complement is None else self.complement
        return Forecast(own, *((p, self.complement) if k else (q, p)), self.weight)

    def sample(self) -> BinarySample:
        """What isotonic regression takes (two classes)."""
        return BinarySample(self.p, self.positive, self.weight)

    def mean(self, values: Array) -> float:
        """The weighted mean over the rows; ∞ where a row has it, even if another has -∞."""
        return mean(values, self.weight)


def mean(values: Array, weight: Array | None) -> float:
    with np.errstate(invalid="ignore"):
        average = values.mean() if weight is None else np.sum(values * weight) / weight.sum()
    return float("inf") if np.isnan(average) else float(average)


def read_forecast(
    y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None = None, classes: ArrayLike | None = None
) -> Forecast:
    """Check everything, and leave out the rows of weight 0."""
    values, complement = read_probabilities(p)
    codes = _codes(y, classes, 2 if values.ndim == 1 else values.shape[1])
    if len(codes) != len(values):
        raise ValueError(f"y has {len(codes)} rows, p has {len(values)}: inconsistent numbers of samples.")
    weight = read_weight(sample_weight, len(codes))
    if weight is None or weight.all():
        return Forecast(codes, values, complement, weight)
    rows = weight > 0.0
    return Forecast(codes[rows], values[rows], None if complement is None else complement[rows], weight[rows])


def read_binary(
    y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None = None, classes: ArrayLike | None = None
) -> Forecast:
    """As `read_forecast`, for what is defined for two classes only."""
    forecast = read_forecast(y, p, sample_weight, classes)
    if not forecast.binary:
        raise ValueError(
            f"this is defined for two classes, but p has {forecast.p.shape[1]} columns; look at one class k against "
            "the rest: y == classes[k] and p[:, k]."
        )
    return forecast


def read_weight(sample_weight: ArrayLike | None, n_rows: int) -> Array | None:
    """Weights, not all of them 0."""
    weight = checked_weight(sample_weight, n_rows)
    if weight is not None and not weight.any():
        raise ValueError("sample_weight is zero for every row; at least one must be positive.")
    if weight is not None and weight.max() > np.finfo(np.float64).max / n_rows:
        raise ValueError("sample_weight adds up to more than float64 can hold; divide all weights by their largest.")
    return weight


def read_probabilities(p: ArrayLike, name: str = "p") -> tuple[Array, Array | None]:
    """(p, None) of one column, (p, 1 - p) of two, (p of shape (n, K), None) of more."""
    values = as_float(p, name)
    if values.ndim not in (1, 2) or values.shape[-1] == 0:
        rule = f"{name} must have shape (n,) or (n, K) with at least one row"
        raise ValueError(f"{rule}, got {'a single number' if values.ndim == 0 else f'shape {values.shape}'}.")
    if len(values) == 0:
        raise ValueError(f"{name} is empty; at least one row is needed.")
    if not (values.min() >= 0.0 and values.max() <= 1.0):
        row = int(np.argmin(((values >= 0.0) & (values <= 1.0)).reshape(len(values), -1).all(axis=1)))
        raise ValueError(
            f"{name} must lie in [0, 1], got {values[row]} in row {row}; drop missing values, and turn scores into "
            "probabilities by calibration or a link."
        )
    if values.ndim == 1:
        return values, None
    if values.shape[1] == 1:
        return values[:, 0], None
    sums = values.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1.0)))
    if abs(sums[worst] - 1.0) > _ROW_SUM_TOLERANCE:
        raise ValueError(f"every row of {name} must add up to 1, but row {worst} adds up to {sums[worst]:.6g}.")
    if values.shape[1] == 2:
        return np.ascontiguousarray(values[:, 1]), np.ascontiguousarray(values[:, 0])
    return values, None


def _codes(y: ArrayLike, classes: ArrayLike | None, n_classes: int) -> NDArray[Any]:
    """The position of every label among the classes: those given, or those found in sorted order."""
    if y is None:
        raise ValueError("y is None; the labels are needed.")
    labels = column_or_1d(y)
    if len(labels) == 0:
        raise ValueError("y is empty; at least one row is needed.")
    found = _found_classes(labels)
    known = _completed(found, n_classes) if classes is None else _given(classes, found, n_classes)
    if n_classes == 2:
        return np.asarray(labels == known[1]).view(np.int8)
    order = np.argsort(known)
    return order[np.searchsorted(known, labels, sorter=order)]


def _found_classes(labels: NDArray[Any]) -> NDArray[Any]:
    if labels.dtype == object:  # one pass in place of sorting all labels
        try:
            found = np.array(sorted(set(labels)), dtype=object)
        except TypeError as error:
            raise ValueError(f"y must hold labels of one kind, without missing values: {error}.") from error
    else:
        found = distinct_labels(labels)
    check_array(found, ensure_2d=False, dtype=None, input_name="y")
    if found.dtype.kind == "f" and (found != np.floor(found)).any():
        example = found[found != np.floor(found)][0]
        raise ValueError(f"y must hold labels, got the fraction {example}; labels come first, then probabilities.")
    return found


def _completed(found: NDArray[Any], n_classes: int) -> NDArray[Any]:
    """The classes found, if they are as many as p has; one class only may be 0 or 1 (or -1, or a boolean)."""
    if len(found) == n_classes:
        return found
    if n_classes == 2 and len(found) == 1 and found.dtype.kind in "biuf" and found[0] in (-1, 0, 1):
        return np.array([min(found[0], 0), 1])
    listed = ", ".join(repr(label) for label in found[:5].tolist()) + (", ..." if len(found) > 5 else "")
    columns = "one column" if n_classes == 2 else f"{n_classes} columns"
    if len(found) > n_classes:
        raise ValueError(
            f"y holds {len(found)} classes ({listed}), but p has {columns}; p needs a column for every class."
        )
    raise ValueError(
        f"y holds {len(found)} of {n_classes} classes only ({listed}); pass classes=, all labels in the order of the "
        "columns of p (for one column: the negative label, then the positive one)."
    )


def _given(classes: ArrayLike, found: NDArray[Any], n_classes: int) -> NDArray[Any]:
    known = np.asarray(classes)
    if known.shape != (n_classes,) or len(np.unique(known)) != n_classes:
        raise ValueError(f"classes must be {n_classes} different labels, one for every class of p, got {classes!r}.")
    unknown = [label for label in found.tolist() if label not in known.tolist()]
    if unknown:
        raise ValueError(f"y holds the label {unknown[0]!r}, which is not among classes {known.tolist()}.")
    return known
