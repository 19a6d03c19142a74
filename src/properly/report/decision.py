"""What the costs of wrong decisions imply: the threshold, the cost there, and what mending saves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from properly.metrics import PairedDifference, ThresholdChoice, best_threshold, paired_bootstrap, parse_costs
from properly.probabilities import Array


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
