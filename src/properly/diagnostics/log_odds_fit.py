"""Log-odds observed in bins of the score, against those that calibrators estimate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special as sc

from properly.calibration.base import Calibrator
from properly.calibration.methods import calibrator_of
from properly.diagnostics.results import Result, jeffreys_interval
from properly.inputs.options import CONFIDENCE, checked_confidence, checked_count, named
from properly.inputs.scores import BinarySample, read_scores
from properly.numeric.probabilities import Array

_GRID = 1001
_COLUMNS = ("score", "weight", "positive", "log_odds", "low", "high")


@dataclass(frozen=True)
class LogOddsFit(Result):
    """What `log_odds_fit` returns; the frame has a row for each bin, and the calibrators as its last columns.

    Attributes
    ----------
    score : array of shape (n_bins,)
        Mean score of each bin.
    weight, positive : array of shape (n_bins,)
        Weight of the rows in it, and of the positives among them.
    log_odds, low, high : array of shape (n_bins,)
        Observed log-odds and their interval; infinite at one end where the bin holds one class only.
    names : tuple of str
    fitted : array of shape (n_calibrators, n_bins)
        The calibrators' log-odds at `score`.
    grid, curves : arrays of shape (n_points,) and (n_calibrators, n_points)
        Scores in between, and the calibrators' log-odds there.
    confidence : float
    """

    score: Array
    weight: Array
    positive: Array
    log_odds: Array
    low: Array
    high: Array
    names: tuple[str, ...]
    fitted: Array
    grid: Array
    curves: Array
    confidence: float
    _drawn_by: ClassVar[str] = "draw_log_odds_fit"

    def _columns(self) -> dict[str, Any]:
        return self._attributes(*_COLUMNS) | dict(zip(self.names, self.fitted, strict=True))

    def plot(self, ax: Any = None) -> Any:
        """Draw observed log-odds as points with intervals, calibrators as lines. Triangles are bounds.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A figure of its own if not given.
        """
        return self._draw(ax)


def log_odds_fit(
    y: ArrayLike,
    scores: ArrayLike,
    calibrators: Iterable[str | Calibrator] | Mapping[str, str | Calibrator] = ("platt", "asymmetric_laplace"),
    *,
    n_bins: int = 25,
    confidence: float = CONFIDENCE,
    sample_weight: ArrayLike | None = None,
) -> LogOddsFit:
    """The log-odds of the positive class as a function of the score: as observed, and as calibrators estimate them.

    On this scale Platt's method is a straight line, asymmetric Laplace densities make three straight pieces, and a
    rare class is seen as clearly as a frequent one: a good way to find out which calibrator suits a score.

    A bin with the weights n₁ of positives and n₀ of negatives has the log-odds ln((n₁ + ½)/(n₀ + ½)), finite always,
    and the interval of Jeffreys' posterior, a beta distribution with the parameters n₁ + ½ and n₀ + ½. It is open at
    one end if n₁ or n₀ is 0.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of two classes.
    scores : array of shape (n,)
        Log-odds, margins or other real numbers.
    calibrators : names or calibrators, or a mapping from names to them
        A name, or a calibrator that is not fitted yet, is fitted to these rows; a fitted one, which must have the same
        classes, is shown as it is. Better fit calibrators to other rows than those shown here. In a list equal names
        are numbered.
    n_bins : int, default 25
        Bins have equal shares of rows, averaged over the classes, so that a rare class is not in one bin. Equal scores
        stay together, which may make for fewer bins.
    confidence : float, default 0.95
    sample_weight : array of shape (n,), optional
        A weight counts as that many rows.

    References
    ----------
    Bennett (2003), Using asymmetric distributions to improve text classifier probability estimates, SIGIR, Figure 5.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.RandomState(0)
    >>> scores = random.normal(size=10_000)
    >>> y = random.random_sample(10_000) < 1 / (1 + np.exp(3 - scores))
    >>> fit = log_odds_fit(y, scores, ["platt"])
    >>> np.mean((fit.low <= fit.fitted[0]) & (fit.fitted[0] <= fit.high))
    np.float64(0.92)
    """
    checked_count(n_bins, "n_bins", 1)
    level = checked_confidence(confidence)
    classes, sample = read_scores(y, scores, sample_weight)
    if isinstance(calibrators, str | Calibrator):
        calibrators = [calibrators]
    fitted = {name: _fitted(name, each, classes, sample) for name, each in named(calibrators, _COLUMNS).items()}
    score, weight, positive = _binned(sample, n_bins)
    negative = weight - positive
    low, high = sc.logit(jeffreys_interval(positive, negative, level))
    grid = np.union1d(np.linspace(score[0], score[-1], _GRID), score)
    curves = np.array([_log_odds(each, grid) for each in fitted.values()]).reshape(len(fitted), len(grid))
    at_score = curves[:, np.searchsorted(grid, score)]
    log_odds = np.log(positive + 0.5) - np.log(negative + 0.5)
    return LogOddsFit(
        score, weight, positive, log_odds, low, high, tuple(fitted), at_score, grid, curves, confidence=level
    )


def _fitted(name: str, calibrator: str | Calibrator, classes: NDArray[Any], sample: BinarySample) -> Calibrator:
    if isinstance(calibrator, Calibrator) and hasattr(calibrator, "classes_"):
        if not np.array_equal(calibrator.classes_, classes):
            raise ValueError(
                f"calibrator {name!r} was fitted to the classes {calibrator.classes_.tolist()}, but y holds "
                f"{classes.tolist()}; both must be the same."
            )
        return calibrator
    return calibrator_of(calibrator).fit(sample.score, classes[sample.positive.view(np.int8)], sample.weight)


def _log_odds(calibrator: Calibrator, score: Array) -> Array:
    """±∞ where a calibrator says 0 or 1."""
    log_p = calibrator.predict_log_proba(score)
    with np.errstate(invalid="ignore"):
        return np.asarray(log_p[:, 1] - log_p[:, 0])


def _binned(sample: BinarySample, n_bins: int) -> tuple[Array, Array, Array]:
    """Mean score, weight and weight of positives in bins of equal mass, where either class has the mass ½."""
    weight = np.ones(len(sample.score)) if sample.weight is None else sample.weight
    negatives, positives = sample.class_weight
    mass = weight * np.where(sample.positive, 0.5 / positives, 0.5 / negatives)
    position = np.unique(sample.score, return_inverse=True)[1]
    share = np.bincount(position, mass)
    middle = np.cumsum(share) - 0.5 * share
    bins = np.minimum((middle * n_bins).astype(np.intp), n_bins - 1)
    bins = (np.cumsum(np.diff(bins, prepend=bins[0]) > 0))[position]  # numbered without gaps
    total, own, moment = (
        np.bincount(bins, weight * x).astype(np.float64) for x in (1.0, sample.positive, sample.score)
    )
    return moment / total, total, np.minimum(own, total)  # sums are rounded
