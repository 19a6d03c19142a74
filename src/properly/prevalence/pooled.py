"""What maxent and class-robust logistic regression share: features, the pool of points, probabilities from scores."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special as sc
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, assert_all_finite
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from properly.engines.select import checked_features, checked_weight
from properly.options import choose
from properly.prevalence.bounded import GOOD_ENOUGH
from properly.prevalence.design import Design, MatrixDesign
from properly.prevalence.features import MaxentFeatures
from properly.prevalence.sample import Sample, checked_classes, pooled
from properly.probabilities import Array

DUPLICATES = {"keep": False, "once": True}  # whether points with identical features are one site
MAX_ITER = 200


class Solved(NamedTuple):
    """What a fit finds: how well it was solved, and the attributes of the fitted model, named without underscore."""

    violation: float
    n_iter: int
    attributes: dict[str, Any]


class PooledClassifier(ClassifierMixin, BaseEstimator):
    """A classifier for labelled and unlabelled rows; a subclass says what is solved.

    Its probabilities are p(y|x) ∝ exp(class_score_y + score_y(x)), where a class without labels has the scores 0.
    """

    regularization: float
    features: Any
    duplicates: str
    classes_: NDArray[np.intp]
    class_score_: Array

    @abstractmethod
    def _solve_sample(self, sample: Sample, n_classes: int) -> Solved:
        """With the attributes classes, labelled_classes, coef, intercept and class_score, and others."""

    def _feature_name(self, feature: int) -> str:
        """For messages."""
        if self.features_ is None:
            return str(self.feature_names_in_[feature]) if hasattr(self, "feature_names_in_") else f"x{feature}"
        return str(self.features_.get_feature_names_out()[feature])

    def _fewest_classes(self) -> int:
        """The number of classes that the parameters ask for."""
        return 2

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features); sparse if `features` allow it
            Labelled and unlabelled rows together.
        y : array of shape (n_samples,)
            Classes 0, 1, … K - 1, and -1 for a row without label.
        sample_weight : array of shape (n_samples,), optional
            Weight 2 means the row twice, weight 0 not at all.
        """
        self._check()
        n_rows = _num_samples(X)
        classes = checked_classes(y, n_rows)
        weight = checked_weight(sample_weight, n_rows)
        weight = np.ones(n_rows) if weight is None else weight
        if not weight.any():
            raise ValueError("sample_weight is zero for every row; at least one must be positive.")
        design = self._fitted_design(X, classes, weight)
        self._keep(self._solve(design, classes, weight, self._sites(design)))
        return self

    def _sites(self, design: Design) -> NDArray[np.intp] | None:
        """The number of every point's site, None if all points count."""
        return design.distinct() if choose(self.duplicates, DUPLICATES, "duplicates") else None

    def _solve(self, design: Design, classes: NDArray[np.intp], weight: Array, site: NDArray[np.intp] | None) -> Solved:
        sample = pooled(design, classes, weight, derived_features(self.features_) is not None, site)
        n_classes = max(self._fewest_classes(), int(sample.labelled.max()) + 1)
        return self._solve_sample(sample, n_classes)

    def _keep(self, solved: Solved) -> None:
        """Become a fitted model."""
        for name, value in solved.attributes.items():
            setattr(self, f"{name}_", value)
        self.violation_, self.n_iter_ = solved.violation, solved.n_iter
        if not solved.violation <= GOOD_ENOUGH:
            warnings.warn(
                f"the fit stopped after {solved.n_iter} iterations with optimality conditions violated by "
                f"{solved.violation:.1e}, more than {GOOD_ENOUGH:.0e}; use more regularization, or drop features that "
                "separate the labelled rows from all others.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def class_scores(self, X: Any) -> Array:
        """coef·f(x) + intercept of every labelled class, of shape (n_samples, labelled classes)."""
        check_is_fitted(self)
        design = self._design(X, reset=False)
        return np.stack([design.scores(coef) for coef in self.coef_], axis=1) + self.intercept_

    def decision_function(self, X: Any) -> Array:
        """The log-odds of class 1 if there are two classes, else log-probabilities up to a constant of each row."""
        total = self._log_weights(X)
        return total[:, 1] - total[:, 0] if len(self.classes_) == 2 else total

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, one column per entry of ``classes_``."""
        return np.asarray(sc.softmax(self._log_weights(X), axis=1))

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The most probable class; never -1."""
        most = self._log_weights(X).argmax(axis=1)
        return np.asarray(self.classes_[most])

    def _log_weights(self, X: Any, class_score: Array | None = None) -> Array:
        """ln p(y|x) up to a constant of each row, with the class scores of the fit unless others are given."""
        scores = self.class_scores(X)
        total = np.tile(self.class_score_ if class_score is None else class_score, (len(scores), 1))
        total[:, self.labelled_classes_] += scores
        return total

    def _check(self) -> None:
        if not (isinstance(self.regularization, Real) and 0.0 <= self.regularization < np.inf):
            raise ValueError(f"regularization must be finite and at least 0, got {self.regularization!r}.")
        choose(self.duplicates, DUPLICATES, "duplicates")

    def _fitted_design(self, X: Any, classes: NDArray[np.intp], weight: Array) -> Design:
        self.features_ = None if self.features is None else clone(self.features)
        if self.features_ is not None:
            if isinstance(self.features_, MaxentFeatures):
                self.features_.fit(X, classes, sample_weight=weight)
            else:
                self.features_.fit(X, classes)
        return self._design(X, reset=True)

    def _design(self, X: Any, *, reset: bool) -> Design:
        if self.features_ is None:
            X = checked_features(self, X, reset=reset)
            if reset:
                assert_all_finite(X, input_name="X")  # a fit is checked by its sums elsewhere, not here
            return MatrixDesign.of(X)
        derived = derived_features(self.features_)
        design = MatrixDesign.of(self.features_.transform(X)) if derived is None else derived.design(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return design

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.features is None
        return tags


def derived_features(features: Any) -> MaxentFeatures | None:
    """The `MaxentFeatures` in use, fitted with the model or frozen."""
    inner = features.estimator if isinstance(features, FrozenEstimator) else features
    return inner if isinstance(inner, MaxentFeatures) else None
