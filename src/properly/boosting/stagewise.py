"""What both forms of AdaBoost share: rounds of weak learners, stages, and early stopping."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, asdict, dataclass
from itertools import accumulate
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from properly.boosting.rows import BestRound, Rows, check_rounds, scaled_weights
from properly.classifier import LogScoreClassifier, chosen, probabilities
from properly.inputs.finite import columns_named, refuse_dates
from properly.inputs.labels import checked_labels, require_two_classes
from properly.inputs.optional import require
from properly.inputs.options import check_interval
from properly.links import Logit
from properly.losses import BoostingLoss, Composite, LogLoss
from properly.numeric.arrays import require_values
from properly.numeric.limits import FARTHEST
from properly.numeric.probabilities import Array

_BOOSTING, _LOG = Composite(BoostingLoss(), Logit()), Composite(LogLoss())


@dataclass(frozen=True)
class StagedScores:
    """Mean scores after 1, 2, ... rounds; smaller is better for all of them.

    Attributes
    ----------
    exponential_loss : array of shape (n_rounds,)
        e^(-F) for the second class, e^F for the first: what AdaBoost minimises on its training rows.
    log_loss : array of shape (n_rounds,)
        -ln of the probability given to the row's class.
    error : array of shape (n_rounds,)
        The share of rows whose most probable class is not theirs. It may still fall when the probabilities, and so
        both losses, have long been getting worse.
    """

    exponential_loss: Array
    log_loss: Array
    error: Array

    def frame(self) -> Any:
        """The same as a data frame with the number of rounds as its index; needs the extra ``frames``."""
        pandas = require("pandas", "frames")
        rounds = pandas.RangeIndex(1, len(self.error) + 1, name="rounds")
        return pandas.DataFrame(asdict(self), index=rounds)


@dataclass(eq=False, repr=False)
class AdaBoost(LogScoreClassifier):
    """Weak learners fitted to reweighted rows, and F ← F + step · response."""

    _decisions_from_probabilities: ClassVar[bool] = False
    _longest: ClassVar[float]
    """No round changes F by more than this times the learning rate."""

    estimator: Any = None
    n_estimators: int = 100
    learning_rate: float = 1.0
    _: KW_ONLY
    early_stopping: bool = True
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    random_state: int | np.random.RandomState | None = None

    @abstractmethod
    def _response(self, learner: Any, X: Any) -> Array:
        """What the learner would add to F, but for the step size."""

    @abstractmethod
    def _step(self, response: Array, sign: Array, share: Array) -> float:
        """The step size for responses to rows of these signs and shares of the weight; 0 if no step lowers the loss."""

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, eval_set: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,), of two classes
        sample_weight : array of shape (n_samples,), optional
            Weight 2 means the row twice, weight 0 not at all; but with early stopping held-out rows are drawn one by
            one, so that a row given twice may be on both sides. A class whose rows all have weight 0 stays among
            ``classes_``, with probability 0.
        eval_set : (X, y) or (X, y, sample_weight), optional
            Held-out rows, instead of a part of the others.
        """
        self._check_options()
        require_values(X, "X")
        self.classes_, codes = checked_labels(y)
        refuse_dates(X)
        with columns_named(X):
            X, codes = validate_data(self, X, codes, **self._features_as())
        rows = Rows.training(X, codes, sample_weight, self.classes_)
        require_two_classes(self.classes_)
        if len(np.unique(rows.codes)) == 1:
            self._be_certain(bool(rows.codes[0] == 1))
            return self
        random = check_random_state(self.random_state)
        self._boost(*rows.divided(self, eval_set, random), random)
        return self

    def _be_certain(self, positive: bool) -> None:
        """Where all rows of positive weight have one class, it has probability 1."""
        self.start_ = 0.5 * (FARTHEST if positive else -FARTHEST)
        self.best_iteration_, self.steps_ = 0, np.empty(0)
        self.estimators_: list[Any] = []
        self.train_losses_, self.validation_losses_ = np.zeros(1), np.empty(0)

    def _boost(self, rows: Rows, held_out: Rows | None, random: np.random.RandomState) -> None:
        """Add learners until there are enough, the held-out loss no longer falls, or one is perfect."""
        parts = [rows] if held_out is None else [rows, held_out]
        negative, positive = np.bincount(rows.codes, scaled_weights(rows.weight))
        base = 0.5 * float(np.log(positive) - np.log(negative))
        scores = [np.zeros(len(part.codes)) for part in parts]
        losses = [
            [exponential_loss(part.codes == 1, F + base, part.weight)] for part, F in zip(parts, scores, strict=True)
        ]
        best, sign = BestRound(losses[-1][0], int(self.n_iter_no_change)), np.where(rows.codes == 1, 1.0, -1.0)
        learners, steps = [], []
        for rounds in range(1, int(self.n_estimators) + 1):
            weight, share = _reweighted(rows.weight, sign * scores[0])
            learner = self._learner(random).fit(rows.X, rows.codes, sample_weight=weight)
            response = self._response(learner, rows.X)
            step = self._step(response, sign, share)
            if step == 0.0:
                break
            learners.append(learner)
            steps.append(step)
            for part, F, history in zip(parts, scores, losses, strict=True):
                F += step * (response if part is rows else self._response(learner, part.X))
                history.append(exponential_loss(part.codes == 1, F, part.weight))
            if held_out is not None and best.exhausted(losses[1][-1], rounds) and self.early_stopping:
                break
            if np.all(step * sign * response >= self.learning_rate * self._longest):
                break  # every row is right by the longest step: all further rounds would repeat this one
        self.best_iteration_ = best.rounds if held_out is not None and self.early_stopping else len(steps)
        self.estimators_, self.steps_ = learners[: self.best_iteration_], np.array(steps[: self.best_iteration_])
        self.start_ = 0.0 if self.best_iteration_ else base
        if not self.best_iteration_:
            warnings.warn(
                "no weak learner lowers the exponential loss below that of the base rate, so that every row gets the "
                f"base rate, {positive / (negative + positive):.3g}; use other learners, features or more rows.",
                UserWarning,
                stacklevel=3,
            )
        self.train_losses_ = np.array(losses[0])
        self.validation_losses_ = np.array([] if held_out is None else losses[1])

    def _learner(self, random: np.random.RandomState) -> Any:
        """A new learner, with a seed for each of its random states, also those of estimators inside it."""
        learner = self._base()
        states = (name for name in sorted(learner.get_params()) if name.rpartition("__")[2] == "random_state")
        return learner.set_params(**{name: random.randint(np.iinfo(np.int32).max) for name in states})

    def _base(self) -> Any:
        return DecisionTreeClassifier(max_depth=1) if self.estimator is None else clone(self.estimator)

    def _check_options(self) -> None:
        check_rounds(self)
        check_interval(self.validation_fraction, "validation_fraction", 0.0, 1.0)
        learner = self._base()
        if not has_fit_parameter(learner, "sample_weight"):
            raise ValueError(
                f"estimator must take sample_weight, by which AdaBoost works; {type(learner).__name__}.fit does not."
            )

    def _features_as(self) -> dict[str, Any]:
        """How features are checked: missing values are refused unless the weak learner takes them."""
        finite = "allow-nan" if get_tags(self._base()).input_tags.allow_nan else True
        return {"accept_sparse": ("csr", "csc"), "dtype": (np.float64, np.float32), "ensure_all_finite": finite}

    def _read(self, X: Any) -> Any:
        check_is_fitted(self)
        with columns_named(X):
            return validate_data(self, X, reset=False, **self._features_as())

    def _additions(self, X: Any) -> Iterator[Array]:
        """What each round adds to F."""
        for learner, step in zip(self.estimators_, self.steps_.tolist(), strict=True):
            yield step * self._response(learner, X)

    def decision_function(self, X: Any) -> Array:
        """F, half the log-odds of the second class."""
        return 0.5 * self._log_scores(self._read(X))

    def _log_scores(self, X: Any) -> Array:
        return 2.0 * np.asarray(sum(self._additions(X), np.full(X.shape[0], self.start_)))

    @property
    def feature_importances_(self) -> Array:
        """The mean of the learners' importances, weighted by their steps; all 0 if no learner was kept."""
        check_is_fitted(self)
        if self.best_iteration_ and not hasattr(self.estimators_[0], "feature_importances_"):
            raise AttributeError(f"{type(self.estimators_[0]).__name__} has no feature_importances_.")
        total = sum(
            (step * each.feature_importances_ for each, step in zip(self.estimators_, self.steps_, strict=True))
        )
        return np.zeros(self.n_features_in_) + total / (self.steps_.sum() or 1.0)

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """`decision_function` after 1, 2, ... rounds."""
        return accumulate(self._additions(self._read(X)))

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """`predict_proba` after 1, 2, ... rounds."""
        return (probabilities(2.0 * F) for F in self.staged_decision_function(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """`predict` after 1, 2, ... rounds."""
        return (chosen(F, self.classes_) for F in self.staged_decision_function(X))

    def staged_scores(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> StagedScores:
        """Exponential loss, log loss and error on these rows after 1, 2, ... rounds.

        On rows that were not used in training the two losses turn upwards sooner or later, often while the error still
        falls.
        """
        rows = Rows.held_out(self._read(X), y, sample_weight, self.classes_, "y")
        positive, weight = rows.codes == 1, scaled_weights(rows.weight)
        scores = []
        for F in accumulate(self._additions(rows.X)):
            log_loss = np.average(_LOG.value(positive, 2.0 * F), weights=weight)
            error = np.average((F > 0.0) != positive, weights=weight)
            scores.append((exponential_loss(positive, F, weight), log_loss, error))
        return StagedScores(*np.array(scores).reshape(-1, 3).T)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        learner = get_tags(self._base()).input_tags
        tags.input_tags.allow_nan, tags.input_tags.sparse = learner.allow_nan, learner.sparse
        return tags


def _reweighted(weight: Array, margin: Array) -> tuple[Array, Array]:
    """weight · e^(-margin) with the mean 1, for learners that count rows by weight, and as shares of the sum."""
    reweighted = scaled_weights(weight) * np.exp(margin.min() - margin)
    total = reweighted.sum()
    return reweighted * (len(weight) / total), reweighted / total


def exponential_loss(positive: NDArray[np.bool_], F: Array, weight: Array) -> float:
    """The mean of e^(-F) over positive and e^F over other rows: half of boosting loss at the log-odds 2F."""
    return float(np.average(0.5 * _BOOSTING.value(positive, 2.0 * F), weights=scaled_weights(weight)))
