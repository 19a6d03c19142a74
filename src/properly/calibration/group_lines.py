"""Straight lines on top of pooled log-odds, one for each group of rows, found together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special as sc

from properly.calibration.standard import Standard
from properly.links import Logit
from properly.probabilities import Array

# How much intercepts and slopes of groups may differ: standard deviations, in log-odds over one standard deviation of
# the pooled log-odds.
SPREADS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
CERTAIN = 1e300  # log-odds beyond stand for probabilities of 0 and 1
_MAX_ITER, _MAX_HALVINGS = 100, 30
_TOLERANCE = 1e-6  # of the log-posterior, which counts in units of 1
Indices = NDArray[np.intp]


class GroupRows(NamedTuple):
    """Pooled log-odds, whether a row is of the class, its weight and the place of its group."""

    score: Array
    positive: NDArray[np.bool_]
    weight: Array
    group: Indices


def _log_belief(spread: float) -> float:
    """Half of the belief beforehand is that groups are alike; the other values share the other half."""
    return float(np.log(0.5 if spread == 0.0 else 0.5 / (len(SPREADS) - 1)))


@dataclass(frozen=True)
class GroupLines:
    """What every group adds to pooled log-odds: intercept + slope · z; the last, 0, is for new groups."""

    standard: Standard
    intercept: Array
    slope: Array
    spread: tuple[float, float]  # of intercepts and of slopes
    share: Array

    @classmethod
    def fitted(cls, rows: GroupRows, n_groups: int) -> GroupLines:
        uncertain = np.abs(rows.score) < CERTAIN  # the others cannot be moved, and so tell nothing
        rows = GroupRows._make(column[uncertain] for column in rows)
        if not len(rows.score):
            none = np.zeros(n_groups + 1)
            return cls(Standard(0.0, 0.0), none, none, (0.0, 0.0), none[:-1])
        standard = Standard.of(rows.score, rows.weight)
        problem = _Problem(rows, standard(rows.score), n_groups)
        best = (0.0, 0.0)
        fits = {best: problem.solve(best, np.zeros((2, n_groups)))}
        while True:  # along one of the two at a time, until none gets better
            latest = best
            nearby = [best, *((spread, best[1]) for spread in SPREADS), *((best[0], spread) for spread in SPREADS)]
            for each in nearby:
                if each not in fits:
                    fits[each] = problem.solve(each, fits[latest].coef)
                latest = each
            winner = max(nearby, key=lambda each: fits[each].log_evidence + sum(map(_log_belief, each)))
            if winner == best:
                break
            best = winner
        intercept, slope = np.pad(fits[best].coef, ((0, 0), (0, 1)))
        return cls(standard, intercept, slope, best, fits[best].share)

    def log_odds(self, pooled: Array, group: Indices) -> Array:
        certain = np.abs(pooled) >= CERTAIN
        moved = pooled + self.intercept[group] + self.slope[group] * self.standard(pooled)
        return np.where(certain, np.copysign(np.inf, pooled), moved)


class _Lines(NamedTuple):
    """Intercepts and slopes (2, n_groups), ln ∫ likelihood · prior of all groups, and the groups' own shares."""

    coef: Array
    log_evidence: float
    share: Array


class _Problem(NamedTuple):
    """The lines of all groups, found at the same time.

    A coefficient is spread · u with u ~ N(0, 1), so that a spread of 0 needs no other formula.
    """

    rows: GroupRows
    z: Array
    n_groups: int

    def solve(self, spread: tuple[float, float], start: Array) -> _Lines:
        """The most probable lines by Newton's method in every group, halving steps that do not help."""
        scale = np.array(spread)[:, None]
        u = np.divide(start, scale, out=np.zeros_like(start), where=scale > 0.0)
        value = self._log_posterior(u, scale)
        for _ in range(_MAX_ITER):
            gradient, (first, both, second) = self._derivatives(u, scale)
            determinant = first * second - both**2
            step = (
                np.stack([second * gradient[0] - both * gradient[1], first * gradient[1] - both * gradient[0]])
                / determinant
            )
            gain = np.sum(gradient * step, axis=0)
            moving = gain > _TOLERANCE
            if not moving.any():
                break
            step = np.where(moving, step, 0.0)
            for _ in range(_MAX_HALVINGS):
                new = self._log_posterior(u + step, scale)
                worse = moving & ~(new >= value)
                if not worse.any():
                    break
                step = np.where(worse, 0.5 * step, step)
            if worse[moving].all():  # rounding hides what there is to gain
                break
            u, value = np.where(worse, u, u + step), np.where(worse, value, new)
        free = np.count_nonzero(scale)
        share = np.zeros(self.n_groups) if free == 0 else (2.0 - (first + second) / determinant) / free
        return _Lines(scale * u, float(np.sum(value - 0.5 * np.log(determinant))), share)

    def _log_odds(self, u: Array, scale: Array) -> Array:
        intercept, slope = scale * u
        return self.rows.score + intercept[self.rows.group] + slope[self.rows.group] * self.z

    def _log_posterior(self, u: Array, scale: Array) -> Array:
        v = self._log_odds(u, scale)
        return self._sum(sc.log_expit(np.where(self.rows.positive, v, -v))) - 0.5 * np.sum(u**2, axis=0)

    def _derivatives(self, u: Array, scale: Array) -> tuple[Array, tuple[Array, Array, Array]]:
        """The gradient, and minus the second derivatives: those of the first, of both, and of the second."""
        p, q = Logit().inverse_pair(self._log_odds(u, scale))
        error, curvature = np.where(self.rows.positive, q, -p), p * q
        gradient = scale * np.stack([self._sum(error), self._sum(error * self.z)]) - u
        a, b = scale[:, 0]
        return gradient, (
            1.0 + a * a * self._sum(curvature),
            a * b * self._sum(curvature * self.z),
            1.0 + b * b * self._sum(curvature * self.z**2),
        )

    def _sum(self, x: Array) -> Array:
        """Σ weight · x by group."""
        return np.bincount(self.rows.group, self.rows.weight * x, self.n_groups).astype(np.float64)
