"""A classifier that computes its features itself."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from properly.probabilities import Array


def _has(method: str) -> Any:
    return lambda self: hasattr(getattr(self, "classifier_", self.classifier), method)


class WithFeatures(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A transformer and a classifier as one classifier, like a pipeline, but with weights for both.

    Parameters
    ----------
    features : transformer whose `fit` takes weights, such as `LinearFeatures`
    classifier : classifier whose `fit` takes weights
    """

    def __init__(self, features: Any, classifier: Any) -> None:
        self.features = features
        self.classifier = classifier

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the transformer, then the classifier; weight 2 means the row twice."""
        self.features_ = clone(self.features).fit(X, y, sample_weight=sample_weight)
        self.classifier_ = clone(self.classifier).fit(self.features_.transform(X), y, sample_weight=sample_weight)
        self.classes_ = self.classifier_.classes_
        self.n_features_in_ = self.features_.n_features_in_
        return self

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities of shape (n, K), one column per entry of ``classes_``."""
        return np.asarray(self.classifier_.predict_proba(self._transformed(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        return np.asarray(self.classifier_.predict(self._transformed(X)))

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Array:
        """The scores of the classifier."""
        return np.asarray(self.classifier_.decision_function(self._transformed(X)))

    @available_if(_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of the class probabilities."""
        return np.asarray(self.classifier_.predict_log_proba(self._transformed(X)))

    def _transformed(self, X: Any) -> Array:
        check_is_fitted(self, "classifier_")
        return np.asarray(self.features_.transform(X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
