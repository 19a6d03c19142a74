"""Calibration errors from bins: how far forecasts are from the frequencies that follow them."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special as sc

from properly.inputs.forecast import Forecast, read_binary, read_forecast
from properly.inputs.options import checked_count, choose
from properly.metrics.counts import cuts_of
from properly.numeric.probabilities import Array

_ROUNDING = 1e-12  # of sums of weights


class _Bins(NamedTuple):
    """Bins that hold rows: their weight, mean forecast and frequency of positives."""

    weight: Array
    forecast: Array
    frequency: Array

    @property
    def gap(self) -> Array:
        return self.forecast - self.frequency

    @property
    def share(self) -> Array:
        return self.weight / self.weight.sum()

    @property
    def variance(self) -> Array:
        """The estimated variance of the frequency; 0 in a bin of one row, which says nothing about it."""
        return self.frequency * (1.0 - self.frequency) / np.where(self.weight > 1.0, self.weight - 1.0, np.inf)


def calibration_loss(
    y: ArrayLike,
    p: ArrayLike,
    *,
    n_bins: int = 10,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> float:
    """Mean of (p - frequency of positives in p's bin)², over bins of equal width; the smaller the better.

    It does not vanish for calibrated forecasts, which differ within a bin.

    Reference: Agarwal, Narasimhan, Kalyanakrishnan & Agarwal (2014), who use ten bins.

    >>> calibration_loss([0, 1, 1, 1], [0.12, 0.18, 0.8, 0.6])
    0.1117
    """
    forecast = read_binary(y, p, sample_weight, classes)
    index = _equal_width(forecast, _checked_bins(n_bins))
    weight = np.bincount(index, forecast.weight)
    own = np.bincount(index, _positive_weight(forecast))
    frequency = own / np.where(weight > 0.0, weight, 1.0)
    return forecast.mean((forecast.p - frequency[index]) ** 2)


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
    Bins hide what cancels within them, and their number matters; `smooth_calibration_error` and the miscalibration of
    `score_decomposition` know neither problem.

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
        E|g_b + s_b Z| - |g_b| of a normal Z. What then is below 0 in total counts as 0. Weights are numbers of rows
        here: weights that add up to 1 leave nothing to estimate from.

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
    measure = _Measure.of(n_bins, strategy, norm, debiased)
    return measure(read_binary(y, p, sample_weight, classes))


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

    >>> classwise_calibration_error([0, 1, 2], [[0.8, 0.1, 0.1], [0.3, 0.7, 0.0], [0.0, 0.0, 1.0]])
    0.1111...
    """
    measure = _Measure.of(n_bins, strategy, norm, debiased)
    forecast = read_forecast(y, p, sample_weight, classes)
    n_classes = 2 if forecast.binary else forecast.p.shape[1]
    return float(np.mean([measure(forecast.of_class(k)) for k in range(n_classes)]))


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

    >>> confidence_calibration_error([0, 1, 2], [[0.8, 0.1, 0.1], [0.7, 0.3, 0.0], [0.0, 0.0, 1.0]], n_bins=5)
    0.1666...
    """
    measure = _Measure.of(n_bins, strategy, norm, debiased)
    return measure(read_forecast(y, p, sample_weight, classes).most_probable())


class _Measure(NamedTuple):
    """An expected calibration error with all its options."""

    n_bins: int
    binning: Callable[[Forecast, int], NDArray[np.intp]]
    distance: Callable[[_Bins], float]

    @classmethod
    def of(cls, n_bins: int, strategy: str, norm: int, debiased: bool) -> _Measure:
        binning = choose(strategy, _STRATEGIES, "strategy")
        if isinstance(norm, bool) or not isinstance(norm, Integral) or norm not in _NORMS:
            raise ValueError(f"norm must be 1 or 2, got {norm!r}.")
        return cls(_checked_bins(n_bins), binning, _NORMS[norm][bool(debiased)])

    def __call__(self, forecast: Forecast) -> float:
        index = self.binning(forecast, self.n_bins)
        weight = np.bincount(index, forecast.weight).astype(np.float64)
        used = weight > 0.0
        mass = forecast.p if forecast.weight is None else forecast.p * forecast.weight
        own = np.bincount(index, _positive_weight(forecast))
        weight = weight[used]
        return self.distance(_Bins(weight, np.bincount(index, mass)[used] / weight, own[used] / weight))


def _equal_width(forecast: Forecast, n_bins: int) -> NDArray[np.intp]:
    return np.searchsorted(np.linspace(0.0, 1.0, n_bins + 1)[1:-1], forecast.p)


def _equal_mass(forecast: Forecast, n_bins: int) -> NDArray[np.intp]:
    """A forecast lies in bin ⌊n_bins · share of the rows below it⌋."""
    cuts = cuts_of(forecast)
    mass = cuts.negative + cuts.positive
    below = np.cumsum(mass) - mass
    begins = np.searchsorted(below, np.arange(1, n_bins) * (forecast.total / n_bins) * (1.0 - _ROUNDING))
    return np.searchsorted(cuts.values[begins[begins < len(below)]], forecast.p, side="right")


_STRATEGIES = {"width": _equal_width, "mass": _equal_mass}


def _plain_1(bins: _Bins) -> float:
    return float(np.sum(bins.share * np.abs(bins.gap)))


def _plain_2(bins: _Bins) -> float:
    return float(np.sqrt(np.sum(bins.share * bins.gap**2)))


def _debiased_1(bins: _Bins) -> float:
    """2 |g| - E|g + s Z|, where E|g + s Z| = s √(2/π) exp(-g²/2s²) + |g| erf(|g|/(s √2))."""
    gap, deviation = np.abs(bins.gap), np.sqrt(bins.variance)
    ratio = gap / np.where(deviation > 0.0, deviation, 1.0)
    expected = deviation * np.sqrt(2.0 / np.pi) * np.exp(-0.5 * ratio**2) + gap * sc.erf(ratio / np.sqrt(2.0))
    return max(0.0, float(np.sum(bins.share * (2.0 * gap - np.where(deviation > 0.0, expected, gap)))))


def _debiased_2(bins: _Bins) -> float:
    return float(np.sqrt(max(0.0, np.sum(bins.share * (bins.gap**2 - bins.variance)))))


_NORMS: dict[int, tuple[Callable[[_Bins], float], Callable[[_Bins], float]]] = {  # norm: (plain, debiased)
    1: (_plain_1, _debiased_1),
    2: (_plain_2, _debiased_2),
}


def _checked_bins(n_bins: int) -> int:
    return checked_count(n_bins, "n_bins", 1)


def _positive_weight(forecast: Forecast) -> Array:
    return forecast.positive.astype(np.float64) if forecast.weight is None else forecast.positive * forecast.weight
