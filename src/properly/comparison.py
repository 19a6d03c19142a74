"""Which of several models gives the best probabilities for held-out rows, and which differences are significant."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special as sc
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from properly.calibration.methods import calibrator_of
from properly.crossfit import Mask, cross_calibrated, cross_fitted, stratified_folds
from properly.inputs.forecast import read_forecast
from properly.inputs.labels import checked_labels
from properly.inputs.optional import require
from properly.inputs.options import CONFIDENCE
from properly.inputs.weights import checked_weight
from properly.losses import Loss, get_loss
from properly.metrics.paired import sign_test_of, simultaneous_bootstrap_of
from properly.metrics.scores import losses_of
from properly.numeric.probabilities import Array

if TYPE_CHECKING:
    import pandas


__all__ = ["CALIBRATED", "Comparison", "compare", "cross_calibrated", "stratified_folds"]

_FEWEST = 30  # rows for a difference to be called significant
_DEVIATIONS = float(sc.ndtri(0.5 + 0.5 * CONFIDENCE))  # half the width of an interval, in standard errors


@dataclass(frozen=True)
class Comparison:
    """Candidates ordered by their held-out score, the best first.

    Attributes
    ----------
    score_name : str
        Such as "log loss".
    names : list of str
    scores : array
        The mean loss of every candidate for held-out rows; the smaller, the better.
    errors : array
        Standard errors of the scores.
    intervals : array of shape (n_candidates, 2)
        95 % intervals of the scores. They are wide because losses vary from row to row. The difference between two
        candidates has a much smaller error than either score, so compare candidates by the differences below, not by
        whether these intervals overlap.
    difference_to_best : array
        How much worse than the best, in the unit of the score; 0 for the best itself.
    difference_intervals : array of shape (n_candidates, 2)
        Intervals of these differences that hold together: all of them contain the true difference with a probability
        of 95 % (paired bootstrap, with one limit for the largest standardised difference).
    p_values : array
        Of the hypothesis that a candidate is as good as the best, adjusted for the number of candidates in the same
        way (where a score is infinite: of the sign test, by Bonferroni's correction); 1 for the best itself.
    significant : array of bool
        Which adjusted p-values are 5 % or less: where the interval excludes 0. With fewer than 30 rows no difference
        is called significant: the intervals of the bootstrap are too narrow there.
    seconds : array
        Time for all the fits of a candidate; nan if it was not measured.
    probabilities : dict from names to arrays of shape (n_rows, n_classes)
        Held-out probabilities: those of a row come from a model that was not fitted to it.
    folds : array of shape (n_rows,)
        The fold in which each row was held out.
    classes : array of shape (n_classes,)
    """

    score_name: str
    names: list[str]
    scores: Array
    errors: Array
    intervals: Array
    difference_to_best: Array
    difference_intervals: Array
    p_values: Array
    significant: NDArray[np.bool_]
    seconds: Array
    probabilities: dict[str, Array]
    folds: NDArray[np.intp]
    classes: NDArray[Any]

    @property
    def best(self) -> str:
        """The name of the candidate with the smallest score."""
        return self.names[0]

    def frame(self) -> pandas.DataFrame:
        """A row per candidate, the best first."""
        columns = {
            "score": self.scores,
            "error": self.errors,
            "low": self.intervals[:, 0],
            "high": self.intervals[:, 1],
            "difference_to_best": self.difference_to_best,
            "p_value": self.p_values,
            "significant": self.significant,
            "seconds": self.seconds,
        }
        return require("pandas", "frames").DataFrame(columns, index=self.names)


def _ranked(
    probabilities: dict[str, Array], seconds: dict[str, float], rows: _Rows, loss: str | Loss, random_state: int
) -> Comparison:
    """Score every candidate, and test each against the best."""
    classes = np.arange(len(rows.classes))
    forecasts = {name: read_forecast(rows.codes, p, rows.weight, classes) for name, p in probabilities.items()}
    losses = {name: losses_of(forecast, get_loss(loss)) for name, forecast in forecasts.items()}
    scores = {name: forecasts[name].mean(each) for name, each in losses.items()}
    names = sorted(scores, key=scores.__getitem__)
    best, mean = losses[names[0]], np.array([scores[name] for name in names])
    weight = np.ones(len(best)) if rows.weight is None else rows.weight[rows.weight > 0.0]
    errors = np.array([_standard_error(losses[name], scores[name], weight) for name in names])
    with np.errstate(invalid="ignore"):  # two infinite scores do not differ
        intervals = np.column_stack([mean - _DEVIATIONS * errors, mean + _DEVIATIONS * errors])
        difference = np.where(mean == mean[0], 0.0, mean - mean[0])
    intervals_to_best, p_values = _differences([losses[name] for name in names[1:]], best, weight, random_state)
    return Comparison(
        score_name=f"{loss} loss" if isinstance(loss, str) else str(loss),
        names=names,
        scores=mean,
        errors=errors,
        intervals=intervals,
        difference_to_best=difference,
        difference_intervals=np.array([(0.0, 0.0), *intervals_to_best]),
        p_values=np.array([1.0, *p_values]),
        significant=np.array([False, *(p_values <= 1.0 - CONFIDENCE)]) & (len(best) >= _FEWEST),
        seconds=np.array([seconds[name] for name in names]),
        probabilities={name: probabilities[name] for name in names},
        folds=rows.folds,
        classes=rows.classes,
    )


def _standard_error(losses: Array, mean: float, weight: Array) -> float:
    """Of the weighted mean; infinite if that is."""
    if not np.isfinite(mean):
        return np.inf
    return float(np.sqrt(np.sum(weight**2 * (losses - mean) ** 2)) / weight.sum())


def _differences(losses: list[Array], best: Array, weight: Array, random_state: int) -> tuple[Array, Array]:
    """Intervals of the mean differences to the best, of shape (m, 2), and p-values of their being 0, of shape (m,)."""
    intervals, p_values = np.tile([0.0, np.inf], (len(losses), 1)), np.ones(len(losses))
    finite = [k for k, each in enumerate(losses) if np.isfinite(each).all() and np.isfinite(best).all()]
    if finite:
        differences = np.array([losses[k] - best for k in finite])
        found = simultaneous_bootstrap_of(differences, weight, random_state=random_state)
        intervals[finite] = [(each.low, each.high) for each in found]
        p_values[finite] = [each.p_value for each in found]
    for k in set(range(len(losses))) - set(finite):
        p_values[k] = min(1.0, len(losses) * sign_test_of(losses[k], best).p_value)
    return intervals, p_values


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
    """Compare classifiers by a proper score in cross-validation, all of them with the same folds.

    Parameters
    ----------
    candidates : mapping from names to classifiers with `predict_proba`
    X : what the classifiers take
    y : array of shape (n,)
    cv : int, default 5
        The number of stratified folds; lowered to the number of rows in the rarest class.
    loss : Loss or key of one, default "log"
        The score. The log loss of a candidate is infinite if it gave probability 0 to the class of any row.
    sample_weight : array of shape (n,), optional
        Weight 2 means the row twice, in the same fold; weight 0 not at all.
    calibration : str, optional
        A key of `properly.calibration.methods.METHODS`: every candidate competes a second time, calibrated, under the
        name ``"… + calibration"``. The calibrator of a fold learns from the held-out probabilities of the others.
    uncalibrated : bool, default True
        False leaves out the candidates as they are, if there is a `calibration`.
    skip_failing : bool, default False
        Whether a candidate whose fit raises an error is left out, with a warning, if there are others.
    random_state : int, default 0
        Seed of the folds and of the bootstrap.
    progress : callable, optional
        Called as ``progress(share, name)`` with the share of the work that is done and the candidate in progress.

    Notes
    -----
    The tests take the rows as independent, given the fitted models: they say whether the *fitted* models differ, not
    whether models fitted to other training rows would differ in the same way.

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
    get_loss(loss)  # a wrong name is refused before the models are fitted
    if calibration is not None:
        calibrator_of(calibration)
    rows = _folded(y, cv, sample_weight, random_state)
    probabilities: dict[str, Array] = {}
    seconds: dict[str, float] = {}
    for place, (name, estimator) in enumerate(candidates.items()):
        start = time.perf_counter()
        try:
            probabilities[name] = _held_out(estimator, X, rows, _part(tell, name, place, len(candidates)))
        except Exception as error:
            others = len(probabilities) or place + 1 < len(candidates)
            if skip_failing and others:
                warnings.warn(f"{name} was left out: {error}", UserWarning, stacklevel=2)
                continue
            if isinstance(error, ValueError):
                raise ValueError(f"{name}: {error}") from error
            raise
        seconds[name] = time.perf_counter() - start
    for name in [] if calibration is None else list(probabilities):
        tell(1.0, name + CALIBRATED)
        start = time.perf_counter()
        after = cross_calibrated(probabilities[name], rows.codes, rows.folds, str(calibration), rows.weight)
        probabilities[name + CALIBRATED] = after
        seconds[name + CALIBRATED] = seconds[name] + time.perf_counter() - start
        if not uncalibrated:
            del probabilities[name]
    return _ranked(probabilities, seconds, rows, loss, random_state)


def _part(tell: Progress, name: str, place: int, n_candidates: int) -> Callable[[float], None]:
    """What tells how far one candidate is, as a share of the work on all."""
    return lambda done: tell((place + done) / n_candidates, name)


class _Rows(NamedTuple):
    """Checked labels and weights, and the fold in which each row is held out."""

    classes: NDArray[Any]
    codes: NDArray[Any]  # of the labels, among the classes
    folds: NDArray[np.intp]
    weight: Array | None


def _folded(y: ArrayLike, cv: int, sample_weight: ArrayLike | None, random_state: int) -> _Rows:
    classes, codes = checked_labels(y)
    weight = checked_weight(sample_weight, len(codes))
    counted = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
    folds = np.zeros(len(codes), dtype=np.intp)  # in which fold a row of weight 0 is makes no difference
    folds[counted] = stratified_folds(codes[counted], classes, cv, random_state)
    return _Rows(classes, codes, folds, weight)


def _held_out(estimator: Any, X: Any, rows: _Rows, tell: Callable[[float], None]) -> Array:
    """Probabilities of shape (n, K), those of every fold from a model fitted to the others."""
    labels = rows.classes[rows.codes]

    def fit_predict(train: Mask, test: Mask) -> Array:
        fit, predict = np.flatnonzero(train), np.flatnonzero(test)
        weights = {} if rows.weight is None else {"sample_weight": rows.weight[fit]}
        fitted = clone(estimator).fit(_safe_indexing(X, fit), labels[fit], **weights)
        return np.asarray(fitted.predict_proba(_safe_indexing(X, predict)))

    return cross_fitted(rows.folds, fit_predict, tell)
