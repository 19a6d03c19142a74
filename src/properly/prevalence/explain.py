"""What a fitted model makes of single columns: response curves and the jackknife of variables.

The permutation importance of columns is scikit-learn's: ``permutation_importance(model, X, y, scoring="roc_auc")`` of
`sklearn.inspection` takes these models, with y of 1 and -1, as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from properly.prevalence.features import MaxentFeatures
from properly.prevalence.maxent import Maxent
from properly.probabilities import Array

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class ResponseCurve:
    """The probability of a class along one column."""

    column: str | int
    values: NDArray[Any]
    probability: Array

    def frame(self) -> pandas.DataFrame:
        """Two columns: the values, and the probability."""
        return _pandas().DataFrame({str(self.column): self.values, "probability": self.probability})


@dataclass(frozen=True)
class Jackknife:
    """Training gains of models with one column only, with all others, and with all; the larger, the better the fit."""

    columns: list[str | int]
    only: Array
    without: Array
    full: float

    def frame(self) -> pandas.DataFrame:
        """One row for every column."""
        return _pandas().DataFrame({"only": self.only, "without": self.without, "full": self.full}, index=self.columns)


def response_curve(model: Any, X: Any, column: str | int, *, label: int = 1, n_points: int = 100) -> ResponseCurve:
    """How the probability of a class changes along one column, with all others held at their average.

    Parameters
    ----------
    model : fitted classifier with `predict_proba`
    X : array or data frame
        Rows to take range and averages from: the mean of a column of numbers, the most frequent value of others.
    column : name (data frame) or number (array) of a column
        Of numbers: n_points values over its range; otherwise every value that occurs.
    label : default 1
        The class.
    n_points : int, default 100

    Examples
    --------
    >>> import numpy as np
    >>> from properly.prevalence import Maxent
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = np.where((X[:, 0] > 0) & (np.arange(500) % 5 == 0), 1, -1)
    >>> curve = response_curve(Maxent().fit(X, y), X, 0, n_points=3)
    >>> bool(np.all(np.diff(curve.probability) > 0))
    True
    """
    columns = _columns(X)
    if column not in columns:
        raise ValueError(f"column must be one of {list(columns)}, got {column!r}.")
    if label not in model.classes_:
        raise ValueError(f"label must be one of {model.classes_.tolist()}, got {label!r}.")
    chosen = columns[column]
    values = np.unique(chosen)
    if _is_number(chosen):
        values = np.linspace(values[0], values[-1], n_points)
    table = {name: np.repeat(_average(part), len(values)) for name, part in columns.items()} | {column: values}
    points = type(X)(table) if hasattr(X, "columns") else np.column_stack(list(table.values()))
    probability = model.predict_proba(points)[:, np.flatnonzero(model.classes_ == label)[0]]
    return ResponseCurve(column, values, np.asarray(probability))


def jackknife(model: Maxent, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Jackknife:
    """How much each column explains alone, and how much is lost without it, in training gain.

    Refits the model twice for every column; the gain is `relative_gain_`, its mean if several classes have labels.

    Parameters
    ----------
    model : Maxent or EntropyWeightedMaxent; need not be fitted
    X : array or data frame with at least two columns
    y : array, labels as for `Maxent.fit`
    sample_weight : array, optional

    Examples
    --------
    >>> import numpy as np
    >>> from properly.prevalence import Maxent
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = np.where((X[:, 0] > 0) & (np.arange(500) % 5 == 0), 1, -1)
    >>> result = jackknife(Maxent(), X, y)
    >>> bool(result.only[0] > result.only[1])
    True
    """
    if not isinstance(model, Maxent):
        raise ValueError(f"model must be Maxent or EntropyWeightedMaxent, got {type(model).__name__}.")
    names = list(_columns(X))
    if len(names) < 2:
        raise ValueError(f"X must have at least two columns to leave one out, got {len(names)}.")

    def gain(kept: list[str | int]) -> float:
        part = X[kept] if hasattr(X, "columns") else np.asarray(X)[:, [names.index(name) for name in kept]]
        return float(np.mean(_restricted(model, names, kept).fit(part, y, sample_weight).relative_gain_))

    return Jackknife(
        names,
        only=np.array([gain([name]) for name in names]),
        without=np.array([gain([other for other in names if other != name]) for name in names]),
        full=gain(names),
    )


def _restricted(model: Maxent, names: list[str | int], kept: list[str | int]) -> Maxent:
    """The model for some of the columns: of those that are categorical, the ones that are left, by place or by name."""
    twin = clone(model)
    if isinstance(twin.features, MaxentFeatures) and twin.features.categorical is not None:
        named = [names[entry] if isinstance(entry, int) else entry for entry in twin.features.categorical]
        places = [kept.index(name) for name in named if name in kept]
        twin.features.set_params(categorical=places)
    return twin


def _pandas() -> Any:
    try:
        return import_module("pandas")
    except ImportError as error:
        raise ImportError("frame() returns a pandas data frame: pip install pandas") from error


def _columns(X: Any) -> dict[str | int, NDArray[Any]]:
    if hasattr(X, "columns"):
        return {name: np.asarray(X[name]) for name in X.columns}
    return dict(enumerate(np.asarray(X).T))


def _is_number(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "iuf"


def _average(values: NDArray[Any]) -> Any:
    if _is_number(values):
        return np.mean(values, dtype=np.float64)
    found, counts = np.unique(values, return_counts=True)
    return found[np.argmax(counts)]
