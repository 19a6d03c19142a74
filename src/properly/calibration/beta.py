"""Beta calibration: the log-odds that two beta distributions of the probability imply."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from properly.calibration.base import BinaryCalibrator
from properly.calibration.inputs import BinarySample
from properly.calibration.logistic import fit_log_odds
from properly.probabilities import Array

_FARTHEST = 1e100  # its square is still a number


@dataclass(frozen=True)
class BetaMap:
    """ln(p'/q') = intercept + a ln p - b ln q."""

    a: float
    b: float
    intercept: float

    def log_odds(self, score: Array) -> Array:
        return np.asarray(_features(score) @ np.array([self.a, self.b]) + self.intercept)


def _features(score: Array) -> Array:
    """(ln p, -ln q) of a log-odds; beyond ±1e100 it counts as that."""
    v = np.clip(score, -_FARTHEST, _FARTHEST)
    log_p = np.minimum(v, 0.0) - np.log1p(np.exp(-np.abs(v)))
    return np.stack([log_p, v - log_p]).T  # -ln q = ln(p/q) - ln p


class BetaCalibration(BinaryCalibrator):
    """Calibrated log-odds are ln(p'/q') = c + a ln p - b ln q, with a, b >= 0 and q = 1 - p.

    This is what follows if p is beta-distributed in either class. a = b = 1, c = 0 leaves p alone, so a calibrated
    model is not harmed; a ≠ b bends one end more than the other. The three have maximum likelihood. If a or b comes
    out negative, the map would not be monotone: it is set to 0 and the others are fitted again. Classes that the map
    could separate perfectly are fitted with Platt's noisy labels, as in `PlattScaling`.

    Scores are taken as log-odds, so unlike Platt's method this one does depend on their unit and origin.

    Parameters
    ----------
    input : {"score", "probability"}, default "score"

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    maps_ : list of `BetaMap`, one for two classes, else one per class

    References
    ----------
    Kull, Silva Filho & Flach (2017), Beyond sigmoids, Electronic Journal of Statistics 11.

    Examples
    --------
    >>> p, y = [0.1, 0.2, 0.3, 0.6, 0.7, 0.9], [0, 0, 1, 0, 1, 1]
    >>> BetaCalibration(input="probability").fit(p, y).predict_proba([0.0, 0.5, 0.8]).round(3)
    array([[1.   , 0.   ],
           [0.446, 0.554],
           [0.142, 0.858]])
    """

    def __init__(self, *, input: str = "score") -> None:
        self.input = input

    def _fit_map(self, sample: BinarySample) -> BetaMap:
        kept = [0, 1]
        while True:
            fit = fit_log_odds(lambda score: _features(score).T[kept].T, sample, noisy=False)
            if not kept or fit.coef.min() >= 0.0:
                break
            del kept[int(np.argmin(fit.coef))]
        coef = np.zeros(2)
        coef[kept] = fit.coef
        return BetaMap(float(coef[0]), float(coef[1]), fit.intercept)
