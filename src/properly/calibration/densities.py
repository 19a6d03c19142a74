"""Densities of two halves about a mode, and the sums from which their likelihood is maximised."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from properly.calibration.standard import Standard
from properly.probabilities import Array

# ∫ exp(-x^power/power) dx over the positive half line
_MASS = {1: 1.0, 2: float(np.sqrt(np.pi / 2.0))}


@dataclass(frozen=True)
class TwoPieceDensity:
    """A density that falls from its mode on either side, exponentially (power 1) or like a Gaussian (power 2).

    f(s) ∝ exp(-d^power/power) with d = |s - mode|/scale, where scale and power are those of the side of s. Laplace's
    densities have power 1 on both sides and the rates β = 1/left_scale and γ = 1/right_scale; Gaussian ones have
    power 2 and the standard deviations of the halves as scales.

    >>> TwoPieceDensity(mode=0.0, left_scale=1.0, right_scale=1.0, left_power=2, right_power=2).log_density(0.0)
    np.float64(-0.9189...)
    """

    mode: float
    left_scale: float
    right_scale: float
    left_power: int
    right_power: int

    def log_density(self, score: Array) -> Array:
        """ln f of every score."""
        distance = np.asarray(score, dtype=np.float64) - self.mode
        left = distance <= 0.0
        with np.errstate(over="ignore"):
            d = np.abs(distance) / np.where(left, self.left_scale, self.right_scale)
            if self.left_power == self.right_power:
                fall = d if self.left_power == 1 else 0.5 * d * d
            else:
                fall = np.where(np.where(left, self.left_power, self.right_power) == 1, d, 0.5 * d * d)
        return -np.log(_MASS[self.left_power] * self.left_scale + _MASS[self.right_power] * self.right_scale) - fall

    def derivatives(self, inside: float, at: float) -> tuple[float, float]:
        """First derivative of ln f at a point, and the second, as continued from the side where `inside` lies."""
        left = inside <= self.mode
        scale, power = (self.left_scale, self.left_power) if left else (self.right_scale, self.right_power)
        if power == 1:
            return (1.0 if left else -1.0) / scale, 0.0
        return (self.mode - at) / scale**2, -1.0 / scale**2

    def in_units_of(self, standard: Standard) -> TwoPieceDensity:
        """From standardised scores to scores."""
        unit = standard.scale or 1.0
        return replace(
            self,
            mode=standard.center + unit * self.mode,
            left_scale=unit * self.left_scale,
            right_scale=unit * self.right_scale,
        )


class SortedScores(NamedTuple):
    """The scores of a class in order, and at each of them sums of distances to all of the class.

    The sums grow by positive terms from score to score, so that nothing cancels.
    """

    score: Array
    gap: Array  # to the next score
    weight_left: Array  # of the scores up to this one
    left: Array  # Σ weight · distance to the scores on the left
    right: Array

    weight: float  # of all scores

    @classmethod
    def of(cls, score: Array, weight: Array | None) -> SortedScores:
        score, weight = in_order(score, weight)
        return cls.between(score, weight, 0, len(score) - 1)

    @classmethod
    def between(cls, score: Array, weight: Array | None, first: int, last: int) -> SortedScores:
        """Some of the scores, which are in order already; distances are to all."""
        inside = score[first : last + 1]
        if weight is None:
            total, weight_left = float(len(score)), np.arange(first + 1.0, last + 2.0)
            weight = np.broadcast_to(1.0, len(score))
        else:
            added_up = np.cumsum(weight)
            total, weight_left = float(added_up[-1]), added_up[first : last + 1]
        gap = np.diff(inside)
        left = _added_up(weight_left[:-1] * gap)
        right = _added_up(((total - weight_left[:-1]) * gap)[::-1])[::-1]
        left += weight[:first] @ (inside[0] - score[:first])
        right += weight[last + 1 :] @ (score[last + 1 :] - inside[-1])
        return cls(inside, gap, weight_left, left, right, total)

    def squares(self) -> tuple[Array, Array]:
        """Σ weight · distance² to the scores on the left, and to those on the right."""
        weight_left, gap = self.weight_left[:-1], self.gap
        left = _added_up((2.0 * self.left[:-1] + weight_left * gap) * gap)
        right = _added_up(((2.0 * self.right[1:] + (self.weight - weight_left) * gap) * gap)[::-1])[::-1]
        return left, right


def in_order(score: Array, weight: Array | None) -> tuple[Array, Array | None]:
    """Scores from small to large, and their weights."""
    if weight is None:
        return np.sort(score), None
    order = np.argsort(score, kind="stable")
    return score[order], weight[order]


def best_of_equals(x: Array, rising: bool) -> int:
    """The position of the minimum; of several, equal but for rounding, the one nearest to the other class.

    That lies to the left if `rising`. Neither rounding nor the order of the rows must decide between equals.
    """
    equals = np.flatnonzero(x <= x.min() * (1.0 + 1e-12))
    return int(equals[0] if rising else equals[-1])


def _added_up(steps: Array) -> Array:
    total = np.zeros(len(steps) + 1)
    np.cumsum(steps, out=total[1:])
    return total
