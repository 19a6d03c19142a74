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

from properly import notebook
from properly.calibration.methods import calibrator_of
from properly.comparison.rows import Rows
from properly.crossfit import Mask
from properly.inputs.forecast import read_forecast
from properly.inputs.labels import checked_labels
from properly.inputs.optional import require
from properly.inputs.options import CONFIDENCE
from properly.inputs.weights import in_rows, squares, unit_of
from properly.losses import Loss, get_loss
from properly.metrics.clusters import cluster_sums
from properly.metrics.paired import sign_test_of, simultaneous_bootstrap_of
from properly.metrics.scores import losses_of
from properly.numeric.arrays import require_values
from properly.numeric.probabilities import Array
from properly.progress import Tell, reported

if TYPE_CHECKING:
    import pandas

_FEWEST = 30  # rows, or groups, for a difference to be called significant
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
        their difference. `BestProbabilities` has its own rule.
    reason : str
        Why the choice is not the best, in words; "" if it is.
    probabilities : dict from names to arrays of shape (repeats · n_rows, n_classes)
        Held-out probabilities: those of a row come from a model that was not fitted to it; nan in rows that were never
        held out. If folds were repeated, all rows of the first time, then all of the second, and so on.
    folds : array of shape (repeats · n_rows,)
        The fold in which each row was held out; with `time`, from the oldest to the latest.
    judged : array of bool of shape (repeats · n_rows,)
        The rows by which candidates are scored: all, but with `time` not the oldest, which are only learned from.
    classes : array of shape (n_classes,)
    repeats : int
        How many times the rows were divided into folds. The loss of a row is its mean over these.
    sample : array of int, or None
        The numbers of the rows that were compared, if they are a sample of those given. `probabilities`, `folds` and
        `judged` are of these.
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
    repeats: int = 1
    reason: str = ""
    sample: NDArray[np.intp] | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows by which candidates are scored, each counted once."""
        return int(self.judged.sum()) // self.repeats

    @property
    def judged_rows(self) -> NDArray[np.intp]:
        """The numbers of the rows by which candidates are scored, among those given."""
        at = np.flatnonzero(self.judged[: len(self.judged) // self.repeats])
        return at if self.sample is None else self.sample[at]

    @property
    def chosen_probabilities(self) -> Array:
        """Held-out probabilities of the chosen candidate for `judged_rows`, from the first division into folds."""
        n_rows = len(self.judged) // self.repeats
        return self.probabilities[self.choice][:n_rows][self.judged[:n_rows]]

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

    def _repr_html_(self) -> str:
        """The leaderboard, for notebooks."""
        rows = [
            (
                name,
                f"{score:.5g} ± {error:.2g}",
                "" if name == self.best else f"{away:+.3g}",
                "" if name == self.best else f"{p:.2g}",
            )
            for name, score, error, away, p in zip(
                self.names, self.scores, self.errors, self.difference_to_best, self.p_values, strict=True
            )
        ]
        chosen = f"Chosen: {self.choice}" + (f", {self.reason}." if self.reason else ".")
        header = ("", f"{self.score_name} of held-out rows", "difference to the best", "p-value")
        return notebook.section(f"{len(rows)} candidates, {self.n_rows:,} rows", notebook.table(header, rows), chosen)


def ranked(
    probabilities: Mapping[str, Array],
    seconds: Mapping[str, float],
    rows: Rows,
    loss: str | Loss = "log",
    random_state: int = 0,
    choice: str | None = None,
    reason: str = "",
) -> Comparison:
    """Score every candidate, from the simplest on, and test each against the best; `choice` overrules the usual one."""
    classes, at = np.arange(len(rows.classes)), rows.judged
    codes, weight = rows.repeated(rows.codes)[at], None if rows.weight is None else rows.repeated(rows.weight)[at]
    forecasts = {name: read_forecast(codes, p[at], weight, classes) for name, p in probabilities.items()}
    units = _Units.of(rows)
    losses = {name: units.of_rows(losses_of(each, get_loss(loss))) for name, each in forecasts.items()}
    scores = {name: units.mean(each) for name, each in losses.items()}
    names = sorted(scores, key=scores.__getitem__)
    best, mean = losses[names[0]], np.array([scores[name] for name in names])
    errors = np.array([units.standard_error(losses[name]) for name in names])
    with np.errstate(invalid="ignore"):  # two infinite scores do not differ
        intervals = np.column_stack([mean - _DEVIATIONS * errors, mean + _DEVIATIONS * errors])
        difference = np.where(mean == mean[0], 0.0, mean - mean[0])
    intervals_to_best, p_values = _differences([losses[name] for name in names[1:]], best, units, random_state)
    if choice is None:
        choice = next(name for name in probabilities if units.alike(losses[name], best))
        reason = "the simplest model whose score exceeds the best by no more than one standard error of the difference"
    return Comparison(
        score_name=f"{loss} loss" if isinstance(loss, str) else str(loss),
        names=names,
        scores=mean,
        errors=errors,
        intervals=intervals,
        difference_to_best=difference,
        difference_intervals=np.array([(0.0, 0.0), *intervals_to_best]),
        p_values=np.array([1.0, *p_values]),
        significant=np.array([False, *(p_values <= 1.0 - CONFIDENCE)]) & (units.number >= _FEWEST),
        seconds=np.array([seconds[name] for name in names]),
        choice=choice,
        probabilities={name: probabilities[name] for name in names},
        folds=rows.folds.ravel(),
        judged=at,
        classes=rows.classes,
        repeats=len(rows.folds),
        reason="" if choice == names[0] else reason,
    )


def as_good(probabilities: Mapping[str, Array], name: str, rows: Rows, errors: float) -> bool:
    """Whether the log loss of a candidate exceeds the smallest by at most so many standard errors of the difference."""
    units = _Units.of(rows)
    with np.errstate(divide="ignore"):
        losses = {each: units.of_rows(-np.log(_own(p, rows))) for each, p in probabilities.items()}
    return units.alike(losses[name], losses[min(losses, key=lambda each: units.mean(losses[each]))], errors)


def _own(p: Array, rows: Rows) -> Array:
    """The probabilities of the true classes of the rows that are judged and count."""
    weight = rows.entry_weight
    at = np.flatnonzero(rows.judged if weight is None else rows.judged & (weight > 0.0))
    return p[at, rows.repeated(rows.codes)[at]]


class _Units(NamedTuple):
    """What is independent of each other: rows, or groups of rows."""

    weight: Array  # of the rows that are judged and have any
    unit: Array | None  # what one row weighs, as of `unit_of`
    group: NDArray[Any] | None

    @classmethod
    def of(cls, rows: Rows) -> _Units:
        judged = rows.folds[0] >= rows.first
        counted = judged if rows.weight is None else judged & (rows.weight > 0.0)
        weight = np.ones(counted.sum()) if rows.weight is None else rows.weight[counted]
        group = None if rows.groups is None else np.unique(rows.groups[counted], return_inverse=True)[1]
        return cls(*in_rows(weight, unit_of(weight)), group)

    def of_rows(self, losses: Array) -> Array:
        """The mean loss of every row over the repeated folds."""
        return losses.reshape(-1, len(self.weight)).mean(axis=0)

    def mean(self, losses: Array) -> float:
        return float(np.average(losses, weights=self.weight))

    @property
    def number(self) -> float:
        """How many there are."""
        return float(self.weight.sum()) if self.group is None else len(np.unique(self.group))

    def standard_error(self, losses: Array) -> float:
        """Of the weighted mean; infinite if that is."""
        mean = np.average(losses, weights=self.weight)
        if not np.isfinite(mean):
            return np.inf
        if self.group is None:
            total = squares(self.weight, self.unit) @ np.square(losses - mean)
        else:
            total = np.sum(np.square(cluster_sums(self.weight * (losses - mean), self.group)))
        return float(np.sqrt(total) / self.weight.sum())

    def alike(self, losses: Array, best: Array, errors: float = 1.0) -> bool:
        """Whether the mean exceeds that of the best by no more than so many standard errors of the difference."""
        if losses is best:
            return True
        with np.errstate(invalid="ignore"):
            difference = np.where(losses == best, 0.0, losses - best)
        finite = bool(np.isfinite(difference).all())
        return finite and np.average(difference, weights=self.weight) <= errors * self.standard_error(difference)


def _differences(losses: list[Array], best: Array, units: _Units, random_state: int) -> tuple[Array, Array]:
    """Intervals of the mean differences to the best, of shape (m, 2), and p-values of their being 0, of shape (m,)."""
    intervals, p_values = np.tile([0.0, np.inf], (len(losses), 1)), np.ones(len(losses))
    finite = [k for k, each in enumerate(losses) if np.isfinite(each).all() and np.isfinite(best).all()]
    if finite:
        differences = np.array([losses[k] - best for k in finite])
        found = simultaneous_bootstrap_of(
            differences, units.weight, units.group, random_state=random_state, unit=units.unit
        )
        intervals[finite] = [(each.low, each.high) for each in found]
        p_values[finite] = [each.p_value for each in found]
    for k in set(range(len(losses))) - set(finite):
        p_values[k] = min(1.0, len(losses) * sign_test_of(losses[k], best, units.weight).p_value)
    return intervals, p_values


CALIBRATED = " + calibration"  # what the name of a calibrated candidate ends with


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
    progress: Tell | bool | None = None,
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
    progress : callable, bool or None, default None
        Called as ``progress(share, name)`` with the share of the work that is done and the candidate in progress. By
        default a bar is shown on terminals and in notebooks, with True always, with False never.

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
    if not candidates:
        raise ValueError("candidates must name at least one classifier.")
    get_loss(loss)  # a wrong name is refused before the models are fitted
    if calibration is not None:
        calibrator_of(calibration)
    require_values(X, "X")
    rows = Rows.divided(*checked_labels(y), cv, sample_weight, random_state, group, time, calibration is not None)
    found: dict[str, Array] = {}
    with reported(progress, "Comparing") as tell:
        plain, seconds = _all_held_out(candidates, X, rows, skip_failing, tell)
        for name, probabilities in plain.items():
            if uncalibrated or calibration is None:
                found[name] = probabilities
            if calibration is not None:
                tell(1.0, name + CALIBRATED)
                start = perf_counter()
                found[name + CALIBRATED] = _calibrated(probabilities, rows, calibration)
                seconds[name + CALIBRATED] = seconds[name] + perf_counter() - start
    return ranked(found, seconds, rows, loss, random_state)


def _all_held_out(
    candidates: Mapping[str, Any], X: Any, rows: Rows, skip_failing: bool, tell: Tell
) -> tuple[dict[str, Array], dict[str, float]]:
    """Held-out probabilities of every candidate, and the seconds they took."""
    plain: dict[str, Array] = {}
    seconds: dict[str, float] = {}
    for place, (name, estimator) in enumerate(candidates.items()):
        start = perf_counter()
        try:
            plain[name] = _held_out(estimator, X, rows, _part(tell, name, place, len(candidates)))
        except Exception as error:
            others = len(plain) or place + 1 < len(candidates)
            if skip_failing and others:
                warnings.warn(f"{name} was left out: {error}", UserWarning, stacklevel=3)
                continue
            if isinstance(error, ValueError):
                raise ValueError(f"{name}: {error}") from error
            raise
        seconds[name] = perf_counter() - start
    return plain, seconds


def _part(tell: Tell, name: str, place: int, n_candidates: int) -> Callable[[float], None]:
    """What tells how far one candidate is, as a share of the work on all."""
    return lambda done: tell((place + done) / n_candidates, name)


def _held_out(estimator: Any, X: Any, rows: Rows, tell: Callable[[float], None]) -> Array:
    """Probabilities of shape (n, K), those of every fold from a model fitted to the others."""
    labels = rows.classes[rows.codes]

    def fit_predict(train: Mask, test: Mask) -> Array:
        fit, predict = np.flatnonzero(train), np.flatnonzero(test)
        weights = {} if rows.weight is None else {"sample_weight": rows.weight[fit]}
        fitted = clone(estimator).fit(_safe_indexing(X, fit), labels[fit], **weights)
        return np.asarray(fitted.predict_proba(_safe_indexing(X, predict)))

    return rows.cross_fitted(fit_predict, tell)


def _calibrated(probabilities: Array, rows: Rows, method: str) -> Array:
    """Those of every fold from a calibrator that learned from the held-out probabilities of the others."""
    scores = probabilities[:, 1] if len(rows.classes) == 2 else probabilities
    codes, weight = rows.repeated(rows.codes), None if rows.weight is None else rows.repeated(rows.weight)

    def learn_apply(train: Mask, test: Mask) -> Array:
        calibrator = calibrator_of(method).set_params(input="probability")
        fitted = calibrator.fit(scores[train], codes[train], None if weight is None else weight[train])
        return fitted.predict_proba(scores[test])

    return rows.cross_learned(learn_apply)
