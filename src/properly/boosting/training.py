"""One boosted score: trees added by LightGBM for as long as held-out rows gain from them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from properly.boosting.objective import Labels, Objective
from properly.boosting.rows import Best, Rows
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
    """Rows to boost and rows to judge by, binned once; several scores can be fitted to them in turn."""

    def __init__(self, rows: Rows, held_out: Rows | None, categorical: list[int], params: dict[str, Any]) -> None:
        self.lightgbm, self.rows, self.held_out = require("lightgbm", "boosting"), rows, held_out
        # The penalty is worth so many rows of weight 1; the objective makes the mean weight 1.
        with np.errstate(over="ignore"):
            penalty = min(float(params["lambda_l2"] / rows.weight.mean()), _LARGEST)
        self.params = {**params, "lambda_l2": penalty}
        self.train = self._dataset(rows, categorical_feature=categorical)
        self.judge = None if held_out is None else self._dataset(held_out, reference=self.train)
        self.train.construct()
        self.splittable = any(self.train.feature_num_bin(feature) > 1 for feature in range(rows.X.shape[1]))

    def _dataset(self, rows: Rows, **options: Any) -> Any:
        nothing = np.zeros(len(rows.codes))  # objective and losses know the labels, LightGBM need not
        return self.lightgbm.Dataset(rows.X, nothing, params=self.params, **options)

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
            if not run.better_than_base_rate():
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
    """A booster at work."""

    def __init__(self, trainer: Trainer, composite: Composite, positive: int) -> None:
        self.composite, self.kept = composite, 0
        parts = [(trainer.rows, trainer.train)]
        if trainer.held_out is not None:
            parts.append((trainer.held_out, trainer.judge))
        self.labels = [Labels.of(rows.codes == positive, rows.weight) for rows, _ in parts]
        self.start = float(composite.link.link(*self.labels[0].rates))
        for rows, dataset in parts:
            dataset.set_init_score(np.full(len(rows.codes), self.start))
        self.booster = trainer.lightgbm.Booster(trainer.params, trainer.train)
        for _, dataset in parts[1:]:
            self.booster.add_valid(dataset, "held out")
        self.n_features, self.splittable = trainer.rows.X.shape[1], trainer.splittable
        self.histories: list[list[float]] = [[] for _ in parts]
        self._note()

    def _note(self) -> None:
        """Append the losses of the moment."""
        for history, labels, v in zip(self.histories, self.labels, self._scores(), strict=True):
            history.append(labels.mean(labels.losses(self.composite, v)))

    def _scores(self) -> list[Array]:
        """The scores of the rows that train and of those that judge, which LightGBM shows to metrics only."""
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
        for _ in range(n_estimators if self.splittable else 0):
            if self.booster.update(fobj=objective):
                return  # no leaf can be split any more
            self.kept += 1
            self._note()
            yield self.kept

    def grow_while_better(
        self, composite: Composite, n_estimators: int, patience: int, row_losses: RowLosses = Labels.losses
    ) -> bool:
        """The same, but back to where held-out rows have the smallest mean of `row_losses`; whether it fell clearly."""
        judges = self.labels[1]
        first = smallest = row_losses(judges, composite, self._scores()[1])
        best = Best(judges.mean(first), patience, self.kept)
        for trees in self.grow(composite, n_estimators):
            losses = row_losses(judges, composite, self._scores()[1])
            exhausted = best.exhausted(judges.mean(losses), trees)
            if best.rounds == trees:
                smallest = losses
            if exhausted:
                break
        self.go_back(best.rounds)
        return judges.clearly_smaller(smallest, first)

    def better_than_base_rate(self) -> bool:
        """Whether the held-out loss is no larger than without any tree."""
        history = self.histories[1]
        return history[self.kept] <= history[0]

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
            self.booster.feature_importance("gain", iteration=self.kept) if self.kept else np.zeros(self.n_features),
        )
