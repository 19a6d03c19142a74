"""Proper losses from a weight function: any smooth one, by quadrature, or a point mass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import special as sc

from properly.inputs.options import check_finite
from properly.links import Link
from properly.losses.base import Loss
from properly.numeric.arrays import namespace, on_host
from properly.numeric.limits import SMALLEST_NORMAL
from properly.numeric.probabilities import Array, Probabilities

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_OWN_WEIGHT = "a weight function of your own"
_LAST_BELOW_ONE = 1.0 - 2.0**-53
# Panels in the log-odds z: fine where probabilities are ordinary, widening towards p = 2e-308; z = 36.7 is q = 1e-16.
_LEFT = -np.concatenate([np.arange(0.0, 40.0, 0.25), np.geomspace(40.0, 708.0, 60)])[::-1]
_EDGES = np.concatenate([_LEFT, np.arange(0.25, 36.6, 0.25), [np.log(_LAST_BELOW_ONE) - np.log(2.0**-53)]])


class _Table(NamedTuple):
    below: Array  # ∫ u ω(u) du from 0 to each panel edge
    above: Array  # ∫ (1-u) ω(u) du from each panel edge to 1


@dataclass(frozen=True)
class LossFromWeight(Loss):
    """The proper loss of a weight function ω that you supply; L₀ and L₁ are integrated numerically.

    ω is evaluated between p = 2e-308 and p = 1 - 1e-16 and taken as constant beyond. It should be smooth, since digits
    are lost near a jump, and the integrals of p ω(p) near 0 and of (1-p) ω(p) near 1 must be finite.

    Parameters
    ----------
    function : callable
        ω, from a NumPy array of probabilities to an array of the same shape; finite and never negative inside (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> loss = LossFromWeight(lambda p: 1 / (p * (1 - p)))  # log loss, by quadrature
    >>> bool(np.isclose(loss.loss1(0.25), np.log(4), rtol=1e-12))
    True
    """

    function: Callable[[Array], Array]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(f"function must be callable, a weight function of p, got {self.function!r}.")
        p = np.union1d(np.linspace(0.0005, 0.9995, 1000), sc.expit(np.linspace(-36.0, 36.0, 200)))
        try:
            weight = np.asarray(self.function(p), dtype=np.float64)
        except TypeError as error:
            raise ValueError(f"function must take and return arrays; {self.function!r} failed: {error}") from error
        if weight.shape not in (p.shape, ()):
            raise ValueError(
                f"function must return one weight per probability, got shape {weight.shape} for {p.shape}."
            )
        bad = ~(np.isfinite(weight) & (weight >= 0.0))
        if bad.any():
            where = np.broadcast_to(bad, p.shape).argmax()
            value = np.broadcast_to(weight, p.shape)[where]
            raise ValueError(f"function must be finite and never negative, got {value} at p = {p[where]:.6g}.")
        if not weight.any():
            raise ValueError("function must not be zero everywhere.")
        for name, share in zip(("p ω(p) near 0", "(1-p) ω(p) near 1"), _outermost_shares(self), strict=True):
            if not share < 1e-6:
                raise ValueError(f"the integral of {name} must be finite for this function; the loss is infinite.")

    def _at(self, p: Array) -> Array:
        inside = np.clip(p, SMALLEST_NORMAL, _LAST_BELOW_ONE)
        return np.broadcast_to(np.asarray(self.function(inside), dtype=np.float64), inside.shape)

    def _weight(self, at: Probabilities) -> Array:
        return on_host(self._at, at.p, what=_OWN_WEIGHT)

    def _integrals(self, start: Array, stop: Array) -> tuple[Array, Array]:
        """∫ u ω du and ∫ (1-u) ω du between two log-odds, with du = u (1-u) dz."""
        half = 0.5 * (stop - start)
        z = (0.5 * (start + stop))[..., None] + half[..., None] * _NODES
        u, not_u = sc.expit(z), sc.expit(-z)
        common = self._at(u) * u * not_u * (half[..., None] * _WEIGHTS)
        return (common * u).sum(axis=-1), (common * not_u).sum(axis=-1)

    def _losses(self, at: Probabilities) -> tuple[Array, Array]:
        return on_host(self._integrated, at.log_p, at.log_q, what=_OWN_WEIGHT)

    def _integrated(self, log_p: Array, log_q: Array) -> tuple[Array, Array]:
        z = np.clip(log_p - log_q, _EDGES[0], _EDGES[-1])
        panel = np.clip(np.searchsorted(_EDGES, z, side="right") - 1, 0, len(_EDGES) - 2)
        below, _ = self._integrals(_EDGES[panel], z)
        _, above = self._integrals(z, _EDGES[panel + 1])
        table = _table(self)
        return table.below[panel] + below, table.above[panel + 1] + above


@lru_cache(maxsize=32)
def _table(loss: LossFromWeight) -> _Table:
    """The integrals up to every panel edge; cached outside the loss, which is an immutable parameter."""
    with np.errstate(all="ignore"):
        below, above = loss._integrals(_EDGES[:-1], _EDGES[1:])
    return _Table(
        np.concatenate([[0.0], np.cumsum(below)]),
        np.concatenate([np.cumsum(above[::-1])[::-1], [0.0]]),
    )


def _outermost_shares(loss: LossFromWeight) -> tuple[float, float]:
    """The shares of the outermost panels in the integrals up to p = 1/2; nearly 0 if the integrals are finite."""
    table, middle = _table(loss), int(np.searchsorted(_EDGES, 0.0))
    return _share(table.below[8], table.below[middle]), _share(table.above[-9], table.above[middle])


def _share(part: float, whole: float) -> float:
    if not np.isfinite(whole):
        return np.inf
    return float(part / whole) if whole > 0.0 else 0.0


@dataclass(frozen=True)
class CostWeightedLoss(Loss):
    """c if p >= c at y = 0 (a false alarm), 1 - c if p < c at y = 1 (a miss), otherwise nothing.

    A step function, which can score forecasts and split trees but has no useful gradient. Its weight function is a
    point mass at the cost. Every proper loss is a mixture of these over c, with weights ω(c).

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
