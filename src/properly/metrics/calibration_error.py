"""Calibration errors, from bins or smoothed: how far forecasts are from the frequencies that follow them."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, optimize
from scipy import special as sc

from properly.forecasts import read_binary, read_forecast
from properly.inputs.forecast import Forecast
from properly.inputs.options import checked_count, choose
from properly.metrics.thresholds import distinct_forecasts
from properly.numeric.arrays import Array, namespace, to_numpy
from properly.numeric.functions import bincount, cumulative, entries, searchsorted, searchsorted_in

_ROUNDING = 1e-12  # of sums of weights


def calibration_loss(
    y: ArrayLike,
    p: ArrayLike,
    *,
    n_bins: int = 10,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> float:
    """Mean of (p - frequency of positives in p's bin)², over bins of equal width; the smaller the better.

    It is not 0 for calibrated forecasts that differ within a bin.

    Reference: Agarwal, Narasimhan, Kalyanakrishnan & Agarwal (2014), who use ten bins.

    Mathematics: formula (3.8).

    Parameters
    ----------
    y : array of shape (n,)
        Labels of the rows.
    p : array of shape (n,) or (n, 2)
        Probabilities of the positive class.
    n_bins : int, default 10
        The number of bins of equal width.
    sample_weight : array of shape (n,), optional
        A weight of 2 counts as the row twice.
    classes : array of labels, optional
        The labels in the order of the columns of p, if y lacks some of them.

    Examples
    --------
    >>> calibration_loss([0, 1, 1, 1], [0.12, 0.18, 0.8, 0.6])
    0.1117
    """
    forecast = read_binary(y, p, sample_weight, classes, keep_library=True)
    n_bins = checked_count(n_bins, "n_bins", 1)
    index = _equal_width(forecast, n_bins)
    _, frequency = _frequencies(forecast, index, n_bins)
    return forecast.mean((forecast.p - entries(frequency, index)) ** 2)


def expected_calibration_error(
    y: ArrayLike,
    p: ArrayLike,
    *,
    n_bins: int = 15,
    strategy: str = "width",
    norm: int = 1,
    debiased: bool = False,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> float:
    """The average distance between mean forecast and frequency of positives, over bins of p; the smaller the better.

    Norm 1: Σ_b w_b |g_b| with the share w_b of the rows and the gap g_b of bin b. Norm 2: √(Σ_b w_b g_b²).
    Errors that cancel within a bin are not seen, and the result depends on the number of bins;
    `smooth_calibration_error` and the miscalibration of `score_decomposition` have neither problem.

    Parameters
    ----------
    y, p, sample_weight, classes
        As for `proper_score`, of two classes. For more see `classwise_calibration_error` and
        `confidence_calibration_error`.
    n_bins : int, default 15
    strategy : {"width", "mass"}, default "width"
        Bins of equal width, closed on the right; or of equal numbers of rows, where equal forecasts stay together.
    norm : {1, 2}, default 1
    debiased : bool, default False
        Even calibrated forecasts have gaps, by chance. With n_b rows in a bin, the estimated variance of its frequency
        f_b is s_b² = f_b (1 - f_b)/(n_b - 1). Norm 2 subtracts it from g_b², and norm 1 subtracts from |g_b| the excess
        E|g_b + s_b Z| - |g_b| of a standard normal Z; a negative total counts as 0. Weights are numbers of rows here:
        from weights that add up to 1 no variance can be estimated.

    References
    ----------
    Naeini, Cooper & Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian binning, AAAI.
    Kumar, Liang & Ma (2019), Verified uncertainty calibration, NeurIPS (the debiased estimators).

    Examples
    --------
    >>> y, p = [0, 0, 1, 0, 1, 1], [0.1, 0.1, 0.2, 0.6, 0.9, 0.9]
    >>> expected_calibration_error(y, p)
    0.3
    >>> expected_calibration_error(y, p, n_bins=2, strategy="mass", norm=2)
    0.1699...
    """
    error = _binned_error(n_bins, strategy, norm, debiased)
    return error(read_binary(y, p, sample_weight, classes, keep_library=True))


def classwise_calibration_error(
    y: ArrayLike,
    p: ArrayLike,
    *,
    n_bins: int = 15,
    strategy: str = "width",
    norm: int = 1,
    debiased: bool = False,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> float:
    """The expected calibration error of each class against the rest, averaged over all classes.

    Parameters are those of `expected_calibration_error`. Reference: Kull et al. (2019), Beyond temperature scaling.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of the rows.
    p : array of shape (n,) or (n, 2) for two classes, (n, K) for more
        Probabilities of the positive class, or of every class in sorted order.
    n_bins : int, default 15
        The number of bins.
    strategy : {"width", "mass"}, default "width"
        Bins of equal width, or of equally many rows.
    norm : {1, 2}, default 1
        Of the differences: 1 their mean size, 2 the root of their mean square.
    debiased : bool, default False
        Whether what chance alone would give is subtracted, as in `expected_calibration_error`.
    sample_weight : array of shape (n,), optional
        A weight of 2 counts as the row twice.
    classes : array of labels, optional
        The labels in the order of the columns of p, if y lacks some of them.

    Examples
    --------
    >>> classwise_calibration_error([0, 1, 2], [[0.8, 0.1, 0.1], [0.3, 0.7, 0.0], [0.0, 0.0, 1.0]])
    0.1111...
    """
    error = _binned_error(n_bins, strategy, norm, debiased)
    forecast = read_forecast(y, p, sample_weight, classes, keep_library=True)
    return float(np.mean([error(forecast.of_class(k)) for k in range(len(forecast.classes))]))


def confidence_calibration_error(
    y: ArrayLike,
    p: ArrayLike,
    *,
    n_bins: int = 15,
    strategy: str = "width",
    norm: int = 1,
    debiased: bool = False,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> float:
    """The expected calibration error of the largest probability, as the probability that its class is the right one.

    Of equally probable classes the first counts. Parameters are those of `expected_calibration_error`. Reference: Guo,
    Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of the rows.
    p : array of shape (n,) or (n, 2) for two classes, (n, K) for more
        Probabilities of the positive class, or of every class in sorted order.
    n_bins : int, default 15
        The number of bins.
    strategy : {"width", "mass"}, default "width"
        Bins of equal width, or of equally many rows.
    norm : {1, 2}, default 1
        Of the differences: 1 their mean size, 2 the root of their mean square.
    debiased : bool, default False
        Whether what chance alone would give is subtracted, as in `expected_calibration_error`.
    sample_weight : array of shape (n,), optional
        A weight of 2 counts as the row twice.
    classes : array of labels, optional
        The labels in the order of the columns of p, if y lacks some of them.

    Examples
    --------
    >>> confidence_calibration_error([0, 1, 2], [[0.8, 0.1, 0.1], [0.7, 0.3, 0.0], [0.0, 0.0, 1.0]], n_bins=5)
    0.1666...
    """
    error = _binned_error(n_bins, strategy, norm, debiased)
    return error(read_forecast(y, p, sample_weight, classes, keep_library=True).most_probable())


def _binned_error(n_bins: int, strategy: str, norm: int, debiased: bool) -> Callable[[Forecast], float]:
    """The expected calibration error with these options, once they are checked."""
    n_bins = checked_count(n_bins, "n_bins", 1)
    binning = choose(strategy, _STRATEGIES, "strategy")
    if isinstance(norm, bool) or not isinstance(norm, Integral) or norm not in _NORMS:
        raise ValueError(f"norm must be 1 or 2, got {norm!r}.")

    def error(forecast: Forecast) -> float:
        index = binning(forecast, n_bins)
        weight, frequency = _frequencies(forecast, index, n_bins)
        used = weight > 0.0
        weight, frequency = weight[used], frequency[used]
        mass = forecast.p if forecast.weight is None else forecast.p * forecast.weight
        gap = np.abs(to_numpy(bincount(index, mass, n_bins))[used] / weight - frequency)
        # The estimated variance of a frequency is 0 in a bin of one row, which says nothing about it.
        variance = frequency * (1.0 - frequency) / np.where(weight > 1.0, weight - 1.0, np.inf)
        return _NORMS[norm](weight / weight.sum(), gap, variance if debiased else np.zeros_like(variance))

    return error


def _frequencies(forecast: Forecast, index: NDArray[np.intp], n_bins: int) -> tuple[Array, Array]:
    """The weight of the rows in each bin, and the frequency of positives there (0 in an empty bin)."""
    weight = to_numpy(bincount(index, forecast.weight, n_bins))
    own = namespace(forecast.p).astype(forecast.positive, forecast.p.dtype)
    own = own if forecast.weight is None else own * forecast.weight
    return weight, to_numpy(bincount(index, own, n_bins)) / np.where(weight > 0.0, weight, 1.0)


def _equal_width(forecast: Forecast, n_bins: int) -> NDArray[np.intp]:
    return cast("NDArray[np.intp]", searchsorted(np.linspace(0.0, 1.0, n_bins + 1)[1:-1], forecast.p))


def _equal_mass(forecast: Forecast, n_bins: int) -> NDArray[np.intp]:
    """A forecast lies in bin ⌊n_bins · share of the rows below it⌋."""
    found = distinct_forecasts(forecast)
    weight, xp = found.weight, namespace(found.p)
    below = cumulative(weight)[1:] - weight
    limits = np.arange(1, n_bins) * (forecast.total / n_bins) * (1.0 - _ROUNDING)
    begins = searchsorted_in(below, limits)
    edges = to_numpy(xp.take(found.p, begins[begins < below.shape[0]]))
    return cast("NDArray[np.intp]", searchsorted(edges, forecast.p, side="right"))


_STRATEGIES = {"width": _equal_width, "mass": _equal_mass}


def _norm_1(share: Array, gap: Array, variance: Array) -> float:
    """2 |g| - E|g + s Z|, where E|g + s Z| = s √(2/π) exp(-g²/2s²) + |g| erf(|g|/(s √2)); |g| where s = 0."""
    deviation = np.sqrt(variance)
    ratio = gap / np.where(deviation > 0.0, deviation, 1.0)
    expected = deviation * np.sqrt(2.0 / np.pi) * np.exp(-0.5 * ratio**2) + gap * sc.erf(ratio / np.sqrt(2.0))
    return max(0.0, float(np.sum(share * (2.0 * gap - np.where(deviation > 0.0, expected, gap)))))


def _norm_2(share: Array, gap: Array, variance: Array) -> float:
    return float(np.sqrt(max(0.0, np.sum(share * (gap**2 - variance)))))


_NORMS = {1: _norm_1, 2: _norm_2}


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
    return smooth_error_of(read_binary(y, p, sample_weight, classes, keep_library=True))


def smooth_error_of(forecast: Forecast) -> float:
    """`smooth_calibration_error` of a checked forecast of two classes."""
    # The residuals' density as a sum of cosines, which keep their shape under a reflected kernel.
    waves = fft.dct(_residuals(forecast) / _SHARE, type=1)

    def excess(bandwidth: float) -> float:
        return _error(waves, bandwidth) - bandwidth

    if excess(0.0) <= 0.0:
        return 0.0
    if excess(_LARGEST) >= 0.0:
        return _LARGEST
    return float(optimize.brentq(excess, 0.0, _LARGEST, xtol=1e-10))


def _residuals(forecast: Forecast) -> Array:
    """The mean of p - y at the points of a grid; each row is shared between the two points next to it."""
    xp = namespace(forecast.p)
    residual = forecast.p - xp.astype(forecast.positive, forecast.p.dtype)
    if forecast.weight is not None:
        residual *= forecast.weight
    position = forecast.p * _CELLS
    cell = xp.clip(xp.astype(position, xp.int32), None, _CELLS - 1)
    position -= xp.astype(cell, position.dtype)
    right = to_numpy(bincount(cell, residual * position, _CELLS + 1))
    left = to_numpy(bincount(cell, residual, _CELLS + 1)) - right
    return (left + np.concatenate([[0.0], right[:-1]])) / forecast.total


def _error(waves: Array, bandwidth: float) -> float:
    """∫ |smoothed residual|. A Gaussian shrinks cos(πkt) to exp(-(πkσ)²/2) of its height."""
    frequency = np.arange(len(waves)) * (np.pi * bandwidth)
    return float(np.sum(_SHARE * np.abs(fft.idct(waves * np.exp(-0.5 * frequency**2), type=1))))
