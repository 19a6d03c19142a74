"""Scores standardised to mean 0 and standard deviation 1, whatever their size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from properly.numeric.arrays import Array, namespace
from properly.numeric.functions import average
from properly.numeric.limits import FARTHEST


def root_mean_square(x: Array, weight: Array | None) -> float:
    """√(Σ weight x²/Σ weight) of numbers (n,), or of all numbers of rows (n, K); no square overflows or vanishes."""
    xp = namespace(x)
    largest = float(xp.max(xp.abs(x))) if x.shape[0] else 0.0
    if largest == 0.0:
        return 0.0
    squares = xp.square(x / largest)
    return largest * math.sqrt(average(squares if x.ndim == 1 else xp.mean(squares, axis=1), weight))


@dataclass(frozen=True)
class Standardizer:
    """z = (score - center)/scale: mean 0 and standard deviation 1 over the calibration data.

    Scores more than 1e100 standard deviations away count as that far. If all calibration scores are equal, every score
    becomes 0.
    """

    center: float
    scale: float

    @classmethod
    def of(cls, score: Array, weight: Array | None) -> Self:
        xp = namespace(score)
        low, high = float(xp.min(score)), float(xp.max(score))
        if low == high:
            return cls(low, 0.0)
        largest = max(abs(low), abs(high))
        unit = 1.0 if 1.0 / FARTHEST < largest < FARTHEST else largest  # squares must neither overflow nor vanish
        relative = score if unit == 1.0 else score / unit
        mean = average(relative, weight)
        deviation = relative - mean
        deviation *= deviation
        return cls(mean * unit, math.sqrt(average(deviation, weight)) * unit)

    def __call__(self, score: Array) -> Array:
        xp = namespace(score)
        if self.scale == 0.0:
            return xp.zeros_like(score)
        half = 0.5 if self.scale > 1e300 else 1.0  # the difference of the largest numbers overflows
        with np.errstate(over="ignore"):
            return xp.clip((half * score - half * self.center) / (half * self.scale), -FARTHEST, FARTHEST)
