"""Proper losses from one of their two partial losses, which determines the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import special as sc

from properly.losses.base import Loss
from properly.numeric.arrays import on_host
from properly.numeric.probabilities import Array, Probabilities, product

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_OWN_LOSS = "a partial loss of your own"
# Log-odds; beyond them a partial loss is continued by the power that it follows there. The last p is 1 - 2^-50.
_FIRST, _LAST, _APART = -340.0, 50.0 * np.log(2.0), 6.0 * np.log(2.0)
_EDGES = np.concatenate([-np.geomspace(-_FIRST, 40.0, 60), np.arange(-39.75, _LAST - 0.1, 0.25), [_LAST]])
_CHECKED = np.linspace(-13.8, 13.8, 553)  # log-odds, p from 1e-6 to 1 - 1e-6
_STEP = 1e-3  # in log-odds, of differences
_ROUNDING = 1e-9
_AGREEMENT = 1e-5  # of the two weight functions of a pair


@dataclass(frozen=True)
class LossFromPartial(Loss):
    """The proper loss with a given loss at y = 1, or at y = 0; the other one follows from it.

    The weight function is ω = -L₁'/(1-p) = L₀'/p. So L₁, which must fall in p, determines L₀ = ∫ t ω(t) dt up to p, and
    L₀, which must rise, determines L₁. The given loss is moved to 0 where its class is certain. A pair is proper only
    if both give the same ω: (1-p)^r and p^r do for r = 2 alone. The loss that follows is right to about 1e-12 of the
    one that is given: far from it, where that one hardly changes, it has fewer digits of its own.

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
    ValueError: at1 and at0 are not proper together: at p = 1.01563e-06 the weight -L₁'/(1-p) is 3, but L₀'/p is
    3.05e-06; give one of them alone.
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
            elif not _table(given[0]).power > -1.0:
                end, name = ("0", "at1") if self.at1 else ("1", "at0")
                raise ValueError(f"{name} must have a finite integral near p = {end}: the other loss is infinite.")

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


class _Side(NamedTuple):
    """A partial loss of log-odds z, turned round for y = 0 so that it falls."""

    function: Any
    sign: float
    name: str

    def raw(self, z: Array) -> Array:
        p = sc.expit(self.sign * np.asarray(z))
        return np.broadcast_to(np.asarray(self.function(p), dtype=np.float64), p.shape)

    def value(self, z: Array) -> Array:
        """0 where the class is certain."""
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
        z = _CHECKED
        try:
            value = self.raw(z)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.name} must take and return arrays of one shape: {error}") from error
        certain = 1 if self.sign > 0.0 else 0
        if not np.isfinite(self.raw(np.array(np.inf))):
            raise ValueError(f"{self.name} must be finite at p = {certain}, where its class is certain.")
        wrong = ~np.isfinite(value)
        if wrong.any():
            place = sc.expit(self.sign * z[wrong][0])
            raise ValueError(f"{self.name} must be finite inside (0, 1), got {value[wrong][0]} at p = {place:.6g}.")
        rises = np.diff(value) > _ROUNDING * (np.abs(value[1:]) + np.ptp(value))
        if rises.any():
            place, way = sc.expit(self.sign * z[1:][rises][0]), "fall" if certain else "rise"
            raise ValueError(
                f"{self.name} must {way} in p to be part of a proper loss; it does not at p = {place:.6g}."
            )
        if np.ptp(value) == 0.0:
            raise ValueError(f"{self.name} must not be constant.")


def _check_pair(one: _Side, zero: _Side) -> None:
    """Refuse two partial losses with different weight functions."""
    from_one, from_zero = one.weight(_CHECKED), zero.weight(_CHECKED)
    # Differences have no more digits than the losses themselves allow.
    p, q = sc.expit(_CHECKED), sc.expit(-_CHECKED)
    noise = 1e-12 * sum(np.ptp(side.raw(_CHECKED)) / (p * q * least) for side, least in ((one, q), (zero, p)))
    wrong = np.abs(from_one - from_zero) > _AGREEMENT * np.maximum(from_one, from_zero) + noise
    if wrong.any():
        k = int(wrong.argmax())
        raise ValueError(
            f"at1 and at0 are not proper together: at p = {p[k]:.6g} the weight -L₁'/(1-p) is {from_one[k]:.3g}, but "
            f"L₀'/p is {from_zero[k]:.3g}; give one of them alone."
        )


class _Table(NamedTuple):
    edges: Array
    total: Array  # ∫ L(s) e^s ds up to every edge
    first: float  # L at the first edge,
    power: float  # the power of e^z that it follows there,
    last_power: float  # and at the last edge


def _other(side: _Side, z: Array) -> Array:
    """∫ -e^s dL(s) up to z, by parts: -e^z L(z) + ∫ L(s) e^s ds, so that L need not be differentiated."""
    edges, total, first, power, last_power = _table(side)
    inside = np.clip(z, edges[0], edges[-1])
    panel = np.clip(np.searchsorted(edges, inside, side="right") - 1, 0, len(edges) - 2)
    found = total[panel] + _integral(side, edges[panel], inside) - np.exp(inside) * side.value(inside)
    found = np.maximum(found, 0.0)
    under, rate = np.minimum(z - edges[0], 0.0), last_power + 1.0
    below = -power / (power + 1.0) * first * np.exp((power + 1.0) * under + edges[0])
    over = np.maximum(z - edges[-1], 0.0)
    slope = np.exp(edges[-1]) * side.value(edges[-1]) * -last_power
    above = found + product(slope, over if rate == 0.0 else np.expm1(rate * over) / rate)
    return np.where(z < edges[0], below, np.where(z > edges[-1], above, found))


def _integral(side: _Side, start: Array, stop: Array) -> Array:
    half = 0.5 * (stop - start)
    z = (0.5 * (start + stop))[..., None] + half[..., None] * _NODES
    return (side.value(z) * np.exp(z) * (half[..., None] * _WEIGHTS)).sum(axis=-1)


@lru_cache(maxsize=32)
def _table(side: _Side) -> _Table:
    edges = _EDGES if side.sign > 0.0 else -_EDGES[::-1]  # p has all digits at 0, but not at 1
    first, power = float(side.value(edges[0])), _power(side, edges[0])
    rest = first * np.exp(edges[0]) / (power + 1.0) if power > -1.0 else np.inf
    total = rest + np.concatenate([[0.0], np.cumsum(_integral(side, edges[:-1], edges[1:]))])
    return _Table(edges, total, first, power, _power(side, edges[-1] - _APART))


def _power(side: _Side, z: float) -> float:
    """The power of e^z that L follows from z on."""
    here, further = side.value(np.array([z, z + _APART]))
    power = float(np.log(further / here)) / _APART if here > 0.0 and further > 0.0 else 0.0
    nearest = round(2.0 * power) / 2.0
    return nearest if abs(power - nearest) < 1e-6 else power
