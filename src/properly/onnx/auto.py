"""The average of maps that `AutoCalibration` makes."""

from __future__ import annotations

from typing import Any

import numpy as np

from properly.calibration.auto import _NEGLIGIBLE, AutoCalibration, FittedMap
from properly.calibration.auto_maps import _WAVES, Curve, Flattening, Joint, Straight, Waves
from properly.numeric.limits import FARTHEST
from properly.onnx.graph import Value, interpolated, log_expit, log_softmax, logsumexp
from properly.onnx.maps import standardised
from properly.onnx.special import arcsinh


def auto_of_two(model: AutoCalibration, score: Value) -> Value:
    """Averaged log-odds (rows, 1)."""
    s = score.clip(-FARTHEST, FARTHEST)
    columns: dict[int, Value] = {}  # features are shared between maps
    for each in model.maps_:
        columns.setdefault(id(each.candidate.features), _features_of_two(each.candidate.features, s))
    log_odds = [
        columns[id(each.candidate.features)] @ each.coef[:, None] + each.candidate.base_slope * s
        for each in model.maps_
    ]
    weights = [each.weight for each in model.maps_]
    if model.weights_["identity"] > _NEGLIGIBLE:
        log_odds.append(s)
        weights.append(model.weights_["identity"])
    log_weight = np.log(weights)[None, :]
    constant = np.log(model.weights_["proportions"]) + model.log_proportions_
    v = log_odds[0].beside(*log_odds[1:])
    zero = (s < s).cast("DOUBLE")
    sides = (log_expit(sign * v) + log_weight for sign in (-1.0, 1.0))
    rest, own = (logsumexp(side.beside(zero + float(constant[k]))) for k, side in enumerate(sides))
    return own - rest


def _features_of_two(features: Any, s: Value) -> Value:
    if isinstance(features, Straight):
        return _straight(features.standardize, s) if features.intercept else standardised(features.standardize, s)
    if isinstance(features, Curve):
        straight = _straight(features.straight.standardize, s)
        return straight.beside((_bends(features.bends, s) - straight @ features.line) / features.scale)
    raise NotImplementedError(f"{type(features).__name__} cannot be written as ONNX.")


def _straight(standard: Any, s: Value) -> Value:
    return ((s < s).cast("DOUBLE") + 1.0).beside(standardised(standard, s))


def _bends(bends: Any, s: Value) -> Value:
    if isinstance(bends, Flattening):
        return arcsinh(s)
    if isinstance(bends, Waves):
        k = np.arange(1.0, _WAVES + 1.0)[None, :]
        return s.graph.apply("Cos", interpolated(s, bends.score, bends.rank) * (np.pi * k)) / k**1.5
    raise NotImplementedError(f"{type(bends).__name__} cannot be written as ONNX.")


def auto_of_many(model: AutoCalibration, logits: Value) -> Value:
    """Averaged log-probabilities (rows, classes)."""
    logits = logits.clip(-FARTHEST, FARTHEST)
    log_p = log_softmax(logits)
    parts = [(each.weight, log_softmax(_mapped(each, logits, log_p))) for each in model.maps_]
    if model.weights_["identity"] > _NEGLIGIBLE:
        parts.append((model.weights_["identity"], log_p))
    constant = np.log(model.weights_["proportions"]) + model.log_proportions_[None, :]
    classes = []
    for k in range(len(model.classes_)):
        columns = [part.column(k) + float(np.log(weight)) for weight, part in parts]
        zero = (logits < logits).cast("DOUBLE").column(k)
        classes.append(logsumexp((zero + float(constant[0, k])).beside(*columns)))
    return classes[0].beside(*classes[1:])


def _mapped(each: FittedMap, logits: Value, log_p: Value) -> Value:
    """Logits plus, for every class, an intercept, its own log-probability, asinh of it, and those of the others."""
    features = each.candidate.features
    if not isinstance(features, Joint):
        raise NotImplementedError(f"{type(features).__name__} cannot be written as ONNX.")
    n_classes = len(features.center)
    coef = each.coef.reshape(n_classes, -1)
    result = (
        each.candidate.base_slope * logits
        + coef[None, :, 0]
        + log_p * (coef[None, :, 1] / features.unit)
        + (arcsinh(log_p) - features.flat_center[None, :]) * coef[None, :, 2]
    )
    if not features.others:
        return result
    others = np.zeros((n_classes, n_classes))
    others[~np.eye(n_classes, dtype=bool)] = coef[:, 3:].ravel()
    # The unit goes into the matrix: runtimes join a factor beside a product to it, in float32.
    return result + (log_p - features.center[None, :]) @ (others.T / (features.unit * np.sqrt(n_classes)))
