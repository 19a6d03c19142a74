"""Scores of two classes compressed to cells, for fits to many rows.

Rows of a class whose scores fall into the same narrow cell count as one, at their mean. Sums over the rows of a smooth
function of the score then change by half its curvature times the variance within the cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from properly.numeric import functions as fn
from properly.numeric.arrays import Array, constant, is_foreign, namespace, to_numpy
from properly.numeric.isotonic import first_of_equals, in_order


@dataclass(frozen=True)
class ClassScores:
    """The distinct scores of one class from small to large, and the weight of the rows at each."""

    score: Array
    weight: Array

    @classmethod
    def of(cls, score: Array, weight: Array | None) -> Self:
        """Without weights all are 1, and the scores are sorted in place."""
        score, weight = in_order(score, weight)
        begins = first_of_equals(score)
        xp = namespace(score)
        if xp is not np:
            edges = xp.concat([begins, xp.zeros_like(begins[:1]) + score.shape[0]])
            return cls(xp.take(score, begins), fn.sums_between(weight, edges))
        if weight is None:
            return cls(score[begins], np.diff(begins, append=len(score)).astype(np.float64))
        return cls(score[begins], np.add.reduceat(weight, begins))

    @cached_property
    def _cumulative(self) -> Array:
        """The weight of the scores before each, and at last that of all."""
        return fn.cumulative(self.weight)

    def cuts(self, number: int) -> Array:
        """At most `number` scores, closest to each other in the tails; all scores if they are no more.

        Half are at the ranks sin²(πj/2m), j = 0 ... m, half at equal steps of asinh score, since a cell between ranks
        can be wide where scores are few.
        """
        if self.score.shape[0] <= number:
            return to_numpy(self.score)
        steps = np.linspace(0.0, 1.0, number // 2)
        total, height = self._cumulative, fn.asinh(self.score)
        lowest, highest = float(height[0]), float(height[-1])
        at_rank = fn.searchsorted_in(total[1:], float(total[-1]) * np.square(np.sin(0.5 * np.pi * steps)))
        at_height = fn.searchsorted_in(height, lowest + steps * (highest - lowest))
        places = np.concatenate([to_numpy(at_rank), to_numpy(at_height)])
        return self._scores_at(np.minimum(places, height.shape[0] - 1))

    def _scores_at(self, places: NDArray[np.intp]) -> Array:
        return to_numpy(namespace(self.score).take(self.score, constant(places, self.score)))

    def middle_rank(self, score: Array) -> Array:
        """The share of the weight below a score, plus half of that at it."""
        xp, total = namespace(self.score), self._cumulative
        places = (fn.searchsorted_in(self.score, score, side) for side in ("left", "right"))
        low, high = (to_numpy(xp.take(total, place)) for place in places)
        return 0.5 * (low + high) / float(total[-1])

    def compressed(self, first: Array) -> ClassScores:
        """Mean scores and weights of the cells that hold any score; `first` is where cells begin."""
        starts = self._starts(first)
        if is_foreign(self.score):
            return self._compressed_there(starts)
        mean, last = self.means(first, self.score[:, None])[:, 0], np.append(starts[1:], len(self.score)) - 1
        within = np.clip(mean, self.score[starts], self.score[last])  # in spite of rounding
        return ClassScores(within, np.add.reduceat(self.weight, starts))

    def _compressed_there(self, starts: NDArray[np.intp]) -> ClassScores:
        """The same from arrays of another library: the cells are brought to the host."""
        xp, edges = namespace(self.score), np.append(starts, self.score.shape[0])
        weight, moment = (
            to_numpy(fn.sums_between(each, constant(edges, self.score)))
            for each in (self.weight, self.weight / float(xp.max(self.weight)) * self.score)
        )
        mean = moment / (weight / float(xp.max(self.weight)))
        return ClassScores(np.clip(mean, self._scores_at(starts), self._scores_at(edges[1:] - 1)), weight)

    def means(self, first: Array, columns: Array) -> Array:
        """Of columns (n, d) that belong to the scores, for the same cells."""
        starts, share = self._starts(first), self.weight / self.weight.max()  # products must not overflow
        products = np.ascontiguousarray(columns.T)  # adding up along memory takes a tenth of the time
        products = share * products
        return np.asarray(np.add.reduceat(products, starts, axis=1) / np.add.reduceat(share, starts)).T

    def _starts(self, first: Array) -> NDArray[np.intp]:
        places = _distinct(to_numpy(fn.searchsorted_in(self.score, first)))
        return places[places < self.score.shape[0]]


def classes_apart(score: Array, positive: NDArray[np.bool_], weight: Array | None) -> list[ClassScores]:
    """The scores of the negatives and of the positives."""
    sides = (~positive, positive)
    return [ClassScores.of(score[rows], None if weight is None else weight[rows]) for rows in sides]


def cell_starts(classes: list[ClassScores], most: int) -> Array:
    """The scores at which cells begin, from small to large: every distinct score if there are at most `most`.

    Otherwise half of them are cuts of either class, so that a rare class has cells of its own. A cell reaches from its
    start to the next, so equal scores share one.

    >>> classes = classes_apart(np.arange(12.0), np.arange(12) >= 8, None)
    >>> cell_starts(classes, 12)
    array([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11.])
    >>> cell_starts(classes, 8)
    array([ 0.,  7.,  8.,  9., 10., 11.])
    """
    if max(each.score.shape[0] for each in classes) <= most:
        every = _merged([to_numpy(each.score) for each in classes])
        if len(every) <= most:
            return every
    return _merged([each.cuts(most // 2) for each in classes])


def _merged(parts: list[Array]) -> Array:
    """The distinct numbers of all parts in order; `np.unique` takes several times as long."""
    return np.asarray(_distinct(np.sort(np.concatenate(parts), kind="stable")))


def _distinct(x: NDArray[Any]) -> NDArray[Any]:
    """Of numbers in order."""
    return x[np.concatenate([[True], x[1:] != x[:-1]])]
