"""What maxent and class-robust logistic regression share: features, the pool of points, probabilities from scores."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy import special as sc
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, assert_all_finite
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from properly.inputs.features import checked_features
from properly.inputs.options import choose
from properly.inputs.unwrap import last_step, weight_parameter
from properly.inputs.weights import checked_weight
from properly.maxent.design import Design, MatrixDesign
from properly.maxent.features import MaxentFeatures
from properly.maxent.sample import Sample, checked_classes, pooled
from properly.maxent.solver import GOOD_ENOUGH
from properly.numeric.probabilities import Array

DUPLICATES = {"keep": False, "once": True}  # whether points with identical features are one site
MAX_ITER = 200


class Solved(NamedTuple):
    """What a fit finds: how well it was solved, and the attributes of the fitted model, named without underscore.

    `alone` if all points have the same label, so that there is nothing to tell them from.
    """

    violation: float
    n_iter: int
    attributes: dict[str, Any]
    alone: bool = False


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
        try:
            return str(self.features_.get_feature_names_out()[feature])
        except AttributeError:  # not every transformer has names
            return f"x{feature}"

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
            Classes 0, 1, … K - 1, and -1 for a row without label. Background points are such rows; with 0 they would
            be rows of a class 0 that is known.
        sample_weight : array of shape (n_samples,), optional
            Weight 2 means the row twice, weight 0 not at all.
        """
        return self._fit(X, y, sample_weight)

    def _fit(
        self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None, site: NDArray[np.intp] | None = None
    ) -> Self:
        """With the number of every row's site, if that is not for the features to tell."""
        self._check()
        n_rows = _num_samples(X)
        classes = checked_classes(y, n_rows, self._fewest_classes())
        weight = checked_weight(sample_weight, n_rows)
        weight = np.ones(n_rows) if weight is None else weight
        if not weight.any():
            raise ValueError("sample_weight is zero for every row; at least one must be positive.")
        with np.errstate(over="ignore"):
            if np.isinf(weight.sum()):
                raise ValueError("the sum of sample_weight is beyond float64; use a smaller unit.")
        design = self._fitted_design(X, classes, weight)
        self._keep(self._solve(design, classes, weight, self._sites(design) if site is None else site))
        return self

    def _sites(self, design: Design) -> NDArray[np.intp] | None:
        """The number of every point's site, None if all points count."""
        return design.distinct() if choose(self.duplicates, DUPLICATES, "duplicates") else None

    def _solve(self, design: Design, classes: NDArray[np.intp], weight: Array, site: NDArray[np.intp] | None) -> Solved:
        sample = pooled(design, classes, weight, site)
        n_classes = max(self._fewest_classes(), int(sample.labelled.max()) + 1)
        alone = len(sample.labelled) == 1 and bool(sample.labels.all())
        return self._solve_sample(sample, n_classes)._replace(alone=alone)

    def _keep(self, solved: Solved, about: str = "") -> None:
        """Become a fitted model, with warnings that begin with what it is about."""
        if np.isnan(solved.violation):
            raise ValueError(
                f"{about}the fit ended in numbers beyond float64 (nan); scale the columns, or use more regularization."
            )
        if solved.alone:
            warnings.warn(
                f"{about}every row has the label {solved.attributes['labelled_classes'][0]}, so that nothing can be "
                "learnt: the density is even; add background rows, with label -1, or rows of another class.",
                UserWarning,
                stacklevel=4,
            )
        for name, value in solved.attributes.items():
            setattr(self, f"{name}_", value)
        self.violation_, self.n_iter_ = solved.violation, solved.n_iter
        if not solved.violation <= GOOD_ENOUGH:
            warnings.warn(
                f"{about}the fit stopped after {solved.n_iter} iterations with optimality conditions violated by "
                f"{solved.violation:.1e}, more than {GOOD_ENOUGH:.0e}; use more regularization, drop features that "
                "separate the labelled rows from all others, or centre columns that are far from 0.",
                ConvergenceWarning,
                stacklevel=4,
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
        if self.features is not None and (isinstance(self.features, type) or not hasattr(self.features, "transform")):
            raise ValueError(f"features must be a transformer such as MaxentFeatures() or None, got {self.features!r}.")

    def _fitted_design(self, X: Any, classes: NDArray[np.intp], weight: Array) -> Design:
        self.features_ = None if self.features is None else clone(self.features)
        if self.features_ is not None:
            derives = isinstance(last_step(self.features_), MaxentFeatures)
            with config_context(enable_metadata_routing=False):  # the weights are for these, without asking
                self.features_.fit(X, classes, **({str(weight_parameter(self.features_)): weight} if derives else {}))
        return self._design(X, reset=True)

    def _design(self, X: Any, *, reset: bool) -> Design:
        if self.features_ is None:
            X = checked_features(self, X, reset=reset)
            if reset:
                assert_all_finite(X, input_name="X")  # a fit is checked by its sums elsewhere, not here
            return MatrixDesign.of(X)
        design = designed(self.features_, X)
        if isinstance(design, MatrixDesign):
            self._check_finite(design)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return design

    def _check_finite(self, design: MatrixDesign) -> None:
        """A user's transformer may give anything."""
        if np.isfinite(design.rows.data if sparse.issparse(design.rows) else design.rows).all():
            return
        values = design.columns(np.arange(design.n_features))
        feature, row = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(
            f"features make {values[feature, row]} of row {row} in feature {self._feature_name(feature)!r}; all must "
            "be finite: use another transformer, or change the column."
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.features is None
        return tags


def designed(features: Any, X: Any) -> Design:
    """The features of points; those of `MaxentFeatures`, also frozen or last in a pipeline, without a matrix."""
    if isinstance(features, FrozenEstimator):
        return designed(features.estimator, X)
    if isinstance(features, Pipeline) and len(features) > 1 and hasattr(features[-1], "transform"):
        return designed(features[-1], features[:-1].transform(X))
    return features.design(X) if isinstance(features, MaxentFeatures) else MatrixDesign.of(features.transform(X))


def derived_features(features: Any) -> MaxentFeatures | None:
    """The `MaxentFeatures` that are made of the columns themselves, fitted with the model or frozen."""
    inner = features.estimator if isinstance(features, FrozenEstimator) else features
    return inner if isinstance(inner, MaxentFeatures) else None
