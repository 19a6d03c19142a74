"""Losses made from a link: ω = ψ', so that the link is canonical for the loss."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from properly.inputs.options import check_finite
from properly.links import GEV, Link
from properly.losses.base import Loss
from properly.numeric.arrays import namespace
from properly.numeric.probabilities import Array, Probabilities, product, without_nan


class _LossOfLink(Loss):
    """L₀ = ∫ p dv up to v = ψ(p), L₁ = ∫ (1-p) dv from there; ω = 1/p'.

    With another link, ω p' is the ratio of the hazards of the two links, which is accurate in both tails.
    """

    @property
    @abstractmethod
    def canonical_link(self) -> Link: ...

    def _weight(self, at: Probabilities) -> Array:
        return self.canonical_link._weight_at(at)

    def _losses(self, at: Probabilities) -> tuple[Array, Array]:
        link = self.canonical_link
        return link._antiderivatives(link._coordinate(at))

    def _gradients(self, link: Link, v: Array) -> tuple[Array, Array]:
        xp, at = namespace(v), link._probabilities(v)
        (a, b), (own_a, own_b) = link._log_hazards(v), self.canonical_link._log_hazards_at(at)
        log_slope = xp.where(at.p <= at.q, a - own_a, b - own_b)  # ln(ω p')
        return without_nan(xp.exp(log_slope + at.log_p)), -without_nan(xp.exp(log_slope + at.log_q))

    def _curvatures(self, link: Link, v: Array) -> tuple[Array, Array]:
        at, own = link._probabilities(v), self.canonical_link
        (a, b), (own_a, own_b) = link._hazards(v), own._hazards(own._coordinate(at))
        slope_a, slope_b = link._hazard_slopes(v)
        own_slope_a, own_slope_b = own._hazard_slopes(own._coordinate(at))
        left = slope_a / a - own_slope_a / own_a * (a / own_a)
        right = slope_b / b - own_slope_b / own_b * (b / own_b)
        growth = namespace(v).where(at.p <= at.q, left, right)  # d ln(ω p') / dv
        gradient0, gradient1 = self._gradients(link, v)
        return without_nan(product(gradient0, a + growth)), without_nan(product(-gradient1, b - growth))


@dataclass(frozen=True)
class CanonicalLoss(_LossOfLink):
    """The proper loss that a given link is canonical for.

    For the cauchit both integrals diverge logarithmically: its loss has no lower bound and is set to 0 at p = 1/2.

    Parameters
    ----------
    link : Link
        The link that is canonical for the loss.

    Examples
    --------
    >>> from properly.links import Probit
    >>> CanonicalLoss(Probit()).loss0(0.5)
    np.float64(0.398...)
    """

    link: Link

    @property
    def canonical_link(self) -> Link:
        return self.link


@dataclass(frozen=True)
class GEVLoss(_LossOfLink):
    """ω(p) = (-ln p)^(-ξ-1)/p: for ξ > 0 a mistake on a rare positive weighs more than under log loss.

    With T = -ln p the loss at y = 0 is the upper incomplete gamma function Γ(-ξ, T), at y = 1 it is
    (γ(1-ξ, T) - T^(-ξ) (1 - e^-T))/ξ. For ξ >= 1 the latter integral diverges by a constant, and L₁ = L₀ - ψ(p)
    is used, which has no lower bound. Reference: Agarwal, Narasimhan, Kalyanakrishnan & Agarwal (2014), who
    integrate numerically; the closed forms are ours.

    Mathematics: formula (2.3), formula (2.4), formula (2.6).

    Parameters
    ----------
    xi : float, default 0.0
        The shape ξ, at most 100 in size.

    Examples
    --------
    >>> GEVLoss(0.2).canonical_link
    GEV(xi=0.2)
    >>> GEVLoss(0.2).loss1(0.01)
    np.float64(2.138...)
    """

    xi: float = 0.0

    def __post_init__(self) -> None:
        check_finite(self.xi, "xi")
        if abs(self.xi) > 100.0:
            raise ValueError(f"xi must lie in [-100, 100] for the loss to be computed, got {self.xi}.")

    @property
    def canonical_link(self) -> Link:
        return GEV(self.xi)
