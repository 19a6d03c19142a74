"""Platt's scaling: a straight line for the log-odds."""

from __future__ import annotations

from dataclasses import dataclass

from properly.calibration.base import BinaryCalibrator
from properly.calibration.inputs import BinarySample
from properly.calibration.logistic import fit_log_odds
from properly.calibration.standard import Standard
from properly.probabilities import Array


@dataclass(frozen=True)
class PlattMap:
    """ln(p/q) = intercept + slope · z, with z the standardised score."""

    standard: Standard
    slope: float
    intercept: float

    def log_odds(self, score: Array) -> Array:
        return self.intercept + self.slope * self.standard(score)


class PlattScaling(BinaryCalibrator):
    """Calibrated log-odds are a straight line in the score: ln(p/q) = a + b s.

    Slope and intercept have maximum likelihood; a falling line is possible, if high scores mean the first class. Where
    a single threshold separates the classes the likelihood has no maximum, and noisy labels are assumed in any case.

    Parameters
    ----------
    noisy_labels : bool, default True
        Fit to (N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2) instead of 1 and 0, with N₊ and N₋ the weights of the classes, as
        Platt does: a little more cautious, and finite for separated classes. False is plain logistic regression.
    input : {"score", "probability"}, default "score"

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    maps_ : list of `PlattMap`, one for two classes, else one per class

    References
    ----------
    Platt (2000), Probabilities for support vector machines, in Advances in Large Margin Classifiers.

    Examples
    --------
    >>> scores, y = [-2.0, -1.0, -0.5, 0.0, 1.0, 2.0], [0, 0, 1, 0, 1, 1]
    >>> PlattScaling().fit(scores, y).predict_proba([-1.0, 3.0]).round(3)
    array([[0.661, 0.339],
           [0.091, 0.909]])
    """

    def __init__(self, noisy_labels: bool = True, *, input: str = "score") -> None:
        self.noisy_labels = noisy_labels
        self.input = input

    def _fit_map(self, sample: BinarySample) -> PlattMap:
        standard = Standard.of(sample.score, sample.weight)
        fit = fit_log_odds(lambda score: standard(score)[:, None], sample, noisy=self.noisy_labels)
        return PlattMap(standard, float(fit.coef[0]), fit.intercept)
