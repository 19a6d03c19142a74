"""What a user hands to a calibrator: scores, checked and turned into log-odds."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy import special as sc

from properly.inputs.labels import check_lengths, checked_labels
from properly.inputs.weights import checked_weight
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, anywhere, columns_of, constant, floats, namespace, to_numpy
from properly.numeric.limits import LARGEST, LOG_SMALLEST

_NEARLY_ONE = 1e-6
_ROUNDING = 1e-6  # what lies so little outside [0, 1] was meant to lie in it: an error, rather than another reading
_TWO_DIGITS = 0.005  # by how much rounding to two digits changes a number at most


class BinarySample(NamedTuple):
    """Scores of rows that belong to a class or to the rest; no weight is 0 (None: all are 1)."""

    score: Array
    positive: NDArray[np.bool_]
    weight: Array | None

    @property
    def class_weight(self) -> tuple[float, float]:
        """The weight of the rest and that of the class."""
        if self.weight is None:
            own = int(namespace(self.positive).count_nonzero(self.positive))
            return float(self.positive.shape[0] - own), float(own)
        rest, own = to_numpy(fn.bincount(self.codes, self.weight, 2)).tolist()
        return float(rest), float(own)

    @property
    def codes(self) -> NDArray[Any]:
        """1 for the class and 0 for the rest, of a byte each."""
        xp = namespace(self.positive)
        return self.positive.view(np.int8) if xp is np else xp.astype(self.positive, xp.int8)

    def on_host(self) -> BinarySample:
        return BinarySample(*(None if x is None else to_numpy(x) for x in self))  # type: ignore[arg-type]

    def totals(self, place: NDArray[np.intp], n_places: int) -> tuple[Array, Array]:
        """The weights of the rest and of the class at every place."""
        weight = 1.0 if self.weight is None else self.weight
        rest, own = (np.bincount(place, weight * side, n_places) for side in (~self.positive, self.positive))
        return rest.astype(np.float64), own.astype(np.float64)

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

    @property
    def total_weight(self) -> float:
        return float(self.codes.shape[0] if self.weight is None else namespace(self.weight).sum(self.weight))

    def on_host(self) -> Sample:
        """The same rows as arrays of NumPy, for methods that are written for it."""
        weight = None if self.weight is None else to_numpy(self.weight)
        return Sample(to_numpy(self.scores), to_numpy(self.codes), weight, self.of_probabilities)

    def against_rest(self) -> list[BinarySample]:
        """The second of two classes against the first, or each of more against the others."""
        columns = columns_of(class_log_odds(self.scores, self.of_probabilities))
        own = [1] if len(columns) == 1 else range(len(columns))
        return [BinarySample(score, self.codes == k, self.weight) for score, k in zip(columns, own, strict=True)]


@dataclass(frozen=True)
class ScoreReader:
    """Scores are log-odds or logits already."""

    input: ClassVar[str] = "score"  # what a user hands in, a key of `INPUTS`
    of_probabilities: ClassVar[bool] = False  # whether the logits are logarithms of probabilities

    @classmethod
    def learn(cls, values: Array) -> Self:
        """Take from the calibration data what is needed to read others."""
        return cls()

    def __call__(self, values: Array) -> Array:
        return _refused_unless(
            namespace(values).isfinite(values),
            values,
            "scores must be finite, got {}; drop such rows, or pass probabilities, where 0 and 1 are allowed.",
        )


@dataclass(frozen=True)
class LogProbabilityReader:
    """Log-odds of two classes, or log-probabilities of more, such as classifiers give; probabilities may be 0 and 1.

    A probability of 0 has no finite logarithm: it is read as half the smallest positive probability among the
    calibration data if there was a 0 among them (1/4 if there were only zeros and ones), and otherwise as half the
    smallest positive number of float64, or of the data if that is smaller. What lies below is read the same, so that
    the order is kept. 1 mirrors this for two classes.
    """

    input: ClassVar[str] = "score"
    of_probabilities: ClassVar[bool] = True

    low: float
    high: float

    @classmethod
    def learn(cls, values: Array) -> Self:
        if values.ndim > 1:
            return cls(_half_the_smallest(values), 0.0)
        return cls._of_logarithms(fn.log_expit(values), fn.log_expit(-values))

    @classmethod
    def _of_logarithms(cls, log_p: Array, log_q: Array) -> Self:
        """From ln p and ln(1 - p) of the second of two classes."""
        low, high = _half_the_smallest(log_p), _half_the_smallest(log_q)
        return cls(low - float(np.log1p(-np.exp(low))), float(np.log1p(-np.exp(high))) - high)

    def __call__(self, values: Array) -> Array:
        xp = namespace(values)
        scores = _refused_unless(~xp.isnan(values), values, "scores must be numbers, got {}; drop such rows.")
        return xp.clip(scores, self.low, self.high)


@dataclass(frozen=True)
class ProbabilityReader(LogProbabilityReader):
    """Probabilities become log-odds, ln(p/(1-p)), or logarithms for more than two classes.

    0 and 1 are read as in `LogProbabilityReader`.
    """

    input: ClassVar[str] = "probability"

    @classmethod
    def learn(cls, values: Array) -> Self:
        xp = namespace(values)
        within = (values > 0.0) & (values < 1.0)
        inner = xp.where(within, values, 0.5)
        extremes = np.array([float(each) for x in (values, inner) for each in (xp.min(x), xp.max(x))])
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p, log_q = np.log(extremes), np.log(1.0 - extremes)
        return cls._of_logarithms(log_p, log_q) if values.ndim == 1 else cls(_half_the_smallest(log_p), 0.0)

    def __call__(self, values: Array) -> Array:
        p = _refused_unless(
            (values >= 0.0) & (values <= 1.0),
            values,
            'probabilities must lie in [0, 1], got {}; use input="score" for other scores (input="auto" takes scores '
            "for probabilities if all of them lie in [0, 1] in fit).",
        )
        return namespace(p).clip(_logarithms(p), self.low, self.high)


def _refused_unless(good: Any, values: Array, message: str) -> Array:
    if anywhere(~good):
        raise ValueError(message.format(to_numpy(values)[to_numpy(~good)][0]))
    return values


def _logarithms(p: Array) -> Array:
    """Log-odds of the second of two classes, or the logarithms of more probabilities."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return fn.logit(p) if p.ndim == 1 else namespace(p).log(p)


def _half_the_smallest(log_p: Array) -> float:
    """ln p/2: of the smallest p > 0, at most 1/2, if there are zeros, else also at most the smallest float64."""
    xp, half = namespace(log_p), math.log(0.5)
    smallest = min(float(xp.min(xp.where(xp.isfinite(log_p), log_p, half))), half)
    return (smallest if anywhere(log_p == -math.inf) else min(smallest, LOG_SMALLEST)) - math.log(2.0)


Reader = ScoreReader | LogProbabilityReader  # turns what the user calls a score into finite log-odds or logits


def _reader_for(values: Array) -> Reader:
    """That of probabilities if all values lie in [0, 1], and for more than two classes if rows add up to 1."""
    xp = namespace(values)
    low, high = float(xp.min(values)), float(xp.max(values))
    inside = bool(low >= -_ROUNDING * high and high <= 1.0 + _ROUNDING)
    ends = [int(xp.count_nonzero(values == end)) for end in (0.0, 1.0)] if inside and values.ndim == 1 else []
    if ends == [1, 1] and values.shape[0] > 2:
        _warn_unclear("there is one score of exactly 0 and one of exactly 1, as after scaling to [0, 1]", "probability")
    if inside and values.ndim > 1 and anywhere(abs(xp.sum(values, axis=1) - 1.0) > _TWO_DIGITS * values.shape[1]):
        _warn_unclear("all scores lie in [0, 1], but not every row adds up to 1", "score")
        inside = False
    return (ProbabilityReader if inside else ScoreReader).learn(values)


def _warn_unclear(fact: str, taken: str) -> None:
    warnings.warn(
        f'{fact}: it is unclear whether these are probabilities; they are read with input="{taken}". Choose '
        'input="score" or input="probability" yourself.',
        UserWarning,
        stacklevel=5,
    )


# What the scores are, and from the calibration data how to read them.
INPUTS: dict[str, Callable[[Array], Reader]] = {
    "auto": _reader_for,
    "score": ScoreReader.learn,
    "probability": ProbabilityReader.learn,
}


def checked_values(scores: ArrayLike, n_classes: int) -> Array:
    """Scores or probabilities as numbers of the right shape: (n,) for two classes, (n, K) for K > 2."""
    if sparse.issparse(scores):
        raise ValueError("scores must be dense, got a sparse matrix, which is not supported; use scores.toarray().")
    if scores is None:
        raise ValueError("scores is None; one number for each row is needed.")
    (values,) = floats(scores=scores)
    if values.ndim == 2 and values.shape[1] == 0:
        raise ValueError(f"scores has 0 feature(s) (shape={values.shape}) while a minimum of 1 is required.")
    if n_classes == 2:
        if values.ndim == 2 and values.shape[1] == 1:
            return columns_of(values)[0]
        if values.ndim == 2 and values.shape[1] == 2:
            raise ValueError(
                f"scores has shape {values.shape}, but two classes need one score for each row: pass the column of the "
                "second class for probabilities, the difference second - first for logits."
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
    check_lengths(codes.shape[0], values.shape[0], "scores")
    weight = checked_weight(sample_weight, codes.shape[0], positive_sum=True, like=values)
    if weight is None:
        return values, codes, None
    share = to_numpy(fn.bincount(codes, weight, len(classes)))
    if (share == 0.0).any():
        empty = classes[share == 0.0].tolist()[0]
        raise ValueError(
            f"every row of class {empty!r} has weight 0; drop these rows, or give some of them a positive weight."
        )
    if not anywhere(weight == 0.0):
        return values, codes, weight
    rows = weight > 0.0
    return values[rows], codes[rows], weight[rows]


def class_log_odds(scores: Array, of_probabilities: bool = False) -> Array:
    """The log-odds l_k - ln Σ_{j≠k} exp l_j of every class, or those of the second of two, one column each.

    Logarithms of probabilities give ln(p_k/(1 - p_k)), whatever the other probabilities are: equal ones stay equal.
    """
    xp = namespace(scores)
    if scores.ndim == 1:
        return scores[:, None]
    if of_probabilities:
        return _log_odds_of_logarithms(scores)
    with np.errstate(over="ignore", divide="ignore"):
        log_p = xp.maximum(fn.log_softmax(scores, axis=1), -LARGEST)
        log_odds = log_p - xp.log1p(-xp.exp(log_p))
    # The largest p may be 1 up to rounding: there the others are added up.
    top = xp.argmax(scores, axis=1, keepdims=True)
    if xp is not np:
        is_top = top == constant(np.arange(scores.shape[1]), scores)
        return xp.where(is_top, log_p - _others(log_p, is_top), log_odds)
    largest = np.take_along_axis(log_p, top, axis=1)
    np.put_along_axis(log_p, top, -np.inf, axis=1)
    np.put_along_axis(log_odds, top, largest - sc.logsumexp(log_p, axis=1, keepdims=True), axis=1)
    return log_odds


def _log_odds_of_logarithms(log_p: Array) -> Array:
    """ln p - ln(1 - p); where p is 1 but for a millionth, the others are added up: 1 - p would be rounding."""
    xp = namespace(log_p)
    with np.errstate(divide="ignore"):
        log_rest = xp.where(log_p < -math.log(2.0), xp.log1p(-xp.exp(log_p)), xp.log(-xp.expm1(log_p)))
    near = log_p > -_NEARLY_ONE
    if xp is not np:
        return log_p - xp.where(near, _others(log_p, near), log_rest)
    row, column = np.nonzero(near)
    others = log_p[row]
    others[np.arange(len(row)), column] = -np.inf
    log_rest[row, column] = sc.logsumexp(others, axis=1) if len(row) else 0.0
    return log_p - log_rest


def _others(log_p: Array, left_out: Any) -> Array:
    """ln Σ p over the classes of a row that are not left out."""
    return fn.logsumexp(namespace(log_p).where(left_out, -math.inf, log_p), axis=1, keepdims=True)


_SPLITTER = 2.0**20 + 1.0  # Veltkamp's, which leaves 33 of the 53 binary digits
_LARGEST_TO_SPLIT = 1e300


def without_last_digits(score: Array, zero: float = 0.0) -> Array:
    """Scores rounded to 33 binary digits: what differs by rounding is equal, and lies on the same side of a step.

    The last digits of a sum depend on the order of its terms, which matrix products choose by the number of rows.
    Scores below `zero` in size count as 0.

    >>> without_last_digits(np.array([0.1 + 0.2, 0.3])).tolist()
    [0.29999999998835847, 0.29999999998835847]
    """
    xp = namespace(score)
    inner = xp.clip(score, -_LARGEST_TO_SPLIT, _LARGEST_TO_SPLIT)
    product = _SPLITTER * inner
    rounded = xp.where(inner == score, product - (product - inner), score)
    return rounded if zero == 0.0 else xp.where(xp.abs(rounded) < zero, 0.0, rounded)


def zero_of(score: Array) -> float:
    """What differs from 0 by rounding only, among such scores: 33 binary digits below the middle one of their sizes."""
    return float(2.0**-33 * fn.median(abs(score)))


_LARGEST_TO_SQUARE = 1e150  # sums of squares must not overflow


def read_scores(y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None) -> tuple[NDArray[Any], BinarySample]:
    """The two classes, and finite scores of rows that belong to the second or do not."""
    classes, codes = checked_labels(y)
    if len(classes) > 2:
        raise ValueError(
            f"y holds {len(classes)} classes, but this needs two; pass y == label for one class against the rest."
        )
    values = ScoreReader()(checked_values(scores, 2))
    check_lengths(len(codes), len(values), "scores")
    if np.abs(values).max() > _LARGEST_TO_SQUARE:
        raise ValueError(
            f"scores must not exceed {_LARGEST_TO_SQUARE:g} in size, got {values[np.abs(values).argmax()]}."
        )
    values, codes, weight = checked_sample(values, codes, sample_weight, classes)
    return classes, BinarySample(values, codes.astype(np.bool_), weight)
