"""What both forms of AdaBoost share: rounds of weak learners, stages, and early stopping."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from properly.boosting.rows import Best, Rows, check_interval, check_stopping, small_numbers, unpack_eval_set
from properly.inputs.labels import require_two_classes
from properly.inputs.optional import require
from properly.inputs.options import checked_count
from properly.links import Logit
from properly.losses import BoostingLoss, Composite, LogLoss
from properly.numeric.probabilities import Array

if TYPE_CHECKING:
    import pandas


class AdaBoost(ClassifierMixin, BaseEstimator):
    """Weak learners fitted to reweighted rows, and F ← F + step · response."""

    _longest: ClassVar[float]
    """No round changes F by more than this times the learning rate."""

    classes_: NDArray[Any]
    estimators_: list[Any]
    steps_: Array

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 100,
        learning_rate: float = 1.0,
        *,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state

    @abstractmethod
    def _response(self, learner: Any, X: Any) -> Array:
        """What the learner would add to F, but for the step size."""

    @abstractmethod
    def _step(self, response: Array, sign: Array, share: Array) -> float:
        """The step size for responses to rows of these signs and shares; 0 if there is nothing to gain."""

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, eval_set: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,), of two classes
        sample_weight : array of shape (n_samples,), optional
            Weight 2 means the row twice, weight 0 not at all.
        eval_set : (X, y) or (X, y, sample_weight), optional
            Rows to judge by, instead of a part of the others.
        """
        self._check_options()
        X, labels = validate_data(self, X, y, **self._features_as())
        rows, self.classes_ = Rows.checked(X, labels, sample_weight)
        require_two_classes(self.classes_)
        random, held_out = check_random_state(self.random_state), None
        if eval_set is not None:
            X, labels, weight = unpack_eval_set(eval_set)
            X = validate_data(self, X, reset=False, **self._features_as())
            held_out = Rows.held_out(X, labels, weight, self.classes_, "eval_set")
        elif self.early_stopping:
            rows, held_out = rows.split(self.validation_fraction, random)
        self._boost(rows, held_out, random)
        return self

    def _boost(self, rows: Rows, held_out: Rows | None, random: np.random.RandomState) -> None:
        """Add learners until their number, the held-out loss or a perfect one says stop."""
        best = Best(1.0, int(self.n_iter_no_change))
        sign, F = np.where(rows.codes == 1, 1.0, -1.0), np.zeros(len(rows.codes))
        judged = None if held_out is None else np.zeros(len(held_out.codes))
        learners, steps, losses, held_out_losses = [], [], [1.0], [1.0]
        for rounds in range(1, int(self.n_estimators) + 1):
            weight, share = _reweighted(rows.weight, sign * F)
            learner = self._learner(random).fit(rows.X, rows.codes, sample_weight=weight)
            response = self._response(learner, rows.X)
            step = self._step(response, sign, share)
            if step == 0.0:
                break
            learners.append(learner)
            steps.append(step)
            F += step * response
            losses.append(exponential_loss(rows.codes == 1, F, rows.weight))
            if held_out is not None and judged is not None:
                judged += step * self._response(learner, held_out.X)
                held_out_losses.append(exponential_loss(held_out.codes == 1, judged, held_out.weight))
                if best.exhausted(held_out_losses[-1], rounds) and self.early_stopping:
                    break
            if np.all(step * sign * response >= self.learning_rate * self._longest):
                break  # every row is right, as surely as can be: all further rounds would repeat this one
        self.best_iteration_ = best.rounds if held_out is not None and self.early_stopping else len(steps)
        self.estimators_, self.steps_ = learners[: self.best_iteration_], np.array(steps[: self.best_iteration_])
        self.train_losses_ = np.array(losses)
        self.validation_losses_ = np.array([] if held_out is None else held_out_losses)

    def _learner(self, random: np.random.RandomState) -> Any:
        """A new learner, with a seed for each of its random states, also those of estimators inside it."""
        learner = self._base()
        states = (name for name in sorted(learner.get_params()) if name.rpartition("__")[2] == "random_state")
        return learner.set_params(**{name: random.randint(np.iinfo(np.int32).max) for name in states})

    def _base(self) -> Any:
        return DecisionTreeClassifier(max_depth=1) if self.estimator is None else clone(self.estimator)

    def _check_options(self) -> None:
        checked_count(self.n_estimators, "n_estimators", 1)
        check_interval(self.learning_rate, "learning_rate", 0.0, np.inf)
        check_stopping(self.early_stopping, self.validation_fraction, self.n_iter_no_change)
        learner = self._base()
        if not has_fit_parameter(learner, "sample_weight"):
            raise ValueError(
                f"estimator must take sample_weight, which {type(learner).__name__}.fit does not; AdaBoost works by it."
            )

    def _features_as(self) -> dict[str, Any]:
        """How features are checked: a nan only passes if the weak learner knows what to do with it."""
        finite = "allow-nan" if get_tags(self._base()).input_tags.allow_nan else True
        return {"accept_sparse": ("csr", "csc"), "dtype": (np.float64, np.float32), "ensure_all_finite": finite}

    def _read(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, **self._features_as())

    def _additions(self, X: Any) -> Iterator[Array]:
        """What each round adds to F."""
        for learner, step in zip(self.estimators_, self.steps_.tolist(), strict=True):
            yield step * self._response(learner, X)

    def decision_function(self, X: Any) -> Array:
        """F, half the log-odds of the second class."""
        X = self._read(X)
        return np.asarray(sum(self._additions(X), np.zeros(X.shape[0])))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """`decision_function` after 1, 2, ... rounds."""
        return accumulate(self._additions(self._read(X)))

    def predict_proba(self, X: Any) -> Array:
        """(1 - p, p) with p = 1/(1 + e^(-2F)), each accurate to its own last digits."""
        return _probabilities(self.decision_function(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """`predict_proba` after 1, 2, ... rounds."""
        return (_probabilities(F) for F in self.staged_decision_function(X))

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of `predict_proba`, also where those underflow."""
        log_p, log_q = Logit()._logs(2.0 * self.decision_function(X))
        return np.column_stack((log_q, log_p))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        return self._labels(self.decision_function(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """`predict` after 1, 2, ... rounds."""
        return (self._labels(F) for F in self.staged_decision_function(X))

    def _labels(self, F: Array) -> NDArray[Any]:
        return np.asarray(self.classes_[(F > 0.0).astype(np.intp)])

    def staged_scores(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> StagedScores:
        """Exponential loss, log loss and error on these rows after 1, 2, ... rounds.

        On rows that did not train the two losses turn upwards sooner or later, often while the error still falls.
        """
        check_is_fitted(self)
        X, labels = validate_data(self, X, y, reset=False, **self._features_as())
        rows = Rows.held_out(X, labels, sample_weight, self.classes_, "y")
        return staged_scores(rows.codes == 1, accumulate(self._additions(rows.X)), rows.weight)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        learner = get_tags(self._base()).input_tags
        tags.input_tags.allow_nan, tags.input_tags.sparse = learner.allow_nan, learner.sparse
        return tags


def _reweighted(weight: Array, margin: Array) -> tuple[Array, Array]:
    """weight · e^(-margin) with the mean 1, for learners that count rows by weight, and as parts of 1."""
    reweighted = small_numbers(weight) * np.exp(margin.min() - margin)
    total = reweighted.sum()
    return reweighted * (len(weight) / total), reweighted / total


def _probabilities(F: Array) -> Array:
    p, q = Logit().inverse_pair(2.0 * F)
    return np.column_stack((q, p))


_BOOSTING, _LOG = Composite(BoostingLoss(), Logit()), Composite(LogLoss())


@dataclass(frozen=True)
class StagedScores:
    """Mean scores after 1, 2, ... rounds; the smaller the better, all of them.

    Attributes
    ----------
    exponential_loss : array of shape (n_rounds,)
        e^(-F) for the second class, e^F for the first: what AdaBoost minimises on its training rows.
    log_loss : array of shape (n_rounds,)
        -ln of the probability given to the row's class.
    error : array of shape (n_rounds,)
        The share of rows whose most probable class is not theirs. It may go on falling when the probabilities, that
        is both losses, have long become worse.
    """

    exponential_loss: Array
    log_loss: Array
    error: Array

    def frame(self) -> pandas.DataFrame:
        """The same as a data frame with the number of rounds as its index; needs the extra ``frames``."""
        pandas = require("pandas", "frames")
        rounds = pandas.RangeIndex(1, len(self.error) + 1, name="rounds")
        return pandas.DataFrame(asdict(self), index=rounds)


def exponential_loss(positive: NDArray[np.bool_], F: Array, weight: Array) -> float:
    """The mean of e^(-F) over positive and e^F over other rows: half of boosting loss at the log-odds 2F."""
    return float(np.average(0.5 * _BOOSTING.value(positive, 2.0 * F), weights=small_numbers(weight)))


def staged_scores(positive: NDArray[np.bool_], stages: Iterable[Array], weight: Array) -> StagedScores:
    """The scores of the values of F after each round."""
    weight = small_numbers(weight)
    scores = [
        (
            exponential_loss(positive, F, weight),
            np.average(_LOG.value(positive, 2.0 * F), weights=weight),
            np.average((F > 0.0) != positive, weights=weight),
        )
        for F in stages
    ]
    return StagedScores(*np.array(scores).reshape(-1, 3).T)
