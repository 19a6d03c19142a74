"""AdaBoost as what it is: stagewise minimisation of the exponential loss, with its probabilities."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from properly.boosting.stagewise import AdaBoost
from properly.numeric.probabilities import Array


class DiscreteAdaBoost(AdaBoost):
    """Discrete AdaBoost: class probabilities from a weighted vote; two classes.

    Minimises the exponential loss, the mean of e^(-y F(x)) with y = ±1 (the smaller the better), stage by stage over
    F = Σ_m α_m h_m with h_m(x) = ±1 a weak learner's prediction: it is fitted to rows weighted by e^(-y F), and with
    its weighted error e the best step is α = ½ ln((1-e)/e). The exponential loss is proper (it is half of
    `BoostingLoss` at log-odds 2F), so F estimates half the log-odds, and p = 1/(1 + e^(-2F)).

    With many rounds F grows without end on the training rows and the probabilities go to 0 and 1: they become
    overconfident, even while the error still falls. The remedy is to stop when the loss of held-out rows no longer
    falls; `staged_scores` shows it.

    Mathematics: formula (1.13).

    Parameters
    ----------
    estimator : classifier or None, default None
        The weak learner, which must take ``sample_weight``; None means a stump, that is a tree with one split. The
        weights that it is given have the mean 1 in every round, so they count rows.
    n_estimators : int, default 100
        The largest number of rounds.
    learning_rate : float, default 1.0
        Factor on every step.
    early_stopping : bool, default True
        Whether to stop when the exponential loss of held-out rows has not fallen for `n_iter_no_change` rounds, and
        to go back to the round where it was smallest. False keeps all rounds.
    validation_fraction : float, default 0.1
        The part of each class that is held out (at least a row), unless `fit` is given an `eval_set`. If a class
        has a single row, nothing is, and there is no early stopping.
    n_iter_no_change : int, default 10
    random_state : int, RandomState or None, default None
        Draws the held-out rows and seeds the weak learners, and every estimator inside them.

    Attributes
    ----------
    classes_ : array of shape (2,)
    estimators_ : list of the fitted learners that were kept
    steps_ : array, the step α of each
    best_iteration_ : int, how many were kept
    start_ : float
        What the learners add to: 0, or half the log-odds of the base rate if no learner was kept.
    train_losses_, validation_losses_ : arrays
        Mean exponential loss of the base rate and after 1, 2, ... rounds, including those not kept; the latter is empty
        if nothing was held out.

    Notes
    -----
    A learner without any error would get an infinite step. No step is longer than 4 (times the learning rate), which
    an error of 0.03 % would give; and a learner without any error is the last. A learner with an error of ½ or more is
    left out and ends the fit. If no learner is kept, because the first is left out or because the loss of the held-out
    rows never falls below that of the base rate, every row gets the base rate, with a warning.

    With the same learners this is `sklearn.ensemble.AdaBoostClassifier`, except that its probabilities are those of F
    divided by the sum of the steps.

    References
    ----------
    Freund & Schapire (1997), Journal of Computer and System Sciences 55; Friedman, Hastie & Tibshirani (2000), The
    Annals of Statistics 28; Buja, Stuetzle & Shen (2005).

    Examples
    --------
    >>> from properly.datasets import make_rare_events
    >>> X, y, _ = make_rare_events(4000, 3, rate=0.3, random_state=0)
    >>> model = DiscreteAdaBoost(random_state=0).fit(X, y)
    >>> bool(model.validation_losses_[model.best_iteration_] < model.validation_losses_[0])
    True
    """

    _longest: ClassVar[float] = 4.0

    def _response(self, learner: Any, X: Any) -> Array:
        return 2.0 * (learner.predict(X) == 1) - 1.0

    def _step(self, response: Array, sign: Array, share: Array) -> float:
        error = float(share[response != sign].sum())
        if error >= 0.5:
            return 0.0
        step = 0.5 * np.log((1.0 - error) / error) if error > 0.0 else np.inf
        return float(self.learning_rate * min(step, self._longest))


class RealAdaBoost(AdaBoost):
    """Real AdaBoost: class probabilities from the sum of weak learners' log-odds; two classes.

    As `DiscreteAdaBoost` it minimises the exponential loss, the mean of e^(-y F(x)) with y = ±1, but each round uses
    the probabilities of the weak learner and not just its predictions: h(x) = ½ ln(p(x)/(1-p(x))), the best that can
    be added in a region where a share p of the weight e^(-y F) is positive. F estimates half the log-odds, and
    p = 1/(1 + e^(-2F)).

    Parameters
    ----------
    estimator : classifier or None, default None
        The weak learner, which must take ``sample_weight`` and give probabilities; None means a stump.
    n_estimators, learning_rate, early_stopping, validation_fraction, n_iter_no_change, random_state
        As for `DiscreteAdaBoost`.

    Attributes
    ----------
    classes_, estimators_, best_iteration_, start_, train_losses_, validation_losses_ : as for `DiscreteAdaBoost`
    steps_ : array, the learning rate for every learner kept

    Notes
    -----
    A region with rows of one class only would add infinite log-odds, though often it just has few rows. Therefore |h|
    is at most 2, as if the other class had 1.8 % of the region; where it has less, further rounds add more. A learner
    that gives all rows their class with |h| = 2 is the last. One that does not lower the exponential loss is left out
    and ends the fit. If no learner is kept, every row gets the base rate, with a warning.

    References
    ----------
    Schapire & Singer (1999), Machine Learning 37; Friedman, Hastie & Tibshirani (2000), The Annals of Statistics 28.

    Examples
    --------
    >>> from properly.datasets import make_rare_events
    >>> X, y, _ = make_rare_events(4000, 3, rate=0.3, random_state=0)
    >>> model = RealAdaBoost(random_state=0).fit(X, y)
    >>> model.staged_scores(X, y).error.shape == (model.best_iteration_,)
    True
    """

    _longest: ClassVar[float] = 2.0

    def _check_options(self) -> None:
        super()._check_options()
        learner = self._base()
        if not hasattr(learner, "predict_proba"):
            raise ValueError(
                f"estimator must have predict_proba, which {type(learner).__name__} lacks; use DiscreteAdaBoost."
            )

    def _response(self, learner: Any, X: Any) -> Array:
        p = np.asarray(learner.predict_proba(X), dtype=np.float64)
        # A learner whose training rows were of one class has a single column.
        negative, positive = (p[:, learner.classes_ == code].sum(axis=1) for code in (0, 1))
        with np.errstate(divide="ignore"):
            return np.clip(0.5 * (np.log(positive) - np.log(negative)), -self._longest, self._longest)

    def _step(self, response: Array, sign: Array, share: Array) -> float:
        falls = np.sum(share * np.exp(-self.learning_rate * sign * response)) < 1.0
        return float(self.learning_rate) if falls else 0.0
