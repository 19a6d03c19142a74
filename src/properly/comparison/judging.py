"""Held-out probabilities of several candidates, scored and compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from properly.comparison.held_out import FoldedRows
from properly.extras import require
from properly.losses import Loss
from properly.metrics import paired_bootstrap, row_losses, sign_test
from properly.probabilities import Array

if TYPE_CHECKING:
    import pandas

LEVEL = 0.05  # of the tests, all of them together
_FEWEST = 30  # rows for a difference to be called significant
_DEVIATIONS = 1.959963984540054  # the half-width of a 95 % interval, in standard errors


@dataclass(frozen=True)
class Comparison:
    """Candidates ordered by their held-out score, the best first.

    Attributes
    ----------
    names : list of str
    scores : array
        The mean loss of every candidate for rows that it was not fitted to; the smaller, the better.
    errors : array
        Standard errors of the scores.
    intervals : array of shape (n_candidates, 2)
        95 % intervals of the scores. They are wide because rows differ; a difference between two candidates is known
        far better than either score, so do not compare intervals, but look at the following.
    difference_to_best : array
        How much worse than the best, in the unit of the score; 0 for the best itself.
    difference_intervals : array of shape (n_candidates, 2)
        95 % intervals of these differences, by the bootstrap over rows.
    p_values : array
        Of the hypothesis that a candidate is as good as the best (paired bootstrap; the sign test where a score is
        infinite); 1 for the best itself.
    significant : array of bool
        Which differences are significant at 5 % if all of them are tested (Holm's correction). With fewer than 30 rows
        none is called so: the bootstrap is too sure of itself there.
    seconds : array
        Time for all the fits of a candidate; nan if it was not measured.
    probabilities : dict from names to arrays of shape (n_rows, n_classes)
        Held-out probabilities: those of a row come from a model that has not seen it.
    folds : array of shape (n_rows,)
        In which fold every row was held out.
    classes : array of shape (n_classes,)
    """

    names: list[str]
    scores: Array
    errors: Array
    intervals: Array
    difference_to_best: Array
    difference_intervals: Array
    p_values: Array
    significant: NDArray[np.bool_]
    seconds: Array
    probabilities: dict[str, Array]
    folds: NDArray[np.intp]
    classes: NDArray[Any]

    @property
    def best(self) -> str:
        """The name of the candidate with the smallest score."""
        return self.names[0]

    def frame(self) -> pandas.DataFrame:
        """A row per candidate, the best first."""
        columns = {
            "score": self.scores,
            "error": self.errors,
            "low": self.intervals[:, 0],
            "high": self.intervals[:, 1],
            "difference_to_best": self.difference_to_best,
            "p_value": self.p_values,
            "significant": self.significant,
            "seconds": self.seconds,
        }
        return require("pandas", "frames").DataFrame(columns, index=self.names)


def judged(
    probabilities: dict[str, Array], seconds: dict[str, float], rows: FoldedRows, loss: str | Loss, random_state: int
) -> Comparison:
    """Score every candidate, and compare each with the best."""
    counted = slice(None) if rows.weight is None else rows.weight > 0.0
    codes = rows.codes[counted]
    weight = np.ones(len(codes)) if rows.weight is None else rows.weight[counted]
    labels = np.arange(len(rows.classes))
    losses = {name: row_losses(codes, p[counted], loss, classes=labels) for name, p in probabilities.items()}
    scores = {name: float(np.average(each, weights=weight)) for name, each in losses.items()}
    names = sorted(scores, key=scores.__getitem__)
    mean = np.array([scores[name] for name in names])
    errors = np.array([_standard_error(losses[name], weight) for name in names])
    with np.errstate(invalid="ignore"):  # two infinite scores do not differ
        intervals = np.column_stack([mean - _DEVIATIONS * errors, mean + _DEVIATIONS * errors])
        difference = np.where(mean == mean[0], 0.0, mean - mean[0])
    best = losses[names[0]]
    tests = [_difference(losses[name], best, weight, random_state) for name in names[1:]]
    p_values = np.array([1.0, *(p for _, _, p in tests)])
    return Comparison(
        names=names,
        scores=mean,
        errors=errors,
        intervals=intervals,
        difference_to_best=difference,
        difference_intervals=np.array([(0.0, 0.0), *((low, high) for low, high, _ in tests)]),
        p_values=p_values,
        significant=_holm(p_values[1:]) & (len(codes) >= _FEWEST),
        seconds=np.array([seconds[name] for name in names]),
        probabilities={name: probabilities[name] for name in names},
        folds=rows.folds,
        classes=rows.classes,
    )


def _standard_error(losses: Array, weight: Array) -> float:
    """Of the weighted mean; infinite if that is."""
    mean = float(np.average(losses, weights=weight))
    if not np.isfinite(mean):
        return np.inf
    return float(np.sqrt(np.sum(weight**2 * (losses - mean) ** 2)) / weight.sum())


def _difference(losses: Array, best: Array, weight: Array, random_state: int) -> tuple[float, float, float]:
    """The interval of the mean difference to the best, and the p-value of its being 0."""
    if np.isfinite(losses).all() and np.isfinite(best).all():
        found = paired_bootstrap(losses, best, sample_weight=weight, random_state=random_state)
        return float(found.low), float(found.high), float(found.p_value)
    return 0.0, np.inf, float(sign_test(losses, best).p_value)


def _holm(p_values: Array) -> NDArray[np.bool_]:
    """Holm's correction; the best, which comes first, is never worse than itself."""
    order = np.argsort(p_values, kind="stable")
    limit = LEVEL / (len(p_values) - np.arange(len(p_values)))
    rejected = np.zeros(len(p_values), dtype=bool)
    rejected[order] = np.logical_and.accumulate(p_values[order] <= limit)
    return np.concatenate([[False], rejected])
