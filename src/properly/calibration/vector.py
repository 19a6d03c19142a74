"""Vector scaling: a slope and an intercept for every class."""

from __future__ import annotations

import numpy as np

from properly.calibration.affine import TINY, AffineScaling, Ridge


class VectorScaling(AffineScaling):
    """One slope and one intercept per class: p = softmax(w_k z_k + b_k), z the standardised logits.

    z are the logits less their mean in every row, times `slope_`, which makes their root mean square 1: nothing
    depends on the unit of the logits. The coefficients have maximum likelihood, but for a ridge of a thousandth of a
    row towards the identity, ½ · 0.001 (Σ (w_k - 1)² + Σ b_k²), which keeps them finite where the classes are
    separable.

    Parameters
    ----------
    input : {"score", "probability"}, default "score"

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    slope_ : float
        1 over the root mean square of the logits less their mean in every row.
    coef_ : array of shape (n_classes, n_classes), diagonal
        Of the standardised logits; times `slope_`, of the logits.
    intercept_ : array of shape (n_classes,)

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks, ICML.

    Examples
    --------
    >>> logits = [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [2.0, 0.0, 1.0]]
    >>> VectorScaling().fit(logits, ["a", "b", "c", "b", "b", "a"]).coef_.shape
    (3, 3)
    """

    def __init__(self, *, input: str = "score") -> None:
        self.input = input

    def _ridge(self, n_classes: int, weight: float) -> Ridge:
        return Ridge(TINY, np.inf, TINY)
