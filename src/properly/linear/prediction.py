"""From coefficients to scores, probabilities and classes: what every fitted linear classifier does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special as sc
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from properly.engines.stream import Stream
from properly.inputs.features import check_names, checked_features
from properly.inputs.weights import checked_offset
from properly.links import Link
from properly.numeric.probabilities import Array


class LinearPredictor(ClassifierMixin, BaseEstimator):
    """A classifier with linear scores; `fit` sets these attributes.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    link_ : the link between score and probability; None stands for the softmax
    """

    classes_: NDArray[Any]
    coef_: Array
    intercept_: Array
    link_: Link | None

    def _scores(self, X: Any, offset: ArrayLike | None) -> Array:
        """x·w + b + offset, of shape (n_samples, scores)."""
        check_is_fitted(self)
        if isinstance(X, Stream):
            if offset is not None:
                raise ValueError("offset must come inside the blocks when X is a Stream.")
            parts = [self._block_scores(x, block_offset) for x, _, _, block_offset in X.raw_blocks()]
            if X.feature_names is not None:
                check_names(self, X.feature_names, reset=False)
            return np.concatenate(parts) if parts else np.empty((0, len(self.coef_)))
        X = checked_features(self, X, reset=False)
        return self._block_scores(X, checked_offset(offset, X.shape[0], len(self.classes_)))

    def _block_scores(self, X: Any, offset: Array | None) -> Array:
        if offset is not None and offset.shape[1:] != (() if len(self.classes_) == 2 else (len(self.classes_),)):
            raise ValueError(f"offset must have one column per class, got shape {offset.shape}.")
        if X.shape[1] != self.coef_.shape[1]:
            raise ValueError(f"X has {X.shape[1]} features, but the model was fitted with {self.coef_.shape[1]}.")
        scores = np.asarray(X @ self.coef_.T, dtype=np.float64) + self.intercept_
        if offset is None:
            return scores
        return np.asarray(scores + (offset if offset.ndim == 2 else offset[:, None]))

    def decision_function(self, X: Any, offset: ArrayLike | None = None) -> Array:
        """The score, measured from the score of p = 1/2, so that positive means the second class.

        For the logit and every other symmetric link that is x·w + b itself. Of shape (n_samples,) for two classes,
        (n_samples, n_classes) otherwise.
        """
        scores = self._scores(X, offset)
        if self.link_ is None:
            return scores
        scores -= self.link_.link(0.5)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any, offset: ArrayLike | None = None) -> Array:
        """Class probabilities, one column per entry of ``classes_``.

        Both columns of a binary model are accurate to their own last digits. A link with bounded support (GEV)
        gives exactly 0 or 1 outside it.
        """
        scores = self._scores(X, offset)
        if self.link_ is None:
            return np.asarray(sc.softmax(scores, axis=1))
        p, q = self.link_.inverse_pair(scores)
        if len(self.classes_) == 2:
            return np.hstack([q, p])
        total = p.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, p / np.where(total > 0.0, total, 1.0), 1.0 / len(self.classes_))

    def predict_log_proba(self, X: Any, offset: ArrayLike | None = None) -> Array:
        """The logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, offset))

    def predict(self, X: Any, offset: ArrayLike | None = None) -> NDArray[Any]:
        """The most probable class."""
        decision = self.decision_function(X, offset)
        index = (decision > 0.0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[index])

    def score(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, offset: ArrayLike | None = None
    ) -> float:
        """The share of rows whose most probable class is theirs; for probabilities use a proper score instead."""
        return float(accuracy_score(y, self.predict(X, offset), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
