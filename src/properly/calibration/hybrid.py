"""Gaussian outside the two modes, exponential between them."""

from __future__ import annotations

import numpy as np

from properly.calibration.densities import SortedScores, TwoPieceDensity
from properly.calibration.density_calibration import DensityCalibration
from properly.probabilities import Array

_NARROWEST = 1e-100  # its square is still a number
_HALF_GAUSSIAN = float(np.sqrt(np.pi / 2.0))  # ∫ exp(-x²/2) dx over the positive half line
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
        reached on the way there from the middle between the modes. They then
        rise with the score, or fall if the second class has the lower scores on average.
    input : {"score", "probability"}, default "score"

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
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

    def __init__(self, *, monotone: bool = False, input: str = "score") -> None:
        self.monotone = monotone
        self.input = input

    def _fit_density(self, score: Array, weight: Array | None, rising: bool) -> TwoPieceDensity:
        if rising:  # the inner side is the left one: mirror the scores
            mirrored = self._fit_density(-score, weight, False)
            return TwoPieceDensity(-mirrored.mode, mirrored.right_scale, mirrored.left_scale, 1, 2)
        at = SortedScores.of(score, weight)
        squares, distances = at.squares()[0] / at.weight, at.right / at.weight
        # Sums of 0, at the ends, have the scale of the smallest half-density that is allowed.
        smallest = max(1.0 / (at.weight + 1.0), _NARROWEST)
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
    ratio = np.sqrt(_HALF_GAUSSIAN * distances / squares)
    root = np.maximum(
        np.cbrt(2.0 * distances / ratio),
        np.sqrt(np.sqrt(2.0 * _HALF_GAUSSIAN * distances / ratio**2)),
    )
    for _ in range(_MAX_ITER):
        value = ratio**2 * root**4 - distances * ratio * root - _HALF_GAUSSIAN * distances
        step = value / (4.0 * ratio**2 * root**3 - distances * ratio)
        root = root - step
        if np.all(np.abs(step) <= 1e-15 * root):
            break
    sigma, scale = root**2, ratio * root**3
    loss = np.log(_HALF_GAUSSIAN * sigma + scale) + 0.5 * squares / sigma**2 + distances / scale
    return sigma, scale, loss
