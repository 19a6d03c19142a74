"""A Gaussian per class."""

from __future__ import annotations

import numpy as np

from properly.calibration.densities import TwoPieceDensity
from properly.calibration.density_calibration import DensityCalibration
from properly.probabilities import Array


class GaussianCalibration(DensityCalibration):
    """Bayes' rule with a Gaussian density of the scores in either class, fitted by maximum likelihood.

    The log-odds are a parabola in the score, which turns back in one of the tails unless both classes have the same
    standard deviation. See `AsymmetricGaussianCalibration` for what happens to degenerate classes, and for `monotone`.

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
    >>> model = GaussianCalibration().fit([-3.0, -1.0, 0.0, 0.0, 2.0, 4.0], [0, 0, 0, 1, 1, 1])
    >>> model.densities_[1].mode, model.predict_proba([1.0]).round(3)
    (2.0, array([[0.215, 0.785]]))
    """

    def __init__(self, *, monotone: bool = False, input: str = "score") -> None:
        self.monotone = monotone
        self.input = input

    def _fit_density(self, score: Array, weight: Array | None, rising: bool) -> TwoPieceDensity:
        mean = float(np.average(score, weights=weight))
        scale = float(np.sqrt(np.average(np.square(score - mean), weights=weight)))
        return TwoPieceDensity(mean, scale, scale, 2, 2)
