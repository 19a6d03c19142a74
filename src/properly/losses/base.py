"""What every proper loss can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from properly.inputs.options import check_interval
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

    Mathematics: formula (1.1), formula (1.2), formula (1.3).
    """

    smooth: ClassVar[bool] = True
    """Whether the loss can be minimised by its gradient."""

    __array_ufunc__ = None  # so that a number of NumPy times a loss is a loss, not an array

    def weight(self, p: ArrayLike, q: ArrayLike | None = None) -> Array:
        """The weight function ω(p).

        Parameters
        ----------
        p : array
            Probabilities.
        q : array, optional
            1 - p, where that is known to more digits than p tells.
        """
        with np.errstate(all="ignore"):
            return unwrap(self._weight(as_probabilities(p, q)))

    def loss0(self, p: ArrayLike, q: ArrayLike | None = None) -> Array:
        """The loss of the forecast p when y = 0; increasing in p.

        Parameters
        ----------
        p : array
            Probabilities.
        q : array, optional
            1 - p, where that is known to more digits than p tells.
        """
        with np.errstate(all="ignore"):
            return unwrap(self._losses(as_probabilities(p, q))[0])

    def loss1(self, p: ArrayLike, q: ArrayLike | None = None) -> Array:
        """The loss of the forecast p when y = 1; decreasing in p.

        Parameters
        ----------
        p : array
            Probabilities.
        q : array, optional
            1 - p, where that is known to more digits than p tells.
        """
        with np.errstate(all="ignore"):
            return unwrap(self._losses(as_probabilities(p, q))[1])

    def risk(self, eta: ArrayLike, p: ArrayLike, q: ArrayLike | None = None) -> Array:
        """The expected loss of the forecast p when the true probability is eta; smallest at p = eta.

        Parameters
        ----------
        eta : array
            True probabilities.
        p : array
            Probabilities.
        q : array, optional
            1 - p, where that is known to more digits than p tells.
        """
        eta, p, q = floats(eta=eta, p=p, q=q)
        truth = as_probabilities(eta, name="eta")
        with np.errstate(all="ignore"):
            at0, at1 = self._losses(as_probabilities(p, q))
            return unwrap(mix(truth.p, at0, at1, truth.q))

    def entropy(self, eta: ArrayLike, q: ArrayLike | None = None) -> Array:
        """The risk of forecasting the truth: concave, with second derivative -ω. Trees split by it.

        Parameters
        ----------
        eta : array
            True probabilities.
        q : array, optional
            1 - eta, where that is known to more digits.
        """
        truth = as_probabilities(eta, q, name="eta")
        with np.errstate(all="ignore"):
            return unwrap(mix(truth.p, *self._losses(truth), truth.q))

    def __mul__(self, factor: float) -> MixtureLoss:
        return MixtureLoss((self,), (factor,))

    __rmul__ = __mul__

    def __add__(self, other: Loss) -> MixtureLoss:
        if not isinstance(other, Loss):
            return NotImplemented
        losses, factors = zip(*self._terms(), *other._terms(), strict=True)
        return MixtureLoss(losses, factors)

    def __radd__(self, other: object) -> Loss:
        return self if other == 0 else NotImplemented  # where `sum` begins

    def _terms(self) -> list[tuple[Loss, float]]:
        """The losses of which this one is the weighted sum."""
        return [(self, 1.0)]

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

    def _softer(self, share: float) -> Loss | None:
        """The loss between log loss and this one, up to a factor: ω^share (p q)^(share-1); None without a formula."""
        return None

    def _gradients(self, link: Link, v: Array) -> tuple[Array, Array]:
        """The derivatives in v of (L₀, L₁) at p = F(v): (p ω p', -q ω p')."""
        at = link._probabilities(v)
        slope = product(self._weight(at), link._derivative(v))
        return at.p * slope, -at.q * slope

    def _curvatures(self, link: Link, v: Array) -> tuple[Array, Array]:
        """The second derivatives in v of (L₀, L₁), here by central differences of the gradients."""
        return central_difference(lambda at: self._gradients(link, at), v)


@dataclass(frozen=True, repr=False)
class MixtureLoss(Loss):
    """A weighted sum of proper losses, which is proper, since weight functions add.

    Made by arithmetic: ``0.1 * LogLoss() + BetaLoss.tailored(0.3, 30)`` has a gradient everywhere, and cares most for
    decisions at 0.3.

    Parameters
    ----------
    losses : tuple of losses
    factors : tuple of float
        What each is multiplied by, above 0.

    Examples
    --------
    >>> from properly.losses import CostWeightedLoss, LogLoss
    >>> loss = 2 * LogLoss() + 0.5 * CostWeightedLoss(0.2)
    >>> loss
    2 * LogLoss() + 0.5 * CostWeightedLoss(cost=0.2)
    >>> bool(np.isclose(loss.loss1(0.1), 2 * np.log(10) + 0.5 * 0.8))
    True
    """

    losses: tuple[Loss, ...]
    factors: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.losses or len(self.losses) != len(self.factors):
            raise ValueError(
                f"losses and factors must be of one length, at least 1, got {len(self.losses)} and {len(self.factors)}."
            )
        for loss, factor in zip(self.losses, self.factors, strict=True):
            if not isinstance(loss, Loss):
                raise ValueError(f"losses must be losses, got {loss!r}.")
            check_interval(factor, "the factor of a loss", 0.0)
        parts = zip(self.losses, self.factors, strict=True)
        terms = [(part, factor * share) for loss, factor in parts for part, share in loss._terms()]
        object.__setattr__(self, "losses", tuple(loss for loss, _ in terms))
        object.__setattr__(self, "factors", tuple(factor for _, factor in terms))

    def __repr__(self) -> str:
        return " + ".join(f"{factor:g} * {loss!r}" for loss, factor in self._terms())

    def __mul__(self, factor: float) -> MixtureLoss:
        check_interval(factor, "the factor of a loss", 0.0)
        return MixtureLoss(self.losses, tuple(float(factor) * each for each in self.factors))

    __rmul__ = __mul__

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        return all(loss.smooth for loss in self.losses)

    @property
    def canonical_link(self) -> Link:
        for loss in self.losses:
            if not loss.smooth:
                return loss.canonical_link  # which says why there is none
        return CanonicalLink(self)

    def _terms(self) -> list[tuple[Loss, float]]:
        return list(zip(self.losses, map(float, self.factors), strict=True))

    def _weight(self, at: Probabilities) -> Array:
        first, *others = (factor * loss._weight(at) for loss, factor in self._terms())
        return sum(others, first)

    def _losses(self, at: Probabilities) -> tuple[Array, Array]:
        return self._sum(lambda loss: loss._losses(at))

    def _gradients(self, link: Link, v: Array) -> tuple[Array, Array]:
        return self._sum(lambda loss: loss._gradients(link, v))

    def _curvatures(self, link: Link, v: Array) -> tuple[Array, Array]:
        return self._sum(lambda loss: loss._curvatures(link, v))

    def _sum(self, pair: Callable[[Loss], tuple[Array, Array]]) -> tuple[Array, Array]:
        """The pairs of all losses, weighted and added up."""
        (first0, first1), *others = (
            (factor * at0, factor * at1) for (at0, at1), factor in ((pair(loss), a) for loss, a in self._terms())
        )
        return sum((each[0] for each in others), first0), sum((each[1] for each in others), first1)


def hashable(function: object) -> object:
    """What stands for a function of a user in a hash: not every callable, as a polynomial of NumPy, has one."""
    return function if isinstance(function, Hashable) else type(function)


def called(function: Callable[[Array], Array], p: Array) -> Array:
    """A function of a user at probabilities of any shape: it is given them in one row."""
    row = np.reshape(p, -1)
    value = np.asarray(function(row))
    if np.iscomplexobj(value):
        raise TypeError("its values are complex")
    return np.broadcast_to(value.astype(np.float64), row.shape).reshape(np.shape(p))


def shown(p: float) -> str:
    """A probability in an error message.

    >>> shown(0.25), shown(1 - 1.04e-6), shown(1 - 1e-15)
    ('0.25', '1 - 1.04e-06', '1 - 9.99e-16')
    """
    return f"{p:.6g}" if p <= 0.9999 or p == 1.0 else f"1 - {1.0 - p:.3g}"


def central_difference(
    function: Callable[[Array], tuple[Array, Array]], v: Array, least: Array | float = 0.0
) -> tuple[Array, Array]:
    """The derivatives of a pair of functions of the score, by steps of at least `least`; 0 at infinite scores."""
    xp = namespace(v)
    finite = xp.clip(v, -1e300, 1e300)
    step = 1e-5 * (1.0 + xp.abs(finite))
    if not isinstance(least, float):
        step = xp.maximum(step, least)
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
