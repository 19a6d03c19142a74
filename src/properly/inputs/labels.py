"""Labels, checked and turned into class numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from properly.numeric.arrays import is_foreign, to_numpy


def checked_labels(y: ArrayLike | None, n_rows: int | None = None) -> tuple[NDArray[Any], NDArray[Any]]:
    """What an estimator is fitted to: the sorted classes, two or more, and the position of every label among them."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None; only a Stream has labels of its own.")
    labels = column_or_1d(to_numpy(y) if is_foreign(y) else y, warn=True)
    classes = found_classes(labels)
    check_classification_targets(classes if len(classes) == 2 else labels)  # the latter takes long
    if n_rows is not None and len(labels) != n_rows:
        raise ValueError(f"y has {len(labels)} rows, X has {n_rows}: inconsistent numbers of samples.")
    if len(classes) < 2:
        raise ValueError(f"y holds one class only, {classes.tolist()[0]!r}; at least 2 classes are needed.")
    return classes, _positions(labels, classes)


def forecast_labels(y: ArrayLike, classes: ArrayLike | None, n_classes: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """What forecasts are judged by: the classes, given or found, and the position of every label among them."""
    if y is None:
        raise ValueError("y is None; the labels are needed.")
    labels = column_or_1d(to_numpy(y) if is_foreign(y) else y)
    found = found_classes(labels)
    known = _completed(found, n_classes) if classes is None else _given(classes, found, n_classes)
    return known, _positions(labels, known)


def distinct_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """np.unique, much faster for two numbers."""
    if labels.dtype.kind in "biuf":
        ends = np.array([labels.min(), labels.max()])
        if np.all((labels == ends[0]) | (labels == ends[1])):
            return ends if ends[0] != ends[1] else ends[:1]
    return np.unique(labels)


def encode(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """The position of every label among the sorted classes."""
    codes = np.searchsorted(classes, y)
    unknown = classes[np.minimum(codes, len(classes) - 1)] != y
    if unknown.any():
        raise ValueError(f"y contains {y[unknown].tolist()[0]!r}, which was not there in the first pass over the data.")
    return np.asarray(codes, dtype=np.intp)


def found_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """The distinct labels in sorted order; missing values and fractions are refused."""
    if len(labels) == 0:
        raise ValueError("y is empty; at least one row is needed.")
    if labels.dtype == object:  # one pass in place of sorting all labels
        try:
            found = np.array(sorted(set(labels)), dtype=object)
        except TypeError as error:
            raise ValueError(f"y must hold labels of one kind, without missing values: {error}.") from error
    else:
        found = distinct_labels(labels)
    check_array(found, ensure_2d=False, dtype=None, input_name="y")
    if found.dtype.kind == "f" and (found != np.floor(found)).any():
        example = found[found != np.floor(found)][0]
        raise ValueError(
            f"Unknown label type: y must hold labels, got the fraction {example}; is it the target of a regression, or "
            "are y and the probabilities interchanged?"
        )
    return found


def _positions(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Of every label among the classes, all of which are known; of a byte each for two classes."""
    if len(classes) == 2:
        return np.asarray(labels == classes[1]).view(np.int8)
    order = np.argsort(classes)
    return order[np.searchsorted(classes, labels, sorter=order)]


def _completed(found: NDArray[Any], n_classes: int) -> NDArray[Any]:
    """The classes found, if they are as many as p has; a single one may be 0 or 1 (or -1, or a boolean)."""
    if len(found) == n_classes:
        return found
    if n_classes == 2 and len(found) == 1 and found.dtype.kind in "biuf" and found[0] in (-1, 0, 1):
        return np.array([min(found[0], 0), 1])
    listed = ", ".join(repr(label) for label in found[:5].tolist()) + (", ..." if len(found) > 5 else "")
    if len(found) > n_classes:
        columns = "one column" if n_classes == 2 else f"{n_classes} columns"
        raise ValueError(
            f"y holds {len(found)} classes ({listed}), but p has {columns}; p needs a column for every class."
        )
    raise ValueError(
        f"y holds {len(found)} of {n_classes} classes only ({listed}); pass classes=, all labels in the order of the "
        "columns of p (for one column: the negative label, then the positive one)."
    )


def _given(classes: ArrayLike, found: NDArray[Any], n_classes: int) -> NDArray[Any]:
    known = np.asarray(classes)
    if known.shape != (n_classes,) or len(np.unique(known)) != n_classes:
        raise ValueError(f"classes must be {n_classes} different labels, one for every class of p, got {classes!r}.")
    unknown = [label for label in found.tolist() if label not in known.tolist()]
    if unknown:
        raise ValueError(f"y holds the label {unknown[0]!r}, which is not among classes {known.tolist()}.")
    return known


def require_two_classes(classes: NDArray[Any]) -> None:
    """Refuse more than two classes."""
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported: y holds {len(classes)} classes; fit one versus rest with "
            "sklearn.multiclass.OneVsRestClassifier, or use ProperLinearClassifier."
        )
