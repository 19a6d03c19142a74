"""Isotonic regression by pooling adjacent violators, for calibration, scores and diagrams."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from properly.numeric import functions as fn
from properly.numeric.arrays import Array, is_foreign, namespace, to_numpy


@dataclass(frozen=True)
class _SortedSide:
    """The scores of one class in order, and their weights (None: all are 1)."""

    score: Array
    weight: Array | None

    def weight_between(self, edges: NDArray[np.intp]) -> Array:
        """The weight of the scores from each edge up to the next; summed separately, which keeps small sums precise."""
        counts = np.diff(edges)
        if self.weight is None:
            return counts.astype(np.float64)
        sums = np.add.reduceat(np.append(self.weight, 0.0), edges[:-1])
        return np.where(counts > 0, sums, 0.0)


def in_order(score: Array, weight: Array | None) -> tuple[Array, Array | None]:
    """Scores from small to large, and their weights; without weights those of NumPy are sorted in place."""
    xp = namespace(score)
    if xp is not np:
        order = None if weight is None else xp.argsort(score)
        return (xp.sort(score), None) if order is None else (xp.take(score, order), xp.take(weight, order))
    if weight is None:
        score.sort()
        return score, None
    order = np.argsort(score)  # a stable one takes five times as long
    return score[order], weight[order]


def isotonic_blocks(positive: Array, weight: Array) -> NDArray[np.intp]:
    """The first index of every block that pooling adjacent violators makes of the shares positive/weight."""
    return np.asarray(isotonic_regression(positive / weight, weights=weight).blocks[:-1])


def pooled_blocks(
    positives: tuple[Array, Array | None], negatives: tuple[Array, Array | None], padding: float = 0.0
) -> tuple[Array, Array, Array, Array]:
    """First and last score, positive and negative weight of the blocks that isotonic regression pools.

    A block can begin only at the score of a positive (the cumulative count of positives bends upwards nowhere else), so
    the negatives from there to the next positive are taken together with it before any pooling. Sorting the two
    classes apart and looking up one in the other is faster than sorting their union with its labels.
    Either class comes as its scores and their weights (None: all are 1); the scores are sorted in place.
    `padding` is the weight of an additional positive below, and of an additional negative above all scores.
    """
    own, rest = _SortedSide(*in_order(*positives)), _SortedSide(*in_order(*negatives))
    if is_foreign(own.score):
        return _pooled_there(own, rest, padding)
    begins = np.flatnonzero(np.concatenate([[True], own.score[1:] != own.score[:-1]]))  # ties are one block
    start = own.score[begins]
    position = np.searchsorted(rest.score, start)
    if position[0] > 0 or padding > 0.0:  # the negatives below all positives
        start = np.concatenate([[min(rest.score[0], own.score[0])], start])
        begins, position = np.concatenate([[0], begins]), np.concatenate([[0], position])
    positive = own.weight_between(np.append(begins, len(own.score)))
    negative = rest.weight_between(np.append(position, len(rest.score)))
    positive[0] += padding
    negative[-1] += padding
    blocks = isotonic_blocks(positive, positive + negative)
    last = np.append(
        np.maximum(_before(own.score, begins[blocks[1:]]), _before(rest.score, position[blocks[1:]])),
        max(own.score[-1], rest.score[-1]),
    )
    return start[blocks], last, np.add.reduceat(positive, blocks), np.add.reduceat(negative, blocks)


_FEW = 1 << 20  # so many runs are brought to the host


def _pooled_there(own: _SortedSide, rest: _SortedSide, padding: float) -> tuple[Array, Array, Array, Array]:
    """`pooled_blocks` of arrays of another library, most of it where they are.

    Pooling one after the other is no work for a card. But neighbours of falling rates are in one block whatever the
    others are (their edge lies above the line between its neighbours in the diagram of cumulative sums), so all of them
    are merged at once, again and again, until what is left is quickly done on the host.
    """
    xp = namespace(own.score)
    begins = first_of_equals(own.score)
    start = xp.take(own.score, begins)
    position = xp.searchsorted(rest.score, start)
    lowest = xp.minimum(rest.score[:1], own.score[:1])
    if bool(position[0] > 0) or padding > 0.0:
        start = xp.concat([lowest, start])
        begins, position = (xp.concat([xp.zeros_like(each[:1]), each]) for each in (begins, position))
    edges = [
        xp.concat([each, xp.zeros_like(each[:1]) + side.score.shape[0]])
        for each, side in ((begins, own), (position, rest))
    ]
    ends = [
        xp.where(edge[1:] > 0, xp.take(side.score, xp.clip(edge[1:] - 1, 0, None)), -math.inf)
        for edge, side in zip(edges, (own, rest), strict=True)
    ]
    last = xp.maximum(*ends)
    positive, negative = (fn.sums_between(side.weight, edge) for edge, side in zip(edges, (own, rest), strict=True))
    if padding > 0.0:
        place = xp.cumulative_sum(xp.ones_like(positive))
        positive = positive + xp.where(place == 1.0, padding, xp.zeros_like(place))
        negative = negative + xp.where(place == place[-1], padding, xp.zeros_like(place))
    while start.shape[0] > _FEW:
        # a/(a + b) >= c/(c + d) is ad >= bc
        falls = positive[:-1] * negative[1:] >= negative[:-1] * positive[1:]
        kept = xp.nonzero(xp.concat([xp.ones_like(falls[:1]), ~falls]))[0]
        if kept.shape[0] > 0.9 * start.shape[0]:
            break
        edge = xp.concat([kept, xp.zeros_like(kept[:1]) + start.shape[0]])
        start, last = xp.take(start, kept), xp.take(last, edge[1:] - 1)
        positive, negative = (fn.sums_between(each, edge) for each in (positive, negative))
    starts, lasts, positives, negatives = (to_numpy(each) for each in (start, last, positive, negative))
    blocks = isotonic_blocks(positives, positives + negatives)
    sums = (np.add.reduceat(each, blocks) for each in (positives, negatives))
    return starts[blocks], lasts[np.append(blocks[1:], len(lasts)) - 1], *sums


def first_of_equals(ordered: Any) -> Any:
    """Where each of the distinct values of an ordered array begins."""
    xp = namespace(ordered)
    if xp is np:
        return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
    return xp.nonzero(xp.concat([xp.ones_like(ordered[:1], dtype=xp.bool), ordered[1:] != ordered[:-1]]))[0]


def _before(score: Array, position: NDArray[np.intp]) -> Array:
    """The score before each position; -∞ before the first."""
    return np.where(position > 0, score[np.maximum(position - 1, 0)], -np.inf)


def isotonic_rates(positive: Array, weight: Array) -> Array:
    """The non-decreasing shares of positives closest to the observed ones: those of pooled adjacent violators."""
    blocks = isotonic_blocks(positive, weight)
    rates = np.maximum.accumulate(np.add.reduceat(positive, blocks) / np.add.reduceat(weight, blocks))
    return np.repeat(rates, np.diff(blocks, append=len(weight)))
