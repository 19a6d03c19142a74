"""One boosted score: trees added by LightGBM for as long as the loss of held-out rows falls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from properly.boosting.objective import Labels, Objective
from properly.boosting.rows import BestRound, Rows, scaled_weights
from properly.inputs.optional import require
from properly.losses import Composite, LogLoss
from properly.numeric.probabilities import Array

_LARGEST = 1e300  # a penalty as good as infinite
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
            penalty = min(float(params["lambda_l2"] / rows.weight.mean()), _LARGEST)
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
        """Boost the score of the class with this code; `patience` None keeps all trees."""
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
        return Boosted(
            self.booster.model_to_string(num_iteration=self.kept) if self.kept else "",
            self.start,
            self.kept,
            min(log_iterations, self.kept),
            train,
            held_out[0] if held_out else np.empty(0),
            self.booster.feature_importance("gain", iteration=self.kept)
            if self.kept
            else np.zeros(self.trainer.n_features),
        )
