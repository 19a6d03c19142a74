"""Venn–Abers calibration: isotonic regression with the new row added, once with either label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from properly.calibration.base import BinaryCalibrator
from properly.inputs.scores import BinarySample, class_log_odds, without_last_digits
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, columns_of, namespace
from properly.numeric.isotonic import isotonic_blocks


@dataclass(frozen=True)
class VennAbersMap:
    """p₁ as a step function that is constant up to each of `upper_scores`, 1 beyond; 1 - p₀ from `lower_scores` on."""

    upper_scores: Array
    p1: Array
    lower_scores: Array
    q0: Array

    def interval(self, score: Array) -> tuple[Array, Array]:
        """(1 - p₀, p₁)."""
        score = without_last_digits(score)
        q0 = fn.entries(np.append(1.0, self.q0), fn.step_of(self.lower_scores, score))
        p1 = fn.entries(np.append(self.p1, 1.0), fn.step_of(self.upper_scores, score, "left"))
        return q0, p1

    def log_odds(self, score: Array) -> Array:
        q0, p1 = self.interval(score)
        return namespace(score).log(p1) - namespace(score).log(q0)


class VennAbersCalibration(BinaryCalibrator):
    """Isotonic regression that allows for the row to be predicted: p₀ if its label were 0, p₁ if it were 1.

    One of the two is the value of an isotonic fit that includes the row with its true label, so the pair is calibrated
    in a precise sense, whatever the scores are, as long as rows are exchangeable. The gap p₁ - p₀ shows how
    uncertain the probability of a score is. The single probability p = p₁/(1 - p₀ + p₁) is never 0 or 1.

    Scores that differ by less than a relative 1e-10 are equal, as for `IsotonicCalibration`.
    A row between two calibration scores has the p₁ of the upper and the p₀ of the lower one; beyond all scores p₁ is 1
    and p₀ is 0, respectively. All values are found exactly, together, in the time of a sort.

    Parameters
    ----------
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
    maps_ : list of `VennAbersMap`, one for two classes, else one per class

    References
    ----------
    Vovk, Petej & Fedorova (2015), Large-scale probabilistic predictors with and without guarantees of validity, NIPS.

    Examples
    --------
    >>> model = VennAbersCalibration().fit([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0, 1, 0, 1, 1, 1])
    >>> p0, p1 = model.predict_interval([2.5, 7.0])
    >>> p0.round(3), p1.round(3)
    (array([0.333, 0.75 ]), array([0.667, 1.   ]))
    >>> model.predict_proba([2.5, 7.0])[:, 1].round(3)
    array([0.5, 0.8])
    """

    def predict_interval(self, scores: ArrayLike) -> tuple[Array, Array]:
        """(p₀, p₁) of the second class, each of shape (n,); of every class, (n, K), if there are more than two.

        Parameters
        ----------
        scores : array of shape (n,)
            New scores, of the kind that `fit` got.
        """
        read = self._read(scores)
        own = columns_of(class_log_odds(read, self._of_probabilities))
        pairs = [each.interval(score) for each, score in zip(self.maps_, own, strict=True)]
        if read.ndim == 1:
            ((q0, p1),) = pairs
        else:
            q0, p1 = (namespace(read).stack(columns, axis=1) for columns in zip(*pairs, strict=True))
        return 1.0 - q0, p1

    def _fit_map(self, sample: BinarySample) -> VennAbersMap:
        score, index = np.unique(without_last_digits(sample.score), return_inverse=True)
        negative, positive = sample.totals(index, len(score))
        p1 = _with_another_positive(positive, negative)
        q0 = _with_another_positive(negative[::-1], positive[::-1])[::-1]  # everything mirrored
        ends = np.append(p1[1:] != p1[:-1], True)
        begins = np.concatenate([[True], q0[1:] != q0[:-1]])
        return VennAbersMap(score[ends], p1[ends], score[begins], q0[begins])


def _with_another_positive(positive: Array, negative: Array) -> Array:
    """For every score, its value in the isotonic regression of the data with one more positive there.

    With K_i and W_i the weights of positives and of all up to score i, the value at i is the maximum over a < i of the
    minimum over b >= i of (K_b + 1 - K_a)/(W_b + 1 - W_a). The new positive can only raise the fit at i, so the
    best a lies within the block of the original fit that i belongs to, and the best b is an end of this or a later
    block. Since maximum and minimum may be exchanged, b may be any block end from there on, whatever i is: what is
    left is the tangent from point a to the convex chain of block ends, found by bisection, and a running maximum.
    """
    weight = positive + negative
    ends = np.append(isotonic_blocks(positive, weight), len(weight))
    own, total = _before(positive), _before(weight)
    chain_own, chain_total = own[ends], total[ends]
    block = np.repeat(np.arange(1, len(ends)), np.diff(ends))  # the first end that each a = 0, ..., n - 1 may see
    low, high = block, np.full(len(block), len(ends) - 1)
    while np.any(low < high):
        middle = (low + high) // 2
        after = np.minimum(middle + 1, len(ends) - 1)
        # as shares of all weight, so that products with weights cannot overflow
        step_own = (chain_own[after] - chain_own[middle]) / total[-1]
        step_total = (chain_total[after] - chain_total[middle]) / total[-1]
        falling = step_own * (chain_total[middle] + 1.0 - total[:-1]) < step_total * (
            chain_own[middle] + 1.0 - own[:-1]
        )
        low, high = np.where(falling & (low < high), after, low), np.where(falling, high, middle)
    rest = chain_total[low] + 1.0 - total[:-1]
    if rest.min() <= 0.0:
        raise ValueError(
            f"sample_weight adds up to {total[-1]:.3g}, beside which float64 cannot hold some of the weights, nor the "
            "weight 1 of a new row; make the weights less unequal."
        )
    value = (chain_own[low] + 1.0 - own[:-1]) / rest
    return np.maximum.accumulate(value)


def _before(weight: Array) -> Array:
    return np.concatenate([[0.0], np.cumsum(weight)])
