"""Regression with the generalised extreme value link: by its canonical loss, or by maximum likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from properly.inputs.options import choose
from properly.linear.classifier import LinearClassifier
from properly.linear.fitting import Data, Penalty
from properly.links import GEV
from properly.losses import Composite, GEVLoss, LogLoss, canonical_loss
from properly.numeric.probabilities import Array


@dataclass(eq=False, repr=False)
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

    xi: float = 0.0
    outside: str = field(default="extend", kw_only=True)

    def _composite(self) -> Composite:
        extend = choose(self.outside, {"extend": True, "clip": False}, "outside")
        return Composite(GEVLoss(self.xi), GEV(self.xi), extend)


@dataclass(eq=False, repr=False)
class GEVLogRegression(LinearClassifier):
    """Linear regression of a rare class with the GEV link and log loss: the maximum-likelihood fit.

    Minimises C · Σ_i weight_i · (-y_i ln p_i - (1 - y_i) ln(1 - p_i)) + (1 - l1_ratio)/2 · ‖w‖² + l1_ratio · ‖w‖₁ where
    p_i = exp(-(1 + ξ v_i)^(-1/ξ)) (at ξ = 0: exp(-e^-v_i)), v_i = x_i·w + b, and the intercept b is free. That is the
    GEV regression of Calabrese & Osmetti (2013). It estimates the probability of the second class; more than two
    classes are fitted one versus rest.

    Parameters
    ----------
    xi : float, default 0.0
        The shape ξ of the link. ξ > 0 lets p reach 0 at the finite score -1/ξ, ξ < 0 lets it reach 1 there.
    C : float, default 1.0
        Inverse strength of the penalty, as in scikit-learn; ``np.inf`` means none.
    l1_ratio : float, default 0.0
        0 is ridge, 1 is the lasso, between them the elastic net.
    fit_intercept, class_weight, tol, max_iter :
        As in `ProperLinearClassifier`.
    warm_start : bool, default False
        Start the next fit from the coefficients of the last one, and only from there.

    Notes
    -----
    **Several optima.** The objective is convex for -1 <= ξ <= 0 only. Otherwise the fit is started from the class
    proportions, from the logistic regression (its scores converted to the scale of the link at the class proportions)
    and from the GEV-canonical regression, and the lowest objective found is kept. It need not be the global minimum:
    with ξ >= 1 and some dozens of rows a better optimum is missed now and then. Where the optimum must be unique, use
    `GEVCanonicalRegression`, which is convex for every ξ.

    **Outside the support** a wrong label has infinite loss, so the fit keeps every positive (ξ > 0) or every negative
    (ξ < 0) of the training rows inside. New rows may lie outside and get a probability of exactly 0 or 1, whose log
    loss may be infinite.

    **A kink.** With ξ <= -1 the loss of a positive falls steeply to 0 at the edge of the support and stays there. At
    the optimum some positives may lie exactly on the edge, where the gradient does not vanish, and the fit ends with a
    ConvergenceWarning that says so. ξ > -1 has no kink, and rare positives hardly ever reach the edge.

    References
    ----------
    Calabrese & Osmetti (2013), Modelling small and medium enterprise loan defaults as rare events: the generalized
    extreme value regression model, Journal of Applied Statistics 40.
    Wang & Dey (2010), Generalized extreme value regression for binary response data, Annals of Applied Statistics 4.

    Examples
    --------
    >>> from properly.datasets import make_rare_events
    >>> X, y, p = make_rare_events(5000, 3, rate=0.02, link=GEV(-0.2), random_state=0)
    >>> model = GEVLogRegression(xi=-0.2).fit(X, y)
    >>> bool(abs(model.predict_proba(X)[:, 1] - p).mean() < 0.005)
    True
    """

    xi: float = 0.0

    def _composite(self) -> Composite:
        return Composite(LogLoss(), GEV(self.xi))

    def _further_starts(self, data: Data, penalty: Penalty, positive: int) -> Sequence[tuple[Array, Array]]:
        """The logistic fit; the class proportions and the GEV-canonical fit are tried in any case."""
        if -1.0 <= self.xi <= 0.0:
            return ()
        logistic = self._fit_one(data, Composite(LogLoss()), penalty, positive=positive, tol=1e-3)  # a rough one
        link, rate = GEV(self.xi), data.class_weight[positive] / data.weight
        others = np.delete(data.class_weight, positive).sum() / data.weight
        stretch = canonical_loss(link).weight(rate, others) * rate * others  # dψ(p)/d logit(p)
        shift = logistic.intercept - np.log(rate / others)
        return [(stretch * logistic.coef, link.link(rate, others) + stretch * shift)]
