"""What a fitted model makes of its features: effects on the log-odds of a linear model, shares of gain of trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special as sc

from properly.calibration import CalibratedClassifier
from properly.numeric.probabilities import Array
from properly.prevalence import PriorCorrectedClassifier
from properly.tables.encoder import Column
from properly.tables.models import LinearFeatures, WithFeatures

EFFECT, GAIN, SHUFFLED = "effect on the log-odds", "share of the gain", "rise of the log loss"
_CELLS = 20_000  # that are predicted anew for `shuffled_importances`, with all columns of their rows


@dataclass(frozen=True)
class Importances:
    """How much every feature matters to a fitted model, the most important first.

    Attributes
    ----------
    kind : str
        `EFFECT`: the change of a class's log-odds, ln(p/(1 - p)), when the feature rises by one standard deviation (an
        indicator: from 0 to 1), from a row whose numbers are all at their means and whose indicators are all 0. In a
        logistic regression of two classes these are its coefficients. `GAIN`: the share of the feature in what all
        splits of trees took off the training loss. `SHUFFLED`: by how much the log loss of training rows rises when the
        values of the column are shuffled among them.
    features : tuple of str
    values : array of shape (n_features, n_columns)
        Effects: a column for the positive of two classes, or for each of more. Shares and rises: one column.
    """

    kind: str
    features: tuple[str, ...]
    values: Array


def importances_of(model: Any, columns: Sequence[Column]) -> Importances | None:
    """Of a fitted model of the matrix that a `TableEncoder` with these columns made; None for other kinds of models.

    Of a calibrated model, or one corrected for class proportions, those of the model inside; if there are several,
    their means.

    Examples
    --------
    >>> from properly.linear import ProperLinearClassifier
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0], [5.0, 1.0]])
    >>> model = WithFeatures(LinearFeatures([1]), ProperLinearClassifier()).fit(X, [0, 0, 1, 0, 1])
    >>> columns = [Column("age", "number"), Column("town", "category", categories=("Bath", "Rome"))]
    >>> found = importances_of(model, columns)
    >>> found.features
    ('age', 'town = Bath', 'town = Rome')
    >>> np.allclose(found.values[0], model.classifier_.coef_[0, 0])
    True
    """
    models = _inside(model)
    first = models[0]
    if isinstance(first, WithFeatures) and isinstance(first.features_, LinearFeatures):
        names, kind, values = feature_names(first.features_, columns), EFFECT, [_effects(each) for each in models]
        if len({each.shape for each in values}) > 1:  # the models of an ensemble have not seen the same categories
            return None
    elif hasattr(first, "feature_importances_"):
        names, kind = [column.name for column in columns], GAIN
        values = [np.asarray(each.feature_importances_, dtype=np.float64)[:, None] for each in models]
    else:
        return None
    mean = np.mean(values, axis=0)
    order = np.argsort(-np.abs(mean).max(axis=1), kind="stable")
    return Importances(kind, tuple(names[j] for j in order), mean[order])


def shuffled_importances(
    model: Any, X: Array, codes: NDArray[Any], columns: Sequence[Column], seed: int, weight: Array | None = None
) -> Importances:
    """Of any fitted model of numbered classes, by shuffling the columns of at most a thousand rows, one at a time.

    >>> from properly.linear import ProperLinearClassifier
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = (X[:, 1] > 0.0).astype(int)
    >>> model = ProperLinearClassifier().fit(X, y)
    >>> shuffled_importances(model, X, y, [Column("a", "number"), Column("b", "number")], 0).features
    ('b', 'a')
    """
    random = np.random.RandomState(seed)
    counted = np.arange(len(X)) if weight is None else np.flatnonzero(weight)
    rows = np.sort(random.permutation(counted)[: min(1_000, max(_CELLS // len(columns), 100))])
    n_rows = len(rows)
    X, codes, weight = X[rows], codes[rows], None if weight is None else weight[rows]

    def loss(changed: Array) -> float:
        return float(-np.average(model.predict_log_proba(changed)[np.arange(n_rows), codes], weights=weight))

    before, rises = loss(X), []
    for j in range(len(columns)):
        changed = X.copy()
        changed[:, j] = random.permutation(X[:, j])
        rises.append(loss(changed) - before)
    order = np.argsort(-np.array(rises), kind="stable")
    return Importances(SHUFFLED, tuple(columns[j].name for j in order), np.array(rises)[order, None])


def _inside(model: Any) -> list[Any]:
    """The models inside calibrated and corrected ones."""
    if isinstance(model, PriorCorrectedClassifier):
        return _inside(model.estimator_)
    if isinstance(model, CalibratedClassifier):
        return [each for pair in model.pairs_ for each in _inside(pair.estimator)]
    return [model]


def _effects(model: WithFeatures) -> Array:
    """Of shape (n_features, 1) for two classes, (n_features, K) for more."""
    size = model.classifier_.n_features_in_
    log_p = model.classifier_.predict_log_proba(np.vstack([np.zeros(size), np.eye(size)]))
    if log_p.shape[1] == 2:
        log_odds = log_p[:, 1:] - log_p[:, :1]
    else:
        rest = [sc.logsumexp(np.delete(log_p, k, axis=1), axis=1) for k in range(log_p.shape[1])]
        log_odds = log_p - np.column_stack(rest)
    return np.asarray(log_odds[1:] - log_odds[0])


def feature_names(features: LinearFeatures, columns: Sequence[Column]) -> list[str]:
    """The names of what `LinearFeatures.transform` returns for a matrix of these columns."""
    coded = set(features.categorical)
    numeric = [column.name for j, column in enumerate(columns) if j not in coded]
    names = [*numeric, *(f"{numeric[j]} is missing" for j in features.indicated_)]
    categorical = (column for j, column in enumerate(columns) if j in coded)
    for column, levels, other in zip(categorical, features.levels_, features.other_, strict=True):
        for level in levels:
            known = level < len(column.categories)  # of nan this is false
            rest = "is missing" if np.isnan(level) else "is another category"
            names.append(f"{column.name} = {column.categories[int(level)]}" if known else f"{column.name} {rest}")
        if other:
            names.append(f"{column.name} is a rarer category")
    return names
