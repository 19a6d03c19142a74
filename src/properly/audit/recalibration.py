"""What calibration would change, measured on rows that the calibrator has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from properly.calibration import AutoCalibration, PlattScaling
from properly.inputs.scores import ProbabilityReader
from properly.links import Logit
from properly.numeric.probabilities import Array

N_FOLDS = 5
MOST_BINS = 5_000  # more distinct probabilities than these are binned for fitting; every row still counts
MOST_ROWS = 20_000  # a calibrator of several classes learns from this many rows at most


@dataclass(frozen=True)
class Recalibrated:
    """Probabilities for the rows `rows` (None: for all of them), each from a calibrator fitted without its row."""

    p: Array
    rows: NDArray[np.intp] | None = None
    n_folds: int | None = None  # None: the user brought these probabilities


@dataclass(frozen=True)
class Bins:
    """Log-odds of one class; those that lie close together are one bin."""

    score: Array  # of every row
    of_row: NDArray[np.int32]
    centre: Array  # the mean score of every bin

    @classmethod
    def of(cls, p: Array, positive: NDArray[np.bool_], weight: Array | None) -> Bins:
        """A bin for every distinct probability if they are few.

        Otherwise bins of equal mass, half of it from either class, so that a rare class is seen closely as well.
        """
        score = ProbabilityReader.learn(p)(p)
        order = np.argsort(score, kind="stable")
        new = np.empty(len(score), dtype=bool)
        new[0], new[1:] = True, np.diff(score[order]) > 0.0
        place = np.cumsum(new, dtype=np.int32) - np.int32(1)
        if place[-1] >= MOST_BINS:
            share = 0.5 / np.bincount(positive, weight, 2)
            mass = share[positive.view(np.int8)]
            if weight is not None:
                mass *= weight
            coarse = np.minimum(np.cumsum(mass[order]) * MOST_BINS, MOST_BINS - 1).astype(np.int32)
            # Equal probabilities stay together, in the bin of the last of them.
            place = coarse[np.append(np.flatnonzero(new)[1:] - 1, len(new) - 1)][place]
            place = np.cumsum(np.diff(place, prepend=place[0]) > 0, dtype=np.int32)
        of_row = np.empty(len(score), dtype=np.int32)
        of_row[order] = place
        return cls(score, of_row, np.bincount(of_row, score) / np.bincount(of_row))

    def training_rows(
        self, positive: NDArray[np.bool_], weight: Array | None, train: NDArray[np.bool_] | None = None
    ) -> tuple[Array, NDArray[np.bool_], Array]:
        """Score, label and weight, at most two rows a bin: one for each class."""
        cell = 2 * self.of_row + positive
        if train is not None:
            cell, weight = cell[train], _at(weight, train)
        total = np.bincount(cell, weight, 2 * len(self.centre)).astype(np.float64)
        full = np.flatnonzero(total)
        return self.centre[full // 2], full % 2 == 1, total[full]


def recalibrate_one(
    bins: Bins, positive: NDArray[np.bool_], weight: Array | None, random_state: int = 0
) -> Recalibrated | None:
    """`AutoCalibration` in cross-fitting: learned on four fifths of the rows, applied to the fifth, five times.

    The map is fitted to the bins, evaluated at them and interpolated in between. None if a class has fewer than two
    rows, since it could not be on both sides of a split.
    """
    folds = _folds(positive.view(np.int8), 2, np.random.RandomState(random_state))
    if folds is None:
        return None
    knots = np.unique(np.concatenate([[bins.score.min()], bins.centre, [bins.score.max()]]))
    p = np.empty_like(bins.score)
    n_folds = int(folds.max()) + 1
    for fold in range(n_folds):
        test = folds == fold
        calibrator = AutoCalibration().fit(*bins.training_rows(positive, weight, ~test))
        p[test] = Logit().inverse_pair(np.interp(bins.score[test], knots, calibrator._log_scores(knots)))[0]
    return Recalibrated(p, None, n_folds)


def recalibrate_many(codes: NDArray[Any], p: Array, weight: Array | None, random_state: int = 0) -> Recalibrated | None:
    """The same for more than two classes, on a random part of the rows if there are more than `MOST_ROWS`."""
    generator = np.random.RandomState(random_state)
    rows = None
    if len(codes) > MOST_ROWS:
        rows = np.sort(generator.choice(len(codes), MOST_ROWS, replace=False))
        codes, p, weight = codes[rows], p[rows], _at(weight, rows)
    folds = _folds(codes, p.shape[1], generator)
    if folds is None:
        return None
    result = np.empty_like(p)
    n_folds = int(folds.max()) + 1
    for fold in range(n_folds):
        test = folds == fold
        calibrator = AutoCalibration(input="probability").fit(p[~test], codes[~test], _at(weight, ~test))
        result[test] = calibrator.predict_proba(p[test])
    return Recalibrated(result, rows, n_folds)


@dataclass(frozen=True)
class Line:
    """The straight line that fits the log-odds best: log-odds of y = intercept + slope · log-odds of p.

    A slope below 1 means probabilities that are too extreme, one above 1 that they are too timid.
    """

    intercept: float
    slope: float
    standard_error: float  # of the slope

    @classmethod
    def of(cls, bins: Bins, positive: NDArray[np.bool_], weight: Array | None) -> Line | None:
        """None if all probabilities are equal, or all zeros and ones: any slope would do."""
        if len(bins.centre) < 2:
            return None
        score, label, total = bins.training_rows(positive, weight)
        fitted = PlattScaling().fit(score, label, total)
        intercept, at_one = fitted.maps_[0].log_odds(np.array([0.0, 1.0]))
        p = fitted.predict_proba(score)
        information = total * p[:, 0] * p[:, 1]
        spread = information @ np.square(score - information @ score / information.sum())
        return cls(float(intercept), float(at_one - intercept), float(spread**-0.5))


def _folds(codes: NDArray[Any], n_classes: int, generator: np.random.RandomState) -> NDArray[np.int8] | None:
    """The fold of every row: as many folds as the rarest class allows, each with its share of every class."""
    n_folds = min(N_FOLDS, int(np.bincount(codes, minlength=n_classes).min()))
    if n_folds < 2:
        return None
    folds = np.empty(len(codes), dtype=np.int8)
    for code in range(n_classes):
        own = np.flatnonzero(codes == code)
        folds[own] = generator.permutation(len(own)) % n_folds
    return folds


def _at(weight: Array | None, rows: NDArray[Any]) -> Array | None:
    return None if weight is None else weight[rows]
