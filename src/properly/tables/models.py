"""Models that take tables: features for linear models, and a model together with the encoder of its columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from properly.classifier import AccuracyMixin, chosen
from properly.inputs.features import checked_array
from properly.inputs.finite import columns_named
from properly.inputs.weights import checked_weight
from properly.numeric.arrays import Array, beside, columns_at, columns_of, constant, is_foreign, namespace
from properly.tables.encoder import TableEncoder
from properly.tables.targets import Label


class LinearFeatures(TransformerMixin, BaseEstimator):
    """Columns of numbers and of category codes, as `TableEncoder` makes them, turned into features of a linear model.

    A column of numbers is brought to mean 0 and standard deviation 1; a missing value becomes 0, the mean, and has an
    indicator if some were missing in training. A column of categories becomes an indicator for each of the most
    frequent ones, one for all others together, and one for missing values. A category that did not occur in training
    has 0 in all of them.

    Parameters
    ----------
    categorical : sequence of int, default ()
        Which columns hold codes of categories.
    max_levels : int, default 30
        How many categories of a column have an indicator of their own.

    Examples
    --------
    >>> X = [[1.0, 0.0], [3.0, 1.0], [float("nan"), 1.0]]
    >>> LinearFeatures(categorical=[1]).fit_transform(X).tolist()
    [[-1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0]]
    """

    mean_: Array
    scale_: Array
    indicated_: NDArray[np.intp]
    levels_: list[Array]
    other_: list[bool]

    def __init__(self, categorical: Sequence[int] = (), *, max_levels: int = 30) -> None:
        self.categorical = categorical
        self.max_levels = max_levels

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn means, scales and levels; weight 2 means the row twice."""
        with columns_named(X):
            X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        numeric, coded = self._split(X)
        weight = checked_weight(sample_weight, len(numeric), positive_sum=True)
        weight = np.ones(len(numeric)) if weight is None else weight
        missing = np.isnan(numeric)
        known = np.where(missing, 0.0, weight[:, None])
        known /= np.maximum(known.sum(axis=0), np.finfo(np.float64).tiny)
        filled = np.where(missing, 0.0, numeric)
        unit = np.maximum(np.abs(filled).max(axis=0, initial=0.0), np.finfo(np.float64).tiny)  # squares stay finite
        unit = np.where(filled.any(axis=0), unit, 1.0)  # of zeros only, any other number may come in new rows
        mean = (known * (filled / unit)).sum(axis=0)
        spread = np.sqrt((known * (filled / unit - mean) ** 2).sum(axis=0))
        # A constant column has no spread but that of rounding, which must not be blown up.
        self.mean_, self.scale_ = mean * unit, np.where(spread > 1e-12 * np.abs(mean), spread * unit, unit)
        self.indicated_ = np.flatnonzero((missing & (weight[:, None] > 0.0)).any(axis=0))
        levels = [self._levels(column, weight) for column in coded.T]
        self.levels_ = [kept for kept, _ in levels]
        self.other_ = [more for _, more in levels]
        return self

    def transform(self, X: Any) -> Array:
        """The features of rows, of shape (n_samples, n_features_out)."""
        check_is_fitted(self, "mean_")
        if is_foreign(X):
            X, _ = checked_array(self, X, missing=True)
        else:
            with columns_named(X):
                X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        xp, (numeric, coded) = namespace(X), self._split(X)
        missing = xp.isnan(numeric)
        scaled = (numeric - constant(self.mean_, X)) / constant(self.scale_, X)
        parts = [xp.where(missing, 0.0, scaled), columns_at(missing, self.indicated_)]
        for column, levels, other in zip(columns_of(coded), self.levels_, self.other_, strict=True):
            gone = xp.isnan(column)[:, None]
            hit = (column[:, None] == constant(levels, X)) | (gone & constant(np.isnan(levels), X))
            parts.append(hit)
            if other:
                parts.append(~xp.any(hit, axis=1)[:, None] & ~gone)
        if xp is np:
            return np.hstack(parts, dtype=np.float64)
        return beside(*(xp.astype(part, xp.float64) for part in parts if part.shape[1] != 0))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the features: of a column, of its missing values, or of a column and one of its codes."""
        check_is_fitted(self, "mean_")
        names = np.asarray(_check_feature_names_in(self, input_features))
        coded = np.isin(np.arange(len(names)), list(self.categorical))
        numeric = names[~coded]
        found = [*numeric, *(f"{name} is missing" for name in numeric[self.indicated_])]
        for name, levels, other in zip(names[coded], self.levels_, self.other_, strict=True):
            found += [f"{name} is missing" if np.isnan(level) else f"{name} = {level:g}" for level in levels]
            found += [f"{name} is another"] * other
        return np.array(found, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _split(self, X: Array) -> tuple[Array, Array]:
        coded = np.zeros(X.shape[1], dtype=bool)
        coded[list(self.categorical)] = True
        numeric, categories = (columns_at(X, np.flatnonzero(each)) for each in (~coded, coded))
        return numeric, categories

    def _levels(self, column: Array, weight: Array) -> tuple[Array, bool]:
        """The codes that have an indicator, the most frequent first, and whether there are others; nan is a level."""
        values, place = np.unique(column, return_inverse=True)
        count = np.bincount(place, weight)
        values, count = values[count > 0.0], count[count > 0.0]
        kept = np.argsort(-count, kind="stable")[: self.max_levels]
        missing = np.isnan(values[-1:]) & ~np.isin(len(values) - 1, kept)
        return np.append(values[kept], values[-1:][missing]), len(values) > len(kept) + int(missing.sum())


def _has(method: str) -> Any:
    return lambda self: hasattr(getattr(self, "classifier_", self.classifier), method)


class _ThroughTransformer(BaseEstimator):
    """What a classifier says about the matrix that a transformer makes of X; a subclass gives `_asked`."""

    @abstractmethod
    def _asked(self, method: str, X: Any, options: dict[str, Any]) -> NDArray[Any]:
        """What a method of the classifier returns; the options are those of the transformer."""

    def predict_proba(self, X: Any, **options: Any) -> Array:
        """Class probabilities of shape (n, K), one column per entry of ``classes_``."""
        return self._asked("predict_proba", X, options)

    @available_if(_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any, **options: Any) -> Array:
        """The logarithms of the class probabilities."""
        return self._asked("predict_log_proba", X, options)

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, **options: Any) -> Array:
        """The scores of the classifier."""
        return self._asked("decision_function", X, options)


class WithFeatures(AccuracyMixin, MetaEstimatorMixin, _ThroughTransformer):
    """A transformer and a classifier as one classifier, like a pipeline, but with weights for both.

    Parameters
    ----------
    features : transformer whose `fit` takes weights, such as `LinearFeatures`
    classifier : classifier whose `fit` takes weights

    Attributes
    ----------
    features_, classifier_ : the fitted transformer and classifier
    classes_ : array of the classes, in the order of the columns of `predict_proba`
    n_features_in_, feature_names_in_ : number and names of the columns; names only if X was a data frame
    """

    def __init__(self, features: Any, classifier: Any) -> None:
        self.features = features
        self.classifier = classifier

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the transformer, then the classifier; weight 2 means the row twice."""
        self.features_ = clone(self.features).fit(X, y, sample_weight=sample_weight)
        self.classifier_ = clone(self.classifier).fit(self.features_.transform(X), y, sample_weight=sample_weight)
        self.classes_ = self.classifier_.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.features_, name):
                setattr(self, name, getattr(self.features_, name))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        return self._asked("predict", X, {})

    def _asked(self, method: str, X: Any, options: dict[str, Any]) -> NDArray[Any]:
        check_is_fitted(self, "classifier_")
        result: NDArray[Any] = getattr(self.classifier_, method)(self.features_.transform(X, **options))
        return result

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


PREFIX = "probability_"


class TableClassifier(_ThroughTransformer):
    """A fitted classifier of numbered classes, with the encoder of its columns and the names of its classes.

    This is what ``properly fit`` and ``properly calibrate`` save: ``properly.load(path).predict_proba(frame)`` takes a
    data frame, a `pyarrow.Table` or a mapping from names to values. All methods take the options of
    `TableEncoder.transform` as well.

    Parameters
    ----------
    encoder : TableEncoder, fitted
    classifier : fitted to the matrix of the encoder and classes 0, 1, …
    classes : sequence of the names of the classes, in that order

    Examples
    --------
    >>> import pyarrow
    >>> from properly.linear import ProperLinearClassifier
    >>> table = pyarrow.table({"height": [1.0, 2.0, 3.0, 4.0]})
    >>> encoder = TableEncoder().fit(table)
    >>> classifier = ProperLinearClassifier().fit(encoder.transform(table), [0, 1, 0, 1])
    >>> model = TableClassifier(encoder, classifier, ["small", "large"])
    >>> list(model.scored({"height": [2]}))
    ['probability_small', 'probability_large']
    """

    def __init__(self, encoder: TableEncoder, classifier: Any, classes: Sequence[Label]) -> None:
        self.encoder = encoder
        self.classifier = classifier
        self.classes = classes

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    @property
    def classes_(self) -> NDArray[Any]:
        return np.array(self.classes)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        return self.encoder.get_feature_names_out()

    @property
    def input_columns(self) -> dict[str, tuple[str, ...] | None]:
        """The columns that the model takes: for one of categories the texts that it knows, None for one of numbers."""
        return {each.name: each.categories if each.kind == "category" else None for each in self.encoder.columns_}

    @property
    def output_columns(self) -> list[str]:
        """The names of the columns that the model adds, with the standard prefix."""
        return [f"{PREFIX}{label}" for label in self.classes]

    def predict(self, X: Any, **options: Any) -> NDArray[Any]:
        """The most probable class; options as in `TableEncoder.transform`."""
        return chosen(self.predict_proba(X, **options), self.classes_)

    def _asked(self, method: str, X: Any, options: dict[str, Any]) -> NDArray[Any]:
        result: NDArray[Any] = getattr(self.classifier, method)(self.encoder.transform(X, **options))
        return result

    def scored(self, X: Any, **options: Any) -> dict[str, Array]:
        """The columns that the model adds to a table, by their names; options as in `TableEncoder.transform`."""
        return dict(zip(self.output_columns, self.predict_proba(X, **options).T, strict=True))


class TableMaxent(TableClassifier):
    """A maxent model with the encoder of its columns, whose output is on one of the scales of Maxent.

    Parameters
    ----------
    encoder, classifier
        As in `TableClassifier`; the classifier is a `properly.maxent.EntropyWeightedMaxent`.
    output : {"cloglog", "logistic", "raw", "probability"}
        The first three as in `properly.maxent.Maxent.predict_output`; "probability" is that of presence given the
        default prevalence.
    """

    def __init__(self, encoder: TableEncoder, classifier: Any, output: str) -> None:
        self.encoder = encoder
        self.classifier = classifier
        self.output = output

    @property
    def classes(self) -> list[str]:  # type: ignore[override]
        return ["absent", "present"]

    @property
    def output_columns(self) -> list[str]:
        return [f"{PREFIX}present" if self.output == "probability" else self.output]

    def scored(self, X: Any, **options: Any) -> dict[str, Array]:
        matrix = self.encoder.transform(X, **options)
        if self.output == "probability":
            values = self.classifier.predict_proba(matrix)[:, 1]
        else:
            values = self.classifier.predict_output(matrix, self.output)
        return {self.output_columns[0]: values}
