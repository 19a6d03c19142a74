"""Boosted scores: how trees grow and how many there are is judged on rows held out; then all rows are fitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from properly.boosting.objective import Labels, Objective
from properly.boosting.rows import BestForOthers, BestRound, Indices, Rows, scaled_weights
from properly.inputs.optional import require
from properly.losses import Composite, LogLoss
from properly.losses.softmax import AnyComposite
from properly.numeric.probabilities import Array

_LARGEST_PENALTY = 1e300  # as good as infinite
_ENOUGH_HELD_OUT = 10_000  # rows that tell ways of growing apart: with more, not all splits are tried with each

RowLosses = Callable[[Labels, AnyComposite, Array], Array]


class Growth(NamedTuple):
    """How trees grow."""

    num_leaves: int
    min_samples_leaf: int
    l2_regularization: float
    max_features: float  # the share of the features that each tree may use
    max_samples: float  # the share of the rows that each tree is fitted to
    extra_trees: bool  # whether one random threshold of each feature is tried, not all

    def params(self, mean_weight: float) -> dict[str, Any]:
        """In LightGBM's words. The objective makes the mean weight 1, and the penalty is worth rows of weight 1.

        LightGBM shrinks the leaves of splits between categories more than others, and splits between few rows of a
        category not at all; where leaves are not to be shrunk, neither are these.
        """
        with np.errstate(over="ignore"):
            penalty = min(float(np.float64(self.l2_regularization) / mean_weight), _LARGEST_PENALTY)
        return {
            "num_leaves": self.num_leaves,
            "min_data_in_leaf": self.min_samples_leaf,
            "lambda_l2": penalty,
            "feature_fraction": self.max_features,
            "bagging_fraction": self.max_samples,
            "bagging_freq": int(self.max_samples < 1.0),
            "extra_trees": self.extra_trees,
            **(
                {}
                if self.l2_regularization
                else {"cat_l2": 0.0, "cat_smooth": 1.0, "min_data_per_group": self.min_samples_leaf}
            ),
        }


class Limits(NamedTuple):
    """How many trees there may be."""

    n_estimators: int
    patience: int | None  # None keeps all trees
    log_first: bool


class Boosted(NamedTuple):
    """Scores, one or those of a softmax: `start` plus trees."""

    text: str  # the trees in LightGBM's own form; empty if there are none
    start: Array
    best_iteration: int
    log_iterations: int  # how many of the trees minimise log loss
    growth: Growth
    train_losses: Array
    validation_losses: Array
    gains: Array  # by which splits at each feature have lowered the loss
    held_out: Array  # the scores of held-out rows, split after split


class Part(NamedTuple):
    """Rows: their class codes, their weights, and their features as LightGBM has binned them."""

    codes: Indices
    weight: Array
    dataset: Any


class Trainer:
    """All rows, binned once, and pairs of training and held-out rows; several scores can be fitted to them in turn.

    `held_out` are rows given by the user; otherwise `splits` holds the numbers of training and held-out rows. With
    neither, nothing is judged, and all trees are kept.
    """

    def __init__(
        self,
        rows: Rows,
        n_classes: int,
        held_out: Rows | None,
        splits: Sequence[tuple[Indices, Indices]],
        categorical: list[int],
        params: dict[str, Any],
    ) -> None:
        self.lightgbm = require("lightgbm", "boosting")
        self.n_classes, self.params, self.mean_weight = n_classes, params, rows.weight.mean()
        self.whole = self._binned(rows, categorical_feature=categorical)
        self.whole.dataset.construct()
        if held_out is not None:
            self.pairs = [(self.whole, self._binned(held_out, reference=self.whole.dataset))]
        else:
            self.pairs = [(self._part(train), self._part(test)) for train, test in splits]
        # with more rows, the loss is smallest after more trees
        self.more = len(rows.codes) / max((len(train.codes) for train, _ in self.pairs), default=1)
        self.n_features = rows.X.shape[1]
        self.splittable = any(self.whole.dataset.feature_num_bin(feature) > 1 for feature in range(self.n_features))

    def _binned(self, rows: Rows, **options: Any) -> Part:
        labels = np.zeros(len(rows.codes))  # objective and losses have the labels, LightGBM needs none
        dataset = self.lightgbm.Dataset(rows.X, labels, params=self.params, **options)
        return Part(rows.codes, scaled_weights(rows.weight), dataset)

    def _part(self, rows: Indices) -> Part:
        rows, (codes, weight, dataset) = np.sort(rows), self.whole
        return Part(codes[rows], weight[rows], dataset.subset(rows, params=self.params).construct())

    def boost(self, composite: AnyComposite, positive: int, growths: Sequence[Growth], limits: Limits) -> Boosted:
        """Boost the score of the class with the code `positive`, or those of a softmax."""
        if not self.splittable:
            limits = limits._replace(n_estimators=0)
        judge = self._judged(composite, positive, growths, limits) if self.pairs else None
        growth = growths[0] if judge is None else judge.growth
        plan = [(composite, limits.n_estimators)] if judge is None else judge.plan(self.more, limits.n_estimators)
        fit = Fit(self, growth, self.whole, None, composite, positive)
        losses, log_trees = [fit.train_loss()], 0
        for part, rounds in plan:
            objective = Objective(part, fit.labels)
            for _ in range(rounds):
                if fit.add(objective):
                    losses.append(fit.train_loss())
            log_trees = fit.trees if isinstance(part.loss, LogLoss) else log_trees
        text, gains = "", np.zeros(self.n_features)
        if fit.trees:
            text = fit.booster.model_to_string(num_iteration=fit.trees)
            gains = fit.booster.feature_importance("gain", iteration=fit.trees)
        validation, held_out = (np.empty(0),) * 2 if judge is None else (np.array(judge.history), judge.scores())
        return Boosted(text, fit.start, fit.trees, log_trees, growth, np.array(losses), validation, gains, held_out)

    def _judged(self, composite: AnyComposite, positive: int, growths: Sequence[Growth], limits: Limits) -> Judge:
        """Trees on all splits, grown in the best way, as many as are best for held-out rows.

        The way of growing is that of the first phase: if it is log loss that comes first, the loss itself, which may
        depend on few of the rows, does not choose between them.
        """

        def grown(growth: Growth, pairs: Sequence[tuple[Part, Part]]) -> Judge:
            return Judge(self, growth, pairs, composite, positive, limits)

        held_out = np.cumsum([len(test.codes) for _, test in self.pairs])
        few = self.pairs[: int(np.searchsorted(held_out, _ENOUGH_HELD_OUT)) + 1] if len(growths) > 1 else self.pairs
        best = min((grown(growth, few) for growth in growths), key=lambda judge: judge.smallest)
        judge = best if len(few) == len(self.pairs) else grown(best.growth, self.pairs)
        judge.tailor()
        return judge


class Fit:
    """One booster: trees fitted to training rows, and the scores of held-out rows."""

    def __init__(
        self, trainer: Trainer, growth: Growth, train: Part, test: Part | None, composite: AnyComposite, positive: int
    ) -> None:
        self.composite, self.added = composite, [0]  # trees after each round
        parts = [train] if test is None else [train, test]
        self.labels, *self.held_out = (Labels(composite._targets(part.codes, positive), part.weight) for part in parts)
        self.start = self.labels.start(composite, trainer.n_classes)
        for part in parts:
            part.dataset.set_init_score(np.repeat(self.start, len(part.codes)))  # score after score
        params = {**trainer.params, **growth.params(trainer.mean_weight), "num_class": len(self.start)}
        self.booster = trainer.lightgbm.Booster(params, train.dataset)
        if test is not None:
            self.booster.add_valid(test.dataset, "held out")

    @property
    def trees(self) -> int:
        return self.added[-1]

    def add(self, objective: Objective) -> bool:
        """One round; whether there is a new tree: with few rows and a random choice of features there may be none.

        If the first round finds no split, LightGBM keeps a tree without any, so that there must not be another round.
        """
        grown = not (self.trees == 0 and len(self.added) > 1) and not self.booster.update(fobj=objective)
        self.added.append(self.trees + grown)
        return grown

    def go_back(self, rounds: int) -> None:
        for _ in range(self.trees - self.added[rounds]):
            self.booster.rollback_one_iter()
        del self.added[rounds + 1 :]

    def train_loss(self) -> float:
        return self.labels.mean(self.labels.losses(self.composite, _seen(self.booster.eval_train)))

    def scores(self) -> Array:
        """Of the held-out rows."""
        return _seen(self.booster.eval_valid)


def _seen(evaluate: Callable[[Any], Any]) -> Array:
    """The present scores, which LightGBM shows to metrics only."""
    scores: list[Array] = []

    def look(v: Array, _: Any) -> tuple[str, float, bool]:
        scores.append(v)
        return "nothing", 0.0, False

    evaluate(look)
    return scores[0]


class HeldOutLosses(NamedTuple):
    """Of each held-out row."""

    before: Array
    best: Array  # after the number of rounds at which their mean is smallest
    by_others: Array  # the same number, chosen for each split by the rows of the others


class Judge:
    """Boosters of all splits, which get their trees at the same time and are judged together on the held-out rows.

    The trees of the first phase, for log loss if that comes first, are added at once, and `smallest` is the mean loss
    after them.
    """

    def __init__(
        self,
        trainer: Trainer,
        growth: Growth,
        pairs: Sequence[tuple[Part, Part]],
        composite: AnyComposite,
        positive: int,
        limits: Limits,
    ) -> None:
        self.growth, self.composite, self.limits = growth, composite, limits
        self.fits = [Fit(trainer, growth, train, test, composite, positive) for train, test in pairs]
        self.labels = Labels.joined([fit.held_out[0] for fit in self.fits])
        self.log_rounds, self.rounds = 0, 0
        self.history = [self.labels.mean(self.labels.losses(composite, self.scores()))]
        log_first = limits.log_first and limits.patience is not None and _log_loss_comes_first(composite)
        self.first = _log_loss(composite) if log_first else composite
        self.smallest = self.labels.mean(self._grow(self.first).best)

    def scores(self) -> Array:
        """The scores of the held-out rows, split after split."""
        return np.concatenate([fit.scores() for fit in self.fits])

    def plan(self, more: float, most: int) -> list[tuple[AnyComposite, int]]:
        """Losses to be minimised and numbers of rounds, for `more` times as many rows, but at most so many each."""
        first, second = (min(round(more * rounds), most) for rounds in (self.log_rounds, self.rounds - self.log_rounds))
        later = [(self.composite, second)]
        return [(_log_loss(self.composite), first), *later] if first else later

    def tailor(self) -> None:
        """The second phase: trees for the loss itself, unless that was the first."""
        if self.first == self.composite:
            return
        self.log_rounds = self.rounds
        found = self._grow(self.composite, Labels.cautious_losses)
        if not self.labels.clearly_smaller(found.by_others, found.before):
            self._go_back(self.log_rounds)
        if not self.history[self.rounds] <= self.history[0]:  # larger than at the base rate
            self._go_back(0)
            self.log_rounds = 0
            self._grow(self.composite)

    def _grow(self, composite: AnyComposite, row_losses: RowLosses = Labels.losses) -> HeldOutLosses:
        """Add trees that minimise `composite`, then go back to the smallest mean of `row_losses`.

        Without patience, no trees are taken back.
        """
        n_estimators, patience = self.limits.n_estimators, self.limits.patience
        objectives = [Objective(composite, fit.labels) for fit in self.fits]
        before = smallest = row_losses(self.labels, composite, self.scores())
        by_others = BestForOthers(before, self.labels.weight, [len(fit.held_out[0].target) for fit in self.fits])
        best = BestRound(self.labels.mean(before), patience or n_estimators, self.rounds)
        same = composite == self.composite and row_losses is Labels.losses
        del self.history[self.rounds + 1 :]
        for _ in range(n_estimators):
            for fit, objective in zip(self.fits, objectives, strict=True):
                fit.add(objective)
            self.rounds += 1
            scores = self.scores()
            losses = row_losses(self.labels, composite, scores)
            watched = losses if same else self.labels.losses(self.composite, scores)
            self.history.append(self.labels.mean(watched))
            exhausted = best.exhausted(self.labels.mean(losses), self.rounds)
            by_others.look(losses)
            if best.rounds == self.rounds:
                smallest = losses
            if exhausted and patience is not None:
                break
        if patience is not None:
            self._go_back(best.rounds)
        return HeldOutLosses(before, smallest, by_others.losses if len(self.fits) > 1 else smallest)

    def _go_back(self, rounds: int) -> None:
        for fit in self.fits:
            fit.go_back(rounds)
        self.rounds = rounds


def _log_loss(composite: AnyComposite) -> AnyComposite:
    """Through the same link."""
    return Composite(LogLoss(), composite.link) if isinstance(composite, Composite) else composite.convex_companion


def _log_loss_comes_first(composite: AnyComposite) -> bool:
    """Not if it is the loss itself, and not if a finite score has p = 0 or 1, where log loss would be infinite."""
    if not isinstance(composite, Composite) or isinstance(composite.loss, LogLoss):
        return False
    return bool(np.isinf(composite.link.link([0.0, 1.0])).all())
