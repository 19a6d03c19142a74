"""A Laplace density per class."""

from __future__ import annotations

import numpy as np

from properly.calibration.densities import SortedScores, TwoPieceDensity
from properly.calibration.density_calibration import DensityCalibration
from properly.probabilities import Array


class LaplaceCalibration(DensityCalibration):
    """Bayes' rule with a Laplace density of the scores in either class, fitted by maximum likelihood.

    f(s) = exp(-|s - θ|/b)/(2b), with θ the median of the class and b the mean distance from it. The log-odds are flat
    or straight beyond the two modes and straight between them. See `AsymmetricLaplaceCalibration`, which fits
    classifiers' scores better, for what happens to degenerate classes, and for `monotone`.

    Parameters
    ----------
    monotone : bool, default False
        True: the log-odds rise with the score, or fall if the second class has the lower scores on average.
    input : {"score", "probability"}, default "score"

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
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

    def __init__(self, *, monotone: bool = False, input: str = "score") -> None:
        self.monotone = monotone
        self.input = input

    def _fit_density(self, score: Array, weight: Array | None, rising: bool) -> TwoPieceDensity:
        at = SortedScores.of(score, weight)
        half = 0.5 * at.weight
        # Every point between these two is a median; the middle is the usual choice.
        lower = int(np.searchsorted(at.weight_left, half * (1.0 - 1e-12)))
        upper = int(np.searchsorted(at.weight_left, half * (1.0 + 1e-12)))
        scale = float(at.left[lower] + at.right[lower]) / at.weight
        return TwoPieceDensity(float(0.5 * (at.score[lower] + at.score[upper])), scale, scale, 1, 1)
