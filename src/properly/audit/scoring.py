"""Scores of an audit: before and after recalibration, in parts, and the difference with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.audit.recalibration import Recalibrated
from properly.audit.results import Score
from properly.metrics import Decomposition, paired_bootstrap, proper_score, row_losses, score_decomposition
from properly.numeric.probabilities import Array


class Measure(NamedTuple):
    """A proper score as a loss, and how many times the mean loss it is."""

    loss: str
    unit: float


MEASURES = {"log loss": Measure("log", 1.0), "Brier score": Measure("squared", 2.0)}


@dataclass(frozen=True)
class Rows:
    """Classes and probabilities of rows that are all of some weight."""

    codes: NDArray[Any]
    p: Array  # (n,) of the second of two classes, or (n, K)
    complement: Array | None  # of two classes, where the user gave both
    weight: Array | None

    def at(self, rows: NDArray[np.intp]) -> Rows:
        """Some of the rows, or all in another order."""
        return Rows(self.codes[rows], self.p[rows], _at(self.complement, rows), _at(self.weight, rows))

    @property
    def columns(self) -> Array:
        """The probabilities in the form that loses nothing."""
        return self.p if self.complement is None else np.column_stack([self.complement, self.p])

    @property
    def total(self) -> float:
        return float(len(self.codes) if self.weight is None else self.weight.sum())

    @property
    def rates(self) -> Array:
        return np.bincount(self.codes, self.weight, 2 if self.p.ndim == 1 else self.p.shape[1]) / self.total

    @property
    def surprises(self) -> int:
        """How many rows belong to a class whose probability was 0."""
        if self.p.ndim == 2:
            return int(np.count_nonzero(self.p[np.arange(len(self.codes)), self.codes] == 0.0))
        impossible = self.p == 1.0 if self.complement is None else self.complement == 0.0
        return int(np.count_nonzero(np.where(self.codes == 1, self.p == 0.0, impossible)))

    def mean(self, values: NDArray[Any]) -> Any:
        return np.average(values, axis=0, weights=self.weight)


def score_of(name: str, rows: Rows, after: Recalibrated | None, random_state: int) -> Score:
    """One of `MEASURES`, before and after."""
    measure = MEASURES[name]
    before, parts = _score(rows, measure), _parts(rows, measure)
    if after is None:
        return Score(name, before, None, parts, None, None)
    same = rows if after.rows is None else rows.at(after.rows)
    mended = Rows(same.codes, after.p, None, same.weight)
    score = _score(mended, measure)
    gain = None
    if np.isfinite(before) and np.isfinite(score):
        gain = paired_bootstrap(
            _losses(same, measure), _losses(mended, measure), sample_weight=same.weight, random_state=random_state
        )
    return Score(name, before, score, parts, _parts(mended, measure), gain)


def _score(rows: Rows, measure: Measure) -> float:
    mean = proper_score(rows.codes, rows.columns, measure.loss, sample_weight=rows.weight, **_known(rows))
    return measure.unit * mean


def _losses(rows: Rows, measure: Measure) -> Array:
    return measure.unit * row_losses(rows.codes, rows.columns, measure.loss, **_known(rows))


def _parts(rows: Rows, measure: Measure) -> Decomposition:
    parts = score_decomposition(rows.codes, rows.columns, measure.loss, sample_weight=rows.weight, **_known(rows))
    return Decomposition(*(measure.unit * part for part in parts))


def _known(rows: Rows) -> dict[str, Any]:
    """All classes there are, also those that some rows lack."""
    return {"classes": np.arange(2 if rows.p.ndim == 1 else rows.p.shape[1])}


def _at(values: Array | None, rows: NDArray[np.intp]) -> Array | None:
    return None if values is None else values[rows]
