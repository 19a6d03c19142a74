"""Links from the extreme value distributions: GEV, log-log and complementary log-log."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import partial

import numpy as np

from properly.inputs.options import check_finite
from properly.links.base import Link
from properly.numeric import special
from properly.numeric.arrays import namespace, on_host
from properly.numeric.functions import exprel
from properly.numeric.probabilities import Array, Probabilities

_LOG_SMALL = -600.0  # below this ln t the leading terms are exact; t itself underflows at -745
_SMALL = float(np.exp(_LOG_SMALL))
_GAMMA = "the incomplete gamma function"


class _ExtremeValue(Link):
    """p = exp(-t) with t = (1 + ξv)^(-1/ξ): what `GEV` and its special case `Loglog` share."""

    @property
    @abstractmethod
    def _shape(self) -> float:
        """ξ, exactly 0 where it is too small to matter."""

    def _link(self, at: Probabilities) -> Array:
        log_t, xi = _log_minus_log(at), self._shape
        return namespace(log_t).expm1(-xi * log_t) / xi if xi else -log_t

    def _coordinate(self, at: Probabilities) -> Probabilities:
        return at

    def _log_t(self, v: Array | Probabilities) -> Array:
        """ln t of scores or of probabilities: +inf where p is 0, -inf where p is 1."""
        xi = self._shape
        if isinstance(v, Probabilities):
            return _log_minus_log(v)
        if not xi:
            return -v
        xp, scaled = namespace(v), xi * v
        inside = scaled > -1.0
        log_t = xp.log1p(xp.where(inside, scaled, 0.0)) / -xi
        return xp.where(inside, log_t, math.copysign(math.inf, xi))

    def _pair(self, v: Array) -> tuple[Array, Array]:
        xp = namespace(v)
        t = xp.exp(self._log_t(v))
        return xp.exp(-t), -xp.expm1(-t)

    def _logs(self, v: Array) -> tuple[Array, Array]:
        xp, log_t = namespace(v), self._log_t(v)
        t = xp.exp(log_t)
        log_q = xp.where(t < 1.0, log_t + xp.log(exprel(-xp.minimum(t, 1.0))), xp.log1p(-xp.exp(-t)))
        return -t, log_q

    def _derivative(self, v: Array) -> Array:
        xp, log_t = namespace(v), self._log_t(v)
        return xp.where(xp.isinf(log_t), 0.0, _power_times_exponential(log_t, 1.0 + self._shape))

    def _weight_at(self, at: Probabilities) -> Array:
        xp, power = namespace(at.p), 1.0 + self._shape
        log_weight = (-power * _log_minus_log(at) if power else 0.0) - at.log_p
        return xp.where(at.log_p == -math.inf, math.inf, xp.exp(log_weight))

    def _hazards(self, v: Array | Probabilities) -> tuple[Array, Array]:
        xi, log_t = self._shape, self._log_t(v)
        xp = namespace(log_t)
        inner = xp.where(xp.isinf(log_t), 0.0, log_t)
        t = xp.exp(inner)
        a = xp.exp((1.0 + xi) * inner)
        far_b = _power_times_exponential(inner, 1.0 + xi) / -xp.expm1(-t)
        b = xp.where(t < 1.0, xp.exp(xi * inner) / exprel(t), far_b)
        below, above = log_t == math.inf, log_t == -math.inf
        last_a = math.inf if xi > -1.0 else float(xi == -1.0)  # t^(1+ξ) at t = ∞
        last_b = math.inf if xi < 0.0 else float(xi == 0.0)  # t^ξ at t = 0
        a = xp.where(below, last_a, xp.where(above, 0.0, a))
        return a, xp.where(above, last_b, xp.where(below, 0.0, b))

    def _log_hazards(self, v: Array | Probabilities) -> tuple[Array, Array]:
        xi, log_t = self._shape, self._log_t(v)
        xp = namespace(log_t)
        t = xp.exp(log_t)
        near = (xi * log_t if xi else 0.0) - xp.log(exprel(xp.minimum(t, 1.0)))
        far = (1.0 + xi) * log_t - t - xp.log(-xp.expm1(-t))
        return (1.0 + xi) * log_t, xp.where(t < 1.0, near, far)

    def _hazard_slopes(self, v: Array | Probabilities) -> tuple[Array, Array]:
        xi, log_t = self._shape, self._log_t(v)
        xp = namespace(log_t)
        outside = xp.isinf(log_t)
        inner = xp.where(outside, 0.0, log_t)
        _, b = self._hazards(v)
        slope_a = -(1.0 + xi) * xp.exp((1.0 + 2.0 * xi) * inner)
        slope_b = xp.where(b > 0.0, b * (xp.exp(xi * inner) * (_excess(xp.exp(inner)) - xi)), 0.0)
        return xp.where(outside, 0.0, slope_a), xp.where(outside, 0.0, slope_b)

    def _antiderivatives(self, v: Array | Probabilities) -> tuple[Array, Array]:
        xi, log_t = self._shape, self._log_t(v)
        xp = namespace(log_t)
        v = self._link(v) if isinstance(v, Probabilities) else v
        t = xp.exp(log_t)
        at0 = on_host(partial(special.gev_loss0, xi), t, what=_GAMMA)
        at1 = on_host(partial(special.gev_loss1, xi), t, what=_GAMMA)
        if xi >= 1.0:
            at1 = xp.where(log_t < _LOG_SMALL, self._far_loss1(log_t), at1)
            return at0, xp.where(log_t > 6.0, at0 - v, at1)
        # at0 - at1 = v - constant everywhere: inside, where t overflows or underflows, and, as the tangent at the
        # edge of the support, outside it. That makes both parts convex on the whole line.
        constant = -special.gamma_minus_one_ratio(-xi)
        return (
            xp.where(log_t < _LOG_SMALL, at1 + v - constant, at0),
            xp.where(log_t > 6.0, at0 - v + constant, at1),
        )

    def _far_loss1(self, log_t: Array) -> Array:
        """The loss at y = 1 for ξ >= 1 where t underflows: there its derivative in t is t^-ξ to the last digit."""
        power, beyond = 1.0 - self._shape, log_t - _LOG_SMALL
        growth = float(np.exp(power * _LOG_SMALL)) * namespace(log_t).expm1(power * beyond) / power if power else beyond
        return float(special.gev_loss1(self._shape, np.array(_SMALL))) + growth


def _log_minus_log(at: Probabilities) -> Array:
    """ln(-ln p); -ln p is q to the last digit where it underflows."""
    xp = namespace(at.p)
    return xp.where(at.log_p > -_SMALL, at.log_q, xp.log(-at.log_p))


def _excess(t: Array) -> Array:
    """t + t/(e^t - 1) - 1, which is t/2 + t²/12 - t⁴/720 + ... for small t."""
    xp = namespace(t)
    small, square = xp.minimum(t, 0.05), xp.minimum(t, 0.05) ** 2
    series = small * (0.5 + small * (1.0 / 12.0 - square * (1.0 / 720.0 - square / 30240.0)))
    return xp.where(t < 0.05, series, t - 1.0 + 1.0 / exprel(t))


def _power_times_exponential(log_t: Array, power: float) -> Array:
    """t^power e^-t; 0 long before t overflows."""
    xp = namespace(log_t)
    log_t = xp.minimum(log_t, 700.0)
    return xp.exp(power * log_t - xp.exp(log_t))


@dataclass(frozen=True)
class GEV(_ExtremeValue):
    """The generalised extreme value link: p = exp(-t), t = (1 + ξv)^(-1/ξ), and t = e^-v at ξ = 0.

    With ξ > 0 p reaches 0 at the finite score -1/ξ, with ξ < 0 it reaches 1 there; outside the support p is exactly
    0 or 1. Tiny ξ is handled without loss. Reference: Wang & Dey (2010), Annals of Applied Statistics 4.

    Mathematics: formula (2.1), formula (2.2).

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
        check_finite(self.xi, "xi")

    @property
    def _kinked(self) -> bool:
        return self.xi <= -1.0

    @property
    def _shape(self) -> float:
        return float(self.xi) if abs(self.xi) > 1e-200 else 0.0


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

    def _log_hazards(self, v: Array) -> tuple[Array, Array]:
        return _LOGLOG._log_hazards(-v)[::-1]

    def _hazard_slopes(self, v: Array) -> tuple[Array, Array]:
        slope_a, slope_b = _LOGLOG._hazard_slopes(-v)
        return -slope_b, -slope_a

    def _antiderivatives(self, v: Array) -> tuple[Array, Array]:
        return _LOGLOG._antiderivatives(-v)[::-1]


_LOGLOG = Loglog()
