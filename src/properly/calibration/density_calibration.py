"""Calibration by Bayes' rule: a density for the scores of either class, and the class proportions."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from properly.calibration.base import BinaryCalibrator
from properly.calibration.densities import TwoPieceDensity
from properly.calibration.inputs import BinarySample
from properly.calibration.standard import Standard
from properly.probabilities import Array

_LARGEST = 1e300  # log-odds stay finite
_ROUNDING = 1e-12  # relative differences below this are none
_NARROWEST = 1e-100  # its square is still a number


@dataclass(frozen=True)
class DensityMap:
    """ln(p/q) = ln(π₊/π₋) + ln f₊ - ln f₋; the densities are those of standardised scores."""

    standard: Standard
    log_prior_odds: float
    rest: TwoPieceDensity
    own: TwoPieceDensity
    direction: int  # 1: made to rise with the score, -1: to fall, 0: as it is

    def log_odds(self, score: Array) -> Array:
        z = self.standard(score)
        return self._monotone(z) if self.direction else self._plain(z)

    def _plain(self, z: Array) -> Array:
        low, high = sorted((self.rest.mode, self.own.mode))
        between = np.clip(z, low, high)
        log_ratio = self.own.log_density(between) - self.rest.log_density(between)
        log_ratio = log_ratio + self._beyond(high, np.maximum(z - high, 0.0), high + 1.0)
        log_ratio = log_ratio + self._beyond(low, np.minimum(z - low, 0.0), low - 1.0)
        return self.log_prior_odds + np.clip(log_ratio, -_LARGEST, _LARGEST)

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
        middle = 0.5 * (self.rest.mode + self.own.mode)
        at_middle = self.direction * float(self._plain(np.array(middle)))
        result = self.direction * self._plain(z)
        result = np.where(z >= middle, np.maximum(result, at_middle), np.minimum(result, at_middle))
        for turn in self._turns():
            at_turn = self.direction * float(self._plain(np.array(turn)))
            if turn >= middle:
                result = np.where(z >= turn, np.maximum(result, at_turn), result)
            else:
                result = np.where(z <= turn, np.minimum(result, at_turn), result)
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


class DensityCalibration(BinaryCalibrator):
    """Bayes' rule with a density per class; a subclass says which one, in `_fit_density`.

    p(+|s) = π₊ f₊(s)/(π₊ f₊(s) + π₋ f₋(s)), with π_c = (N_c + 1)/(N + 2) and N_c the weight of a class.

    The scale of a half-density is at least σ/(N_c + 1), with σ the standard deviation of all scores: a class that has
    one row, or one score, is thus spread a little rather than being a spike of infinite height. If all scores
    are equal they tell nothing, and the probability is π₊ everywhere.

    With ``monotone=True`` the log-odds rise with the score, or fall if the scores of the class are lower on average
    than those of the rest: high scores then mean the first of two classes.
    """

    monotone: bool
    maps_: list[DensityMap]  # type: ignore[assignment]

    @property
    def densities_(self) -> tuple[TwoPieceDensity, TwoPieceDensity] | list[tuple[TwoPieceDensity, TwoPieceDensity]]:
        """The densities of the first and the second class; for more, those of (the rest, the class) for every class."""
        pairs = [(each.rest.in_units_of(each.standard), each.own.in_units_of(each.standard)) for each in self.maps_]
        return pairs[0] if len(self.classes_) == 2 else pairs

    @abstractmethod
    def _fit_density(self, score: Array, weight: Array | None, rising: bool) -> TwoPieceDensity:
        """The density of maximum likelihood; `rising` tells that most of the other class lies to the left."""

    def _fit_map(self, sample: BinarySample) -> DensityMap:
        rest_weight, own_weight = sample.class_weight
        log_prior_odds = float(np.log1p(own_weight) - np.log1p(rest_weight))
        standard = Standard.of(sample.score, sample.weight)
        if standard.scale == 0.0:
            any_density = TwoPieceDensity(0.0, 1.0, 1.0, 2, 2)
            return DensityMap(standard, log_prior_odds, any_density, any_density, 0)
        z = sample._replace(score=standard(sample.score))
        rest, own = z.of_class(False), z.of_class(True)
        upwards = bool(np.average(own[0], weights=own[1]) >= np.average(rest[0], weights=rest[1]))
        return DensityMap(
            standard,
            log_prior_odds,
            _at_least(self._fit_density(*rest, rising=not upwards), 1.0 / (rest_weight + 1.0)),
            _at_least(self._fit_density(*own, rising=upwards), 1.0 / (own_weight + 1.0)),
            0 if not self.monotone else 1 if upwards else -1,
        )


def _at_least(density: TwoPieceDensity, smallest: float) -> TwoPieceDensity:
    smallest = max(smallest, _NARROWEST)
    return TwoPieceDensity(
        density.mode,
        max(density.left_scale, smallest),
        max(density.right_scale, smallest),
        density.left_power,
        density.right_power,
    )
