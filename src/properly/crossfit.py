"""Cross-fitting: every row is predicted by a model that was fitted to the other folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from properly.calibration.base import Calibrator
from properly.calibration.methods import calibrator_of
from properly.numeric.probabilities import Array

Mask = NDArray[np.bool_]


def stratified_folds(
    codes: NDArray[Any],
    classes: NDArray[Any],
    cv: int,
    random_state: int | np.random.RandomState,
) -> NDArray[Any]:
    """The fold of every row: `cv` folds, or as many as the rarest class has rows, each with its share of every class.

    This is the only rule of `audit`, `calibrate`, `fit` and `compare`: the same rows with the same seed have the same
    folds.

    Parameters
    ----------
    codes : array of shape (n,)
        The class of every row, as its position in `classes`.
    classes : array
        The labels, two or more.
    cv : int
    random_state : int or RandomState

    Examples
    --------
    >>> stratified_folds(np.array([0, 0, 0, 0, 1, 1]), np.array(["no", "yes"]), 5, 0)
    array([1, 1, 0, 0, 0, 1], dtype=int8)
    """
    counts = np.bincount(codes, minlength=len(classes))
    if counts.min() < 2:
        rarest = classes.tolist()[int(counts.argmin())]
        raise ValueError(
            f"class {rarest!r} has {counts.min()} row{'' if counts.min() else 's'}, but cross-validation needs 2 or "
            "more, to fit to some and hold out others; add rows of this class, or leave it out."
        )
    if cv < 2:
        raise ValueError(f"cv must be at least 2, got {cv}.")
    n_folds = min(cv, int(counts.min()))
    folds = np.empty(len(codes), dtype=np.min_scalar_type(-n_folds))
    splits = StratifiedKFold(n_folds, shuffle=True, random_state=random_state).split(codes, codes)
    for number, (_, test) in enumerate(splits):
        folds[test] = number
    return folds


def cross_fitted(
    folds: NDArray[Any], fit_predict: Callable[[Mask, Mask], Array], tell: Callable[[float], None] = lambda share: None
) -> Array:
    """Held-out predictions of all rows, from `fit_predict(train, test)`: fit to the one, predict the other.

    `tell` is called before every fold with the share of the work that is done.

    >>> values = np.array([1.0, 2.0, 6.0])
    >>> cross_fitted(np.array([0, 1, 1]), lambda train, test: np.full(test.sum(), values[train].mean()))
    array([4., 1., 1.])
    """
    result, n_folds = np.empty(0), int(folds.max()) + 1
    for fold in range(n_folds):
        tell(fold / n_folds)
        test = folds == fold
        held_out = fit_predict(~test, test)
        if not fold:
            result = np.empty((len(folds), *held_out.shape[1:]))
        result[test] = held_out
    return result


def cross_calibrated(
    scores: Array,
    codes: NDArray[Any],
    folds: NDArray[Any],
    method: str | Calibrator,
    weight: Array | None = None,
    input: str = "probability",
) -> Array:
    """Probabilities of shape (n, K), those of every fold from a calibrator that was fitted to the other folds."""
    scores = scores[:, 1] if scores.ndim == 2 and scores.shape[1] == 2 else scores

    def fit_predict(train: Mask, test: Mask) -> Array:
        calibrator = calibrator_of(method).set_params(input=input)
        fitted = calibrator.fit(scores[train], codes[train], None if weight is None else weight[train])
        return fitted.predict_proba(scores[test])

    return cross_fitted(folds, fit_predict)
