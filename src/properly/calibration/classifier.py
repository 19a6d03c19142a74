"""A classifier and its calibrator as one classifier."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import Tags, _safe_indexing, get_tags, indexable
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, has_fit_parameter

from properly.calibration.base import Calibrator
from properly.calibration.methods import calibrator_of
from properly.classifier import LogScoreClassifier, difference, log_probabilities, probabilities
from properly.engines import PartitionedEngine, by_parts
from properly.inputs.labels import checked_labels, require_labels
from properly.inputs.scores import LogProbabilityReader, ScoreReader
from properly.inputs.unwrap import innermost
from properly.inputs.weights import checked_weight
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, columns_of, floats, namespace, require_values

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class CalibratedPair:
    """A trained classifier, and the calibrator of its scores."""

    estimator: Any
    calibrator: Calibrator

    def log_scores(self, X: Any) -> Array:
        return self.calibrator._log_scores(self.calibrator._read(scores_of(self.estimator, X)))


@dataclass(eq=False, repr=False)
class CalibratedClassifier(MetaEstimatorMixin, LogScoreClassifier):
    """Any classifier with a calibrator, which turns its scores into calibrated probabilities.

    Scores of rows that a classifier was trained on are overconfident, so a calibrator needs scores of held-out rows.
    `fit` trains the classifier on all folds but one and scores the rows of that one, fold after fold. The calibrator is
    fitted to the held-out scores of all rows. The classifiers of the folds are kept, and their calibrated probabilities
    are averaged. With ``ensemble=False`` the classifier is trained once more, on all rows, and kept alone: as many
    times faster to predict as there are folds, and mostly a little worse. A classifier that is fitted already, on other
    rows, is passed as ``sklearn.frozen.FrozenEstimator(classifier)``; then the calibrator is fitted to all rows, and
    `cv` and `ensemble` are not used.

    Scores are those of ``decision_function``, or else the log-odds (for K > 2 classes the logarithms) of the class
    probabilities, taken from ``predict_log_proba`` where there is one, so that tiny probabilities keep their digits. A
    probability of 0 is read as half the smallest positive one among the calibration rows if there was a 0 among them,
    and otherwise as far less than any of them; 1 mirrors this for two classes.

    Parameters
    ----------
    estimator : classifier
    method : str or `Calibrator`, default "auto"
        A key of `properly.calibration.methods.METHODS`, such as "platt", "isotonic", "beta" or "temperature", or an
        unfitted calibrator, whose `input` is not used.
    cv : int, splitter or iterable of (train, test), default 5
        A number means stratified folds; it is lowered to the number of rows in the rarest class. A row that is held out
        several times counts as one row in total, one that is never held out is not used for calibration. A split whose
        training rows lack a class is left out, with a warning.
    ensemble : bool, default True
        Whether to keep the classifiers of the folds, or one that is trained on all rows.
    n_jobs : int, optional
        The number of folds that are fitted at the same time.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    pairs_ : list of `CalibratedPair`
        One a fold, or a single one if ``ensemble=False``.
    calibrator_ : the calibrator, which all pairs share
    estimator_ : the classifier of the pair, if there is a single one
    n_features_in_, feature_names_in_ : those of the estimator, if it has them

    Notes
    -----
    Several labels a row, y of shape (n, m): ``OneVsRestClassifier(CalibratedClassifier(classifier))`` of scikit-learn
    calibrates every label by itself, with folds stratified for it, and its ``predict_proba`` gives P(label j), (n, m).

    References
    ----------
    Bennett (2003), Using asymmetric distributions to improve text classifier probability estimates, SIGIR: section 4.

    Examples
    --------
    Naive Bayes counts the evidence of correlated features several times, and is overconfident:

    >>> import numpy as np
    >>> from sklearn.metrics import log_loss
    >>> from sklearn.naive_bayes import GaussianNB
    >>> random = np.random.default_rng(0)
    >>> y = random.random(2000) < 0.3
    >>> X = np.repeat((random.normal(size=2000) + y)[:, None], 10, axis=1) + 0.1 * random.normal(size=(2000, 10))
    >>> plain = GaussianNB().fit(X[:1000], y[:1000])
    >>> calibrated = CalibratedClassifier(GaussianNB()).fit(X[:1000], y[:1000])
    >>> for model in (plain, calibrated):
    ...     print(round(log_loss(y[1000:], model.predict_proba(X[1000:])), 2))
    2.5
    0.56
    """

    __metadata_request__fit: ClassVar[dict[str, str]] = {"groups": UNUSED}  # the splitter asks for them, not this class

    estimator: Any
    method: str | Calibrator = "auto"
    _: KW_ONLY
    cv: Any = 5
    ensemble: bool = True
    n_jobs: int | None = None

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Train and calibrate.

        Parameters
        ----------
        X : what the estimator takes: an array, a sparse matrix, a data frame, a list of texts
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Goes to the calibrator, and to the estimator if its `fit` has such a parameter. Rows of weight 0 are left
            out: a number of folds means folds of the other rows, and they are dropped from the folds of a splitter or a
            list. Weight 2 means the row twice, and both in the same fold.
        groups : array of shape (n,), optional
            For splitters that need it, such as ``GroupKFold``.
        **fit_params
            Passed to the estimator's `fit`; what has an entry for each row is split like X. If metadata routing is
            enabled in scikit-learn, weights, groups and these go where they are requested.
        """
        for name, given in {"X": X, "y": y, "groups": groups, **fit_params}.items():
            require_values(given, name)
        X, y = indexable(X, y)
        n_rows = len(_one_label_a_row(y))
        weight = checked_weight(sample_weight, n_rows, positive_sum=True)
        calibrator_of(self.method)  # a wrong name is reported before the long work
        for_fit, for_split = self._routed(sample_weight, groups, fit_params)
        counted = np.full(n_rows, True) if weight is None else weight > 0.0
        rows = np.flatnonzero(counted)
        codes = np.full(n_rows, -1)
        self.classes_, codes[rows] = checked_labels(_safe_indexing(y, rows))
        require_class_scores(self.estimator, len(self.classes_))
        task = ScoringTask(self.estimator, X, np.asarray(y).ravel(), for_fit)
        if isinstance(self.estimator, FrozenEstimator):
            estimators, held_out = [self.estimator], rows
            scores = scores_of(self.estimator, X if counted.all() else task.part(rows))
        else:
            if self.ensemble and get_tags(self.estimator).input_tags.pairwise:
                raise ValueError(
                    "a precomputed kernel is one of all training rows, but an ensemble has classifiers of some of "
                    "them; use ensemble=False."
                )
            splits = list(self._splits(X, y, for_split, codes))
            if not splits:
                raise ValueError(
                    "no split of cv has training rows of every class and held-out rows of positive weight, both of "
                    "which the calibrator needs; use stratified folds."
                )
            found = Parallel(n_jobs=self.n_jobs)(delayed(task.train_and_score)(*each, self.ensemble) for each in splits)
            held_out = np.concatenate([test for _, test in splits])
            scores = np.concatenate([part for _, part in found])
            estimators = [estimator for estimator, _ in found] if self.ensemble else [task.train(rows)]
        calibrator = self._calibrator(estimators[0], scores, codes[held_out], held_out, weight)
        self.pairs_ = [CalibratedPair(estimator, calibrator) for estimator in estimators]
        return self

    def _log_scores(self, X: Any) -> Array:
        parts = [pair.log_scores(X) for pair in self.pairs_]
        if len(parts) == 1:
            return parts[0]
        stacked = namespace(parts[0]).stack([log_probabilities(part) for part in parts])
        log_p = fn.logsumexp(stacked, axis=0) - float(np.log(len(parts)))
        return difference(log_p) if len(self.classes_) == 2 else log_p

    @partial(by_parts, engines=PartitionedEngine)
    def predict_proba(self, X: Any) -> Array:
        """Class probabilities of shape (n, K), one column per entry of ``classes_``: the mean over the pairs."""
        X = self._read(X)
        first, *others = (probabilities(pair.log_scores(X)) for pair in self.pairs_)
        return sum(others, first) / len(self.pairs_)

    predict_log_proba = by_parts(LogScoreClassifier.predict_log_proba, PartitionedEngine)
    decision_function = by_parts(LogScoreClassifier.decision_function, PartitionedEngine)
    predict = by_parts(LogScoreClassifier.predict, PartitionedEngine)

    @property
    def _takes_parts(self) -> bool:  # type: ignore[override]
        return all(getattr(pair.estimator, "_takes_parts", False) for pair in self.pairs_)

    @property
    def estimator_(self) -> Any:
        if len(self.pairs_) > 1:
            raise AttributeError("with ensemble=True every fold has its own estimator; see pairs_.")
        return self.pairs_[0].estimator

    @property
    def calibrator_(self) -> Calibrator:
        return self.pairs_[0].calibrator

    @property
    def n_features_in_(self) -> int:
        return int(self.pairs_[0].estimator.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        return np.asarray(self.pairs_[0].estimator.feature_names_in_)

    def _routed(self, sample_weight: Any, groups: Any, fit_params: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """What goes to the estimator's `fit`, and what to the splitter."""
        if get_config()["enable_metadata_routing"]:
            if groups is not None and "groups" not in self.get_metadata_routing().consumes("fit", ["groups"]):
                raise TypeError(
                    f"groups was passed, but neither cv={self.cv!r} nor the estimator requests it; "
                    "use a splitter that does, such as GroupKFold, or leave it out."
                )
            given = {} if groups is None else {"groups": groups}
            routed = process_routing(self, "fit", sample_weight=sample_weight, **given, **fit_params)
            return dict(routed.estimator.fit), dict(routed.splitter.split)
        for_fit = dict(fit_params)
        if sample_weight is not None and not isinstance(self.estimator, FrozenEstimator):
            if has_fit_parameter(self.estimator, "sample_weight"):
                for_fit["sample_weight"] = sample_weight
            elif not any(name.endswith("__sample_weight") for name in fit_params):
                warnings.warn(
                    f"{type(self.estimator).__name__}.fit has no parameter sample_weight, so that only the calibrator "
                    "is weighted; to weight a step of a pipeline too, pass <step>__sample_weight as well.",
                    UserWarning,
                    stacklevel=3,
                )
        return for_fit, {} if groups is None else {"groups": groups}

    def _splits(
        self, X: Any, y: Any, for_split: dict[str, Any], codes: NDArray[Any]
    ) -> Iterator[tuple[Indices, Indices]]:
        """Numbers of rows to train on and to score; the former hold every class. Rows of weight 0 have the code -1.

        A split whose training rows lack a class is left out: scores of a model that does not know the class say nothing
        about those of one that does.
        """
        cv, rows = 5 if self.cv is None else self.cv, np.flatnonzero(codes >= 0)
        if isinstance(cv, Integral):
            count = np.bincount(codes[rows])
            if count.min() < 2:
                raise ValueError(
                    f"class {self.classes_.tolist()[count.argmin()]!r} has a single row, but every class must be both "
                    "trained on and held out; add rows of this class, or leave it out."
                )
            folds = check_cv(min(int(cv), int(count.min())), codes[rows], classifier=True)
            splits = folds.split(codes[rows], codes[rows], **_check_method_params(X, for_split, rows))
        elif isinstance(cv, str):
            raise ValueError(
                f"cv must be a number of folds, a splitter or a list of splits, got {cv!r}; a classifier that is "
                "fitted already is passed as sklearn.frozen.FrozenEstimator(classifier)."
            )
        else:  # a splitter or a list, of all rows
            splits, rows = check_cv(cv).split(X, y, **for_split), np.arange(len(codes))
        for number, sides in enumerate(splits):
            train, test = (rows[side][codes[rows[side]] >= 0] for side in sides)
            missing = self._missing(codes[train])
            if missing:
                warnings.warn(
                    f"the training rows of split {number} of cv have none of class {missing[0]!r}, so that the split "
                    "is left out; use stratified folds, or fewer folds.",
                    UserWarning,
                    stacklevel=3,
                )
            elif len(test):
                yield train, test

    def _missing(self, codes: NDArray[Any]) -> list[Any]:
        """The classes that no row has."""
        return list(self.classes_[np.bincount(codes, minlength=len(self.classes_)) == 0].tolist())

    def _calibrator(
        self, estimator: Any, scores: Array, codes: NDArray[Any], rows: Indices, weight: Array | None
    ) -> Calibrator:
        """A calibrator fitted to the scores, by such an estimator, of the rows with these numbers and codes."""
        own = getattr(estimator, "classes_", self.classes_)
        if not np.array_equal(own, self.classes_):
            raise ValueError(
                f"the estimator was trained on the classes {np.asarray(own).tolist()}, but the calibration rows have "
                f"{self.classes_.tolist()}; both must have the same classes."
            )
        missing = self._missing(codes)
        if missing:
            raise ValueError(
                f"the held-out rows have none of class {missing[0]!r}; hold out more rows, or use stratified folds."
            )
        times = np.bincount(rows)[rows]
        if weight is not None or times.max() > 1:
            weight = (1.0 if weight is None else weight[rows]) / times
        learn = (ScoreReader if _decides(estimator) else LogProbabilityReader).learn
        return calibrator_of(self.method)._fit_read(learn, scores, self.classes_[codes], weight)

    def get_metadata_routing(self) -> MetadataRouter:
        """Who may ask for what in `fit`, if metadata routing is enabled in scikit-learn."""
        fit, split = (MethodMapping().add(caller="fit", callee=callee) for callee in ("fit", "split"))
        router = MetadataRouter(owner=self).add_self_request(self).add(estimator=self.estimator, method_mapping=fit)
        return router.add(splitter=self.cv, method_mapping=split)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


class ScoringTask(NamedTuple):
    """The estimator and the data that it is trained on, fold by fold."""

    estimator: Any
    X: Any
    y: NDArray[Any]
    fit_params: dict[str, Any]

    def part(self, rows: Indices, trained_on: Indices | None = None) -> Any:
        return _safe_split(self.estimator, self.X, None, rows, trained_on)[0]

    def train(self, rows: Indices) -> Any:
        X, y = _safe_split(self.estimator, self.X, self.y, rows)
        return clone(self.estimator).fit(X, y, **_check_method_params(self.X, self.fit_params, rows))

    def train_and_score(self, train: Indices, test: Indices, keep: bool) -> tuple[Any, Array]:
        """The trained estimator, if it is needed later, and its scores of other rows."""
        fitted = self.train(train)
        return (fitted if keep else None), scores_of(fitted, self.part(test, train))


_METHODS = ("decision_function", "predict_proba", "predict_log_proba")


def require_class_scores(estimator: Any, n_classes: int) -> None:
    """Refuse an estimator that cannot score the classes, as far as this is known before it is trained."""
    inner = innermost(estimator)
    if n_classes > 2:
        _refuse_pairs(inner)
    if any(hasattr(estimator, name) for name in _METHODS):
        return
    # Some, such as StackingClassifier, have a method of their class only once they are trained.
    if getattr(inner, "voting", None) == "hard" or not any(hasattr(type(inner), name) for name in _METHODS):
        raise _no_scores(inner)


def scores_of(estimator: Any, X: Any) -> Array:
    """The scores of rows: a classifier's decision function, or log-odds (n,) or log-probabilities (n, K).

    The latter are infinite where a probability is 0 or 1.
    """
    if _decides(estimator):
        (scores,) = floats(decision_function=estimator.decision_function(X))
        if scores.ndim == 2 and scores.shape[1] > 1:
            _refuse_pairs(innermost(estimator))
        return columns_of(scores)[0] if scores.ndim == 2 and scores.shape[1] == 1 else scores
    with np.errstate(divide="ignore"):
        if hasattr(estimator, "predict_log_proba"):
            (log_p,) = floats(predict_log_proba=estimator.predict_log_proba(X))
        elif hasattr(estimator, "predict_proba"):
            (p,) = floats(predict_proba=estimator.predict_proba(X))
            log_p = namespace(p).log(p)
        else:
            raise _no_scores(estimator)
    return difference(log_p) if log_p.shape[1] == 2 else log_p


def _decides(estimator: Any) -> bool:
    """Whether there is a decision function that is not merely a finite version of its log-probabilities."""
    from_probabilities = getattr(innermost(estimator), "_decisions_from_probabilities", False)
    return hasattr(estimator, "decision_function") and not from_probabilities


def _refuse_pairs(inner: Any) -> None:
    if getattr(inner, "decision_function_shape", None) == "ovo":
        raise ValueError(
            f'{type(inner).__name__} has decision_function_shape="ovo", one score for each pair of classes, but a '
            'calibrator needs one for each class; use decision_function_shape="ovr".'
        )


def _no_scores(estimator: Any) -> ValueError:
    return ValueError(
        f"{type(estimator).__name__} has neither decision_function nor predict_proba; use a classifier that has one "
        '(for VotingClassifier, voting="soft").'
    )


def _one_label_a_row(y: Any) -> Any:
    require_labels(y)
    if np.ndim(y) == 2 and np.shape(y)[1] > 1:
        raise ValueError(
            f"y has shape {np.shape(y)}, several labels in each row; calibrate every label by itself, with "
            "sklearn.multiclass.OneVsRestClassifier(CalibratedClassifier(...))."
        )
    return y
