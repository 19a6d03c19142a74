"""Densities of two halves about a mode, and calibration by Bayes' rule with one for either class."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from properly.calibration.base import BinaryCalibrator
from properly.inputs.scores import BinarySample
from properly.numeric.arrays import Array, constant, floats, namespace
from properly.numeric.isotonic import in_order
from properly.numeric.limits import FARTHEST
from properly.numeric.scaling import Standardizer

# ∫ exp(-x^power/power) dx over the positive half line
HALF_MASS = {1: 1.0, 2: float(np.sqrt(np.pi / 2.0))}
NARROWEST = 1.0 / FARTHEST  # of scales: the square is still a number


@dataclass(frozen=True)
class TwoPieceDensity:
    """A density that falls from its mode on either side, exponentially (power 1) or like a Gaussian (power 2).

    f(s) ∝ exp(-d^power/power) with d = |s - mode|/scale, where scale and power are those of the side of s. Laplace's
    densities have power 1 on both sides and the rates β = 1/left_scale and γ = 1/right_scale; Gaussian ones have
    power 2 and the standard deviations of the halves as scales.

    Attributes
    ----------
    mode : float
        Where the two pieces meet.
    left_scale, right_scale : float
        The width on either side of the mode.
    left_power, right_power : float
        1 for a Laplace piece, 2 for a Gaussian one.

    Examples
    --------
    >>> TwoPieceDensity(mode=0.0, left_scale=1.0, right_scale=1.0, left_power=2, right_power=2).log_density(0.0)
    np.float64(-0.9189...)
    """

    mode: float
    left_scale: float
    right_scale: float
    left_power: int
    right_power: int

    def log_density(self, score: Array) -> Array:
        """ln f of every score.

        Parameters
        ----------
        score : array
            Where.
        """
        (score,) = floats(score=score)
        xp, distance = namespace(score), score - self.mode
        left = distance <= 0.0
        with np.errstate(over="ignore"):
            d = xp.abs(distance) / xp.where(left, constant(self.left_scale, score), self.right_scale)
            if self.left_power == self.right_power:
                fall = d if self.left_power == 1 else 0.5 * d * d
            else:
                fall = xp.where(left if self.left_power == 1 else ~left, d, 0.5 * d * d)
        mass = HALF_MASS[self.left_power] * self.left_scale + HALF_MASS[self.right_power] * self.right_scale
        return -float(np.log(mass)) - fall

    def derivatives(self, inside: float, at: float) -> tuple[float, float]:
        """First derivative of ln f at a point, and the second, as continued from the side where `inside` lies.

        Parameters
        ----------
        inside : bool
            On which side.
        at : array
            Where.
        """
        left = inside <= self.mode
        scale, power = (self.left_scale, self.left_power) if left else (self.right_scale, self.right_power)
        if power == 1:
            return (1.0 if left else -1.0) / scale, 0.0
        return (self.mode - at) / scale**2, -1.0 / scale**2

    def in_units_of(self, standardizer: Standardizer) -> TwoPieceDensity:
        """From standardised scores to scores.

        Parameters
        ----------
        standardizer : Standardizer
            The scale of the scores.
        """
        unit = standardizer.scale or 1.0
        mode, left, right = standardizer.center + unit * self.mode, unit * self.left_scale, unit * self.right_scale
        return replace(self, mode=mode, left_scale=left, right_scale=right)

    def at_least(self, smallest: float) -> TwoPieceDensity:
        """With scales that are not smaller than this.

        Parameters
        ----------
        smallest : float
            The least width of either side.
        """
        left, right = max(self.left_scale, smallest), max(self.right_scale, smallest)
        return replace(self, left_scale=left, right_scale=right)


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


def _added_up(steps: Array) -> Array:
    total = np.zeros(len(steps) + 1)
    np.cumsum(steps, out=total[1:])
    return total


_MOST_LOG_ODDS = 1e300  # finite, and so are sums of a few
_ROUNDING = 1e-12  # relative differences below this are none


@dataclass(frozen=True)
class DensityMap:
    """ln(p/q) = ln(π₊/π₋) + ln f₊ - ln f₋; the densities are those of standardised scores."""

    standardize: Standardizer
    log_prior_odds: float
    rest: TwoPieceDensity
    own: TwoPieceDensity
    direction: int  # 1: made to rise with the score, -1: to fall, 0: as it is

    def log_odds(self, score: Array) -> Array:
        z = self.standardize(score)
        return self._monotone(z) if self.direction else self._plain(z)

    def _plain(self, z: Array) -> Array:
        xp = namespace(z)
        low, high = sorted((self.rest.mode, self.own.mode))
        between = xp.clip(z, low, high)
        log_ratio = self.own.log_density(between) - self.rest.log_density(between)
        log_ratio = log_ratio + self._beyond(high, xp.maximum(z - high, 0.0), high + 1.0)
        log_ratio = log_ratio + self._beyond(low, xp.minimum(z - low, 0.0), low - 1.0)
        return self.log_prior_odds + xp.clip(log_ratio, -_MOST_LOG_ODDS, _MOST_LOG_ODDS)

    def _beyond(self, mode: float, distance: Array, inside: float) -> Array:
        """How the log-ratio changes from the outer mode on: a parabola from its derivatives there.

        Far away, the difference of the two log-densities would drown in their rounding.
        """
        slope, bend = self._derivatives(inside, mode)
        with np.errstate(over="ignore"):
            return (slope + 0.5 * bend * distance) * distance

    def _derivatives(self, inside: float, at: float) -> tuple[float, float]:
        """First derivative of the log-ratio at a point, and the second, on the side of the modes where `inside` is.

        Second derivatives that differ by rounding only are equal, and so are first ones of straight lines: otherwise
        the difference would decide all that lies far enough away.
        """
        (own, own_bend), (rest, rest_bend) = (each.derivatives(inside, at) for each in (self.own, self.rest))
        straight = own_bend == 0.0 and rest_bend == 0.0
        return _difference(own, rest) if straight else own - rest, _difference(own_bend, rest_bend)

    def _monotone(self, z: Array) -> Array:
        """Outwards from halfway between the modes, the running maximum uphill and minimum downhill.

        Between z and the middle the curve is highest or lowest at one of them, or where it turns. A falling curve
        is a rising one upside down.
        """
        xp, middle = namespace(z), 0.5 * (self.rest.mode + self.own.mode)
        at_middle = self.direction * float(self._plain(np.array(middle)))
        result = self.direction * self._plain(z)
        result = xp.where(z >= middle, xp.maximum(result, at_middle), xp.minimum(result, at_middle))
        for turn in self._turns():
            at_turn = self.direction * float(self._plain(np.array(turn)))
            if turn >= middle:
                result = xp.where(z >= turn, xp.maximum(result, at_turn), result)
            else:
                result = xp.where(z <= turn, xp.minimum(result, at_turn), result)
        return self.direction * result

    def _turns(self) -> list[float]:
        """Where the curve may turn: at the modes, and once in each of the three parts they cut."""
        low, high = sorted((self.rest.mode, self.own.mode))
        turns = [low, high]
        for begin, end in ((-np.inf, low), (low, high), (high, np.inf)):
            inside = low - 1.0 if begin == -np.inf else high + 1.0 if end == np.inf else 0.5 * (low + high)
            at = low if end == low else high
            slope, bend = self._derivatives(inside, at)
            if bend != 0.0 and begin < at - slope / bend < end:
                turns.append(at - slope / bend)
        return turns


def _difference(a: float, b: float) -> float:
    return 0.0 if abs(a - b) <= _ROUNDING * max(abs(a), abs(b)) else a - b


@dataclass(eq=False, repr=False, kw_only=True)
class DensityCalibration(BinaryCalibrator):
    """Bayes' rule with a density per class; a subclass says which one, in `_fit_density`.

    p(+|s) = π₊ f₊(s)/(π₊ f₊(s) + π₋ f₋(s)), with π_c = (N_c + 1)/(N + 2) and N_c the weight of a class.

    The scale of a half-density is at least σ/(N_c + 1), with σ the standard deviation of all scores: a class that has
    one row, or one score, thus has a narrow but finite density. If all scores are equal, the probability is π₊
    for every score.

    With ``monotone=True`` the log-odds rise with the score, or fall if the scores of the class are lower on average
    than those of the rest: high scores then mean the first of two classes.
    """

    monotone: bool = False

    @property
    def densities_(self) -> tuple[TwoPieceDensity, TwoPieceDensity] | list[tuple[TwoPieceDensity, TwoPieceDensity]]:
        """The densities of the first and the second class; for more, those of (the rest, the class) for every class."""
        pairs = [
            (each.rest.in_units_of(each.standardize), each.own.in_units_of(each.standardize)) for each in self.maps_
        ]
        return pairs[0] if len(self.classes_) == 2 else pairs

    @abstractmethod
    def _fit_density(self, score: Array, weight: Array | None, rising: bool) -> TwoPieceDensity:
        """The density of maximum likelihood; `rising` tells that most of the other class lies to the left."""

    def _fit_map(self, sample: BinarySample) -> DensityMap:
        rest_weight, own_weight = sample.class_weight
        log_prior_odds = float(np.log1p(own_weight) - np.log1p(rest_weight))
        standardize = Standardizer.of(sample.score, sample.weight)
        if standardize.scale == 0.0:
            any_density = TwoPieceDensity(0.0, 1.0, 1.0, 2, 2)
            return DensityMap(standardize, log_prior_odds, any_density, any_density, 0)
        z = sample._replace(score=standardize(sample.score))
        rest, own = z.of_class(False), z.of_class(True)
        upwards = bool(np.average(own[0], weights=own[1]) >= np.average(rest[0], weights=rest[1]))
        return DensityMap(
            standardize,
            log_prior_odds,
            self._fit_density(*rest, rising=not upwards).at_least(max(1.0 / (rest_weight + 1.0), NARROWEST)),
            self._fit_density(*own, rising=upwards).at_least(max(1.0 / (own_weight + 1.0), NARROWEST)),
            0 if not self.monotone else 1 if upwards else -1,
        )
