"""Histogram binning: the share of positives among similar scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special as sc

from properly.calibration.base import BinaryCalibrator
from properly.inputs.options import checked_count, choose
from properly.inputs.scores import BinarySample
from properly.numeric import functions as fn
from properly.numeric.arrays import Array


@dataclass(frozen=True)
class HistogramMap:
    """Bins between `edges` (a score on an edge belongs to the upper bin), with weights by class."""

    edges: Array
    positive: Array
    negative: Array

    def log_odds(self, score: Array) -> Array:
        with np.errstate(divide="ignore"):
            return fn.entries(np.log(self.positive) - np.log(self.negative), fn.step_of(self.edges, score))


def _equal_width(sample: BinarySample, n_bins: int) -> Array:
    return np.asarray(sc.logit(np.arange(1, n_bins) / n_bins))


def _equal_mass(sample: BinarySample, n_bins: int) -> Array:
    """Halfway between neighbouring scores, where the weight first reaches 1/n_bins, 2/n_bins, ... of the total."""
    score, index = np.unique(sample.score, return_inverse=True)
    below = np.cumsum(np.bincount(index, sample.weight))
    wanted = below[-1] * np.arange(1, n_bins) / n_bins
    ends = np.unique(np.searchsorted(below, wanted * (1.0 - 1e-12)))  # rounding must not move a score on an edge
    ends = ends[ends < len(score) - 1]
    lower, upper = score[ends], score[ends + 1]
    halfway = 0.5 * lower + 0.5 * upper
    return np.where(halfway > lower, halfway, upper)  # there may be no number between neighbours


STRATEGIES: dict[str, Callable[[BinarySample, int], Array]] = {"width": _equal_width, "mass": _equal_mass}


@dataclass(eq=False, repr=False)
class HistogramBinning(BinaryCalibrator):
    """The probability of a score is the share of positives among the calibration rows of its bin.

    A bin without rows takes the share of the nearest bin that has some (the lower of two). A bin of a single class has
    a probability of exactly 0 or 1, for which the log loss of an unexpected label is infinite. All scores of a bin are
    tied.

    Parameters
    ----------
    n_bins : int, default 10
    strategy : {"mass", "width"}, default "mass"
        Bins of equal weight (fewer, if many scores are equal), or bins of equal width on the scale of probabilities.
    input : {"auto", "score", "probability"}, default "auto"
        What the scores are; see `Calibrator`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    input_ : {"score", "probability"}
    maps_ : list of `HistogramMap`, one for two classes, else one per class

    References
    ----------
    Zadrozny & Elkan (2001), Obtaining calibrated probability estimates from decision trees and naive Bayesian
    classifiers, ICML.

    Examples
    --------
    >>> p, y = [0.1, 0.2, 0.3, 0.6, 0.7, 0.9], [0, 0, 1, 0, 1, 1]
    >>> model = HistogramBinning(2, "width", input="probability").fit(p, y)
    >>> model.predict_proba([0.0, 0.49, 0.5])[:, 1].round(3)
    array([0.333, 0.333, 0.667])
    """

    n_bins: int = 10
    strategy: str = "mass"

    def _fit_map(self, sample: BinarySample) -> HistogramMap:
        edges_of = choose(self.strategy, STRATEGIES, "strategy")
        edges = edges_of(sample, checked_count(self.n_bins, "n_bins", 1))
        index = np.searchsorted(edges, sample.score, side="right")
        negative, positive = sample.totals(index, len(edges) + 1)
        bins, filled = np.arange(len(edges) + 1), np.flatnonzero(negative + positive)
        upper = np.minimum(np.searchsorted(filled, bins), len(filled) - 1)
        lower = np.maximum(np.searchsorted(filled, bins, side="right") - 1, 0)
        nearest = filled[np.where(np.abs(bins - filled[lower]) <= np.abs(filled[upper] - bins), lower, upper)]
        return HistogramMap(edges, positive[nearest], negative[nearest])
