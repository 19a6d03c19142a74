"""Counts by distinct score: how many rows of each kind, of which weight, had each score.

Whatever needs the order of the scores (isotonic regression, ranks, densities, quantiles, AUC) can be computed from
them, and they add up over parts of the rows, which isotonic regressions of the parts do not. Too many distinct scores
are compressed to cells.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from properly.inputs.weights import are_counts
from properly.kernels import Statistic
from properly.numeric.probabilities import Array

ROOM = 2**20  # so many pairs of a score and a kind of row are held apart


class Counts(NamedTuple):
    """The distinct scores of some rows from small to large; at each the number of rows, and their weight.

    Σw² of the rows is the product of the weight and the `unit`, Σw²/Σw, the weighted mean of what one row weighs: None
    of rows without weights, which weigh 1.
    """

    score: Array
    rows: Array
    weight: Array
    unit: Array | None

    @classmethod
    def of(cls, score: Array, weight: Array | None) -> Self:
        """Rows of weight 0 are left out."""
        if weight is None:
            score = np.sort(score)
            begins = _begins(score)
            rows = np.diff(begins, append=len(score)).astype(np.float64)
            return cls(score[begins], rows, rows, None)
        kept = np.flatnonzero(weight)
        order = kept[np.argsort(score[kept], kind="stable")]
        weight = weight[order]
        return cls(score[order], np.ones(len(order)), weight, weight).merged(0)

    def joined(self, other: Self, digits: int) -> Self:
        """Those of the rows of both."""
        score, rows, weight = (np.concatenate(pair) for pair in zip(self[:3], other[:3], strict=True))
        unit = _units([self, other])
        order = np.argsort(score, kind="stable")  # which merges two sorted parts
        unit = None if unit is None else unit[order]
        return type(self)(score[order], rows[order], weight[order], unit).merged(digits)

    def merged(self, digits: int) -> Self:
        """Scores of a cell as one, at their weighted mean; a cell is what agrees in all but the last binary digits."""
        cell = _cells(self.score, digits)
        begins = _begins(cell)
        if len(begins) == len(cell):
            return self
        weight = _summed(self.weight, begins)
        share = self.weight / np.repeat(weight, np.diff(begins, append=len(cell)))
        unit = None if self.unit is None else _means(self.unit, share, begins)
        return type(self)(_means(self.score, share, begins), _summed(self.rows, begins), weight, unit)


class Entries(NamedTuple):
    """The number of rows, their weight and its unit for every kind of row and every score that it has."""

    kinds: tuple[Hashable, ...]
    kind: NDArray[np.intp]  # its position among them
    score: Array
    rows: Array
    weight: Array
    unit: Array | None  # None: weights are numbers of rows


@dataclass(frozen=True)
class ScoreCounts(Statistic):
    """Counts for every kind of row, such as its class, or its class and its group.

    Up to 2²⁰ pairs of a kind and a distinct score nothing is lost. If there are more, the last binary digits of the
    scores are dropped until there are no more cells than that, and a cell has the mean of its scores. The scores of a
    cell differ by less than `width` of their size. Scores between one half and 1 are told apart by 1 - p, whether or
    not all are probabilities, which no part can know. How many digits are dropped depends neither on the order in which
    the parts are added nor on the parts.

    In the `entries` the classes of a cell have one score, their common mean, in each group its own. So the sum of the
    scores of all rows, or of those of a group, stays what it was; that of a smooth function of the score changes by
    half its curvature times the variance within the cells. A sum over the rows of one class, such as that of their log
    losses, may change by more: for every row by `width` times the size of its score times the slope of the function,
    if the classes lie at different ends of their cells. Where their shares change smoothly with the score they do not.

    >>> one = ScoreCounts.of(np.array([0.1, 0.3, 0.1]), np.array([0, 1, 1])).named(["no", "yes"])
    >>> both = one + ScoreCounts.of(np.array([0.3, 0.2]), np.array([0, 1])).named(["yes", "no"])
    >>> both.kinds["yes"].score, both.kinds["yes"].rows
    (array([0.1, 0.3]), array([1., 2.]))
    """

    kinds: Mapping[Any, Counts]
    digits: int = 0  # binary ones that are dropped
    of_probabilities: bool = True  # whether all scores lie in [0, 1]
    whole: bool = True  # whether all weights are whole, and so numbers of rows
    room: int = field(default=ROOM, repr=False)

    @classmethod
    def of(cls, score: Array, kind: NDArray[Any], weight: Array | None = None) -> Self:
        """Of finite scores, and the kind of every row: whole numbers from 0 on, of which there are few."""
        small = kind.astype(np.min_scalar_type(kind.max(initial=0)), copy=False)
        order, ends = np.argsort(small, kind="stable"), np.cumsum(np.bincount(small))
        kinds = {}
        for name, rows in enumerate(np.split(order, ends[:-1])):
            if len(rows):
                kinds[name] = Counts.of(score[rows], None if weight is None else weight[rows])
        of_probabilities = not len(score) or bool(score.min() >= 0.0 and score.max() <= 1.0)
        return cls(kinds, 0, of_probabilities, are_counts(weight), ROOM)._fitting()

    def named(self, names: Sequence[Hashable]) -> Self:
        """With other names for the kinds than their numbers."""
        return replace(self, kinds={names[number]: counts for number, counts in self.kinds.items()})

    @property
    def exact(self) -> bool:
        return self.digits == 0

    @property
    def width(self) -> float:
        """By how much of their size the scores of a cell differ at most; 0 if all scores are told apart."""
        return 0.0 if self.exact else float(2.0 ** (self.digits - 52))

    def entries(self, groups: Sequence[Hashable] | None = None) -> Entries:
        """All counts in one table. Scores of a cell are tied: they have the mean of all kinds.

        `groups` are those of the kinds, if each shall have means of its own.
        """
        kind = np.repeat(np.arange(len(self.kinds)), [len(counts.score) for counts in self.kinds.values()])
        parts = list(self.kinds.values())
        score, rows, weight = (np.concatenate(column) for column in zip(*(each[:3] for each in parts), strict=True))
        if not self.exact:
            _, cell = np.unique(_cells(score, self.digits), return_inverse=True)
            if groups is not None:
                position = {name: k for k, name in enumerate(dict.fromkeys(groups))}
                group = np.array([position[name] for name in groups])[kind]
                _, cell = np.unique(cell * len(position) + group, return_inverse=True)
            mean = np.bincount(cell, weight / np.bincount(cell, weight)[cell] * score)
            lowest, highest = np.full_like(mean, np.inf), np.full_like(mean, -np.inf)
            np.minimum.at(lowest, cell, score)
            np.maximum.at(highest, cell, score)
            score = np.clip(mean, lowest, highest)[cell]  # a mean of ones is 1
        return Entries(tuple(self.kinds), kind, score, rows, weight, None if self.whole else _units(parts))

    def __add__(self, other: Self) -> Self:
        digits = max(self.digits, other.digits)
        kinds = dict(self._with(digits).kinds)
        for name, counts in other._with(digits).kinds.items():
            kinds[name] = kinds[name].joined(counts, digits) if name in kinds else counts
        of_probabilities, whole = self.of_probabilities and other.of_probabilities, self.whole and other.whole
        return type(self)(kinds, digits, of_probabilities, whole, min(self.room, other.room))._fitting()

    def _with(self, digits: int) -> Self:
        if digits == self.digits:
            return self
        return replace(self, kinds={name: counts.merged(digits) for name, counts in self.kinds.items()}, digits=digits)

    def _fitting(self) -> Self:
        """With as few digits dropped as there is room for."""
        if sum(len(counts.score) for counts in self.kinds.values()) <= self.room:
            return self
        finest = [_cells(counts.score, 1) for counts in self.kinds.values()]

        def n_cells(digits: int) -> int:
            return sum(len(_begins(cell >> (digits - 1))) for cell in finest)

        digits = bisect_left(range(64), -self.room, lo=self.digits + 1, key=lambda digits: -n_cells(digits))
        return self._with(digits)


def _cells(score: Array, digits: int) -> NDArray[Any]:
    """Which scores agree in all but so many binary digits: whole numbers in the order of the scores, if there are any.

    Neighbouring numbers of float64 have neighbouring whole numbers, of which 64 bits hold half as many as are needed
    to mirror the numbers between one half and 1: the first digit is dropped before.
    """
    if digits == 0:
        return score
    bits = np.ascontiguousarray(score).view(np.int64)
    half = np.where(bits >= 0, bits, -(bits & np.int64(2**63 - 1))) >> 1
    middle = int(np.float64(0.5).view(np.int64))
    mirrored = (2 * middle - (1.0 - score).view(np.int64)) >> 1  # 1 - p is exact, and has the digits that p lacks
    beyond = half + 2**61  # is above all of them, and divisible by the width of every cell
    return np.where(score <= 0.5, half, np.where(score < 1.0, mirrored, beyond)) >> (digits - 1)


def _begins(cell: NDArray[np.generic]) -> NDArray[np.intp]:
    """Where each of equal neighbours begins."""
    return np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]])[: len(cell)])


def _units(parts: Sequence[Counts]) -> Array | None:
    """Those of all parts, one after the other."""
    if all(part.unit is None for part in parts):
        return None
    return np.concatenate([np.ones(len(part.score)) if part.unit is None else part.unit for part in parts])


def _means(x: Array, share: Array, begins: NDArray[np.intp]) -> Array:
    """The weighted means of the cells, which in spite of rounding lie between the smallest and the largest in them."""
    low, high = (ufunc.reduceat(x, begins) for ufunc in (np.minimum, np.maximum))
    return np.clip(_summed(share * x, begins), low, high)


def _summed(x: Array, begins: NDArray[np.intp]) -> Array:
    return np.add.reduceat(x, begins) if len(begins) else x[:0]
