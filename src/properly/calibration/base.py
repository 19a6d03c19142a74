"""The base classes of calibrators: checks and predictions, and more than two classes one versus rest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from properly.calibration.by_sums import SummedRows, summed_rows
from properly.classifier import LogScoreClassifier
from properly.engines import PartitionedEngine, by_parts
from properly.forecasts.counting import counted_rows, is_elsewhere
from properly.inputs.features import check_names
from properly.inputs.frames import column_names, is_frame
from properly.inputs.labels import checked_labels
from properly.inputs.options import choose
from properly.inputs.scores import (
    INPUTS,
    BinarySample,
    Reader,
    Sample,
    ScoreReader,
    checked_sample,
    checked_values,
    class_log_odds,
)
from properly.kernels import Block
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, columns_of, is_foreign, namespace, require_one_library


@dataclass(eq=False, repr=False, kw_only=True)
class Calibrator(LogScoreClassifier):
    """Turns scores into class probabilities, learned from scores of rows whose class is known.

    Use held-out rows, not those that the scoring model was trained on: there its scores are overconfident.

    Scores are of shape (n,) or (n, 1) for two classes, those of the second one; for K > 2 they are of shape (n, K),
    columns in the order of the sorted classes. `input` says what they are:

    - ``"score"``: log-odds, margins or other numbers; for K > 2 classes logits or log-probabilities.
    - ``"probability"``: probabilities, which add up to 1 in every row; 0 and 1 are allowed, see
      `properly.inputs.scores.LogProbabilityReader`.
    - ``"auto"``, the default: probabilities if all scores in `fit` lie in [0, 1], and for K > 2 classes if every row
      adds up to 1, but for rounding to two digits; other scores otherwise. There is a warning where this is doubtful:
      one score is exactly 0 and one exactly 1, as after scaling to [0, 1], or rows in [0, 1] do not add up to 1.

    ``input_`` records what they were in `fit`, and later scores are read the same way: a score outside [0, 1] is an
    error if those in `fit` were probabilities.

    Scores may be arrays of PyTorch or CuPy. The methods that add up or sort are fitted where these are, and others to a
    copy on the host; the model is of NumPy in either case, and predictions are where the scores are.

    A new method is a subclass with `_fit` and `_log_scores`, or a `BinaryCalibrator` with `_fit_map`, and a line in
    `properly.calibration.methods.METHODS`.
    """

    _takes_parts = True
    _fits_anywhere: ClassVar[bool] = False  # whether `_fit` takes arrays of other libraries; else they are copied

    input: str = "auto"

    def fit(self, scores: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the map from scores to probabilities.

        Parameters
        ----------
        scores : array of shape (n,) or (n, 1) for two classes, (n, K) for more; Stream, Spark, dask array
            A `Stream` or `Spark` frame of one column brings labels and weights with it; dask arrays come with dask
            arrays. Such rows of two classes are counted by score in one pass (`properly.score_counts`): exactly up
            to 2²⁰ distinct scores, beyond to about five digits of the score. Of more classes, temperature, vector,
            matrix, structured matrix and Dirichlet scaling are fitted by sums.
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Weight 2 means the row twice, weight 0 not at all.
        """
        learn = choose(self.input, INPUTS, "input")
        if is_elsewhere(scores):
            try:
                found = counted_rows(scores, y, sample_weight, read=_single_column)
            except _SeveralColumns:
                return self._fit_sums(learn, scores, y, sample_weight)
            ends = (found.score == 0.0) | (found.score == 1.0)
            if learn is INPUTS["auto"] and found.counts.of_probabilities and found.rows[ends].max(initial=0.0) > 1.0:
                learn = INPUTS["probability"]  # counted once each, 0 and 1 would look like scores scaled to [0, 1]
            scores, y, sample_weight = found.score, found.y, found.weight
        return self._fit_read(learn, scores, y, sample_weight)

    def _fit_sums(
        self, learn: Callable[[Array], Reader], scores: Any, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> Self:
        """Learn from scores of several classes that are not in memory."""
        self._require_sums()
        with summed_rows(learn, scores, y, sample_weight) as (rows, reader, classes):
            self.__dict__.pop("feature_names_in_", None)
            self._remember(classes, reader)
            self._fit_by_sums(rows)
        return self

    def _require_sums(self) -> None:
        if type(self)._fit_by_sums is Calibrator._fit_by_sums:
            raise ValueError(
                f"{type(self).__name__} takes scores that are not in memory for two classes, by one column; pass that "
                "of the second class. For more classes calibrate a sample in memory, or use temperature, vector, "
                "matrix, structured matrix or Dirichlet scaling."
            )

    def _fit_by_sums(self, rows: SummedRows) -> None:
        """Learn from logits of more than two classes that are not in memory, for methods that can."""

    def _fit_read(
        self, learn: Callable[[Array], Reader], scores: ArrayLike, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> Self:
        require_one_library(scores=scores, y=y if is_foreign(y) else None, sample_weight=sample_weight)
        classes, codes = checked_labels(y, like=scores)
        values = checked_values(scores, len(classes))
        self.__dict__.pop("feature_names_in_", None)  # those of an earlier fit
        if is_frame(scores):
            check_names(self, column_names(scores), reset=True)
        values, codes, weight = checked_sample(values, codes, sample_weight, classes)
        reader = learn(values)
        return self._fit_checked(classes, reader, Sample(reader(values), codes, weight, reader.of_probabilities))

    def _fit_checked(self, classes: NDArray[Any], reader: Reader, sample: Sample) -> Self:
        self._remember(classes, reader)
        self._fit(sample if self._fits_anywhere else sample.on_host())
        return self

    def _remember(self, classes: NDArray[Any], reader: Reader) -> None:
        self.classes_: NDArray[Any] = classes
        self.reader_: Reader = reader

    def _fit_binary(self, sample: BinarySample) -> Self:
        rows = Sample(sample.score, sample.codes, sample.weight)
        return self._fit_checked(np.array([False, True]), ScoreReader(), rows)

    predict_proba = by_parts(LogScoreClassifier.predict_proba, PartitionedEngine)
    predict_log_proba = by_parts(LogScoreClassifier.predict_log_proba, PartitionedEngine)
    decision_function = by_parts(LogScoreClassifier.decision_function, PartitionedEngine)
    predict = by_parts(LogScoreClassifier.predict, PartitionedEngine)

    def _read(self, scores: Any) -> Array:
        check_is_fitted(self, "classes_")
        scores = scores.X if isinstance(scores, Block) else scores
        if is_frame(scores):
            check_names(self, column_names(scores), reset=False)
        return self.reader_(checked_values(scores, len(self.classes_)))

    @property
    def input_(self) -> str:
        """What the scores in `fit` were, "score" or "probability"."""
        return self.reader_.input

    @property
    def n_features_in_(self) -> int:
        """The number of columns that scores have: 1 for two classes, K for more."""
        check_is_fitted(self, "classes_")
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    @property
    def _of_probabilities(self) -> bool:
        return self.reader_.of_probabilities

    @abstractmethod
    def _fit(self, sample: Sample) -> None:
        """Learn from checked data."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True  # scores, besides the columns of a table
        tags.classifier_tags.poor_score = True  # of a feature that says little about the class
        return tags


class _SeveralColumns(ValueError):
    """Scores of more than two classes cannot be counted."""


def _single_column(values: Array) -> Array:
    if values.shape[1] != 1:
        raise _SeveralColumns(f"scores have {values.shape[1]} columns")
    return values[:, 0]


class LogOddsMap(Protocol):
    """A fitted map for one class: score in, calibrated log-odds out (±∞ only where a method says 0 or 1)."""

    def log_odds(self, score: Array) -> Array: ...


class BinaryCalibrator(Calibrator):
    """A calibrator for one class against the rest; more than two classes are fitted one versus rest.

    Then every class k has the score l_k - ln Σ_{j≠k} exp l_j, its log-odds, and a map of its own; with probabilities as
    input these are ln(p_k/(1 - p_k)), so that rows with equal p_k are ties. The calibrated probabilities are divided by
    their sum (all equal if every one of them is 0). A subclass gives `_fit_map`.

    Parameters
    ----------
    input : {"auto", "probability", "score"}, default "auto"
        As in `Calibrator`: what the scores are.
    """

    maps_: list[Any]  # each is a `LogOddsMap`

    @abstractmethod
    def _fit_map(self, sample: BinarySample) -> LogOddsMap:
        """The map of one class."""

    def _fit(self, sample: Sample) -> None:
        self.maps_ = [self._fit_map(part) for part in sample.against_rest()]

    def _log_scores(self, scores: Array) -> Array:
        own = columns_of(class_log_odds(scores, self._of_probabilities))
        columns = [each.log_odds(score) for each, score in zip(self.maps_, own, strict=True)]
        return columns[0] if scores.ndim == 1 else fn.log_expit(namespace(scores).stack(columns, axis=1))
