"""Links that treat the two classes alike: logit, probit and cauchit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special as sc

from properly.links.base import Link
from properly.numeric.limits import LARGEST
from properly.numeric.probabilities import Array, Probabilities, log_of_complement

_ROOT_TWO = np.sqrt(2.0)
_ROOT_TWO_PI = np.sqrt(2.0 * np.pi)


@dataclass(frozen=True)
class Logit(Link):
    """v = ln(p/q), p = 1/(1 + e^-v): the log-odds; canonical for log loss.

    >>> Logit().link(0.5), Logit().inverse(0.0)
    (np.float64(0.0), np.float64(0.5))
    >>> Logit().inverse_pair(40.0)[1]
    np.float64(4.248354255291589e-18)
    """

    def _link(self, at: Probabilities) -> Array:
        return np.where(at.p <= at.q, sc.logit(at.p), -sc.logit(at.q))

    def _pair(self, v: Array) -> tuple[Array, Array]:
        small = np.exp(-np.abs(v))
        large = 1.0 / (1.0 + small)
        small *= large
        positive = v >= 0.0
        return np.where(positive, large, small), np.where(positive, small, large)

    def _logs(self, v: Array) -> tuple[Array, Array]:
        log_larger = -np.log1p(np.exp(-np.abs(v)))
        return np.minimum(v, 0.0) + log_larger, np.minimum(-v, 0.0) + log_larger

    def _derivative(self, v: Array) -> Array:
        p, q = self._pair(v)
        return p * q

    def _hazards(self, v: Array) -> tuple[Array, Array]:
        p, q = self._pair(v)
        return q, p

    def _log_hazards(self, v: Array) -> tuple[Array, Array]:
        return self._logs(v)[::-1]

    def _hazard_slopes(self, v: Array) -> tuple[Array, Array]:
        slope = self._derivative(v)
        return -slope, slope

    def _antiderivatives(self, v: Array) -> tuple[Array, Array]:
        log_p, log_q = self._logs(v)
        return -log_q, -log_p


@dataclass(frozen=True)
class Probit(Link):
    """p = Φ(v), the standard normal distribution function.

    >>> Probit().link(1e-300)
    np.float64(-37.0471...)
    """

    def _link(self, at: Probabilities) -> Array:
        tail, log_tail = np.minimum(at.p, at.q), np.minimum(at.log_p, at.log_q)
        size = np.where(tail > 1e-300, -sc.ndtri(tail), -sc.ndtri_exp(np.minimum(log_tail, -600.0)))
        return np.where(at.p <= at.q, -size, size)

    def _pair(self, v: Array) -> tuple[Array, Array]:
        return sc.ndtr(v), sc.ndtr(-v)

    def _logs(self, v: Array) -> tuple[Array, Array]:
        return sc.log_ndtr(v), sc.log_ndtr(-v)

    def _derivative(self, v: Array) -> Array:
        return np.exp(-0.5 * v * v) / _ROOT_TWO_PI

    def _hazards(self, v: Array) -> tuple[Array, Array]:
        mills = np.sqrt(2.0 / np.pi)
        v = np.clip(v, -LARGEST, LARGEST) / _ROOT_TWO
        return mills / sc.erfcx(-v), mills / sc.erfcx(v)

    def _log_hazards(self, v: Array) -> tuple[Array, Array]:
        a, b = self._hazards(v)
        log_density = -0.5 * v * v - np.log(_ROOT_TWO_PI)  # the other of p and q is 1 where a hazard underflows
        return np.where(a > 1e-300, np.log(a), log_density), np.where(b > 1e-300, np.log(b), log_density)

    def _hazard_slopes(self, v: Array) -> tuple[Array, Array]:
        v = np.clip(v, -1e150, 1e150)  # the slopes have long reached their limits 0 and 1
        a, b = self._hazards(v)
        return -a * _positive_tail(v, a), b * _positive_tail(-v, b)

    def _antiderivatives(self, v: Array) -> tuple[Array, Array]:
        return _normal_antiderivative(v), _normal_antiderivative(-v)


def _positive_tail(v: Array, hazard: Array) -> Array:
    """v + φ/Φ(v), which tends to -1/v in the left tail; its asymptotic series replaces the difference there."""
    far = np.minimum(v, -50.0)
    square = far**-2.0
    series = -1.0 / far * (1.0 - square * (2.0 - square * (10.0 - square * (74.0 - square * 706.0))))
    return np.where(v < -50.0, series, v + hazard)


def _normal_antiderivative(v: Array) -> Array:
    """v Φ(v) + φ(v) = φ(v) (1 + v Φ/φ); the bracket is about 1/v² and has 12 correct digits until φ underflows."""
    density = np.exp(-0.5 * v * v) / _ROOT_TWO_PI
    mills = np.sqrt(np.pi / 2.0) * sc.erfcx(-np.minimum(v, 0.0) / _ROOT_TWO)  # Φ(v)/φ(v) for v <= 0
    left = density * (1.0 + np.clip(v, -LARGEST, 0.0) * mills)
    return np.where(v <= 0.0, left, v * sc.ndtr(v) + density)


@dataclass(frozen=True)
class Cauchit(Link):
    """p = 1/2 + arctan(v)/π: heavy tails, so that single surprising labels have little influence.

    >>> Cauchit().link(0.75)
    np.float64(1.0)
    """

    def _link(self, at: Probabilities) -> Array:
        tail = np.minimum(at.p, at.q)
        size = np.where(tail < 0.25, 1.0 / np.tan(np.pi * tail), np.tan(np.pi * (0.5 - tail)))
        return np.where(at.p <= at.q, -size, size)

    def _pair(self, v: Array) -> tuple[Array, Array]:
        return np.arctan2(1.0, -v) / np.pi, np.arctan2(1.0, v) / np.pi

    def _logs(self, v: Array) -> tuple[Array, Array]:
        p, q = self._pair(v)
        return log_of_complement(p, q), log_of_complement(q, p)

    def _derivative(self, v: Array) -> Array:
        return 1.0 / (np.pi * (1.0 + v * v))

    def _hazards(self, v: Array) -> tuple[Array, Array]:
        v = np.clip(v, -LARGEST, LARGEST)
        radius = np.hypot(1.0, v)
        return 1.0 / (radius * (radius * np.arctan2(1.0, -v))), 1.0 / (radius * (radius * np.arctan2(1.0, v)))

    def _hazard_slopes(self, v: Array) -> tuple[Array, Array]:
        v = np.clip(v, -LARGEST, LARGEST)
        radius = np.hypot(1.0, v)
        a, b = self._hazards(v)
        log_slope = -2.0 * (v / radius) / radius  # p''/p'
        return a * (log_slope - a), b * (log_slope + b)

    def _log_hazards_at(self, at: Probabilities) -> tuple[Array, Array]:
        log_a, log_b = super()._log_hazards_at(at)
        # In the tails p' = π p², also where the score overflows.
        log_a = np.where(at.log_p < -300.0, np.log(np.pi) + at.log_p, log_a)
        return log_a, np.where(at.log_q < -300.0, np.log(np.pi) + at.log_q, log_b)

    def _antiderivatives(self, v: Array) -> tuple[Array, Array]:
        # ∫ p dv diverges logarithmically at -∞: the loss has no lower bound, and is set to 0 at v = 0.
        infinite, inner = np.isinf(v), np.clip(v, -LARGEST, LARGEST)
        log_radius = np.log(np.hypot(1.0, inner))
        p, q = self._pair(inner)
        at0, at1 = inner * p - log_radius / np.pi, -inner * q - log_radius / np.pi
        return np.where(infinite, v, at0), np.where(infinite, -v, at1)
