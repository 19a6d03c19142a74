"""Regression with the generalised extreme value link: by its canonical loss, or by maximum likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from properly.engines import Engine
from properly.inputs.labels import require_two_classes
from properly.inputs.options import CONFIDENCE, choose
from properly.linear.classifier import LinearClassifier
from properly.linear.fitting import Data, Fit, Penalty, problem_of
from properly.links import GEV, Link
from properly.losses import Composite, GEVLoss, LogLoss, canonical_loss
from properly.numeric.probabilities import Array

_STEP = 0.5
_GRID = [_STEP * k for k in range(-2, 5)]  # the shapes at which a profile likelihood is looked at first


@dataclass(eq=False, repr=False)
class GEVCanonicalRegression(LinearClassifier):
    """Linear regression of a rare class with the GEV link and the proper loss that this link is canonical for.

    The asymmetric link bends where probabilities are small, and its own loss makes the fit convex with gradient p - y
    (Agarwal, Narasimhan, Kalyanakrishnan & Agarwal 2014). It estimates the probability of the second class; more
    than two classes are fitted one versus rest. Minimised is C · Σ_i weight_i · loss(y_i, x_i·w + b)
    + (1 - l1_ratio)/2 · ‖w‖² + l1_ratio · ‖w‖₁, with the intercept b free.

    Mathematics: formula (2.6), formula (2.7).

    Parameters
    ----------
    xi : float, default 0.0
        The shape ξ of the link. ξ > 0 lets p reach 0 at the finite score -1/ξ, ξ < 0 lets it reach 1 there. With
        ξ >= 1 the loss of a positive has no lower bound: without a penalty (C = np.inf) there may be no optimum.
    C : float, default 1.0
        Inverse strength of the penalty, as in scikit-learn.
    l1_ratio : float, default 0.0
        0 is ridge, 1 is the lasso, between them the elastic net.
    outside : {"extend", "clip"}, default "extend"
        The loss outside the support of the link. "extend": it continues along its tangent, which makes it convex on
        the whole line (and a Fenchel-Young loss). "clip": it is flat there as in the 2014 paper, so rows outside have
        no influence on the fit, and there may be several optima.
    fit_intercept, class_weight, tol, max_iter :
        As in `ProperLinearClassifier`.
    warm_start : bool, default False
        Start the next fit from the coefficients of the last one.

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

    Mathematics: formula (2.8).

    Parameters
    ----------
    xi : float or "ml", default 0.0
        The shape ξ of the link. ξ > 0 lets p reach 0 at the finite score -1/ξ, ξ < 0 lets it reach 1 there. "ml":
        estimated by maximum likelihood together with the coefficients, between -1 and 2; two classes only.
    C : float, default 1.0
        Inverse strength of the penalty, as in scikit-learn; ``np.inf`` means none.
    l1_ratio : float, default 0.0
        0 is ridge, 1 is the lasso, between them the elastic net.
    fit_intercept, class_weight, tol, max_iter :
        As in `ProperLinearClassifier`.
    warm_start : bool, default False
        Start the next fit from the coefficients of the last one, and only from there.

    Attributes
    ----------
    xi_ : float
        The shape, as given or estimated.
    xi_interval_ : tuple of float
        The 95 % interval of an estimated ξ: where the profile likelihood is within a factor of exp(-1.92) of its
        maximum. An end that the data do not determine between -1 and 2 is infinite.
    xi_profile_ : dict of arrays
        "xi" and "log_likelihood" (penalised, maximised over the coefficients) of all shapes that were tried; both of
        these only with ``xi="ml"``.
    further ones as in `ProperLinearClassifier`

    Notes
    -----
    **The shape is hard to estimate.** It shows only where probabilities are large or very small; hundreds of positives
    may leave an interval of length 1. A penalty pulls scores together and moves ξ: estimate it with a large C.

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
    >>> estimated = GEVLogRegression("ml", C=1e4).fit(X, y)
    >>> low, high = estimated.xi_interval_
    >>> low < -0.2 < high
    True
    """

    xi: float | Literal["ml"] = 0.0

    def _composite(self) -> Composite:
        if isinstance(self.xi, str):
            choose(self.xi, {"ml": None}, "xi")
            return _likelihood(getattr(self, "xi_", 0.0))
        return _likelihood(self.xi)

    def _fits(self, engine: Engine, classes: NDArray[Any], class_weight: Array) -> tuple[Sequence[Fit], Link | None]:
        if not isinstance(self.xi, str):
            self.xi_ = float(self.xi)
            return super()._fits(engine, classes, class_weight)
        require_two_classes(classes)
        if self.class_weight is not None:
            factor = self._class_factor(class_weight, classes)
            engine, class_weight = engine.reweighted(factor), class_weight * factor
        profile = _Profile(self, self._described(engine, class_weight), Penalty.of(self.C, self.l1_ratio))
        self.xi_ = profile.maximum()
        self.xi_interval_ = profile.interval(self.xi_)
        tried = sorted(profile.fits)
        likelihood = np.array([-profile.fits[xi][0] for xi in tried])
        self.xi_profile_ = {"xi": np.array(tried), "log_likelihood": likelihood}
        return [profile.fits[self.xi_][1]], GEV(self.xi_)

    def _certain(self, engine: Engine, classes: NDArray[Any], class_weight: Array) -> tuple[Sequence[Fit], Link | None]:
        self.xi_ = np.nan if isinstance(self.xi, str) else float(self.xi)
        return super()._certain(engine, classes, class_weight)

    def _further_starts(self, data: Data, penalty: Penalty, positive: int) -> Sequence[tuple[Array, Array]]:
        """The logistic fit; the class proportions and the GEV-canonical fit are tried in any case."""
        return self._starts(self.xi_, data, penalty, positive)

    def _starts(self, xi: float, data: Data, penalty: Penalty, positive: int = 1) -> Sequence[tuple[Array, Array]]:
        if -1.0 <= xi <= 0.0:
            return ()
        logistic = self._fit_one(data, Composite(LogLoss()), penalty, positive=positive, tol=1e-3)  # a rough one
        link, rate = GEV(xi), data.class_weight[positive] / data.weight
        others = np.delete(data.class_weight, positive).sum() / data.weight
        stretch = canonical_loss(link).weight(rate, others) * rate * others  # dψ(p)/d logit(p)
        shift = logistic.intercept - np.log(rate / others)
        return [(stretch * logistic.coef, link.link(rate, others) + stretch * shift)]


class _Profile:
    """The penalised negative log-likelihood, minimised over the coefficients, as a function of ξ; every fit is kept."""

    def __init__(self, model: GEVLogRegression, data: Data, penalty: Penalty) -> None:
        self.model, self.data, self.penalty = model, data, penalty
        self.fits: dict[float, tuple[float, Fit]] = {}

    def __call__(self, xi: float) -> float:
        """The value at ξ: on the grid of the best fit from several starts, between from the nearest fit."""
        xi = float(xi)
        if xi not in self.fits:
            composite = _likelihood(xi)
            near = min(self.fits, key=lambda other: abs(other - xi), default=None)
            nearest = None if near is None else (self.fits[near][1].coef, self.fits[near][1].intercept)
            if near is not None and abs(near - xi) < _STEP:
                fit = self.model._fit_one(self.data, composite, self.penalty, start=nearest)
            else:
                others = [*self.model._starts(xi, self.data, self.penalty), *([] if nearest is None else [nearest])]
                fit = self.model._fit_one(self.data, composite, self.penalty, further_starts=lambda *_: others)
            problem, _ = problem_of(self.data, composite, self.penalty)
            value = problem.point(fit.solution.coef).value + self.penalty.lasso * float(np.abs(fit.coef).sum())
            self.fits[xi] = (float(value), fit)
        return self.fits[xi][0]

    def maximum(self) -> float:
        """The ξ of the highest likelihood: the best on a grid, and from its neighbours on by Brent's method."""
        for xi in _GRID:
            self(xi)
        best = min(self.fits, key=self)
        low, high = max(best - _STEP, _GRID[0]), min(best + _STEP, _GRID[-1])
        optimize.minimize_scalar(self, bounds=(low, high), method="bounded", options={"xatol": 1e-4})
        return min(self.fits, key=self)

    def interval(self, best: float) -> tuple[float, float]:
        """Where twice the log-likelihood falls by the 95 % quantile of χ² with one degree of freedom."""
        limit = self(best) + 0.5 * float(stats.chi2.ppf(CONFIDENCE, 1))

        def end(grid: list[float], beyond: float) -> float:
            last = best
            for xi in grid:
                if self(xi) > limit:
                    return float(optimize.brentq(lambda at: self(at) - limit, last, xi, xtol=1e-3))
                last = xi
            return beyond

        below = [xi for xi in _GRID[::-1] if xi < best]
        return end(below, -np.inf), end([xi for xi in _GRID if xi > best], np.inf)


def _likelihood(xi: float) -> Composite:
    return Composite(LogLoss(), GEV(xi))
