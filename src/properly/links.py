"""Links: the two-way street between a real score v and a probability p.

Every link is a strictly increasing distribution function read backwards: ``link(p)`` gives v, ``inverse(v)`` gives p.
All of them are accurate in both tails and never clip; a tail that float64 cannot hold as p is still there as q = 1 - p
(``inverse_pair``) and in the logarithms that the losses work with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy import special as sc

from properly import special
from properly.options import choose
from properly.probabilities import Array, Probabilities, as_probabilities, as_scores, log_of_complement, unwrap

if TYPE_CHECKING:
    from properly.losses import Loss

_LARGEST = np.finfo(np.float64).max
_LOG_SMALLEST = -600.0
_ROOT_TWO = np.sqrt(2.0)
_ROOT_TWO_PI = np.sqrt(2.0 * np.pi)


class Link(ABC):
    """A strictly increasing map from probabilities to scores.

    A subclass gives the private methods below: they take float64 arrays that were checked already, and run inside
    ``np.errstate`` of the caller. With F the inverse link, p = F(v) and q = 1 - p, the *hazards* are
    a = p'/p = d ln p/dv and b = p'/q = -d ln q/dv: with them, no loss needs the product of something that overflows
    and something that underflows.
    """

    def link(self, p: ArrayLike, q: ArrayLike | None = None) -> Array:
        """The score v of the probability p; give q = 1 - p as well where p is close to 1."""
        with np.errstate(all="ignore"):
            return unwrap(self._link(as_probabilities(p, q)))

    def inverse(self, v: ArrayLike) -> Array:
        """The probability p of the score v."""
        return self.inverse_pair(v)[0]

    def inverse_pair(self, v: ArrayLike) -> tuple[Array, Array]:
        """The pair (p, 1 - p), each accurate to its own last digits."""
        with np.errstate(all="ignore"):
            p, q = self._pair(as_scores(v))
        return unwrap(p), unwrap(q)

    def inverse_derivative(self, v: ArrayLike) -> Array:
        """dp/dv at the score v; never negative."""
        with np.errstate(all="ignore"):
            return unwrap(self._derivative(as_scores(v)))

    @property
    def canonical_loss(self) -> Loss:
        """The proper loss whose composite with this link is convex with gradient p - y."""
        from properly.losses.canonical import canonical_loss

        return canonical_loss(self)

    @abstractmethod
    def _link(self, at: Probabilities) -> Array: ...

    @abstractmethod
    def _pair(self, v: Array) -> tuple[Array, Array]:
        """(p, q)."""

    @abstractmethod
    def _logs(self, v: Array) -> tuple[Array, Array]:
        """(ln p, ln q), finite long after p or q have underflowed."""

    @abstractmethod
    def _derivative(self, v: Array) -> Array:
        """p' = dp/dv."""

    @abstractmethod
    def _hazards(self, v: Array) -> tuple[Array, Array]:
        """(p'/p, p'/q)."""

    @abstractmethod
    def _hazard_slopes(self, v: Array) -> tuple[Array, Array]:
        """The derivatives in v of the two hazards."""

    @abstractmethod
    def _antiderivatives(self, v: Array) -> tuple[Array, Array]:
        """(∫ p dv from -∞ to v, ∫ q dv from v to ∞): the canonical loss at y = 0 and at y = 1."""

    def _probabilities(self, v: Array) -> Probabilities:
        return Probabilities(*self._pair(v), *self._logs(v))

    # The same at a probability: for a link whose score is a poor coordinate near the end of its support.

    def _hazards_at(self, at: Probabilities) -> tuple[Array, Array]:
        return self._hazards(self._link(at))

    def _hazard_slopes_at(self, at: Probabilities) -> tuple[Array, Array]:
        return self._hazard_slopes(self._link(at))

    def _antiderivatives_at(self, at: Probabilities) -> tuple[Array, Array]:
        return self._antiderivatives(self._link(at))

    def _weight_at(self, at: Probabilities) -> Array:
        """1/p' = dv/dp, the weight function of the canonical loss."""
        a, b = self._hazards_at(at)
        weight = np.where(at.p <= at.q, np.exp(-np.log(a) - at.log_p), np.exp(-np.log(b) - at.log_q))
        return np.where(np.isnan(weight), np.inf, weight)  # p' vanishes at both ends


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
        return sc.log_expit(v), sc.log_expit(-v)

    def _derivative(self, v: Array) -> Array:
        p, q = self._pair(v)
        return p * q

    def _hazards(self, v: Array) -> tuple[Array, Array]:
        p, q = self._pair(v)
        return q, p

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
        v = np.clip(v, -_LARGEST, _LARGEST) / _ROOT_TWO
        return mills / sc.erfcx(-v), mills / sc.erfcx(v)

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
    """v Φ(v) + φ(v) = φ(v) (1 + v Φ/φ); the bracket is about 1/v² and keeps 12 digits until φ underflows."""
    density = np.exp(-0.5 * v * v) / _ROOT_TWO_PI
    mills = np.sqrt(np.pi / 2.0) * sc.erfcx(-np.minimum(v, 0.0) / _ROOT_TWO)  # Φ(v)/φ(v) for v <= 0
    left = density * (1.0 + np.clip(v, -_LARGEST, 0.0) * mills)
    return np.where(v <= 0.0, left, v * sc.ndtr(v) + density)


@dataclass(frozen=True)
class Cauchit(Link):
    """p = 1/2 + arctan(v)/π: heavy tails, so that single surprising labels pull little.

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
        v = np.clip(v, -_LARGEST, _LARGEST)
        radius = np.hypot(1.0, v)
        return 1.0 / (radius * (radius * np.arctan2(1.0, -v))), 1.0 / (radius * (radius * np.arctan2(1.0, v)))

    def _hazard_slopes(self, v: Array) -> tuple[Array, Array]:
        v = np.clip(v, -_LARGEST, _LARGEST)
        radius = np.hypot(1.0, v)
        a, b = self._hazards(v)
        log_slope = -2.0 * (v / radius) / radius  # p''/p'
        return a * (log_slope - a), b * (log_slope + b)

    def _antiderivatives(self, v: Array) -> tuple[Array, Array]:
        # ∫ p dv diverges logarithmically at -∞: the loss has no lower bound, and is set to 0 at v = 0.
        infinite, inner = np.isinf(v), np.clip(v, -_LARGEST, _LARGEST)
        log_radius = np.log(np.hypot(1.0, inner))
        p, q = self._pair(inner)
        at0, at1 = inner * p - log_radius / np.pi, -inner * q - log_radius / np.pi
        return np.where(infinite, v, at0), np.where(infinite, -v, at1)


class _ExtremeValue(Link):
    """p = exp(-t) with t = (1 + ξv)^(-1/ξ): what `GEV` and its special case `Loglog` share."""

    @property
    @abstractmethod
    def _shape(self) -> float:
        """ξ, exactly 0 where it is too small to matter."""

    def _link(self, at: Probabilities) -> Array:
        log_t, xi = _log_minus_log(at), self._shape
        return np.expm1(-xi * log_t) / xi if xi else -log_t

    def _log_t(self, v: Array) -> Array:
        """ln t: +inf where p is 0, -inf where p is 1."""
        xi = self._shape
        if not xi:
            return -v
        scaled = xi * v
        inside = scaled > -1.0
        log_t = np.log1p(np.where(inside, scaled, 0.0)) / -xi
        return np.where(inside, log_t, np.copysign(np.inf, xi))

    def _pair(self, v: Array) -> tuple[Array, Array]:
        t = np.exp(self._log_t(v))
        return np.exp(-t), -np.expm1(-t)

    def _logs(self, v: Array) -> tuple[Array, Array]:
        log_t = self._log_t(v)
        t = np.exp(log_t)
        log_q = np.where(t < 1.0, log_t + np.log(sc.exprel(-np.minimum(t, 1.0))), np.log1p(-np.exp(-t)))
        return -t, log_q

    def _derivative(self, v: Array) -> Array:
        log_t = self._log_t(v)
        return np.where(np.isinf(log_t), 0.0, _power_times_exponential(log_t, 1.0 + self._shape))

    def _hazards(self, v: Array) -> tuple[Array, Array]:
        return self._hazards_of(self._log_t(v))

    def _hazard_slopes(self, v: Array) -> tuple[Array, Array]:
        return self._hazard_slopes_of(self._log_t(v))

    def _antiderivatives(self, v: Array) -> tuple[Array, Array]:
        return self._antiderivatives_of(self._log_t(v), v)

    def _hazards_at(self, at: Probabilities) -> tuple[Array, Array]:
        return self._hazards_of(_log_minus_log(at))

    def _hazard_slopes_at(self, at: Probabilities) -> tuple[Array, Array]:
        return self._hazard_slopes_of(_log_minus_log(at))

    def _antiderivatives_at(self, at: Probabilities) -> tuple[Array, Array]:
        return self._antiderivatives_of(_log_minus_log(at), self._link(at))

    def _weight_at(self, at: Probabilities) -> Array:
        power = 1.0 + self._shape
        log_weight = (-power * _log_minus_log(at) if power else 0.0) - at.log_p
        return np.where(np.isneginf(at.log_p), np.inf, np.exp(log_weight))

    def _hazards_of(self, log_t: Array) -> tuple[Array, Array]:
        xi, inner = self._shape, np.where(np.isinf(log_t), 0.0, log_t)
        t = np.exp(inner)
        a = np.exp((1.0 + xi) * inner)
        far_b = _power_times_exponential(inner, 1.0 + xi) / -np.expm1(-t)
        b = np.where(t < 1.0, np.exp(xi * inner) / sc.exprel(t), far_b)
        below, above = log_t == np.inf, log_t == -np.inf
        last_a = np.inf if xi > -1.0 else float(xi == -1.0)  # t^(1+ξ) at t = ∞
        last_b = np.inf if xi < 0.0 else float(xi == 0.0)  # t^ξ at t = 0
        a = np.where(below, last_a, np.where(above, 0.0, a))
        return a, np.where(above, last_b, np.where(below, 0.0, b))

    def _hazard_slopes_of(self, log_t: Array) -> tuple[Array, Array]:
        xi, outside = self._shape, np.isinf(log_t)
        inner = np.where(outside, 0.0, log_t)
        _, b = self._hazards_of(log_t)
        slope_a = -(1.0 + xi) * np.exp((1.0 + 2.0 * xi) * inner)
        slope_b = np.where(b > 0.0, b * (np.exp(xi * inner) * (_excess(np.exp(inner)) - xi)), 0.0)
        return np.where(outside, 0.0, slope_a), np.where(outside, 0.0, slope_b)

    def _antiderivatives_of(self, log_t: Array, v: Array) -> tuple[Array, Array]:
        xi, t = self._shape, np.exp(log_t)
        at0, at1 = special.gev_loss0(xi, t), special.gev_loss1(xi, t)
        if xi >= 1.0:
            at1 = np.where(log_t < _LOG_SMALLEST, self._far_loss1(log_t), at1)
            return at0, np.where(log_t > 6.0, at0 - v, at1)
        # at0 - at1 = v - constant everywhere: inside, where t overflows or underflows, and, as the tangent at the
        # edge of the support, outside it. That makes both parts convex on the whole line.
        constant = -special.gamma_minus_one_ratio(-xi)
        return (
            np.where(log_t < _LOG_SMALLEST, at1 + v - constant, at0),
            np.where(log_t > 6.0, at0 - v + constant, at1),
        )

    def _far_loss1(self, log_t: Array) -> Array:
        """The loss at y = 1 for ξ >= 1 where t underflows: there its derivative in t is t^-ξ to the last digit."""
        power, beyond = 1.0 - self._shape, log_t - _LOG_SMALLEST
        growth = np.exp(power * _LOG_SMALLEST) * np.expm1(power * beyond) / power if power else beyond
        return special.gev_loss1(self._shape, np.exp(np.array(_LOG_SMALLEST))) + growth


def _log_minus_log(at: Probabilities) -> Array:
    """ln(-ln p); -ln p is q to the last digit where it underflows."""
    return np.where(at.log_p > -np.exp(_LOG_SMALLEST), at.log_q, np.log(-at.log_p))


def _excess(t: Array) -> Array:
    """t + t/(e^t - 1) - 1, which is t/2 + t²/12 - t⁴/720 + ... for small t."""
    small, square = np.minimum(t, 0.05), np.minimum(t, 0.05) ** 2
    series = small * (0.5 + small * (1.0 / 12.0 - square * (1.0 / 720.0 - square / 30240.0)))
    return np.where(t < 0.05, series, t - 1.0 + 1.0 / sc.exprel(t))


def _power_times_exponential(log_t: Array, power: float) -> Array:
    """t^power e^-t; 0 long before t overflows."""
    log_t = np.minimum(log_t, 700.0)
    return np.exp(power * log_t - np.exp(log_t))


@dataclass(frozen=True)
class GEV(_ExtremeValue):
    """The generalised extreme value link: p = exp(-t), t = (1 + ξv)^(-1/ξ), and t = e^-v at ξ = 0.

    With ξ > 0 p reaches 0 at the finite score -1/ξ, with ξ < 0 it reaches 1 there; outside the support p is exactly
    0 or 1. Tiny ξ is handled without loss. Reference: Wang & Dey (2010), Annals of Applied Statistics 4.

    Parameters
    ----------
    xi : float, default 0.0
        The shape ξ; any finite number.

    Examples
    --------
    >>> GEV(0.5).inverse([-2.0, 0.0])
    array([0.        , 0.36787944])
    >>> GEV(0.5).link(0.0)
    np.float64(-2.0)
    """

    xi: float = 0.0

    def __post_init__(self) -> None:
        if not np.isfinite(self.xi):
            raise ValueError(f"xi must be finite, got {self.xi}.")

    @property
    def _shape(self) -> float:
        return self.xi if abs(self.xi) > 1e-200 else 0.0


@dataclass(frozen=True)
class Loglog(_ExtremeValue):
    """Log-log: p = exp(-e^-v), the mirror image of `Cloglog` and the GEV link at ξ = 0.

    >>> Loglog().inverse(0.0)
    np.float64(0.36787944117144233)
    """

    @property
    def _shape(self) -> float:
        return 0.0


@dataclass(frozen=True)
class Cloglog(Link):
    """Complementary log-log: p = 1 - exp(-e^v), a proportional-hazards model in grouped time.

    It is `Loglog` with the classes exchanged, and is computed so.

    >>> Cloglog().inverse(-40.0)
    np.float64(4.248354255291589e-18)
    """

    def _link(self, at: Probabilities) -> Array:
        return -_LOGLOG._link(Probabilities(at.q, at.p, at.log_q, at.log_p))

    def _pair(self, v: Array) -> tuple[Array, Array]:
        return _LOGLOG._pair(-v)[::-1]

    def _logs(self, v: Array) -> tuple[Array, Array]:
        return _LOGLOG._logs(-v)[::-1]

    def _derivative(self, v: Array) -> Array:
        return _LOGLOG._derivative(-v)

    def _hazards(self, v: Array) -> tuple[Array, Array]:
        return _LOGLOG._hazards(-v)[::-1]

    def _hazard_slopes(self, v: Array) -> tuple[Array, Array]:
        slope_a, slope_b = _LOGLOG._hazard_slopes(-v)
        return -slope_b, -slope_a

    def _antiderivatives(self, v: Array) -> tuple[Array, Array]:
        return _LOGLOG._antiderivatives(-v)[::-1]


_LOGLOG = Loglog()

LINKS: dict[str, Callable[[], Link]] = {
    "logit": Logit,
    "probit": Probit,
    "cloglog": Cloglog,
    "loglog": Loglog,
    "cauchit": Cauchit,
    "gev": GEV,
}


def get_link(link: str | Link) -> Link:
    """A link from its key or the link itself.

    >>> get_link("probit")
    Probit()
    """
    return link if isinstance(link, Link) else choose(link, LINKS, "link")()
