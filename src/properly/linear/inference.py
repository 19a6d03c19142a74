"""How sure a linear model is: covariances, standard errors and intervals for coefficients and probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from properly import kernels
from properly.engines.select import training_engine
from properly.kernels import Block, Hessian, LinearModel
from properly.linear.classifier import LinearClassifier
from properly.linear.fitting import Penalty, weight_by_class
from properly.linear.prediction import LinearPredictor
from properly.links import Link
from properly.losses import Composite
from properly.options import choose
from properly.probabilities import Array


@dataclass(frozen=True)
class Inference:
    """What `inference` found out about a binary model; the intercept, if there is one, comes last.

    Attributes
    ----------
    names : list of str
    coef : array of shape (n_coefficients,)
    covariance : array of shape (n_coefficients, n_coefficients)
    """

    names: list[str]
    coef: Array
    covariance: Array
    model: LinearPredictor

    @property
    def standard_errors(self) -> Array:
        return np.sqrt(np.diag(self.covariance))

    def confidence_intervals(self, level: float = 0.95) -> Array:
        """Wald intervals for the coefficients, of shape (n_coefficients, 2)."""
        half = _quantile(level) * self.standard_errors
        return np.column_stack([self.coef - half, self.coef + half])

    def probability_intervals(self, X: Any, level: float = 0.95, offset: ArrayLike | None = None) -> Array:
        """Intervals for the probability of the second class, of shape (n_samples, 2): those of the score, linked."""
        link = _link_of(self.model)
        score = self.model.decision_function(X, offset) + link.link(0.5)
        design = np.asarray(X.todense()) if hasattr(X, "todense") else np.asarray(X, dtype=np.float64)
        if len(self.coef) > design.shape[1]:
            design = np.column_stack([design, np.ones(len(design))])
        half = _quantile(level) * np.sqrt(np.einsum("ij,jk,ik->i", design, self.covariance, design))
        return np.column_stack([link.inverse(score - half), link.inverse(score + half)])

    def summary(self, level: float = 0.95) -> Any:
        """A pandas data frame: coefficient, standard error, z, two-sided p-value and interval."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("summary() returns a pandas data frame: pip install pandas") from error
        z = self.coef / self.standard_errors
        low, high = self.confidence_intervals(level).T
        columns = {
            "coef": self.coef,
            "std_err": self.standard_errors,
            "z": z,
            "p_value": 2.0 * stats.norm.sf(np.abs(z)),
            "low": low,
            "high": high,
        }
        return pd.DataFrame(columns, index=self.names)


def inference(
    model: LinearClassifier,
    X: Any,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    kind: str = "model",
) -> Inference:
    """Covariance of the coefficients of a fitted binary model, from the data it was fitted to.

    With A the summed expected curvature (ridge included) and B the summed squares of the gradients it is A⁻¹BA⁻¹:
    ``kind="model"`` takes the squares that the model expects, ``kind="sandwich"`` those that are observed, which is
    right also where the model is wrong. For unpenalised log loss "model" is the inverse information. A weight
    counts as that many rows. A ridge makes estimates biased: the covariance then is about their mean. L1 penalties are
    refused, since the estimates are not nearly normal.

    Examples
    --------
    >>> from properly.datasets import make_rare_events
    >>> from properly.linear import ProperLinearClassifier
    >>> X, y, p = make_rare_events(2000, 2, rate=0.1, random_state=0)
    >>> result = inference(ProperLinearClassifier(C=1e6).fit(X, y), X, y)
    >>> result.standard_errors.shape
    (3,)
    """
    observed = choose(kind, {"model": False, "sandwich": True}, "kind")
    check_is_fitted(model)
    penalty = Penalty.of(model.C, model.l1_ratio)
    if len(model.classes_) != 2:
        raise ValueError(f"inference is for two classes, the model has {len(model.classes_)}.")
    if penalty.lasso:
        raise ValueError(f"inference needs l1_ratio=0, got {model.l1_ratio}: selected coefficients are not normal.")
    engine, classes = training_engine(clone(model), X, y, sample_weight, offset)
    if not np.array_equal(classes, model.classes_):
        raise ValueError(f"y holds the classes {classes.tolist()}, the model was fitted to {model.classes_.tolist()}.")
    if model.class_weight is not None:
        engine = engine.reweighted(model._class_factor(weight_by_class(engine, classes), classes))
    composite = model._composite()
    linear = LinearModel(composite)
    coef = np.column_stack([model.coef_, model.intercept_]) if model.fit_intercept else model.coef_
    curvature = engine.reduce(kernels.hessian, linear, coef, False, None).hessian
    k = model.coef_.shape[1]
    curvature[np.arange(k), np.arange(k)] += penalty.ridge
    inverse = np.linalg.pinv(curvature, hermitian=True)
    squares = engine.reduce(_squared_gradients, linear, composite, coef, observed).hessian
    names = list(getattr(model, "feature_names_in_", [f"x{j}" for j in range(k)]))
    names += ["intercept"] * bool(model.fit_intercept)
    return Inference(names, coef[0].copy(), inverse @ squares @ inverse, model)


def _squared_gradients(block: Block, model: LinearModel, composite: Composite, coef: Array, observed: bool) -> Hessian:
    """Σ w g² (x, 1)(x, 1)ᵀ, with g² as observed or as expected when y has probability p."""
    X, y = model.design(block), model.target(block)
    with np.errstate(all="ignore"):
        v = model.scores(block, X, coef)
        if observed:
            rows = composite._gradient(y, v) ** 2
        else:
            p, q = composite.link._pair(v)
            at0, at1 = (composite._gradient(np.full(v.shape, label), v) for label in (False, True))
            rows = q * at0**2 + p * at1**2
    return Hessian(kernels.weighted_gram(X, kernels.weighted(block, rows), coef.shape[1]))


def _link_of(model: LinearPredictor) -> Link:
    if model.link_ is None:
        raise ValueError("a softmax has no single link.")
    return model.link_


def _quantile(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level}.")
    return float(stats.norm.ppf(0.5 + 0.5 * level))
