"""What decisions gain, and what they cost, at every threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from properly.diagnostics.results import THRESHOLD, ForecasterCurves
from properly.forecasts import read_named
from properly.inputs.forecast import read_thresholds
from properly.metrics.decisions import ThresholdChoice, best_threshold_of, binary_costs
from properly.metrics.thresholds import net_benefits, shares_below
from properly.numeric.probabilities import Array

_ALL = "treat all"  # a column


@dataclass(frozen=True)
class DecisionCurve(ForecasterCurves):
    """What `decision_curve` returns; the frame has a row for each threshold and a column for each forecaster.

    Attributes
    ----------
    thresholds : array of shape (n_thresholds,)
    names : tuple of str
    benefits : array of shape (n_forecasters, n_thresholds)
        Net benefit, in true positives per row; the larger the better. Never to act has 0.
    treat_all : array of shape (n_thresholds,)
        Net benefit of acting on every row.
    """

    benefits: Array
    treat_all: Array
    _drawn_by: ClassVar[str] = "draw_decision_curve"

    def _columns(self) -> dict[str, Any]:
        return self._with_names(self.benefits, **{_ALL: self.treat_all})


@dataclass(frozen=True)
class CostCurve(ForecasterCurves):
    """What `cost_curve` returns; the frame has a row for each threshold and a column for each forecaster.

    Attributes
    ----------
    thresholds : array of shape (n_thresholds,)
    names : tuple of str
    costs : array of shape (n_forecasters, n_thresholds)
        Mean cost per row of calling a row positive when p >= threshold.
    choices : tuple of `properly.metrics.ThresholdChoice`
        The cheapest threshold of each forecaster, which the picture marks, and the one that is best in theory.
    constant : float
        The cost of the cheaper of all rows positive and none.
    """

    costs: Array
    choices: tuple[ThresholdChoice, ...]
    constant: float
    _drawn_by: ClassVar[str] = "draw_cost_curve"

    def _columns(self) -> dict[str, Any]:
        return self._with_names(self.costs)


def decision_curve(
    y: ArrayLike,
    p: ArrayLike | Mapping[str, ArrayLike],
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    thresholds: ArrayLike | None = None,
) -> DecisionCurve:
    """Net benefit of acting when p >= c, at every threshold c, against acting always and never.

    It is right to act from the probability c on if a false alarm costs c/(1 - c) times what a hit is worth. The net
    benefit is the hits less the false alarms, with that weight, per row; the larger the better. A forecaster is worth
    using at the thresholds where its curve is above both "treat all" and 0.

    Parameters
    ----------
    y, p, sample_weight, classes
        As for `murphy`.
    thresholds : array in [0, 1), optional
        A thousand by default, dense towards 0 and 1.

    References
    ----------
    Vickers & Elkin (2006), Decision curve analysis, Medical Decision Making 26.

    Examples
    --------
    >>> curve = decision_curve([0, 0, 1, 1], [0.1, 0.6, 0.3, 0.8], thresholds=[0.2, 0.5])
    >>> curve.benefits
    array([[0.4375, 0.    ]])
    >>> curve.treat_all
    array([0.375, 0.   ])
    """
    forecasts = read_named(y, p, sample_weight, classes, (THRESHOLD, _ALL))
    at = read_thresholds(thresholds, forecasts)
    if thresholds is None:
        at = at[at < 1.0]
    if at[-1] >= 1.0:
        raise ValueError("thresholds of net benefit must be below 1, where a false positive would weigh infinitely.")
    negative, positive = next(iter(forecasts.values())).rates
    benefits = np.array([net_benefits(each, at) for each in forecasts.values()])
    return DecisionCurve(at, tuple(forecasts), benefits, positive - negative * (at / (1.0 - at)))


def cost_curve(
    y: ArrayLike,
    p: ArrayLike | Mapping[str, ArrayLike],
    costs: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    thresholds: ArrayLike | None = None,
) -> CostCurve:
    """Mean cost of deciding by p >= threshold, at every threshold, for given costs of errors.

    If the probabilities are right, the curve is lowest at the theoretical threshold,
    cost of a false positive/(cost of a false positive + cost of a false negative), but for chance. How much lower it
    is elsewhere tells what miscalibration costs in this use.

    Parameters
    ----------
    y, p, sample_weight, classes
        As for `murphy`.
    costs : pair (false positive, false negative), text "1:20", or matrix (2, 2) with cost[true, decision]
    thresholds : array in [0, 1], optional
        A thousand by default, dense towards 0 and 1. The cheapest thresholds are exact whatever these are.

    Examples
    --------
    >>> curve = cost_curve([0, 0, 1, 0, 1], [0.05, 0.2, 0.3, 0.4, 0.9], (1, 3), thresholds=[0.1, 0.25, 0.5])
    >>> curve.costs
    array([[0.4, 0.2, 0.6]])
    >>> curve.choices[0].threshold
    0.25
    """
    matrix = binary_costs(costs)
    forecasts = read_named(y, p, sample_weight, classes, (THRESHOLD,))
    at = read_thresholds(thresholds, forecasts)
    share = next(iter(forecasts.values())).rates
    curves, choices = [], []
    for each in forecasts.values():
        below = shares_below(each, each.p, at)
        curves.append(matrix[:, 0] @ below + matrix[:, 1] @ (share[:, None] - below))
        choices.append(best_threshold_of(each, matrix))
    return CostCurve(at, tuple(forecasts), np.array(curves), tuple(choices), float((share @ matrix).min()))
