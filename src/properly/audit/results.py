"""What an audit found: scores, thresholds and the decision for given costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly import notebook
from properly.audit.confusion import Confusion
from properly.audit.recalibration import Recalibrated
from properly.audit.sizes import Detectable, Size, share_interval
from properly.diagnostics import GroupCalibration, MulticlassReliability, Murphy, Reliability
from properly.forecasts.several import CountedForecast
from properly.inputs.forecast import Forecast
from properly.losses import LogLoss, Loss, SquaredLoss
from properly.metrics import (
    AreaUnderCurve,
    CalibrationTest,
    Decomposition,
    PairedDifference,
    ThresholdChoice,
)
from properly.metrics.decisions import best_threshold_of
from properly.metrics.paired import bootstrap_of
from properly.metrics.scores import base_score, decomposition_of, losses_of, score_of
from properly.numeric.probabilities import Array

MOST_THRESHOLDS = 1_000
# Thresholds that people name: 0.0001, 0.0002, ..., 0.001, 0.002, ..., 0.01, 0.02, ..., 0.99.
_ROUND = np.unique(np.concatenate([np.arange(1, 10) / 1e4, np.arange(1, 10) / 1e3, np.arange(1, 100) / 1e2]))


class OperatingPoint(NamedTuple):
    """What a threshold does: the share of all rows that it calls positive, and how right and how complete that is."""

    threshold: float
    alerts: float
    precision: float  # the share of these rows that are positive; nan if there are none
    recall: float  # the share of all positives that are among them; nan if there are none


@dataclass(frozen=True)
class ThresholdTable:
    """Rows (or weight) called positive at rising thresholds, where a row is positive if p ≥ threshold.

    The first threshold calls every row positive, the last one, ∞, none.
    """

    thresholds: Array
    true_positives: Array
    false_positives: Array
    positives: float
    negatives: float

    @classmethod
    def of(cls, forecast: Forecast, wanted: Array) -> ThresholdTable:
        """At most `MOST_THRESHOLDS` thresholds, those `wanted` among them, for rows that are sorted by p.

        Round numbers are among them too. The others are spread evenly over both classes: half of a threshold's rank
        is the share of negatives below it, half the share of positives, so that a rare class has many of them as well.
        """
        p, positive = forecast.p, forecast.positive
        one = np.ones(1) if forecast.weight is None else forecast.weight
        positives_below = np.concatenate([[0.0], np.cumsum(positive * one)])
        negatives_below = np.concatenate([[0.0], np.cumsum(~positive * one)])
        positives, negatives = positives_below[-1], negatives_below[-1]
        place = np.linspace(0.0, 1.0, MOST_THRESHOLDS - 2 - len(wanted) - len(_ROUND))
        rank = 0.5 * (positives_below / (positives or 1.0) + negatives_below / (negatives or 1.0))
        spread = p[np.minimum(np.searchsorted(rank, place), len(p) - 1)]
        thresholds = np.unique(np.concatenate([[0.0], spread, wanted, _ROUND, [np.inf]]))
        below = np.searchsorted(p, thresholds, side="left")
        called = positives - positives_below[below], negatives - negatives_below[below]
        return cls(thresholds, *called, float(positives), float(negatives))

    def at(self, threshold: float) -> OperatingPoint:
        """What the smallest threshold of the table does that is not below this one."""
        k = int(np.searchsorted(self.thresholds, threshold))
        hits, called = self.true_positives[k], self.true_positives[k] + self.false_positives[k]
        precision = float(hits / called) if called > 0.0 else np.nan
        alerts = float(called / (self.positives + self.negatives))
        recall = float(hits / self.positives) if self.positives > 0.0 else np.nan
        return OperatingPoint(float(self.thresholds[k]), alerts, precision, recall)

    @property
    def even_costs(self) -> tuple[float, float] | None:
        """Costs of a false positive and a false negative whose threshold is the share of positives; the smaller is 1.

        With them it costs the same to call all rows positive and to call none so. Rows of one class suggest no costs.
        """
        less = min(self.positives, self.negatives)
        return (self.positives / less, self.negatives / less) if less > 0.0 else None

    def as_json(self) -> dict[str, Any]:
        """Plain lists for the page; the infinite threshold is None."""
        positives, negatives = _short(np.array([self.positives, self.negatives]))
        return {
            "thresholds": [*self.thresholds[:-1].tolist(), None],
            "truePositives": _short(self.true_positives),
            "falsePositives": _short(self.false_positives),
            "positives": positives,
            "negatives": negatives,
        }


def _short(counts: Array) -> list[float] | list[int]:
    """Whole numbers as such, other weights to six decimals."""
    if np.all(counts == np.rint(counts)):
        return [int(count) for count in counts]
    return [round(float(count), 6) for count in counts]


@dataclass(frozen=True)
class Decision:
    """Costs a row of deciding by the theoretical threshold, c = cost of a false positive / sum of both costs.

    `choice` compares it with the cheapest threshold of these rows; `after` is the cost with recalibrated
    probabilities, `saving` the difference with its interval, both None without them.
    """

    false_positive: float
    false_negative: float
    choice: ThresholdChoice
    after: float | None
    saving: PairedDifference | None

    @classmethod
    def of(
        cls,
        forecast: Forecast,
        after: Forecast | None,
        costs: Array,
        random_state: int,
        cluster: NDArray[Any] | None = None,
    ) -> Decision:
        """Decide every row at the theoretical threshold, before and after recalibration; `costs` as `binary_costs`."""
        choice = best_threshold_of(forecast, costs)
        errors = float(costs[0, 1]), float(costs[1, 0])
        if after is None:
            return cls(*errors, choice, None, None)

        def row_costs(p: Array) -> Array:
            return costs.ravel()[2 * forecast.codes + (p >= choice.theoretical_threshold)]

        costs_after = row_costs(after.p)
        saving = paired(row_costs(forecast.p) - costs_after, forecast, cluster, random_state)
        return cls(*errors, choice, forecast.mean(costs_after), saving)

    @property
    def before(self) -> float:
        return float(self.choice.expected_cost_there)


RARE = 0.1  # a share of a class below which pictures come on the log-odds scale as well
MOST_GROUPS_ON_PAGE = 50
MOST_GROUPS_IN_TERMINAL = 10
# The proper scores of an audit: each is a loss, and how many times its mean the score is.
SCORES: dict[str, tuple[Loss, float]] = {"log loss": (LogLoss(), 1.0), "Brier score": (SquaredLoss(), 2.0)}


def paired(difference: Array, forecast: Forecast, cluster: NDArray[Any] | None, random_state: int) -> PairedDifference:
    """The mean of finite differences of losses with its interval; rows are drawn, or clusters if there are any."""
    return bootstrap_of(difference, forecast.weight, cluster, random_state=random_state, unit=forecast.unit)


@dataclass(frozen=True)
class Score:
    """One proper score (the smaller, the better) of the probabilities as given and after recalibration.

    `gain` is the mean difference with its interval, on the rows that were recalibrated, None if it is not finite. If
    these are only some of the rows, `after` is the score of all of them less this gain.

    `parts` and `parts_after` are decompositions, score = miscalibration - discrimination + uncertainty, by isotonic
    regression. For several classes miscalibration is the gain, `parts` is None without one, and `parts_after` is None.

    Attributes
    ----------
    name : str
        The name of the score.
    before, after : float
        Its value as given, and after recalibration (None if there is none).
    parts, parts_after : Decomposition or None
        See above.
    gain : PairedDifference or None
        See above.
    """

    name: str
    before: float
    after: float | None
    parts: Decomposition | None
    parts_after: Decomposition | None
    gain: PairedDifference | None

    @classmethod
    def of(
        cls,
        name: str,
        forecast: Forecast,
        recalibrated: Recalibrated | None,
        random_state: int,
        cluster: NDArray[Any] | None = None,
    ) -> Score:
        """One of `SCORES`, before and after."""
        loss, unit = SCORES[name]
        losses = None if isinstance(forecast, CountedForecast) else losses_of(forecast, loss)
        before = unit * (score_of(forecast, loss) if losses is None else forecast.mean(losses))
        parts = _parts(forecast, loss, unit) if forecast.binary else None
        if recalibrated is None:
            return cls(name, before, None, parts, None, None)
        same, after = recalibrated.before, recalibrated.after
        losses_after = losses_of(after, loss)
        score, gain = unit * after.mean(losses_after), None
        if np.isfinite(before) and np.isfinite(score):
            if losses is None or same is not forecast:
                losses = losses_of(same, loss)
            place = recalibrated.place
            part = cluster if cluster is None or place is None else cluster[place]
            gain = paired(unit * (losses - losses_after), same, part, random_state)
            if same is not forecast or isinstance(forecast, CountedForecast):
                score = before - float(gain.difference)
        if forecast.binary:
            return cls(name, before, score, parts, _parts(after, loss, unit), gain)
        if gain is not None:
            uncertainty = unit * base_score(forecast, loss)
            parts = Decomposition(before, before - score, uncertainty - score, uncertainty)
        return cls(name, before, score, parts, None, gain)

    @property
    def relative_gain(self) -> float:
        return 0.0 if self.gain is None or self.before == 0.0 else float(self.gain.difference / self.before)


def _parts(forecast: Forecast, loss: Loss, unit: float) -> Decomposition:
    return Decomposition(*(unit * part for part in decomposition_of(forecast, loss)))


LEVEL = 0.05  # the probability that right probabilities are called wrong, half of it for groups if there are any


@dataclass(frozen=True)
class Against:
    """Other probabilities of the same rows, for two classes.

    `differences` holds for every score that of the audited probabilities less that of the others (below 0: the audited
    ones are better) with its interval, None if it is not finite. `murphy` has the curves of both.

    Attributes
    ----------
    name : str
        What the other probabilities are called.
    audit : Audit
        Their audit.
    differences, murphy : see above
        Scores and curves of both.
    """

    name: str
    audit: Audit
    differences: dict[str, PairedDifference | None]
    murphy: Murphy


@dataclass(frozen=True)
class Audit:
    """What `audit` returns; `properly.report.audit_page` shows it.

    Attributes
    ----------
    classes : tuple of str
    n_rows : int
    total : float
        What the rows count as: their number, or the sum of weights that are whole numbers, or with other weights the
        effective number (Σw)²/Σw².
    rates, means : array of shape (n_classes,)
        The share of each class, and its mean probability.
    hit_rate, confidence : float
        For two classes, those of the positive class again. For more: how often the most probable class is the true
        one, and its mean probability.
    surprises : int
        Rows of a class whose probability was 0: each of them makes the log loss infinite.
    test : CalibrationTest
        The tests of whether the probabilities are right, and the p-value of all of them together.
    sizes : dict
        How large the fault is, each a `Size` with a 95 % interval: observed/expected, intercept (what must be added to
        the log-odds), slope (of a line in log-odds) and calibration error (root mean square); None where the rows do
        not determine it. Of several classes, for the most probable one.
    detectable : Detectable
        The shift in log-odds that the tests would have found.
    tolerance : float
        The relative change of the mean and of the log loss that does not matter.
    scores : dict
        A `Score` for every entry of `SCORES`.
    smooth_error : float
        Smooth calibration error (of the most probable class, for several classes).
    n_recalibrated : int
        How many rows were recalibrated: all, or some drawn at random; 0 if a class has fewer than two rows.
    n_folds : int or None
        The number of folds of cross-fitting; None if the recalibrated probabilities were given.
    auc : AreaUnderCurve or None
        Area under the ROC curve with interval, for two classes.
    reliability, reliability_after, multiclass_reliability, murphy, groups : results of `properly.diagnostics`, or None
    decision : Decision or None
        What the costs imply, if there are any and two classes.
    thresholds : ThresholdTable or None
        What every threshold does, for two classes.
    confusion : Confusion or None
        Which classes are taken for which, and what that costs, for more than two.
    against : Against or None
        The same rows with other probabilities.
    cell_width : float
        By how much of its size (above one half, of that of 1 - p) a probability may differ from those that it was
        counted with, where rows are not in memory and have too many different ones; 0 if nothing was lost.
    class_ratios : tuple of Size or None
        Of more than two classes, observed/expected of each; empty for two.
    """

    classes: tuple[str, ...]
    n_rows: int
    total: float
    rates: Array
    means: Array
    hit_rate: float
    confidence: float
    surprises: int
    test: CalibrationTest
    sizes: dict[str, Size | None]
    detectable: Detectable
    tolerance: float
    scores: dict[str, Score]
    smooth_error: float
    n_recalibrated: int
    n_folds: int | None
    auc: AreaUnderCurve | None = None
    reliability: Reliability | None = None
    reliability_after: Reliability | None = None
    multiclass_reliability: MulticlassReliability | None = None
    murphy: Murphy | None = None
    groups: GroupCalibration | None = None
    decision: Decision | None = None
    thresholds: ThresholdTable | None = None
    confusion: Confusion | None = None
    against: Against | None = None
    cell_width: float = 0.0
    class_ratios: tuple[Size | None, ...] = ()

    def _repr_html_(self) -> str:
        """The answer in words and the reliability diagram, for notebooks."""
        from properly.audit.answers import answer, verdict

        drawn = self.reliability or self.multiclass_reliability
        pictures = [] if drawn is None else [drawn._repr_html_()]
        title = f"Audit of {self.n_rows:,} rows: {verdict(self)}"
        return notebook.section(title, *answer(self), *(each for each in pictures if each is not None))

    @property
    def p_value(self) -> float:
        """Of the tests and the groups together (Bonferroni's rule for the two, Šidák's for the groups)."""
        if self.groups is None:
            return self.test.p_value
        smallest = 1.0 - (1.0 - float(self.groups.p_value.min())) ** len(self.groups.groups)
        return min(1.0, 2.0 * self.test.p_value, 2.0 * smallest)

    @property
    def fault_found(self) -> bool:
        """Whether the tests or a group say that the probabilities are wrong."""
        return self.p_value <= LEVEL or (self.groups is not None and bool(self.groups.off.any()))

    @property
    def classes_off(self) -> list[int]:
        """Of more than two classes, those whose own tests find a fault (Bonferroni's rule), the clearest first."""
        if self.is_binary:
            return []
        p_values = {test.name: test.p_value for test in self.test.tests}
        of = [p_values[f"class {name}"] for name in self.classes]
        return sorted((k for k, p in enumerate(of) if p <= LEVEL / len(of)), key=lambda k: of[k])

    @property
    def fault_sizes(self) -> list[Size]:
        """What is held against the tolerance: relative errors of the mean, in all rows, of classes and in groups that
        are flagged, and the relative gain in the log loss (in the Brier score where the log loss is infinite).
        """
        found = []
        of_classes = (self.class_ratios[k] for k in self.classes_off)
        found += [Size(*(end - 1.0 for end in each)) for each in of_classes if each is not None]
        ratio, gain = self.sizes["observed/expected"], self.headline.gain
        if ratio is not None:
            found.append(Size(*(end - 1.0 for end in ratio)))
        if gain is not None and self.headline.before > 0.0:
            found.append(Size(*(max(end, 0.0) / self.headline.before for end in gain[:3])))
        groups = self.groups
        if groups is not None:
            off = groups.off & (groups.mean_p > 0.0)
            ends = share_interval(groups.base_rate[off], groups.weight[off], groups.deviation[off])
            ratios = np.array([groups.base_rate[off], *ends]) / groups.mean_p[off] - 1.0
            found += [Size(*map(float, each)) for each in ratios.T]
        return found

    @property
    def within_tolerance(self) -> bool:
        """Whether the intervals of all faults lie within the tolerance."""
        inside = (-self.tolerance <= each.low and each.high <= self.tolerance for each in self.fault_sizes)
        return not self.surprises and self.headline.gain is not None and all(inside)

    @property
    def beyond_tolerance(self) -> bool:
        """Whether a fault was found whose interval lies beyond the tolerance altogether."""
        beyond = (each.low > self.tolerance or each.high < -self.tolerance for each in self.fault_sizes)
        return self.fault_found and (self.surprises > 0 or any(beyond))

    @property
    def is_binary(self) -> bool:
        return len(self.classes) == 2

    @property
    def is_rare(self) -> bool:
        return self.is_binary and min(self.rates) < RARE

    @property
    def headline(self) -> Score:
        """The log loss, or the Brier score where the log loss is infinite."""
        return next((score for score in self.scores.values() if np.isfinite(score.before)), self.scores["log loss"])
