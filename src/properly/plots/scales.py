"""Axes for probabilities: plain, or log-odds, which spread both ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import special as sc

from properly.inputs.options import choose
from properly.numeric.probabilities import Array

_LANE = 0.05  # the place of 0 and of 1 beyond the ends of a log-odds axis, as a share of its length
_LINE, _LETTER, _GAP = 0.24, 0.09, 0.1  # inches: a line of text, a letter, and the least gap beside a number
_FLAT = 0.005  # of the height of curves: what changes less is not worth showing
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Scale(ABC):
    """Where a probability lies on an axis: between `low` and `high`, with a margin on either side."""

    low: float = 0.0
    high: float = 1.0
    margin: float = 0.01

    @classmethod
    @abstractmethod
    def of(cls, smallest: float, largest: float, lanes: bool) -> Self:
        """A scale for probabilities between these two; with `lanes` there is a place for 0 and for 1 as well."""

    @abstractmethod
    def __call__(self, p: Array) -> Array: ...

    @property
    def limits(self) -> tuple[float, float]:
        return self.low - self.margin, self.high + self.margin

    @abstractmethod
    def marks(self) -> list[tuple[float, str]]:
        """Places that may have a mark, the most important first, and what is written there."""

    def label(self, axis: Any) -> None:
        """Set limits of a matplotlib axis, and as many marks as there is room for."""
        axes, which = axis.axes, axis.axis_name
        width, height = axes.get_position().size * axes.figure.get_size_inches()
        left, right = self.limits
        inch = (right - left) / (width if which == "x" else height)
        marked: dict[float, str] = {}
        for place, text in self.marks():
            if left <= place <= right and all(
                abs(place - other) >= inch * (_LINE if which == "y" else _width(text, beside))
                for other, beside in marked.items()
            ):
                marked[place] = text
        axis.set_ticks(list(marked), list(marked.values()))
        (axes.set_xlim if which == "x" else axes.set_ylim)(left, right)


class Plain(Scale):
    """p itself."""

    @classmethod
    def of(cls, smallest: float, largest: float, lanes: bool) -> Self:
        return cls()

    def __call__(self, p: Array) -> Array:
        return p

    def marks(self) -> list[tuple[float, str]]:
        return [(mark, f"{mark:g}") for mark in (0.0, 1.0, 0.2, 0.8, 0.4, 0.6)]


@dataclass(frozen=True)
class LogOdds(Scale):
    """ln(p/(1-p)); what lies beyond `low` and `high`, such as 0 and 1, is drawn in a lane this far beyond the ends.

    Without lanes it is drawn at the end itself.
    """

    lane: float = 0.0

    @classmethod
    def of(cls, smallest: float, largest: float, lanes: bool) -> Self:
        low, high = float(sc.logit(min(smallest, 0.4))), float(sc.logit(max(largest, 0.6)))
        lane = _LANE * (high - low) if lanes else 0.0
        return cls(low, high, 1.5 * lane, lane)

    def __call__(self, p: Array) -> Array:
        v = sc.logit(p)
        return np.where(v < self.low, self.low - self.lane, np.where(v > self.high, self.high + self.lane, v))

    def marks(self) -> list[tuple[float, str]]:
        ends = [(self.low - self.lane, "0"), (self.high + self.lane, "1")] if self.lane else []
        tails = [
            (sign * float(sc.logit(10.0**power)), _written(power, upper))
            for power in range(-1, -309, -1)
            for upper, sign in ((False, 1.0), (True, -1.0))
        ]
        return [*ends, (0.0, "0.5"), *(mark for mark in tails if self.low <= mark[0] <= self.high)]


def _width(text: str, beside: str) -> float:
    """Inches from the middle of one number to the middle of its neighbour, at least."""
    return _GAP + _LETTER * (len(text) + len(beside)) / 2.0


def _written(power: int, upper: bool) -> str:
    """10^power, or 1 less that: 0.01, 0.99, 10⁻⁵, 1−10⁻⁵.

    >>> _written(-2, False), _written(-2, True), _written(-12, True)
    ('0.01', '0.99', '1−10⁻¹²')
    """
    if power >= -4:
        return f"{1.0 - 10.0**power if upper else 10.0**power:.{-power}f}"
    return f"{'1−' if upper else ''}10{str(power).translate(_SUPERSCRIPT)}"


SCALES: dict[str, type[Scale]] = {"probability": Plain, "log-odds": LogOdds}


def threshold_scale(scale: str, thresholds: Array, curves: Array) -> Scale:
    """The scale of this name for curves (n_curves, n_thresholds), without the ends where they are flat."""
    kind = choose(scale, SCALES, "scale")
    inside = (thresholds > 0.0) & (thresholds < 1.0)
    at, curves = thresholds[inside], curves[:, inside]
    if len(at) == 0:
        return kind.of(0.5, 0.5, False)
    flat = _FLAT * np.ptp(curves)
    from_left = np.abs(curves - curves[:, :1]).max(axis=0) > flat
    from_right = np.abs(curves - curves[:, -1:]).max(axis=0) > flat
    first = int(np.argmax(from_left)) if from_left.any() else 0
    last = len(at) - 1 - int(np.argmax(from_right[::-1]))
    return kind.of(float(at[first]), float(at[last]), False)
