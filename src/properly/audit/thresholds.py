"""What every threshold would do, and what the costs of wrong decisions imply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from properly.metrics import PairedDifference, ThresholdChoice, best_threshold, paired_bootstrap, parse_costs
from properly.numeric.probabilities import Array

MOST_CUTS = 1_000
# Thresholds that people name: 0.0001, 0.0002, ..., 0.001, 0.002, ..., 0.01, 0.02, ..., 0.99.
_ROUND = np.unique(np.concatenate([np.arange(1, 10) / 1e4, np.arange(1, 10) / 1e3, np.arange(1, 100) / 1e2]))


@dataclass(frozen=True)
class CutTable:
    """Rows (or weight) called positive at rising thresholds, where a row is positive if p ≥ threshold.

    The first threshold calls every row positive, the last one, ∞, none.
    """

    thresholds: Array
    true_positives: Array
    false_positives: Array
    positives: float
    negatives: float

    @classmethod
    def of(cls, p: Array, positive: NDArray[np.bool_], weight: Array | None, wanted: Array) -> CutTable:
        """At most `MOST_CUTS` cuts through rows sorted by p; those at the thresholds `wanted` are among them.

        So are round numbers. The others are spread evenly over both classes: half of a cut's place is the share of
        negatives below it, half the share of positives, so that a rare class is seen as closely as a common one.
        """
        one = np.ones(1) if weight is None else weight
        positives_below = np.concatenate([[0.0], np.cumsum(positive * one)])
        negatives_below = np.concatenate([[0.0], np.cumsum(~positive * one)])
        positives, negatives = positives_below[-1], negatives_below[-1]
        place = np.linspace(0.0, 1.0, MOST_CUTS - 2 - len(wanted) - len(_ROUND))
        rank = 0.5 * (positives_below / (positives or 1.0) + negatives_below / (negatives or 1.0))
        spread = p[np.minimum(np.searchsorted(rank, place), len(p) - 1)]
        thresholds = np.unique(np.concatenate([[0.0], spread, wanted, _ROUND, [np.inf]]))
        before = np.searchsorted(p, thresholds, side="left")
        return cls(
            thresholds,
            positives - positives_below[before],
            negatives - negatives_below[before],
            float(positives),
            float(negatives),
        )

    def as_json(self) -> dict[str, Any]:
        """Plain lists for the page; the infinite threshold is None."""
        return {
            "thresholds": [*self.thresholds[:-1].tolist(), None],
            "truePositives": _short(self.true_positives),
            "falsePositives": _short(self.false_positives),
            "positives": _short(np.array([self.positives]))[0],
            "negatives": _short(np.array([self.negatives]))[0],
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

    @property
    def before(self) -> float:
        return float(self.choice.expected_cost_there)


def decision_of(
    positive: NDArray[np.bool_],
    p: Array,
    mended: Array | None,
    costs: tuple[float, float] | str,
    weight: Array | None,
    random_state: int,
) -> Decision:
    """Decide every row at the theoretical threshold, before and after recalibration."""
    false_positive, false_negative = parse_costs(costs) if isinstance(costs, str) else map(float, costs)
    choice = best_threshold(positive, p, (false_positive, false_negative), sample_weight=weight)
    if mended is None:
        return Decision(false_positive, false_negative, choice, None, None)

    def row_costs(probability: Array) -> Array:
        called = probability >= choice.theoretical_threshold
        return np.where(called, np.where(positive, 0.0, false_positive), np.where(positive, false_negative, 0.0))

    after = row_costs(mended)
    saving = paired_bootstrap(row_costs(p), after, sample_weight=weight, random_state=random_state)
    return Decision(false_positive, false_negative, choice, float(np.average(after, weights=weight)), saving)
