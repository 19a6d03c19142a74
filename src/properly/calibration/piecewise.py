"""Three straight pieces for the log-odds, fitted directly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from properly.calibration.asymmetric_laplace import AsymmetricLaplaceCalibration
from properly.calibration.base import BinaryCalibrator
from properly.calibration.inputs import BinarySample
from properly.calibration.logistic import fit_log_odds
from properly.calibration.standard import Standard
from properly.probabilities import Array


@dataclass(frozen=True)
class PiecewiseMap:
    """ln(p/q) = intercept + slope · z + Σ bend_j · max(z - knot_j, 0), with z the standardised score."""

    standard: Standard
    knots: Array
    slope: float
    bends: Array
    intercept: float

    def log_odds(self, score: Array) -> Array:
        z = self.standard(score)
        return self.intercept + np.asarray(_features(z, self.knots) @ np.concatenate([[self.slope], self.bends]))


def _features(z: Array, knots: Array) -> Array:
    return np.stack([z, *(np.maximum(z - knot, 0.0) for knot in knots)]).T


class PiecewiseLogOddsCalibration(BinaryCalibrator):
    """Calibrated log-odds are a continuous line of three straight pieces, fitted to the labels directly.

    Two asymmetric Laplace densities imply log-odds of this form, with knots at their modes. Bennett (2003) proposes as
    future work to fit the pieces themselves, as logistic regression does for one. Here the knots are those modes, and
    the four coefficients have maximum likelihood with Platt's noisy labels: an outer piece without any positive, whose
    slope would otherwise grow without limit, stays finite. The pieces may rise or fall.

    Parameters
    ----------
    input : {"score", "probability"}, default "score"

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    maps_ : list of `PiecewiseMap`, one for two classes, else one per class

    References
    ----------
    Bennett (2003), Using asymmetric distributions to improve text classifier probability estimates, SIGIR.

    Examples
    --------
    >>> scores, y = [-3.0, -2.0, -1.0, -0.5, 0.0, 1.0, 2.0, 4.0], [0, 0, 0, 1, 0, 1, 1, 1]
    >>> PiecewiseLogOddsCalibration().fit(scores, y).predict_proba([-2.0, 0.0, 2.0]).round(3)
    array([[0.787, 0.213],
           [0.607, 0.393],
           [0.246, 0.754]])
    """

    def __init__(self, *, input: str = "score") -> None:
        self.input = input

    def _fit_map(self, sample: BinarySample) -> PiecewiseMap:
        modes = AsymmetricLaplaceCalibration()._fit_map(sample)
        z = modes.standard(sample.score)
        knots = np.unique([modes.rest.mode, modes.own.mode])
        knots = knots[(knots > z.min()) & (knots < z.max())]  # no data, no bend
        fit = fit_log_odds(lambda score: _features(modes.standard(score), knots), sample, noisy=True)
        return PiecewiseMap(modes.standard, knots, float(fit.coef[0]), fit.coef[1:], fit.intercept)
