"""Boosters of several losses that share their trees for log loss, which come first whatever the loss.

`ProperBoostingClassifier` grows trees for log loss on all folds, then trees for the loss it was given, and a benchmark
of many losses would grow the former again and again. Here they are grown once; each loss goes on from there by the rule
of the library, and its trees are taken back afterwards. The result is that of separate fits; `check` compares them.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np

from properly.boosting import ProperBoostingClassifier
from properly.boosting.objective import Objective
from properly.boosting.training import Boosted, Fit, Growth, Judge, Limits, Trainer
from properly.links import Logit
from properly.losses import Composite, LogLoss, Loss

LOG_LOSS = Composite(LogLoss(), Logit())


class Scores:
    """The scores of new rows by each loss's booster, and how many trees for the loss itself were kept."""

    def __init__(self, X: Any, y: Any, new: Any, losses: dict[str, Loss], always: bool = False, **options: Any) -> None:
        """`always`: also after the trees that were best for the held-out rows, whether or not they were kept."""
        self.losses, self.always = losses, always
        self.scores: dict[str, np.ndarray] = {}
        self.always_scores: dict[str, np.ndarray] = {}
        self.kept: dict[str, int] = {}
        self.model, scores = ProperBoostingClassifier("log", **options), self

        def boost(trainer: Trainer, _: Any, positive: int, growths: list[Growth], limits: Limits) -> Boosted:
            return scores.boost(trainer, positive, growths, limits)

        self.read = lambda: self.model._read(new)
        with mock.patch.object(Trainer, "boost", boost):
            self.model.fit(X, y)

    def boost(self, trainer: Trainer, positive: int, growths: list[Growth], limits: Limits) -> Boosted:
        self.trainer, self.positive, self.limits, self.new = trainer, positive, limits, self.read()
        self.judge = trainer._judged(LOG_LOSS, positive, growths, limits)
        self.log_rounds, log_loss = self.judge.rounds, self.judge.labels.losses(LOG_LOSS, self.judge.scores())
        self.whole = self.fit(LOG_LOSS)
        for composite, rounds in self.judge.plan(trainer.more, limits.n_estimators):
            self.grow(self.whole, composite, rounds)
        self.log = self.predicted(self.whole)
        for name, loss in self.losses.items():
            self.tailor(name, Composite(loss, Logit()))
        mean = np.array([self.judge.labels.mean(log_loss)])
        text = self.whole.booster.model_to_string() if self.whole.trees else ""
        gains = np.zeros(trainer.n_features)
        return Boosted(
            text,
            self.whole.start,
            self.whole.trees,
            self.whole.trees,
            self.judge.growth,
            mean,
            mean,
            gains,
            self.judge.scores(),
        )

    def tailor(self, name: str, composite: Composite) -> None:
        """The second phase, and back again."""
        judge, labels = self.judge, self.judge.labels
        judge.composite, start = composite, self.whole.start.repeat(len(labels.target))
        now = labels.mean(labels.losses(composite, judge.scores()))
        judge.history = [labels.mean(labels.losses(composite, start)), *[now] * self.log_rounds]
        best: list[int] = []
        if self.always:
            judge._go_back = lambda rounds: best.append(rounds) or Judge._go_back(judge, rounds)  # type: ignore[method-assign]
        judge.tailor()
        more, most = self.trainer.more, self.limits.n_estimators
        second = judge.plan(more, most)[-1][1]
        self.kept[name] = second if judge.log_rounds or second else 0
        if judge.log_rounds == self.log_rounds:
            self.scores[name] = self.after(composite, second)
            if self.always:
                self.always_scores[name] = self.after(composite, min(round(more * (best[0] - self.log_rounds)), most))
            judge._go_back(self.log_rounds)
            return
        alone = self.fit(composite)  # from the base rate
        self.grow(alone, composite, second)
        self.scores[name] = self.always_scores[name] = self.predicted(alone)
        self.judge = Judge(self.trainer, judge.growth, self.trainer.pairs, LOG_LOSS, self.positive, self.limits)

    def after(self, composite: Composite, rounds: int) -> np.ndarray:
        before = len(self.whole.added) - 1
        self.grow(self.whole, composite, rounds)
        scores = self.predicted(self.whole)
        self.whole.go_back(before)
        return scores

    def fit(self, composite: Composite) -> Fit:
        return Fit(self.trainer, self.judge.growth, self.trainer.whole, None, composite, self.positive)

    def grow(self, fit: Fit, composite: Composite, rounds: int) -> None:
        objective = Objective(composite, fit.labels)
        for _ in range(rounds):
            fit.add(objective)

    def predicted(self, fit: Fit) -> np.ndarray:
        v = np.full(self.new.shape[0], fit.start[0])
        return (
            v + fit.booster.predict(self.new, raw_score=True, num_threads=1, num_iteration=fit.trees)
            if fit.trees
            else v
        )


def check(X: Any, y: Any, new: Any, loss: Loss, **options: Any) -> float:
    """The largest difference in log-odds from a fit of its own."""
    found = Scores(X, y, new, {"own": loss}, **options)
    own = ProperBoostingClassifier(loss, **options).fit(X, y)
    log = ProperBoostingClassifier("log", **options).fit(X, y)
    apart = np.abs(own.decision_function(new) - found.scores["own"]), np.abs(log.decision_function(new) - found.log)
    return float(np.max(apart))
