"""Composites: a proper loss read through a link, as a function of label y and score v."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from properly.inputs.options import choose
from properly.links import Link, get_link
from properly.losses.base import Loss, mix, product
from properly.losses.canonical import is_canonical
from properly.losses.keys import get_loss
from properly.numeric.probabilities import Array, as_float, as_scores, unwrap


@dataclass(frozen=True, init=False)
class Composite:
    """ℓ(y, v) = L_y(F(v)), with F the inverse link.

    The gradient in v is (p - y) ω p', the expected curvature ω p'². For a canonical pair ω p' = 1 exactly, and the
    composite is evaluated so: gradient p - y, curvature p', value from the antiderivative of F, which also extends
    it convexly where F is 0 or 1. Other pairs go through the hazards of the link, so nothing overflows before
    the result does. Labels may lie anywhere in [0, 1]: the loss is then the average of the two.

    Parameters
    ----------
    loss : Loss or a key such as "log"
    link : Link, a key such as "probit", or None, default None
        None means the canonical link of the loss.
    extend : bool, default True
        Whether a canonical pair with bounded support goes on as its tangent outside it, which keeps it convex.
        False leaves it flat there: the score is clipped to the support, as in Agarwal et al. (2014).

    Examples
    --------
    >>> from properly.links import GEV
    >>> from properly.losses import GEVLoss, LogLoss
    >>> Composite(LogLoss()).gradient([0, 1], [0.0, 0.0])
    array([ 0.5, -0.5])
    >>> Composite(GEVLoss(0.5), GEV(0.5)).value(1, -10.0) - Composite(GEVLoss(0.5)).value(1, -9.0)
    np.float64(1.0)
    """

    loss: Loss
    link: Link
    extend: bool

    def __init__(self, loss: str | Loss, link: str | Link | None = None, extend: bool = True) -> None:
        loss = get_loss(loss)
        object.__setattr__(self, "extend", extend)
        object.__setattr__(self, "loss", loss)
        object.__setattr__(self, "link", loss.canonical_link if link is None else get_link(link))

    @cached_property
    def canonical(self) -> bool:
        """Whether loss and link are a canonical pair, so that the composite is convex with gradient p - y."""
        return self.extend and is_canonical(self.loss, self.link)

    def value(self, y: ArrayLike, v: ArrayLike) -> Array:
        """The loss ℓ(y, v)."""
        y, v = _checked(y, v)
        with np.errstate(all="ignore"):
            return unwrap(self._value(y, v))

    def gradient(self, y: ArrayLike, v: ArrayLike) -> Array:
        """dℓ/dv."""
        self.require_smooth()
        y, v = _checked(y, v)
        with np.errstate(all="ignore"):
            return unwrap(self._gradient(y, v))

    def curvature(self, y: ArrayLike, v: ArrayLike, kind: str = "expected") -> Array:
        """d²ℓ/dv²: as observed at y, or expected when y has probability p (never negative; the default)."""
        self.require_smooth()
        y, v = _checked(y, v)
        method = choose(kind, {"expected": self._expected_curvature, "observed": self._observed_curvature}, "kind")
        with np.errstate(all="ignore"):
            return unwrap(method(y, v))

    def require_smooth(self) -> None:
        if not self.loss.smooth:
            raise ValueError(
                f"{type(self.loss).__name__} is a step function and has no useful gradient; score or split with it, "
                "and fit with BetaLoss.tailored(at=cost, concentration=...) instead."
            )

    def _value(self, y: Array, v: Array) -> Array:
        if self.canonical:
            return mix(y, *self.link._antiderivatives(v))
        return mix(y, *self.loss._losses(self.link._probabilities(v)))

    def _gradient(self, y: Array, v: Array) -> Array:
        if self.canonical:
            p, q = self.link._pair(v)
            return mix(y, p, -q)
        return mix(y, *self.loss._gradients(self.link, v))

    def _expected_curvature(self, y: Array, v: Array) -> Array:
        if self.canonical:
            return np.broadcast_to(self.link._derivative(v), np.broadcast_shapes(y.shape, v.shape))
        gradient0, gradient1 = self.loss._gradients(self.link, v)
        a, b = self.link._hazards(v)
        p, q = self.link._pair(v)
        expected = np.where(p <= q, product(gradient0, a), -product(gradient1, b))  # both are ω p'²
        return np.broadcast_to(expected, np.broadcast_shapes(y.shape, v.shape))

    def _observed_curvature(self, y: Array, v: Array) -> Array:
        if self.canonical:
            return self._expected_curvature(y, v)
        return mix(y, *self.loss._curvatures(self.link, v))


def _checked(y: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    y = as_float(y, "y")
    bad = ~((y >= 0.0) & (y <= 1.0))
    if bad.any():
        raise ValueError(f"y must lie in [0, 1], got {y[bad].flat[0]!s}.")
    return y, as_scores(v)
