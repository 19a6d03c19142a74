"""Calibrators: from scores to probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from properly.calibration import (
    AutoCalibration,
    BinaryCalibrator,
    Calibrator,
    DirichletCalibration,
    EnsembleTemperatureScaling,
    MulticlassCalibration,
    TemperatureScaling,
)
from properly.calibration.affine import AffineScaling
from properly.calibration.multiclass import Classwise, Full
from properly.inputs.scores import _NEARLY_ONE, LogProbabilityReader, ProbabilityReader
from properly.numeric.limits import FARTHEST, LARGEST
from properly.onnx.auto import auto_of_many, auto_of_two
from properly.onnx.confidence import with_confidence
from properly.onnx.graph import Value, equal, expm1, log1p, log_expit, log_softmax, logsumexp
from properly.onnx.kinds import is_kind
from properly.onnx.linear import Classified, two_classes
from properly.onnx.links import logistic_pair
from properly.onnx.maps import log_odds_of


def classify_scores(model: Calibrator, values: Value) -> Classified:
    """Probabilities and the most probable class of scores, or of probabilities if the calibrator takes these."""
    result = log_scores(model, _read(model, values))
    if len(model.classes_) == 2:
        return two_classes(*logistic_pair(result), result)
    largest = result.max()
    ruled_out = equal(largest, -np.inf)  # then all are equal
    p = ruled_out.where(0.0, result - ruled_out.where(0.0, largest)).exp()
    return Classified(p / p.sum(), result.argmax())


def _read(model: Calibrator, values: Value) -> Value:
    reader = model.reader_
    if not isinstance(reader, LogProbabilityReader):
        return values
    if isinstance(reader, ProbabilityReader):
        values = values.log() - log1p(-values) if len(model.classes_) == 2 else values.log()
    return values.clip(reader.low, reader.high)


def log_scores(model: Calibrator, scores: Value) -> Value:
    """What `Calibrator._log_scores` gives: log-odds (rows, 1) of two classes, or logarithms (rows, K) for more."""
    for kind, write in _WRITERS.items():
        if is_kind(model, kind):
            return write(model, scores)
    raise NotImplementedError(f"{type(model).__name__} cannot be written as ONNX.")


def _bounded(logits: Value, slope: float = 1.0) -> Value:
    return (slope * logits).clip(-FARTHEST, FARTHEST)


def _is_binary(model: Any) -> bool:
    return len(model.classes_) == 2


def _log_probabilities(model: Calibrator, logits: Value) -> Value:
    return log_expit(-logits).beside(log_expit(logits)) if _is_binary(model) else log_softmax(logits)


def _affine(model: AffineScaling, scores: Value) -> Value:
    if isinstance(model, DirichletCalibration):
        features = _bounded(_log_probabilities(model, _bounded(scores)), model.slope_)
    elif _is_binary(model):
        logits = _bounded(scores, model.slope_)
        features = (-0.5 * logits).beside(0.5 * logits)
    else:
        logits = _bounded(scores, model.slope_)
        features = logits - logits.sum() * (1.0 / len(model.classes_))
    v = features @ np.ascontiguousarray(model.coef_.T) + model.intercept_[None, :]
    return v.column(1) - v.column(0) if _is_binary(model) else log_softmax(v)


def _temperature(model: TemperatureScaling, scores: Value) -> Value:
    centred = scores if _is_binary(model) else (scores - scores.max()).maximum(-LARGEST)
    return _bounded(centred, model.slope_)


def _ensemble_temperature(model: EnsembleTemperatureScaling, scores: Value) -> Value:
    with np.errstate(divide="ignore"):
        log_weights = np.log(model.weights_).tolist()
    tempered = _log_probabilities(model, _bounded(scores, model.slope_)) + log_weights[0]
    raw = _log_probabilities(model, _bounded(scores)) + log_weights[1]
    uniform = (raw < raw).cast("DOUBLE") + (log_weights[2] - float(np.log(len(model.classes_))))
    columns = [
        logsumexp(tempered.column(k).beside(raw.column(k), uniform.column(k))) for k in range(len(model.classes_))
    ]
    return columns[1] - columns[0] if _is_binary(model) else columns[0].beside(*columns[1:])


def _auto(model: AutoCalibration, scores: Value) -> Value:
    return auto_of_two(model, scores) if _is_binary(model) else auto_of_many(model, scores)


def _by_class(model: BinaryCalibrator, scores: Value) -> Value:
    if _is_binary(model):
        return log_odds_of(model.maps_[0], scores)
    own = class_log_odds(scores, len(model.classes_), model._of_probabilities)
    columns = [log_odds_of(map_, own.column(k)) for k, map_ in enumerate(model.maps_)]
    return log_expit(columns[0].beside(*columns[1:]))


def _multiclass(model: MulticlassCalibration, scores: Value) -> Value:
    target: Any = model.map_
    if isinstance(target, Full):
        return log_scores(target.calibrator, scores)
    if isinstance(target, Classwise):
        own = class_log_odds(scores, len(model.classes_), target.of_probabilities)
        columns = [log_scores(each, own.column(k)) for k, each in enumerate(target.calibrators)]
        return log_expit(columns[0].beside(*columns[1:]))
    top = _top(scores, len(model.classes_))
    before = top.where(class_log_odds(scores, len(model.classes_), False), 0.0).sum()
    if target.calibrator is None:
        after = (before < before).cast("DOUBLE") + target.constant
    else:
        after = log_scores(target.calibrator, before)
    return with_confidence(scores, top, before, after)


def _top(scores: Value, n_classes: int) -> Value:
    """True at the largest score of every row, the first of equals."""
    return equal(scores.argmax().reshape(-1, 1), np.arange(n_classes)[None, :])


def class_log_odds(scores: Value, n_classes: int, of_probabilities: bool) -> Value:
    """The log-odds of every class, as `properly.inputs.scores.class_log_odds` has them."""
    if of_probabilities:
        return _log_odds_of_logarithms(scores, n_classes)
    log_p = log_softmax(scores).maximum(-LARGEST)
    log_odds = log_p - log1p(-log_p.exp())
    # The largest p may be 1 up to rounding: there the others are added up.
    top = _top(scores, n_classes)
    return top.where(log_p - logsumexp(top.where(-np.inf, log_p)), log_odds)


def _log_odds_of_logarithms(log_p: Value, n_classes: int) -> Value:
    log_rest = (log_p < -float(np.log(2.0))).where(log1p(-log_p.exp()), (-expm1(log_p)).log())
    others = [
        logsumexp(log_p.columns([j for j in range(n_classes) if j != k])) for k in range(n_classes)
    ]  # where p is 1 but for a millionth, 1 - p would be rounding
    return log_p - (log_p > -_NEARLY_ONE).where(others[0].beside(*others[1:]), log_rest)


_WRITERS: dict[type, Callable[[Any, Value], Value]] = {
    AffineScaling: _affine,
    TemperatureScaling: _temperature,
    EnsembleTemperatureScaling: _ensemble_temperature,
    AutoCalibration: _auto,
    BinaryCalibrator: _by_class,
    MulticlassCalibration: _multiclass,
}
