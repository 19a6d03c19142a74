"""How two ways of deciding are compared on the same documents: totals, a paired sign test, a bootstrap of documents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binomtest

Array = NDArray[np.float64]
N_RESAMPLES = 2_000


@dataclass(frozen=True)
class Decisions:
    """The decisions of one method: log-odds and labels with a row for each document and a column for each class."""

    log_odds: Array
    y: NDArray[np.int64]

    @property
    def margin(self) -> Array:
        """Log-odds of the true class. Log loss and squared error both fall as it grows."""
        return np.where(self.y == 1, self.log_odds, -self.log_odds)

    @property
    def nats(self) -> Array:
        """Log loss, in nats; infinite where the true class was given probability 0."""
        return np.logaddexp(0.0, -self.margin)

    @property
    def bits(self) -> Array:
        """Log loss, in bits."""
        return self.nats / np.log(2.0)

    @property
    def squared_error(self) -> Array:
        return expit(-self.margin) ** 2

    @property
    def errors(self) -> Array:
        """1 where the more probable class is not the true one, else 0."""
        return np.where((self.log_odds > 0) == (self.y == 1), 0.0, 1.0)


@dataclass(frozen=True)
class SignTest:
    """Paired micro sign test (Yang and Liu, 1999): of the decisions on which two methods differ, how many the first
    wins; two-sided p-value of wins ~ Binomial(wins + losses, ½)."""

    wins: int
    losses: int
    p_value: float

    @classmethod
    def of(cls, first: Array, second: Array) -> SignTest:
        """Compare two arrays of losses: smaller wins."""
        wins, losses = int(np.sum(first < second)), int(np.sum(first > second))
        return cls(wins, losses, float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0)


def bootstrap_total(differences: Array) -> tuple[float, float]:
    """95 % interval of a total when whole documents (rows) are drawn with replacement; nan where losses are infinite.

    The decisions on one document are not independent, and stay together here; the sign test ignores that.
    """
    per_document = differences.sum(axis=1)
    if not np.all(np.isfinite(per_document)):
        return np.nan, np.nan
    low, high = np.quantile(times_drawn(len(per_document)) @ per_document, [0.025, 0.975])
    return float(low), float(high)


@cache
def times_drawn(n: int) -> Array:
    """How often each of n documents is drawn, a row a resample; the same for all comparisons, which pairs them."""
    return np.random.RandomState(0).multinomial(n, np.full(n, 1 / n), size=N_RESAMPLES).astype(np.float64)
