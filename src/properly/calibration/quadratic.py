"""Quadratic scaling: a parabola for the log-odds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from properly.calibration.base import BinaryCalibrator
from properly.calibration.inputs import BinarySample
from properly.calibration.logistic import fit_log_odds
from properly.calibration.standard import Standard
from properly.probabilities import Array


@dataclass(frozen=True)
class QuadraticMap:
    """ln(p/q) = intercept + slope · z + curvature · z², with z the standardised score."""

    standard: Standard
    slope: float
    curvature: float
    intercept: float

    def log_odds(self, score: Array) -> Array:
        z = self.standard(score)
        return self.intercept + (self.slope + self.curvature * z) * z


class QuadraticScaling(BinaryCalibrator):
    """Calibrated log-odds are a parabola in the score: ln(p/q) = a + b s + c s².

    It is what two Gaussian densities of different width imply, but fitted to the classes directly, with maximum
    likelihood. One more parameter than Platt's line lets the ends bend differently; the parabola may turn back beyond
    its vertex. Classes that it could separate perfectly are fitted with Platt's noisy labels.

    Parameters
    ----------
    input : {"score", "probability"}, default "score"

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    maps_ : list of `QuadraticMap`, one for two classes, else one per class

    Examples
    --------
    >>> scores, y = [-2.0, -1.0, -0.5, 0.0, 1.0, 2.0], [0, 0, 1, 0, 1, 1]
    >>> QuadraticScaling().fit(scores, y).predict_proba([-1.0, 3.0]).round(3)
    array([[0.837, 0.163],
           [0.001, 0.999]])
    """

    def __init__(self, *, input: str = "score") -> None:
        self.input = input

    def _fit_map(self, sample: BinarySample) -> QuadraticMap:
        standard = Standard.of(sample.score, sample.weight)

        def features(score: Array) -> Array:
            z = standard(score)
            return np.stack([z, z * z]).T

        fit = fit_log_odds(features, sample, noisy=False)
        return QuadraticMap(standard, float(fit.coef[0]), float(fit.coef[1]), fit.intercept)
