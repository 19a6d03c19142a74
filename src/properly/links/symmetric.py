"""Links that treat the two classes alike: logit, probit and cauchit."""

from __future__ import annotations

import math
from dataclasses import dataclass

from properly.links.base import Link
from properly.numeric.arrays import namespace
from properly.numeric.functions import arccot, erfcx, log_ndtr, logit, ndtr, ndtri, ndtri_exp, radius, tan
from properly.numeric.limits import LARGEST
from properly.numeric.probabilities import Array, Probabilities, log_of_complement

_ROOT_TWO = math.sqrt(2.0)
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)


@dataclass(frozen=True)
class Logit(Link):
    """v = ln(p/q), p = 1/(1 + e^-v): the log-odds; canonical for log loss.

    >>> Logit().link(0.5), Logit().inverse(0.0)
    (np.float64(0.0), np.float64(0.5))
    >>> Logit().inverse_pair(40.0)[1]
    np.float64(4.248354255291589e-18)
    """

    def _link(self, at: Probabilities) -> Array:
        xp = namespace(at.p)
        return xp.where(at.p <= at.q, logit(at.p), -logit(at.q))

    def _pair(self, v: Array) -> tuple[Array, Array]:
        xp = namespace(v)
        small = xp.exp(-xp.abs(v))
        large = 1.0 / (1.0 + small)
        small *= large
        positive = v >= 0.0
        return xp.where(positive, large, small), xp.where(positive, small, large)

    def _logs(self, v: Array) -> tuple[Array, Array]:
        xp = namespace(v)
        log_larger = -xp.log1p(xp.exp(-xp.abs(v)))
        return xp.minimum(v, 0.0) + log_larger, xp.minimum(-v, 0.0) + log_larger

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
        xp = namespace(at.p)
        tail, log_tail = xp.minimum(at.p, at.q), xp.minimum(at.log_p, at.log_q)
        size = xp.where(tail > 1e-300, -ndtri(tail), -ndtri_exp(xp.minimum(log_tail, -600.0)))
        return xp.where(at.p <= at.q, -size, size)

    def _pair(self, v: Array) -> tuple[Array, Array]:
        return ndtr(v), ndtr(-v)

    def _logs(self, v: Array) -> tuple[Array, Array]:
        return log_ndtr(v), log_ndtr(-v)

    def _derivative(self, v: Array) -> Array:
        xp = namespace(v)
        return xp.exp(-0.5 * v * v) / _ROOT_TWO_PI

    def _hazards(self, v: Array) -> tuple[Array, Array]:
        xp = namespace(v)
        mills = math.sqrt(2.0 / math.pi)
        v = xp.clip(v, -LARGEST, LARGEST) / _ROOT_TWO
        return mills / erfcx(-v), mills / erfcx(v)

    def _log_hazards(self, v: Array) -> tuple[Array, Array]:
        xp = namespace(v)
        a, b = self._hazards(v)
        log_density = -0.5 * v * v - math.log(_ROOT_TWO_PI)  # the other of p and q is 1 where a hazard underflows
        return xp.where(a > 1e-300, xp.log(a), log_density), xp.where(b > 1e-300, xp.log(b), log_density)

    def _hazard_slopes(self, v: Array) -> tuple[Array, Array]:
        xp = namespace(v)
        v = xp.clip(v, -1e150, 1e150)  # the slopes have long reached their limits 0 and 1
        a, b = self._hazards(v)
        return -a * _positive_tail(v, a), b * _positive_tail(-v, b)

    def _antiderivatives(self, v: Array) -> tuple[Array, Array]:
        return _normal_antiderivative(v), _normal_antiderivative(-v)


def _positive_tail(v: Array, hazard: Array) -> Array:
    """v + φ/Φ(v), which tends to -1/v in the left tail; its asymptotic series replaces the difference there."""
    xp = namespace(v)
    far = xp.minimum(v, -50.0)
    square = far**-2.0
    series = -1.0 / far * (1.0 - square * (2.0 - square * (10.0 - square * (74.0 - square * 706.0))))
    return xp.where(v < -50.0, series, v + hazard)


def _normal_antiderivative(v: Array) -> Array:
    """v Φ(v) + φ(v) = φ(v) (1 + v Φ/φ); the bracket is about 1/v² and has 12 correct digits until φ underflows."""
    xp = namespace(v)
    density = xp.exp(-0.5 * v * v) / _ROOT_TWO_PI
    mills = math.sqrt(math.pi / 2.0) * erfcx(-xp.minimum(v, 0.0) / _ROOT_TWO)  # Φ(v)/φ(v) for v <= 0
    left = density * (1.0 + xp.clip(v, -LARGEST, 0.0) * mills)
    return xp.where(v <= 0.0, left, v * ndtr(v) + density)


@dataclass(frozen=True)
class Cauchit(Link):
    """p = 1/2 + arctan(v)/π: heavy tails, so that single surprising labels have little influence.

    >>> Cauchit().link(0.75)
    np.float64(1.0)
    """

    def _link(self, at: Probabilities) -> Array:
        xp = namespace(at.p)
        tail = xp.minimum(at.p, at.q)
        size = xp.where(tail < 0.25, 1.0 / tan(math.pi * tail), tan(math.pi * (0.5 - tail)))
        return xp.where(at.p <= at.q, -size, size)

    def _pair(self, v: Array) -> tuple[Array, Array]:
        return arccot(-v) / math.pi, arccot(v) / math.pi

    def _logs(self, v: Array) -> tuple[Array, Array]:
        p, q = self._pair(v)
        return log_of_complement(p, q), log_of_complement(q, p)

    def _derivative(self, v: Array) -> Array:
        return 1.0 / (math.pi * (1.0 + v * v))

    def _hazards(self, v: Array) -> tuple[Array, Array]:
        xp = namespace(v)
        v = xp.clip(v, -LARGEST, LARGEST)
        r = radius(v)
        return 1.0 / (r * (r * arccot(-v))), 1.0 / (r * (r * arccot(v)))

    def _hazard_slopes(self, v: Array) -> tuple[Array, Array]:
        xp = namespace(v)
        v = xp.clip(v, -LARGEST, LARGEST)
        r = radius(v)
        a, b = self._hazards(v)
        log_slope = -2.0 * (v / r) / r  # p''/p'
        return a * (log_slope - a), b * (log_slope + b)

    def _log_hazards_at(self, at: Probabilities) -> tuple[Array, Array]:
        xp = namespace(at.p)
        log_a, log_b = super()._log_hazards_at(at)
        # In the tails p' = π p², also where the score overflows.
        log_a = xp.where(at.log_p < -300.0, math.log(math.pi) + at.log_p, log_a)
        return log_a, xp.where(at.log_q < -300.0, math.log(math.pi) + at.log_q, log_b)

    def _antiderivatives(self, v: Array) -> tuple[Array, Array]:
        xp = namespace(v)
        # ∫ p dv diverges logarithmically at -∞: the loss has no lower bound, and is set to 0 at v = 0.
        infinite, inner = xp.isinf(v), xp.clip(v, -LARGEST, LARGEST)
        log_radius = xp.log(radius(inner))
        p, q = self._pair(inner)
        at0, at1 = inner * p - log_radius / math.pi, -inner * q - log_radius / math.pi
        return xp.where(infinite, v, at0), xp.where(infinite, -v, at1)
