"""What recalibration would change, measured on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.calibration import AutoCalibration
from properly.crossfit import Mask, copies, cross_calibrated, cross_fitted, divided_rows
from properly.inputs.forecast import Forecast
from properly.inputs.scores import ProbabilityReader
from properly.links import Logit
from properly.numeric.compression import cell_starts, classes_apart
from properly.numeric.probabilities import Array

N_FOLDS = 5
MOST_BINS = 5_000  # more distinct probabilities than these are binned for fitting; every row still counts
MOST_ROWS = 20_000  # a calibrator of several classes is fitted to this many rows at most


@dataclass(frozen=True)
class Recalibrated:
    """The same rows before and after: all rows of an audit, or a random part of them."""

    before: Forecast
    after: Forecast
    n_folds: int | None = None  # None: the user gave the recalibrated probabilities
    place: NDArray[np.intp] | None = None  # the row of the audit that each is, or is a part of; None: its own
    n_drawn: int | None = None  # how many rows of the audit are here; None: all


@dataclass(frozen=True)
class Bins:
    """Log-odds of the second of two classes; values that lie close together are one bin."""

    forecast: Forecast
    score: Array  # of every row
    of_row: NDArray[np.int32]
    centre: Array  # the mean score of every bin

    @classmethod
    def of(cls, forecast: Forecast) -> Bins:
        """Bins are the cells of `properly.numeric.compression`: distinct probabilities if they are few."""
        score = ProbabilityReader.learn(forecast.p)(forecast.p)
        first = cell_starts(classes_apart(score, forecast.positive, forecast.weight), MOST_BINS)
        of_row = np.searchsorted(first, score, "right").astype(np.int32) - np.int32(1)
        rows = np.ones(len(score)) if forecast.rows is None else forecast.rows
        return cls(forecast, score, of_row, np.bincount(of_row, rows * score) / np.bincount(of_row, rows))

    def training_rows(self, train: Mask | None = None) -> tuple[Array, Mask, Array]:
        """Score, label and weight of at most two rows a bin, one for each class."""
        cell, weight = 2 * self.of_row + self.forecast.positive, self.forecast.weight
        if train is not None:
            cell, weight = cell[train], None if weight is None else weight[train]
        total = np.bincount(cell, weight, 2 * len(self.centre)).astype(np.float64)
        full = np.flatnonzero(total)
        return self.centre[full // 2], full % 2 == 1, total[full]

    def cross_calibrated(self, folds: NDArray[Any]) -> Array:
        """Held-out probabilities of all rows: the map is fitted to bins, and interpolated between them."""
        knots = np.unique(np.concatenate([[self.score.min()], self.centre, [self.score.max()]]))

        def fit_predict(train: Mask, test: Mask) -> Array:
            calibrator = AutoCalibration(input="score").fit(*self.training_rows(train))
            return Logit().inverse_pair(np.interp(self.score[test], knots, calibrator._log_scores(knots)))[0]

        return cross_fitted(folds, fit_predict)


class Divided(NamedTuple):
    """A forecast in folds; rows that stand for several may be in parts."""

    forecast: Forecast
    place: NDArray[np.intp] | slice  # the row that each is a part of
    folds: NDArray[Any]


def divide(forecast: Forecast, random_state: int = 0) -> Divided | None:
    """The rows in folds, which follow the order in which they were given; None if a class has fewer than two."""
    classes, given = np.arange(len(forecast.classes)), (forecast.weight, forecast.unit)
    if np.bincount(forecast.codes, copies(*given), len(classes)).min() < 2:
        return None
    found = divided_rows(forecast.codes, classes, N_FOLDS, random_state, *given)
    place, folds, weight = found
    if isinstance(place, slice) or forecast.weight is None or weight is None:
        return Divided(forecast, place, folds)
    rows = None if forecast.rows is None else forecast.rows[place] * (weight / forecast.weight[place])
    return Divided(replace(forecast.take(place), weight=weight, rows=rows), place, folds)


def recalibrate(forecast: Forecast, folds: NDArray[Any] | None) -> Recalibrated | None:
    """`AutoCalibration` in cross-fitting: fitted to four fifths of the rows, applied to the other fifth, five times.

    For two classes. None without folds: if a class has fewer than two rows, since it needs one to fit to and one to
    hold out.
    """
    if folds is None:
        return None
    p = Bins.of(forecast).cross_calibrated(folds)
    return Recalibrated(forecast, forecast.with_p(p), int(folds.max()) + 1)


def recalibrate_several(forecast: Forecast, random_state: int = 0) -> Recalibrated | None:
    """The same for several classes, of which `MOST_ROWS` rows are drawn at random if there are more."""
    place, n_drawn = np.arange(len(forecast.codes)), None
    if len(place) > MOST_ROWS:
        n_drawn = MOST_ROWS
        place = np.sort(np.random.RandomState(random_state).choice(place, MOST_ROWS, replace=False))
        forecast = forecast.take(place)
    divided = divide(forecast, random_state)
    if divided is None:
        return None
    forecast, part, folds = divided
    p = cross_calibrated(forecast.p, forecast.codes, folds, "auto", forecast.weight)
    return Recalibrated(forecast, forecast.with_p(p), int(folds.max()) + 1, place[part], n_drawn)
