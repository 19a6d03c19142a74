"""Which of several models gives the best probabilities for rows it has not seen, and which differences are real."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import column_or_1d

from properly.calibration.methods import calibrator_of
from properly.inputs.optional import require
from properly.inputs.weights import checked_weight
from properly.losses import Loss
from properly.metrics import paired_bootstrap, row_losses, sign_test
from properly.numeric.probabilities import Array

if TYPE_CHECKING:
    import pandas


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


LEVEL = 0.05  # of the tests, all of them together
_FEWEST = 30  # rows for a difference to be called significant
_DEVIATIONS = 1.959963984540054  # the half-width of a 95 % interval, in standard errors


@dataclass(frozen=True)
class Comparison:
    """Candidates ordered by their held-out score, the best first.

    Attributes
    ----------
    names : list of str
    scores : array
        The mean loss of every candidate for rows that it was not fitted to; the smaller, the better.
    errors : array
        Standard errors of the scores.
    intervals : array of shape (n_candidates, 2)
        95 % intervals of the scores. They are wide because rows differ; a difference between two candidates is known
        far better than either score, so do not compare intervals, but look at the following.
    difference_to_best : array
        How much worse than the best, in the unit of the score; 0 for the best itself.
    difference_intervals : array of shape (n_candidates, 2)
        95 % intervals of these differences, by the bootstrap over rows.
    p_values : array
        Of the hypothesis that a candidate is as good as the best (paired bootstrap; the sign test where a score is
        infinite); 1 for the best itself.
    significant : array of bool
        Which differences are significant at 5 % if all of them are tested (Holm's correction). With fewer than 30 rows
        none is called so: the bootstrap is too sure of itself there.
    seconds : array
        Time for all the fits of a candidate; nan if it was not measured.
    probabilities : dict from names to arrays of shape (n_rows, n_classes)
        Held-out probabilities: those of a row come from a model that has not seen it.
    folds : array of shape (n_rows,)
        In which fold every row was held out.
    classes : array of shape (n_classes,)
    """

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


def judged(
    probabilities: dict[str, Array], seconds: dict[str, float], rows: FoldedRows, loss: str | Loss, random_state: int
) -> Comparison:
    """Score every candidate, and compare each with the best."""
    counted = slice(None) if rows.weight is None else rows.weight > 0.0
    codes = rows.codes[counted]
    weight = np.ones(len(codes)) if rows.weight is None else rows.weight[counted]
    labels = np.arange(len(rows.classes))
    losses = {name: row_losses(codes, p[counted], loss, classes=labels) for name, p in probabilities.items()}
    scores = {name: float(np.average(each, weights=weight)) for name, each in losses.items()}
    names = sorted(scores, key=scores.__getitem__)
    mean = np.array([scores[name] for name in names])
    errors = np.array([_standard_error(losses[name], weight) for name in names])
    with np.errstate(invalid="ignore"):  # two infinite scores do not differ
        intervals = np.column_stack([mean - _DEVIATIONS * errors, mean + _DEVIATIONS * errors])
        difference = np.where(mean == mean[0], 0.0, mean - mean[0])
    best = losses[names[0]]
    tests = [_difference(losses[name], best, weight, random_state) for name in names[1:]]
    p_values = np.array([1.0, *(p for _, _, p in tests)])
    return Comparison(
        names=names,
        scores=mean,
        errors=errors,
        intervals=intervals,
        difference_to_best=difference,
        difference_intervals=np.array([(0.0, 0.0), *((low, high) for low, high, _ in tests)]),
        p_values=p_values,
        significant=_holm(p_values[1:]) & (len(codes) >= _FEWEST),
        seconds=np.array([seconds[name] for name in names]),
        probabilities={name: probabilities[name] for name in names},
        folds=rows.folds,
        classes=rows.classes,
    )


def _standard_error(losses: Array, weight: Array) -> float:
    """Of the weighted mean; infinite if that is."""
    mean = float(np.average(losses, weights=weight))
    if not np.isfinite(mean):
        return np.inf
    return float(np.sqrt(np.sum(weight**2 * (losses - mean) ** 2)) / weight.sum())


def _difference(losses: Array, best: Array, weight: Array, random_state: int) -> tuple[float, float, float]:
    """The interval of the mean difference to the best, and the p-value of its being 0."""
    if np.isfinite(losses).all() and np.isfinite(best).all():
        found = paired_bootstrap(losses, best, sample_weight=weight, random_state=random_state)
        return float(found.low), float(found.high), float(found.p_value)
    return 0.0, np.inf, float(sign_test(losses, best).p_value)


def _holm(p_values: Array) -> NDArray[np.bool_]:
    """Holm's correction; the best, which comes first, is never worse than itself."""
    order = np.argsort(p_values, kind="stable")
    limit = LEVEL / (len(p_values) - np.arange(len(p_values)))
    rejected = np.zeros(len(p_values), dtype=bool)
    rejected[order] = np.logical_and.accumulate(p_values[order] <= limit)
    return np.concatenate([[False], rejected])


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
