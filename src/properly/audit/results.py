"""What an audit found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from properly.audit.recalibration import Line
from properly.audit.thresholds import CutTable, Decision
from properly.diagnostics import GroupCalibration, MulticlassReliability, Murphy, Reliability
from properly.metrics import AreaUnderCurve, Decomposition, PairedDifference
from properly.numeric.probabilities import Array

RARE = 0.1  # a share of a class below which pictures come on the log-odds scale as well


@dataclass(frozen=True)
class Score:
    """One proper score (the smaller, the better) of the probabilities as given and after recalibration.

    `parts` and `parts_after` are decompositions, score = miscalibration - discrimination + uncertainty; for several
    classes they are sums over the classes, each against the rest. `gain` is the mean difference with its interval, on
    the rows that were recalibrated, None if it is not finite.
    """

    name: str
    before: float
    after: float | None
    parts: Decomposition
    parts_after: Decomposition | None
    gain: PairedDifference | None

    @property
    def relative_gain(self) -> float:
        return 0.0 if self.gain is None or self.before == 0.0 else float(self.gain.difference / self.before)


@dataclass(frozen=True)
class Mending:
    """How many rows were recalibrated, in how many folds (None: the user brought the mended probabilities)."""

    n_rows: int
    n_folds: int | None


@dataclass(frozen=True)
class Audit:
    """What `audit` returns; `properly.report.audit_page` shows it.

    Attributes
    ----------
    classes : tuple of str
    n_rows : int
    total : float
        The sum of the weights; the number of rows if there are none.
    rates, means : array of shape (n_classes,)
        How often each class occurs, and its mean probability.
    hit_rate, confidence : float
        For two classes, those of the positive class again. For more: how often the most probable class is right, and
        its mean probability.
    surprises : int
        Rows of a class whose probability was 0: each of them makes the log loss infinite.
    scores : dict
        A `Score` for every entry of `MEASURES`.
    line : Line or None
        The straight line through the log-odds.
    smooth_error : float
        Smooth calibration error (of the most probable class, for several classes).
    auc : AreaUnderCurve or None
        Area under the ROC curve with interval, for two classes.
    reliability, reliability_after, panels, murphy, groups : results of `properly.diagnostics`, or None
    mending : Mending or None
        How the probabilities were recalibrated; None if a class has fewer than two rows.
    decision : Decision or None
        What the costs imply, if there are any and two classes.
    cuts : CutTable or None
        What every threshold does, for two classes.
    """

    classes: tuple[str, ...]
    n_rows: int
    total: float
    rates: Array
    means: Array
    hit_rate: float
    confidence: float
    surprises: int
    scores: dict[str, Score]
    line: Line | None
    smooth_error: float
    auc: AreaUnderCurve | None
    reliability: Reliability | None
    reliability_after: Reliability | None
    panels: MulticlassReliability | None
    murphy: Murphy | None
    groups: GroupCalibration | None
    mending: Mending | None
    decision: Decision | None
    cuts: CutTable | None

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
