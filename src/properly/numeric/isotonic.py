"""Isotonic regression by pooling adjacent violators, for calibration, scores and diagrams."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from properly.numeric.probabilities import Array


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
    """Scores from small to large, and their weights; without weights the scores are sorted in place."""
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


def _before(score: Array, position: NDArray[np.intp]) -> Array:
    """The score before each position; -∞ before the first."""
    return np.where(position > 0, score[np.maximum(position - 1, 0)], -np.inf)


def isotonic_rates(positive: Array, weight: Array) -> Array:
    """The non-decreasing shares of positives closest to the observed ones: those of pooled adjacent violators."""
    blocks = isotonic_blocks(positive, weight)
    rates = np.maximum.accumulate(np.add.reduceat(positive, blocks) / np.add.reduceat(weight, blocks))
    return np.repeat(rates, np.diff(blocks, append=len(weight)))
