"""Structured matrix scaling: an affine map of the logits, held at temperature scaling."""

from __future__ import annotations

from properly.calibration.affine import AffineScaling, Ridge, check_strength
from properly.calibration.inputs import Sample
from properly.calibration.temperature import best_slope


class StructuredMatrixScaling(AffineScaling):
    """Matrix scaling held at temperature scaling, the more strongly the more coefficients a group has.

    First the logits are divided by the best temperature. Then W and b of p = softmax(W z + b) minimise
    Σ weight · log loss + ½ strength (K Σ_k (W_kk - 1)² + K(K - 1) Σ_{k≠j} W_kj² + K Σ_k b_k²). With few rows this is
    temperature scaling; more rows bend the diagonal and the intercepts first, and then whatever the data ask for.

    Parameters
    ----------
    strength : float, default 1.0
        Positive; in units of rows, so that its influence fades as the data grow.
    input : {"score", "probability"}, default "score"

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    slope_ : float
        1/T of the temperature that comes first.
    coef_ : array of shape (n_classes, n_classes)
    intercept_ : array of shape (n_classes,)

    References
    ----------
    The idea of a penalty by groups is that of Berta, Holzmüller, Jordan & Bach (2025), Structured matrix scaling for
    multi-class calibration; the strengths and the ridge form given above are this library's.

    Examples
    --------
    >>> logits = [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [2.0, 0.0, 1.0]]
    >>> model = StructuredMatrixScaling().fit(logits, ["a", "b", "c", "b", "b", "a"])
    >>> model.coef_.round(2)
    array([[ 0.95, -0.03,  0.05],
           [ 0.08,  1.01, -0.09],
           [-0.06,  0.03,  1.07]])
    """

    def __init__(self, strength: float = 1.0, *, input: str = "score") -> None:
        self.strength = strength
        self.input = input

    def _slope(self, sample: Sample) -> float:
        return best_slope(sample)

    def _ridge(self, n_classes: int, weight: float) -> Ridge:
        check_strength(self.strength, "strength")
        few, many = self.strength * n_classes, self.strength * n_classes * (n_classes - 1)
        return Ridge(few, many, few)
