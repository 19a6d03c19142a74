"""What a user hands to a diagnostic, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special as sc

from properly.calibration.inputs import BinarySample, ScoreReader, checked_labels, checked_sample, checked_values
from properly.diagnostics.names import checked_names
from properly.metrics.inputs import Forecast, read_binary
from properly.probabilities import Array, as_float

_POINTS = 500
_MANY = 1e12  # rows: thresholds nearer to 0 and 1 than a tenth of one of so many tell nothing
_LARGEST = 1e150  # sums of squares must not overflow


def read_named(
    y: ArrayLike,
    p: ArrayLike | Mapping[str, ArrayLike],
    sample_weight: ArrayLike | None,
    classes: ArrayLike | None,
    reserved: Iterable[str] = (),
) -> dict[str, Forecast]:
    """One forecaster, called "forecast", or several by name, of the same rows of two classes.

    `reserved` names are those of other columns.
    """
    if not isinstance(p, Mapping):
        return {"forecast": read_binary(y, p, sample_weight, classes)}
    if not p:
        raise ValueError("p is an empty mapping; it needs a name and probabilities for at least one forecaster.")
    forecasts = {}
    for name, each in zip(checked_names(p, reserved), p.values(), strict=True):
        try:
            forecasts[name] = read_binary(y, each, sample_weight, classes)
        except ValueError as error:
            raise ValueError(f"forecaster {name!r}: {error}") from error
    return forecasts


def read_scores(y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None) -> tuple[NDArray[Any], BinarySample]:
    """The two classes, and finite scores of rows that belong to the second or do not."""
    classes, codes = checked_labels(y)
    if len(classes) > 2:
        raise ValueError(
            f"y holds {len(classes)} classes, but this looks at two; look at one class against the rest: y == label."
        )
    values = ScoreReader()(checked_values(scores, 2))
    if np.abs(values).max() > _LARGEST:
        raise ValueError(f"scores must not exceed {_LARGEST:g} in size, got {values[np.abs(values).argmax()]}.")
    values, codes, weight = checked_sample(values, codes, sample_weight, classes)
    return classes, BinarySample(values, codes.astype(np.bool_), weight)


def read_thresholds(thresholds: ArrayLike | None, total: float) -> Array:
    """Sorted thresholds in [0, 1]; if none are given, a thousand, dense towards 0 and 1 as far as n rows can tell."""
    if thresholds is None:
        end = np.log(10.0 * min(max(total, 10.0), _MANY))
        return np.union1d(np.linspace(0.0, 1.0, _POINTS + 1), sc.expit(np.linspace(-end, end, _POINTS)))
    values = np.unique(as_float(thresholds, "thresholds"))
    if len(values) == 0 or not (values[0] >= 0.0 and values[-1] <= 1.0):
        raise ValueError(f"thresholds must be numbers in [0, 1], got {thresholds!r}.")
    return values


def check_confidence(value: object) -> None:
    """Refuse what is not strictly between 0 and 1."""
    if not (isinstance(value, Real) and 0.0 < float(value) < 1.0):
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {value!r}.")
