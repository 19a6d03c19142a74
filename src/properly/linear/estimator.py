"""The fit that all linear classifiers share: options, data, fitted attributes and warnings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from properly.engines import Engine, training_engine
from properly.inputs.labels import require_two_classes
from properly.linear.fitting import Data, Fit, Penalty, check_limits, fit_linear, warn_about, weight_by_class
from properly.linear.prediction import LinearPredictor
from properly.links import Link
from properly.losses.softmax import AnyComposite
from properly.numeric.probabilities import Array
from properly.solvers import Solution


@dataclass(eq=False, repr=False, kw_only=True)
class LinearEstimator(LinearPredictor):
    """A linear classifier that can be fitted; a subclass defines `_check_options` and `_fits`.

    The options of an estimator are the fields of a dataclass: each class states its own, and inherits those it shares.
    """

    only_two_classes: ClassVar[bool] = False

    fit_intercept: bool = True
    tol: float = 1e-8
    max_iter: int = 100

    @abstractmethod
    def _check_options(self) -> None:
        """Refuse options that make no sense, before the data are read."""

    @abstractmethod
    def _fits(self, engine: Engine, classes: NDArray[Any], class_weight: Array) -> tuple[Sequence[Fit], Link | None]:
        """The fits, which together give the rows of coef_, and the link (None: the softmax, or several links)."""

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
        X : array, data frame, scipy.sparse array or matrix of shape (n_samples, n_features), or Stream
            A Stream brings its own labels, weights and offsets. Cross-validation and undersampling need all rows in
            memory.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            A row of weight 2 counts like two equal rows, a row of weight 0 not at all.
        offset : array of shape (n_samples,), optional
            Added to the score with a coefficient of 1; of shape (n_samples, n_classes) for more than two classes.
        """
        check_limits(self.tol, self.max_iter, self.fit_intercept)
        self._check_options()
        engine, classes = training_engine(self, X, y, sample_weight, offset)
        class_weight = weight_by_class(engine, classes)
        if self.only_two_classes:
            require_two_classes(classes)
        fits, link = self._fits(engine, classes, class_weight)
        self.classes_, self.link_ = classes, link
        self.coef_ = np.concatenate([fit.coef for fit in fits])
        self.intercept_ = np.concatenate([fit.intercept for fit in fits])
        self.solutions_: list[Solution] = [fit.solution for fit in fits]
        self.n_iter_ = np.array([solution.n_iter for solution in self.solutions_])
        for fit in fits:
            warn_about(fit, self.tol, self.max_iter)
        return self

    def _described(self, engine: Engine, class_weight: Array) -> Data:
        return Data.describe(engine, class_weight, self.fit_intercept)

    def _fit_one(self, data: Data, composite: AnyComposite, penalty: Penalty, **options: Any) -> Fit:
        return fit_linear(data, composite, penalty, **{"tol": self.tol, "max_iter": self.max_iter, **options})

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not self.only_two_classes
        return tags
