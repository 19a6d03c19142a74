"""From what a user hands to an estimator to an engine: the type of X decides."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array

from properly.engines.base import Engine
from properly.engines.memory import MemoryEngine
from properly.engines.stream import Stream, StreamEngine
from properly.inputs.features import check_names, checked_features
from properly.inputs.labels import _checked_labels, encode
from properly.inputs.weights import checked_offset, checked_weight


def training_engine(
    estimator: BaseEstimator, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None, offset: ArrayLike | None
) -> tuple[Engine, NDArray[Any]]:
    """The engine over checked data and the sorted classes; records the features on the estimator."""
    if isinstance(X, Stream):
        if y is not None or sample_weight is not None or offset is not None:
            raise ValueError("y, sample_weight and offset must come inside the blocks when X is a Stream.")
        return _stream_engine(estimator, X)
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None "
            "(only a properly.engines.Stream brings its own labels)."
        )
    X = checked_features(estimator, X, reset=True)
    labels = _checked_labels(y, X.shape[0])
    classes = np.unique(labels)
    weight = checked_weight(sample_weight, X.shape[0])
    return MemoryEngine(X, encode(labels, classes), weight, checked_offset(offset, X.shape[0], len(classes))), classes


def _stream_engine(estimator: BaseEstimator, stream: Stream) -> tuple[Engine, NDArray[Any]]:
    classes: NDArray[Any] | None = None
    offset_width, n_features = None, 0
    for X, y, _, offset in stream.raw_blocks():
        if y is None:
            raise ValueError("the stream has no labels; blocks must be (X, y, ...), files need target=.")
        check_array(y, ensure_2d=False, dtype=None, input_name="y")
        check_classification_targets(y)
        classes = np.unique(y) if classes is None else np.union1d(classes, y)
        n_features = X.shape[1]
        if offset is not None:
            offset_width = 1 if offset.ndim == 1 else offset.shape[1]
    if classes is None:
        raise ValueError("the stream has no rows.")
    if offset_width is not None and offset_width != (1 if len(classes) <= 2 else len(classes)):
        raise ValueError(
            f"offsets in the stream have {offset_width} column(s); {len(classes)} classes need "
            f"{'one offset a row' if len(classes) <= 2 else f'{len(classes)} a row'}."
        )
    estimator.n_features_in_ = n_features
    if stream.feature_names is not None:
        check_names(estimator, stream.feature_names, reset=True)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return StreamEngine(stream, classes), classes
