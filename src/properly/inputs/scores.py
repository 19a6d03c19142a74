"""What a user hands to a calibrator, checked and turned into log-odds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special as sc

from properly.inputs.labels import checked_labels
from properly.inputs.weights import checked_weight
from properly.numeric.probabilities import Array, as_float

_SMALLEST = np.finfo(np.float64).smallest_subnormal
_LARGEST = np.finfo(np.float64).max
_NEARLY_ONE = 1e-6


class BinarySample(NamedTuple):
    """Scores of rows that belong to a class or to the rest; no weight is 0 (None: all are 1)."""

    score: Array
    positive: NDArray[np.bool_]
    weight: Array | None

    @property
    def class_weight(self) -> tuple[float, float]:
        """The weight of the rest and that of the class."""
        if self.weight is None:
            count = int(np.count_nonzero(self.positive))
            return float(len(self.positive) - count), float(count)
        rest, own = np.bincount(self.positive, self.weight, 2)
        return float(rest), float(own)

    def of_class(self, positive: bool) -> tuple[Array, Array | None]:
        """The scores of one side and their weights."""
        rows = self.positive if positive else ~self.positive
        return self.score[rows], None if self.weight is None else self.weight[rows]


class Sample(NamedTuple):
    """Checked calibration data; rows of weight 0 are gone."""

    scores: Array  # (n,) log-odds of the second of two classes, or (n, K) logits
    codes: NDArray[Any]  # whole numbers, of a byte each for two classes
    weight: Array | None
    of_probabilities: bool = False  # logits are logarithms of probabilities, which add up to 1 in every row

    def against_rest(self) -> list[BinarySample]:
        """The second of two classes against the first, or each of more against the others."""
        columns = class_log_odds(self.scores, self.of_probabilities).T
        own = [1] if len(columns) == 1 else range(len(columns))
        return [BinarySample(score, self.codes == k, self.weight) for score, k in zip(columns, own, strict=True)]


class Reader(Protocol):
    """Turns what the user calls a score into log-odds (two classes) or logits (more)."""

    of_probabilities: ClassVar[bool]  # whether the logits are logarithms of probabilities

    @classmethod
    def learn(cls, values: Array) -> Self:
        """Take from the calibration data what is needed to read others."""

    def __call__(self, values: Array) -> Array: ...


@dataclass(frozen=True)
class ScoreReader:
    """Scores are log-odds or logits already."""

    of_probabilities: ClassVar[bool] = False

    @classmethod
    def learn(cls, values: Array) -> Self:
        return cls()

    def __call__(self, values: Array) -> Array:
        bad = ~np.isfinite(values)
        if bad.any():
            raise ValueError(
                f"scores must be finite, got {values[bad][0]}; drop such rows, or pass probabilities with "
                'input="probability", where 0 and 1 are allowed.'
            )
        return values


@dataclass(frozen=True)
class LogProbabilityReader(ScoreReader):
    """Logits of more than two classes that are logarithms of probabilities, as of `predict_log_proba`."""

    of_probabilities: ClassVar[bool] = True

    def __call__(self, values: Array) -> Array:
        return np.minimum(super().__call__(values), 0.0)  # rounding may exceed a probability of 1


@dataclass(frozen=True)
class ProbabilityReader:
    """Probabilities become log-odds, ln(p/(1-p)), or logarithms for more than two classes.

    A probability of 0 has none: it is read as half the smallest positive probability among those calibrated with if
    there was a 0 among them (1/4 if there were only zeros and ones), and otherwise as half the smallest positive number
    that float64 knows. What lies below is read the same, so that order is kept. 1 mirrors this for two classes.
    """

    of_probabilities: ClassVar[bool] = True

    low: float
    high: float

    @classmethod
    def learn(cls, values: Array) -> Self:
        lowest = _lowest(values)
        if values.ndim > 1:
            return cls(lowest.logarithm, 0.0)
        return cls(lowest.log_odds, -_lowest(1.0 - values).log_odds)

    def __call__(self, values: Array) -> Array:
        bad = ~((values >= 0.0) & (values <= 1.0))
        if bad.any():
            raise ValueError(
                f"probabilities must lie in [0, 1], got {values[bad][0]}; "
                'use input="score" for scores that are not probabilities.'
            )
        with np.errstate(divide="ignore"):
            if values.ndim == 1:
                return np.clip(sc.logit(values), self.low, self.high)
            return np.clip(np.log(values), self.low, self.high)


class _Lowest(NamedTuple):
    """What 0 is read as."""

    logarithm: float
    log_odds: float


def _lowest(p: Array) -> _Lowest:
    """Half the smallest p above 0 if there are zeros, else half the smallest number."""
    if (p > 0.0).all():
        logarithm = float(np.log(_SMALLEST) - np.log(2.0))
        return _Lowest(logarithm, logarithm)
    smallest = float(p[(p > 0.0) & (p < 1.0)].min(initial=0.5))
    logarithm = float(np.log(smallest) - np.log(2.0))
    return _Lowest(logarithm, float(logarithm - np.log1p(-0.5 * smallest)))


INPUTS: dict[str, type[Reader]] = {"score": ScoreReader, "probability": ProbabilityReader}


def checked_values(scores: ArrayLike, n_classes: int) -> Array:
    """Scores or probabilities as numbers of the right shape: (n,) for two classes, (n, K) for K > 2."""
    values = as_float(scores, "scores")
    if n_classes == 2:
        if values.ndim == 2 and values.shape[1] == 1:
            return values[:, 0]
        if values.ndim == 2 and values.shape[1] == 2:
            raise ValueError(
                f"scores has shape {values.shape}, but two classes need one score a row: pass the column of the second "
                "class for probabilities, the difference second - first for logits."
            )
        if values.ndim != 1:
            raise ValueError(f"scores must have shape (n,) or (n, 1) for two classes, got {values.shape}.")
        return values
    if values.ndim != 2 or values.shape[1] != n_classes:
        raise ValueError(
            f"scores must have shape (n, {n_classes}), one column for each of the {n_classes} sorted classes, "
            f"got {values.shape}."
        )
    return values


def checked_sample(
    values: Array, codes: NDArray[Any], sample_weight: ArrayLike | None, classes: NDArray[Any]
) -> tuple[Array, NDArray[Any], Array | None]:
    """Values, codes and weights of the rows that count: lengths agree, no class is without weight."""
    if len(values) != len(codes):
        raise ValueError(f"scores has {len(values)} rows, y has {len(codes)}: inconsistent numbers of samples.")
    weight = checked_weight(sample_weight, len(codes))
    if weight is None:
        return values, codes, None
    if not weight.any():
        raise ValueError("sample_weight is zero for every row; at least one must be positive.")
    share = np.bincount(codes, weight, len(classes))
    if (share == 0.0).any():
        empty = classes[share == 0.0].tolist()[0]
        raise ValueError(f"every row of class {empty!r} has weight 0; drop these rows or weight them.")
    if weight.all():
        return values, codes, weight
    rows = weight > 0.0
    return values[rows], codes[rows], weight[rows]


def class_log_odds(scores: Array, of_probabilities: bool = False) -> Array:
    """The log-odds l_k - ln Σ_{j≠k} exp l_j of every class, or those of the second of two, one column each.

    Logarithms of probabilities give ln(p_k/(1 - p_k)), whatever the other probabilities are: equal ones stay equal.
    """
    if scores.ndim == 1:
        return scores[:, None]
    if of_probabilities:
        return _log_odds_of_logarithms(scores)
    with np.errstate(over="ignore", divide="ignore"):
        log_p = np.maximum(sc.log_softmax(scores, axis=1), -_LARGEST)
        log_odds = log_p - np.log1p(-np.exp(log_p))
    # The largest p may be 1 up to rounding: there the others are added up.
    rows, top = np.arange(len(scores)), scores.argmax(axis=1)
    largest = log_p[rows, top]
    log_p[rows, top] = -np.inf
    log_odds[rows, top] = largest - sc.logsumexp(log_p, axis=1)
    return np.asarray(log_odds)


def _log_odds_of_logarithms(log_p: Array) -> Array:
    """ln p - ln(1 - p); where p is 1 but for a millionth, the others are added up: 1 - p would be rounding."""
    with np.errstate(divide="ignore"):
        log_rest = np.where(log_p < -np.log(2.0), np.log1p(-np.exp(log_p)), np.log(-np.expm1(log_p)))
    row, column = np.nonzero(log_p > -_NEARLY_ONE)
    others = log_p[row]
    others[np.arange(len(row)), column] = -np.inf
    log_rest[row, column] = sc.logsumexp(others, axis=1) if len(row) else 0.0
    return np.asarray(log_p - log_rest)


_LARGEST_TO_SQUARE = 1e150  # sums of squares must not overflow


def read_scores(y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None) -> tuple[NDArray[Any], BinarySample]:
    """The two classes, and finite scores of rows that belong to the second or do not."""
    classes, codes = checked_labels(y)
    if len(classes) > 2:
        raise ValueError(
            f"y holds {len(classes)} classes, but this looks at two; look at one class against the rest: y == label."
        )
    values = ScoreReader()(checked_values(scores, 2))
    if np.abs(values).max() > _LARGEST_TO_SQUARE:
        raise ValueError(
            f"scores must not exceed {_LARGEST_TO_SQUARE:g} in size, got {values[np.abs(values).argmax()]}."
        )
    values, codes, weight = checked_sample(values, codes, sample_weight, classes)
    return classes, BinarySample(values, codes.astype(np.bool_), weight)
