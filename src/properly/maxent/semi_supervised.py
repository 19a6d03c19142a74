"""What maxent and class-robust logistic regression share: features, the pool of points, probabilities from scores."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, assert_all_finite
from sklearn.utils.validation import _check_feature_names_in, _num_samples, check_is_fitted, validate_data

from properly.classifier import LogScoreClassifier
from properly.inputs.features import checked_features
from properly.inputs.finite import columns_named
from properly.inputs.options import check_interval, choose
from properly.inputs.unwrap import last_step, weight_parameter
from properly.inputs.weights import row_weights
from properly.maxent.design_matrix import DesignMatrix, StoredMatrix
from properly.maxent.features import MaxentFeatures
from properly.maxent.proportions import checked_row_prevalence
from properly.maxent.sample import Sample, checked_classes, numbered, pooled_sample
from properly.maxent.solver import GOOD_ENOUGH
from properly.numeric.arrays import require_values
from properly.numeric.probabilities import Array
from properly.prevalence.prior import as_prior

_DUPLICATES = {"keep": False, "once": True}  # whether points with identical features are one site


class FittedScores(LogScoreClassifier):
    """What `fit` sets: the coefficients of the scores, what is added to each, and how the solver ended."""

    coef_: Array
    intercept_: Array
    class_score_: Array
    varying_default_: bool
    violation_: float
    n_iter_: int


@dataclass(eq=False, repr=False, kw_only=True)
class SemiSupervisedClassifier(FittedScores):
    """A classifier for labelled and unlabelled rows; a subclass says what is solved.

    Its probabilities are p(y|x) ∝ exp(class_score_y + score_y(x)), where a class without labels has the scores 0.
    """

    regularization: float = 1.0
    features: Any = None
    duplicates: str = "keep"
    default_prevalence: ArrayLike | None = field(default=None, init=False)  # no option: all classes alike

    @abstractmethod
    def _solve(self, sample: Sample, default: Array) -> None:
        """Set coef_, intercept_, class_score_, violation_, n_iter_ and what is the subclass's own.

        `default` has the default proportion of every class.
        """

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features); sparse if `features` allow it
            Labelled and unlabelled rows together.
        y : array of shape (n_samples,)
            Classes 0, 1, … K - 1, and -1 for a row without label. Background points have the label -1; 0 would mean
            that they are known to belong to class 0. Classes may be texts, in an array of objects with -1 among them;
            their sorted order then stands for 0, 1, … K - 1 in the options, and at least two must occur.
        sample_weight : array of shape (n_samples,), optional
            Weight 2 means the row twice, weight 0 not at all.
        """
        return self._fit_sites(X, y, sample_weight, None)

    def _fit_sites(
        self,
        X: Any,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        site: NDArray[np.intp] | None,
        row_prevalence: ArrayLike | None = None,
    ) -> Self:
        """`fit` with the number of every row's site, if X alone does not tell which rows are one site."""
        self._check_parameters()
        require_values(X, "X")
        n_rows = _num_samples(X)
        y, names = numbered(y)
        prevalence = self._row_prevalence(row_prevalence, n_rows)
        classes = checked_classes(y, n_rows, self._n_classes_asked() if prevalence is None else prevalence.shape[1])
        weight = row_weights(sample_weight, n_rows, positive_sum=True)
        design = self._fit_features(X, classes, weight)
        sample = pooled_sample(design, classes, weight, self._sites(design) if site is None else site, prevalence)
        warn_about(self._fit_sample(sample))
        if names is not None:
            if len(names) != len(self.classes_):
                raise ValueError(
                    f"y names {len(names)} classes, {names.tolist()}, but the default is for "
                    f"{len(self.classes_)}; they must be as many."
                )
            self.classes_ = names
        return self

    def _row_prevalence(self, row_prevalence: ArrayLike | None, n_rows: int) -> Array | None:
        if row_prevalence is None:
            return None
        if self.default_prevalence is not None:
            raise ValueError("row_prevalence takes the place of default_prevalence; give one of them.")
        return checked_row_prevalence(row_prevalence, n_rows)

    def _check_parameters(self) -> None:
        """What can be checked without data."""
        check_interval(self.regularization, "regularization", 0.0, with_low=True)
        choose(self.duplicates, _DUPLICATES, "duplicates")
        if self.features is not None and (isinstance(self.features, type) or not hasattr(self.features, "transform")):
            raise ValueError(f"features must be a transformer such as MaxentFeatures() or None, got {self.features!r}.")

    def _fit_features(self, X: Any, classes: NDArray[np.intp], weight: Array) -> DesignMatrix:
        """Fit the transformer and return the features of X."""
        self.features_ = None if self.features is None else clone(self.features)
        if self.features_ is not None:
            weighted = isinstance(last_step(self.features_), MaxentFeatures)
            params = {str(weight_parameter(self.features_)): weight} if weighted else {}
            with config_context(enable_metadata_routing=False):  # the weights reach them without being requested
                self.features_.fit(X, classes, **params)
        return self._design_matrix(X, reset=True)

    def _design_matrix(self, X: Any, *, reset: bool = False) -> DesignMatrix:
        """The features of X; `reset` in a fit, which records the columns of X instead of comparing them."""
        require_values(X, "X")
        if self.features_ is None:
            X = checked_features(self, X, reset=reset)
            if reset:
                with columns_named(X):
                    assert_all_finite(X, input_name="X")  # `checked_features` leaves that to the fit
            return StoredMatrix.of(X)
        design = _transformed(self.features_, X)
        if isinstance(design, StoredMatrix):
            self._check_finite(design)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return design

    def _sites(self, design: DesignMatrix) -> NDArray[np.intp] | None:
        """The number of every point's site, None if all points count."""
        return design.distinct() if choose(self.duplicates, _DUPLICATES, "duplicates") else None

    def _fit_sample(self, sample: Sample) -> list[Warning]:
        """Solve, and set the fitted attributes; returns what the user must be warned of."""
        n_classes = max(self._n_classes_asked(), int(sample.labelled_classes.max()) + 1)
        self.varying_default_ = sample.prevalence is not None
        if sample.prevalence is not None:
            default = sample.weight / sample.weight.sum() @ sample.prevalence  # ν(y)
            if len(default) < n_classes:
                raise ValueError(f"row_prevalence has {len(default)} columns, but y has class {n_classes - 1}.")
        elif self.default_prevalence is None:
            default = np.full(n_classes, 1.0 / n_classes)
        else:
            default = as_prior(self.default_prevalence, n_classes, "default_prevalence")
        self._solve(sample, default)
        self.classes_, self.labelled_classes_ = np.arange(len(default)), sample.labelled_classes
        found: list[Warning] = []
        if len(sample.labelled_classes) == 1 and sample.label_weight.all():
            found.append(
                UserWarning(
                    f"every row has the label {sample.labelled_classes[0]}, so that nothing can be learnt: the density "
                    "is even; add background rows, with label -1, or rows of another class."
                )
            )
        if not self.violation_ <= GOOD_ENOUGH:
            found.append(
                ConvergenceWarning(
                    f"the fit stopped after {self.n_iter_} iterations with optimality conditions violated by "
                    f"{self.violation_:.1e}, more than {GOOD_ENOUGH:.0e}; use more regularization, drop features that "
                    "separate the labelled rows from all others, or centre columns that are far from 0."
                )
            )
        return found

    def class_scores(self, X: Any) -> Array:
        """coef·f(x) + intercept of every labelled class, of shape (n_samples, labelled classes)."""
        check_is_fitted(self)
        design = self._design_matrix(X)
        return np.stack([design.scores(coef) for coef in self.coef_], axis=1) + self.intercept_

    def _log_scores(self, X: Any, class_score: Array | None = None, row_prevalence: ArrayLike | None = None) -> Array:
        """ln p(y|x) up to a constant of each row, with the class scores of the fit unless others are given."""
        scores = self.class_scores(X)
        if self.varying_default_ == (row_prevalence is None):
            how, remedy = ("with", "pass it to predict_proba") if self.varying_default_ else ("without", "leave it out")
            raise ValueError(f"this model was fitted {how} row_prevalence: {remedy} as well.")
        total = np.tile(self.class_score_ if class_score is None else class_score, (len(scores), 1))
        total[:, self.labelled_classes_] += scores
        if row_prevalence is not None:
            rows = checked_row_prevalence(row_prevalence, len(scores))
            if rows.shape[1] != total.shape[1]:
                raise ValueError(f"row_prevalence has {rows.shape[1]} columns for {total.shape[1]} classes.")
            total += np.log(rows)
        return total

    def _n_classes_asked(self) -> int:
        """The number of classes that the parameters ask for: at least two."""
        return 2 if self.default_prevalence is None else max(2, np.size(self.default_prevalence))

    def _feature_name(self, feature: int) -> str:
        """For messages."""
        try:
            names = _check_feature_names_in(self) if self.features_ is None else self.features_.get_feature_names_out()
        except AttributeError:  # not every transformer has names
            return f"x{feature}"
        return str(names[feature])

    def _check_finite(self, design: StoredMatrix) -> None:
        """A user's transformer may give anything."""
        if np.isfinite(design.rows.data if sparse.issparse(design.rows) else design.rows).all():
            return
        values = design.columns(np.arange(design.n_features))
        feature, row = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(
            f"features give {values[feature, row]} in row {row} for feature {self._feature_name(feature)!r}; all "
            "values must be finite: use another transformer, or change the column."
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.features is None
        return tags


def warn_about(found: list[Warning], subject: str = "") -> None:
    """Issue the warnings of a fit, with what they are about in front, as if the caller's caller had issued them."""
    for each in found:
        warnings.warn(f"{subject}{each}", type(each), stacklevel=4)


def _transformed(features: Any, X: Any) -> DesignMatrix:
    """The features of points; those of `MaxentFeatures`, also frozen or last in a pipeline, without storing them."""
    if isinstance(features, FrozenEstimator):
        return _transformed(features.estimator, X)
    if isinstance(features, Pipeline) and len(features) > 1 and hasattr(features[-1], "transform"):
        return _transformed(features[-1], features[:-1].transform(X))
    return features.design(X) if isinstance(features, MaxentFeatures) else StoredMatrix.of(features.transform(X))
