"""Linear models tailored to one decision: a loss concentrated at its threshold, as far as held-out rows support it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from properly import kernels
from properly.engines import Engine
from properly.linear.cross_validation import CrossValidated, with_splits
from properly.linear.fitting import Fit, Penalty
from properly.links import Link, Logit
from properly.losses import BetaLoss, Composite, LogLoss
from properly.numeric.arrays import Array, as_float, is_foreign, namespace

_JUDGE = 30.0  # concentration of the loss that judges: in between, so that noise is small and c is what matters


@dataclass(eq=False, repr=False)
class TailoredLinearClassifierCV(CrossValidated):
    """A linear model for decisions at one threshold; two classes only.

    If a false alarm costs c and a miss 1 - c, the best decision is to act where the probability of the second class is
    at least c, and only that comparison matters. Logistic regression fits all probabilities at once; where it is not
    quite the true model, it loses accuracy at the threshold. The loss `BetaLoss.tailored(c, concentration)` with the
    logit link concentrates on probabilities near c. The more it does, the fewer rows influence the fit, so the
    concentration is chosen here on held-out rows.

    All candidates are judged by one loss, `BetaLoss.tailored(c, 30)`: it looks at thresholds around c, and so it is far
    less noisy than the cost-weighted error at c itself. The candidate with the smallest mean is taken if it is better
    than logistic regression (concentration 0, always a candidate) by more than the standard error of their difference
    over the splits. A tie keeps the less concentrated model. One standard error is a weak criterion: with few rows
    near the threshold, chance alone satisfies it now and then.

    Minimised is C · Σ_i weight_i · loss(y_i, x_i·w + b) + ½‖w‖², with the intercept b free.

    Parameters
    ----------
    at : float
        The threshold c, strictly between 0 and 1: the cost of a false alarm where that of a miss is 1 - c.
    concentrations : sequence of float, default (3, 10, 30, 100)
        The candidates besides 0. The loss weights probabilities within about ±2 √(c (1-c) / concentration) of c.
    C : float, default 10.0
        Inverse strength of a ridge penalty, as in `ProperLinearClassifier`. A weak one is needed: the more
        concentrated the loss, the less it limits large coefficients.
    cv : int, splitter, or iterable of (train, held-out) row indices, default 5
        An int means as many stratified folds in the order of the rows, or one per row of the rarest class if it has
        fewer. There must be at least two splits. For rows that are not in memory: `properly.engines.KeyedFolds`.
    fit_intercept : bool, default True
    tol : float, default 1e-8
    max_iter : int, default 100
        For each fit, as in `ProperLinearClassifier`.

    Attributes
    ----------
    concentration_ : float
        The one chosen; 0 is logistic regression.
    concentrations_ : array of shape (n_candidates,)
        All candidates, in ascending order.
    scores_ : array of shape (n_candidates,)
        The mean loss of held-out rows, by `BetaLoss.tailored(at, 30)`.
    split_scores_ : array of shape (n_splits, n_candidates)
        The same for every split.
    standard_errors_ : array of shape (n_candidates,)
        Of the difference in `scores_` between each candidate and logistic regression.
    classes_, coef_, intercept_, link_, n_iter_, solutions_ : as in `ProperLinearClassifier`

    Notes
    -----
    Tailored losses are not convex, and flat far from c. Each fit therefore starts from the logistic one and follows its
    optimum as the concentration grows. Probabilities far from `at` are extrapolated and may be poor; use another model
    for them. `predict` gives the most probable class, as everywhere; to decide at the threshold, compare
    ``predict_proba(X)[:, 1]`` with `at`.

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

    only_two_classes: ClassVar[bool] = True

    at: float
    concentrations: Sequence[float] = (3.0, 10.0, 30.0, 100.0)
    _: KW_ONLY
    C: float = 10.0
    cv: Any = 5

    def _check_options(self) -> None:
        Penalty.of(self.C)
        self._candidates()

    def _fits(self, engine: Engine, classes: NDArray[Any], class_weight: Array) -> tuple[Sequence[Fit], Link | None]:
        candidates, engine = self._candidates(), with_splits(self.cv, engine)
        (logistic,) = self._path(engine, candidates[:1])
        losses, weight = self._held_out(engine, candidates, logistic)
        chosen = _best_or_first(losses, weight)
        self.concentrations_, self.concentration_ = candidates, float(candidates[chosen])
        self.scores_ = losses.sum(axis=0) / weight.sum()
        self.split_scores_ = losses / weight[:, None]
        self.standard_errors_ = np.array([_standard_error(losses[:, 0] - other, weight) for other in losses.T])
        *_, fit = self._path(engine, candidates[: chosen + 1], logistic)
        return [fit], Logit()

    def _certain(self, engine: Engine, classes: NDArray[Any], class_weight: Array) -> tuple[Sequence[Fit], Link | None]:
        self.concentrations_, self.concentration_ = self._candidates(), 0.0
        self.scores_ = self.standard_errors_ = np.zeros(len(self.concentrations_))  # no row has a loss
        self.split_scores_ = np.empty((0, len(self.concentrations_)))
        return super()._certain(engine, classes, class_weight)

    def _candidates(self) -> Array:
        """The concentrations to try, starting with 0."""
        given = as_float(self.concentrations, "concentrations")
        if given.ndim != 1:
            raise ValueError(f"concentrations must be a sequence of numbers, got {self.concentrations!r}.")
        for concentration in (0.0, *given.tolist()):
            BetaLoss.tailored(self.at, concentration)  # checks both
        return np.union1d(0.0, given)

    def _path(self, engine: Engine, concentrations: Array, start: Fit | None = None) -> Iterator[Fit]:
        """The fits for ascending concentrations, each started from the one before it."""
        data = self._described(engine, engine.reduce(kernels.classes, 2).weight)
        for concentration in concentrations.tolist():
            loss = BetaLoss.tailored(self.at, concentration) if concentration else LogLoss()
            begin = None if start is None else (start.coef, start.intercept)
            start = self._fit_one(data, Composite(loss, Logit()), Penalty.of(self.C), start=begin)
            yield start

    def _held_out(self, engine: Engine, candidates: Array, logistic: Fit) -> tuple[Array, Array]:
        """For every split the summed loss of each candidate, and the weight of the held-out rows."""
        weight = engine.reduce(kernels.fold_weights, 2).held_out.sum(axis=1)
        if len(weight) < 2:
            raise ValueError("cv must give at least two splits, got 1: the standard error is computed between splits.")
        judge = Composite(BetaLoss.tailored(self.at, _JUDGE), Logit())
        losses = np.empty((len(weight), len(candidates)))
        for split in range(len(weight)):
            fits = list(self._path(engine.training(split), candidates, logistic))
            coef = np.column_stack(
                [np.concatenate([fit.coef for fit in fits]), np.concatenate([fit.intercept for fit in fits])]
            )
            losses[split] = engine.reduce(_held_out_losses, judge, split, coef).total
        return losses, weight


@dataclass
class _Losses(kernels.Statistic):
    """The summed losses of several candidates."""

    total: Array


def _held_out_losses(block: kernels.Block, judge: Composite, split: int, coef: Array) -> _Losses:
    held_out = cast("NDArray[np.int8]", block.fold)[:, split] < 0
    if is_foreign(block.X):
        weight = namespace(held_out).astype(held_out, namespace(held_out).float64)
        weight = weight if block.weight is None else weight * block.weight
        v = kernels.linear_scores(block.X, coef)
        v = v if block.offset is None else v + block.offset[:, None]
        return _Losses(weight @ judge.value(block.y[:, None], v))
    v = kernels.linear_scores(block.X[held_out], coef)
    if block.offset is not None:
        v = v + block.offset[held_out, None]
    losses = judge.value(block.y[held_out, None], v)
    return _Losses(np.sum(losses if block.weight is None else block.weight[held_out, None] * losses, axis=0))


def _best_or_first(losses: Array, weight: Array) -> int:
    """The candidate with the smallest loss, or the first if that is not better by more than the standard error."""
    best = int(losses.sum(axis=0).argmin())
    gain = losses[:, 0] - losses[:, best]
    return best if gain.sum() / weight.sum() > _standard_error(gain, weight) else 0


def _standard_error(gain: Array, weight: Array) -> float:
    """The standard error of Σ gain / Σ weight over splits that are taken as independent.

    It is computed from splits rather than rows, so that neither the unit of the weights nor repeated rows matter.
    """
    residual = gain - weight * (gain.sum() / weight.sum())
    n_splits = len(weight)
    return float(np.sqrt(n_splits / (n_splits - 1) * np.sum(residual**2)) / weight.sum())
