"""The distribution of a classifier's scores in either class, and densities fitted to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.calibration.densities import DensityCalibration
from properly.calibration.methods import METHODS
from properly.diagnostics.results import Result
from properly.inputs.options import checked_count, choose, numbered
from properly.inputs.scores import BinarySample, read_scores
from properly.numeric.probabilities import Array

DENSITIES = {key: kind for key, kind in METHODS.items() if issubclass(kind, DensityCalibration)}
_GRID = 1001
_ROUNDING, _SMALLEST = 1e-10, 1e-290  # a narrower range has no place for bins
_LEFT_OUT = 0.001  # of the scores at either end, so that a few far away do not flatten the rest


@dataclass(frozen=True)
class ScoreDensities(Result):
    """What `score_densities` returns. The first axis of the arrays is the class.

    The frame has a row for each class and bin.

    Attributes
    ----------
    classes : array of shape (2,)
    edges : array of shape (n_bins + 1,)
        Of the bins in which scores are counted.
    observed : array of shape (2, n_bins)
        Share of the class in each bin, divided by its width.
    score : array of shape (n_points,)
        Where the densities are evaluated.
    methods : tuple of str
    fitted : array of shape (2, n_methods, n_points)
    log_likelihood : array of shape (2, n_methods)
        Mean logarithm of the density over the scores of the class; the larger the better the fit.
    """

    classes: NDArray[Any]
    edges: Array
    observed: Array
    score: Array
    methods: tuple[str, ...]
    fitted: Array
    log_likelihood: Array
    _drawn_by: ClassVar[str] = "draw_score_densities"

    def _columns(self) -> dict[str, Any]:
        begin, end = self.edges[:-1], self.edges[1:]
        centre = 0.5 * end + 0.5 * begin
        columns = {"class": np.repeat(self.classes, len(begin)), "from": np.tile(begin, 2), "to": np.tile(end, 2)}
        columns["observed"] = self.observed.ravel()
        for k, name in enumerate(self.methods):
            columns[name] = np.concatenate([np.interp(centre, self.score, own[k]) for own in self.fitted])
        return columns

    def plot(self, ax: Any = None) -> Any:
        """Draw the histogram and the fitted densities of both classes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A figure of its own if not given.
        """
        return self._draw(ax)


def score_densities(
    y: ArrayLike,
    scores: ArrayLike,
    methods: Sequence[str] = ("asymmetric_laplace", "gaussian"),
    *,
    n_bins: int = 40,
    sample_weight: ArrayLike | None = None,
) -> ScoreDensities:
    """How scores are distributed in either class, against the densities that calibration by Bayes' rule would use.

    A density calibrator is only as good as its densities. Scores of text classifiers, for example, are not normally
    distributed: between the modes of the classes, where the hard cases lie, their densities fall off more slowly than
    outside, which asymmetric densities can follow.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of two classes.
    scores : array of shape (n,)
        Real numbers, such as log-odds or margins; not probabilities, whose densities are cut off at 0 and 1.
    methods : sequence of {"gaussian", "asymmetric_gaussian", "laplace", "asymmetric_laplace", "hybrid"}
    n_bins : int, default 40
        Bins of equal width, over all but 0.1 % of the scores at either end. Densities are relative to all scores.
    sample_weight : array of shape (n,), optional

    References
    ----------
    Bennett (2003), Using asymmetric distributions to improve text classifier probability estimates, SIGIR, Figure 4.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.RandomState(0)
    >>> y = random.random_sample(4000) < 0.3
    >>> scores = np.where(y, 1.0, -2.0) + random.laplace(size=4000)
    >>> score_densities(y, scores).log_likelihood.round(2)
    array([[-1.69, -1.77],
           [-1.73, -1.82]])
    """
    checked_count(n_bins, "n_bins", 1)
    methods = (methods,) if isinstance(methods, str) else tuple(methods)
    kinds = [choose(method, DENSITIES, "method") for method in methods]
    classes, sample = read_scores(y, scores, sample_weight)
    low, high = _range(sample)
    edges, grid = np.linspace(low, high, n_bins + 1), np.linspace(low, high, _GRID)
    fits: list[Any] = [
        kind(input="score").fit(sample.score, sample.positive, sample.weight).densities_ for kind in kinds
    ]
    observed, fitted, likelihood = [], [], []
    for side in (0, 1):
        values, weight = sample.of_class(bool(side))
        total = len(values) if weight is None else weight.sum()
        observed.append(np.histogram(values, edges, weights=weight)[0] / (total * np.diff(edges)))
        fitted.append([np.exp(pair[side].log_density(grid)) for pair in fits])
        likelihood.append([np.average(pair[side].log_density(values), weights=weight) for pair in fits])
    curves = np.array(fitted).reshape(2, len(methods), _GRID)
    log_likelihood = np.array(likelihood).reshape(2, len(methods))
    return ScoreDensities(classes, edges, np.array(observed), grid, numbered(methods), curves, log_likelihood)


def _range(sample: BinarySample) -> tuple[float, float]:
    """From the lower end of one class to the upper of the other; some width about scores that cannot be told apart."""
    ends = [np.quantile(sample.of_class(side)[0], [_LEFT_OUT, 1.0 - _LEFT_OUT]) for side in (False, True)]
    low, high = float(np.min(ends)), float(np.max(ends))
    if high - low <= max(_ROUNDING * max(abs(low), abs(high)), _SMALLEST):
        margin = 0.5 * max(1.0, abs(low))
        return low - margin, high + margin
    return low, high
