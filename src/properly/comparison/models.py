"""Models compared in cross-validation."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import column_or_1d

from properly.calibration.methods import calibrator_of
from properly.comparison.held_out import FoldedRows, cross_calibrated, stratified_folds
from properly.comparison.judging import Comparison, judged
from properly.engines.select import checked_weight
from properly.losses import Loss
from properly.probabilities import Array

CALIBRATED = " + calibration"  # what the name of a calibrated candidate ends with
Progress = Callable[[float, str], None]


def compare(
    candidates: Mapping[str, Any],
    X: Any,
    y: ArrayLike,
    *,
    cv: int = 5,
    loss: str | Loss = "log",
    sample_weight: ArrayLike | None = None,
    calibration: str | None = None,
    uncalibrated: bool = True,
    skip_failing: bool = False,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Compare classifiers by a proper score in cross-validation; all of them see the same folds.

    Parameters
    ----------
    candidates : mapping from names to classifiers with `predict_proba`
    X : what the classifiers take
    y : array of shape (n,)
    cv : int, default 5
        The number of stratified folds; lowered to the number of rows in the rarest class.
    loss : Loss or key of one, default "log"
        The score. With log loss, a candidate that once gave probability 0 to what happened has an infinite score.
    sample_weight : array of shape (n,), optional
        Weight 2 means the row twice, in the same fold; weight 0 not at all.
    calibration : str, optional
        A key of `properly.calibration.methods.METHODS`: every candidate competes a second time, calibrated, under the
        name ``"… + calibration"``. The calibrator of a fold learns from the held-out probabilities of the others.
    uncalibrated : bool, default True
        False leaves out the candidates as they are, if there is a `calibration`.
    skip_failing : bool, default False
        Whether a candidate that cannot be fitted to these rows is left out, with a warning, if there are others.
    random_state : int, default 0
        Of the folds and of the bootstrap.
    progress : callable, optional
        Told the share of the work that is done, and what is worked on.

    Notes
    -----
    The tests take the rows as independent, given the fitted models: they say whether the *fitted* models differ, not
    whether the same would come out for other training rows.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from properly.datasets import make_rare_events
    >>> from properly.linear import ProperLinearClassifier
    >>> X, y, p = make_rare_events(2000, 5, rate=0.2, signal=2.0, random_state=0)
    >>> X = X @ (np.eye(5) + 0.5)
    >>> result = compare({"naive Bayes": GaussianNB(), "logistic": ProperLinearClassifier()}, X, y)
    >>> result.best, result.significant.tolist()
    ('logistic', [False, True])
    """
    tell = progress or (lambda done, note: None)
    if not candidates:
        raise ValueError("candidates must name at least one classifier.")
    if calibration is not None:
        calibrator_of(calibration)  # a wrong name is told before the long work
    rows = _folded(X, y, cv, sample_weight, random_state)
    probabilities: dict[str, Array] = {}
    seconds: dict[str, float] = {}
    for place, (name, estimator) in enumerate(candidates.items()):

        def told(done: float, place: int = place, name: str = name) -> None:
            tell((place + done) / len(candidates), name)

        start = time.perf_counter()
        try:
            probabilities[name] = rows.held_out(estimator, told)
        except Exception as error:
            others = len(probabilities) or place + 1 < len(candidates)
            if skip_failing and others:
                warnings.warn(f"{name} was left out: {error}", UserWarning, stacklevel=2)
                continue
            if isinstance(error, ValueError):
                raise ValueError(f"{name}: {error}") from error
            raise
        seconds[name] = time.perf_counter() - start
    if calibration is not None:
        for name in list(probabilities):
            tell(1.0, name + CALIBRATED)
            start = time.perf_counter()
            after = cross_calibrated(probabilities[name], rows.codes, rows.folds, calibration, rows.weight)
            probabilities[name + CALIBRATED] = after
            seconds[name + CALIBRATED] = seconds[name] + time.perf_counter() - start
            if not uncalibrated:
                del probabilities[name]
    return judged(probabilities, seconds, rows, loss, random_state)


def _folded(X: Any, y: ArrayLike, cv: int, sample_weight: ArrayLike | None, random_state: int) -> FoldedRows:
    labels = column_or_1d(y)
    classes, codes = np.unique(labels, return_inverse=True)
    weight = checked_weight(sample_weight, len(codes))
    counted = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
    folds = np.zeros(len(codes), dtype=np.intp)  # a row of weight 0 is in the first, where it does no harm
    folds[counted] = stratified_folds(codes[counted], classes, cv, random_state)
    return FoldedRows(X, labels, codes, classes, folds, weight)
