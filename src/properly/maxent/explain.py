"""How a fitted model depends on single columns: response curves and the jackknife of variables.

The permutation importance of columns is scikit-learn's: ``permutation_importance(model, X, y, scoring="roc_auc")`` of
`sklearn.inspection` takes these models, with y of 1 and -1, as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from properly.inputs import frames
from properly.inputs.features import are_numbers, column_values, listed_columns
from properly.inputs.optional import require
from properly.inputs.options import checked_count
from properly.maxent.features import MaxentFeatures
from properly.maxent.maxent import Maxent
from properly.numeric.probabilities import Array


@dataclass(frozen=True)
class ResponseCurve:
    """The probability of a class along one column.

    Attributes
    ----------
    column : str
        The column that is varied.
    values : array of shape (n_points,)
        Its values.
    probability : array of shape (n_points,)
        The probability of the class at each.
    """

    column: frames.ColumnName
    values: NDArray[Any]
    probability: Array

    def frame(self) -> Any:
        """Two columns: the values, and the probability."""
        return require("pandas", "frames").DataFrame({str(self.column): self.values, "probability": self.probability})


@dataclass(frozen=True)
class Jackknife:
    """Training gains of models with one column only, without it, and with all columns; larger is a better fit.

    Attributes
    ----------
    columns : list
        The names of the columns.
    only, without : array of shape (n_columns,)
        The gain with this column alone, and with all but it.
    full : float
        The gain with all columns.
    """

    columns: list[frames.ColumnName]
    only: Array
    without: Array
    full: float

    def frame(self) -> Any:
        """One row for every column."""
        return require("pandas", "frames").DataFrame(
            {"only": self.only, "without": self.without, "full": self.full}, index=self.columns
        )


def response_curve(
    model: Any, X: Any, column: frames.ColumnName, *, label: int = 1, n_points: int = 100
) -> ResponseCurve:
    """How the probability of a class changes along one column, with all others held at their average.

    Parameters
    ----------
    model : fitted classifier with `predict_proba`
    X : array, sparse matrix or data frame
        Rows that give range and averages: the mean of a numeric column, the most frequent value of a categorical one.
        The `categorical` columns of `MaxentFeatures` are categorical even if they hold numbers.
    column : name or number of a column
        If numeric, the curve has n_points values over its range; otherwise every value that occurs.
    label : default 1
        The class.
    n_points : int, default 100

    Examples
    --------
    >>> import numpy as np
    >>> from properly.maxent import Maxent
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = np.where((X[:, 0] > 0) & (np.arange(500) % 5 == 0), 1, -1)
    >>> curve = response_curve(Maxent().fit(X, y), X, 0, n_points=3)
    >>> bool(np.all(np.diff(curve.probability) > 0))
    True
    """
    check_is_fitted(model)
    X = frames.frame_or_array(X)
    names = frames.column_names(X)
    place = frames.located(column, names, "column is")
    if not X.shape[0]:
        raise ValueError("X has no rows; at least one is needed, for ranges and averages.")
    checked_count(n_points, "n_points", 1)
    if label not in model.classes_:
        raise ValueError(f"label must be one of {model.classes_.tolist()}, got {label!r}.")
    features = getattr(model, "features_", None)
    if isinstance(features, FrozenEstimator):
        features = features.estimator
    categorical = features.categorical_ if isinstance(features, MaxentFeatures) else ()
    average = {}
    for j, name in enumerate(names):
        found, numeric = column_values(X, j), j not in categorical and not frames.is_category(frames.column_at(X, j))
        numeric &= are_numbers(found) and found.dtype.kind != "b"
        if j == place:
            along = np.linspace(found.min(), found.max(), int(n_points)) if numeric else np.unique(found)
        average[name] = np.mean(found, dtype=np.float64) if numeric else _most_frequent(found)
    points = {name: np.repeat(value, len(along)) for name, value in average.items()} | {names[place]: along}
    probability = model.predict_proba(frames.table_like(X, points))[:, np.flatnonzero(model.classes_ == label)[0]]
    return ResponseCurve(names[place], along, np.asarray(probability))


def jackknife(model: Maxent, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Jackknife:
    """How much each column explains alone, and how much is lost without it, in training gain.

    Refits the model twice for every column; the gain is `relative_gain_`, its mean if several classes have labels. With
    ``duplicates="once"`` the sites are those of all columns: rows that agree in the columns that are left stay apart.

    Parameters
    ----------
    model : Maxent or EntropyWeightedMaxent; need not be fitted
    X : array, sparse matrix or data frame with at least two columns
    y : array, labels as for `Maxent.fit`
    sample_weight : array, optional

    Examples
    --------
    >>> import numpy as np
    >>> from properly.maxent import Maxent
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = np.where((X[:, 0] > 0) & (np.arange(500) % 5 == 0), 1, -1)
    >>> result = jackknife(Maxent(), X, y)
    >>> bool(result.only[0] > result.only[1])
    True
    """
    if not isinstance(model, Maxent):
        raise ValueError(f"model must be Maxent or EntropyWeightedMaxent, got {type(model).__name__}.")
    X = frames.frame_or_array(X)
    names = frames.column_names(X)
    if len(names) < 2:
        raise ValueError(f"X must have at least two columns to leave one out, got {len(names)}.")

    full = clone(model).fit(X, y, sample_weight)
    site = full._sites(full._design_matrix(X))

    def gain(kept: list[frames.ColumnName]) -> float:
        restricted = _restricted(model, X, kept)._fit_sites(frames.selected(X, kept), y, sample_weight, site)
        return float(np.mean(restricted.relative_gain_))

    only = np.array([gain([name]) for name in names])
    without = np.array([gain([other for other in names if other != name]) for name in names])
    return Jackknife(names, only, without, float(np.mean(full.relative_gain_)))


def _restricted(model: Maxent, X: Any, kept: list[frames.ColumnName]) -> Maxent:
    """The model for some of the columns: of those that are categorical, the ones that are left."""
    restricted, names = clone(model), frames.column_names(X)
    if isinstance(restricted.features, MaxentFeatures) and restricted.features.categorical is not None:
        named = [names[j] for j in listed_columns(restricted.features.categorical, names, "categorical")]
        left = [name for name in kept if name in named]
        # In an array the columns that are left have new numbers.
        restricted.features.set_params(categorical=left if frames.is_frame(X) else [kept.index(name) for name in left])
    return restricted


def _most_frequent(values: NDArray[Any]) -> Any:
    found, counts = np.unique(values, return_counts=True)
    return found[np.argmax(counts)]
