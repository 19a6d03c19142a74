"""An asymmetric Gaussian per class."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.calibration.densities import SortedScores, TwoPieceDensity, best_of_equals
from properly.calibration.density_calibration import DensityCalibration
from properly.probabilities import Array

_PIECES = 8
_HALVINGS = 60


class AsymmetricGaussianCalibration(DensityCalibration):
    """Bayes' rule with an asymmetric Gaussian density of the scores in either class, fitted by maximum likelihood.

    f(s) = √(2/π)/(σ_l + σ_r) · exp(-(s - θ)²/(2σ²)), with σ = σ_l left of the mode θ and σ_r right of it. Scores of a
    classifier spread differently between the modes of the two classes, where the hard cases lie, and outside.

    With D_l and D_r the summed squared distances from θ to the left and the right, σ_l² = (D_l + D_l^⅔ D_r^⅓)/N and
    σ_r² = (D_r + D_r^⅔ D_l^⅓)/N; the likelihood is then greatest where D_l^⅓ + D_r^⅓ is smallest. The best θ may lie
    between data points: every gap that could hold it is searched for the roots of the derivative.

    Parameters
    ----------
    monotone : bool, default False
        The log-odds are a parabola in each of the three parts that the modes cut, and turn back in a tail if the class
        that should win there is the narrower one. True keeps them at the extreme value that they reached on the way
        there from the middle between the modes. They then
        rise with the score, or fall if the second class has the lower scores on average.
    input : {"score", "probability"}, default "score"

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    densities_ : the two `TwoPieceDensity`, or a pair for every one of more than two classes
        Their scales are σ_l and σ_r.
    maps_ : list of `DensityMap`, one for two classes, else one per class

    Notes
    -----
    Class proportions are π_c = (N_c + 1)/(N + 2), N_c being the weight of a class. No scale is less than σ/(N_c + 1),
    with σ the standard deviation of all scores: a class with one row, or with nothing on one side of its mode, has
    a finite density everywhere. If all scores are equal, the probability is π₊ for every score. Nothing depends
    on the unit or the origin of the scores.

    References
    ----------
    Bennett (2003), Using asymmetric distributions to improve text classifier probability estimates, SIGIR.

    Examples
    --------
    >>> model = AsymmetricGaussianCalibration().fit([-5.0, -1.0, 0.0, 0.0, 1.0, 4.0], [0, 0, 0, 1, 1, 1])
    >>> model.predict_proba([-2.0, 0.5, 2.0]).round(3)
    array([[0.983, 0.017],
           [0.395, 0.605],
           [0.013, 0.987]])
    """

    def __init__(self, *, monotone: bool = False, input: str = "score") -> None:
        self.monotone = monotone
        self.input = input

    def _fit_density(self, score: Array, weight: Array | None, rising: bool) -> TwoPieceDensity:
        at = SortedScores.of(score, weight)
        mode, left, right = _best_mode(at, rising)
        left_variance = (left + np.cbrt(left) ** 2 * np.cbrt(right)) / at.weight
        right_variance = (right + np.cbrt(right) ** 2 * np.cbrt(left)) / at.weight
        return TwoPieceDensity(mode, float(np.sqrt(left_variance)), float(np.sqrt(right_variance)), 2, 2)


class _Gaps(NamedTuple):
    """Gaps between neighbouring scores, with the sums over all scores on the left of each and on its right.

    At a distance t from the lower end of a gap, D_l = left2 + 2 left1 t + left0 t²; D_r mirrors it from the upper end.
    """

    lower: Array
    width: Array
    left0: Array
    left1: Array
    left2: Array
    right0: Array
    right1: Array
    right2: Array

    def take(self, which: NDArray[np.intp]) -> _Gaps:
        return _Gaps(*(each[which] for each in self))

    def squares(self, t: Array) -> tuple[Array, Array]:
        """(D_l, D_r)."""
        back = self.width - t
        return (
            self.left2 + (2.0 * self.left1 + self.left0 * t) * t,
            self.right2 + (2.0 * self.right1 + self.right0 * back) * back,
        )

    def slope(self, t: Array) -> Array:
        """The derivative of D_l^⅓ + D_r^⅓ times a positive number."""
        left, right = self.squares(t)
        left_slope, right_slope = self.left1 + self.left0 * t, self.right1 + self.right0 * (self.width - t)
        unit = np.exp2(-np.floor(np.log2(self.left0)))  # exact, and no product of two sums overflows
        return unit * left_slope * np.cbrt(right) ** 2 - unit * right_slope * np.cbrt(left) ** 2

    def inflections(self) -> tuple[Array, Array]:
        """Where D_l^⅓ turns from convex to concave, and D_r^⅓ back: at √3 standard deviations from the mean."""
        left, right = self.left1 / self.left0, self.right1 / self.right0
        left_spread = np.sqrt(np.maximum(3.0 * (self.left2 / self.left0 - left**2), 0.0))
        right_spread = np.sqrt(np.maximum(3.0 * (self.right2 / self.right0 - right**2), 0.0))
        return left_spread - left, self.width - (right_spread - right)


def _best_mode(at: SortedScores, rising: bool) -> tuple[float, float, float]:
    """The mode θ that minimises D_l^⅓ + D_r^⅓, with D_l and D_r there."""
    left2, right2 = at.squares()
    at_scores = np.cbrt(left2) + np.cbrt(right2)
    best = best_of_equals(at_scores, rising)
    result = float(at.score[best]), float(left2[best]), float(right2[best])
    # Within a gap D_l is smallest at its lower end and D_r at its upper one: most gaps cannot hold the optimum.
    promising = np.flatnonzero((np.cbrt(left2[:-1]) + np.cbrt(right2[1:]) < at_scores[best]) & (at.gap > 0.0))
    if not len(promising):
        return result
    low, high = promising, promising + 1
    weight_left = at.weight_left[low]
    gaps = _Gaps(
        at.score[low], at.gap[low], weight_left, at.left[low], left2[low],
        at.weight - weight_left, at.right[high], right2[high],
    )  # fmt: skip
    which, t = _minima(gaps)
    if not len(t):
        return result
    left, right = gaps.take(which).squares(t)
    total = np.cbrt(left) + np.cbrt(right)
    inner = best_of_equals(total, rising)
    if total[inner] >= at_scores[best] * (1.0 - 1e-12):
        return result
    return float(gaps.lower[which[inner]] + t[inner]), float(left[inner]), float(right[inner])


def _minima(gaps: _Gaps) -> tuple[NDArray[np.intp], Array]:
    """The local minima inside the gaps: the number of the gap, and the distance from its lower end.

    Gaps are cut where convexity changes, so that a piece with a convex sum has one minimum at most, and a concave one
    none; further cuts are for the pieces that are neither.
    """
    even = gaps.width[:, None] * np.linspace(0.0, 1.0, _PIECES + 1)
    bends = [np.clip(each, 0.0, gaps.width)[:, None] for each in gaps.inflections()]
    cuts = np.sort(np.hstack([even, *bends]), axis=1)
    slopes = np.stack([gaps.slope(t) for t in cuts.T], axis=1)
    which, piece = np.nonzero((slopes[:, :-1] < 0.0) & (slopes[:, 1:] > 0.0))
    low, high = cuts[which, piece], cuts[which, piece + 1]
    chosen = gaps.take(which)
    for _ in range(_HALVINGS):
        t = 0.5 * (low + high)
        rising = chosen.slope(t) > 0.0
        low, high = np.where(rising, low, t), np.where(rising, t, high)
    return which, 0.5 * (low + high)
