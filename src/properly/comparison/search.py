"""The search of `BestProbabilities`: candidates from cheap to dear, on held-out rows, and the fits to all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from threading import Lock
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from properly.comparison.averaging import average_weights, cross_weighted
from properly.comparison.candidates import CANDIDATES, Option
from properly.comparison.comparing import CALIBRATED
from properly.comparison.rows import Rows
from properly.comparison.tuning import CalibratedPart, Tuned, calibrated, calibrator_for, fit_to_all, tune
from properly.numeric.arrays import Array
from properly.progress import Tell

_LEAST_SHARE = 0.02  # of the weights of an average; parts with less are left out
_CELLS_FOR_THREADS = 1_000_000
_MANY_ROWS, _MOST_ROWS = 50_000, 20_000  # of more than the first, the second are drawn to compare models
_MOST_CELLS, _ENOUGH_ROWS = 10_000_000, 1_000  # that are compared; of the widest tables so many rows nevertheless
_MOST_FITTED = 200_000  # rows of what is not boosted, and of its features as many as half the table
_OF_THE_DATA = (ValueError, ArithmeticError, MemoryError)  # errors that data can cause; others are faults of the code


@dataclass(frozen=True)
class Part:
    """A model in an average.

    Attributes
    ----------
    name : str
    weight : float
        The factor on its log-probabilities.
    cost : float
        By how much the log loss of held-out rows would rise without it; nan for a model that stands alone.
    model : CalibratedPart
    """

    name: str
    weight: float
    cost: float
    model: CalibratedPart


class Data(NamedTuple):
    """The rows that candidates are compared on, all or a sample, and those that the result is fitted to."""

    X: Array
    rows: Rows
    whole_X: Array
    whole_rows: Rows
    most_fitted: int  # rows, of models that are not boosted
    sample: NDArray[np.intp] | None  # the numbers of the rows that are compared, if they are not all

    @classmethod
    def drawn(cls, X: Array, rows: Rows, n_features: int, seed: int) -> Self:
        """All rows of tables of usual size; `n_features` are those of a linear model."""
        counted = len(rows.codes) if rows.weight is None else int(np.count_nonzero(rows.weight))
        most = _MOST_ROWS if counted > _MANY_ROWS else len(rows.codes)
        most = min(most, max(_MOST_CELLS // X.shape[1], _ENOUGH_ROWS))
        cells = max(_MOST_CELLS, X.size // 2)
        most_fitted = max(min(_MOST_FITTED, cells // max(n_features, 1)), most)
        compared, at = rows.sampled(most, seed)
        if compared is rows:
            return cls(X, rows, X, rows, most_fitted, None)
        return cls(X[at], compared, X, rows, most_fitted, at)

    @property
    def notes(self) -> list[str]:
        if self.sample is None:
            return []
        n_rows, n_compared = len(self.whole_rows.codes), len(self.sample)
        others = f"; only boosting to all, others to about {self.most_fitted:,}" if n_rows > self.most_fitted else ""
        return [f"models were compared on a sample of {n_compared:,} rows, and fitted to {n_rows:,}{others}"]


class OutOfTime(Exception):
    """The time budget is used up."""


class Search:
    """The candidates that were tried, and how they did on held-out rows."""

    def __init__(
        self,
        data: Data,
        calibration: str,
        notes: list[str],
        tell: Tell,
        time_budget: float | None,
        skip_failing: bool,
    ) -> None:
        self.data, self.X, self.rows = data, data.X, data.rows
        self.calibration, self.notes, self.tell = calibration, notes, tell
        self.deadline = np.inf if time_budget is None else perf_counter() + time_budget
        self.skip_failing = skip_failing
        self.tried: dict[str, Tried] = {}
        self.fitted: dict[str, Any] = {}  # to all rows: the best so far, in the end all that are needed
        self.best = ""
        self.ending = Lock()

    def run(self, options: dict[str, list[Option]]) -> None:
        """Try every candidate, from cheap to dear."""
        effort = {name: CANDIDATES[name.partition(":")[0]].effort for name in options}
        total, done, start = sum(effort.values()), 0.0, perf_counter()
        for name in sorted(options, key=effort.__getitem__):
            each = effort[name]
            expected = each * (perf_counter() - start) / done if done else 0.0
            if self.tried and perf_counter() + expected > self.deadline:
                self.notes.append(f"{name} was not tried: the time budget would not have lasted")
                continue

            def tell(share: float, name: str = name, done: float = done, each: float = each) -> None:
                self.tell(0.95 * (done + share * each) / total, name)
                if self.tried and perf_counter() > self.deadline:
                    raise OutOfTime

            self._try(name, options[name], tell)
            done += each
        if not self.tried:
            raise ValueError(f"no candidate could be fitted: {'; '.join(self.notes)}.")

    def _try(self, name: str, options: list[Option], tell: Callable[[float], None]) -> None:
        start = perf_counter()
        try:
            # Threads of BLAS wait for one another longer than small data take. What overflows tells nobody anything: a
            # candidate whose predictions are not finite loses.
            limited = threadpool_limits(1, "blas") if self.X.size < _CELLS_FOR_THREADS else nullcontext()
            with limited, np.errstate(over="ignore", invalid="ignore"):
                certain = CANDIDATES[name.partition(":")[0]].certain and self.calibration != "none"
                tuned = tune(options, self.X, self.rows, tell, self._method if certain else None)
                after = None if self.calibration == "none" else calibrated(tuned.log_p, self.rows, self._method)
                found, fitted = Tried.of(name, tuned, after, self.calibration, self.rows), None
                if found.score <= min((each.score for each in self.tried.values()), default=np.inf):
                    fitted = self._fitted_to_all(tuned)
        except OutOfTime:
            self.notes.append(f"{name} was given up: the time budget was used up")
            return
        except _OF_THE_DATA as error:
            if not self.skip_failing:
                raise ValueError(f"{name}: {error}") from error
            self.notes.append(f"{name} was left out: {error}")
            return
        self.tried[name] = found._replace(seconds=perf_counter() - start)
        if fitted is not None:
            self.fitted, self.best = {name: fitted}, name

    def _fitted_to_all(self, tuned: Tuned) -> Any:
        return fit_to_all(tuned, self.data.whole_X, self.data.whole_rows, self.data.most_fitted)

    @property
    def _method(self) -> str:
        return "auto" if self.calibration in ("auto", "none") else self.calibration

    def competitors(self) -> tuple[dict[str, Array], dict[str, float]]:
        """Held-out probabilities by name, each model before its calibrated form, and the time that each took."""
        found, seconds = {}, {}
        order = list(CANDIDATES)
        for name in sorted(self.tried, key=lambda name: order.index(name.partition(":")[0])):
            each = self.tried[name]
            if self.calibration in ("auto", "none"):
                found[name], seconds[name] = np.exp(each.tuned.log_p), each.seconds
            if each.calibrated is not None:
                found[name + CALIBRATED], seconds[name + CALIBRATED] = np.exp(each.calibrated), each.seconds
        return found, seconds

    def usable(self) -> list[str]:
        """The candidates that can be averaged: those that never give a class the probability 0."""
        return [name for name, each in self.tried.items() if np.isfinite(each.form[self.rows.judged]).all()]

    def forms_of(self, names: Sequence[str]) -> Array:
        """Held-out log-probabilities of these candidates in the form in which they are averaged: (models, n, K)."""
        return np.array([self.tried[name].form for name in names])

    def parts(self, together: float) -> list[Part]:
        """The models of the average, fitted to all rows; `together` is its log loss."""
        weights, parts = self._weights(), []
        for name in sorted(weights, key=lambda name: -weights[name]):
            others = [other for other in weights if other != name]
            cost = np.nan
            if others:
                cost = mean_log_loss(np.exp(cross_weighted(self.forms_of(others), self.rows)), self.rows) - together
            each = self.tried[name]
            parts.append(Part(name, weights[name], cost, self._model(name, each.form is each.calibrated)))
        return parts

    def _weights(self) -> dict[str, float]:
        """From all held-out predictions, without models that hardly count."""
        names, at, weight = self.usable(), self.rows.judged, self.rows.entry_weight
        given = self.rows.repeated(self.rows.codes)[at], None if weight is None else weight[at]
        found = average_weights(self.forms_of(names)[:, at], *given)
        kept = [name for name, each in zip(names, found, strict=True) if each >= _LEAST_SHARE * found.sum()]
        return dict(zip(kept, average_weights(self.forms_of(kept)[:, at], *given).tolist(), strict=True))

    def alone(self, name: str) -> Part:
        """The model of this name, perhaps calibrated."""
        plain = name.removesuffix(CALIBRATED)
        return Part(name, 1.0, np.nan, self._model(plain, plain != name))

    def _model(self, name: str, with_calibration: bool) -> CalibratedPart:
        tuned = self.tried[name].tuned
        if name not in self.fitted:
            self.tell(0.97, f"{name}, on all rows")
            self.fitted[name] = self._fitted_to_all(tuned)
        return CalibratedPart(
            self.fitted[name], calibrator_for(tuned.log_p, self.rows, self._method) if with_calibration else None
        )


class Tried(NamedTuple):
    """A candidate on held-out rows: as it is, calibrated, and the form of these in which it is averaged."""

    tuned: Tuned
    calibrated: Array | None
    form: Array
    score: float
    seconds: float = 0.0

    @classmethod
    def of(cls, name: str, tuned: Tuned, calibrated: Array | None, calibration: str, rows: Rows) -> Tried:
        """A calibrated form is averaged if it is better, if it was asked for, or if the model may say 0."""
        plain = tuned.log_p
        if calibrated is None:
            return cls(tuned, None, plain, mean_log_loss(np.exp(plain), rows))
        before, after = (mean_log_loss(np.exp(each), rows) for each in (plain, calibrated))
        if calibration != "auto" or CANDIDATES[name.partition(":")[0]].certain or not before <= after:
            return cls(tuned, calibrated, calibrated, after if calibration != "auto" else min(before, after))
        return cls(tuned, calibrated, plain, before)


def mean_log_loss(p: Array, rows: Rows) -> float:
    """The mean log loss of the rows that are judged."""
    at, codes, weight = rows.judged, rows.repeated(rows.codes), rows.entry_weight
    counted = at if weight is None else at & (weight > 0.0)
    with np.errstate(divide="ignore"):
        own = -np.log(p[np.arange(len(codes)), codes][counted])
    return float(np.average(own, weights=None if weight is None else weight[counted]))
