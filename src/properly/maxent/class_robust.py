"""Logistic regression that is robust against unknown class proportions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from properly.maxent.base import MAX_ITER, PooledClassifier, Solved
from properly.maxent.default_prevalence import checked_default, n_classes_of
from properly.maxent.sample import Sample, constraints
from properly.maxent.solver import BoundedProblem, LogMixture
from properly.numeric.probabilities import Array


class ClassRobustLogisticRegression(PooledClassifier):
    """Class probabilities from labelled and unlabelled rows, with the distribution of the rows taken as it is.

    Like `EntropyWeightedMaxent` it looks for the joint distribution closest to the default ν(y) π̃(x) that agrees with
    the labelled rows of every class, |E[f_j|y] - μ̃_j^y| ≤ β_j^y, and it also demands p(x) = π̃(x). The solution is

        p̂(y|x) ∝ ν(y) exp(λ^y·(f(x) - μ̃^y) + Σ_j β_j^y |λ_j^y|),    λ^y = 0 for a class without labels,

    a logistic model with an intercept of its own kind. Its coefficients minimise

        (1/M) Σ_i ln Σ_y ν(y) exp(λ^y·(f(x_i) - μ̃^y) + Σ_j β_j^y |λ_j^y|),

    whose minimum is minus the relative entropy RE(p̂ ‖ ν π̃). Every default needs its own fit.

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

    prevalence_: Array
    objective_: float
    duality_gap_: float

    def __init__(
        self,
        default_prevalence: ArrayLike | None = None,
        *,
        regularization: float = 1.0,
        features: Any = None,
        duplicates: str = "keep",
    ) -> None:
        self.default_prevalence = default_prevalence
        self.regularization = regularization
        self.features = features
        self.duplicates = duplicates

    def _fewest_classes(self) -> int:
        return n_classes_of(self.default_prevalence)

    def _solve_sample(self, sample: Sample, n_classes: int) -> Solved:
        default = checked_default(self.default_prevalence, n_classes)
        bounds = constraints(sample, self.regularization, self._feature_name)
        share = sample.weight / sample.weight.sum()
        rest = np.delete(default, sample.labelled).sum()
        log_rest = float(np.log(rest)) if rest > 0.0 else -np.inf
        potential = LogMixture(share, np.log(default[sample.labelled]), log_rest)
        problem = BoundedProblem(sample.design, potential, *bounds)
        optimum = problem.minimise(MAX_ITER)
        penalty = np.sum(np.abs(optimum.coef) * bounds.deviation, axis=1)
        prevalence = default * max(0.0, 1.0 - optimum.total.sum()) / (rest if rest > 0.0 else 1.0)
        prevalence[sample.labelled] = optimum.total
        entropy = optimum.gap - optimum.objective  # RE(p̂ ‖ ν π̃)
        attributes = {
            "classes": np.arange(n_classes),
            "labelled_classes": sample.labelled,
            "coef": optimum.coef,
            "intercept": penalty - np.sum(optimum.coef * bounds.mean, axis=1),
            "class_score": np.log(default),
            "prevalence": prevalence,
            "objective": optimum.objective,
            "duality_gap": optimum.gap / entropy if entropy > 0.0 else 0.0,
        }
        return Solved(optimum.violation, optimum.n_iter, attributes)
