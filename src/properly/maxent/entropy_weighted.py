"""Class probabilities from maxent densities when the class proportions are unknown."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special as sc
from sklearn.utils.validation import check_is_fitted

from properly.classifier import probabilities
from properly.inputs.options import choose
from properly.maxent.maxent import Maxent
from properly.maxent.proportions import checked_proportions
from properly.maxent.sample import Sample
from properly.numeric.arrays import require_values
from properly.numeric.probabilities import Array
from properly.prevalence.prior import adjusted, as_columns, as_prior, log_prior_ratio

_WEIGHTINGS = {"entropy": True, "default": False}  # whether classes are weighted by how confined they are


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

    Mathematics: formula (4.3), formula (4.5).

    Parameters
    ----------
    default_prevalence : float or array of shape (n_classes,), optional
        ν, in (0, 1): a number is that of class 1 out of two. None means all classes alike, 0.5 for two.
    weighting : {"entropy", "default"}, default "entropy"
        "default" takes the default proportions as they are, p̂(y) = ν(y), and only the densities from maxent.
    prevalence_bounds : (low, high), mapping or array of shape (n_classes, 2), optional
        Limits of the true proportions: an interval for class 1 out of two, for every class, or for the classes that
        are the keys of a mapping; the interval of a tuple of classes is that of the sum of their shares. p̂(y) is then
        replaced by the proportions within the bounds that are closest to it, argmin RE(p ‖ p̂).
    prevalence_constraints : (A, b), optional
        Linear inequalities A·p ≤ b of the true proportions, with a column for each class; together with the bounds.
        A set of proportions that is empty is an error, which names the constraints that contradict each other.
    regularization, features, duplicates
        As for `Maxent`.

    Attributes
    ----------
    prevalence_ : array of shape (n_classes,), p̂(y)
    prevalence_gap_ : float
        The duality gap of p̂(y) within its constraints: by how much another one could be closer, at most. 0 without any.
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
    weighting: str = "entropy"
    prevalence_bounds: Any = None
    prevalence_constraints: Any = None
    regularization: float = 1.0
    features: Any = None

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        row_prevalence: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X, y, sample_weight :
            As for `Maxent`.
        row_prevalence : array of shape (n_samples,) or (n_samples, n_classes), optional
            ν(y|x), a default that varies from row to row, in place of `default_prevalence`: where a class was looked
            for more, or is expected more often. A single column is that of class 1 out of two. Densities are then
            compared with ν(x|y) ∝ π̃(x) ν(y|x), and predictions need the default of their rows as well.
        """
        return self._fit_sites(X, y, sample_weight, None, row_prevalence)

    def prevalence(self, default_prevalence: ArrayLike | None = None) -> Array:
        """p̂(y) of the fit, or for another default, from the same densities."""
        check_is_fitted(self)
        if default_prevalence is None:
            return self.prevalence_
        if self.varying_default_:
            raise ValueError("default_prevalence must be None: this model was fitted with row_prevalence; fit again.")
        default = as_prior(default_prevalence, len(self.classes_), "default_prevalence")
        return self._prevalence(default, self.labelled_classes_)[0]

    def predict_proba(
        self, X: Any, default_prevalence: ArrayLike | None = None, row_prevalence: ArrayLike | None = None
    ) -> Array:
        """Class probabilities, one column per entry of ``classes_``.

        For another default if one is given; `row_prevalence` is needed if the fit had it.
        """
        check_is_fitted(self)
        if default_prevalence is None:
            return probabilities(self._log_scores(X, None, row_prevalence))
        return probabilities(self._log_scores(X, _log(self.prevalence(default_prevalence)), row_prevalence))

    def predict_output(self, X: Any, output: str = "cloglog") -> Array:
        check_is_fitted(self)
        if self.varying_default_:
            raise ValueError("predict_output has no default for new rows: this model was fitted with row_prevalence.")
        return super().predict_output(X, output)

    predict_output.__doc__ = Maxent.predict_output.__doc__

    def _check_parameters(self) -> None:
        super()._check_parameters()
        choose(self.weighting, _WEIGHTINGS, "weighting")

    def _solve(self, sample: Sample, default: Array) -> None:
        checked_proportions(self.prevalence_bounds, self.prevalence_constraints, len(default))  # before all else
        super()._solve(sample, default)
        self.prevalence_, self.prevalence_gap_ = self._prevalence(default, sample.labelled_classes)
        self.class_score_ = _log(self.prevalence_)
        if sample.prevalence is not None:
            self.class_score_ -= np.log(default)  # ν(y|x), in place of ν(y), is added to every row

    def _prevalence(self, default: Array, labelled: NDArray[np.intp]) -> tuple[Array, float]:
        """p̂(y), and the gap of its projection."""
        score = np.log(default)
        if choose(self.weighting, _WEIGHTINGS, "weighting"):
            score[labelled] -= self.relative_gain_
        prevalence = np.asarray(sc.softmax(score))
        allowed = checked_proportions(self.prevalence_bounds, self.prevalence_constraints, len(default))
        return (prevalence, 0.0) if allowed is None else allowed.nearest(prevalence)


def _log(prevalence: Array) -> Array:
    """Of 0, which bounds may demand, it is -infinity."""
    with np.errstate(divide="ignore"):
        return np.log(prevalence)


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
    require_values(X, "X")
    n_classes = len(maxent.classes_)
    p = np.asarray(classifier.predict_proba(X))
    if p.ndim != 2 or p.shape[1] != n_classes:
        raise ValueError(
            f"classifier has {p.shape[-1]} classes, maxent has {n_classes}; train both for the same classes."
        )
    before = np.full(n_classes, 1.0 / n_classes) if train_prior is None else train_prior
    log_ratio = log_prior_ratio(before, maxent.prevalence(default_prevalence), n_classes)
    return adjusted(as_columns(p, "the classifier's p"), log_ratio)
