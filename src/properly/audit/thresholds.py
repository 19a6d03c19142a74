"""What every threshold would do, and what the costs of wrong decisions imply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from properly.inputs.forecast import Forecast
from properly.metrics import PairedDifference, ThresholdChoice
from properly.metrics.decisions import best_threshold_of
from properly.metrics.paired import bootstrap_of
from properly.numeric.probabilities import Array

MOST_THRESHOLDS = 1_000
# Thresholds that people name: 0.0001, 0.0002, ..., 0.001, 0.002, ..., 0.01, 0.02, ..., 0.99.
_ROUND = np.unique(np.concatenate([np.arange(1, 10) / 1e4, np.arange(1, 10) / 1e3, np.arange(1, 100) / 1e2]))


@dataclass(frozen=True)
class ThresholdTable:
    """Rows (or weight) called positive at rising thresholds, where a row is positive if p ≥ threshold.

    The first threshold calls every row positive, the last one, ∞, none.
    """

    thresholds: Array
    true_positives: Array
    false_positives: Array
    positives: float
    negatives: float

    @classmethod
    def of(cls, forecast: Forecast, wanted: Array) -> ThresholdTable:
        """At most `MOST_THRESHOLDS` thresholds, those `wanted` among them, for rows that are sorted by p.

        Round numbers are among them too. The others are spread evenly over both classes: half of a threshold's rank
        is the share of negatives below it, half the share of positives, so that a rare class has many of them as well.
        """
        p, positive = forecast.p, forecast.positive
        one = np.ones(1) if forecast.weight is None else forecast.weight
        positives_below = np.concatenate([[0.0], np.cumsum(positive * one)])
        negatives_below = np.concatenate([[0.0], np.cumsum(~positive * one)])
        positives, negatives = positives_below[-1], negatives_below[-1]
        place = np.linspace(0.0, 1.0, MOST_THRESHOLDS - 2 - len(wanted) - len(_ROUND))
        rank = 0.5 * (positives_below / (positives or 1.0) + negatives_below / (negatives or 1.0))
        spread = p[np.minimum(np.searchsorted(rank, place), len(p) - 1)]
        thresholds = np.unique(np.concatenate([[0.0], spread, wanted, _ROUND, [np.inf]]))
        below = np.searchsorted(p, thresholds, side="left")
        called = positives - positives_below[below], negatives - negatives_below[below]
        return cls(thresholds, *called, float(positives), float(negatives))

    def as_json(self) -> dict[str, Any]:
        """Plain lists for the page; the infinite threshold is None."""
        positives, negatives = _short(np.array([self.positives, self.negatives]))
        return {
            "thresholds": [*self.thresholds[:-1].tolist(), None],
            "truePositives": _short(self.true_positives),
            "falsePositives": _short(self.false_positives),
            "positives": positives,
            "negatives": negatives,
        }


def _short(counts: Array) -> list[float] | list[int]:
    """Whole numbers as such, other weights to six decimals."""
    if np.all(counts == np.rint(counts)):
        return [int(count) for count in counts]
    return [round(float(count), 6) for count in counts]


@dataclass(frozen=True)
class Decision:
    """Costs a row of deciding by the theoretical threshold, c = cost of a false positive / sum of both costs.

    `choice` compares it with the cheapest threshold of these rows; `after` is the cost with recalibrated
    probabilities, `saving` the difference with its interval, both None without them.
    """

    false_positive: float
    false_negative: float
    choice: ThresholdChoice
    after: float | None
    saving: PairedDifference | None

    @classmethod
    def of(cls, forecast: Forecast, after: Forecast | None, costs: Array, random_state: int) -> Decision:
        """Decide every row at the theoretical threshold, before and after recalibration; `costs` as `binary_costs`."""
        choice = best_threshold_of(forecast, costs)
        errors = float(costs[0, 1]), float(costs[1, 0])
        if after is None:
            return cls(*errors, choice, None, None)

        def row_costs(p: Array) -> Array:
            return costs.ravel()[2 * forecast.codes + (p >= choice.theoretical_threshold)]

        costs_after = row_costs(after.p)
        saving = bootstrap_of(row_costs(forecast.p) - costs_after, forecast.weight, random_state=random_state)
        return cls(*errors, choice, forecast.mean(costs_after), saving)

    @property
    def before(self) -> float:
        return float(self.choice.expected_cost_there)
