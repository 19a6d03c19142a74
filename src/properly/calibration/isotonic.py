"""Isotonic calibration: the best non-decreasing function of the score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from properly.calibration.base import BinaryCalibrator
from properly.calibration.inputs import BinarySample
from properly.calibration.standard import Standard
from properly.options import choose
from properly.probabilities import Array

_TIE_BREAKER = 1e-6  # the log-odds rise by at most twice this to keep the ranking strict


@dataclass(frozen=True)
class IsotonicMap:
    """Blocks of scores, from `first` to `last`, with one rate each, rising from block to block.

    `complement` is 1 - rate, accurate where the rate is close to 1.
    """

    first: Array
    last: Array
    rate: Array
    complement: Array
    linear: bool
    strict: Standard | None

    def log_odds(self, score: Array) -> Array:
        if self.linear:
            knots = np.stack([self.first, self.last]).T.ravel()
            p = np.interp(score, knots, np.repeat(self.rate, 2))
            q = np.interp(score, knots, np.repeat(self.complement, 2))
        else:
            block = np.maximum(np.searchsorted(self.first, score, side="right") - 1, 0)
            p, q = self.rate[block], self.complement[block]
        with np.errstate(divide="ignore"):
            log_odds = np.log(p) - np.log(q)
        if self.strict is None:
            return log_odds
        z = self.strict(score)
        return log_odds + _TIE_BREAKER * z / (1.0 + np.abs(z))


@dataclass(frozen=True)
class _SortedSide:
    """The scores of one class in order, and their weights (None: all are 1)."""

    score: Array
    weight: Array | None

    @classmethod
    def of(cls, score: Array, weight: Array | None) -> _SortedSide:
        if weight is None:
            score.sort()  # a copy already
            return cls(score, None)
        order = np.argsort(score, kind="stable")
        return cls(score[order], weight[order])

    def weight_between(self, edges: NDArray[np.intp]) -> Array:
        """The weight of the scores from each edge up to the next; added up apart, so that none drowns in others."""
        counts = np.diff(edges)
        if self.weight is None:
            return counts.astype(np.float64)
        sums = np.add.reduceat(np.append(self.weight, 0.0), edges[:-1])
        return np.where(counts > 0, sums, 0.0)


def isotonic_blocks(positive: Array, weight: Array) -> NDArray[np.intp]:
    """Where the blocks begin that pooling adjacent violators makes of shares of positives, positive/weight."""
    return np.asarray(isotonic_regression(positive / weight, weights=weight).blocks[:-1])


def pooled_blocks(sample: BinarySample, padding: float = 0.0) -> tuple[Array, Array, Array, Array]:
    """First and last score, positive and negative weight of the blocks that isotonic regression pools.

    A block can begin only at the score of a positive (the cumulative count of positives bends upwards nowhere else), so
    the negatives from there to the next positive are taken together with it before any pooling. Sorting the two
    classes apart and looking up one in the other is faster than sorting their union with its labels.
    `padding` is the weight of an additional positive below, and of an additional negative above all scores.
    """
    own, rest = _SortedSide.of(*sample.of_class(True)), _SortedSide.of(*sample.of_class(False))
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


_LINEAR = {"step": False, "linear": True}


class IsotonicCalibration(BinaryCalibrator):
    """The non-decreasing function of the score that fits the labels best, by pooling adjacent violators.

    The calibration scores fall into blocks, and the probability of a block is its share of positives. This minimises
    the squared loss, and every other proper loss, among all non-decreasing functions. Equal scores are in one block.
    It needs more rows than the parametric methods (some thousand), and its ends tend to be blocks of a single class
    with a probability of exactly 0 or 1: one surprise there makes the log loss infinite, unless ``strict=True``.

    Parameters
    ----------
    interpolation : {"step", "linear"}, default "step"
        What happens between the last score of a block and the first of the next: "step" keeps the probability of the
        former, "linear" interpolates the probabilities. Beyond all scores the nearest block counts.
    strict : bool, default False
        Keep the log loss finite and the ranking strict. Half a positive row is added below all scores and half a
        negative one above them, so that pure blocks at the ends get probabilities like 1/(2n + 1) in place of 0. And
        the log-odds get a slope too small to matter: 1e-6 · z/(1 + |z|), with z the standardised score. Float64 limits
        this: within a block, scores closer than about 1e-9 standard deviations may be tied, or farther where the
        log-odds are large, and so may those many standard deviations away, where the slope has levelled off.
    input : {"score", "probability"}, default "score"

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    maps_ : list of `IsotonicMap`, one for two classes, else one per class

    References
    ----------
    Zadrozny & Elkan (2002), Transforming classifier scores into accurate multiclass probability estimates, KDD.

    Examples
    --------
    >>> scores, y = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0, 1, 0, 1, 1, 1]
    >>> IsotonicCalibration().fit(scores, y).predict_proba([0.0, 2.5, 5.0])[:, 1]
    array([0. , 0.5, 1. ])
    >>> IsotonicCalibration(strict=True).fit(scores, y).predict_proba([0.0, 2.5, 5.0])[:, 1].round(3)
    array([0.333, 0.5  , 0.857])
    """

    def __init__(self, interpolation: str = "step", *, strict: bool = False, input: str = "score") -> None:
        self.interpolation = interpolation
        self.strict = strict
        self.input = input

    def _fit_map(self, sample: BinarySample) -> IsotonicMap:
        linear = choose(self.interpolation, _LINEAR, "interpolation")
        first, last, positive, negative = pooled_blocks(sample, 0.5 if self.strict else 0.0)
        total = positive + negative
        return IsotonicMap(
            first,
            last,
            np.maximum.accumulate(positive / total),
            np.minimum.accumulate(negative / total),
            linear,
            Standard.of(sample.score, sample.weight) if self.strict else None,
        )
