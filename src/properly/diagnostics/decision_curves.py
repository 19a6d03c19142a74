"""What decisions gain, and what they cost, at every threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from properly.diagnostics.intervals import as_frame
from properly.diagnostics.murphy import shares_below
from properly.inputs.forecast import Forecast, read_named, read_thresholds
from properly.metrics.decisions import ThresholdChoice, best_threshold_of, binary_costs
from properly.metrics.thresholds import check_below_one, net_benefit_of
from properly.numeric.probabilities import Array

_THRESHOLD, _ALL = "threshold", "treat all"  # columns


@dataclass(frozen=True)
class DecisionCurve:
    """What `decision_curve` returns.

    Attributes
    ----------
    thresholds : array of shape (n_thresholds,)
    names : tuple of str
    benefits : array of shape (n_forecasters, n_thresholds)
        Net benefit, in true positives per row; the larger the better. Never to act has 0.
    treat_all : array of shape (n_thresholds,)
        Net benefit of acting on every row.
    """

    thresholds: Array
    names: tuple[str, ...]
    benefits: Array
    treat_all: Array

    def frame(self) -> Any:
        """A pandas DataFrame, one row a threshold, one column a forecaster."""
        benefits = dict(zip(self.names, self.benefits, strict=True))
        return as_frame({_THRESHOLD: self.thresholds, **benefits, _ALL: self.treat_all})

    def plot(self, ax: Any = None, *, scale: str = "probability") -> Any:
        """Draw the net benefit at every threshold, one line a forecaster.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        scale : {"probability", "log-odds"}, default "probability"
            Of the thresholds; "log-odds" for rare classes.
        """
        from properly.plots.curves import draw_decision_curve

        return draw_decision_curve(self, ax, scale=scale)


@dataclass(frozen=True)
class CostCurve:
    """What `cost_curve` returns.

    Attributes
    ----------
    thresholds : array of shape (n_thresholds,)
    names : tuple of str
    costs : array of shape (n_forecasters, n_thresholds)
        Mean cost per row of calling a row positive when p >= threshold.
    choices : tuple of `properly.metrics.ThresholdChoice`
        The cheapest threshold of each forecaster, and the one that is best in theory.
    constant : float
        The cost of the cheaper of all rows positive and none.
    """

    thresholds: Array
    names: tuple[str, ...]
    costs: Array
    choices: tuple[ThresholdChoice, ...]
    constant: float

    def frame(self) -> Any:
        """A pandas DataFrame, one row a threshold, one column a forecaster."""
        return as_frame({_THRESHOLD: self.thresholds, **dict(zip(self.names, self.costs, strict=True))})

    def plot(self, ax: Any = None, *, scale: str = "probability") -> Any:
        """Draw the cost at every threshold, one line a forecaster, with a mark at the cheapest.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        scale : {"probability", "log-odds"}, default "probability"
            Of the thresholds; "log-odds" for rare classes.
        """
        from properly.plots.curves import draw_cost_curve

        return draw_cost_curve(self, ax, scale=scale)


def decision_curve(
    y: ArrayLike,
    p: ArrayLike | Mapping[str, ArrayLike],
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    thresholds: ArrayLike | None = None,
) -> DecisionCurve:
    """Net benefit of acting when p >= c, at every threshold c, against acting always and never.

    Whoever acts from the probability c on thinks that a false alarm costs c/(1 - c) times what a hit is worth. The net
    benefit is hits less false alarms, weighted so, per row; the larger the better. A forecaster is worth using by
    those whose threshold lies where its curve is above both "treat all" and 0.

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
    forecasts = read_named(y, p, sample_weight, classes, (_THRESHOLD, _ALL))
    at = read_thresholds(thresholds, next(iter(forecasts.values())).total)
    if thresholds is None:
        at = at[at < 1.0]
    check_below_one(at)
    return decision_curve_of(forecasts, at)


def decision_curve_of(forecasts: Mapping[str, Forecast], at: Array) -> DecisionCurve:
    """`decision_curve` of checked forecasts of the same rows, at sorted thresholds below 1."""
    curves = [net_benefit_of(each, at) for each in forecasts.values()]
    return DecisionCurve(at, tuple(forecasts), np.array([each.benefits for each in curves]), curves[0].treat_all)


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
    forecasts = read_named(y, p, sample_weight, classes, (_THRESHOLD,))
    return cost_curve_of(forecasts, matrix, read_thresholds(thresholds, next(iter(forecasts.values())).total))


def cost_curve_of(forecasts: Mapping[str, Forecast], matrix: Array, at: Array) -> CostCurve:
    """`cost_curve` of checked forecasts of the same rows, costs from `binary_costs`, and sorted thresholds."""
    share = next(iter(forecasts.values())).rates
    curves, choices = [], []
    for each in forecasts.values():
        below = shares_below(each, each.p, at)
        curves.append(matrix[:, 0] @ below + matrix[:, 1] @ (share[:, None] - below))
        choices.append(best_threshold_of(each, matrix))
    return CostCurve(at, tuple(forecasts), np.array(curves), tuple(choices), float((share @ matrix).min()))
