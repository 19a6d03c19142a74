"""Class probabilities from maxent densities when the class proportions are unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special as sc
from sklearn.utils.validation import check_is_fitted

from properly.classifier import probabilities
from properly.maxent.maxent import Maxent
from properly.maxent.sample import Sample
from properly.numeric.probabilities import Array, as_float
from properly.prevalence.prior import SUM_TOLERANCE, adjusted, as_columns, as_prior, log_prior_ratio


@dataclass(eq=False, repr=False)
class EntropyWeightedMaxent(Maxent):
    """Class probabilities from labelled and unlabelled rows, robust against unknown class proportions.

    Labelled rows show the distribution p(x|y) of a class, but not how frequent it is: some classes are labelled more
    often than others, or never. Among all joint distributions that agree with the labelled rows, class by class, the
    one closest to the default ν(y) π̃(x) has the densities q(x|y) of `Maxent` and the class proportions

        p̂(y) ∝ ν(y) exp(-RE(q(·|y) ‖ π̃)),

    and so p̂(y|x) ∝ p̂(y) q(x|y). It minimises the worst-case log loss relative to the default. A class that is
    confined to few points is taken to be rarer than its default. With presences (label 1) and background (label -1)
    only,

        p̂(1|x) = ν₁ q(x) e^H/(ν₀ + ν₁ q(x) e^H),    H the entropy of q,

    so that a typical site of the class has about its default probability.

    Parameters
    ----------
    default_prevalence : float or array of shape (n_classes,), optional
        ν, in (0, 1): a number is that of class 1 out of two. None means all classes alike, 0.5 for two.
    prevalence_bounds : (low, high), mapping or array of shape (n_classes, 2), optional
        Limits of the true proportions: an interval for class 1 out of two, for every class, or for the classes that
        are the keys of a mapping. p̂(y) is then replaced by the proportions within the bounds that are closest to it,
        argmin RE(p ‖ p̂).
    regularization, features, duplicates
        As for `Maxent`.

    Attributes
    ----------
    prevalence_ : array of shape (n_classes,), p̂(y)
    further ones as for `Maxent`

    References
    ----------
    Dudík and Phillips (2009), Generative and discriminative learning with unknown labeling bias, NIPS 21.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(1000, 1))
    >>> y = np.where((X[:, 0] > 0.8) & (random.random(1000) < 0.5), 1, -1)
    >>> model = EntropyWeightedMaxent(0.3).fit(X, y)
    >>> model.prevalence_.round(3).tolist()
    [0.858, 0.142]
    >>> model.predict_proba([[0.0], [2.0]])[:, 1].round(2).tolist()
    [0.06, 0.55]

    Another default needs no new fit:

    >>> model.predict_proba([[0.0], [2.0]], default_prevalence=0.1)[:, 1].round(2).tolist()
    [0.02, 0.24]
    """

    default_prevalence: ArrayLike | None = None
    _: KW_ONLY
    prevalence_bounds: Any = None
    regularization: float = 1.0
    features: Any = None

    def prevalence(self, default_prevalence: ArrayLike | None = None) -> Array:
        """p̂(y) of the fit, or for another default, from the same densities."""
        check_is_fitted(self)
        if default_prevalence is None:
            return self.prevalence_
        default = as_prior(default_prevalence, len(self.classes_), "default_prevalence")
        return self._prevalence(default, self.labelled_classes_)

    def predict_proba(self, X: Any, default_prevalence: ArrayLike | None = None) -> Array:
        """Class probabilities, one column per entry of ``classes_``; for another default if one is given."""
        return probabilities(self._log_scores(X, _log(self.prevalence(default_prevalence))))

    def _solve(self, sample: Sample, default: Array) -> None:
        if self.prevalence_bounds is not None:
            checked_bounds(self.prevalence_bounds, len(default))  # before anything is solved
        super()._solve(sample, default)
        self.prevalence_ = self._prevalence(default, sample.labelled_classes)
        self.class_score_ = _log(self.prevalence_)

    def _prevalence(self, default: Array, labelled: NDArray[np.intp]) -> Array:
        score = np.log(default)
        score[labelled] -= self.relative_gain_
        prevalence = np.asarray(sc.softmax(score))
        if self.prevalence_bounds is None:
            return prevalence
        return nearest_within(checked_bounds(self.prevalence_bounds, len(default)), prevalence)


def _log(prevalence: Array) -> Array:
    """Of 0, which bounds may demand, it is -infinity."""
    with np.errstate(divide="ignore"):
        return np.log(prevalence)


def checked_bounds(bounds: Any, n_classes: int) -> Array:
    """The lowest and highest proportion of every class, of shape (n_classes, 2).

    A pair is meant for class 1 out of two, a mapping names classes, an array has a row for each.
    """
    if np.ndim(bounds) == 1 and n_classes == 2:
        bounds = {1: bounds}
    if isinstance(bounds, Mapping):
        unknown = [label for label in bounds if label not in range(n_classes)]
        if unknown:
            raise ValueError(
                f"prevalence_bounds names class {unknown[0]!r}, but the classes are 0 … {n_classes - 1}; use these."
            )
        result = np.tile([0.0, 1.0], (n_classes, 1))
        for label, pair in bounds.items():
            if np.shape(pair) != (2,):
                raise ValueError(f"prevalence_bounds must give (low, high) for a class, got {pair!r}.")
            result[int(label)] = as_float(pair, "prevalence_bounds")  # 1.0 and True are names of class 1, too
    else:
        result = as_float(bounds, "prevalence_bounds")
    if result.shape != (n_classes, 2):
        raise ValueError(
            "prevalence_bounds must be (low, high) for class 1 out of two, a mapping from classes to pairs, or of "
            f"shape ({n_classes}, 2), got shape {result.shape}."
        )
    low, high = result.T
    if not np.all((low >= 0.0) & (low <= high) & (high <= 1.0)):
        raise ValueError(f"prevalence_bounds must have 0 ≤ low ≤ high ≤ 1 for every class, got {result.tolist()}.")
    if low.sum() > 1.0 + SUM_TOLERANCE or high.sum() < 1.0 - SUM_TOLERANCE:
        raise ValueError(
            f"prevalence_bounds contradict each other: proportions add up to 1, but the lowest add up to {low.sum():g} "
            f"and the highest to {high.sum():g}."
        )
    return result


def nearest_within(bounds: Array, prevalence: Array) -> Array:
    """argmin RE(p ‖ prevalence) over proportions p within bounds: p_y = c · prevalence_y, cut off at its bounds.

    The sum grows with c and is linear between the values at which a class reaches a bound.

    >>> nearest_within(np.array([[0.0, 1.0], [0.1, 1.0], [0.0, 0.05]]), np.array([0.9, 0.06, 0.04]))
    array([0.86, 0.1 , 0.04])
    """
    low, high = bounds.T

    def at(c: Array) -> Array:
        return np.clip(np.outer(c, prevalence), low, high)

    corners = np.unique(np.append(bounds.T / prevalence, 0.0))
    c = np.interp(1.0, at(corners).sum(axis=1), corners)
    p = at(np.array([c]))[0]
    return np.asarray(p / p.sum())


def reweight(
    classifier: Any,
    X: Any,
    maxent: EntropyWeightedMaxent,
    *,
    default_prevalence: ArrayLike | None = None,
    train_prior: ArrayLike | None = None,
) -> Array:
    """Probabilities of another classifier, brought to the class proportions that maxent's entropies suggest.

    Boosted trees or other learners that tell presences from unlabelled rows get the shape of p(y|x) right, but its
    level is that of the training sample. Trained with equal total weights of the classes (class_weight="balanced"),
    they are moved to the proportions p̂(y) ∝ ν(y) exp(-RE(q(·|y) ‖ π̃)) of an `EntropyWeightedMaxent` by
    `adjust_prior`.

    Parameters
    ----------
    classifier : fitted, with `predict_proba`
        Its classes, in order, stand for those of `maxent`; unlabelled rows for class 0 in training.
    X : what the classifier takes
    maxent : fitted EntropyWeightedMaxent
    default_prevalence : float or array, optional
        ν, if another one than that of the fit.
    train_prior : float or array, optional
        The proportions that the classifier was trained with; equal ones if not given.

    Returns
    -------
    array of shape (n_samples, n_classes)

    References
    ----------
    Dudík and Phillips (2009), Generative and discriminative learning with unknown labeling bias, NIPS 21: section 3;
    Elkan (2001), The foundations of cost-sensitive learning, IJCAI.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(1000, 2))
    >>> y = np.where((X[:, 0] > 0.8) & (random.random(1000) < 0.5), 1, -1)
    >>> trees = HistGradientBoostingClassifier(max_iter=20, class_weight="balanced").fit(X, y)
    >>> maxent = EntropyWeightedMaxent(0.3).fit(X, y)
    >>> trees.predict_proba([[1.5, 0.0]])[:, 1].round(1).tolist()
    [0.9]
    >>> reweight(trees, [[1.5, 0.0]], maxent)[:, 1].round(1).tolist()
    [0.6]
    """
    if not isinstance(maxent, EntropyWeightedMaxent):
        raise ValueError(f"maxent must be an EntropyWeightedMaxent, got {type(maxent).__name__}.")
    check_is_fitted(maxent)
    n_classes = len(maxent.classes_)
    p = np.asarray(classifier.predict_proba(X))
    if p.ndim != 2 or p.shape[1] != n_classes:
        raise ValueError(
            f"classifier has {p.shape[-1]} classes, maxent has {n_classes}; train both for the same classes."
        )
    before = np.full(n_classes, 1.0 / n_classes) if train_prior is None else train_prior
    log_ratio = log_prior_ratio(before, maxent.prevalence(default_prevalence), n_classes)
    return adjusted(as_columns(p, "the classifier's p"), log_ratio)
