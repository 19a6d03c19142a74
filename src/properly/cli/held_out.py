"""How ``properly calibrate`` judges a calibrator: every fold of the rows by one that was fitted to the others."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import properly
from properly.crossfit import divided_rows
from properly.inputs.forecast import Forecast
from properly.metrics.ranking import auc_of
from properly.numeric.probabilities import Array

FOLDS = 5


class HeldOut(NamedTuple):
    """Rows of positive weight, and their probabilities by calibrators that were fitted to other rows."""

    scores: Array
    codes: NDArray[Any]
    weight: Array | None
    unit: Array | None  # what one row weighs, as of `properly.inputs.weights.unit_of`
    p: Array
    n_rows: int  # of which those of several copies are here in parts

    def log_losses(self, kind: str) -> dict[str, float | None]:
        """Before calibration, if the scores were probabilities, after it, and of the class proportions for all rows."""
        share = np.bincount(self.codes, self.weight)
        share = share / share.sum()
        loss = partial(properly.metrics.log_loss, sample_weight=self.weight, classes=np.arange(len(share)))
        return {
            "log_loss_before": None if kind == "score" else loss(self.codes, self.scores),
            "log_loss_after": loss(self.codes, self.p),
            "log_loss_constant": float(-np.sum(share * np.log(share))),
        }

    def reversed(self, column: str, classes: list[Any]) -> list[str]:
        """A warning if the scores of the positive class are lower than those of the other, beyond chance."""
        from scipy.stats import rankdata

        ranks = rankdata(self.scores) / (len(self.scores) + 1.0)
        if auc_of(Forecast.of_positives(self.codes == 1, ranks, self.weight, self.unit)).high >= 0.5:
            return []
        return [
            f"column {column!r} is the wrong way round: the higher the score, the rarer the class {classes[1]}; if it "
            f"is for the class {classes[0]}, say so (--positive {shlex.quote(str(classes[0]))})"
        ]


def held_out(
    scores: Array,
    codes: NDArray[Any],
    weight: Array | None,
    unit: Array | None,
    classes: list[Any],
    method: str,
    kind: str,
    seed: int,
    done: Callable[[float], None],
) -> HeldOut:
    """Calibrate every fold by the others; `unit` is what one row weighs, as of `properly.inputs.weights.unit_of`."""
    if weight is not None:
        used = np.flatnonzero(weight)
        scores, codes, weight, unit = scores[used], codes[used], weight[used], None if unit is None else unit[used]
    n_rows = len(codes)
    place, folds, weight = divided_rows(codes, np.array(classes), FOLDS, seed, weight, unit)
    scores, codes, unit = scores[place], codes[place], None if unit is None else unit[place]
    p = properly.comparison.cross_calibrated(scores, codes, folds, method, weight, kind, done)
    return HeldOut(scores, codes, weight, unit, p, n_rows)
