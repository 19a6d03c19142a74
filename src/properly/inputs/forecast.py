"""Labels, probabilities and weights, checked together into a `Forecast`; thresholds and groups that go with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special as sc

from properly.inputs.frames import missing_in
from properly.inputs.labels import check_lengths, forecast_labels
from properly.inputs.options import checked_thresholds, numbered
from properly.inputs.scores import BinarySample
from properly.inputs.weights import checked_weight, in_rows, unit_of
from properly.numeric.arrays import (
    anywhere,
    contiguous,
    floats,
    is_foreign,
    is_traced,
    namespace,
    require_one_library,
    require_values,
    to_numpy,
)
from properly.numeric.functions import average, bincount, own_entries
from properly.numeric.probabilities import Array, Probabilities, as_probabilities, log_of_complement

_ROW_SUM_TOLERANCE = 1e-3  # accepts probabilities rounded to three digits, but no logits
_ROUNDING = 1e-12
_NO_YES = np.array([False, True])
_BLOCK = 1 << 16  # rows looked at together: what a loss needs besides then stays in the cache


@dataclass(frozen=True)
class Forecast:
    """Checked labels and probabilities; rows of weight 0 are left out.

    For two classes `p` is the probability of the second, of shape (n,), and `complement` that of the first where the
    user gave both columns. For K > 2 classes `p` has shape (n, K). The arrays of the rows are of one library: of NumPy
    unless `read_forecast` was told to keep others.
    """

    codes: NDArray[Any]  # position of the label among the classes, of a byte each for two classes
    p: Array
    complement: Array | None
    weight: Array | None
    classes: NDArray[Any]  # the labels, in the order of the columns
    has_weight: NDArray[np.bool_] | None = None  # which of the rows that were given are here (None: all)
    unit: Array | None = None  # what one row weighs, as of `unit_of`; None: weights are numbers of rows
    rows: Array | None = None  # how many rows each one stands for, if they were counted

    @classmethod
    def of_positives(
        cls,
        positive: NDArray[np.bool_],
        p: Array,
        weight: Array | None = None,
        unit: Array | None = None,
        rows: Array | None = None,
    ) -> Forecast:
        """Forecasts of whether something is so, from checked arrays without weights of 0."""
        return cls(_bytes(positive), p, None, weight, _NO_YES, unit=unit, rows=rows)

    @property
    def n_rows(self) -> int:
        """The number of rows of positive weight."""
        return len(self.codes) if self.rows is None else int(self.rows.sum())

    @property
    def binary(self) -> bool:
        return self.p.ndim == 1

    @property
    def positive(self) -> NDArray[np.bool_]:
        """For two classes: whether the row belongs to the second."""
        return self.codes.view(np.bool_) if isinstance(self.codes, np.ndarray) else self.codes == 1

    @property
    def total(self) -> float:
        """The weight of all rows: their number if none was given. No class has more, not even by rounding."""
        return float(self.class_weight.sum())

    @cached_property
    def class_weight(self) -> Array:
        """The weight of the rows of every class."""
        return to_numpy(bincount(self.codes, self.weight, len(self.classes)))

    @property
    def rates(self) -> Array:
        """The share of every class."""
        return self.class_weight / self.total

    @property
    def means(self) -> Array:
        """The mean probability of every class."""
        mean = np.average(self.p, axis=0, weights=self.weight)
        return np.array([1.0 - mean, mean]) if self.binary else mean

    @property
    def surprises(self) -> int:
        """How many rows belong to a class whose probability was 0."""
        if not self.binary:
            return int(np.count_nonzero(self.p[np.arange(len(self.codes)), self.codes] == 0.0))
        impossible = self.p == 1.0 if self.complement is None else self.complement == 0.0
        surprising = np.where(self.positive, self.p == 0.0, impossible)
        return int(np.count_nonzero(surprising) if self.rows is None else self.rows[surprising].sum())

    @property
    def n_given(self) -> int:
        """The number of rows that were given, those of weight 0 included."""
        return len(self.codes) if self.has_weight is None else len(self.has_weight)

    def kept(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of all rows that were given, without those whose weight is 0."""
        return values if self.has_weight is None else values[self.has_weight]

    def take(self, rows: NDArray[Any] | slice) -> Forecast:
        """Some of the rows, or all in another order."""
        given = (self.complement, self.weight, self.rows)
        complement, weight, number = (None if each is None else each[rows] for each in given)
        unit = weight if self.unit is self.weight else None if self.unit is None else self.unit[rows]
        return Forecast(self.codes[rows], self.p[rows], complement, weight, self.classes, unit=unit, rows=number)

    def without_weight_0(self) -> Forecast:
        """The rows that have a weight."""
        if self.weight is None or not anywhere(self.weight == 0.0):
            return self
        rows = self.weight > 0.0
        return replace(self.take(rows), has_weight=rows)

    def with_p(self, p: Array) -> Forecast:
        """The same rows with other checked probabilities, of the shape of `p`."""
        return Forecast(self.codes, p, None, self.weight, self.classes, unit=self.unit, rows=self.rows)

    def in_rows(self) -> Forecast:
        """With weights that are numbers of rows, as far as they can be."""
        if self.weight is None or self.unit is None:
            return self
        weight, unit = in_rows(self.weight, self.unit)
        return replace(self, weight=weight, unit=unit)

    def probabilities(self, rows: slice) -> Probabilities:
        """p, q and their logarithms of some rows (two classes).

        Where two columns add up to 1, the smaller has the digits that the larger has lost; elsewhere each stands for
        itself.
        """
        p = self.p[rows]
        if self.complement is None:
            return as_probabilities(p)
        xp, q = namespace(p), self.complement[rows]
        exact = xp.abs(p + q - 1.0) <= _ROUNDING
        with np.errstate(divide="ignore"):
            log_p, log_q = (xp.where(exact, log_of_complement(a, b), xp.log(a)) for a, b in ((p, q), (q, p)))
        return Probabilities(p, q, log_p, log_q)

    def blocks(self) -> list[slice]:
        """Rows that fit into the cache together; all at once in other libraries, which may compute elsewhere."""
        if is_foreign(self.p):
            return [slice(None)]
        return [slice(start, start + _BLOCK) for start in range(0, len(self.codes), _BLOCK)]

    def against_rest(self) -> list[Forecast]:
        """Each of K > 2 classes against the others; for two classes only the second."""
        return [self] if self.binary else [self.of_class(k) for k in range(len(self.classes))]

    def of_class(self, k: int) -> Forecast:
        """Class k against the others."""
        own = self.codes == k
        if not self.binary:
            return Forecast.of_positives(own, contiguous(self.p[:, k]), self.weight, self.unit, self.rows)
        if k:
            return self
        q = 1.0 - self.p if self.complement is None else self.complement
        return Forecast(_bytes(own), q, self.p, self.weight, _NO_YES, unit=self.unit, rows=self.rows)

    def most_probable(self) -> Forecast:
        """Whether the class of the largest probability (the first of equals) is the true one, and that probability."""
        xp = namespace(self.p)
        if self.binary:
            q = self.of_class(0).p
            top = self.p > q
            hit, p = self.positive == top, xp.where(top, self.p, q)
        else:
            largest = xp.argmax(self.p, axis=1)
            hit, p = self.codes == largest, own_entries(self.p, largest)
        return Forecast.of_positives(hit, p, self.weight, self.unit, self.rows)

    def sample(self) -> BinarySample:
        """What isotonic regression takes (two classes)."""
        return BinarySample(self.p, self.positive, self.weight)

    def mean(self, values: Array) -> float:
        """The weighted mean over the rows; ∞ if a row has it, even if another has -∞."""
        with np.errstate(invalid="ignore"):
            mean = average(values, self.weight)
        return float("inf") if np.isnan(mean) else mean


def read_forecast(
    y: ArrayLike,
    p: ArrayLike,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    *,
    keep_library: bool = False,
) -> Forecast:
    """Check everything, and leave out the rows of weight 0.

    Arrays of other libraries are copied to NumPy, unless they are to be kept: sums can be made of any arrays. Labels
    may be NumPy arrays of text in any case, which other libraries do not have.
    """
    is_text = isinstance(y, np.ndarray) and y.dtype.kind in "OSUT"
    require_one_library(y=None if is_text else y, p=p, sample_weight=sample_weight)
    values, complement = read_probabilities(p, keep_library=keep_library)
    known, codes = forecast_labels(y, classes, 2 if values.ndim == 1 else values.shape[1], like=values)
    check_lengths(codes.shape[0], values.shape[0], "p")
    weight = checked_weight(sample_weight, codes.shape[0], positive_sum=True, like=values)
    return Forecast(codes, values, complement, weight, known, unit=unit_of(weight)).without_weight_0()


def _bytes(condition: NDArray[np.bool_]) -> NDArray[Any]:
    """Conditions as 0 and 1, of a byte each."""
    xp = namespace(condition)
    return condition.view(np.int8) if xp is np else xp.astype(condition, xp.int8)


def read_probabilities(p: ArrayLike, name: str = "p", *, keep_library: bool = False) -> tuple[Any, Any]:
    """(p, None) of one column, (p, 1 - p) of two, (p of shape (n, K), None) of more; of NumPy unless told otherwise."""
    if p is None:
        raise ValueError(f"{name} is None; the probabilities are needed.")
    values = floats(**{name: p})[0]
    if is_traced(values) or not keep_library:
        values = to_numpy(values)
    if values.ndim not in (1, 2) or values.shape[-1] == 0:
        rule = f"{name} must have shape (n,) or (n, K) with at least one row"
        raise ValueError(f"{rule}, got {'a single number' if values.ndim == 0 else f'shape {values.shape}'}.")
    if values.shape[0] == 0:
        raise ValueError(f"{name} is empty; at least one row is needed.")
    xp = namespace(values)
    if not (xp.min(values) >= 0.0 and xp.max(values) <= 1.0):
        found = to_numpy(values)
        row = int(np.argmin(((found >= 0.0) & (found <= 1.0)).reshape(len(found), -1).all(axis=1)))
        raise ValueError(
            f"{name} must lie in [0, 1], got {found[row]} in row {row}; drop missing values, and turn scores into "
            "probabilities by calibration or a link."
        )
    if values.ndim == 1:
        return values, None
    if values.shape[1] == 1:
        return values[:, 0], None
    sums = xp.sum(values, axis=1)
    worst = int(xp.argmax(xp.abs(sums - 1.0)))
    if abs(float(sums[worst]) - 1.0) > _ROW_SUM_TOLERANCE:
        raise ValueError(f"every row of {name} must add up to 1, but row {worst} adds up to {float(sums[worst]):.6g}.")
    if values.shape[1] == 2:
        first, second = values[:, 0], values[:, 1]
        return contiguous(second), contiguous(first)
    return values, None


_POINTS = 500
_MANY = 1e12  # rows: no more are needed for thresholds by default, which begin at a tenth of one row


def read_thresholds(thresholds: ArrayLike | None, forecasts: Mapping[str, Forecast]) -> Array:
    """Sorted thresholds in [0, 1]; by default a thousand, the denser towards 0 and 1 the more rows there are."""
    if thresholds is not None:
        return np.unique(checked_thresholds(thresholds))
    total = next(iter(forecasts.values())).total
    end = np.log(10.0 * min(max(total, 10.0), _MANY))
    return np.union1d(np.linspace(0.0, 1.0, _POINTS + 1), sc.expit(np.linspace(-end, end, _POINTS)))


MISSING = "(missing)"


class Groups(NamedTuple):
    """The names of groups, and the position of the group of every row; a group may have no row."""

    names: tuple[str, ...]
    codes: NDArray[Any]


def read_groups(group: ArrayLike, forecast: Forecast) -> Groups:
    """The groups in sorted order, missing values last; rows of weight 0 are left out, as they are in the forecast."""
    return _coded(_a_label_each(group, forecast, "group"))


def read_clusters(cluster: ArrayLike, forecast: Forecast) -> NDArray[Any]:
    """The number of every row's cluster. A missing one is refused: rows without one need not belong together."""
    labels = _a_label_each(cluster, forecast, "cluster")
    missing = missing_in(labels)
    if missing.any():
        raise ValueError(
            f"cluster has {int(missing.sum()):,} missing values, but every row must belong to a cluster; leave these "
            "rows out, or give each a value of its own if they are independent."
        )
    return _coded(labels).codes


def _a_label_each(labels: ArrayLike, forecast: Forecast, name: str) -> NDArray[Any]:
    require_values(labels, name)
    found = np.asarray(labels)
    if found.dtype.kind in "US" and isinstance(labels, list | tuple):
        found = np.array(labels, dtype=object)  # NumPy would make the text "nan" of a missing value among texts
    if found.shape != (forecast.n_given,):
        raise ValueError(
            f"{name} must be a label for each row of y, of shape ({forecast.n_given},), got {found.shape}."
        )
    return forecast.kept(found)


def _coded(labels: NDArray[Any]) -> Groups:
    if labels.dtype != object:
        found, codes = np.unique(labels, return_inverse=True)
        gone = missing_in(found)
        texts = np.datetime_as_string(found, unit="auto") if found.dtype.kind == "M" else found  # a day as 2024-05-31
        return Groups(tuple(MISSING if lost else str(each) for each, lost in zip(texts, gone, strict=True)), codes)
    missing = missing_in(labels)
    values = labels[~missing].tolist()
    known = list(set(values))
    try:
        known.sort()
    except TypeError:  # labels of several kinds
        known.sort(key=str)
    position = {each: k for k, each in enumerate(known)}
    codes = np.full(len(labels), len(known), dtype=np.intp)
    codes[~missing] = [position[each] for each in values]
    return Groups(numbered([str(each) for each in known] + [MISSING] * bool(missing.any())), codes)
