"""Calibrators whose log-odds are linear in a few features of the score: Platt, beta, quadratic, piecewise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from properly.calibration.base import BinaryCalibrator
from properly.calibration.bennett import AsymmetricLaplaceCalibration
from properly.calibration.log_odds_fit import fit_log_odds
from properly.inputs.scores import BinarySample
from properly.numeric.probabilities import Array
from properly.numeric.scaling import Standardiser


@dataclass(frozen=True)
class PlattMap:
    """ln(p/q) = intercept + slope · z, with z the standardised score."""

    standard: Standardiser
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
        standard = Standardiser.of(sample.score, sample.weight)
        fit = fit_log_odds(lambda score: standard(score)[:, None], sample, noisy=self.noisy_labels)
        return PlattMap(standard, float(fit.coef[0]), fit.intercept)


_FARTHEST = 1e100  # its square is still a number


@dataclass(frozen=True)
class BetaMap:
    """ln(p'/q') = intercept + a ln p - b ln q."""

    a: float
    b: float
    intercept: float

    def log_odds(self, score: Array) -> Array:
        return np.asarray(_beta_features(score) @ np.array([self.a, self.b]) + self.intercept)


def _beta_features(score: Array) -> Array:
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
            fit = fit_log_odds(lambda score: _beta_features(score).T[kept].T, sample, noisy=False)
            if not kept or fit.coef.min() >= 0.0:
                break
            del kept[int(np.argmin(fit.coef))]
        coef = np.zeros(2)
        coef[kept] = fit.coef
        return BetaMap(float(coef[0]), float(coef[1]), fit.intercept)


@dataclass(frozen=True)
class QuadraticMap:
    """ln(p/q) = intercept + slope · z + curvature · z², with z the standardised score."""

    standard: Standardiser
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
        standard = Standardiser.of(sample.score, sample.weight)

        def features(score: Array) -> Array:
            z = standard(score)
            return np.stack([z, z * z]).T

        fit = fit_log_odds(features, sample, noisy=False)
        return QuadraticMap(standard, float(fit.coef[0]), float(fit.coef[1]), fit.intercept)


@dataclass(frozen=True)
class PiecewiseMap:
    """ln(p/q) = intercept + slope · z + Σ bend_j · max(z - knot_j, 0), with z the standardised score."""

    standard: Standardiser
    knots: Array
    slope: float
    bends: Array
    intercept: float

    def log_odds(self, score: Array) -> Array:
        z = self.standard(score)
        return self.intercept + np.asarray(
            _piecewise_features(z, self.knots) @ np.concatenate([[self.slope], self.bends])
        )


def _piecewise_features(z: Array, knots: Array) -> Array:
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
        fit = fit_log_odds(lambda score: _piecewise_features(modes.standard(score), knots), sample, noisy=True)
        return PiecewiseMap(modes.standard, knots, float(fit.coef[0]), fit.coef[1:], fit.intercept)
