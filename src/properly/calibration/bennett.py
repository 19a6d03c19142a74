"""Bennett's calibrators: densities of the scores in either class, symmetric and asymmetric, and Bayes' rule."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.calibration.densities import HALF_MASS, NARROWEST, DensityCalibration, SortedScores, TwoPieceDensity
from properly.numeric.isotonic import in_order
from properly.numeric.probabilities import Array


class GaussianCalibration(DensityCalibration):
    """Bayes' rule with a Gaussian density of the scores in either class, fitted by maximum likelihood.

    The log-odds are a parabola in the score, which turns back in one of the tails unless both classes have the same
    standard deviation. See `AsymmetricGaussianCalibration` for what happens to degenerate classes, and for `monotone`.

    Parameters
    ----------
    monotone : bool, default False
        True: the log-odds rise with the score, or fall if the second class has the lower scores on average.
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
    densities_ : the two `TwoPieceDensity`, or a pair for every one of more than two classes
    maps_ : list of `DensityMap`, one for two classes, else one per class

    References
    ----------
    Bennett (2003), Using asymmetric distributions to improve text classifier probability estimates, SIGIR.

    Examples
    --------
    >>> model = GaussianCalibration().fit([-3.0, -1.0, 0.0, 0.0, 2.0, 4.0], [0, 0, 0, 1, 1, 1])
    >>> model.densities_[1].mode, model.predict_proba([1.0]).round(3)
    (2.0, array([[0.215, 0.785]]))
    """

    def _fit_density(self, score: Array, weight: Array | None, rising: bool) -> TwoPieceDensity:
        mean = float(np.average(score, weights=weight))
        scale = float(np.sqrt(np.average(np.square(score - mean), weights=weight)))
        return TwoPieceDensity(mean, scale, scale, 2, 2)


class LaplaceCalibration(DensityCalibration):
    """Bayes' rule with a Laplace density of the scores in either class, fitted by maximum likelihood.

    f(s) = exp(-|s - θ|/b)/(2b), with θ the median of the class and b the mean distance from it. The log-odds are flat
    or straight beyond the two modes and straight between them. See `AsymmetricLaplaceCalibration`, which fits
    classifiers' scores better, for what happens to degenerate classes, and for `monotone`.

    Parameters
    ----------
    monotone : bool, default False
        True: the log-odds rise with the score, or fall if the second class has the lower scores on average.
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
    densities_ : the two `TwoPieceDensity`, or a pair for every one of more than two classes
    maps_ : list of `DensityMap`, one for two classes, else one per class

    References
    ----------
    Bennett (2003), Using asymmetric distributions to improve text classifier probability estimates, SIGIR.

    Examples
    --------
    >>> model = LaplaceCalibration().fit([-3.0, -1.0, 0.0, 0.0, 3.0, 4.0], [0, 0, 0, 1, 1, 1])
    >>> round(model.densities_[1].mode, 6), model.predict_proba([1.0]).round(3)
    (3.0, array([[0.447, 0.553]]))
    """

    def _fit_density(self, score: Array, weight: Array | None, rising: bool) -> TwoPieceDensity:
        at = SortedScores.of(score, weight)
        half = 0.5 * at.weight
        # Every point between these two is a median; the middle is the usual choice.
        lower = int(np.searchsorted(at.weight_left, half * (1.0 - 1e-12)))
        upper = int(np.searchsorted(at.weight_left, half * (1.0 + 1e-12)))
        scale = float(at.left[lower] + at.right[lower]) / at.weight
        return TwoPieceDensity(float(0.5 * (at.score[lower] + at.score[upper])), scale, scale, 1, 1)


_BLOCK = 1024


class AsymmetricLaplaceCalibration(DensityCalibration):
    """Bayes' rule with an asymmetric Laplace density of the scores in either class, fitted by maximum likelihood.

    f(s) = βγ/(β + γ) · exp(-β(θ - s)) left of the mode θ, and exp(-γ(s - θ)) right of it. Scores of a classifier fall
    off differently between the modes of the two classes, where the hard cases lie, and outside; this density has a
    rate for either side. The log-odds are three straight pieces that meet at the modes.

    With D_l and D_r the summed distances from θ to the left and the right, β = N/(D_l + √(D_l D_r)) and
    γ = N/(D_r + √(D_l D_r)); the likelihood is then greatest where √D_l + √D_r is smallest. That is concave between
    data points, so one of these is the exact optimum: one sort and two running sums find it.

    Mathematics: formula (3.2), formula (3.3), formula (3.4).

    Parameters
    ----------
    monotone : bool, default False
        Where the ratio of the densities turns back in the tails, keep the log-odds at the extreme value that they
        reached on the way there from the middle between the modes. They then rise with the score, or fall if the
        second class has the lower scores on average.
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
    densities_ : the two `TwoPieceDensity`, or a pair for every one of more than two classes
        Their scales are 1/β and 1/γ.
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
    >>> model = AsymmetricLaplaceCalibration().fit([-5.0, -1.0, 0.0, 0.0, 1.0, 4.0], [0, 0, 0, 1, 1, 1])
    >>> model.predict_proba([-2.0, 0.0, 2.0]).round(3)
    array([[0.865, 0.135],
           [0.467, 0.533],
           [0.127, 0.873]])
    """

    def _fit_density(self, score: Array, weight: Array | None, rising: bool) -> TwoPieceDensity:
        score, weight = in_order(score, weight)
        at = SortedScores.between(score, weight, *_around_the_mode(score, weight))
        best = _best_of_equals(np.sqrt(at.left) + np.sqrt(at.right), rising)
        left, right = float(at.left[best]), float(at.right[best])
        both = float(np.sqrt(left) * np.sqrt(right))
        return TwoPieceDensity(float(at.score[best]), (left + both) / at.weight, (right + both) / at.weight, 1, 1)


def _around_the_mode(score: Array, weight: Array | None) -> tuple[int, int]:
    """The first and the last of the sorted scores between which the best mode lies.

    Many scores are looked at in blocks. D_l rises with the mode and D_r falls, so √D_l at the beginning of a block plus
    √D_r at that of the next is a lower bound for all its scores; a block whose bound exceeds what is reached elsewhere
    is ruled out.
    """
    if len(score) <= 4 * _BLOCK:
        return 0, len(score) - 1
    begins = np.arange(0, len(score), _BLOCK)
    moment = np.add.reduceat(score if weight is None else weight * score, begins)
    mass = np.diff(np.append(begins, len(score))) if weight is None else np.add.reduceat(weight, begins)
    moment_before, mass_before = np.cumsum(moment) - moment, np.cumsum(mass) - mass
    mode = score[begins]
    left = np.sqrt(np.maximum(mass_before * mode - moment_before, 0.0))
    right = np.sqrt(np.maximum(moment.sum() - moment_before - (mass.sum() - mass_before) * mode, 0.0))
    bound = left + np.append(right[1:], 0.0)
    reached = (left + right).min() * (1.0 + 1e-6)  # the sums are rounded
    promising = begins[bound <= reached]
    return int(promising[0]), min(int(promising[-1]) + _BLOCK, len(score) - 1)


def _best_of_equals(x: Array, rising: bool) -> int:
    """The position of the minimum; of several, equal but for rounding, the one nearest to the other class.

    That lies to the left if `rising`. Neither rounding nor the order of the rows must decide between equals.
    """
    equals = np.flatnonzero(x <= x.min() * (1.0 + 1e-12))
    return int(equals[0] if rising else equals[-1])


_PIECES = 8
_HALVINGS = 60


class AsymmetricGaussianCalibration(DensityCalibration):
    """Bayes' rule with an asymmetric Gaussian density of the scores in either class, fitted by maximum likelihood.

    f(s) = √(2/π)/(σ_l + σ_r) · exp(-(s - θ)²/(2σ²)), with σ = σ_l left of the mode θ and σ_r right of it. Scores of a
    classifier spread differently between the modes of the two classes, where the hard cases lie, and outside.

    With D_l and D_r the summed squared distances from θ to the left and the right, σ_l² = (D_l + D_l^⅔ D_r^⅓)/N and
    σ_r² = (D_r + D_r^⅔ D_l^⅓)/N; the likelihood is then greatest where D_l^⅓ + D_r^⅓ is smallest. The best θ may lie
    between data points: every gap that could hold it is searched for the roots of the derivative.

    Mathematics: formula (3.5), formula (3.6).

    Parameters
    ----------
    monotone : bool, default False
        The log-odds are a parabola in each of the three parts that the modes cut, and turn back in a tail if the class
        that should win there is the narrower one. True keeps them at the extreme value that they reached on the way
        there from the middle between the modes. They then rise with the score, or fall if the second class has the
        lower scores on average.
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
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
    best = _best_of_equals(at_scores, rising)
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
    inner = _best_of_equals(total, rising)
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


_HALF_GAUSSIAN = HALF_MASS[2]
_CANDIDATES = 1000
_MAX_ITER = 50


class HybridCalibration(DensityCalibration):
    """Bayes' rule with densities that are Gaussian on the outer side of their mode and exponential on the inner one.

    Easy cases, outside the modes, often look Gaussian; the hard cases between them form long tails towards the other
    class. Bennett (2003) proposes this mixture of his two families as future work. For a class whose inner side is
    the right one, f(s) ∝ exp(-(θ - s)²/(2σ²)) left of the mode θ and exp(-(s - θ)/b) right of it. The inner side is
    the one where the mean of the other class lies.

    σ and b have maximum likelihood given θ, and θ is the best of the scores of the class: of all of them up to 1,000;
    of larger classes, the best of 1,000 evenly spread ones, and then of all between its neighbours.

    Parameters
    ----------
    monotone : bool, default False
        Where the ratio of the densities turns back in the tails, keep the log-odds at the extreme value that they
        reached on the way there from the middle between the modes. They then rise with the score, or fall if the
        second class has the lower scores on average.
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
    densities_ : the two `TwoPieceDensity`, or a pair for every one of more than two classes
    maps_ : list of `DensityMap`, one for two classes, else one per class

    Notes
    -----
    Class proportions, the smallest scale and equal scores are treated as in `AsymmetricLaplaceCalibration`.

    References
    ----------
    Bennett (2003), Using asymmetric distributions to improve text classifier probability estimates, SIGIR.

    Examples
    --------
    >>> model = HybridCalibration().fit([-5.0, -1.0, 0.0, 0.0, 1.0, 4.0], [0, 0, 0, 1, 1, 1])
    >>> model.predict_proba([-2.0, 0.0, 2.0]).round(3)
    array([[0.813, 0.187],
           [0.464, 0.536],
           [0.159, 0.841]])
    """

    def _fit_density(self, score: Array, weight: Array | None, rising: bool) -> TwoPieceDensity:
        if rising:  # the inner side is the left one: mirror the scores
            mirrored = self._fit_density(-score, weight, False)
            return TwoPieceDensity(-mirrored.mode, mirrored.right_scale, mirrored.left_scale, 1, 2)
        at = SortedScores.of(score, weight)
        squares, distances = at.squares()[0] / at.weight, at.right / at.weight
        # Sums of 0, at the ends, have the scale of the smallest half-density that is allowed.
        smallest = max(1.0 / (at.weight + 1.0), NARROWEST)
        squares, distances = np.maximum(squares, smallest**2), np.maximum(distances, smallest)
        every = max(1, len(at.score) // _CANDIDATES)
        coarse = np.arange(0, len(at.score), every)
        middle = coarse[np.argmin(_profile(squares[coarse], distances[coarse])[2])]
        fine = np.arange(max(0, middle - every), min(len(at.score), middle + every + 1))
        sigma, scale, loss = _profile(squares[fine], distances[fine])
        best = int(np.argmin(loss))
        return TwoPieceDensity(float(at.score[fine[best]]), float(sigma[best]), float(scale[best]), 2, 1)


def _profile(squares: Array, distances: Array) -> tuple[Array, Array, Array]:
    """σ, b and the smallest of ln(c σ + b) + D_l/(2σ²) + D_r/b, with c = √(π/2) the mass of half a Gaussian.

    D_l and D_r are means over the class. At the optimum c/(c σ + b) = D_l/σ³ and 1/(c σ + b) = D_r/b², so b = k σ^(3/2)
    with k² = c D_r/D_l, and r = √σ is the positive root of k² r⁴ - D_r k r - c D_r, found by Newton's method from
    above, where it is convex.
    """
    # A root in every element, which no step can overshoot: the solver for minima has nothing to add.
    ratio = np.sqrt(_HALF_GAUSSIAN * distances / squares)
    root = np.maximum(np.cbrt(2.0 * distances / ratio), np.sqrt(np.sqrt(2.0 * _HALF_GAUSSIAN * distances / ratio**2)))
    for _ in range(_MAX_ITER):
        value = ratio**2 * root**4 - distances * ratio * root - _HALF_GAUSSIAN * distances
        step = value / (4.0 * ratio**2 * root**3 - distances * ratio)
        root = root - step
        if np.all(np.abs(step) <= 1e-15 * root):
            break
    sigma, scale = root**2, ratio * root**3
    loss = np.log(_HALF_GAUSSIAN * sigma + scale) + 0.5 * squares / sigma**2 + distances / scale
    return sigma, scale, loss
