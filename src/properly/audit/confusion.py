"""Decisions among more than two classes: which are taken for which, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from properly.forecasts.several import CountedForecast
from properly.inputs.forecast import Forecast
from properly.metrics.decisions import decisions_of
from properly.numeric.probabilities import Array


@dataclass(frozen=True)
class Confusion:
    """Rows by their true class and by the class that is decided on.

    Attributes
    ----------
    counts : array of shape (K, K)
        The number of rows, or their weight, as counts[true, decision].
    costs : array of shape (K, K) or None
        cost[true, decision], if they were given: every row then gets the decision of least expected cost. Without them
        it is the most probable class.
    """

    counts: Array
    costs: Array | None = None

    @classmethod
    def of(cls, forecast: Forecast, costs: Array | None) -> Confusion:
        """Of a checked forecast of K classes, and of costs from `class_costs`.

        >>> p = np.array([[0.6, 0.3, 0.1], [0.4, 0.3, 0.3], [0.2, 0.2, 0.6]])
        >>> forecast = Forecast(np.array([0, 2, 2]), p, None, None, np.arange(3))
        >>> Confusion.of(forecast, None).counts.tolist()
        [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]]
        """
        if isinstance(forecast, CountedForecast) and forecast.decisions is not None:
            return cls(forecast.decisions, costs)
        n_classes = len(forecast.class_weight)
        decisions = forecast.p.argmax(axis=1) if costs is None else decisions_of(forecast.p, None, costs)
        counts = np.bincount(n_classes * forecast.codes + decisions, forecast.weight, n_classes**2)
        return cls(counts.reshape(n_classes, n_classes).astype(np.float64), costs)

    @property
    def precision(self) -> Array:
        """The share of the rows called by a class that belong to it, for every class; nan where there are none."""
        return self._shares(axis=0)

    @property
    def recall(self) -> Array:
        """The share of the rows of a class that are called by it, for every class; nan where there are none."""
        return self._shares(axis=1)

    def _shares(self, axis: int) -> Array:
        right, all_rows = np.diag(self.counts), self.counts.sum(axis=axis)
        return np.where(all_rows > 0.0, right / np.where(all_rows > 0.0, all_rows, 1.0), np.nan)

    @property
    def cost(self) -> float | None:
        """The mean cost of a row; None without costs."""
        return None if self.costs is None else float((self.counts * self.costs).sum() / self.counts.sum())

    @property
    def same_for_all(self) -> tuple[int, float] | None:
        """The class that is the cheapest decision if it is the same for all rows, and its mean cost."""
        if self.costs is None:
            return None
        costs = self.counts.sum(axis=1) @ self.costs / self.counts.sum()
        return int(costs.argmin()), float(costs.min())
