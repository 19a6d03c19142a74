"""Probabilities of rows from models that have not seen them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

from properly.calibration.methods import calibrator_of
from properly.probabilities import Array


class FoldedRows(NamedTuple):
    """Checked rows, and the fold in which each is held out."""

    X: Any
    labels: NDArray[Any]
    codes: NDArray[np.intp]  # of the labels, among the classes
    classes: NDArray[Any]
    folds: NDArray[np.intp]
    weight: Array | None

    def held_out(self, estimator: Any, tell: Callable[[float], None]) -> Array:
        """Probabilities of shape (n, K), those of every fold from a model fitted to the others."""
        n_folds = int(self.folds.max()) + 1
        result = np.empty((len(self.labels), len(self.classes)))
        for fold in range(n_folds):
            tell(fold / n_folds)
            train, test = np.flatnonzero(self.folds != fold), np.flatnonzero(self.folds == fold)
            given = {} if self.weight is None else {"sample_weight": self.weight[train]}
            fitted = clone(estimator).fit(_safe_indexing(self.X, train), self.labels[train], **given)
            result[test] = fitted.predict_proba(_safe_indexing(self.X, test))
        return result


def stratified_folds(codes: NDArray[np.intp], classes: NDArray[Any], cv: int, random_state: int) -> NDArray[np.intp]:
    """The fold of every row; as many as `cv` says, but no more than the rarest class has rows."""
    if len(classes) < 2:
        raise ValueError(f"y holds one class only, {classes.tolist()[0]!r}; at least two are needed.")
    counts = np.bincount(codes, minlength=len(classes))
    if counts.min() < 2:
        rarest = classes.tolist()[int(counts.argmin())]
        raise ValueError(
            f"class {rarest!r} has {counts.min()} row{'s' if not counts.min() else ''} only, but every class must be "
            "both fitted and held out; add rows of it, or leave the class out."
        )
    if cv < 2:
        raise ValueError(f"cv must be at least 2, got {cv}.")
    folds = np.empty(len(codes), dtype=np.intp)
    splitter = StratifiedKFold(min(cv, int(counts.min())), shuffle=True, random_state=random_state)
    for number, (_, test) in enumerate(splitter.split(codes, codes)):
        folds[test] = number
    return folds


def cross_calibrated(
    scores: Array,
    codes: NDArray[np.intp],
    folds: NDArray[np.intp],
    method: str,
    weight: Array | None = None,
    input: str = "probability",
) -> Array:
    """Probabilities of shape (n, K): every fold calibrated by what is learned from the others."""
    scores = scores[:, 1] if scores.ndim == 2 and scores.shape[1] == 2 else scores
    result = np.empty((len(codes), int(codes.max()) + 1))
    for fold in range(int(folds.max()) + 1):
        train, test = folds != fold, folds == fold
        calibrator = calibrator_of(method).set_params(input=input)
        calibrator.fit(scores[train], codes[train], None if weight is None else weight[train])
        result[test] = calibrator.predict_proba(scores[test])
    return result
