"""What cross-validated linear models share: the splits of the rows, and the fits along a path of penalties."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import check_cv

from properly import kernels
from properly.engines import Engine, KeyedFolds, MemoryEngine, PartitionedEngine
from properly.inputs.options import check_split
from properly.linear.estimator import LinearEstimator
from properly.linear.fitting import Data, Penalty, problem_of
from properly.losses import Composite, Loss
from properly.numeric.arrays import Array, as_float, to_numpy
from properly.solvers.folds import FoldedProblem

# How far from its optimum a fit to a split may stop, in standard errors: to find the best C, and then for this C. The
# second makes the summed losses that are compared between links right to about 0.01, unless there are outliers.
_ROUGH, _FINE = 0.1, 1e-3
# The path ends where the held-out loss exceeds the smallest by so much, on the scale of log-likelihoods: weaker
# penalties overfit more, and take longest where features are as many as rows.
_OVERFITTED = 40.0


class CrossValidated(LinearEstimator):
    """A linear classifier that chooses some of its settings by folds."""

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose the settings, and fit the model to all rows.

        Parameters
        ----------
        X, y, sample_weight, offset :
            As in `ProperLinearClassifier`.
        groups : array of shape (n_samples,), optional
            Labels of any kind, such as customers: rows with the same one are in the same fold. A number of folds then
            is that of `properly.engines.KeyedFolds`. Of files and frames of Spark a column is named instead, as in
            ``Stream(..., group="customer")``.
        """
        return self._fit(X, y, sample_weight, offset, groups)


def with_splits(cv: Any, engine: Engine) -> Engine:
    """The same rows with a column per split: 1 for a training row, -1 for a held-out row, 0 for neither.

    `cv` is what scikit-learn takes: a number of (stratified) folds, None for five, a splitter, or pairs of row indices;
    a validation set is a single pair. A number of folds is lowered to the number of rows in the rarest class. Rows that
    are not in memory have no order: a number of folds is that of `KeyedFolds`, as it is for rows with groups.
    """
    if isinstance(engine, PartitionedEngine):
        return _with_keyed_folds(cv, engine)
    if not isinstance(engine, MemoryEngine):
        raise ValueError(f"cross-validation needs rows in memory or in parts, got a {type(engine).__name__}.")
    y, weight = to_numpy(engine.y), None if engine.weight is None else to_numpy(engine.weight)
    rarest = int(np.bincount(y if weight is None else y[weight > 0.0]).min())
    if rarest < 2:
        raise ValueError(
            "cross-validation needs at least two rows of every class, but one class has a single row; set the "
            "parameters yourself, with the model that has no CV in its name."
        )
    counted, rows = np.arange(len(y)), engine.X
    cv = 5 if cv is None else cv
    keys = engine.group
    if isinstance(cv, Integral):
        cv = min(int(cv), rarest) if keys is None else KeyedFolds(int(cv))
        counted = rows = counted if weight is None else np.flatnonzero(weight)
    columns, groups = [], None if keys is None else keys[counted]
    splits = check_cv(cv, y[counted], classifier=True).split(rows, y[counted], groups)
    for number, (train, held_out) in enumerate(splits):
        check_split(np.concatenate([train, held_out]), len(counted), number)
        column = np.zeros(len(y), dtype=np.int8)
        column[counted[held_out]] = -1
        column[counted[train]] = 1
        if weight is not None:
            column[weight == 0.0] = 0
        if np.count_nonzero(np.bincount(y[column > 0])) < 2 or not np.any(column < 0):
            raise ValueError(
                f"split {number} of cv must have training rows of both classes and at least one held-out row; use "
                "fewer or stratified splits."
            )
        columns.append(column)
    if not columns:
        raise ValueError("cv gave no splits; give a number of folds, a splitter, or pairs of row indices.")
    return type(engine)(engine.X, engine.y, engine.weight, engine.offset, np.column_stack(columns))


def _with_keyed_folds(cv: Any, engine: PartitionedEngine) -> PartitionedEngine:
    folds = 5 if cv is None else cv
    folds = KeyedFolds(int(folds)) if isinstance(folds, Integral) else folds
    if not isinstance(folds, KeyedFolds):
        raise ValueError(
            f"rows that are not in memory have no order to split them by, got cv={cv!r}; give a number of folds, or "
            "properly.engines.KeyedFolds, which goes by a column of keys or of folds."
        )
    engine = engine.with_folds(folds)
    weight = engine.reduce(kernels.fold_weights, len(engine.classes))
    short = (np.count_nonzero(weight.training, axis=1) < 2) | ~weight.held_out.any(axis=1)
    if short.any():
        raise ValueError(
            f"fold {int(short.argmax())} must have training rows of both classes and at least one held-out row; use "
            "fewer folds, or keys with more different values."
        )
    return engine


def penalties(Cs: int | ArrayLike) -> Array:
    """The values of C to try, in ascending order: a whole number of them from 1e-4 to 1e4, or those given."""
    if isinstance(Cs, Integral) and not isinstance(Cs, bool):
        if Cs < 1:
            raise ValueError(f"Cs must be a positive number of values of C, or the values themselves, got {Cs}.")
        return np.logspace(-4.0, 4.0, int(Cs)) if Cs > 1 else np.ones(1)
    if Cs is None or np.ndim(Cs) != 1 or not np.size(Cs):
        raise ValueError(f"Cs must be a whole number or a sequence of at least one value of C, got {Cs!r}.")
    values = np.unique(as_float(Cs, "Cs"))
    for C in values:
        Penalty.of(float(C))
    return values


class Path(NamedTuple):
    """The fits of one composite to every split, for every C.

    `coef` has shape (fitted Cs, splits, width); `loss` (Cs,) is the mean loss of held-out rows, `held_out` their
    weight. The last values of C, the weakest penalties, are not fitted if those before them overfit: nan.
    """

    data: Data
    coef: Array
    loss: Array
    held_out: float

    @classmethod
    def fitted(cls, data: Data, composite: Composite, Cs: Array, score: Loss, max_iter: int) -> Self:
        weight = data.engine.reduce(kernels.fold_weights, len(data.class_weight))
        problem, start = problem_of(data, composite, Penalty(0.0, 0.0))
        standard_error = float(np.sqrt(unit_of(composite.loss, data)))
        share = float(weight.training.sum(axis=1).mean()) / data.weight
        folded = FoldedProblem(problem, share, score, tol=_ROUGH * standard_error, max_iter=max_iter)
        ridges = [Penalty.of(float(C)).ridge for C in Cs]
        points, limit = [], _OVERFITTED * unit_of(score, data)
        for point in folded.path(np.repeat(start, len(weight.training), axis=0), ridges):
            points.append(point)
            total = [each.held_out.sum() for each in points]
            if limit < total[-1] - min(total) < np.inf:
                break
        best = int(np.argmin(total))
        points[best] = folded.polish(points[best], ridges[best], _FINE * standard_error)
        held_out = float(weight.held_out.sum())
        loss = np.full(len(Cs), np.nan)
        loss[: len(points)] = [point.held_out.sum() / held_out for point in points]
        return cls(data, np.array([point.coef for point in points]), loss, held_out)

    @property
    def best(self) -> int:
        """The C with the smallest held-out loss."""
        return int(np.nanargmin(self.loss))

    def start(self, which: int) -> tuple[Array, Array]:
        """Coefficients and intercept from which to start the fit to all rows: the means of those of the splits."""
        return self.data.separated(self.coef[which].mean(axis=0, keepdims=True))


def unit_of(loss: Loss, data: Data) -> float:
    """ω(p) p (1 - p) at the class proportions: 1 for log loss.

    Differences of summed losses are on the scale of log-likelihoods when divided by it.
    """
    q, p = data.class_weight / data.weight
    return float(loss.weight(p, q)) * p * q
