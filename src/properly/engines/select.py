"""From what a user hands to an estimator to an engine: the type of X decides."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from properly.engines.base import Engine
from properly.engines.memory import MemoryEngine
from properly.engines.stream import Stream, StreamEngine, encode
from properly.probabilities import Array, as_float


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


def checked_features(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """X as an array or sparse matrix of numbers; records the features, or compares them with those of the fit."""
    options = {
        "accept_sparse": ("csr", "csc"),
        "dtype": (np.float64, np.float32),
        "ensure_all_finite": not reset,  # a fit looks at the sums of squares instead, which saves it a pass
    }
    names = _column_names(X)
    if names is None:
        return validate_data(estimator, X, reset=reset, **options)
    X = check_array(X, estimator=estimator, input_name="X", **options)
    check_names(estimator, names, reset=reset)
    if reset:
        estimator.n_features_in_ = X.shape[1]
    return X


def check_names(estimator: BaseEstimator, names: list[str], *, reset: bool) -> None:
    """Record the names of the features, or compare them with those of the fit."""
    if reset:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
        return
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is not None and list(fitted) != names:
        raise ValueError(
            f"The feature names should match those that were passed during fit: {list(fitted)}, got {names}; "
            "select the columns in this order."
        )


def _column_names(X: Any) -> list[str] | None:
    """The names of Arrow and polars tables, which not every version of scikit-learn looks for."""
    library = type(X).__module__.partition(".")[0]
    attribute = {"pyarrow": "column_names", "polars": "columns"}.get(library, "")
    return list(getattr(X, attribute)) if hasattr(X, attribute) else None


def checked_offset(offset: ArrayLike | None, n_rows: int, n_classes: int) -> Array | None:
    """One offset per row for two classes, one per row and class for more."""
    if offset is None:
        return None
    offset = as_float(offset, "offset")
    expected = (n_rows,) if n_classes <= 2 else (n_rows, n_classes)
    if offset.shape != expected:
        raise ValueError(
            f"offset must have shape {expected} for {n_rows} rows and {n_classes} classes, got {offset.shape}."
        )
    if not np.isfinite(offset).all():
        raise ValueError("offset must be finite.")
    return offset


def _checked_labels(y: ArrayLike | None, n_rows: int) -> NDArray[Any]:
    labels = column_or_1d(y, warn=True)
    check_array(labels, ensure_2d=False, dtype=None, input_name="y")
    check_classification_targets(labels)
    if len(labels) != n_rows:
        raise ValueError(f"y has {len(labels)} rows, X has {n_rows}: inconsistent numbers of samples.")
    return np.asarray(labels)


def checked_weight(sample_weight: ArrayLike | None, n_rows: int) -> Array | None:
    if sample_weight is None:
        return None
    weight = as_float(sample_weight, "sample_weight")
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.ndim != 1:
        raise ValueError(f"sample_weight must be 1D, got {weight.ndim} dimensions.")
    if len(weight) != n_rows:
        raise ValueError(f"sample_weight has {len(weight)} entries, but there are {n_rows} rows; every row needs one.")
    finite = np.isfinite(weight)
    if not finite.all():
        raise ValueError(f"sample_weight must be finite, got {weight[~finite][0]}.")
    if (weight < 0.0).any():
        raise ValueError(f"sample_weight must not be negative, got {weight.min()}.")
    return weight


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
