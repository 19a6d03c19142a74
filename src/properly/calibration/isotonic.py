"""Isotonic calibration: the best non-decreasing function of the score."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from properly.calibration.base import BinaryCalibrator
from properly.inputs.options import choose
from properly.inputs.scores import BinarySample, without_last_digits
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, namespace
from properly.numeric.isotonic import pooled_blocks
from properly.numeric.scaling import Standardizer

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
    strict: Standardizer | None

    def log_odds(self, score: Array) -> Array:
        xp, score = namespace(score), without_last_digits(score)
        if self.linear:
            knots = np.stack([self.first, self.last]).T.ravel()
            p, q = (fn.interp(score, knots, np.repeat(each, 2)) for each in (self.rate, self.complement))
        else:
            block = fn.step_of(self.first[1:], score)  # before the first block counts as the first
            p, q = fn.entries(self.rate, block), fn.entries(self.complement, block)
        with np.errstate(divide="ignore"):
            log_odds = xp.log(p) - xp.log(q)
        if self.strict is None:
            return log_odds
        z = self.strict(score)
        return log_odds + _TIE_BREAKER * z / (1.0 + xp.abs(z))


_LINEAR = {"step": False, "linear": True}


@dataclass(eq=False, repr=False)
class IsotonicCalibration(BinaryCalibrator):
    """The non-decreasing function of the score that fits the labels best, by pooling adjacent violators.

    The calibration scores fall into blocks, and the probability of a block is its share of positives. This minimises
    the squared loss, and every other proper loss, among all non-decreasing functions. Equal scores are in one block;
    scores that differ by less than a relative 1e-10 are equal, so that the last digits of a score, which depend on the
    rows predicted with it, do not decide on which side of a step it lies.
    It needs more rows than the parametric methods (some thousand), and its ends tend to be blocks of a single class
    with a probability of exactly 0 or 1: a single unexpected label there makes the log loss infinite, unless
    ``strict=True``.

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
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
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

    _fits_anywhere: ClassVar[bool] = True

    interpolation: str = "step"
    strict: bool = field(default=False, kw_only=True)

    def _fit_map(self, sample: BinarySample) -> IsotonicMap:
        linear = choose(self.interpolation, _LINEAR, "interpolation")
        added, strict = (0.5, Standardizer.of(sample.score, sample.weight)) if self.strict else (0.0, None)
        sample = sample._replace(score=without_last_digits(sample.score))
        first, last, positive, negative = pooled_blocks(sample.of_class(True), sample.of_class(False), added)
        total = positive + negative
        rate, complement = np.maximum.accumulate(positive / total), np.minimum.accumulate(negative / total)
        return IsotonicMap(first, last, rate, complement, linear, strict)
