"""What all linear classifiers share: options, fit, fitted attributes and warnings, and predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.linear_model._base import SparseCoefMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from properly.classifier import LinkScoreClassifier, accuracy, chosen
from properly.engines import Engine, by_parts, prediction_engine, training_engine
from properly.inputs.features import checked_array
from properly.inputs.labels import require_two_classes
from properly.kernels import Block
from properly.linear.fitting import (
    Data,
    Fit,
    Penalty,
    certain_fit,
    check_limits,
    fit_linear,
    warn_about,
    weight_by_class,
)
from properly.links import Link, Logit
from properly.losses.softmax import AnyComposite
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, constant, is_foreign
from properly.numeric.limits import FARTHEST
from properly.solvers import Solution


class LinearPredictor(SparseCoefMixin, LinkScoreClassifier):
    """A classifier with linear scores; `fit` sets these attributes.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    link_ : the link between score and probability; None stands for the softmax
    """

    only_two_classes: ClassVar[bool] = False
    _takes_parts = True

    coef_: Array
    intercept_: Array

    def _scores(self, X: Any, offset: ArrayLike | None) -> Array:
        """x·w + b + offset, of shape (n_samples, scores)."""
        check_is_fitted(self)
        if isinstance(X, Block):
            return self._linear_scores(X.X, X.offset)
        if is_foreign(X):
            return self._linear_scores(*checked_array(self, X, offset))
        return prediction_engine(self, X, offset).map(self._block_scores)

    def _block_scores(self, block: Block) -> Array:
        return self._linear_scores(block.X, block.offset)

    def _linear_scores(self, X: Any, offset: Array | None) -> Array:
        scores: Array = fn.matmul(X, dense(self.coef_).T)
        scores = scores + constant(self.intercept_, scores)
        if offset is None:
            return scores
        return scores + (offset if offset.ndim == 2 else offset[:, None])

    @by_parts
    def decision_function(self, X: Any, offset: ArrayLike | None = None) -> Array:
        """The score minus the score of p = 1/2, so that a positive value means the second class.

        For the logit and every other symmetric link that is x·w + b itself. Of shape (n_samples,) for two classes,
        (n_samples, n_classes) otherwise.
        """
        return self._decisions(self._scores(X, offset))

    @by_parts
    def predict_proba(self, X: Any, offset: ArrayLike | None = None) -> Array:
        """Class probabilities, one column per entry of ``classes_``.

        Both columns of a binary model are accurate to their own last digits. A link with bounded support (GEV)
        gives exactly 0 or 1 outside it.
        """
        return self._probabilities(self._scores(X, offset))

    @by_parts
    def predict_log_proba(self, X: Any, offset: ArrayLike | None = None) -> Array:
        """The logarithms of the class probabilities, finite also where a probability is too small for float64.

        They are -∞ only where the model gives a class a probability of exactly 0 (a GEV link outside its support).
        """
        return self._log_probabilities(self._scores(X, offset))

    @by_parts
    def predict(self, X: Any, offset: ArrayLike | None = None) -> NDArray[Any]:
        """The most probable class."""
        return chosen(self.decision_function(X, offset), self.classes_)

    def score(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> float:
        """The accuracy of `predict`; use a proper score to judge the probabilities."""
        return accuracy(self, X, y, sample_weight, offset=offset)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = not self.only_two_classes
        return tags


def dense(coef: Any) -> Array:
    """Coefficients as an array, also after `sparsify`."""
    return coef.toarray() if sparse.issparse(coef) else coef


@dataclass(eq=False, repr=False, kw_only=True)
class LinearEstimator(LinearPredictor):
    """A linear classifier that can be fitted; a subclass defines `_check_options` and `_fits`.

    The options of an estimator are the fields of a dataclass: each class states its own, and inherits those it shares.
    """

    fit_intercept: bool = True
    tol: float = 1e-8
    max_iter: int = 100

    @abstractmethod
    def _check_options(self) -> None:
        """Refuse options that make no sense, before the data are read."""

    @abstractmethod
    def _fits(self, engine: Engine, classes: NDArray[Any], class_weight: Array) -> tuple[Sequence[Fit], Link | None]:
        """The fits, which together give the rows of coef_, and the link (None: the softmax, or several links)."""

    def _certain(self, engine: Engine, classes: NDArray[Any], class_weight: Array) -> tuple[Sequence[Fit], Link | None]:
        """The fits where all rows of positive weight have one class: it has probability 1."""
        intercept = np.where(class_weight > 0.0, FARTHEST, -FARTHEST)
        two = len(classes) == 2
        return [certain_fit(intercept[1:] if two else intercept, self.n_features_in_)], Logit() if two else None

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, data frame, scipy.sparse array or matrix of shape (n_samples, n_features), Stream, Spark, dask array
            A `Stream` and a `Spark` frame bring their own labels, weights and offsets; those of a dask array or frame
            are dask arrays as well.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            A row of weight 2 counts like two equal rows, a row of weight 0 not at all. A class whose rows all have
            weight 0 stays among ``classes_``, with probability 0: its intercept is -1e100.
        offset : array of shape (n_samples,), optional
            Added to the score with a coefficient of 1; of shape (n_samples, n_classes) for more than two classes.
        """
        return self._fit(X, y, sample_weight, offset)

    def _fit(self, X: Any, y: Any, sample_weight: Any, offset: Any, group: Any = None) -> Self:
        check_limits(self.tol, self.max_iter, self.fit_intercept)
        self._check_options()
        with training_engine(self, X, y, sample_weight, offset, group) as (engine, classes):
            class_weight = weight_by_class(engine, classes)
            if self.only_two_classes:
                require_two_classes(classes)
            certain = np.count_nonzero(class_weight) == 1
            fits, link = (self._certain if certain else self._fits)(engine, classes, class_weight)
        self.classes_, self.link_ = classes, link
        self.coef_ = np.concatenate([fit.coef for fit in fits])
        self.intercept_ = np.concatenate([fit.intercept for fit in fits])
        self.solutions_: list[Solution] = [fit.solution for fit in fits]
        self.n_iter_ = np.array([solution.n_iter for solution in self.solutions_])
        if engine.n_passes is not None:
            self.n_passes_ = engine.n_passes
        elif hasattr(self, "n_passes_"):
            del self.n_passes_
        for fit in fits:
            warn_about(fit, self.tol, self.max_iter)
        return self

    def _described(self, engine: Engine, class_weight: Array) -> Data:
        return Data.describe(engine, class_weight, self.fit_intercept, getattr(self, "feature_names_in_", None))

    def _fit_one(self, data: Data, composite: AnyComposite, penalty: Penalty, **options: Any) -> Fit:
        return fit_linear(data, composite, penalty, **{"tol": self.tol, "max_iter": self.max_iter, **options})
