"""The Beta family ω(p) = p^(α-1) (1-p)^(β-1): log loss, squared loss, boosting loss and everything between."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial

import numpy as np

from properly.inputs.options import check_finite
from properly.links import Link, Logit
from properly.losses.base import Loss
from properly.losses.beta_pair import beta_pair
from properly.numeric import special
from properly.numeric.arrays import namespace, on_host
from properly.numeric.functions import asinh
from properly.numeric.probabilities import Array, Probabilities, product, without_nan

_LARGEST_SHAPE = 1e8  # beyond it the loss is a step function to float64 precision
_TINY = 1e-300
_NOT_SMALL = 0.1  # below it the losses at 0 and 1 are so large that their rounding swamps those between
_INCOMPLETE_BETA = "the incomplete beta function"


class _BetaFamily(Loss):
    """ω(p) = scale · p^(α-1) q^(β-1).

    With the hazards a = p'/p, b = p'/q of a link and W = scale · p^α q^β the derivatives in v are
    L₀: W b and L₁: -W a; ω p'² = W a b. No factor overflows unless the result does.
    """

    @property
    @abstractmethod
    def _shape(self) -> tuple[float, float, float]:
        """(α, β, ln scale)."""

    @property
    def canonical_link(self) -> Link:
        return super().canonical_link if any(self._shape) else Logit()

    def _softer(self, share: float) -> Loss | None:
        return BetaLoss(*(share * each for each in self._shape)) if any(self._shape[:2]) else None

    def _weight(self, at: Probabilities) -> Array:
        alpha, beta, log_scale = self._shape
        return _power(at.log_p, at.log_q, alpha - 1.0, beta - 1.0, log_scale)

    def _losses(self, at: Probabilities) -> tuple[Array, Array]:
        alpha, beta, log_scale = self._shape
        if min(alpha, beta) >= _NOT_SMALL:
            return beta_pair(alpha, beta, log_scale).losses(at)
        at0 = partial(_partial_loss, a=alpha + 1.0, b=beta, log_scale=log_scale)
        at1 = partial(_partial_loss, a=beta + 1.0, b=alpha, log_scale=log_scale)
        return (
            on_host(at0, at.p, at.q, at.log_q, what=_INCOMPLETE_BETA),
            on_host(at1, at.q, at.p, at.log_p, what=_INCOMPLETE_BETA),
        )

    def _gradients(self, link: Link, v: Array) -> tuple[Array, Array]:
        if not any(self._shape):  # log loss
            a, b = link._hazards(v)
            return b, -a
        log_factor = _log_power(*link._logs(v), *self._shape)
        log_a, log_b = link._log_hazards(v)
        xp = namespace(v)
        return without_nan(xp.exp(log_factor + log_b)), -without_nan(xp.exp(log_factor + log_a))

    def _curvatures(self, link: Link, v: Array) -> tuple[Array, Array]:
        alpha, beta, _ = self._shape
        a, b = link._hazards(v)
        slope_a, slope_b = link._hazard_slopes(v)
        factor = _power(*link._logs(v), *self._shape)
        log_slope = _scaled(alpha, a) - _scaled(beta, b)  # d ln W / dv
        return product(factor, product(b, log_slope) + slope_b), -product(factor, product(a, log_slope) + slope_a)


def _scaled(factor: float, x: Array) -> Array:
    """factor · x with 0 · ∞ = 0."""
    return factor * x if factor else namespace(x).zeros_like(x)


def _power(log_p: Array, log_q: Array, alpha: float, beta: float, log_scale: float) -> Array:
    """scale · p^alpha q^beta, all three together in the exponent."""
    return namespace(log_p).exp(_log_power(log_p, log_q, alpha, beta, log_scale))


def _log_power(log_p: Array, log_q: Array, alpha: float, beta: float, log_scale: float) -> Array:
    return _scaled(alpha, log_p) + _scaled(beta, log_q) + log_scale


def _partial_loss(x: Array, y: Array, log_y: Array, a: float, b: float, log_scale: float) -> Array:
    """scale · B(x; a, b) with y = 1 - x, also where y has underflowed and only its logarithm is left."""
    value = special.incomplete_beta(x, np.maximum(y, _TINY), a, b, log_scale)
    if np.all(log_y >= np.log(_TINY)):
        return value
    # Beyond y = 1e-300 the integrand is u^(b-1) to the last digit.
    beyond = log_y - np.log(_TINY)
    scale = np.exp(b * np.log(_TINY) + log_scale)
    growth = -scale * (np.expm1(b * beyond) / b if b else beyond)
    return value + np.where(beyond < 0.0, growth, 0.0)


@dataclass(frozen=True)
class BetaLoss(_BetaFamily):
    """The proper loss with ω(p) = p^(α-1) (1-p)^(β-1).

    The loss at y = 0 is the incomplete beta function B(p; α+1, β), at y = 1 it is B(1-p; β+1, α).
    (0, 0) is log loss, (1, 1) squared loss, (-1/2, -1/2) boosting loss. Reference: Buja, Stuetzle & Shen (2005).

    Mathematics: formula (1.7), formula (1.8), formula (1.9).

    Parameters
    ----------
    alpha, beta : float
        Both above -1, where the losses are finite, and at most 1e8. They may be zero or negative.
    log_scale : float, default 0.0
        The logarithm of a factor on the loss; `tailored` sets it.

    Examples
    --------
    >>> BetaLoss(2, 5).weight(0.3)
    np.float64(0.07203)
    >>> BetaLoss(0, 0).loss1(0.25) - LogLoss().loss1(0.25)
    np.float64(0.0)
    """

    alpha: float
    beta: float
    log_scale: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            check_finite(value, name)
            if value <= -1.0:
                raise ValueError(f"{name} must be above -1 (the loss is infinite otherwise), got {value}.")
            if value > _LARGEST_SHAPE:
                raise ValueError(
                    f"{name} must be at most {_LARGEST_SHAPE:g}, got {value}; use CostWeightedLoss instead."
                )
        check_finite(self.log_scale, "log_scale")

    @classmethod
    def tailored(cls, at: float, concentration: float) -> BetaLoss:
        """The loss that concentrates on probabilities near `at`: α/(α+β) = at, α+β = concentration.

        It is scaled so that ω(at) = 1/(at (1-at)) as for log loss, so a penalty keeps its meaning as the
        concentration grows. Used with a fixed link, normally the logit; in the limit it is cost-weighted error.

        >>> BetaLoss.tailored(0.1, 50).weight(0.1)
        np.float64(11.11...)
        """
        check_finite(at, "at")
        check_finite(concentration, "concentration")
        if not 0.0 < at < 1.0:
            raise ValueError(f"at must lie strictly between 0 and 1, got {at}.")
        if concentration < 0.0:
            raise ValueError(f"concentration must not be negative, got {concentration}.")
        alpha, beta = at * concentration, (1.0 - at) * concentration
        return cls(alpha, beta, -alpha * float(np.log(at)) - beta * float(np.log1p(-at)))

    @property
    def _shape(self) -> tuple[float, float, float]:
        return float(self.alpha), float(self.beta), float(self.log_scale)


@dataclass(frozen=True)
class LogLoss(_BetaFamily):
    """-ln(1-p) at y = 0, -ln p at y = 1: the negative log-likelihood, in nats; ω(p) = 1/(p(1-p)).

    >>> LogLoss().entropy(0.5)
    np.float64(0.6931471805599453)
    """

    @property
    def _shape(self) -> tuple[float, float, float]:
        return 0.0, 0.0, 0.0

    def _losses(self, at: Probabilities) -> tuple[Array, Array]:
        return -at.log_q, -at.log_p


@dataclass(frozen=True)
class SquaredLoss(_BetaFamily):
    """p²/2 at y = 0, (1-p)²/2 at y = 1: half the Brier score; ω(p) = 1.

    >>> SquaredLoss().loss1(0.5)
    np.float64(0.125)
    """

    @property
    def _shape(self) -> tuple[float, float, float]:
        return 1.0, 1.0, 0.0

    def _losses(self, at: Probabilities) -> tuple[Array, Array]:
        return 0.5 * at.p**2, 0.5 * at.q**2

    def _canonical_log_odds(self, v: Array) -> Array:
        xp = namespace(v)
        inside = xp.clip(v, -0.5, 0.5)
        return xp.log(0.5 + inside) - xp.log(0.5 - inside)


@dataclass(frozen=True)
class BoostingLoss(_BetaFamily):
    """2√(p/(1-p)) at y = 0, 2√((1-p)/p) at y = 1: the exponential loss of boosting; ω(p) = (p(1-p))^(-3/2).

    >>> BoostingLoss().loss1(0.2)
    np.float64(4.0)
    """

    @property
    def _shape(self) -> tuple[float, float, float]:
        return -0.5, -0.5, 0.0

    def _losses(self, at: Probabilities) -> tuple[Array, Array]:
        xp, half_log_odds = namespace(at.p), 0.5 * at.log_p - 0.5 * at.log_q
        return 2.0 * xp.exp(half_log_odds), 2.0 * xp.exp(-half_log_odds)

    def _canonical_log_odds(self, v: Array) -> Array:
        return 2.0 * asinh(v / 4.0)
