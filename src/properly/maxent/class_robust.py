"""Logistic regression that is robust against unknown class proportions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special as sc
from sklearn.utils.validation import check_is_fitted

from properly.classifier import probabilities
from properly.maxent.sample import Sample, constraints
from properly.maxent.semi_supervised import SemiSupervisedClassifier
from properly.maxent.solver import Objective, PenalisedProblem
from properly.numeric.probabilities import Array


@dataclass(eq=False, repr=False)
class ClassRobustLogisticRegression(SemiSupervisedClassifier):
    """Class probabilities from labelled and unlabelled rows, with the distribution of the rows taken as it is.

    Like `EntropyWeightedMaxent` it looks for the joint distribution closest to the default ν(y) π̃(x) that agrees with
    the labelled rows of every class, |E[f_j|y] - μ̃_j^y| ≤ β_j^y, and it also demands p(x) = π̃(x). The solution is

        p̂(y|x) ∝ ν(y) exp(λ^y·(f(x) - μ̃^y) + Σ_j β_j^y |λ_j^y|),    λ^y = 0 for a class without labels,

    a logistic model with an intercept of its own kind. Its coefficients minimise

        (1/M) Σ_i ln Σ_y ν(y) exp(λ^y·(f(x_i) - μ̃^y) + Σ_j β_j^y |λ_j^y|),

    whose minimum is minus the relative entropy RE(p̂ ‖ ν π̃). Every default needs its own fit.

    Mathematics: formula (4.6), formula (4.7).

    Parameters
    ----------
    default_prevalence : float or array of shape (n_classes,), optional
        ν, in (0, 1): a number is that of class 1 out of two. None means all classes alike, 0.5 for two.
    regularization, features, duplicates
        As for `Maxent`.

    Attributes
    ----------
    classes_, labelled_classes_, coef_, intercept_, violation_, n_iter_, features_ : as for `Maxent`
        ln p̂(y|x)/ν(y) = coef_·f(x) + intercept_, up to what all classes have in common.
    prevalence_ : array of shape (n_classes,), the mean of p̂(y|x) over the pool
    objective_ : float, the minimum
    duality_gap_ : float
        objective_ + RE(p̂ ‖ ν π̃), relative to the latter: 0 at the optimum. (If the optimality conditions are
        violated, by `violation_`, it may be negative.)

    Notes
    -----
    Because p(x) is fixed, no class can be more frequent than its conditions allow: P(y) q(x|y) ≤ π̃(x) at every point.
    A class that is confined to few points must then be rare, whatever the default.

    References
    ----------
    Dudík and Phillips (2009), Generative and discriminative learning with unknown labeling bias, NIPS 21: section 2.3.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(1000, 1))
    >>> y = np.where((X[:, 0] > 0.8) & (random.random(1000) < 0.5), 1, -1)
    >>> model = ClassRobustLogisticRegression(0.3).fit(X, y)
    >>> model.predict_proba([[0.0], [2.0]])[:, 1].round(2).tolist()
    [0.02, 0.68]
    """

    default_prevalence: ArrayLike | None = None

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        row_prevalence: ArrayLike | None = None,
    ) -> Self:
        """Fit the model; as for `EntropyWeightedMaxent`, also with a default ν(y|x) that varies from row to row.

        Parameters
        ----------
        X : array or data frame of shape (n, n_features)
            Labelled and unlabelled rows together.
        y : array of shape (n,)
            Classes, and -1 for rows without a label.
        sample_weight : array of shape (n,), optional
            A weight of 2 counts as the row twice.
        row_prevalence : array of shape (n,) or (n, n_classes), optional
            A default for every row in place of one for all.
        """
        return self._fit_sites(X, y, sample_weight, None, row_prevalence)

    def predict_proba(self, X: Any, row_prevalence: ArrayLike | None = None) -> Array:
        """Class probabilities, one column per entry of ``classes_``; `row_prevalence` is needed if the fit had it."""
        check_is_fitted(self)
        return probabilities(self._log_scores(X, None, row_prevalence))

    def _solve(self, sample: Sample, default: Array) -> None:
        limits = constraints(sample, self.regularization, self._feature_name)
        labelled = sample.labelled_classes
        weight = sample.weight / sample.weight.sum()
        prevalence = default[None] if sample.prevalence is None else sample.prevalence  # (1 or points, classes)
        unlabelled = np.setdiff1d(np.arange(len(default)), labelled)
        rest = prevalence[:, unlabelled].sum(axis=1)
        with np.errstate(divide="ignore"):  # ln 0 if there is no other class
            objective = MeanLogMixture(weight, np.log(prevalence[:, labelled]).T, np.log(rest)[None])
        optimum = PenalisedProblem(sample.design, objective, limits).minimise()
        penalty = np.sum(np.abs(optimum.coef) * limits.tolerance, axis=1)
        entropy = optimum.gap - optimum.objective  # RE(p̂ ‖ ν π̃)
        self.coef_ = optimum.coef
        self.intercept_ = penalty - np.sum(optimum.coef * limits.mean, axis=1)
        self.class_score_ = np.log(default) if sample.prevalence is None else np.zeros(len(default))
        self.prevalence_ = np.zeros(len(default))
        self.prevalence_[labelled] = optimum.total
        if len(unlabelled):  # what labelled classes leave of a point is shared as in the default
            scores = np.stack([sample.design.scores(coef) for coef in self.coef_]) + self.intercept_[:, None]
            left = np.maximum(weight - objective.derivative(scores).sum(axis=0), 0.0) / rest
            self.prevalence_[unlabelled] = np.sum(left[:, None] * prevalence[:, unlabelled], axis=0)
        self.objective_ = optimum.objective
        self.duality_gap_ = optimum.gap / entropy if entropy > 0.0 else 0.0
        self.violation_, self.n_iter_ = optimum.violation, optimum.n_iter


@dataclass(frozen=True)
class MeanLogMixture(Objective):
    """Σ_i π_i ln(ν(rest) + Σ_y ν(y) exp(s_i^y)), with π the weights of the points, of sum 1.

    The sum over y is that over the classes that have labels; the rest has the scores 0.
    """

    weight: Array
    log_prior: Array  # ln ν of the classes with scores, of shape (classes, 1 or points)
    log_rest: Array  # ln ν of all others together, -inf if there are none, of shape (1, 1 or points)

    def _log_terms(self, scores: Array) -> Array:
        rest = np.broadcast_to(self.log_rest, (1, scores.shape[1]))
        return np.concatenate([scores + self.log_prior, rest])

    def value(self, scores: Array) -> float:
        return float(sc.logsumexp(self._log_terms(scores), axis=0) @ self.weight)

    def derivative(self, scores: Array) -> Array:
        return np.asarray(sc.softmax(self._log_terms(scores), axis=0)[:-1] * self.weight)

    def hessian(self, derivative: Array, columns: list[Array]) -> Array:
        share = derivative / self.weight

        def block(y: int, other: int) -> Array:
            if y != other:
                return np.asarray(-(columns[y] * (derivative[y] * share[other])) @ columns[other].T)
            scaled = columns[y] * np.sqrt(derivative[y] * (1.0 - share[y]))
            return np.asarray(scaled @ scaled.T)

        return np.block([[block(y, other) for other in range(len(columns))] for y in range(len(columns))])
