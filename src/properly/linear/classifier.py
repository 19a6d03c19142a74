"""Linear models for any proper loss and link."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from properly import kernels
from properly.engines.base import Engine
from properly.engines.select import training_engine
from properly.linear.fitting import Data, Fit, Penalty, fit_linear
from properly.linear.prediction import LinearPredictor
from properly.links import Link, Logit, get_link
from properly.losses import Composite, LogLoss, Loss, SoftmaxComposite, SquaredLoss, get_loss
from properly.probabilities import Array
from properly.solvers import Status


class ProperLinearClassifier(LinearPredictor):
    """Class probabilities from a linear score, for any proper loss and link.

    Minimises C · Σ_i weight_i · loss(y_i, x_i·w + b) + (1 - l1_ratio)/2 · ‖w‖² + l1_ratio · ‖w‖₁, with the intercept b
    free. With log loss this is scikit-learn's `LogisticRegression`, to the last digits.

    Parameters
    ----------
    loss : {"log", "squared", "boosting", "gev"} or Loss, default "log"
        What is minimised; see `properly.losses`.
    link : {"logit", "probit", "cloglog", "loglog", "cauchit", "gev"} or Link or None, default None
        How score and probability are connected; None means the canonical link of the loss, which makes the
        problem convex.
    C : float, default 1.0
        Inverse strength of the penalty, as in scikit-learn; ``np.inf`` means none.
    l1_ratio : float, default 0.0
        0 is ridge, 1 is the lasso, between them the elastic net.
    fit_intercept : bool, default True
    class_weight : dict, "balanced" or None, default None
        Factors on the weights of the classes. They change the class proportions that the probabilities are
        for, so correct the prior afterwards.
    tol : float, default 1e-8
        The fit stops when the Newton decrement per row, √(gᵀH⁻¹g / Σ weight), is at most this: a bound on the
        remaining error that does not depend on the scale of the features. The default gives coefficients that
        are right to five decimals and usually far more.
    max_iter : int, default 100
    warm_start : bool, default False
        Start the next fit from the coefficients of the last one.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    link_ : the link between score and probability; None stands for the softmax
    n_iter_ : array of int, iterations of each problem solved
    solutions_ : list of `properly.solvers.Solution`, how each problem ended
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Three and more classes: log and squared loss with their usual link go through the softmax (for squared loss
    ½ Σ_k (p_k - y_k)²); all others are fitted one versus rest and the probabilities divided by their sum (all equal
    if every one of them is 0).

    `X` may also be a `properly.engines.Stream`, read block by block with memory bounded by one block; labels,
    weights and offsets then come with the blocks.

    Examples
    --------
    >>> from properly.datasets import make_rare_events
    >>> from properly.losses import GEVLoss
    >>> X, y, p = make_rare_events(2000, 3, rate=0.05, random_state=0)
    >>> model = ProperLinearClassifier(loss=GEVLoss(0.2)).fit(X, y)
    >>> model.predict_proba(X).shape
    (2000, 2)
    """

    def __init__(
        self,
        loss: str | Loss = "log",
        link: str | Link | None = None,
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-8,
        max_iter: int = 100,
        warm_start: bool = False,
    ) -> None:
        self.loss = loss
        self.link = link
        self.C = C
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

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
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            Weight 2 means the row twice, weight 0 not at all.
        offset : array of shape (n_samples,), optional
            Added to the score with a coefficient of 1; also (n_samples, n_classes) with the softmax.
        """
        penalty = self._checked_penalty()
        engine, classes = training_engine(self, X, y, sample_weight, offset)
        previous = self._previous(classes)
        if len(classes) < 2:
            raise ValueError(f"y holds one class only, {classes.tolist()[0]!r}; at least 2 classes are needed.")
        data = self._described(engine, classes)
        self.classes_ = classes
        fits = [
            fit_linear(
                data,
                composite,
                penalty,
                positive=positive,
                fit_intercept=self.fit_intercept,
                start=None if previous is None else (previous[0][rows], previous[1][rows]),
                tol=self.tol,
                max_iter=self.max_iter,
            )
            for composite, positive, rows in self._composites(len(classes))
        ]
        self._keep(fits)
        return self

    def _checked_penalty(self) -> Penalty:
        if not (isinstance(self.C, Real) and self.C > 0.0):
            raise ValueError(f"C must be a positive number (np.inf for no penalty), got {self.C!r}.")
        if not (isinstance(self.l1_ratio, Real) and 0.0 <= self.l1_ratio <= 1.0):
            raise ValueError(f"l1_ratio must lie in [0, 1], got {self.l1_ratio!r}.")
        if not (isinstance(self.tol, Real) and 0.0 < self.tol < np.inf):
            raise ValueError(f"tol must be positive and finite, got {self.tol!r}.")
        if not (isinstance(self.max_iter, Integral) and self.max_iter >= 1):
            raise ValueError(f"max_iter must be a whole number of at least 1, got {self.max_iter!r}.")
        strength = 0.0 if np.isinf(self.C) else 1.0 / float(self.C)
        return Penalty((1.0 - float(self.l1_ratio)) * strength, float(self.l1_ratio) * strength)

    def _previous(self, classes: NDArray[Any]) -> tuple[Array, Array] | None:
        """The coefficients to start from, if there are any that fit."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        if not np.array_equal(self.classes_, classes) or self.coef_.shape[1] != self.n_features_in_:
            return None
        return self.coef_, self.intercept_

    def _described(self, engine: Engine, classes: NDArray[Any]) -> Data:
        """The data with class weights applied."""
        share = engine.reduce(kernels.classes, len(classes)).weight
        if not share.sum() > 0.0:
            raise ValueError("sample_weight is zero for every row; at least one must be positive.")
        if np.any(share == 0.0):
            empty = classes[share == 0.0].tolist()[0]
            raise ValueError(f"every row of class {empty!r} has weight 0; drop these rows or weight them.")
        if self.class_weight is None:
            return Data.describe(engine, share, self.fit_intercept)
        factor = self._class_factor(share, classes)
        return Data.describe(engine.reweighted(factor), share * factor, self.fit_intercept)

    def _class_factor(self, share: Array, classes: NDArray[Any]) -> Array:
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            return share.sum() / (len(share) * share)
        if not isinstance(self.class_weight, Mapping):
            raise ValueError(f'class_weight must be a dict, "balanced" or None, got {self.class_weight!r}.')
        unknown = [label for label in self.class_weight if label not in classes]
        if unknown:
            raise ValueError(f"class_weight names {unknown[0]!r}, which is no class of y: {classes.tolist()}.")
        factor = np.array([float(self.class_weight.get(label, 1.0)) for label in classes.tolist()])
        if not (np.isfinite(factor).all() and (factor > 0.0).all()):
            raise ValueError(f"class_weight must be positive and finite, got {self.class_weight!r}.")
        return factor

    def _composites(self, n_classes: int) -> list[tuple[Composite | SoftmaxComposite, int, slice]]:
        """What is fitted: (composite, the class it calls 1, the rows of coef_)."""
        loss = get_loss(self.loss)
        link = None if self.link is None else get_link(self.link)
        if n_classes > 2 and isinstance(loss, LogLoss | SquaredLoss) and link in (None, Logit()):
            self.link_ = None
            return [(SoftmaxComposite(loss), 0, slice(None))]
        composite = Composite(loss, link) if loss.smooth else Composite(loss, link or Logit())
        composite.require_smooth()
        self.link_ = composite.link
        if n_classes == 2:
            return [(composite, 1, slice(None))]
        return [(composite, k, slice(k, k + 1)) for k in range(n_classes)]

    def _keep(self, fits: list[Fit]) -> None:
        self.coef_ = np.concatenate([fit.coef for fit in fits])
        self.intercept_ = np.concatenate([fit.intercept for fit in fits])
        self.solutions_ = [fit.solution for fit in fits]
        self.n_iter_ = np.array([solution.n_iter for solution in self.solutions_])
        if self.link_ is None:  # only differences between classes matter: take the representative that sums to 0
            self.intercept_ = self.intercept_ - self.intercept_.mean()
        for fit in fits:
            self._warn(fit)

    def _warn(self, fit: Fit) -> None:
        status, size = fit.solution.status, fit.solution.size
        if fit.runaway:
            message = (
                "the classes look separable: without a penalty the coefficients grow without limit and the "
                "probabilities tend to 0 and 1; use a finite C."
            )
        elif status is Status.OUT_OF_ITERATIONS:
            message = (
                f"the fit stopped after max_iter={self.max_iter} iterations with a Newton decrement per row of "
                f"{size:.1e}, above tol={self.tol:.1e}; increase max_iter, scale the features, or lower C."
            )
        elif status is Status.STALLED:
            message = (
                f"the fit stopped where no step improves it any more, with a Newton decrement per row of {size:.1e}, "
                f"above tol={self.tol:.1e}; scale the features, lower C, or raise tol if this is precise enough."
            )
        else:
            return
        warnings.warn(message, ConvergenceWarning, stacklevel=4)
