"""One boosted score: trees of LightGBM for any composite loss, added while the loss of held-out rows falls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.boosting.rows import BestRound, Rows, scaled_weights
from properly.inputs.optional import require
from properly.links import Link
from properly.losses import Composite, LogLoss
from properly.numeric.limits import FARTHEST
from properly.numeric.probabilities import Array

_LONGEST = 100.0  # the longest step of a row in log-odds, before the learning rate
_FLATTEST = 1e-12  # times the curvature of log loss: a flatter loss counts as if it were as flat as this
_LARGEST = 1e30  # what LightGBM may be given, which calculates in float32
_LARGEST_PENALTY = 1e300  # as good as infinite


class Labels(NamedTuple):
    """Which rows are positive, and their weights: above 0, and scaled so that no sum overflows."""

    positive: NDArray[Any]  # bool
    weight: Array

    @property
    def rates(self) -> tuple[float, float]:
        """The base rate p and 1 - p, each accurate to its own last digits however unequal the weights."""
        positive, negative = float(self.weight[self.positive].sum()), float(self.weight[~self.positive].sum())
        return positive / (positive + negative), negative / (positive + negative)

    def mean(self, losses: Array) -> float:
        with np.errstate(invalid="ignore", over="ignore"):
            return float(np.average(losses, weights=self.weight))

    def losses(self, composite: Composite, v: Array) -> Array:
        with np.errstate(all="ignore"):
            return composite._value(self.positive, v)

    def cautious_losses(self, composite: Composite, v: Array) -> Array:
        """The expected losses if each of the n labels is wrong with probability 1/(n + 2).

        That none of n labels contradicts a forecast close to 0 or 1 does not mean that the next one will not: by
        Laplace's rule of succession it does with about this probability. It hardly matters unless the loss grows faster
        than log loss.
        """
        doubt = 1.0 / (len(self.positive) + 2.0)
        with np.errstate(all="ignore"):
            as_labelled, otherwise = composite._value(self.positive, v), composite._value(~self.positive, v)
            return (1.0 - doubt) * as_labelled + doubt * otherwise

    def clearly_smaller(self, losses: Array, before: Array) -> bool:
        """Whether the mean is smaller than before by more than two standard errors of the difference.

        Two, because the number of trees was chosen as the best of many on the same rows.
        An infinite loss is never smaller, a finite one always smaller than an infinite one.
        """
        if not np.isfinite(losses).all():
            return False
        if not np.isfinite(before).all():
            return True
        gain, share = before - losses, self.weight / self.weight.sum()
        mean = self.mean(gain)
        return mean > 2.0 * float(np.sqrt(np.sum((share * (gain - mean)) ** 2)))


class Objective:
    """Gradient and curvature of a composite for LightGBM, in the unit of log loss.

    A loss may be multiplied by any factor, but a ridge penalty depends on it: the factor is chosen so that the expected
    curvature, summed over the rows when the objective is first called, is that of log loss. The curvature of a row is
    then the largest of

    - the expected one, ω p'²;
    - the observed one, which makes the step Newton's where the composite is convex;
    - that of log loss through the same link, so that rows where the loss is nearly flat do not make long steps;
    - |gradient| / 100, so that no row, and so no leaf, makes a step of more than 100 (in log-odds at the base rate;
      Friedman, Hastie & Tibshirani (2000) bound the working response of LogitBoost for the same reason).

    With log loss and the logit the first three are one: p (1-p), LightGBM's own. Weights are divided by their mean, so
    that none is too small or too large for float32.
    """

    def __init__(self, composite: Composite, labels: Labels) -> None:
        self.composite, self.labels = composite, labels
        self.log_loss = Composite(LogLoss(), composite.link)
        self.longest = _LONGEST * _per_log_odds(composite.link, *labels.rates)
        self.scale: float | None = None
        self.weight = labels.weight / labels.weight.mean()
        self.weighted = bool(np.any(self.weight != 1.0))

    def __call__(self, v: Array, _: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        with np.errstate(all="ignore"):
            gradient, curvature = self._derivatives(v)
            curvature = np.maximum(curvature, np.abs(gradient) / self.longest)
            if self.weighted:
                gradient, curvature = gradient * self.weight, curvature * self.weight
            return _as_float32(gradient), _as_float32(curvature)

    def _derivatives(self, v: Array) -> tuple[Array, Array]:
        composite, positive = self.composite, self.labels.positive
        usual = self.log_loss._expected_curvature(positive, v)
        if composite == self.log_loss:
            return composite._gradient(positive, v), usual
        expected = composite._expected_curvature(positive, v)
        if self.scale is None:
            total, own = self.labels.mean(usual), self.labels.mean(expected)
            self.scale = total / max(own, _FLATTEST * total) if total > 0.0 else 0.0
        curvature = np.maximum(expected, composite._observed_curvature(positive, v))
        return self.scale * composite._gradient(positive, v), np.maximum(self.scale * curvature, usual)


def _per_log_odds(link: Link, p: float, q: float) -> float:
    """dv/d(log-odds) at a probability; infinite, which bounds nothing, where the derivative underflows."""
    derivative = float(link.inverse_derivative(link.link(p, q)))
    return p * q / derivative if derivative > 0.0 else np.inf


def _as_float32(x: Array) -> NDArray[np.float32]:
    """Finite in any case: an exponential loss may overflow, and a curvature at the edge of a link's support."""
    return np.clip(np.nan_to_num(x), -_LARGEST, _LARGEST).astype(np.float32)


RowLosses = Callable[[Labels, Composite, Array], Array]


class Boosted(NamedTuple):
    """A score: `start` plus trees."""

    text: str  # the trees in LightGBM's own form; empty if there are none
    start: float
    best_iteration: int
    log_iterations: int  # how many of the trees minimise log loss
    train_losses: Array
    validation_losses: Array
    gains: Array  # by which splits at each feature have lowered the loss


class Trainer:
    """Training rows and held-out rows, binned once; several scores can be fitted to them in turn."""

    def __init__(self, rows: Rows, held_out: Rows | None, categorical: list[int], params: dict[str, Any]) -> None:
        self.lightgbm = require("lightgbm", "boosting")
        # The penalty is worth so many rows of weight 1; the objective makes the mean weight 1.
        with np.errstate(over="ignore"):
            penalty = min(float(params["lambda_l2"] / rows.weight.mean()), _LARGEST_PENALTY)
        self.params = {**params, "lambda_l2": penalty}
        train = self._dataset(rows, categorical_feature=categorical)
        self.parts = [(rows, train)]
        if held_out is not None:
            self.parts.append((held_out, self._dataset(held_out, reference=train)))
        train.construct()
        self.n_features = rows.X.shape[1]
        self.splittable = any(train.feature_num_bin(feature) > 1 for feature in range(self.n_features))

    def _dataset(self, rows: Rows, **options: Any) -> Any:
        labels = np.zeros(len(rows.codes))  # objective and losses have the labels, LightGBM needs none
        return self.lightgbm.Dataset(rows.X, labels, params=self.params, **options)

    def boost(
        self, composite: Composite, positive: int, n_estimators: int, patience: int | None, log_first: bool
    ) -> Boosted:
        """Boost the score of the class with this code; `patience` None keeps all trees.

        The score of a class that no row has, or every row, is ∓1e100, without trees.
        """
        has_class = self.parts[0][0].codes == positive
        if has_class.all() or not has_class.any():
            start = FARTHEST if has_class.all() else -FARTHEST
            return Boosted("", start, 0, 0, np.zeros(1), np.empty(0), np.zeros(self.n_features))
        run, log_loss = _Run(self, composite, positive), Composite(LogLoss(), composite.link)
        log_iterations = 0
        if patience is None:
            deque(run.grow(composite, n_estimators), maxlen=0)
        elif log_first and composite != log_loss and _reaches_all_probabilities(composite):
            run.grow_while_better(log_loss, n_estimators, patience)
            log_iterations = run.kept
            if not run.grow_while_better(composite, n_estimators, patience, Labels.cautious_losses):
                run.go_back(log_iterations)
            if not run.histories[1][run.kept] <= run.histories[1][0]:  # larger on held-out rows than at the base rate
                run.go_back(0)
                log_iterations = 0
                run.grow_while_better(composite, n_estimators, patience)
        else:
            run.grow_while_better(composite, n_estimators, patience)
        return run.result(run.kept if composite == log_loss else log_iterations)


def _reaches_all_probabilities(composite: Composite) -> bool:
    """Whether no score has p = 0 or 1: there, log loss would be infinite."""
    return bool(np.isinf(composite.link.link([0.0, 1.0])).all())


class _Run:
    """One score while it is boosted."""

    def __init__(self, trainer: Trainer, composite: Composite, positive: int) -> None:
        self.trainer, self.composite, self.kept = trainer, composite, 0
        self.labels = [Labels(rows.codes == positive, scaled_weights(rows.weight)) for rows, _ in trainer.parts]
        self.start = float(composite.link.link(*self.labels[0].rates))
        for rows, dataset in trainer.parts:
            dataset.set_init_score(np.full(len(rows.codes), self.start))
        (_, train), *held_out = trainer.parts
        self.booster = trainer.lightgbm.Booster(trainer.params, train)
        for _, dataset in held_out:
            self.booster.add_valid(dataset, "held out")
        self.histories: list[list[float]] = [[] for _ in trainer.parts]
        self._record()

    def _record(self) -> None:
        """Append the present mean losses."""
        for history, labels, v in zip(self.histories, self.labels, self._scores(), strict=True):
            history.append(labels.mean(labels.losses(self.composite, v)))

    def _scores(self) -> list[Array]:
        """The scores of the training rows and of the held-out ones, which LightGBM shows to metrics only."""
        scores: list[Array] = []

        def look(v: Array, _: Any) -> tuple[str, float, bool]:
            scores.append(v)
            return "nothing", 0.0, False

        self.booster.eval_train(look)
        self.booster.eval_valid(look)
        return scores

    def grow(self, composite: Composite, n_estimators: int) -> Iterator[int]:
        """Add trees that minimise `composite`, and give their number after each."""
        objective = Objective(composite, self.labels[0])
        for history in self.histories:
            del history[self.kept + 1 :]
        for _ in range(n_estimators if self.trainer.splittable else 0):
            if self.booster.update(fobj=objective):
                return  # no leaf can be split any more
            self.kept += 1
            self._record()
            yield self.kept

    def grow_while_better(
        self, composite: Composite, n_estimators: int, patience: int, row_losses: RowLosses = Labels.losses
    ) -> bool:
        """The same, then back to the smallest mean of `row_losses` over held-out rows; whether that fell clearly."""
        held_out = self.labels[1]
        first = smallest = row_losses(held_out, composite, self._scores()[1])
        best = BestRound(held_out.mean(first), patience, self.kept)
        for trees in self.grow(composite, n_estimators):
            losses = row_losses(held_out, composite, self._scores()[1])
            exhausted = best.exhausted(held_out.mean(losses), trees)
            if best.rounds == trees:
                smallest = losses
            if exhausted:
                break
        self.go_back(best.rounds)
        return held_out.clearly_smaller(smallest, first)

    def go_back(self, trees: int) -> None:
        for _ in range(self.kept - trees):
            self.booster.rollback_one_iter()
        self.kept = trees

    def result(self, log_iterations: int) -> Boosted:
        train, *held_out = (np.array(history) for history in self.histories)
        validation = held_out[0] if held_out else np.empty(0)
        text, gains = "", np.zeros(self.trainer.n_features)
        if self.kept:
            text = self.booster.model_to_string(num_iteration=self.kept)
            gains = self.booster.feature_importance("gain", iteration=self.kept)
        return Boosted(text, self.start, self.kept, min(log_iterations, self.kept), train, validation, gains)
