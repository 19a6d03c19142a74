"""What every proper loss can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from properly.links import Link
from properly.losses.canonical import CanonicalLink
from properly.numeric.arrays import floats, is_boolean, namespace
from properly.numeric.probabilities import Array, Probabilities, as_probabilities, product, unwrap


class Loss(ABC):
    """A proper loss for class probabilities: the smaller the better, and the truth is the best forecast on average.

    A weight function ω(p) >= 0 defines it: L₀'(p) = p ω(p) for the loss at y = 0, L₁'(p) = -(1 - p) ω(p) at y = 1.
    ω says which probabilities matter: the loss is the average of cost-weighted errors at all thresholds c, weighted
    by ω(c). Wherever a method takes `p` it also takes `q = 1 - p`, worth giving when p is close to 1.

    A subclass defines `_weight` and `_losses`. It overrides `_gradients` and `_curvatures` where the generic product of
    ω and dp/dv would overflow in the tails, and `canonical_link` where that is a link known by name. These methods take
    checked float64 arrays of any library.
    """

    smooth: ClassVar[bool] = True
    """Whether the loss can be minimised by its gradient."""

    def weight(self, p: ArrayLike, q: ArrayLike | None = None) -> Array:
        """The weight function ω(p)."""
        with np.errstate(all="ignore"):
            return unwrap(self._weight(as_probabilities(p, q)))

    def loss0(self, p: ArrayLike, q: ArrayLike | None = None) -> Array:
        """The loss of the forecast p when y = 0; increasing in p."""
        with np.errstate(all="ignore"):
            return unwrap(self._losses(as_probabilities(p, q))[0])

    def loss1(self, p: ArrayLike, q: ArrayLike | None = None) -> Array:
        """The loss of the forecast p when y = 1; decreasing in p."""
        with np.errstate(all="ignore"):
            return unwrap(self._losses(as_probabilities(p, q))[1])

    def risk(self, eta: ArrayLike, p: ArrayLike, q: ArrayLike | None = None) -> Array:
        """The expected loss of the forecast p when the true probability is eta; smallest at p = eta."""
        eta, p, q = floats(eta=eta, p=p, q=q)
        truth = as_probabilities(eta, name="eta")
        with np.errstate(all="ignore"):
            at0, at1 = self._losses(as_probabilities(p, q))
            return unwrap(mix(truth.p, at0, at1, truth.q))

    def entropy(self, eta: ArrayLike, q: ArrayLike | None = None) -> Array:
        """The risk of forecasting the truth: concave, with second derivative -ω. Trees split by it."""
        truth = as_probabilities(eta, q, name="eta")
        with np.errstate(all="ignore"):
            return unwrap(mix(truth.p, *self._losses(truth), truth.q))

    @property
    def canonical_link(self) -> Link:
        """The link ψ with ψ' = ω, which makes the composite convex with gradient p - y; ψ(1/2) = 0 but for GEV."""
        return CanonicalLink(self)

    @abstractmethod
    def _weight(self, at: Probabilities) -> Array: ...

    @abstractmethod
    def _losses(self, at: Probabilities) -> tuple[Array, Array]:
        """(L₀, L₁)."""

    def _canonical_log_odds(self, v: Array) -> Array | None:
        """The log-odds of p at the score v of the canonical link, ±∞ outside its range; None without a formula."""
        return None

    def _gradients(self, link: Link, v: Array) -> tuple[Array, Array]:
        """The derivatives in v of (L₀, L₁) at p = F(v): (p ω p', -q ω p')."""
        at = link._probabilities(v)
        slope = product(self._weight(at), link._derivative(v))
        return at.p * slope, -at.q * slope

    def _curvatures(self, link: Link, v: Array) -> tuple[Array, Array]:
        """The second derivatives in v of (L₀, L₁), here by central differences of the gradients."""
        return central_difference(lambda at: self._gradients(link, at), v)


def central_difference(function: Callable[[Array], tuple[Array, Array]], v: Array) -> tuple[Array, Array]:
    """The derivatives of a pair of functions of the score; 0 at infinite scores."""
    xp = namespace(v)
    finite = xp.clip(v, -1e300, 1e300)
    step = 1e-5 * (1.0 + xp.abs(finite))
    right, left = function(finite + step), function(finite - step)
    return (right[0] - left[0]) / (2.0 * step), (right[1] - left[1]) / (2.0 * step)


def mix(y: Array, at0: Array, at1: Array, not_y: Array | None = None) -> Array:
    """(1 - y) at0 + y at1, with 0 · ∞ = 0. Boolean y selects, anything else in [0, 1] averages.

    Where one loss falls to -∞, the other grows to +∞ faster, so that ∞ - ∞ = ∞ here.
    """
    xp = namespace(y)
    if is_boolean(y):
        return xp.where(y, at1, at0)
    share0, share1 = product(1.0 - y if not_y is None else not_y, at0), product(y, at1)
    return xp.where(xp.isinf(share0) & (share0 == -share1), np.inf, share0 + share1)
