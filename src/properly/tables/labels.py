"""The column that holds the classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.numeric.probabilities import Array
from properly.tables.arrow import compute, types
from properly.tables.errors import Place, TableError, listed
from properly.tables.values import is_numeric, kind_of, numbers, plain

MAX_CLASSES = 100
Label = str | int | float | bool


class Labels(NamedTuple):
    """The classes, and for every row the number of its class. Of two classes, the second is the positive one."""

    classes: list[Label]
    codes: NDArray[np.intp]


def class_labels(column: Any, place: Place, positive: str | None = None) -> Labels:
    """The classes of a column, sorted, as texts, numbers or truth values; `positive` is the one to come second of two.

    Refused are missing values, a single class, and more than a hundred different numbers, which are no classes.
    """
    column = plain(column)
    if column.null_count:
        raise place.error(compute.index(column.is_null(), True).as_py(), "the class is missing; leave out such rows.")
    if types.is_boolean(column.type):
        classes, codes = np.unique(column.to_numpy(zero_copy_only=False).astype(bool), return_inverse=True)
    elif is_numeric(column.type):
        classes, codes = _numeric_classes(numbers(column, place), place)
    elif kind_of(column.type) == "category":
        encoded = column.dictionary_encode()
        classes, place_of = np.unique(np.array(encoded.dictionary.to_pylist(), dtype=object), return_inverse=True)
        codes = place_of[encoded.indices.to_numpy()]
    else:
        raise TableError(f"{place.source}, column {place.column!r} holds {column.type}, but classes are needed.")
    labels: list[Label] = classes.tolist()
    if len(labels) > MAX_CLASSES:
        raise TableError(
            f"{place.source}, column {place.column!r} has {len(labels):,} different values, but a target may have "
            f"{MAX_CLASSES} classes at most; is it the right column?"
        )
    if len(labels) < 2:
        raise TableError(
            f"{place.source}, column {place.column!r} holds one class only, {labels[0]!r}; at least two are needed."
        )
    found = Labels(labels, np.asarray(codes, dtype=np.intp))
    return found if positive is None else _with_positive(found, positive, place)


def require_two_rows(labels: Labels, weight: Array | None, place: Place) -> None:
    """Refuse a class that could not be both learned from and held out; rows of weight 0 do not count."""
    counts = np.bincount(labels.codes if weight is None else labels.codes[weight > 0.0], minlength=len(labels.classes))
    if counts.min() < 2:
        rarest, rows = labels.classes[int(counts.argmin())], "one row" if counts.min() else "no row"
        raise TableError(
            f"{place.source}, column {place.column!r}: the class {rarest!r} has {rows} only, and two are needed; add "
            "rows of it, or leave the class out."
        )


def class_named(text: str, names: list[str], place: Place) -> int:
    """Which class a text names: that of the same name, else that of the same meaning, as 1.0 and true are 1.

    >>> class_named("true", ["False", "True"], Place("table", "y")), class_named("1.0", ["0", "1"], Place("table", "y"))
    (1, 1)
    """
    if text in names:
        return names.index(text)
    meaning = _meaning(text)
    alike = [k for k, name in enumerate(names) if meaning is not None and _meaning(name) == meaning]
    if len(alike) != 1:
        raise TableError(f"{place.source}, column {place.column!r} has no class {text!r}, only {listed(names)}.")
    return alike[0]


def _meaning(text: str) -> float | None:
    """The number that a text stands for; truth values are 0 and 1."""
    try:
        return float({"false": "0", "true": "1"}.get(text.strip().lower(), text))
    except ValueError:
        return None


def _numeric_classes(values: Any, place: Place) -> tuple[NDArray[Any], NDArray[np.intp]]:
    if np.isnan(values).any():
        raise place.error(int(np.isnan(values).argmax()), "the class is missing; leave out such rows.")
    classes, codes = np.unique(values, return_inverse=True)
    whole = classes == np.floor(classes)
    return (classes.astype(np.int64) if whole.all() and np.abs(classes).max() < 2**53 else classes), codes


def _with_positive(labels: Labels, positive: str, place: Place) -> Labels:
    names = [str(label) for label in labels.classes]
    found = class_named(positive, names, place)
    if len(names) > 2:
        raise TableError(
            f"a positive class is one of two, but {place.source}, column {place.column!r} has {len(names)} classes."
        )
    return labels if found == 1 else Labels(labels.classes[::-1], 1 - labels.codes)
