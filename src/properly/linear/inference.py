"""Covariances, standard errors and confidence intervals for the coefficients and probabilities of linear models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from properly import kernels
from properly.engines import training_engine
from properly.inputs.optional import require
from properly.inputs.options import check_interval, choose
from properly.kernels import Block, Hessian, LinearModel
from properly.linear.classifier import LinearClassifier
from properly.linear.estimator import LinearPredictor, dense
from properly.linear.fitting import Data, Penalty, weight_by_class
from properly.linear.rare_events import RareEventLogisticRegression
from properly.links import Link
from properly.losses import Composite, LogLoss
from properly.numeric.arrays import Array, beside, constant, floats, namespace
from properly.numeric.functions import matmul


@dataclass(frozen=True)
class Inference:
    """The result of `inference` for a binary model; the intercept, if there is one, comes last.

    Attributes
    ----------
    names : list of str
    coef : array of shape (n_coefficients,)
    centred_covariance : array of shape (n_coefficients, n_coefficients)
        The covariance of the coefficients of features minus `center`; for features far from 0 only this one is precise.
    center : array of shape (n_features,)
    model : the fitted model
        What the inference is about.
    """

    names: list[str]
    coef: Array
    centred_covariance: Array
    center: Array
    model: LinearPredictor

    @property
    def covariance(self) -> Array:
        """The covariance of the coefficients, of shape (n_coefficients, n_coefficients)."""
        if len(self.coef) == len(self.center):
            return self.centred_covariance
        back = np.eye(len(self.coef))  # intercept = centred intercept - center · w
        back[-1, :-1] = -self.center
        return back @ self.centred_covariance @ back.T

    @property
    def standard_errors(self) -> Array:
        return np.sqrt(np.diag(self.covariance))

    def confidence_intervals(self, level: float = 0.95) -> Array:
        """Wald intervals for the coefficients, of shape (n_coefficients, 2).

        Parameters
        ----------
        level : float, default 0.95
            The probability with which an interval covers the truth.
        """
        half = _quantile(level) * self.standard_errors
        return np.column_stack([self.coef - half, self.coef + half])

    def probability_intervals(self, X: Any, level: float = 0.95, offset: ArrayLike | None = None) -> Array:
        """Intervals for the probability of the second class, (n_samples, 2), from Wald intervals of the score.

        Parameters
        ----------
        X : array of shape (n, n_features)
            New rows.
        level : float, default 0.95
            The probability with which an interval covers the truth.
        offset : array of shape (n,), optional
            Their offsets.
        """
        link = cast(Link, self.model.link_)
        score = self.model.decision_function(X, offset) + float(link.link(0.5))
        design = np.asarray(X.todense()) if hasattr(X, "todense") else floats(X=X)[0]
        xp = namespace(design)
        design = design - constant(self.center, design)
        if len(self.coef) > design.shape[1]:
            design = beside(design, xp.ones_like(design[:, :1]))
        half = _quantile(level) * xp.sqrt(xp.sum(matmul(design, self.centred_covariance) * design, axis=1))
        return xp.stack([link.inverse(score - half), link.inverse(score + half)], axis=1)

    def summary(self, level: float = 0.95) -> Any:
        """A pandas data frame: coefficient, standard error, z, two-sided p-value and interval.

        Parameters
        ----------
        level : float, default 0.95
            The probability with which an interval covers the truth.
        """
        pd = require("pandas", "frames")
        with np.errstate(divide="ignore", invalid="ignore"):  # the standard error of a constant column is 0
            z = self.coef / self.standard_errors
        low, high = self.confidence_intervals(level).T
        columns = {
            "coef": self.coef,
            "std_err": self.standard_errors,
            "z": z,
            "p_value": 2.0 * stats.norm.sf(np.abs(z)),
        }
        return pd.DataFrame({**columns, "low": low, "high": high}, index=self.names)


def inference(
    model: LinearClassifier | RareEventLogisticRegression,
    X: Any,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    kind: str = "model",
) -> Inference:
    """Covariance of the coefficients of a fitted binary model, from the data it was fitted to.

    With A the summed expected curvature (ridge included) and B the summed squares of the gradients it is A⁻¹BA⁻¹:
    ``kind="model"`` takes the squares that the model expects, ``kind="sandwich"`` the observed ones, which is valid
    also where the model is wrong. For unpenalised log loss "model" is the inverse information. A row of weight w counts
    as w rows. With a ridge the estimates are biased, and the covariance describes their spread about their mean. L1
    penalties are refused, since the estimates are not nearly normal.

    The model is a `ProperLinearClassifier`, `GEVCanonicalRegression`, `GEVLogRegression`, or a
    `RareEventLogisticRegression` with correction "firth" or "king-zeng-bias" (the covariance is then that of maximum
    likelihood at the corrected coefficients, as is usual; a population rate is treated as known).

    Parameters
    ----------
    model : a fitted binary linear model
        See above.
    X, y, sample_weight, offset : as in its `fit`
        The data it was fitted to.
    kind : {"model", "sandwich"}, default "model"
        Which squares of gradients are taken.

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
    composite, penalty = _fitted_by(model)
    refitted = clone(model)
    with training_engine(refitted, X, y, sample_weight, offset) as (engine, classes):
        _check_same_data(model, refitted, classes)
        class_weight = weight_by_class(engine, classes)
        if not class_weight.all():
            empty = classes[class_weight == 0.0].tolist()[0]
            raise ValueError(
                f"every row of class {empty!r} has weight 0, so that the model is certain; weight both classes."
            )
        shift = 0.0
        if isinstance(model, RareEventLogisticRegression):
            shift = model.intercept_shift_  # the rows are of the sample, not of the population
        elif model.class_weight is not None:
            engine = engine.reweighted(model._class_factor(class_weight, classes))
        data = Data.describe(engine, class_weight, model.fit_intercept)
        linear = LinearModel(composite, center=data.center)
        coef = data.joined(dense(model.coef_), model.intercept_ - shift)
        curvature = engine.reduce(kernels.hessian, linear, coef, False, None).hessian
        k = model.coef_.shape[1]
        curvature[np.arange(k), np.arange(k)] += penalty.ridge
        inverse = _inverse(curvature)
        squares = engine.reduce(_squared_gradients, linear, composite, coef, observed).hessian
    names = list(getattr(model, "feature_names_in_", [f"x{j}" for j in range(k)]))
    names += ["intercept"] * bool(model.fit_intercept)
    weights = dense(model.coef_)[0]
    fitted = np.append(weights, model.intercept_) if model.fit_intercept else weights.copy()
    center = np.zeros(k) if data.center is None else data.center
    return Inference(names, fitted, inverse @ squares @ inverse, center, model)


def _fitted_by(model: Any) -> tuple[Composite, Penalty]:
    """What the model minimised, if its estimates are nearly normal."""
    corrected = isinstance(model, RareEventLogisticRegression) and model.correction in ("firth", "king-zeng-bias")
    if not (corrected or isinstance(model, LinearClassifier)):
        name = f"{type(model).__name__}" + (f" with {model.correction!r}" if hasattr(model, "correction") else "")
        raise ValueError(
            f"inference does not support {name}, whose coefficients do not come from one fit to all rows; fit a "
            'ProperLinearClassifier, a GEV regression, or a RareEventLogisticRegression with "firth".'
        )
    check_is_fitted(model)
    if len(model.classes_) != 2:
        raise ValueError(f"inference supports two classes only, the model has {len(model.classes_)}.")
    if corrected:
        return Composite(LogLoss()), Penalty.of(model.C)
    penalty = Penalty.of(model.C, model.l1_ratio)
    if penalty.lasso:
        raise ValueError(f"inference needs l1_ratio=0, got {model.l1_ratio}: selected coefficients are not normal.")
    return model._composite(), penalty


def _check_same_data(model: Any, refitted: Any, classes: NDArray[Any]) -> None:
    if not np.array_equal(classes, model.classes_):
        raise ValueError(f"y holds the classes {classes.tolist()}, the model was fitted to {model.classes_.tolist()}.")
    if refitted.n_features_in_ != model.n_features_in_:
        raise ValueError(f"X has {refitted.n_features_in_} features, the model was fitted to {model.n_features_in_}.")
    now, then = (getattr(each, "feature_names_in_", None) for each in (refitted, model))
    if now is not None and then is not None and list(now) != list(then):
        raise ValueError(f"X has the features {list(now)}, the model was fitted to {list(then)}, in this order.")


def _inverse(matrix: Array) -> Array:
    """The pseudo-inverse after scaling to unit diagonal: features of any scale count alike."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    scale = np.where(scale > 0.0, 1.0 / np.where(scale > 0.0, scale, 1.0), 0.0)
    return np.asarray(scale * np.linalg.pinv(matrix * scale * scale[:, None], hermitian=True) * scale[:, None])


def _squared_gradients(block: Block, model: LinearModel, composite: Composite, coef: Array, observed: bool) -> Hessian:
    """Σ w g² (x, 1)(x, 1)ᵀ, with g² as observed or as expected when y has probability p."""
    with np.errstate(all="ignore"):
        X, y, v = model.read(block, coef)
        if observed:
            rows = composite._gradient(y, v) ** 2
        else:
            p, q = composite.link._pair(v)
            at0, at1 = (composite._gradient((v != v) | label, v) for label in (False, True))
            rows = q * at0**2 + p * at1**2
    return Hessian(kernels.weighted_gram(X, kernels.weighted(block, rows), coef.shape[1]))


def _quantile(level: float) -> float:
    check_interval(level, "level", 0.0, 1.0)
    return float(stats.norm.ppf(0.5 + 0.5 * level))
