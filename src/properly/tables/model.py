"""Models that take tables: a model together with what it must know about the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from properly.probabilities import Array
from properly.tables.encoder import TableEncoder
from properly.tables.labels import Label

PREFIX = "probability_"


class TableClassifier(BaseEstimator):
    """A fitted classifier of numbered classes, with the encoder of its columns and the names of its classes.

    This is what ``properly fit`` and ``properly calibrate`` save: ``properly.load(path).predict_proba(frame)`` takes a
    data frame, a `pyarrow.Table` or a mapping from names to values.

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

    @property
    def classes_(self) -> NDArray[Any]:
        return np.array(self.classes)

    @property
    def output_columns(self) -> list[str]:
        """What the columns that the model adds are called, before any prefix is changed."""
        return [f"{PREFIX}{label}" for label in self.classes]

    def predict_proba(self, X: Any, **options: Any) -> Array:
        """Class probabilities of shape (n, K), one column per class; options as in `TableEncoder.transform`."""
        return np.asarray(self.classifier.predict_proba(self.encoder.transform(X, **options)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def scored(self, X: Any, **options: Any) -> dict[str, Array]:
        """What the model says of every row, by the name of the column."""
        return dict(zip(self.output_columns, self.predict_proba(X, **options).T, strict=True))


class TableMaxent(TableClassifier):
    """A maxent model with the encoder of its columns, which says its output in one of Maxent's scales.

    Parameters
    ----------
    encoder, classifier
        As in `TableClassifier`; the classifier is an `properly.prevalence.EntropyWeightedMaxent`.
    output : {"cloglog", "logistic", "raw", "probability"}
        The first three as in `properly.prevalence.Maxent.predict_output`; "probability" is that of presence given the
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
