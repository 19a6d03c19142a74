"""Matrix scaling: any affine map of the logits."""

from __future__ import annotations

from properly.calibration.affine import TINY, AffineScaling, Ridge


class MatrixScaling(AffineScaling):
    """Every logit helps every class: p = softmax(W z + b), z the standardised logits.

    z are the logits less their mean in every row, times `slope_`, which makes their root mean square 1: nothing
    depends on the unit of the logits. K(K + 1) coefficients need many rows: `StructuredMatrixScaling` is the safer
    choice. They have maximum likelihood, but for a ridge of a thousandth of a row towards the identity,
    ½ · 0.001 (Σ (W - I)² + Σ b²), which keeps them finite where the classes are separable.

    Parameters
    ----------
    input : {"score", "probability"}, default "score"

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    slope_ : float
        1 over the root mean square of the logits less their mean in every row.
    coef_ : array of shape (n_classes, n_classes)
        Of the standardised logits; times `slope_`, of the logits.
    intercept_ : array of shape (n_classes,)

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks, ICML.

    Examples
    --------
    >>> logits = [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [2.0, 0.0, 1.0]]
    >>> MatrixScaling().fit(logits, ["a", "b", "c", "b", "b", "a"]).intercept_.shape
    (3,)
    """

    def __init__(self, *, input: str = "score") -> None:
        self.input = input

    def _ridge(self, n_classes: int, weight: float) -> Ridge:
        return Ridge(TINY, TINY, TINY)
