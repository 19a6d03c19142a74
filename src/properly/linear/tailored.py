"""Linear models tailored to one decision: a loss concentrated at its threshold, as far as held-out costs support it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from properly import kernels
from properly.engines.base import Engine
from properly.engines.memory import MemoryEngine
from properly.engines.select import training_engine
from properly.linear.cross_validation import with_splits
from properly.linear.fitting import (
    Data,
    Fit,
    Penalty,
    check_limits,
    fit_linear,
    require_two_classes,
    warn_about,
    weight_by_class,
)
from properly.linear.prediction import LinearPredictor
from properly.links import Logit
from properly.losses import BetaLoss, Composite, CostWeightedLoss, LogLoss
from properly.numeric.probabilities import Array, as_float


class TailoredLinearClassifierCV(LinearPredictor):
    """A linear model for decisions at one threshold; two classes only.

    If a false alarm costs c and a miss 1 - c, the best decision is to act where the probability of the second class is
    at least c, and all that matters is to be right about that. Logistic regression cares about all probabilities at
    once; where it is not quite the true model, it gives away accuracy at the threshold. The loss
    `BetaLoss.tailored(c, concentration)` with the logit link cares about probabilities near c alone, the more
    so the more concentrated it is. It then uses fewer of the rows, so the concentration is chosen here by the mean
    cost-weighted error y (1-c) 1[p < c] + (1-y) c 1[p >= c] of held-out rows (the smaller the better).

    That error is noisy, so logistic regression (concentration 0) is always the first candidate, and each more
    concentrated one replaces the choice so far only if it is cheaper by more than the standard error of
    their difference over the splits. A tie leaves the less concentrated model in place. One standard error is a low
    bar: with few rows near the threshold, chance alone clears it now and then.

    Minimised is C · Σ_i weight_i · loss(y_i, x_i·w + b) + ½‖w‖², with the intercept b free.

    Parameters
    ----------
    at : float
        The threshold c, strictly between 0 and 1: the cost of a false alarm where that of a miss is 1 - c.
    concentrations : sequence of float, default (3, 10, 30, 100)
        The candidates besides 0. The loss looks about ±2 √(c (1-c) / concentration) around c.
    C : float, default 10.0
        Inverse strength of a ridge penalty, as in `ProperLinearClassifier`. A little of it is needed: the more
        concentrated the loss, the less it minds large coefficients.
    cv : int, splitter, or iterable of (train, judge) row indices, default 5
        An int means as many stratified folds in the order of the rows, or one per row of the rarest class if it has
        fewer. There must be two splits at least.
    fit_intercept : bool, default True
    tol : float, default 1e-8
    max_iter : int, default 100
        For each fit, as in `ProperLinearClassifier`.

    Attributes
    ----------
    concentration_ : float
        The one chosen; 0 is logistic regression.
    concentrations_ : array of shape (n_candidates,)
        All that were tried, in growing order.
    scores_ : array of shape (n_candidates,)
        The mean cost-weighted error of held-out rows.
    split_scores_ : array of shape (n_splits, n_candidates)
        The same for every split.
    standard_errors_ : array of shape (n_candidates,)
        Of the difference in `scores_` between each candidate and logistic regression.
    classes_, coef_, intercept_, link_, n_iter_, solutions_ : as in `ProperLinearClassifier`

    Notes
    -----
    Tailored losses are not convex, and flat far from c. Each fit therefore begins at the logistic one and follows its
    optimum as the concentration grows. Away from `at` the probabilities are those of a line fitted elsewhere;
    use another model for them. `predict` gives the most probable class, as everywhere; to decide at the threshold,
    compare ``predict_proba(X)[:, 1]`` with `at`.

    References
    ----------
    Buja, Stuetzle & Shen (2005), Loss functions for binary class probability estimation and classification; Hand &
    Vinciotti (2003), The American Statistician 57.

    Examples
    --------
    The contours of P(y=1|x) = x₂/(x₁+x₂) are lines, but not parallel ones:

    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((3000, 2))
    >>> y = rng.random(3000) < X[:, 1] / X.sum(axis=1)
    >>> model = TailoredLinearClassifierCV(at=0.3).fit(X, y)
    >>> bool(model.concentration_ > 0)
    True
    """

    def __init__(
        self,
        at: float,
        concentrations: Sequence[float] = (3.0, 10.0, 30.0, 100.0),
        *,
        C: float = 10.0,
        cv: Any = 5,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 100,
    ) -> None:
        self.at = at
        self.concentrations = concentrations
        self.C = C
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Choose the concentration and fit; arguments as in `ProperLinearClassifier`, streams excepted."""
        candidates = self._candidates()
        engine, classes = training_engine(self, X, y, sample_weight, offset)
        weight_by_class(engine, classes)
        require_two_classes(classes)
        engine = with_splits(self.cv, engine)
        (logistic,) = self._path(engine, candidates[:1])
        held_out, judged = self._held_out(engine, candidates, logistic)
        chosen = _least_concentrated(held_out, judged)
        *_, fit = self._path(engine, candidates[: chosen + 1], logistic)
        self.classes_ = classes
        self.concentrations_, self.concentration_ = candidates, float(candidates[chosen])
        self.scores_ = held_out.sum(axis=0) / judged.sum()
        self.split_scores_ = held_out / judged[:, None]
        self.standard_errors_ = np.array([_standard_error(held_out[:, 0] - costs, judged) for costs in held_out.T])
        self.coef_, self.intercept_, self.link_ = fit.coef, fit.intercept, Logit()
        self.solutions_ = [fit.solution]
        self.n_iter_ = np.array([fit.solution.n_iter])
        warn_about(fit, self.tol, self.max_iter)
        return self

    def _candidates(self) -> Array:
        """The concentrations to try, beginning with 0; every option is checked on the way."""
        Penalty.of(self.C)
        check_limits(self.tol, self.max_iter, self.fit_intercept)
        given = as_float(self.concentrations, "concentrations")
        if given.ndim != 1:
            raise ValueError(f"concentrations must be a sequence of numbers, got {self.concentrations!r}.")
        for concentration in (0.0, *given.tolist()):
            BetaLoss.tailored(self.at, concentration)  # refuses what cannot be
        return np.union1d(0.0, given)

    def _path(self, engine: Engine, concentrations: Array, start: Fit | None = None) -> Iterator[Fit]:
        """The fits along growing concentrations, each begun where the one before it ended."""
        data = Data.describe(engine, engine.reduce(kernels.classes, 2).weight, self.fit_intercept)
        for concentration in concentrations.tolist():
            loss = BetaLoss.tailored(self.at, concentration) if concentration else LogLoss()
            start = fit_linear(
                data,
                Composite(loss, Logit()),
                Penalty.of(self.C),
                fit_intercept=self.fit_intercept,
                start=None if start is None else (start.coef, start.intercept),
                tol=self.tol,
                max_iter=self.max_iter,
            )
            yield start

    def _held_out(self, engine: MemoryEngine, candidates: Array, logistic: Fit) -> tuple[Array, Array]:
        """For every split the summed cost of each candidate, and the weight of the rows that judge."""
        fold, cost = cast("NDArray[np.int8]", engine.fold), Composite(CostWeightedLoss(self.at), Logit())
        n_splits = fold.shape[1]
        if n_splits < 2:
            raise ValueError("cv must give two splits at least, got 1: a single one does not show how far it may err.")
        costs, judged = np.empty((n_splits, len(candidates))), np.empty(n_splits)
        for split in range(n_splits):
            rows = np.flatnonzero(fold[:, split] < 0)
            fits = list(self._path(engine.training(split), candidates, logistic))
            v = engine.X[rows] @ np.concatenate([fit.coef for fit in fits]).T
            v = v + np.concatenate([fit.intercept for fit in fits])
            if engine.offset is not None:
                v = v + engine.offset[rows, None]
            weight = np.ones(len(rows)) if engine.weight is None else engine.weight[rows]
            # Added up row by row, so that equal decisions have equal costs to the last digit: a tie must be a tie.
            costs[split] = np.sum(weight[:, None] * cost.value(engine.y[rows, None], v), axis=0)
            judged[split] = weight.sum()
        return costs, judged

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _least_concentrated(held_out: Array, judged: Array) -> int:
    """The candidate after which none is cheaper by more than the standard error of the difference."""
    chosen = 0
    for candidate in range(1, held_out.shape[1]):
        gain = held_out[:, chosen] - held_out[:, candidate]
        if gain.sum() / judged.sum() > _standard_error(gain, judged):
            chosen = candidate
    return chosen


def _standard_error(gain: Array, judged: Array) -> float:
    """Of the ratio Σ gain / Σ judged over splits that count as independent.

    From splits rather than rows: so neither the unit of the weights nor repeated rows matter.
    """
    residual = gain - judged * (gain.sum() / judged.sum())
    n_splits = len(judged)
    return float(np.sqrt(n_splits / (n_splits - 1) * np.sum(residual**2)) / judged.sum())
