"""The link that is canonical for a loss, from its weight function."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from properly.links import Link, Logit
from properly.numeric.arrays import namespace, on_host
from properly.numeric.probabilities import Array, Probabilities, product, without_nan

if TYPE_CHECKING:
    from properly.losses.base import Loss

_WIDEST = 745.0  # log-odds at which p is the smallest float64


@dataclass(frozen=True)
class CanonicalLink(Link):
    """The link ψ(p) = ∫ ω from 1/2 to p that is canonical for a loss; inverted numerically unless the loss can do it.

    Where ω is integrable the range of the link is bounded. Beyond it p is exactly 0 or 1, and the composite continues
    along its tangent, so it stays convex on the whole line.

    Parameters
    ----------
    loss : Loss
        The loss whose canonical link it is.

    Examples
    --------
    >>> from properly.losses import SquaredLoss
    >>> SquaredLoss().canonical_link.inverse([-1.0, 0.0, 0.25])
    array([0.  , 0.5 , 0.75])
    """

    loss: Loss

    @property
    def _kinked(self) -> bool:
        return True

    def _link(self, at: Probabilities) -> Array:
        return self._difference(at) - float(self._difference(_from_log_odds(np.array(0.0))))

    def _difference(self, at: Probabilities) -> Array:
        """L₀ - L₁, whose derivative is p ω + (1-p) ω = ω."""
        at0, at1 = self.loss._losses(at)
        return at0 - at1

    def _log_odds(self, v: Array) -> Array:
        """The log-odds of p = F(v): ±∞ outside the range of the link."""
        known = self.loss._canonical_log_odds(v)
        if known is not None:
            return known
        return on_host(self._search, v, what=f"the inverse of the canonical link of {self.loss!r}")

    def _search(self, v: Array) -> Array:
        """Newton's method in the log-odds, kept inside a bracket that a table provides, for the rows not yet done."""
        grid, table = _tabulated(self)
        flat = v.ravel()
        cell = np.searchsorted(table, flat)
        result = np.where(cell == 0, -np.inf, np.inf)
        active = np.flatnonzero((cell > 0) & (cell < len(table)))
        low, high = grid[cell[active] - 1], grid[cell[active]]
        z = 0.5 * (low + high)
        for _ in range(100):
            at = _from_log_odds(z)
            excess = self._link(at) - flat[active]
            low, high = np.where(excess <= 0.0, z, low), np.where(excess >= 0.0, z, high)
            newton = z - excess / product(self.loss._weight(at), at.p * at.q)
            step = np.where((newton > low) & (newton < high), newton, 0.5 * (low + high))
            result[active] = step
            going = (np.abs(step - z) > 1e-14 * (1.0 + np.abs(z))) & (low < high)
            active, z, low, high = active[going], step[going], low[going], high[going]
            if not len(active):
                break
        return result.reshape(v.shape)

    def _probabilities(self, v: Array) -> Probabilities:
        return _from_log_odds(self._log_odds(v))

    def _pair(self, v: Array) -> tuple[Array, Array]:
        return self._probabilities(v)[:2]

    def _logs(self, v: Array) -> tuple[Array, Array]:
        return self._probabilities(v)[2:]

    def _derivative(self, v: Array) -> Array:
        xp, at = namespace(v), self._probabilities(v)
        return xp.where(xp.isinf(at.log_p) | xp.isinf(at.log_q), 0.0, 1.0 / self.loss._weight(at))

    def _hazards(self, v: Array) -> tuple[Array, Array]:
        at, slope = self._probabilities(v), self._derivative(v)
        return _ratio(slope, at.p), _ratio(slope, at.q)

    def _hazard_slopes(self, v: Array) -> tuple[Array, Array]:
        xp, z, (a, b) = namespace(v), self._log_odds(v), self._hazards(v)
        step = 1e-4
        right, left = self.loss._weight(_from_log_odds(z + step)), self.loss._weight(_from_log_odds(z - step))
        log_slope = -(xp.log(right) - xp.log(left)) / (2.0 * step) * (a + b)  # p''/p' = -d ln ω/dz dz/dv
        slope_a, slope_b = a * (log_slope - a), b * (log_slope + b)
        return without_nan(slope_a), without_nan(slope_b)

    def _antiderivatives(self, v: Array) -> tuple[Array, Array]:
        xp, at = namespace(v), self._probabilities(v)
        at0, at1 = self.loss._losses(at)
        edge = xp.where(xp.isinf(at.log_p) | xp.isinf(at.log_q), self._link(at), v)
        beyond = xp.where(xp.isfinite(edge), v - edge, 0.0)
        return at0 + xp.maximum(beyond, 0.0), at1 + xp.maximum(-beyond, 0.0)


@lru_cache(maxsize=32)
def _tabulated(link: CanonicalLink) -> tuple[Array, Array]:
    """A grid of log-odds, with the ends of the range, and its scores; strictly increasing."""
    half = np.concatenate([np.arange(0.0, 40.0, 0.05), np.geomspace(40.0, _WIDEST, 200), [np.inf]])
    grid = np.concatenate([-half[:0:-1], half])
    with np.errstate(all="ignore"):
        table = link._link(_from_log_odds(grid))
    rising = np.concatenate([[True], table[1:] > np.maximum.accumulate(table)[:-1]])
    grid, table = grid[rising], table[rising]
    finite = np.isfinite(table)
    inner = np.clip(grid, -_WIDEST, _WIDEST)  # an infinite end of the range is never reached
    return np.where(finite, inner, grid), table


def _ratio(slope: Array, p: Array) -> Array:
    xp = namespace(p)
    at_zero = xp.where(slope == 0.0, slope, np.inf)
    return xp.where(p == 0.0, at_zero, slope / p)


def _from_log_odds(z: Array) -> Probabilities:
    logit = Logit()
    p, q = logit._pair(z)
    return Probabilities(p, q, *logit._logs(z))
