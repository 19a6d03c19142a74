"""How large the fault of probabilities is, each measure with a 95 % interval, and what could have been found."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from scipy import special as sc

from properly.diagnostics.results import jeffreys_interval
from properly.inputs.forecast import Forecast
from properly.metrics.calibration_tests import Cells, detectable_shift, deviations_needed, fitted_lines
from properly.metrics.clusters import design_effect
from properly.metrics.thresholds import DistinctForecasts, distinct_forecasts
from properly.numeric.probabilities import Array

CONFIDENCE = 0.95
DEVIATIONS = 1.96  # half the width of such an interval, in standard errors
SIZES = {"observed/expected": 1.0, "intercept": 0.0, "slope": 1.0, "calibration error": 0.0}  # if right
_BINS = 15  # of equal mass, of the calibration error, and at most one of them
_PER_BIN = 10.0  # for so many rows
_NONE_SEEN = 1.64  # the variance of a number of errors none of which was seen, so that the interval is Jeffreys'
_SMALL_SHIFT = 1.0  # in log-odds, up to which what a shift does to the number of positives is nearly linear in it
_FARTHEST = 800.0  # log-odds, beyond which a probability is 0 or 1


class Size(NamedTuple):
    """An estimate with its 95 % interval.

    Attributes
    ----------
    estimate : float
        The size.
    low, high : float
        Its 95 % interval.
    """

    estimate: float
    low: float
    high: float

    def excludes(self, value: float) -> bool:
        """Whether `value` is outside the interval."""
        return self.low > value or self.high < value


class Detectable(NamedTuple):
    """What the tests would have found on these rows with a probability of 80 %.

    `shift` in log-odds makes the mean probability `mean` where the observed share should be `share`; `rows` would be
    enough for the shift that is `wanted`.

    Mathematics: formula (5.8).
    """

    shift: float
    mean: float
    share: float
    wanted: float
    rows: float

    @property
    def enough(self) -> bool:
        return self.shift <= self.wanted


def sizes_of(question: Forecast, cluster: NDArray[Any] | None = None) -> dict[str, Size | None]:
    """Observed/expected, intercept, slope and calibration error of a checked forecast of two classes.

    None stands for what these rows do not determine; of a single cluster that is everything.
    """
    inflation = design_effect(question, cluster)
    if inflation == np.inf:
        return dict.fromkeys(SIZES)
    found = distinct_forecasts(question)
    cells = Cells.inside(found)
    shares = _shares(question, found, inflation)
    certain = float(found.weight[found.p == 1.0].sum())
    intercept = Size(*(_shift(cells, each * question.total - certain) for each in shares)) if len(cells.p) else None
    ratio = _ratio(question, shares)
    return dict(zip(SIZES, (ratio, intercept, _slope(cells, inflation), _error(found, inflation)), strict=True))


def ratio_of(question: Forecast, cluster: NDArray[Any] | None = None) -> Size | None:
    """Observed/expected alone, as in `sizes_of`."""
    inflation = design_effect(question, cluster)
    if inflation == np.inf:
        return None
    return _ratio(question, _shares(question, distinct_forecasts(question), inflation))


def _shares(question: Forecast, found: DistinctForecasts, inflation: float) -> Size:
    """The observed share, with its interval."""
    share = float(question.rates[1])
    deviation = np.sqrt(inflation * _spread(found)) / question.total
    return Size(share, *(float(end) for end in share_interval(share, question.total, deviation)))


def _ratio(question: Forecast, shares: Size) -> Size | None:
    mean = question.mean(question.p)
    return Size(*(each / mean for each in shares)) if mean > 0.0 else None


def _spread(found: DistinctForecasts) -> float:
    """The variance of Σw(y - p), whether the probabilities are right or not."""
    squares = found.positive @ np.square(1.0 - found.p) + found.negative @ np.square(found.p)
    excess = found.positive.sum() - found.weight @ found.p
    spread = float(squares - excess**2 / found.weight.sum())
    return spread if spread > 0.0 else _NONE_SEEN


def share_interval(share: Array | float, total: Array | float, deviation: Array | float) -> tuple[Array, Array]:
    """Jeffreys' interval of a share, of as many rows as have its standard error, or of `total` rows without one."""
    share, total, deviation = (np.asarray(each, dtype=np.float64) for each in (share, total, deviation))
    inside = (share > 0.0) & (share < 1.0) & (deviation > 0.0)
    rows = np.where(inside, share * (1.0 - share) / np.square(np.where(deviation > 0.0, deviation, 1.0)), total)
    return jeffreys_interval(rows * share, rows * (1.0 - share), CONFIDENCE)


def _shift(cells: Cells, positive: float) -> float:
    """What must be added to all log-odds for so many positives; infinite if nothing is enough."""
    log_odds = sc.logit(cells.p)
    if positive <= 0.0 or positive >= cells.weight.sum():
        return -np.inf if positive <= 0.0 else np.inf

    def excess(shift: float) -> float:
        return float(cells.weight @ sc.expit(log_odds + shift) - positive)

    if excess(-_FARTHEST) >= 0.0 or excess(_FARTHEST) <= 0.0:
        return -np.inf if excess(-_FARTHEST) >= 0.0 else np.inf
    return float(optimize.brentq(excess, -_FARTHEST, _FARTHEST, xtol=1e-9))


def _slope(cells: Cells, inflation: float) -> Size | None:
    """Of the line through the log-odds; None if probabilities do not differ, or predict the labels without error."""
    if len(cells.p) < 2:
        return None
    line = fitted_lines(sc.logit(cells.p), cells.weight, cells.positive[None])
    one, both, square = line.information[0]
    if not line.converged[0] or one * square <= both * both:
        return None
    reach = DEVIATIONS * float(np.sqrt(inflation * one / (one * square - both * both)))
    slope = float(line.coef[0, 1])
    return Size(slope, slope - reach, slope + reach)


def _error(found: DistinctForecasts, inflation: float) -> Size:
    """The root mean square of observed share - mean probability over bins of equal mass, less what is chance.

    Its square is estimated without bias and may be negative; it then counts as 0, and the interval begins there.
    """
    weight = found.weight
    place = (np.cumsum(weight) - 0.5 * weight) / weight.sum()
    bins = max(1, min(_BINS, int(weight.sum() / _PER_BIN)))
    begins = np.flatnonzero(np.diff((place * bins).astype(np.intp), prepend=-1))
    squares = found.positive * np.square(1.0 - found.p) + found.negative * np.square(found.p)
    sums = (weight, found.positive, weight * found.p, squares, weight * found.p * (1.0 - found.p))
    total, positive, expected, squares, if_right = (np.add.reduceat(each, begins) for each in sums)
    gap = (positive - expected) / total
    spread = np.maximum(squares / total - np.square(gap), 0.0)
    pure = (positive == 0.0) | (positive == total)  # such rows do not show by themselves what is chance
    spread = np.where(pure, np.maximum(spread, if_right / total), spread)
    spread = np.where(spread > 0.0, spread, _NONE_SEEN / total)
    variance = inflation * spread / np.maximum(total - 1.0, 1.0)
    share = total / total.sum()
    mean = max(float(share @ (np.square(gap) - variance)), 0.0)
    reach = DEVIATIONS * np.sqrt(np.square(share) @ (2.0 * np.square(variance) + 4.0 * np.square(gap) * variance))
    return Size(*(float(np.sqrt(max(end, 0.0))) for end in (mean, mean - reach, mean + reach)))


def detectable_of(question: Forecast, wanted: float, level: float, cluster: NDArray[Any] | None = None) -> Detectable:
    """The shift that would have been found; 0 if all probabilities are 0 or 1, since nothing is left to chance."""
    cells, mean = Cells.of(question), question.mean(question.p)
    information = float(cells.variance.sum()) / design_effect(question, cluster)
    if len(cells.p) == 0:
        return Detectable(0.0, mean, mean, wanted, 0.0)
    shift = signed = detectable_shift(information, level)
    with np.errstate(over="ignore"):  # tiny probabilities: infinitely many rows
        rows = float(question.total * np.square(shift / wanted))
    if shift > _SMALL_SHIFT:
        signed = _large_shift(cells, design_effect(question, cluster), level)
        shift = max(abs(signed), _SMALL_SHIFT)
        signed = float(np.copysign(shift, signed))
    moved = float(cells.weight @ (sc.expit(sc.logit(cells.p) + signed) - cells.p)) / question.total
    return Detectable(shift, mean, mean + moved, wanted, rows)


def _large_shift(cells: Cells, inflation: float, level: float) -> float:
    """The smaller of the shifts up and down that 80 of 100 numbers of positives would show; infinite if none would.

    Few expected positives (or negatives) show no small shift, and for a large one neither Σw p nor Σw p(1-p) is nearly
    linear or constant in it. Therefore the shift is sought at which the number of positives exceeds the bound of the
    tests with this probability, by normal approximations with a correction for its being whole.
    """
    if inflation == np.inf:
        return np.inf
    weight, found = cells.weight / inflation, []
    above, power = deviations_needed(level)
    for sign in (1.0, -1.0):
        log_odds = sign * sc.logit(cells.p)
        right = sc.expit(log_odds)
        bound = float(weight @ right + 0.5 + above * np.sqrt(weight @ (right * (1.0 - right))))

        def excess(shift: float, log_odds: Array = log_odds, bound: float = bound) -> float:
            p = sc.expit(log_odds + shift)
            return float(weight @ p - power * np.sqrt(weight @ (p * (1.0 - p))) - bound)

        if excess(_FARTHEST) > 0.0:
            found.append(sign * optimize.brentq(excess, 0.0, _FARTHEST, xtol=1e-9))
    return float(min(found, key=abs, default=np.inf))
