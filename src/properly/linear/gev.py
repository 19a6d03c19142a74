"""Regression with the generalised extreme value link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from properly.inputs.options import choose
from properly.linear.classifier import LinearClassifier
from properly.links import GEV
from properly.losses import Composite, GEVLoss


class GEVCanonicalRegression(LinearClassifier):
    """Linear regression of a rare class with the GEV link and the proper loss that this link is canonical for.

    The asymmetric link bends where probabilities are small, and its own loss makes the fit convex with gradient p - y
    (Agarwal, Narasimhan, Kalyanakrishnan & Agarwal 2014). It estimates the probability of the second class; more
    than two classes are fitted one versus rest. Minimised is C · Σ_i weight_i · loss(y_i, x_i·w + b)
    + (1 - l1_ratio)/2 · ‖w‖² + l1_ratio · ‖w‖₁, with the intercept b free.

    Parameters
    ----------
    xi : float, default 0.0
        The shape ξ of the link. ξ > 0 lets p reach 0 at the finite score -1/ξ, ξ < 0 lets it reach 1 there. With
        ξ >= 1 the loss of a positive has no lower bound: without a penalty (C = np.inf) there may be no optimum.
    C : float, default 1.0
        Inverse strength of the penalty, as in scikit-learn.
    l1_ratio : float, default 0.0
    outside : {"extend", "clip"}, default "extend"
        The loss outside the support of the link. "extend": it continues along its tangent, which makes it convex on
        the whole line (and a Fenchel-Young loss). "clip": it is flat there as in the 2014 paper, so rows outside have
        no influence on the fit, and there may be several optima.
    fit_intercept, class_weight, tol, max_iter, warm_start :
        As in `ProperLinearClassifier`.

    Notes
    -----
    **Outside the support** `predict_proba` gives exactly 0 (ξ > 0) or 1 (ξ < 0). The GEV and squared losses of such a
    forecast are finite even when it is wrong; log loss is not. Score with a bounded loss, choose ξ by one, or use
    ξ <= 0 if log loss must stay finite for a rare positive class.

    Examples
    --------
    >>> from properly.datasets import make_rare_events
    >>> X, y, p = make_rare_events(5000, 3, rate=0.02, link=GEV(0.2), random_state=0)
    >>> model = GEVCanonicalRegression(xi=0.2).fit(X, y)
    >>> bool(abs(model.predict_proba(X)[:, 1] - p).mean() < 0.005)
    True
    """

    def __init__(
        self,
        xi: float = 0.0,
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        outside: str = "extend",
        fit_intercept: bool = True,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-8,
        max_iter: int = 100,
        warm_start: bool = False,
    ) -> None:
        self.xi = xi
        self.C = C
        self.l1_ratio = l1_ratio
        self.outside = outside
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    def _composite(self) -> Composite:
        extend = choose(self.outside, {"extend": True, "clip": False}, "outside")
        return Composite(GEVLoss(self.xi), GEV(self.xi), extend)
