"""A candidate on held-out rows: its setting chosen, its calibration learned, and its final fit to all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from properly.calibration.base import Calibrator
from properly.calibration.methods import calibrator_of
from properly.classifier import difference, log_probabilities
from properly.comparison.candidates import Option, faster
from properly.comparison.rows import Rows
from properly.crossfit import Mask
from properly.inputs.scores import LogProbabilityReader
from properly.linear import ProperLinearClassifier
from properly.numeric.arrays import floats, namespace
from properly.numeric.probabilities import Array
from properly.tables.models import WithFeatures

_FOREST_ROWS = 20_000  # that a tree of a forest sees at most
_KEPT_BYTES = 200_000_000  # of features of the folds; more are computed again for every setting


@dataclass(frozen=True)
class CalibratedPart:
    """A fitted classifier of numbered classes, and the calibrator of its log-probabilities, if there is one."""

    classifier: Any
    calibrator: Calibrator | None = None

    def log_probabilities(self, X: Any) -> Array:
        """Of shape (n, K)."""
        log_p = log_probabilities_of(self.classifier, X)
        if self.calibrator is None:
            return log_p
        scores = self.calibrator._log_scores(self.calibrator._read(_scores(log_p)))
        return log_probabilities(scores)


def log_probabilities_of(classifier: Any, X: Any) -> Array:
    """Log-probabilities of a fitted classifier, of shape (n, K); -∞ where it says 0."""
    with np.errstate(divide="ignore"):
        if hasattr(classifier, "predict_log_proba"):
            (log_p,) = floats(predict_log_proba=classifier.predict_log_proba(X))
            return log_p
        (p,) = floats(predict_proba=classifier.predict_proba(X))
        return namespace(p).log(p)


def _scores(log_p: Array) -> Array:
    return difference(log_p) if log_p.shape[1] == 2 else log_p


class Tuned(NamedTuple):
    """What is known about a candidate after its folds: held-out log-probabilities, and the setting to fit."""

    log_p: Array  # (repeats · n, K)
    option: Option
    fitted: Any = None  # the model of all rows, if it was fitted on the way


def tune(
    options: Sequence[Option], X: Array, rows: Rows, tell: Callable[[float], None], calibration: str | None = None
) -> Tuned:
    """Try the settings on held-out rows.

    The setting with which a fold is predicted is the best for the rows of the other folds (of the earlier ones, if
    folds follow each other in time), so that no row judges the setting of its own prediction. Settings of the same
    features follow each other from the strongest penalty on, and are left when two of them in a row were worse than
    the one before. With a method of calibration, settings are judged by their calibrated probabilities: those of
    forests may be 0.
    """
    features = _FoldFeatures(X, rows)
    weight = np.ones(rows.folds.size) if rows.weight is None else rows.repeated(rows.weight)
    counted = rows.judged & (weight > 0.0)
    found: list[Array] = []
    losses: list[Array] = []
    scores: list[float] = []
    fitted: list[Any] = []
    for done, option in enumerate(options):
        path = [score for each, score in zip(options, scores, strict=False) if each.features is option.features]
        if option.features is not None and len(path) > 2 and path[-3] < path[-2] <= path[-1]:
            found.append(np.full_like(found[-1], -np.inf))
            losses.append(np.full(len(found[-1]), np.inf))
            scores.append(np.inf)
            fitted.append(None)
            continue

        def told(share: float, done: int = done) -> None:
            tell((done + share) / len(options))

        if option.own_folds:
            log_p, model = _own_folds(option, X, rows, told)
        else:
            log_p, model = _held_out(option, features, rows, told), None
        found.append(log_p)
        fitted.append(model)
        losses.append(_losses(log_p if calibration is None else calibrated(log_p, rows, calibration), rows))
        scores.append(float(np.average(losses[-1][counted], weights=weight[counted])))
    if len(found) == 1:
        return Tuned(found[0], options[0], fitted[0])
    stacked, lost = np.array(found), np.array(losses)

    def best(of: Mask) -> int:
        these = of & (weight > 0.0)  # settings that were left have infinite losses
        return int(np.argmin(lost[:, these] @ weight[these]))

    usual = best(rows.repeated(rows.folds[0] >= 1)) if rows.forward else 0
    chosen = np.nan_to_num(
        rows.cross_learned(lambda train, test: np.full(test.sum(), float(best(train)))), nan=float(usual)
    )
    final = best(rows.judged)
    return Tuned(stacked[chosen.astype(np.intp), np.arange(len(chosen))], options[final], fitted[final])


def _losses(log_p: Array, rows: Rows) -> Array:
    """-ln of the probability of the true class; nan where there is no prediction counts as 0."""
    codes = rows.repeated(rows.codes)
    return np.nan_to_num(-log_p[np.arange(len(codes)), codes], nan=0.0, posinf=np.inf)


class _FoldFeatures:
    """The features of the rows of every fold, kept for the next setting that has the same."""

    def __init__(self, X: Array, rows: Rows) -> None:
        self.X, self.rows = X, rows
        self.kept: dict[bytes, tuple[Array, Array]] = {}
        self.of: Any = None

    def __call__(self, features: Any, train: NDArray[np.intp], test: NDArray[np.intp]) -> tuple[Array, Array]:
        if features is None:
            return self.X[train], self.X[test]
        if features is not self.of:
            self.of, self.kept = features, {}
        key = test.tobytes()
        if key not in self.kept:
            weight = None if self.rows.weight is None else self.rows.weight[train]
            fitted = clone(features).fit(self.X[train], sample_weight=weight)
            pair = fitted.transform(self.X[train]), fitted.transform(self.X[test])
            if sum(each.nbytes for each in pair) * self.rows.folds.max() * len(self.rows.folds) > _KEPT_BYTES:
                return pair
            self.kept[key] = pair
        return self.kept[key]


def _held_out(option: Option, features: _FoldFeatures, rows: Rows, tell: Callable[[float], None]) -> Array:
    """Log-probabilities of shape (repeats · n, K), those of every fold from a fit to the others."""

    def fit_predict(train: Mask, test: Mask) -> Array:
        fit, predict = np.flatnonzero(train), np.flatnonzero(test)
        learned, asked = features(option.features, fit, predict)
        classifier = with_folds(option.classifier, rows, fit)
        return _all_classes(_fitted(classifier, learned, rows, fit), asked, len(rows.classes))

    return rows.cross_fitted(fit_predict, tell)


def _own_folds(option: Option, X: Array, rows: Rows, tell: Callable[[float], None]) -> tuple[Array, Any]:
    """The same of a classifier that divides the rows itself and keeps its predictions for those held out."""
    parts, everything = [], np.arange(len(rows.codes))
    for repeat in range(len(rows.folds)):
        tell(repeat / len(rows.folds))
        classifier = clone(option.classifier).set_params(cv=rows.splits(repeat, everything))
        parts.append(np.log(_fitted(classifier, X, rows, everything).held_out_proba_))
    return np.concatenate(parts), classifier


def _fitted(classifier: Any, X: Array, rows: Rows, at: NDArray[np.intp]) -> Any:
    options = {}
    if rows.weight is not None:
        if not has_fit_parameter(classifier, "sample_weight"):
            raise ValueError(f"{type(classifier).__name__} takes no weights.")
        options["sample_weight"] = rows.weight[at]
    return classifier.fit(X, rows.codes[at], **options)


def _all_classes(classifier: Any, X: Array, n_classes: int) -> Array:
    """Log-probabilities with a column for every class, -∞ for those that no training row had."""
    log_p = log_probabilities_of(classifier, X)
    if log_p.shape[1] == n_classes:
        return log_p
    result = np.full((len(log_p), n_classes), -np.inf)
    result[:, classifier.classes_] = log_p
    return result


def with_folds(classifier: Any, rows: Rows, at: NDArray[np.intp]) -> Any:
    """A new classifier; if it divides rows itself and groups or times matter, in the folds of the rows at hand.

    A tree of a forest sees at most 20,000 rows.
    """
    classifier = clone(classifier)
    if "bootstrap" in classifier.get_params(deep=False) and len(at) > _FOREST_ROWS:
        classifier.set_params(bootstrap=True, max_samples=_FOREST_ROWS / len(at))
    if (rows.groups is None and not rows.forward) or "cv" not in classifier.get_params(deep=False):
        return classifier
    n_classes = len(np.unique(rows.codes[at]))
    whole = [each for each in rows.splits(0, at) if len(np.unique(rows.codes[at][each[0]])) == n_classes]
    return classifier.set_params(cv=whole) if whole else classifier


def fit_to_all(tuned: Tuned, X: Array, rows: Rows, most: int) -> Any:
    """The chosen setting, fitted to all rows, of which those that it was compared on may be a sample.

    What is not boosted is fitted to about `most` rows, if there are more.
    """
    compared = len(tuned.log_p) == rows.folds.size
    if tuned.fitted is not None and compared:
        return tuned.fitted
    option = tuned.option
    if not option.own_folds and len(rows.codes) > most:
        rows, at = rows.sampled(most, 0)
        X = X[at]
    everything = np.arange(len(rows.codes))
    classifier = with_folds(option.classifier, rows, everything)
    if option.own_folds:
        faster(classifier).set_params(cv=rows.splits(0, everything)[-1:])
    if option.features is None:
        return _fitted(classifier, X, rows, everything)
    if isinstance(classifier, ProperLinearClassifier):
        classifier.set_params(tol=ProperLinearClassifier.tol)  # settings are compared by rough fits
    return _fitted(WithFeatures(option.features, classifier), X, rows, everything)


def calibrator_for(log_p: Array, rows: Rows, method: str) -> Calibrator | None:
    """A calibrator of all held-out log-probabilities; None if they are not of all classes."""
    return _calibrator(log_p, rows, method, ~np.isnan(log_p[:, 0]), rows.entry_weight)


def _calibrator(log_p: Array, rows: Rows, method: str, at: Mask, weight: Array | None) -> Calibrator | None:
    codes = rows.repeated(rows.codes)[at]
    counted = codes if weight is None else codes[weight[at] > 0.0]
    if len(np.unique(counted)) < len(rows.classes):
        return None
    given = None if weight is None else weight[at]
    return calibrator_of(method)._fit_read(LogProbabilityReader.learn, _scores(log_p[at]), codes, given)


def calibrated(log_p: Array, rows: Rows, method: str) -> Array:
    """Held-out log-probabilities after calibration; the calibrator of a fold learns from the others.

    Where those lack a class, nothing can be learned, and the log-probabilities stay as they are.
    """
    weight = None if rows.weight is None else rows.repeated(rows.weight)

    def learn_apply(train: Mask, test: Mask) -> Array:
        calibrator = _calibrator(log_p, rows, method, train, weight)
        if calibrator is None:
            return log_p[test]
        return log_probabilities(calibrator._log_scores(calibrator._read(_scores(log_p[test]))))

    return rows.cross_learned(learn_apply)
