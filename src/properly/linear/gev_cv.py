"""GEV-canonical regression with shape and penalty chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from properly.engines import Engine, by_parts
from properly.inputs.options import check_boolean
from properly.linear.cross_validation import CrossValidated, Path, penalties, unit_of, with_splits
from properly.linear.fitting import Data, Fit, Penalty
from properly.links import GEV, Link, Logit
from properly.losses import BetaLoss, Composite, GEVLoss, LogLoss, Loss, get_loss
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, as_float, columns_of, constant, namespace

_XIS = (-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0)
_SCORE = BetaLoss(0.5, 0.5)
_LEAST_WEIGHT = 1e-3  # members of the average with less are left out


@dataclass(eq=False, repr=False)
class GEVCanonicalRegressionCV(CrossValidated):
    """GEV-canonical regression that scores shapes ξ and penalties C on held-out rows and averages their probabilities.

    With few rows of the rare class, the ξ that does best on held-out rows often forecasts worse than plain logistic
    regression. By default the probabilities of the best fit for every ξ, and of a logistic fit as a neutral candidate,
    are therefore averaged, each with a weight proportional to exp(-S/2u): S is its summed held-out loss, u the unit in
    which S is a log-likelihood (ω(p) p (1 - p) at the class proportions), and the 2 allows for S being the best of
    several C. Half of the prior weight is that of the logistic fit. With clear data one fit has all the weight;
    otherwise the average varies less than any of its members. Weights of rows count as repetitions in S, too: weights
    scaled to add up to 1 mean that there are hardly any data. Two classes only.

    Every member minimises C · Σ_i weight_i · loss(y_i, x_i·w + b) + ½‖w‖², with the intercept b free.

    Parameters
    ----------
    xis : sequence of float, default -1, -0.75, ..., 1
        The shapes to try; see `GEVCanonicalRegression`. ξ = -1 is Poisson regression: p = exp(v - 1), for small p the
        same as the logit.
    Cs : int or sequence of float, default 10
        The inverse penalties to try: a number of them from 1e-4 to 1e4, or the values. Each ξ gets its own.
    cv : int, splitter, or iterable of (train, held-out) row indices, default 5
        As in scikit-learn: a number means stratified folds in the order of the rows, None is 5. One pair is a
        validation set. For groups, give ``list(splitter.split(X, y, groups))``. Rows that are not in memory have no
        order: a number is that of `properly.engines.KeyedFolds`, and no other splitter is taken.
    scoring : Loss, key of one ("log", "squared", ...) or None, default None
        The proper loss of held-out forecasts. GEV regression may forecast exactly 0, where log loss is infinite, while
        squared loss hardly sees small probabilities; None means BetaLoss(0.5, 0.5), which lies between them.
    average : bool, default True
        False takes the best ξ and C alone, as the 2014 paper does.
    fit_intercept, tol, max_iter :
        As in `ProperLinearClassifier`; for the final fits to all rows. Fits to the splits, which are only compared, may
        stop a tenth of a standard error from their optimum.
    verbose : bool, default False
        Print a line for every ξ done.

    Attributes
    ----------
    xi_, C_ : float
        Shape and penalty of the GEV fit with the smallest held-out loss.
    links_ : list of Link
        The links that are averaged; a single one without `average`. `link_` is that one, None if there are several.
    weights_ : array of shape (n_links,)
        Their weights, which add up to 1. Those below 0.001 are left out.
    coef_ : array of shape (n_links, n_features), intercept_ : array of shape (n_links,)
        A row per link.
    Cs_ : array of shape (n_links,)
        The penalty of each.
    cv_results_ : dict of arrays
        "xi" (nan for the logit), "C", and "loss", the mean held-out loss: a data frame with a row per candidate. Fits
        to splits stop early, so the losses are rough (to a few in a thousand), except for the best C of every link.
        Where the loss has risen far above the smallest, weaker penalties are not fitted: nan.
    classes_, n_iter_, solutions_ :
        As in `ProperLinearClassifier`.

    Examples
    --------
    >>> from properly.datasets import make_rare_events
    >>> X, y, p = make_rare_events(2000, 5, rate=0.05, link=GEV(0.5), random_state=0)
    >>> model = GEVCanonicalRegressionCV(xis=[0.0, 0.5], Cs=3).fit(X, y)
    >>> model.xi_
    0.5
    """

    only_two_classes: ClassVar[bool] = True

    xis: ArrayLike = _XIS
    Cs: int | ArrayLike = 10
    _: KW_ONLY
    cv: Any = 5
    scoring: str | Loss | None = None
    average: bool = True
    verbose: bool = False

    def _check_options(self) -> None:
        check_boolean(self.average, "average")
        penalties(self.Cs)
        self._composites()
        self._score()

    def _fits(self, engine: Engine, classes: NDArray[Any], class_weight: Array) -> tuple[Sequence[Fit], Link | None]:
        Cs, composites, score = penalties(self.Cs), self._composites(), self._score()
        data = self._described(with_splits(self.cv, engine), class_weight)
        paths = [self._path(data, composite, Cs, score) for composite in composites]
        chosen = [path.best for path in paths]
        loss = np.array([path.loss[path.best] for path in paths])
        best = 1 + int(loss[1:].argmin())
        weights = _weights(loss * min(paths[0].held_out, data.weight) / unit_of(score, data))
        if not self.average:
            weights = np.eye(len(paths))[best]
        members = np.flatnonzero(weights)
        xis = [getattr(composite.link, "xi", np.nan) for composite in composites]
        self.xi_, self.C_ = xis[best], float(Cs[chosen[best]])
        self.cv_results_ = {
            "xi": np.repeat(xis, len(Cs)),
            "C": np.tile(Cs, len(paths)),
            "loss": np.concatenate([path.loss for path in paths]),
        }
        self.links_, self.weights_ = [composites[i].link for i in members], weights[members]
        self.Cs_ = Cs[[chosen[i] for i in members]]
        fits = [
            self._fit_one(data, composites[i], Penalty.of(Cs[chosen[i]]), start=paths[i].start(chosen[i]))
            for i in members
        ]
        return fits, self.links_[0] if len(members) == 1 else None

    def _certain(self, engine: Engine, classes: NDArray[Any], class_weight: Array) -> tuple[Sequence[Fit], Link | None]:
        self.xi_, self.C_, self.Cs_ = np.nan, np.nan, np.full(1, np.nan)
        self.links_, self.weights_ = [Logit()], np.ones(1)
        self.cv_results_ = {name: np.empty(0) for name in ("xi", "C", "loss")}
        return super()._certain(engine, classes, class_weight)

    def _composites(self) -> list[Composite]:
        """The logistic one, and one for every shape."""
        if self.xis is None or np.ndim(self.xis) != 1 or not np.size(self.xis):
            raise ValueError(f"xis must be a sequence of at least one number, got {self.xis!r}.")
        xis = np.unique(as_float(self.xis, "xis")).tolist()
        return [Composite(LogLoss()), *(Composite(GEVLoss(xi), GEV(xi)) for xi in xis)]

    def _score(self) -> Loss:
        score = get_loss(_SCORE if self.scoring is None else self.scoring, "scoring")
        if not (score.smooth and np.isfinite(score.loss0(0.0)) and np.isfinite(score.loss1(1.0))):
            raise ValueError(
                f"scoring must be a smooth loss that is finite for a certain forecast that is right, got {score}; "
                'use None, "squared", "log" or another Beta loss.'
            )
        return score

    def _path(self, data: Data, composite: Composite, Cs: Array, score: Loss) -> Path:
        path = Path.fitted(data, composite, Cs, score, self.max_iter)
        if self.verbose:
            print(f"{composite.link}: held-out loss {path.loss[path.best]:.6g} at C = {Cs[path.best]:.3g}", flush=True)
        return path

    @by_parts
    def predict_proba(self, X: Any, offset: ArrayLike | None = None) -> Array:
        """Class probabilities: the weighted mean of those of the links in `links_`."""
        p, q = self._pair(X, offset)
        return namespace(p).stack([q, p], axis=1)

    @by_parts
    def predict_log_proba(self, X: Any, offset: ArrayLike | None = None) -> Array:
        """The logarithms of the class probabilities, finite also where a probability is too small for float64."""
        scores = self._scores(X, offset)
        xp, columns = namespace(scores), columns_of(scores)
        with np.errstate(all="ignore"):
            logs = [link._logs(score) for link, score in zip(self.links_, columns, strict=True)]
            log_p, log_q = (
                fn.logsumexp(xp.stack(side), axis=0, weight=self.weights_[:, None]) for side in zip(*logs, strict=True)
            )
            return xp.stack([log_q, log_p], axis=1) - fn.logaddexp(log_p, log_q)[:, None]

    @by_parts
    def decision_function(self, X: Any, offset: ArrayLike | None = None) -> Array:
        """The log-odds of the second class, limited to ±745; with a single link the score minus that of p = 1/2."""
        check_is_fitted(self)
        if self.link_ is not None:
            return super().decision_function(X, offset)
        p, q = self._pair(X, offset)
        with np.errstate(divide="ignore"):
            return namespace(p).clip(namespace(p).log(p) - namespace(p).log(q), -745.0, 745.0)

    def _pair(self, X: Any, offset: ArrayLike | None) -> tuple[Array, Array]:
        scores = columns_of(self._scores(X, offset))
        pairs = [link.inverse_pair(score) for link, score in zip(self.links_, scores, strict=True)]
        p, q = _weighted_sum(self.weights_, pairs)
        return p / (p + q), q / (p + q)  # the weights are rounded: their sum is not exactly 1


def _weighted_sum(weights: Array, pairs: Sequence[tuple[Array, Array]]) -> Sequence[Array]:
    xp = namespace(*pairs[0])
    if xp is np:
        return list(np.tensordot(weights, pairs, axes=1))
    weight = constant(weights, pairs[0][0])
    return [xp.tensordot(weight, xp.stack(side), axes=1) for side in zip(*pairs, strict=True)]


def _weights(loss: Array) -> Array:
    """Prior times exp(-loss/2), scaled to add up to 1, with negligible weights set to 0; the logistic fit is first."""
    if not np.isfinite(loss.min()):
        raise ValueError(
            "the held-out loss is infinite for every candidate; use a scoring loss that is finite at p = 0 and p = 1, "
            "such as the default (scoring=None)."
        )
    weights = np.exp(0.5 * (loss.min() - loss))
    weights[0] *= len(weights) - 1  # the logistic fit has half of the prior
    weights[weights < _LEAST_WEIGHT * weights.sum()] = 0.0
    return weights / weights.sum()
