"""Proper losses from one of their two partial losses, which determines the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import special as sc

from properly.links import Link
from properly.losses.base import Loss, called, hashable, shown
from properly.numeric.arrays import on_host
from properly.numeric.probabilities import Array, Probabilities, product
from properly.numeric.quadrature import cumulated, halved_panels, integral

_OWN_LOSS = "a partial loss of your own"
# Log-odds; beyond them a partial loss is continued by the power that it follows there. The last p is 1 - 2^-50.
_FIRST, _LAST, _APART = -340.0, 50.0 * np.log(2.0), 6.0 * np.log(2.0)
_EDGES = np.concatenate([-np.geomspace(-_FIRST, 40.0, 60), np.arange(-39.75, _LAST - 0.1, 0.25), [_LAST]])
_SEEN = np.union1d(sc.logit(np.arange(1, 20_000) / 20_000), np.linspace(_FIRST, _LAST, 4001))
_COMPARED = np.linspace(-13.8, 13.8, 553)  # log-odds, p from 1e-6 to 1 - 1e-6
_STEP = 1e-3  # in log-odds, of differences
_ROUNDING = 1e-11
_AGREEMENT = 1e-5  # of the two parts of a pair, between two log-odds
_DOUBT = 1e-9  # the share of the integral that may be wrong
_LEAST = 1e-16  # of the integral: losses that follow are differences of that order
_NARROW, _JUMP = 1e-9, 1e-6  # a panel as narrow as this, over which the loss changes by more than this share


@dataclass(frozen=True)
class LossFromPartial(Loss):
    """The proper loss with a given loss at y = 1, or at y = 0; the other one follows from it.

    The weight function is ω = -L₁'/(1-p) = L₀'/p. So L₁, which must fall in p, determines L₀ = ∫ t ω(t) dt up to p, and
    L₀, which must rise, determines L₁. The given loss is moved to 0 where its class is certain. A pair is proper only
    if both give the same ω: (1-p)^r and p^r do for r = 2 alone. The loss that follows is right to about 1e-12 of the
    one that is given: far from it, where that one hardly changes, it has fewer digits of its own.

    Mathematics: formula (1.14).

    Parameters
    ----------
    at1 : callable, optional
        L₁, from a NumPy array of probabilities to the losses at y = 1; falling, and finite at p = 1.
    at0 : callable, optional
        L₀, the losses at y = 0; rising, and finite at p = 0. If both are given, they are checked to be proper together.

    Examples
    --------
    >>> import numpy as np
    >>> loss = LossFromPartial(lambda p: -np.log(p))
    >>> bool(np.isclose(loss.loss0(0.75), np.log(4.0), rtol=1e-10))  # log loss
    True
    >>> LossFromPartial(lambda p: (1 - p) ** 3, lambda p: p**3)
    Traceback (most recent call last):
    ValueError: at1 and at0 are not proper together: at p = 0.817574 at0 should rise by 0.00323 up to 0.824914, which
    follows from at1, but rises by 0.0148; give one of them alone.
    """

    at1: Callable[[Array], Array] | None = None
    at0: Callable[[Array], Array] | None = None

    def __post_init__(self) -> None:
        given = [side for side in (_Side(self.at1, 1.0, "at1"), _Side(self.at0, -1.0, "at0")) if side.function]
        if not given:
            raise ValueError("at1 or at0 must be given: the loss at y = 1 or at y = 0, as a function of p.")
        with np.errstate(all="ignore"):
            for side in given:
                side.check()
            if len(given) == 2:
                _check_pair(*given)
            _table(given[0])

    def __hash__(self) -> int:
        return hash((hashable(self.at1), hashable(self.at0)))

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """A jump of a partial loss is a point mass of ω."""
        with np.errstate(all="ignore"):
            return not _table(self._side).jumps

    @property
    def canonical_link(self) -> Link:
        if not self.smooth:
            raise ValueError(f"{type(self).__name__} jumps, and has no canonical link; use it to score or split.")
        return super().canonical_link

    @property
    def _side(self) -> _Side:
        return _Side(self.at1, 1.0, "at1") if self.at1 is not None else _Side(self.at0, -1.0, "at0")

    def _weight(self, at: Probabilities) -> Array:
        return on_host(lambda log_p, log_q: self._side.weight(log_p - log_q), at.log_p, at.log_q, what=_OWN_LOSS)

    def _losses(self, at: Probabilities) -> tuple[Array, Array]:
        return on_host(self._integrated, at.log_p, at.log_q, what=_OWN_LOSS)

    def _integrated(self, log_p: Array, log_q: Array) -> tuple[Array, Array]:
        z = log_p - log_q
        if self.at1 is not None and self.at0 is not None:
            return _Side(self.at0, -1.0, "at0").value(-z), self._side.value(z)
        side = self._side
        own, other = side.value(side.sign * z), _other(side, side.sign * z)
        return (other, own) if side.sign > 0.0 else (own, other)


@dataclass(frozen=True)
class _Side:
    """A partial loss of log-odds z, turned round for y = 0 so that it falls."""

    function: Any
    sign: float
    name: str

    def __hash__(self) -> int:
        return hash((hashable(self.function), self.sign))

    def raw(self, z: Array) -> Array:
        return called(self.function, sc.expit(self.sign * np.asarray(z)))

    def value(self, z: Array) -> Array:
        """0 where the class is certain.

        Near p = 1 the function sees few digits of 1 - p: what was lost is restored by the power that it follows there.
        """
        z = np.asarray(z)
        if self.sign < 0.0:
            return self._excess(z)
        inside = np.minimum(z, _LAST)
        p, q = sc.expit(inside), sc.expit(-inside)
        lost = np.where(p > 0.5, np.log(q) - np.log(1.0 - p), 0.0) - np.maximum(z - _LAST, 0.0)
        return product(self._excess(inside), np.exp(-_last_power(self) * lost))

    def _excess(self, z: Array) -> Array:
        return self.raw(z) - self.raw(np.array(np.inf))

    def slope(self, z: Array) -> Array:
        """dL/dz, by differences of fourth order."""
        near, far = (self.raw(z + k * _STEP) - self.raw(z - k * _STEP) for k in (1.0, 2.0))
        return (8.0 * near - far) / (12.0 * _STEP)

    def weight(self, z: Array) -> Array:
        """ω: dL₁ = -(1-p) ω dp with dp = p (1-p) dz, and dL₀ = p ω dp."""
        z = np.clip(z, _FIRST, _LAST)
        p, q = sc.expit(z), sc.expit(-z)
        return np.maximum(-self.slope(self.sign * z), 0.0) / (p * q * (q if self.sign > 0.0 else p))

    def check(self) -> None:
        if not callable(self.function):
            raise ValueError(f"{self.name} must be callable, a loss as a function of p, got {self.function!r}.")
        z = _SEEN if self.sign > 0.0 else -_SEEN[::-1]  # p has all digits at 0, but not at 1
        try:
            value, lowest = self.raw(z), float(self.raw(np.array(np.inf)))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.name} must take and return arrays of one shape: {error}") from error
        certain = 1 if self.sign > 0.0 else 0
        if not np.isfinite(lowest):
            raise ValueError(f"{self.name} must be finite at p = {certain}, where its class is certain, got {lowest}.")
        wrong = ~np.isfinite(value)
        if wrong.any():
            place = shown(sc.expit(self.sign * z[wrong][0]))
            raise ValueError(f"{self.name} must be finite inside (0, 1), got {value[wrong][0]} at p = {place}.")
        falls = np.append(value, lowest)
        least = 1e-15 * np.ptp(value[np.abs(z) <= _COMPARED[-1]])
        rises = np.diff(falls) > _ROUNDING * (np.abs(value) + abs(lowest)) + least
        if rises.any():
            place, way = shown(sc.expit(self.sign * z[rises][0])), "fall" if certain else "rise"
            raise ValueError(f"{self.name} must {way} in p to be part of a proper loss; it does not at p = {place}.")
        if np.ptp(falls) == 0.0:
            raise ValueError(f"{self.name} must not be constant.")


def _check_pair(one: _Side, zero: _Side) -> None:
    """Refuse two partial losses of which the second is not what follows from the first."""
    at1, at0 = one.value(_COMPARED), zero.value(-_COMPARED)
    due, rise = np.diff(_other(one, _COMPARED)), np.diff(at0)
    # Differences have no more digits than the losses themselves, and what is integrated by parts.
    noise = 1e-12 * at0 + 1e-14 * np.ptp(at0) + np.exp(_COMPARED) * (1e-12 * at1 + 1e-14 * np.ptp(at1))
    excess = np.abs(due - rise) - _AGREEMENT * np.maximum(due, rise) - noise[1:] - noise[:-1]
    if np.any(excess > 0.0):
        k = int(excess.argmax())
        raise ValueError(
            f"at1 and at0 are not proper together: at p = {shown(sc.expit(_COMPARED[k]))} at0 should rise by "
            f"{due[k]:.3g} up to {shown(sc.expit(_COMPARED[k + 1]))}, which follows from at1, but rises by "
            f"{rise[k]:.3g}; give one of them alone."
        )


class _Table(NamedTuple):
    edges: Array
    total: Array  # ∫ L(s) e^s ds up to every edge
    first: float  # L at the first edge,
    power: float  # the power of e^z that it follows there,
    last_power: float  # and at the last edge
    jumps: bool  # whether L does


def _other(side: _Side, z: Array) -> Array:
    """∫ -e^s dL(s) up to z, by parts: -e^z L(z) + ∫ L(s) e^s ds, so that L need not be differentiated."""
    edges, total, first, power, last_power, _ = _table(side)
    inside = np.clip(z, edges[0], edges[-1])
    panel = np.clip(np.searchsorted(edges, inside, side="right") - 1, 0, len(edges) - 2)
    found = (
        total[panel]
        + integral(partial(_integrand, side), edges[panel], inside)[0]
        - np.exp(inside) * side.value(inside)
    )
    found = np.maximum(found, 0.0)
    under, rate = np.minimum(z - edges[0], 0.0), last_power + 1.0
    below = -power / (power + 1.0) * first * np.exp((power + 1.0) * under + edges[0])
    over = np.maximum(z - edges[-1], 0.0)
    slope = np.exp(edges[-1]) * side.value(edges[-1]) * -last_power
    above = found + product(slope, over if rate == 0.0 else np.expm1(rate * over) / rate)
    return np.where(z < edges[0], below, np.where(z > edges[-1], above, found))


def _integrand(side: _Side, z: Array) -> Array:
    return (side.value(z) * np.exp(z))[None]


@lru_cache(maxsize=32)
def _table(side: _Side) -> _Table:
    edges = _EDGES if side.sign > 0.0 else -_EDGES[::-1]
    first, power = float(side.value(edges[0])), _power(side.value, edges[0])
    end = "0" if side.sign > 0.0 else "1"
    if not power > -1.0:
        raise ValueError(f"{side.name} must have a finite integral near p = {end}: the other loss is infinite.")
    rest = first * np.exp(edges[0]) / (power + 1.0)
    integrand = partial(_integrand, side)
    found = halved_panels(integrand, edges[edges <= _COMPARED[-1]], (1,), least=_LEAST)
    # Nearer to where the class is certain, the digits of L are noise, which halving would follow.
    further = np.append(found.edges[-1], edges[edges > _COMPARED[-1]])
    total = rest + cumulated(np.append(found.integrals[0], integral(integrand, further[:-1], further[1:])[0]), 1)
    edges = np.append(found.edges, further[1:])
    changing = rest * abs(_power(side.value, edges[0] + _APART) - power) / (power + 1.0) / total[len(found.edges) - 1]
    for doubt, place in ((found.doubt, shown(sc.expit(side.sign * found.where))), (changing, end)):
        if not doubt <= _DOUBT:
            raise ValueError(
                f"the integral of {side.name} near p = {place} could not be found: it is in doubt by {doubt:.1g} of "
                "the whole. It must follow a power of p or 1-p at its ends."
            )
    value = side.value(found.edges)
    jumps = (np.diff(found.edges) < _NARROW) & (
        -np.diff(value) > _JUMP * (value[:-1] + np.abs(side.value(np.zeros(1))))
    )
    return _Table(edges, total, first, power, _last_power(side), bool(jumps.any()))


@lru_cache(maxsize=32)
def _last_power(side: _Side) -> float:
    return _power(side._excess, (_LAST if side.sign > 0.0 else -_FIRST) - _APART)


def _power(value: Callable[[Array], Array], z: float) -> float:
    """The power of e^z that a loss follows from z on."""
    here, further = value(np.array([z, z + _APART]))
    power = float(np.log(further / here)) / _APART if here > 0.0 and further > 0.0 else 0.0
    nearest = round(2.0 * power) / 2.0
    return nearest if abs(power - nearest) < 1e-6 else power
