"""Labels, checked and turned into class numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Number
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from properly.inputs.frames import in_microseconds, missing_in
from properly.numeric import functions as fn
from properly.numeric.arrays import (
    anywhere,
    as_float,
    constant_like,
    is_boolean,
    is_foreign,
    namespace,
    require_real,
    require_values,
    to_numpy,
)


def checked_labels(
    y: ArrayLike | None, n_rows: int | None = None, like: Any = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """What an estimator is fitted to: the sorted classes, two or more, and the position of every label among them.

    The positions are an array of NumPy, or of the library and on the device of `like`.
    """
    require_labels(y)
    labels = _column(y, like)
    classes = found_classes(labels)
    if is_foreign(labels) or len(classes) > 2 or labels.dtype.kind not in "biuf":
        check_classification_targets(
            classes if len(classes) == 2 or is_foreign(labels) else labels
        )  # the latter is slow
    if n_rows is not None:
        check_lengths(labels.shape[0], n_rows)
    require_several_classes(classes)
    return classes, constant_like(_positions(labels, classes), like)


def forecast_labels(
    y: ArrayLike, classes: ArrayLike | None, n_classes: int, like: Any = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """What forecasts are judged by: the classes, given or found, and the position of every label among them."""
    if y is None:
        raise ValueError("y is None; the labels are needed.")
    labels = _column(y, like, warn=False)
    found = found_classes(labels)
    known = _completed(found, n_classes) if classes is None else _given(classes, found, n_classes)
    return known, constant_like(_positions(labels, known), like)


def distinct_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """np.unique, much faster for two numbers."""
    if labels.dtype.kind in "biuf":
        ends = np.array([labels.min(), labels.max()])
        if np.all((labels == ends[0]) | (labels == ends[1])):
            return ends if ends[0] != ends[1] else ends[:1]
    return np.unique(labels)


def _distinct_there(labels: Any) -> NDArray[Any]:
    """The distinct labels, few, of an array of another library, found where it is."""
    xp = namespace(labels)
    if not labels.shape[0]:
        return np.empty(0)
    numbers = xp.astype(labels, xp.uint8) if is_boolean(labels) else labels
    ends = xp.stack([xp.min(numbers), xp.max(numbers)])
    if not anywhere((numbers != ends[0]) & (numbers != ends[1])):
        distinct = distinct_labels(to_numpy(ends))
    else:
        distinct = to_numpy(xp.unique_values(numbers))
    return distinct.astype(np.bool_) if is_boolean(labels) else distinct


def encode(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """The position of every label among the sorted classes."""
    if len(classes) == 2:  # several times as fast
        codes = np.asarray(y == classes[1])
        unknown = ~codes & (y != classes[0])
    else:
        codes = np.searchsorted(classes, y)
        unknown = classes[np.minimum(codes, len(classes) - 1)] != y
    if unknown.any():
        raise ValueError(f"y contains {y[unknown].tolist()[0]!r}, which was not there in the first pass over the data.")
    return np.asarray(codes, dtype=np.intp)


def found_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """The distinct labels in sorted order; missing values and fractions are refused."""
    if labels.shape[0] == 0:
        raise ValueError("y is empty; at least one row is needed.")
    if is_foreign(labels):
        labels = _distinct_there(labels)
    if labels.dtype.kind in "OmM" and missing_in(labels).any():
        row = int(np.argmax(missing_in(labels)))
        raise ValueError(
            f"y must hold labels of one kind, without missing values: the label of row {row} is missing; drop such "
            "rows, or give them a class of their own."
        )
    if labels.dtype == object:  # one pass in place of sorting all labels
        distinct = set(labels.tolist())
        _require_one_kind(distinct)
        try:
            found = np.array(sorted(distinct), dtype=object)
        except TypeError as error:
            raise ValueError(f"y must hold labels that have an order: {error}; turn them into text.") from error
    else:
        found = distinct_labels(labels)
    if not (found.dtype.kind in "biuf" and np.isfinite(found).all()):
        check_array(found, ensure_2d=False, dtype=None, input_name="y")
    if found.dtype.kind == "f" and (found != np.floor(found)).any():
        example = found[found != np.floor(found)][0]
        raise ValueError(
            f"Unknown label type: y must hold labels, got the fraction {example}; is it the target of a regression, or "
            "are y and the probabilities interchanged?"
        )
    return found


def _column(y: Any, like: Any = None, *, warn: bool = True) -> NDArray[Any]:
    """Labels as an array; a list that mixes text with something else stays mixed, where NumPy would make text of it.

    An array of the library of `like` stays where it is, if its labels can be put in order there.
    """
    if type(y) is np.ndarray and y.ndim == 1:
        return y
    require_values(y, "y")
    if is_foreign(y):
        require_real(y, "y")
        if y.ndim == 1 and is_foreign(like) and not _without_order(y):
            return cast("NDArray[Any]", y)
    if isinstance(y, list | tuple) and len({isinstance(label, str) for label in y}) > 1:
        y = np.array(y, dtype=object)
    return np.asarray(column_or_1d(to_numpy(y) if is_foreign(y) else y, warn=warn))


def _without_order(y: Any) -> bool:
    """Whether labels are unsigned integers of more than a byte, of which PyTorch finds no smallest."""
    return str(y.dtype).endswith(("uint16", "uint32", "uint64"))


def _require_one_kind(distinct: Iterable[Any]) -> None:
    """Refuse text among numbers and the like: they have no order."""
    example: dict[Any, Any] = {}
    for label in distinct:
        example.setdefault(Number if isinstance(label, Number | np.bool_) else type(label), label)
    if len(example) > 1:
        first, second = sorted(map(repr, example.values()))[:2]
        raise ValueError(
            f"y must hold labels of one kind, without missing values: it mixes {first} with {second}; turn all labels "
            "into text, or all into numbers."
        )


def _positions(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Of every label among the classes, all of which are known; of a byte each for two classes."""
    if is_foreign(labels):
        xp = namespace(labels)
        if len(classes) == 2:
            return cast("NDArray[Any]", xp.astype(labels == classes[1].item(), xp.int8))
        order = np.argsort(classes)
        # Whole numbers stay whole: float64 does not tell large ones apart.
        whole = classes.dtype.kind in "iu" and xp.isdtype(labels.dtype, "integral")
        known: NDArray[Any] = classes.astype(np.int64) if whole else as_float(classes, "y")
        found = xp.astype(labels, xp.int64 if whole else xp.float64)
        return fn.entries(order, fn.searchsorted(known[order], found))
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
    require_values(classes, "classes")
    known = np.asarray(classes)
    if known.shape != (n_classes,) or len(np.unique(known)) != n_classes:
        raise ValueError(f"classes must be {n_classes} different labels, one for every class of p, got {classes!r}.")
    labels = in_microseconds(known).tolist()
    unknown = [label for label in in_microseconds(found).tolist() if label not in labels]
    if unknown:
        raise ValueError(f"y holds the label {unknown[0]!r}, which is not among classes {labels}.")
    return known


def label_column(y: ArrayLike | None, n_rows: int) -> NDArray[Any]:
    """Labels as they are, one for each row, of a kind that classes may have."""
    require_labels(y)
    labels = _column(y)
    found_classes(labels)
    check_array(labels, ensure_2d=False, dtype=None, input_name="y")
    check_classification_targets(labels)
    check_lengths(len(labels), n_rows)
    return np.asarray(labels)


def require_labels(y: Any) -> None:
    """Refuse None."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None.")


def check_lengths(n_labels: int, n_rows: int, name: str = "X") -> None:
    """Refuse labels that are not as many as the rows of what is called `name`."""
    if n_labels != n_rows:
        raise ValueError(f"y has {n_labels} rows, {name} has {n_rows}: inconsistent numbers of samples.")


def require_several_classes(classes: NDArray[Any]) -> None:
    """Refuse a single class."""
    if len(classes) < 2:
        raise ValueError(f"y holds one class only, {classes.tolist()[0]!r}; at least 2 classes are needed.")


# Pairs of labels of which everybody takes the second for the positive one; in upper or lower case, as texts or numbers.
_PAIRS = (("0", "1"), ("false", "true"), ("no", "yes"), ("-1", "1"))


def positive_of(classes: Sequence[Any] | NDArray[Any]) -> int | None:
    """The position of the positive one of two classes, where the labels tell: 0/1, false/true, no/yes, -1/1.

    None where they do not, as with fraud/ok; sorted order would make "ok" the positive class.

    >>> positive_of(["Yes", "no"]), positive_of([-1.0, 1.0]), positive_of(["fraud", "ok"])
    (0, 1, None)
    """
    if len(classes) != 2:
        return None
    first, second = (_plain(label) for label in classes)
    return 1 if (first, second) in _PAIRS else 0 if (second, first) in _PAIRS else None


def usual_pair(label: Any) -> tuple[Any, Any] | None:
    """The negative and the positive class of which one is this label, where a single label tells.

    >>> usual_pair(0), usual_pair(True), usual_pair("No"), usual_pair("ok")
    ((0, 1), (False, True), ('No', 'yes'), None)
    """
    for pair in sorted(_PAIRS, reverse=True):  # 1 goes with 0 rather than with -1
        if _plain(label) in pair:
            place = pair.index(_plain(label))
            other = pair[1 - place]
            kind = str if isinstance(label, str) else type(label)
            made = other == "true" if kind is bool else kind(other)
            return (made, label) if place else (label, made)
    return None


def _plain(label: Any) -> str:
    """A label as a text in lower case, 1.0 as 1."""
    text = str(label).strip().lower()
    whole = text.removesuffix(".0")
    return whole if whole.lstrip("-").isdigit() else text


def positive_last(y: ArrayLike) -> NDArray[Any] | None:
    """The classes of y in the order (negative, positive), which a single column of probabilities needs to know.

    None if y does not hold two classes.

    >>> positive_last(["Yes", "no", "no"]).tolist()
    ['no', 'Yes']
    """
    found = found_classes(_column(y, warn=False))
    if len(found) != 2:
        return None
    position = positive_of(found.tolist())
    if position is None:
        first, second = found.tolist()
        raise ValueError(
            f"p is one column, but the labels {first!r} and {second!r} do not tell which class it is for; name them in "
            f"the order negative, positive, as in classes=[{second!r}, {first!r}], or pass both columns of p."
        )
    return found if position else found[::-1]


def two_shares(share: Any, classes: Sequence[Any] | NDArray[Any], name: str) -> dict[Any, Any]:
    """The shares of two classes by label, from that of one: a number is that of the positive class, a dict names it.

    >>> two_shares(0.25, ["no", "yes"], "population_rate"), two_shares({"fraud": 0.25}, ["fraud", "ok"], "true_prior")
    ({'no': 0.75, 'yes': 0.25}, {'fraud': 0.25, 'ok': 0.75})
    >>> two_shares(0.25, ["fraud", "ok"], "population_rate")
    Traceback (most recent call last):
    ValueError: population_rate is the share of the positive class, but the labels 'fraud' and 'ok' do not tell which of
    them that is; name it, as in population_rate={'fraud': 0.25}.
    """
    labels = np.asarray(classes).tolist()
    if isinstance(share, Mapping):
        given = dict(share)
        unknown = [label for label in given if label not in labels]
        if unknown:
            raise ValueError(f"{name} names {unknown[0]!r}, which is not one of the classes {labels}.")
        if len(given) != 1:
            return given
        ((label, value),) = given.items()
    else:
        position, value = positive_of(labels), share
        if position is None:
            raise ValueError(
                f"{name} is the share of the positive class, but the labels {labels[0]!r} and {labels[1]!r} do not "
                f"tell which of them that is; name it, as in {name}={{{labels[0]!r}: {share!r}}}."
            )
        label = labels[position]
    return {each: value if each == label else 1.0 - value for each in labels}


def require_two_classes(classes: NDArray[Any]) -> None:
    """Refuse more than two classes."""
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported: y holds {len(classes)} classes; fit one versus rest with "
            "sklearn.multiclass.OneVsRestClassifier, or use ProperLinearClassifier."
        )
