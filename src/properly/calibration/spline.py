"""A smooth curve for the log-odds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy import special as sc

from properly.calibration.base import BinaryCalibrator
from properly.calibration.log_odds import LinearMap, LogOdds, fit_log_odds
from properly.inputs.options import checked_count
from properly.inputs.scores import BinarySample
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, beside, constant, namespace
from properly.numeric.scaling import Standardizer

_STRENGTHS = 10.0 ** np.arange(-3.0, 4.0)


@dataclass(frozen=True)
class NaturalSplines:
    """The standardised score z, and natural cubic splines of it.

    `basis` makes them of truncated cubes, such that for coefficients c_j of them Σ c_j² is the integral of the squared
    second derivative of Σ c_j b_j(z).
    """

    standardize: Standardizer
    knots: Array
    basis: Array

    def __call__(self, score: Array) -> Array:
        z = self.standardize(score)
        if not self.basis.size:
            return z[:, None]
        columns = beside(z[:, None], fn.matmul(_natural_cubes(z, self.knots), self.basis))
        return np.asfortranarray(columns) if namespace(z) is np else columns


def _natural_cubes(z: Array, knots: Array) -> Array:
    """Splines of truncated cubes that are straight outside the knots (Hastie, Tibshirani & Friedman, 5.2.1)."""
    xp, inner, last = namespace(z), knots[:-1], float(knots[-1])
    # Right of the last knot the cubes cancel down to a straight line; writing it as such keeps its digits.
    inside = xp.minimum(z, last)[:, None]
    beyond = xp.maximum(z - last, 0.0)[:, None]
    reach = xp.maximum(inside - constant(inner, z), 0.0)
    curve = reach * reach * reach / constant(last - inner, z) + constant(3.0 * (last - inner), z) * beyond
    return curve[:, :-1] - curve[:, -1:]


def _smooth_basis(knots: Array) -> Array:
    """Combinations of the truncated cubes whose second derivatives are orthonormal."""
    if len(knots) < 3:
        return np.empty((0, 0))
    inner, last = knots[:-1], knots[-1]
    at_knots = 6.0 * np.maximum(knots[:, None] - inner, 0.0) / (last - inner)
    bend = at_knots[:, :-1] - at_knots[:, -1:]  # second derivatives, straight between knots
    gap = np.diff(knots)[:, None, None]
    left, right = bend[:-1], bend[1:]
    products = [np.einsum("gi,gj->gij", x, y) for x, y in ((left, left), (right, right), (left, right), (right, left))]
    gram = np.sum(gap / 6.0 * (2.0 * products[0] + 2.0 * products[1] + products[2] + products[3]), axis=0)
    values, vectors = linalg.eigh(gram)
    kept = values > 1e-12 * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


@dataclass(eq=False, repr=False)
class SplineCalibration(BinaryCalibrator):
    """Calibrated log-odds are a smooth curve of the score: a natural cubic spline, straight beyond its outer knots.

    The coefficients minimise Σ weight · log loss + ½ λ ∫ f''(z)² dz, with z the standardised score; large λ leads back
    to Platt's line. λ is the one among 10⁻³, ..., 10³ with the least AIC = 2 Σ weight · log loss + 2 · effective number
    of parameters, which needs no random folds. Knots lie at quantiles of the scores, both classes counting equally.
    The curve need not be monotone. Classes that it could separate perfectly are fitted with Platt's noisy labels.

    Parameters
    ----------
    n_knots : int, default 8
        At least 3; fewer are used if there are not as many different scores.
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
    maps_ : list of `LinearMap`, one for two classes, else one per class

    References
    ----------
    Lucena (2018), Spline-based probability calibration, arXiv:1809.07751, for the idea.

    Examples
    --------
    >>> scores, y = [-3.0, -2.0, -1.0, -0.5, 0.0, 1.0, 2.0, 4.0], [0, 0, 0, 1, 0, 1, 1, 1]
    >>> SplineCalibration().fit(scores, y).predict_proba([-2.0, 0.0, 2.0]).round(3)
    array([[0.976, 0.024],
           [0.42 , 0.58 ],
           [0.013, 0.987]])
    """

    n_knots: int = 8

    def _fit_map(self, sample: BinarySample) -> LinearMap:
        n_knots = checked_count(self.n_knots, "n_knots", 3)
        standardize = Standardizer.of(sample.score, sample.weight)
        knots = _balanced_quantiles(standardize(sample.score), sample, n_knots)
        features = NaturalSplines(standardize, knots, _smooth_basis(knots))
        columns = features(sample.score)
        penalised = np.arange(columns.shape[1]) > 0
        candidates = []
        for strength in _STRENGTHS if features.basis.size else _STRENGTHS[:1]:
            fit = fit_log_odds(columns, sample, noisy=False, ridge=strength * penalised)
            candidates.append((_akaike(fit, columns, sample, strength * penalised), fit))
        best = min(candidates, key=lambda each: each[0])[1]
        return LinearMap(features, best.coef, best.intercept)


def _balanced_quantiles(z: Array, sample: BinarySample, count: int) -> Array:
    """Quantiles from 5 % to 95 %, where either class has half of the weight."""
    rest, own = sample.class_weight
    share = np.where(sample.positive, 1.0 / own, 1.0 / rest) * (1.0 if sample.weight is None else sample.weight)
    order = np.argsort(z, kind="stable")
    below = np.cumsum(share[order])
    wanted = below[-1] * np.linspace(0.05, 0.95, count)
    return np.unique(z[order][np.searchsorted(below, wanted * (1.0 - 1e-9))])  # rounding must not decide between scores


def _akaike(fit: LogOdds, features: Array, sample: BinarySample, ridge: Array) -> float:
    """Half of AIC: the log loss plus the effective number of parameters, tr (H + λ)⁻¹H."""
    v = features @ fit.coef + fit.intercept
    loss = -sc.log_expit(np.where(sample.positive, v, -v))
    curvature = fit.hessian - np.diag(np.append(ridge, 0.0))
    parameters = np.trace(np.linalg.lstsq(fit.hessian, curvature, rcond=None)[0])
    return float((loss.sum() if sample.weight is None else sample.weight @ loss) + parameters)
