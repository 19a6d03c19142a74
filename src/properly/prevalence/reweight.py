"""Entropy-based class proportions for any other learner."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from properly.prevalence.entropy_weighted import EntropyWeightedMaxent
from properly.prevalence.prior import adjust_prior
from properly.probabilities import Array


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
    return adjust_prior(p, before, maxent.prevalence(default_prevalence))
