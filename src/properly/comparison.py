"""Which of several models gives the best probabilities for held-out rows, and which differences are significant."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special as sc
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from properly.calibration.methods import calibrator_of
from properly.crossfit import Mask, cross_calibrated, cross_fitted, grouped_folds, stratified_folds, time_folds
from properly.inputs.forecast import read_forecast
from properly.inputs.frames import missing_in
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
    choice : str
        The simplest candidate that is as good as the best within the noise: the first, in the order in which they were
        given, each before its calibrated form, whose score exceeds the best one by no more than one standard error of
        their difference.
    probabilities : dict from names to arrays of shape (n_rows, n_classes)
        Held-out probabilities: those of a row come from a model that was not fitted to it; nan in rows that were never
        held out.
    folds : array of shape (n_rows,)
        The fold in which each row was held out; with `time`, from the oldest to the latest.
    judged : array of bool of shape (n_rows,)
        The rows by which candidates are scored: all, but with `time` not the oldest, which are only learned from.
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
    choice: str
    probabilities: dict[str, Array]
    folds: NDArray[np.intp]
    judged: NDArray[np.bool_]
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
    order = sorted(probabilities, key=lambda name: list(seconds).index(name.removesuffix(CALIBRATED)))
    classes, at = np.arange(len(rows.classes)), rows.judged
    weights = None if rows.weight is None else rows.weight[at]
    forecasts = {name: read_forecast(rows.codes[at], p[at], weights, classes) for name, p in probabilities.items()}
    losses = {name: losses_of(forecast, get_loss(loss)) for name, forecast in forecasts.items()}
    scores = {name: forecasts[name].mean(each) for name, each in losses.items()}
    names = sorted(scores, key=scores.__getitem__)
    best, mean = losses[names[0]], np.array([scores[name] for name in names])
    units = _Units.of(rows)
    errors = np.array([units.standard_error(losses[name]) for name in names])
    with np.errstate(invalid="ignore"):  # two infinite scores do not differ
        intervals = np.column_stack([mean - _DEVIATIONS * errors, mean + _DEVIATIONS * errors])
        difference = np.where(mean == mean[0], 0.0, mean - mean[0])
    intervals_to_best, p_values = _differences([losses[name] for name in names[1:]], best, units, random_state)
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
        choice=next(name for name in order if units.alike(losses[name], best)),
        probabilities={name: probabilities[name] for name in names},
        folds=rows.folds,
        judged=at,
        classes=rows.classes,
    )


class _Units(NamedTuple):
    """What is independent of each other: rows, or groups of rows."""

    weight: Array  # of the rows that are judged and have any
    group: NDArray[Any] | None

    @classmethod
    def of(cls, rows: _Rows) -> _Units:
        counted = rows.judged if rows.weight is None else rows.judged & (rows.weight > 0.0)
        weight = np.ones(counted.sum()) if rows.weight is None else rows.weight[counted]
        return cls(weight, None if rows.groups is None else np.unique(rows.groups[counted], return_inverse=True)[1])

    def means(self, values: Array) -> tuple[Array, Array]:
        """The mean of every unit, along the last axis, and the weight of every unit."""
        if self.group is None:
            return values, self.weight
        mass: Array = np.bincount(self.group, self.weight).astype(np.float64)
        sums = [np.bincount(self.group, self.weight * each) for each in np.atleast_2d(values)]
        return np.reshape(np.array(sums) / mass, (*values.shape[:-1], len(mass))), mass

    def standard_error(self, losses: Array) -> float:
        """Of the weighted mean; infinite if that is."""
        mean = np.average(losses, weights=self.weight)
        if not np.isfinite(mean):
            return np.inf
        values, mass = self.means(losses)
        return float(np.sqrt(np.sum(mass**2 * (values - mean) ** 2)) / mass.sum())

    def alike(self, losses: Array, best: Array) -> bool:
        """Whether the mean exceeds that of the best by no more than one standard error of the difference."""
        if losses is best:
            return True
        with np.errstate(invalid="ignore"):
            difference = np.where(losses == best, 0.0, losses - best)
        finite = bool(np.isfinite(difference).all())
        return finite and np.average(difference, weights=self.weight) <= self.standard_error(difference)


def _differences(losses: list[Array], best: Array, units: _Units, random_state: int) -> tuple[Array, Array]:
    """Intervals of the mean differences to the best, of shape (m, 2), and p-values of their being 0, of shape (m,)."""
    intervals, p_values = np.tile([0.0, np.inf], (len(losses), 1)), np.ones(len(losses))
    finite = [k for k, each in enumerate(losses) if np.isfinite(each).all() and np.isfinite(best).all()]
    if finite:
        differences = np.array([losses[k] - best for k in finite])
        found = simultaneous_bootstrap_of(*units.means(differences), random_state=random_state)
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
    group: ArrayLike | None = None,
    time: ArrayLike | None = None,
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
        From the simplest to the most complicated, which matters for `Comparison.choice` only.
    X : what the classifiers take
    y : array of shape (n,)
    cv : int, default 5
        The number of folds, stratified by class; lowered to the number of rows (or groups) of the rarest class.
    group : array of shape (n,), optional
        What a row belongs to, such as a customer: all rows of a group are in one fold, and groups, not rows, are taken
        as independent by errors, intervals and tests.
    time : array of shape (n,), optional
        When a row was known, as numbers or dates: every fold is predicted by models of earlier rows only. The rows are
        divided into cv + 1 periods of about equally many rows (cv + 2 with `calibration`, which needs a period of
        predictions to learn from), of which the last cv are judged. Excludes `group`.
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
    rows = _folded(y, cv, sample_weight, random_state, group, time, calibration is not None)
    probabilities: dict[str, Array] = {}
    seconds: dict[str, float] = {}
    for place, (name, estimator) in enumerate(candidates.items()):
        start = perf_counter()
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
        seconds[name] = perf_counter() - start
    for name in [] if calibration is None else list(probabilities):
        tell(1.0, name + CALIBRATED)
        start = perf_counter()
        given = rows.codes, rows.calibration_folds, str(calibration), rows.weight
        after = cross_calibrated(probabilities[name], *given, forward=rows.forward)
        probabilities[name + CALIBRATED] = after
        seconds[name + CALIBRATED] = seconds[name] + perf_counter() - start
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
    groups: NDArray[Any] | None = None
    forward: bool = False  # whether a fold is predicted from those before it only
    first: int = 0  # the first fold that is judged

    @property
    def judged(self) -> NDArray[np.bool_]:
        return self.folds >= self.first

    @property
    def calibration_folds(self) -> NDArray[np.intp]:
        """The folds as a calibrator sees them: without the oldest, of which there are no predictions."""
        return self.folds - int(self.forward)


def _folded(
    y: ArrayLike,
    cv: int,
    sample_weight: ArrayLike | None,
    random_state: int,
    group: ArrayLike | None,
    time: ArrayLike | None,
    calibrated: bool,
) -> _Rows:
    classes, codes = checked_labels(y)
    weight = checked_weight(sample_weight, len(codes))
    counted = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
    folds = np.zeros(len(codes), dtype=np.intp)  # in which fold a row of weight 0 is makes no difference
    if time is not None:
        if group is not None:
            raise ValueError("group and time exclude each other: choose one kind of folds.")
        first = 2 if calibrated else 1
        folds[counted] = time_folds(_column(time, len(codes), "time")[counted], cv + first)
        _check_oldest(codes[counted], classes, folds[counted] == 0)
        return _Rows(classes, codes, folds, weight, forward=True, first=first)
    if group is not None:
        groups = _column(group, len(codes), "group")
        folds[counted] = grouped_folds(codes[counted], classes, groups[counted], cv, random_state)
        return _Rows(classes, codes, folds, weight, groups)
    folds[counted] = stratified_folds(codes[counted], classes, cv, random_state)
    return _Rows(classes, codes, folds, weight)


def _column(values: ArrayLike, n_rows: int, name: str) -> NDArray[Any]:
    """What a user gave for every row, as the positions of its sorted distinct values."""
    column = np.asarray(values)
    if column.shape != (n_rows,):
        raise ValueError(f"{name} must have an entry for each of {n_rows} rows, got shape {column.shape}.")
    if missing_in(column).any():
        raise ValueError(f"{name} is missing in row {int(missing_in(column).argmax())}; leave out such rows.")
    return np.unique(column, return_inverse=True)[1]


def _check_oldest(codes: NDArray[Any], classes: NDArray[Any], oldest: NDArray[np.bool_]) -> None:
    counts = np.bincount(codes[oldest], minlength=len(classes))
    if counts.min() < 2:
        label = classes.tolist()[int(counts.argmin())]
        raise ValueError(
            f"the oldest {oldest.sum():,} rows, from which the first model learns, have {counts.min()} of class "
            f"{label!r}, but 2 are needed; use fewer folds."
        )


def _held_out(estimator: Any, X: Any, rows: _Rows, tell: Callable[[float], None]) -> Array:
    """Probabilities of shape (n, K), those of every fold from a model fitted to the others."""
    labels = rows.classes[rows.codes]

    def fit_predict(train: Mask, test: Mask) -> Array:
        fit, predict = np.flatnonzero(train), np.flatnonzero(test)
        weights = {} if rows.weight is None else {"sample_weight": rows.weight[fit]}
        fitted = clone(estimator).fit(_safe_indexing(X, fit), labels[fit], **weights)
        return np.asarray(fitted.predict_proba(_safe_indexing(X, predict)))

    return cross_fitted(rows.folds, fit_predict, tell, forward=rows.forward)
