"""Cost-weighted misclassification error: every proper loss is a mixture of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from properly.inputs.options import check_finite
from properly.links import Link
from properly.losses.base import Loss
from properly.numeric.probabilities import Array, Probabilities


@dataclass(frozen=True)
class CostWeightedLoss(Loss):
    """c if p >= c at y = 0 (a false alarm), 1 - c if p < c at y = 1 (a miss), otherwise nothing.

    A step function: something to score and split with, not to fit by gradient. Its weight function is a point mass
    at the cost. Every proper loss is a mixture of these over c, with weights ω(c).

    Parameters
    ----------
    cost : float
        The cost c of a false alarm, between 0 and 1; a miss costs 1 - c, so c is also the best threshold.

    Examples
    --------
    >>> CostWeightedLoss(0.25).loss1([0.1, 0.25])
    array([0.75, 0.  ])
    """

    cost: float
    smooth: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_finite(self.cost, "cost")
        if not 0.0 < self.cost < 1.0:
            raise ValueError(f"cost must lie strictly between 0 and 1, got {self.cost}.")

    @property
    def canonical_link(self) -> Link:
        raise ValueError(
            "CostWeightedLoss is a step function and has no canonical link; score or split with it, "
            "and fit with BetaLoss.tailored(at=cost, concentration=...) instead."
        )

    def _weight(self, at: Probabilities) -> Array:
        return np.where(at.p == self.cost, np.inf, 0.0)

    def _losses(self, at: Probabilities) -> tuple[Array, Array]:
        alarm = at.p >= self.cost
        return np.where(alarm, self.cost, 0.0), np.where(alarm, 0.0, 1.0 - self.cost)
