"""Log loss and squared loss of K classes through the softmax."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properly.inputs.options import choose
from properly.losses.base import Loss
from properly.losses.beta import LogLoss, SquaredLoss
from properly.losses.composite import Composite
from properly.numeric.arrays import anywhere, as_integers, constant, floats, namespace
from properly.numeric.functions import log_softmax, own_entries, softmax
from properly.numeric.probabilities import Array, require_no_missing


@dataclass(frozen=True)
class SoftmaxComposite:
    """ℓ(y, v) of K scores per row, with p = softmax(v) and y the index of the class.

    With `LogLoss` it is -ln p_y (convex), with `SquaredLoss` it is ½ Σ_k (p_k - 1[y = k])² (not convex).

    Parameters
    ----------
    loss : Loss
        `LogLoss` or `SquaredLoss`.

    Examples
    --------
    >>> SoftmaxComposite(LogLoss()).gradient([1], [[0.0, 0.0]])
    array([[ 0.5, -0.5]])
    """

    loss: Loss

    def __post_init__(self) -> None:
        if not isinstance(self.loss, LogLoss | SquaredLoss):
            raise ValueError(
                f"the softmax is defined for LogLoss and SquaredLoss only, got {self.loss!r}; fit one versus rest."
            )

    @property
    def canonical(self) -> bool:
        """Whether the composite is convex with gradient p - y."""
        return isinstance(self.loss, LogLoss)

    def value(self, y: ArrayLike, v: ArrayLike) -> Array:
        """The loss ℓ(y, v) of every row.

        Parameters
        ----------
        y : array of class numbers
            Labels.
        v : array of shape (n, K)
            Scores.
        """
        return self._value(*_checked(y, v))

    def gradient(self, y: ArrayLike, v: ArrayLike) -> Array:
        """dℓ/dv, one column per class.

        Parameters
        ----------
        y : array of class numbers
            Labels.
        v : array of shape (n, K)
            Scores.
        """
        return self._gradient(*_checked(y, v))

    def curvature(self, y: ArrayLike, v: ArrayLike, kind: str = "expected") -> Array:
        """d²ℓ/dv², a K x K matrix per row: as observed at y, or expected when y has probabilities p.

        Parameters
        ----------
        y : array of class numbers
            Labels.
        v : array of shape (n, K)
            Scores.
        kind : {"expected", "observed"}
            The expected curvature is never negative; the observed one is the second derivative.
        """
        observed = choose(kind, {"expected": False, "observed": True}, "kind")
        labels, scores = _checked(y, v)
        columns = [self._curvature_column(labels, scores, k, observed) for k in range(scores.shape[1])]
        return namespace(scores).stack(columns, axis=2)

    @property
    def kinked(self) -> bool:
        return False

    @property
    def convex_companion(self) -> SoftmaxComposite:
        """The convex composite with the same link."""
        return SoftmaxComposite(LogLoss())

    def _targets(self, codes: NDArray[np.intp], positive: int) -> NDArray[np.intp]:
        return codes

    def _scores(self, scores: Array, offset: Array | None, positive: int) -> Array:
        return scores if offset is None else scores + offset

    def _scores_of(self, share: Array, positive: int) -> Array:
        """The scores at which the probabilities are the shares of the classes."""
        return np.log(share) - np.log(share).mean()

    def _null_loss(self, share: Array, positive: int) -> float:
        """The loss of forecasting the shares of the classes."""
        return float(-np.sum(share * np.log(share)) if self.canonical else 0.5 * (1.0 - np.sum(share**2)))

    def _other_probability(self, y: NDArray[np.intp], v: Array) -> Array:
        """The probability of the classes that a row does not have."""
        return 1.0 - own_entries(softmax(v, axis=1), y)

    def _value(self, y: NDArray[np.intp], v: Array) -> Array:
        xp, log_p = namespace(v), log_softmax(v, axis=1)
        if self.canonical:
            return -own_entries(log_p, y)
        return 0.5 * xp.sum(_residual(y, xp.exp(log_p)) ** 2, axis=1)

    def _gradient(self, y: NDArray[np.intp], v: Array) -> Array:
        p = softmax(v, axis=1)
        residual = _residual(y, p)
        return residual if self.canonical else _apply_jacobian(p, residual)

    def _curvature_product(self, y: NDArray[np.intp], v: Array, direction: Array, observed: bool = False) -> Array:
        """The curvature of every row times its direction, without forming K x K matrices."""
        p = softmax(v, axis=1)
        once = _apply_jacobian(p, direction)
        if self.canonical:
            return once
        twice = _apply_jacobian(p, once)
        if not observed:
            return twice
        # the gradient p ∘ (r - p·r) also moves with p while r = p - y stays
        xp, residual = namespace(p), _residual(y, p)
        centred = residual - xp.sum(p * residual, axis=1, keepdims=True)
        return twice + centred * once - p * xp.sum(residual * once, axis=1, keepdims=True)

    def _curvature_column(self, y: NDArray[np.intp], v: Array, k: int, observed: bool = False) -> Array:
        """Column k of every row's curvature matrix."""
        unit = np.zeros((1, v.shape[1]))
        unit[0, k] = 1.0
        return self._curvature_product(y, v, constant(unit, v), observed)

    def _curvature_diagonal(self, y: NDArray[np.intp], v: Array) -> Array:
        """The diagonal of every row's expected curvature matrix."""
        p = softmax(v, axis=1)
        if self.canonical:
            return p * (1.0 - p)
        return p**2 * (1.0 - 2.0 * p + namespace(p).sum(p**2, axis=1, keepdims=True))


AnyComposite = Composite | SoftmaxComposite


def _apply_jacobian(p: Array, x: Array) -> Array:
    return p * (x - namespace(p).sum(p * x, axis=1, keepdims=True))


def _residual(y: NDArray[np.intp], p: Array) -> Array:
    """p, less 1 in the column of the class of every row."""
    xp = namespace(p)
    if xp is not np:
        return p - xp.astype(y[:, None] == constant(np.arange(p.shape[1]), p), p.dtype)
    residual = p.copy()
    residual[np.arange(len(y)), y] -= 1.0
    return residual


def _checked(y: ArrayLike, v: ArrayLike) -> tuple[NDArray[np.intp], Array]:
    labels, scores = floats(y=y, v=v)
    xp = namespace(scores)
    require_no_missing(scores)
    if scores.ndim != 2 or labels.shape != scores.shape[:1]:
        raise ValueError(f"v must be (n, K) and y (n,), got shapes {scores.shape} and {labels.shape}.")
    if anywhere(~xp.isfinite(scores)):
        raise ValueError("v must be finite for the softmax.")
    if anywhere((labels < 0.0) | (labels >= scores.shape[1]) | (labels != xp.floor(labels))):
        raise ValueError(f"y must hold class indices 0 to {scores.shape[1] - 1}.")
    return as_integers(labels), scores
