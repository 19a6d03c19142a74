"""Smooth calibration error: no bins, and a bandwidth that is found from the data."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft, optimize

from properly.inputs.forecast import Forecast, read_binary
from properly.numeric.probabilities import Array

_CELLS = 1 << 16  # of the grid on [0, 1]: forecasts closer than this are told apart by their weights on two cells
_SHARE = np.concatenate([[0.5], np.ones(_CELLS - 1), [0.5]])  # only half a cell belongs to the points 0 and 1
_LARGEST = 1.0  # no residual is larger than 1, and so no bandwidth


def smooth_calibration_error(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None, classes: ArrayLike | None = None
) -> float:
    """How far forecasts are from calibrated, without bins (smECE): between 0 and 1, the smaller the better.

    The residuals p - y are smoothed along p by a Gaussian kernel of bandwidth σ that is reflected at 0 and 1, and
    the error at σ is ∫ |mean of (p - y) K_σ(p, t)| dt. It falls as σ grows; the answer is where error = σ. It bounds
    the distance to the nearest calibrated forecast from both sides, up to constants and powers.

    Parameters
    ----------
    y, p, sample_weight, classes
        As for `proper_score`, of two classes.

    Returns
    -------
    float
        Computed on a grid of 65,537 points, so with an error of the order of 1e-5; forecasts that equal their labels
        have 0.

    References
    ----------
    Błasiok & Nakkiran (2023), Smooth ECE: principled reliability diagrams via kernel smoothing.

    Examples
    --------
    >>> smooth_calibration_error([0, 1, 0, 1], [0.3, 0.3, 0.7, 0.7])
    0.1585...
    """
    return smooth_error_of(read_binary(y, p, sample_weight, classes))


def smooth_error_of(forecast: Forecast) -> float:
    """`smooth_calibration_error` of a checked forecast of two classes."""
    waves = _cosines(_residuals(forecast))

    def excess(bandwidth: float) -> float:
        return _error(waves, bandwidth) - bandwidth

    if excess(0.0) <= 0.0:
        return 0.0
    if excess(_LARGEST) >= 0.0:
        return _LARGEST
    return float(optimize.brentq(excess, 0.0, _LARGEST, xtol=1e-10))


def _residuals(forecast: Forecast) -> Array:
    """The mean of p - y at the points of a grid; each row is shared between the two points next to it."""
    residual = forecast.p - forecast.positive
    if forecast.weight is not None:
        residual *= forecast.weight
    position = forecast.p * _CELLS
    cell = np.minimum(position.astype(np.int32), _CELLS - 1)
    position -= cell
    right = np.bincount(cell, residual * position, _CELLS + 1)
    left = np.bincount(cell, residual, _CELLS + 1) - right
    return (left + np.concatenate([[0.0], right[:-1]])) / forecast.total


def _cosines(residuals: Array) -> Array:
    """The residuals' density as a sum of cosines, which keep their shape under a reflected kernel."""
    return fft.dct(residuals / _SHARE, type=1)


def _error(waves: Array, bandwidth: float) -> float:
    """∫ |smoothed residual|. A Gaussian shrinks cos(πkt) to exp(-(πkσ)²/2) of its height."""
    frequency = np.arange(len(waves)) * (np.pi * bandwidth)
    return float(np.sum(_SHARE * np.abs(fft.idct(waves * np.exp(-0.5 * frequency**2), type=1))))
