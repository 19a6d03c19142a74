"""Cross-fitting: every row is predicted by a model that was fitted to the other folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from properly.calibration.base import Calibrator
from properly.calibration.methods import calibrator_of
from properly.inputs.misuse import Misuse
from properly.numeric.probabilities import Array

Mask = NDArray[np.bool_]


def stratified_folds(
    codes: NDArray[Any],
    classes: NDArray[Any],
    cv: int,
    random_state: int | np.random.RandomState,
) -> NDArray[Any]:
    """The fold of every row: `cv` folds, or as many as the rarest class has rows, each with its share of every class.

    This is the only rule of `audit`, `calibrate`, `fit` and `compare`: the same rows with the same seed have the same
    folds.

    Parameters
    ----------
    codes : array of shape (n,)
        The class of every row, as its position in `classes`.
    classes : array
        The labels, two or more.
    cv : int
    random_state : int or RandomState

    Examples
    --------
    >>> stratified_folds(np.array([0, 0, 0, 0, 1, 1]), np.array(["no", "yes"]), 5, 0)
    array([1, 1, 0, 0, 0, 1], dtype=int8)
    """
    counts = np.bincount(codes, minlength=len(classes))
    if counts.min() < 2:
        rarest = classes.tolist()[int(counts.argmin())]
        raise ValueError(
            f"class {rarest!r} has {counts.min()} row{'' if counts.min() else 's'}, but cross-validation needs 2 or "
            "more, to fit to some and hold out others; add rows of this class, or leave it out."
        )
    if cv < 2:
        raise ValueError(f"cv must be at least 2, got {cv}.")
    n_folds = min(cv, int(counts.min()))
    folds = np.empty(len(codes), dtype=np.min_scalar_type(-n_folds))
    splits = StratifiedKFold(n_folds, shuffle=True, random_state=random_state).split(codes, codes)
    for number, (_, test) in enumerate(splits):
        folds[test] = number
    return folds


_MANY = 1_000_000  # counted rows of a class, of which those of every fold are a share but for chance


def divided_counts(
    codes: NDArray[Any], rows: Array, n_classes: int, cv: int, random_state: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Counted rows divided among folds at random, as `stratified_folds` divides rows.

    Returns for every part what it is a part of, its fold, and its number of rows.
    """
    counts = np.bincount(codes, rows, n_classes)
    if counts.min() < 2:
        raise ValueError(f"a class has {int(counts.min())} rows, but cross-validation needs 2 or more.")
    n_folds, random = min(cv, int(counts.min())), np.random.default_rng(random_state)
    drawn = np.zeros((len(rows), n_folds))
    for code in range(n_classes):
        places = np.flatnonzero(codes == code)
        number = rows[places].astype(np.int64)
        if counts[code] > _MANY:
            drawn[places] = random.multinomial(number, np.full(n_folds, 1.0 / n_folds))
        else:
            fold = random.permutation(int(counts[code])) % n_folds
            cell = n_folds * np.repeat(np.arange(len(number)), number) + fold
            drawn[places] = np.bincount(cell, minlength=n_folds * len(number)).reshape(len(number), n_folds)
    place, folds = np.nonzero(drawn)
    return place, folds, drawn[place, folds]


class DividedRows(NamedTuple):
    """Rows in folds, or parts of rows that stand for several."""

    place: NDArray[np.intp] | slice  # the row that each is a part of
    folds: NDArray[Any]
    weight: Array | None


def copies(weight: Array | None, unit: Array | None) -> Array | None:
    """How many rows alike each stands for; `unit` is what one of them weighs, as of `properly.inputs.weights.unit_of`.

    Of counted rows of unequal weights it is the effective number: if as many as were counted were divided among folds,
    each of the mean weight, a part of the row that has most of the weight would be in every fold.

    >>> copies(np.array([3.0, 2.0]), None), copies(np.array([4.2, 2.5]), np.array([1.4, 2.5]))
    (array([3., 2.]), array([3., 1.]))
    """
    return weight if weight is None or unit is None else np.maximum(np.rint(weight / unit), 1.0)


def divided_rows(
    codes: NDArray[Any],
    classes: NDArray[Any],
    cv: int,
    random_state: int,
    weight: Array | None = None,
    unit: Array | None = None,
) -> DividedRows:
    """The folds of `stratified_folds`, among which the `copies` of a row are divided as other rows are.

    >>> divided_rows(np.array([0, 1]), np.array(["no", "yes"]), 2, 0, np.array([3.0, 2.0]))[:]
    (array([0, 0, 1, 1]), array([0, 1, 0, 1]), array([2., 1., 1., 1.]))
    """
    counts = copies(weight, unit)
    if weight is None or counts is None or counts.max() == 1.0:
        return DividedRows(slice(None), stratified_folds(codes, classes, cv, random_state), weight)
    place, folds, part = divided_counts(codes, counts, len(classes), cv, random_state)
    return DividedRows(place, folds, weight[place] * part / counts[place])


def grouped_folds(
    codes: NDArray[Any], classes: NDArray[Any], groups: NDArray[Any], cv: int, random_state: int
) -> NDArray[np.intp]:
    """The fold of every row: all rows of a group, such as a customer, are in one fold.

    Groups are divided as rows are by `stratified_folds`, each as one of its rarest class, so that every fold has its
    share of every class, or as many folds as the class of the fewest groups has. `groups` holds the number of every
    row's group.

    >>> groups = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    >>> grouped_folds(np.array([0, 1, 0, 0, 0, 1, 0, 0]), np.array(["no", "yes"]), groups, 2, 0)
    array([1, 1, 0, 0, 0, 0, 1, 1])
    """
    rarest_first = np.argsort(np.bincount(codes, minlength=len(classes)), kind="stable")
    rank = np.argsort(rarest_first)[codes]
    rarest = np.full(int(groups.max()) + 1, len(classes))
    np.minimum.at(rarest, groups, rank)
    used = np.flatnonzero(rarest < len(classes))
    kind = np.unique(rarest[used], return_inverse=True)[1]
    holding = [len(np.unique(groups[codes == code])) for code in range(len(classes))]
    if len(used) < 2:
        raise Misuse(
            "all rows are in one group, but at least 2 are needed, to fit to some and hold out others; is it the right "
            "column?"
        )
    if min(holding) < 2:
        raise Misuse(
            f"class {classes.tolist()[int(np.argmin(holding))]!r} occurs in {min(holding)} group only, but at least 2 "
            "are needed, to fit to some groups and hold out others; add groups, or leave out the column of groups."
        )
    n_folds, counts = min(cv, *holding), np.bincount(kind)
    # A kind of fewer groups than there are folds goes with that of the most.
    found, kind = np.unique(np.where((counts < n_folds)[kind], counts.argmax(), kind), return_inverse=True)
    folds = np.zeros(len(rarest), dtype=np.intp)
    folds[used] = stratified_folds(kind, found, n_folds, random_state)
    return folds[groups]


def time_folds(times: Array, n_folds: int) -> NDArray[np.intp]:
    """The fold of every row, from the oldest (0) to the latest: about as many rows each, and equal times together.

    >>> time_folds(np.array([5.0, 1.0, 2.0, 2.0, 9.0, 7.0]), 3)
    array([1, 0, 0, 0, 2, 2])
    """
    distinct, place, counts = np.unique(times, return_inverse=True, return_counts=True)
    before = np.cumsum(counts) - counts
    folds = np.unique(before * n_folds // len(times), return_inverse=True)[1]
    if len(distinct) < 2:
        raise Misuse("all rows have the same time, so that none comes before another; is it the right column?")
    if folds[-1] + 1 < n_folds:
        raise Misuse(
            f"the rows have {len(distinct)} different times, too few to divide them into {n_folds} periods; use fewer "
            "folds, or a finer time."
        )
    return np.asarray(folds[place], dtype=np.intp)


def cross_fitted(
    folds: NDArray[Any],
    fit_predict: Callable[[Mask, Mask], Array],
    tell: Callable[[float], None] = lambda share: None,
    *,
    forward: bool = False,
) -> Array:
    """Held-out predictions of all rows, from `fit_predict(train, test)`: fit to the one, predict the other.

    `tell` is called before every fold with the share of the work that is done. If `forward`, folds follow each other in
    time: each is predicted from those before it, and the first one, and rows in a fold below 0, not at all (nan).

    >>> values = np.array([1.0, 2.0, 6.0])
    >>> cross_fitted(np.array([0, 1, 1]), lambda train, test: np.full(test.sum(), values[train].mean()))
    array([4., 1., 1.])
    """
    result, n_folds = np.empty(0), int(folds.max()) + 1
    for fold in range(int(forward), n_folds):
        tell(fold / n_folds)
        test = folds == fold
        held_out = fit_predict((folds >= 0) & (folds < fold) if forward else ~test, test)
        if not result.size:
            result = np.full((len(folds), *held_out.shape[1:]), np.nan)
        result[test] = held_out
    return result


def cross_calibrated(
    scores: Array,
    codes: NDArray[Any],
    folds: NDArray[Any],
    method: str | Calibrator,
    weight: Array | None = None,
    input: str = "probability",
    tell: Callable[[float], None] = lambda share: None,
    *,
    forward: bool = False,
) -> Array:
    """Probabilities of shape (n, K), those of every fold from a calibrator that was fitted to the other folds.

    If `forward`, from one that was fitted to the folds before it; this and `tell` as in `cross_fitted`.

    Parameters
    ----------
    scores : array of shape (n,) or (n, K)
        Held-out scores or probabilities.
    codes : array of int of shape (n,)
        Class numbers.
    folds : array of int of shape (n,)
        The fold of every row; its calibrator learns from the others.
    method : str
        A key of `properly.calibration.methods.METHODS`.
    weight : array of shape (n,), optional
        Weights of the rows.
    input : str
        As in the calibrators.
    tell : callable
        Called with the share of the work that is done.
    forward : bool
        Whether calibrators learn from earlier folds only.
    """
    scores = scores[:, 1] if scores.ndim == 2 and scores.shape[1] == 2 else scores

    def fit_predict(train: Mask, test: Mask) -> Array:
        calibrator = calibrator_of(method).set_params(input=input)
        fitted = calibrator.fit(scores[train], codes[train], None if weight is None else weight[train])
        return fitted.predict_proba(scores[test])

    return cross_fitted(folds, fit_predict, tell, forward=forward)
