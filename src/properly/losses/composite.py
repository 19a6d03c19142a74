"""Composites: a proper loss as a function of label y and score v, through a link.

`Composite` has one score a row, `SoftmaxComposite` one per class. Both offer the same private methods, so that whoever
fits linear scores need not know which one it has. `positive` is the class that a binary composite counts as 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.inputs.options import choose
from properly.links import Link, get_link
from properly.losses.base import Loss, mix
from properly.losses.table import canonical_loss, get_loss, is_canonical
from properly.numeric.arrays import anywhere, floats, namespace, to_numpy
from properly.numeric.probabilities import (
    Array,
    Probabilities,
    log_of_complement,
    product,
    require_no_missing,
    unwrap,
)


@dataclass(frozen=True, init=False)
class Composite:
    """ℓ(y, v) = L_y(F(v)), with F the inverse link.

    The gradient in v is (p - y) ω p', the expected curvature ω p'². For a canonical pair ω p' = 1 exactly, and the
    composite is evaluated so: gradient p - y, curvature p', value from the antiderivative of F, which also extends
    it convexly where F is 0 or 1. Other pairs are evaluated with the hazards of the link, so that nothing overflows
    unless the result does. Labels may lie anywhere in [0, 1]: the loss is then the average of the two.

    Mathematics: formula (1.10), formula (1.11).

    Parameters
    ----------
    loss : Loss or a key such as "log"
    link : Link, a key such as "probit", or None, default None
        None means the canonical link of the loss.
    extend : bool, default True
        Whether a canonical pair with bounded support continues along its tangent outside it, which keeps it convex.
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
        """The loss ℓ(y, v).

        Parameters
        ----------
        y : array of 0 and 1
            Labels.
        v : array
            Scores.
        """
        y, v = _checked(y, v)
        with np.errstate(all="ignore"):
            return unwrap(self._value(y, v))

    def gradient(self, y: ArrayLike, v: ArrayLike) -> Array:
        """dℓ/dv.

        Parameters
        ----------
        y : array of 0 and 1
            Labels.
        v : array
            Scores.
        """
        self.require_smooth()
        y, v = _checked(y, v)
        with np.errstate(all="ignore"):
            return unwrap(self._gradient(y, v))

    def curvature(self, y: ArrayLike, v: ArrayLike, kind: str = "expected") -> Array:
        """d²ℓ/dv²: as observed at y, or expected when y has probability p (never negative; the default).

        Parameters
        ----------
        y : array of 0 and 1
            Labels.
        v : array
            Scores.
        kind : {"expected", "observed"}
            The expected curvature is never negative; the observed one is the second derivative.
        """
        self.require_smooth()
        y, v = _checked(y, v)
        method = choose(kind, {"expected": self._expected_curvature, "observed": self._observed_curvature}, "kind")
        with np.errstate(all="ignore"):
            return unwrap(method(y, v))

    def require_smooth(self) -> None:
        jumping = [loss for loss, _ in self.loss._terms() if not loss.smooth]
        if jumping:
            raise ValueError(
                f"{jumping[0]!r} is a step function or has steps, without a useful gradient; use it to score or split, "
                "alone or in a sum. Fit with BetaLoss.tailored(at=cost, concentration=...) instead."
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
            return _broadcast(self.link._derivative(v), y)
        gradient0, gradient1 = self.loss._gradients(self.link, v)
        a, b = self.link._hazards(v)
        p, q = self.link._pair(v)
        expected = namespace(v).where(p <= q, product(gradient0, a), -product(gradient1, b))  # both are ω p'²
        return _broadcast(expected, y)

    def _observed_curvature(self, y: Array, v: Array) -> Array:
        if self.canonical:
            return self._expected_curvature(y, v)
        return mix(y, *self.loss._curvatures(self.link, v))

    # What linear models need, here and in SoftmaxComposite.

    @property
    def kinked(self) -> bool:
        """Whether curvatures may jump, so that an old one says nothing about convergence."""
        return self.link._kinked

    @property
    def convex_companion(self) -> Composite:
        """The convex composite with the same link."""
        return Composite(canonical_loss(self.link), self.link)

    def _targets(self, codes: NDArray[np.intp], positive: int) -> NDArray[Any]:
        """What `_value` and the others take as y, from class codes."""
        return codes == positive

    def _scores(self, scores: Array, offset: Array | None, positive: int) -> Array:
        """What `_value` and the others take as v, from linear scores of shape (n, 1) and offsets."""
        if offset is None:
            return scores[:, 0]
        return scores[:, 0] + (offset if offset.ndim == 1 else offset[:, positive])

    def _scores_of(self, share: Array, positive: int) -> Array:
        """The scores at which the probabilities are the shares of the classes."""
        with np.errstate(all="ignore"):
            return np.array([self.link._link(_against_rest(share, positive))], dtype=np.float64)

    def _null_loss(self, share: Array, positive: int) -> float:
        """The loss of forecasting the shares of the classes, or its scale where the loss has no lower bound."""
        at = _against_rest(share, positive)
        with np.errstate(all="ignore"):
            entropy = float(mix(at.p, *self.loss._losses(at), at.q))
            return entropy if np.isfinite(entropy) and entropy > 0.0 else float(self.loss._weight(at) * at.p * at.q)

    def _other_probability(self, y: NDArray[np.bool_], v: Array) -> Array:
        """The probability of the class that a row does not have."""
        p, q = self.link._pair(v)
        return namespace(v).where(y, q, p)

    def _curvature_column(self, y: Array, v: Array, k: int, observed: bool) -> Array:
        """Column k of every row's curvature matrix, of shape (n, 1): there is one only."""
        return _bounded(self._observed_curvature(y, v) if observed else self._expected_curvature(y, v))[:, None]

    def _curvature_product(self, y: Array, v: Array, direction: Array) -> Array:
        """The expected curvature of every row times its direction."""
        return _bounded(self._expected_curvature(y, v)) * direction

    def _curvature_diagonal(self, y: Array, v: Array) -> Array:
        """The diagonal of every row's expected curvature matrix."""
        return _bounded(self._expected_curvature(y, v))


def _bounded(curvature: Array) -> Array:
    """A GEV link with ξ < -1 is infinitely steep at the edge of its support; a direction needs finite curvatures."""
    return namespace(curvature).clip(curvature, -1e12, 1e12)


def _broadcast(x: Array, y: Array) -> Array:
    """x in the shape that it has together with y."""
    return x if x.shape == y.shape else namespace(x).broadcast_arrays(x, y)[0]


def _against_rest(share: Array, positive: int) -> Probabilities:
    p, q = np.asarray(share[positive]), np.asarray(np.delete(share, positive).sum())
    return Probabilities(p, q, log_of_complement(p, q), log_of_complement(q, p))


def _checked(y: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    labels, scores = floats(y=y, v=v)
    good = (labels >= 0.0) & (labels <= 1.0)
    if anywhere(~good):
        raise ValueError(f"y must lie in [0, 1], got {to_numpy(labels)[~to_numpy(good)].flat[0]!s}.")
    require_no_missing(scores)
    return labels, scores
