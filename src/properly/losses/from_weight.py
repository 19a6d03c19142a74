"""Proper losses from a weight function: any one, by quadrature, or a point mass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import special as sc

from properly.inputs.options import check_finite, check_interval
from properly.links import Link
from properly.losses.base import Loss, called, central_difference, hashable, shown
from properly.numeric.arrays import namespace, on_host
from properly.numeric.limits import SMALLEST_NORMAL
from properly.numeric.probabilities import Array, Probabilities, product
from properly.numeric.quadrature import cumulated, halved_panels, integral

_OWN_WEIGHT = "a weight function of your own"
# Panels in the log-odds z, from the first of these at which ω is finite (p = 1e-304; at 1e-148 even p^-2 is a number,
# at 1e-74 so is 1e100 times as much) to the last p below 1, where q = 2^-53.
_FIRSTS, _LAST = (-700.0, -340.0, -170.0, -85.0), 53.0 * np.log(2.0)
_EDGES = np.concatenate([-np.geomspace(-_FIRSTS[0], -_FIRSTS[1], 20), -np.geomspace(-_FIRSTS[1], 40.0, 60)])
_EDGES = np.union1d(_EDGES, np.concatenate([np.arange(-39.75, 36.6, 0.25), _FIRSTS[2:], [_LAST]]))
_NEAR_ONE = (53, 40, 27, 20)  # q = 2^-k, from the first of which on ω follows a power of q, unless it is 0 there
_EVEN, _EVEN_LOG_ODDS = np.linspace(0.0, 1.0, 20_001)[1:-1], sc.expit(np.linspace(-36.0, 36.0, 2001))
_SEEN = np.union1d(_EVEN, _EVEN_LOG_ODDS)
_MOST_JUMPS = 500
_DOUBT = 1e-9  # the share of an integral that may be wrong
_LAST_BELOW_ONE = 1.0 - 2.0**-53


@dataclass(frozen=True)
class LossFromWeight(Loss):
    """The proper loss of a weight function ω that you supply; L₀ and L₁ are integrated numerically.

    ω may have jumps (a box) and singular ends (the boosting weight p^(-3/2) (1-p)^(-3/2)): panels of the integral are
    halved until they agree, and beyond p = 1e-304 and 1 - p = 1e-16 ω is continued by the power that it follows there.
    The integrals of p ω(p) near 0 and of (1-p) ω(p) near 1 must be finite: otherwise the loss is infinite. An integral
    that is not known to a billionth is an error. For Beta weights the result equals `BetaLoss` to about 1e-10.

    Mathematics: formula (1.1).

    Parameters
    ----------
    function : callable
        ω, from a NumPy array of probabilities to an array of the same shape; finite and never negative inside (0, 1).
    points : tuple of float, default ()
        Probabilities at which ω jumps or has a peak, if it could be missed otherwise, as a box narrower than 0.0001.

    Examples
    --------
    >>> import numpy as np
    >>> loss = LossFromWeight(lambda p: 1 / (p * (1 - p)))  # log loss, by quadrature
    >>> bool(np.isclose(loss.loss1(0.25), np.log(4), rtol=1e-12))
    True
    >>> box = LossFromWeight(lambda p: (p > 0.2) & (p < 0.4))
    >>> bool(np.isclose(box.loss0(0.5), (0.4**2 - 0.2**2) / 2, rtol=1e-10))
    True
    """

    function: Callable[[Array], Array]
    points: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(f"function must be callable, a weight function of p, got {self.function!r}.")
        if np.ndim(self.points) != 1:
            raise ValueError(f"points must be a sequence of probabilities, got {self.points!r}.")
        object.__setattr__(self, "points", tuple(self.points))
        for point in self.points:
            check_interval(point, "points", 0.0, 1.0)
        p = np.union1d(_SEEN, _beside(self.points))
        with np.errstate(all="ignore"):
            try:
                weight = np.asarray(self.function(p))
                if np.iscomplexobj(weight):
                    raise TypeError("its values are complex")
                weight = weight.astype(np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(f"function must take and return arrays; {self.function!r} failed: {error}") from error
            if weight.shape not in (p.shape, ()):
                raise ValueError(
                    f"function must return one weight per probability, got shape {weight.shape} for {p.shape}."
                )
            _require_weights(weight, p)
            if not weight.any():
                raise ValueError(
                    "function must not be zero everywhere, as at every p that was tried; if it is not, name a place in "
                    "points."
                )
            table = _table(self)
        if not table.below[-1] + table.above[0] >= SMALLEST_NORMAL:
            raise ValueError(
                "function must have an integral that a number can hold, got "
                f"{table.below[-1] + table.above[0]:.2g}; multiply it by a constant, or name places where it is not 0 "
                "in points."
            )

    def __hash__(self) -> int:
        return hash((hashable(self.function), self.points))

    def _at(self, p: Array) -> Array:
        inside = np.clip(p, SMALLEST_NORMAL, _LAST_BELOW_ONE)
        return called(self.function, inside)

    def _weight(self, at: Probabilities) -> Array:
        return on_host(self._at, at.p, what=_OWN_WEIGHT)

    def _losses(self, at: Probabilities) -> tuple[Array, Array]:
        return on_host(self._integrated, at.log_p, at.log_q, what=_OWN_WEIGHT)

    def _curvatures(self, link: Link, v: Array) -> tuple[Array, Array]:
        """ω is known at the doubles p only: the nearer p is to 1, the longer a step that outgrows their rounding."""
        xp, (_, q), (_, hazard) = namespace(v), link._pair(v), link._hazards(v)
        with np.errstate(all="ignore"):
            share = xp.clip((2.0**-53 / xp.clip(q, SMALLEST_NORMAL, 1.0)) ** (1.0 / 3.0), 0.0, 0.3)  # of q, in a step
            least = xp.where(xp.isfinite(v) & (q < 1e-3) & (hazard > 0.0), share / hazard, 0.0)
        return central_difference(lambda at: self._gradients(link, at), v, xp.minimum(least, 0.1 * (1.0 + xp.abs(v))))

    def _integrated(self, log_p: Array, log_q: Array) -> tuple[Array, Array]:
        table, z = _table(self), log_p - log_q
        inside = np.clip(z, table.edges[0], _LAST)
        panel = np.clip(np.searchsorted(table.edges, inside, side="right") - 1, 0, len(table.edges) - 2)
        integrand = partial(_integrand, self, table.right.power)
        below = table.below[panel] + integral(integrand, table.edges[panel], inside)[0]
        above = table.above[panel + 1] + integral(integrand, inside, table.edges[panel + 1])[1]
        below, above = table.left.beyond(table.edges[0] - z, below, above)
        above, below = table.right.beyond(z - _LAST, above, below)
        return below, above


def _require_weights(weight: Array, p: Array) -> None:
    bad = ~((weight >= 0.0) & np.isfinite(weight))
    if bad.any():
        where = np.broadcast_to(bad, p.shape).argmax()
        value = np.broadcast_to(weight, p.shape).flat[where]
        remedy = " Its partial loss may still be finite: try LossFromPartial." if value == np.inf else ""
        place = shown(p.flat[where])
        raise ValueError(f"function must be finite and never negative, got {value} at p = {place}.{remedy}")


class _End(NamedTuple):
    """Where the panels end: from there on ω is a power of p (or of q on the right)."""

    power: float
    height: float  # of the integrand of the other loss, d/dz ∫ (1-u) ω du on the left
    rest: float  # ∫ u ω du from there to 0 on the left, ∫ (1-u) ω du from there to 1 on the right
    doubt: float  # how far off the rest is, if the power itself changes

    @classmethod
    def of(cls, weight: Array, log_distance: Array, what: str, variable: str) -> _End:
        """From ω at the end and at two places before it, with logarithms of the distances to 0 or to 1."""
        _require_weights(weight, np.exp(log_distance) if variable == "p" else -np.expm1(log_distance))
        powers = [_power(weight[k : k + 2], log_distance[k : k + 2]) for k in (0, 1)]
        if not powers[0] > -2.0:
            raise ValueError(
                f"the integral of {what} must be finite for this function, which grows like {variable}^-2 or faster "
                "there: the loss is infinite."
            )
        distance = np.exp(log_distance[0])
        rest = float(weight[0] * distance**2) / (powers[0] + 2.0)
        return cls(powers[0], float(weight[0] * distance), rest, rest * abs(np.diff(powers)[0]) / (powers[0] + 2.0))

    def beyond(self, distance: Array, own: Array, other: Array) -> tuple[Array, Array]:
        """The integrals at a distance beyond the end; the one that has its end here, and the one that has not."""
        distance = np.maximum(distance, 0.0)
        rate = self.power + 1.0
        growth = distance if rate == 0.0 else -np.expm1(-rate * distance) / rate
        far = distance > 0.0
        smaller = self.rest * np.exp(-(rate + 1.0) * distance)
        return np.where(far, smaller, own), np.where(far, other + product(np.asarray(self.height), growth), other)


class _Table(NamedTuple):
    edges: Array  # of the panels, in log-odds
    below: Array  # ∫ u ω(u) du from 0 to each edge
    above: Array  # ∫ (1-u) ω(u) du from each edge to 1
    left: _End
    right: _End


def _integrand(loss: LossFromWeight, power: float, z: Array) -> Array:
    """d/dz of ∫ u ω du and of ∫ (1-u) ω du, with du = u (1-u) dz.

    ω takes u only, and 1 - u has few digits near 1: what was lost is restored by the power of 1 - u that ω follows.
    """
    u, not_u = sc.expit(z), sc.expit(-z)
    seen = 1.0 - np.clip(u, SMALLEST_NORMAL, _LAST_BELOW_ONE)
    weight = loss._at(u)
    _require_weights(weight, u)
    common = weight * np.where(u > 0.5, (not_u / seen) ** power, 1.0) * u * not_u
    return np.stack([common * u, common * not_u])


@lru_cache(maxsize=32)
def _table(loss: LossFromWeight) -> _Table:
    """The integrals up to every panel edge; cached outside the loss, which is an immutable parameter."""
    first = next((z for z in _FIRSTS if np.isfinite(loss._at(sc.expit(z)))), _FIRSTS[-1])
    near_zero = sc.expit(first + np.array([0.0, 20.0, 40.0]))
    left = _End.of(loss._at(near_zero), np.log(near_zero), "p ω(p) near 0", "p")
    right = _right_end(loss)
    points = np.append(loss.points, _jumps(loss))
    edges = np.union1d(_EDGES[first <= _EDGES], sc.logit(points))
    found = halved_panels(partial(_integrand, loss, right.power), edges, (1, -1))
    below, above = left.rest + cumulated(found.integrals[0], 1), right.rest + cumulated(found.integrals[1], -1)
    for doubt, where in (
        (found.doubt, sc.expit(found.where)),
        (left.doubt / below[-1] if left.doubt else 0.0, 0.0),
        (right.doubt / above[0] if right.doubt else 0.0, 1.0),
    ):
        if not doubt <= _DOUBT:
            raise ValueError(
                f"the integral of this function near p = {shown(where)} could not be found: it is in doubt by "
                f"{doubt:.1g} of the whole. ω must be finite inside (0, 1), and follow a power of p or "
                "1-p at its ends; where it varies fast, name the place in points."
            )
    return _Table(found.edges, below, above, left, right)


def _right_end(loss: LossFromWeight) -> _End:
    """The end at 1. A power as q^30 underflows there, and is found where it does not."""
    for k in _NEAR_ONE:
        near_one = 1.0 - 0.5 ** np.array([k, k - 8.0, k - 16.0])
        weight = loss._at(near_one)
        if np.all(weight >= SMALLEST_NORMAL):
            end = _End.of(weight, np.log1p(-near_one), "(1-p) ω(p) near 1", "(1-p)")
            return end if k == _NEAR_ONE[0] else _End(end.power, 0.0, 0.0, 0.0)
    return _End.of(weight, np.log1p(-near_one), "(1-p) ω(p) near 1", "(1-p)")._replace(height=0.0, rest=0.0, doubt=0.0)


def _jumps(loss: LossFromWeight) -> Array:
    """Probabilities between which ω changes far more than beside them: both ends of at most 500 intervals.

    An interval in which ω jumps is halved until the jump is found, however narrow a box it belongs to.
    """
    ends = []
    for p in (_EVEN, _EVEN_LOG_ODDS):
        weight = loss._at(p)
        change = np.abs(np.diff(weight))
        beside = np.minimum(np.append(change[1:], np.inf), np.append(np.inf, change[:-1]))
        jumps = np.flatnonzero(change > 4.0 * beside + _DOUBT * np.maximum(weight[1:], weight[:-1]))
        largest = jumps[np.argsort(-change[jumps], kind="stable")[:_MOST_JUMPS]]
        ends += [p[largest], p[largest + 1]]
    return np.concatenate(ends)


def _power(weight: Array, log_distance: Array) -> float:
    """The power of the distance to an end that ω follows there; 0 where ω is 0."""
    if not (weight > 0.0).all():
        return 0.0
    power = float(np.diff(np.log(weight))[0] / np.diff(log_distance)[0])
    nearest = round(2.0 * power) / 2.0
    return nearest if abs(power - nearest) < 1e-9 else power


def _beside(points: tuple[float, ...]) -> Array:
    """Probabilities on either side of points."""
    p = np.asarray(points, dtype=np.float64)
    return np.concatenate([np.nextafter(p, 0.0), np.nextafter(p, 1.0)])


@dataclass(frozen=True)
class CostWeightedLoss(Loss):
    """c if p >= c at y = 0 (a false alarm), 1 - c if p < c at y = 1 (a miss), otherwise nothing.

    A step function, which can score forecasts and split trees but has no useful gradient. Its weight function is a
    point mass at the cost. Every proper loss is a mixture of these over c, with weights ω(c).

    Mathematics: formula (1.5).

    Parameters
    ----------
    cost : float
        The cost c of a false alarm, between 0 and 1; a miss costs 1 - c, so c is also the best threshold.

    Examples
    --------
    >>> CostWeightedLoss(0.25).loss1([0.1, 0.25])
    array([0.75, 0.  ])
    """

    cost: float
    smooth: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_finite(self.cost, "cost")
        if not 0.0 < self.cost < 1.0:
            raise ValueError(f"cost must lie strictly between 0 and 1, got {self.cost}.")

    @property
    def canonical_link(self) -> Link:
        raise ValueError(
            "CostWeightedLoss is a step function and has no canonical link; use it to score or split. Fit with "
            "BetaLoss.tailored(at=cost, concentration=...) instead."
        )

    def _weight(self, at: Probabilities) -> Array:
        xp = namespace(at.p)
        return xp.where(at.p == float(self.cost), np.inf, xp.zeros_like(at.p))

    def _losses(self, at: Probabilities) -> tuple[Array, Array]:
        xp, cost = namespace(at.p), float(self.cost)
        alarm, nothing = at.p >= cost, xp.zeros_like(at.p)
        return xp.where(alarm, cost, nothing), xp.where(alarm, nothing, 1.0 - cost)
