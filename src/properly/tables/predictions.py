"""Predictions from a file: the target as class numbers, the probabilities, and what goes with them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from properly.numeric.probabilities import Array
from properly.tables.arrow import arrow, compute, types
from properly.tables.errors import Place, TableError, listed
from properly.tables.labels import class_labels, class_named
from properly.tables.reading import TableFile
from properly.tables.values import numbers, texts, weights

_ROW_SUM_TOLERANCE = 1e-3  # probabilities in files are often rounded
_MISSING = "(missing)"


@dataclass(frozen=True)
class Predictions:
    """Checked columns of a file, of which an audit makes a `Forecast`."""

    codes: NDArray[Any]  # the class of every row, as its position in `classes`
    p: Array  # (n,) for two classes, else (n, K)
    classes: tuple[str, ...]
    group: NDArray[Any] | None  # of every row, as its position in `group_names`
    group_names: tuple[str, ...]
    weight: Array | None


def read_predictions(
    path: str | os.PathLike[str],
    target: str,
    probability: Sequence[str],
    *,
    positive: str | None = None,
    group: str | None = None,
    weight: str | None = None,
) -> Predictions:
    """Read only the columns that are needed, and check every value in them.

    With one column of probabilities the target has two values, and the probability is that of the larger one, or of
    `positive` against all others. With several columns there is one for every class, named by the class, perhaps
    with a prefix that all of them have.
    """
    source = str(path)
    wanted = dict.fromkeys([target, *probability, *(name for name in (group, weight) if name is not None)])
    table = TableFile(path).read(list(wanted))
    classes, codes = _classes(table.column(target), Place(source, target))
    if len(probability) == 1:
        classes, codes = _two_classes(classes, codes, positive, Place(source, target))
        p = _probabilities(table.column(probability[0]), Place(source, probability[0]))
    else:
        if positive is not None:
            raise TableError("a positive class goes with one column of probabilities; several name their classes.")
        names = columns_of_classes(probability, classes, source)
        codes = np.array([list(names).index(name) for name in classes], dtype=codes.dtype)[codes]
        p = np.column_stack([_probabilities(table.column(name), Place(source, name)) for name in names.values()])
        classes = list(names)
        _check_sums(p, source)
        p = p if len(classes) > 2 else p[:, 1].copy()
    groups, group_names = (None, ()) if group is None else _groups(table.column(group), Place(source, group))
    row_weights = None if weight is None else weights(table.column(weight), Place(source, weight))
    del table
    arrow.default_memory_pool().release_unused()  # of ten million rows, half a gigabyte
    return Predictions(codes, p, tuple(classes), groups, group_names, row_weights)


def columns_of_classes(columns: Sequence[str], classes: Sequence[str], source: str) -> dict[str, str]:
    """Which class each column is for, by its name, in sorted order; all columns may have the same prefix.

    >>> columns_of_classes(["p_b", "p_a", "p_c"], ["a", "b"], "predictions.csv")
    {'a': 'p_a', 'b': 'p_b', 'c': 'p_c'}
    """
    if len(set(columns)) < len(columns):
        raise TableError("a column of probabilities is named twice; every class has a column of its own.")
    prefixes = [column.removesuffix(name) for column in columns for name in classes if column.endswith(name)]
    for prefix in sorted(set(prefixes), key=len):
        if all(f"{prefix}{name}" in columns for name in classes) and all(each.startswith(prefix) for each in columns):
            found = {column.removeprefix(prefix): column for column in columns}
            return dict(sorted(found.items()))
    raise TableError(
        f"the columns of probabilities must be named by the classes, which are {listed(classes)} in {source}; "
        f"got {listed(columns)}."
    )


def _classes(column: Any, place: Place) -> tuple[list[str], NDArray[Any]]:
    """Names of the classes in sorted order and the class of every row; each distinct value is looked at once."""
    missing = compute.is_null(column, nan_is_null=True)
    first = compute.index(missing, True).as_py()
    if first >= 0:
        raise place.error(first, "the class is missing; leave out such rows.")
    encoded = _encoded(column)
    labels = class_labels(encoded.dictionary, place)
    size = np.int8 if len(labels.classes) < 128 else np.int16
    return [str(label) for label in labels.classes], labels.codes.astype(size)[encoded.indices.to_numpy()]


def _two_classes(
    classes: list[str], codes: NDArray[Any], positive: str | None, place: Place
) -> tuple[list[str], NDArray[Any]]:
    if positive is None:
        if len(classes) == 2:
            return classes, codes
        raise TableError(
            f"{place.source}, column {place.column!r} has {len(classes)} classes ({listed(classes)}): name a column of "
            "probabilities for each of them, or the positive class that the one column is for."
        )
    found = class_named(positive, classes, place)
    name, others = classes[found], [*classes[:found], *classes[found + 1 :]]
    return [others[0] if len(others) == 1 else f"not {name}", name], (codes == found).view(np.int8)


def _probabilities(column: Any, place: Place) -> Array:
    p = numbers(column, place)
    if not (p.min() >= 0.0 and p.max() <= 1.0):  # also if there is a nan
        row = int(np.argmin((p >= 0.0) & (p <= 1.0)))
        if np.isnan(p[row]):
            raise place.error(row, "the probability is missing; leave out such rows.")
        raise place.error(row, f"a probability must lie in [0, 1], got {p[row]:g}; calibrate scores first.")
    return p


def _groups(column: Any, place: Place) -> tuple[NDArray[Any], tuple[str, ...]]:
    """The group of every row, and the sorted names of the groups; each distinct value is looked at once."""
    encoded = _encoded(column)
    names = [_MISSING if name is None else name for name in texts(encoded.dictionary, place).to_pylist()]
    if encoded.null_count:
        names.append(_MISSING)
    distinct, position = np.unique(np.array(names, dtype=object), return_inverse=True)
    return position.astype(np.int32)[encoded.indices.fill_null(len(names) - 1).to_numpy()], tuple(distinct.tolist())


def _encoded(column: Any) -> Any:
    """Distinct values that occur, and which of them every row has."""
    if isinstance(column, arrow.ChunkedArray):
        column = column.unify_dictionaries() if types.is_dictionary(column.type) else column.dictionary_encode()
        column = column.combine_chunks()
    if isinstance(column, arrow.ChunkedArray):
        column = column.chunk(0)
    if not types.is_dictionary(column.type):
        return column.dictionary_encode()
    used = column.indices.drop_null().unique()  # a dictionary may hold values of other tables
    if len(used) == len(column.dictionary):
        return column
    return arrow.DictionaryArray.from_arrays(
        compute.index_in(column.indices, value_set=used), column.dictionary.take(used)
    )


def _check_sums(p: Array, source: str) -> None:
    off = np.abs(p.sum(axis=1) - 1.0)
    row = int(off.argmax())
    if off[row] > _ROW_SUM_TOLERANCE:
        raise TableError(f"{source}, row {row + 1}: the probabilities add up to {p[row].sum():g}, not to 1.")
