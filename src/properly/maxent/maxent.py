"""Maximum entropy densities of classes over a pool of points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from properly.inputs.options import choose
from properly.maxent.sample import Sample, constraints
from properly.maxent.semi_supervised import SemiSupervisedClassifier
from properly.maxent.solver import Objective, PenalisedProblem
from properly.numeric.probabilities import Array

_OUTPUTS: dict[str, Callable[[Array, Array], Array]] = {
    "raw": lambda log_q, entropy: np.exp(log_q),
    "logistic": lambda log_q, entropy: 1.0 / (1.0 + np.exp(-(log_q + entropy))),
    "cloglog": lambda log_q, entropy: -np.expm1(-np.exp(log_q + entropy)),
}


@dataclass(eq=False, repr=False)
class Maxent(SemiSupervisedClassifier):
    """Where a class lives: its density over a pool of points, as close to even as its labelled rows allow.

    Labelled rows (class 0, 1, … K - 1) and unlabelled ones (label -1) together are the pool; M of them with equal
    weights make up its distribution π̃. For every class with labels, maxent finds the density

        q(x|y) ∝ π̃(x) exp(λ·f(x))

    of the highest entropy whose expectations are close to the means μ̃ of the m rows with that label:
    |E_q f_j - μ̃_j| ≤ β_j, with β_j = regularization · σ̃_j/√m and σ̃_j the standard deviation among them. That is the
    minimum of -λ·μ̃ + ln Σ_i exp(λ·f(x_i)) + Σ_j β_j |λ_j|. A class without labels has q = π̃.

    In the usual case there are presences (label 1) and background points (label -1), and no absences. The class
    probabilities are then the logistic output of the Maxent program: those of `EntropyWeightedMaxent` with equal
    default prevalences.

    Mathematics: formula (4.1), formula (4.2).

    Parameters
    ----------
    regularization : float, default 1.0
        The larger, the more even the density. With 0, expectations must equal means, which may be impossible.
    features : transformer, optional
        `MaxentFeatures()`, or any other transformer, also a pipeline. None means the columns as they are, without
        scaling. For features of `MaxentFeatures`, also last in a pipeline, σ̃_j is at least 1/√m. Pass a transformer
        that is fitted already as ``FrozenEstimator(features)``.
    duplicates : {"keep", "once"}, default "keep"
        Whether rows with identical features, such as several records of one site, are all kept or count once: as one
        point in the pool, with the largest of their weights, labelled with every class that one of them has.

    Attributes
    ----------
    classes_ : array, 0 … K - 1, with K at least 2
    labelled_classes_ : array, the classes that have labels; what follows is in their order
    coef_, intercept_ : arrays of shape (labelled classes, features) and (labelled classes,)
        ln q(x|y)/π̃(x) = coef_·f(x) + intercept_.
    entropy_ : array, the entropy of q over the points of the pool in nats; ln M if nothing is known
    relative_gain_ : array, ln M - entropy_ = RE(q ‖ π̃)
        What Maxent calls the regularised training gain: by how much the log-likelihood of the labelled rows exceeds
        that of an even density, less the penalty.
    violation_ : float
        The largest violation of the optimality conditions |E_q f_j - μ̃_j| ≤ β_j, with equality where λ_j ≠ 0, relative
        to the range of the feature. Fits with more than 1e-6 warn.
    n_iter_ : int
    features_ : the fitted transformer, None without
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Weights: M is the weight of the pool, m that of a class. A row of weight 2 is two points with half of q each.

    A feature that is the same in all labelled rows has σ̃_j = range_j/√m in place of 0 (that of `MaxentFeatures` has its
    least value): few rows may have the same value by chance. With a single presence the density is even.

    References
    ----------
    Dudík and Phillips (2009), Generative and discriminative learning with unknown labeling bias, NIPS 21; Phillips,
    Anderson and Schapire (2006), Ecological Modelling 190; Phillips et al. (2017), Opening the black box, Ecography 40.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> background, presence = random.normal(size=(500, 2)), random.normal([1.0, 0.0], size=(60, 2))
    >>> X = np.vstack([background, presence])
    >>> y = np.repeat([-1, 1], [500, 60])
    >>> model = Maxent().fit(X, y)
    >>> model.coef_.round(1).tolist()
    [[0.8, 0.0]]
    >>> model.predict_output([[0.0, 0.0], [2.0, 0.0]], "cloglog").round(2).tolist()
    [0.38, 0.9]
    """

    regularization: float = 1.0
    features: Any = None

    def predict_output(self, X: Any, output: str = "cloglog") -> Array:
        """The density of the labelled class in one of the scales of the Maxent program.

        Parameters
        ----------
        X : array or data frame
        output : {"cloglog", "logistic", "raw"}, default "cloglog"
            "raw" is q, of sum 1 over the pool. With H its entropy, "logistic" is q e^H/(1 + q e^H), the probability of
            presence if half of the typical sites are occupied, and "cloglog" 1 - exp(-q e^H), that of at least one
            individual where their density is q e^H.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, labelled classes) if there are several
        """
        formula = choose(output, _OUTPUTS, "output")
        log_q = self.class_scores(X) - (self.entropy_ + self.relative_gain_)
        with np.errstate(over="ignore"):  # an infinite e^-v is a logistic of 0, an infinite e^v a cloglog of 1
            result = formula(log_q, self.entropy_)
        return np.asarray(result[:, 0] if len(self.labelled_classes_) == 1 else result)

    def _solve(self, sample: Sample, default: Array) -> None:
        """One problem after the other: the densities of the classes do not depend on each other."""
        limits = constraints(sample, self.regularization, self._feature_name)
        total = float(sample.weight.sum())
        found = []
        for k, label in enumerate(sample.labelled_classes):
            own = limits._replace(mean=limits.mean[[k]], tolerance=limits.tolerance[[k]])
            objective = LogPartition(sample.default_density(label))
            found.append(PenalisedProblem(sample.design, objective, own).minimise())
        self.coef_ = np.concatenate([optimum.coef for optimum in found])
        lowest = np.array([optimum.objective for optimum in found])
        penalty = np.sum(np.abs(self.coef_) * limits.tolerance, axis=1)
        self.intercept_ = penalty - np.sum(self.coef_ * limits.mean, axis=1) - lowest
        # RE(q ‖ π̃) = E_q ln q/π̃; at the optimum it is minus the objective.
        self.relative_gain_ = np.maximum(0.0, np.array([optimum.gap for optimum in found]) - lowest)
        self.entropy_ = np.log(total) - self.relative_gain_
        score = np.zeros(len(default))
        score[sample.labelled_classes] = -self.relative_gain_
        self.class_score_ = score - np.logaddexp.reduce(score)  # p̂(y) ∝ exp(-RE(q(·|y) ‖ π̃))
        self.violation_ = max(optimum.violation for optimum in found)
        self.n_iter_ = max(optimum.n_iter for optimum in found)


@dataclass(frozen=True)
class LogPartition(Objective):
    """ln Σ_i π_i exp(s_i) of one class, with π the weights of the points, of sum 1: what maxent minimises."""

    weight: Array

    def value(self, scores: Array) -> float:
        highest = float(scores[0].max())
        return highest + float(np.log(np.exp(scores[0] - highest) @ self.weight))

    def derivative(self, scores: Array) -> Array:
        density = np.exp(scores - scores.max()) * self.weight
        return np.asarray(density / density.sum())

    def hessian(self, derivative: Array, columns: list[Array]) -> Array:
        centred = columns[0] - (columns[0] @ derivative[0])[:, None]
        centred *= np.sqrt(derivative[0])
        return np.asarray(centred @ centred.T)
