"""An asymmetric Laplace density per class."""

from __future__ import annotations

import numpy as np

from properly.calibration.densities import SortedScores, TwoPieceDensity, best_of_equals, in_order
from properly.calibration.density_calibration import DensityCalibration
from properly.probabilities import Array

_BLOCK = 1024


class AsymmetricLaplaceCalibration(DensityCalibration):
    """Bayes' rule with an asymmetric Laplace density of the scores in either class, fitted by maximum likelihood.

    f(s) = βγ/(β + γ) · exp(-β(θ - s)) left of the mode θ, and exp(-γ(s - θ)) right of it. Scores of a classifier fall
    off differently between the modes of the two classes, where the hard cases lie, and outside; this density has a
    rate for either side. The log-odds are three straight pieces that meet at the modes.

    With D_l and D_r the summed distances from θ to the left and the right, β = N/(D_l + √(D_l D_r)) and
    γ = N/(D_r + √(D_l D_r)); the likelihood is then greatest where √D_l + √D_r is smallest. That is concave between
    data points, so one of these is the exact optimum: one sort and two running sums find it.

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

    def __init__(self, *, monotone: bool = False, input: str = "score") -> None:
        self.monotone = monotone
        self.input = input

    def _fit_density(self, score: Array, weight: Array | None, rising: bool) -> TwoPieceDensity:
        score, weight = in_order(score, weight)
        at = SortedScores.between(score, weight, *_around_the_mode(score, weight))
        best = best_of_equals(np.sqrt(at.left) + np.sqrt(at.right), rising)
        left, right = float(at.left[best]), float(at.right[best])
        both = np.sqrt(left) * np.sqrt(right)
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
