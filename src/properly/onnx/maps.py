"""Calibration maps of one class: score in, log-odds out; a function for each kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from properly.calibration.densities import _MOST_LOG_ODDS, DensityMap, TwoPieceDensity
from properly.calibration.histogram import HistogramMap
from properly.calibration.isotonic import _TIE_BREAKER, IsotonicMap
from properly.calibration.log_odds import Hinges, LinearMap, LogProbabilities, Powers
from properly.calibration.spline import NaturalSplines
from properly.calibration.venn_abers import VennAbersMap
from properly.numeric.limits import FARTHEST
from properly.numeric.probabilities import Array
from properly.numeric.scaling import Standardizer
from properly.onnx.graph import Value, interpolated, log_expit, places


def log_odds_of(map_: Any, score: Value) -> Value:
    """The calibrated log-odds of a column of scores."""
    if type(map_) not in _MAPS:
        raise NotImplementedError(f"{type(map_).__name__} cannot be written as ONNX.")
    return _MAPS[type(map_)](map_, score)


def standardised(standard: Standardizer, score: Value) -> Value:
    if standard.scale == 0.0:
        return (score < score).cast("DOUBLE")  # zeros: equal scores tell nothing
    half = 0.5 if standard.scale > 1e300 else 1.0
    z = (half * score - half * standard.center) / (half * standard.scale)
    return z.clip(-FARTHEST, FARTHEST)


def _lowered(edges: Array, score: Value) -> Array:
    """Edges of steps, moved down by what rounding may do to a score.

    Another runtime adds up in another order. A score that should lie on an edge, as scores of calibration rows do, may
    come out just below it, and must not fall to the step before.
    """
    return edges - score.graph.rounding * (np.abs(edges) + np.median(np.abs(edges))) if len(edges) else edges


def _raised(edges: Array, score: Value) -> Array:
    return -_lowered(-edges, score)


def _linear(map_: LinearMap, score: Value) -> Value:
    columns = _FEATURES[type(map_.features)](map_.features, score)
    return map_.intercept + columns @ map_.coef[:, None]


def _powers(features: Powers, score: Value) -> Value:
    z = standardised(features.standardize, score)
    return z.beside(z * z) if features.degree == 2 else z


def _log_probabilities(features: LogProbabilities, score: Value) -> Value:
    v = score.clip(-FARTHEST, FARTHEST)
    log_p = log_expit(v)
    return log_p.beside(v - log_p)


def _hinges(features: Hinges, score: Value) -> Value:
    z = standardised(features.standardize, score)
    return z.beside((z - features.knots[None, :]).maximum(0.0)) if len(features.knots) else z


def _splines(features: NaturalSplines, score: Value) -> Value:
    z = standardised(features.standardize, score)
    if not features.basis.size:
        return z
    inner, last = features.knots[None, :-1], float(features.knots[-1])
    reach = (z.minimum(last) - inner).maximum(0.0)
    beyond = (z - last).maximum(0.0)
    curve = reach * reach * reach / (last - inner) + beyond * (3.0 * (last - inner))
    count = inner.shape[1]
    cubes = curve.columns(range(count - 1)) - curve.column(count - 1)
    return z.beside(cubes @ features.basis)


_FEATURES: dict[type, Callable[[Any, Value], Value]] = {
    Powers: _powers,
    LogProbabilities: _log_probabilities,
    Hinges: _hinges,
    NaturalSplines: _splines,
}


def _isotonic(map_: IsotonicMap, score: Value) -> Value:
    if map_.linear:
        knots = np.stack([map_.first, map_.last]).T.ravel()
        p, q = (interpolated(score, knots, np.repeat(values, 2)) for values in (map_.rate, map_.complement))
        log_odds = p.log() - q.log()
    else:
        block = places(score, _lowered(map_.first[1:], score), "right")  # before the first block counts as the first
        with np.errstate(divide="ignore"):
            log_odds = block.entries(np.log(map_.rate) - np.log(map_.complement))
    if map_.strict is None:
        return log_odds
    z = standardised(map_.strict, score)
    return log_odds + _TIE_BREAKER * z / (1.0 + abs(z))


def _histogram(map_: HistogramMap, score: Value) -> Value:
    with np.errstate(divide="ignore"):
        table = np.log(map_.positive) - np.log(map_.negative)
    return places(score, _lowered(map_.edges, score), "right").entries(table)


def _venn_abers(map_: VennAbersMap, score: Value) -> Value:
    log_p1 = places(score, _raised(map_.upper_scores, score), "left").entries(np.append(np.log(map_.p1), 0.0))
    log_q0 = places(score, _lowered(map_.lower_scores, score), "right").entries(np.append(0.0, np.log(map_.q0)))
    return log_p1 - log_q0


def _density(map_: DensityMap, score: Value) -> Value:
    z = standardised(map_.standardize, score)
    return _monotone(map_, z) if map_.direction else _plain(map_, z)


def _plain(map_: DensityMap, z: Value) -> Value:
    low, high = sorted((map_.rest.mode, map_.own.mode))
    between = z.clip(low, high)
    log_ratio = _log_density(map_.own, between) - _log_density(map_.rest, between)
    log_ratio = log_ratio + _beyond(map_, high, (z - high).maximum(0.0), high + 1.0)
    log_ratio = log_ratio + _beyond(map_, low, (z - low).minimum(0.0), low - 1.0)
    return map_.log_prior_odds + log_ratio.clip(-_MOST_LOG_ODDS, _MOST_LOG_ODDS)


def _log_density(density: TwoPieceDensity, z: Value) -> Value:
    distance = z - density.mode
    left = distance <= 0.0
    d = abs(distance) / left.where(density.left_scale, density.right_scale)
    straight, bent = d, 0.5 * d * d
    sides = [straight if power == 1 else bent for power in (density.left_power, density.right_power)]
    at_mode = float(density.log_density(np.array(density.mode)))
    return at_mode - left.where(*sides)


def _beyond(map_: DensityMap, mode: float, distance: Value, inside: float) -> Value:
    slope, bend = map_._derivatives(inside, mode)
    return (slope + (0.5 * bend) * distance) * distance


def _monotone(map_: DensityMap, z: Value) -> Value:
    """As in `DensityMap`: outwards from the middle, the running maximum uphill and the minimum downhill."""
    sign = float(map_.direction)
    middle = 0.5 * (map_.rest.mode + map_.own.mode)
    at_middle = sign * float(map_._plain(np.array(middle)))
    result = sign * _plain(map_, z)
    result = (z >= middle).where(result.maximum(at_middle), result.minimum(at_middle))
    for turn in map_._turns():
        at_turn = sign * float(map_._plain(np.array(turn)))
        if turn >= middle:
            result = (z >= turn).where(result.maximum(at_turn), result)
        else:
            result = (z <= turn).where(result.minimum(at_turn), result)
    return sign * result


_MAPS: dict[type, Callable[[Any, Value], Value]] = {
    LinearMap: _linear,
    IsotonicMap: _isotonic,
    HistogramMap: _histogram,
    VennAbersMap: _venn_abers,
    DensityMap: _density,
}
