"""Targets: the class of every row, and what goes with it: weights, groups, times."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.inputs.labels import positive_of, usual_pair
from properly.inputs.misuse import Misuse
from properly.numeric.probabilities import Array
from properly.tables.base import (
    Place,
    TableError,
    arrow,
    compute,
    is_numeric,
    is_text,
    listed,
    plain,
    plain_type,
    types,
)
from properly.tables.columns import NUMERIC_KINDS, is_number_text, kind_of, numbers, texts

MAX_CLASSES = 100
Label = str | int | float | bool
_SMALL_WEIGHT = 0.1  # a mean weight below this is rather a share than a number of rows


class Labels(NamedTuple):
    """The classes, and for every row the number of its class. Of two classes, the second is the positive one."""

    classes: list[Label]
    codes: NDArray[np.intp]
    told: bool = False  # whether the positive class is known, and not just the second in sorted order

    def require_told(self, place: Place, option: str) -> None:
        """Refuse an option that is about the positive one of two classes if that is not known."""
        if len(self.classes) == 2 and not self.told:
            first, second = self.classes
            raise Misuse(
                f"{place} holds {first!r} and {second!r}, which do not tell which class is positive, and {option} "
                f"depends on it; name it with positive (on the command line: --positive {shlex.quote(str(first))})."
            )


def class_labels(
    column: Any, place: Place, positive: str | None = None, forecast: str | None = None, *, fewest: int = 2
) -> Labels:
    """The classes of a column, sorted, as texts, numbers or truth values; of two, the positive one is the second.

    That is `positive`, or the class after which the column of a `forecast` is named (p_fraud), or the one that the
    labels tell (`properly.inputs.labels.positive_of`). Refused are missing values, fewer than the `fewest` classes, and
    more than a hundred different values, which are hardly classes.
    """
    missing = compute.index(compute.is_null(column, nan_is_null=True), True).as_py()
    if missing >= 0:
        raise place.error(missing, "the class is missing; leave out such rows.")
    kind = kind_of(column.type)
    if kind in (None, "date"):
        raise Misuse(f"{place} holds {column.type}, but classes are needed: texts, numbers or truth values.")
    encoded = encoded_column(column)  # so that each distinct value is looked at once
    if kind == "number":
        values = numbers(encoded.dictionary, place)
        if (values == np.floor(values)).all() and np.abs(values).max() < 2**53:
            values = values.astype(np.int64)
    else:
        values = np.array(encoded.dictionary.to_pylist(), dtype=bool if kind == "boolean" else object)
    classes, position = np.unique(values, return_inverse=True)
    labels: list[Label] = classes.tolist()
    if len(labels) > MAX_CLASSES:
        raise Misuse(
            f"{place} has {len(labels):,} different values, but a target may have {MAX_CLASSES} classes at most; is it "
            "the right column?"
        )
    if len(labels) < fewest:
        raise TableError(f"{place} holds one class only, {labels[0]!r}; at least two are needed.")
    codes = position.astype(np.intp)[encoded.indices.to_numpy()]
    if len(labels) == 1:
        return Labels(labels, codes)
    if len(labels) > 2:
        if positive is not None:
            raise Misuse(f"a positive class is one of two, but {place} has {len(labels)} classes.")
        return Labels(labels, codes)
    which = _positive(labels, place, positive, forecast)
    if which == 0:
        return Labels(labels[::-1], 1 - codes, True)
    return Labels(labels, codes, which == 1)


def _positive(labels: list[Label], place: Place, positive: str | None, forecast: str | None) -> int | None:
    """The position of the positive one of two classes, None if it is not known."""
    names = [str(label) for label in labels]
    if positive is not None:
        return _meant(positive, names, place, forecast)
    usual, named = positive_of(labels), None if forecast is None else class_in_name(forecast, names)
    if usual is not None and named is not None and usual != named:
        raise Misuse(
            f"the column {forecast!r} is named after the class {names[named]!r}, but of {names[0]!r} and "
            f"{names[1]!r} the positive one is usually {names[usual]!r}; name the class that the column "
            f"is for with positive (on the command line: --positive {shlex.quote(names[named])})."
        )
    return usual if named is None else named


def _meant(positive: str, names: list[str], place: Place, forecast: str | None) -> int:
    """The position of the class that is named as positive; a `forecast` named after another gives a warning."""
    found = class_named(positive, names, place)
    if forecast is not None:
        warn_if_named_after_another(forecast, names, found, "was given as")
    return found


def warn_if_named_after_another(column: str, names: Sequence[str], meant: int, why: str = "is") -> None:
    """A warning for a column of probabilities that is named after another class than the one that is meant."""
    named = class_in_name(column, names)
    if named is not None and named != meant:
        warnings.warn(
            f"the column {column!r} is named after the class {names[named]!r}, but {names[meant]!r} {why} the positive "
            "class, and the column is taken to be for that.",
            UserWarning,
            stacklevel=3,
        )


def completed(labels: Labels, place: Place, columns: Sequence[str], positive: str | None) -> Labels:
    """Rows of one class only, as those of a rare event that did not occur, with the class that is missing among them.

    That is the other one of 0/1, false/true, no/yes or -1/1, or what `positive` or the names of the columns tell.
    """
    only = labels.classes[0]
    if len(columns) > 1:
        names: list[Label] = list(columns_of_classes(columns, [str(only)], place.source))
        which = _positive(names, place, positive, None) if len(names) == 2 else None
        names = names[::-1] if which == 0 else names
        return Labels(names, labels.codes + names.index(str(only)), which is not None)
    pair = usual_pair(only)
    if pair is None and positive is not None and str(positive) != str(only):
        pair = only, positive
    elif pair is None and (positive is not None or class_in_name(columns[0], [str(only)]) == 0):
        pair = f"not {only}", only
    if pair is None:
        raise Misuse(
            f"{place} holds {only!r} only, which does not tell the class that the column {columns[0]!r} of "
            "probabilities is for; name it with positive (on the command line: --positive CLASS)."
        )
    missing = next(label for label in pair if label != only)
    warnings.warn(f"{place} holds {only!r} only: no row is of the class {missing!r}.", UserWarning, stacklevel=3)
    if positive is None and _positive(list(pair), place, None, columns[0]) == 0:
        pair = pair[::-1]
    return Labels(list(pair), labels.codes + pair.index(only), True)


def class_in_name(column: str, names: Sequence[str]) -> int | None:
    """Which class a column is named after: the one, after a sign that is no letter or digit, with which it ends.

    >>> class_in_name("p_fraud", ["fraud", "ok"]), class_in_name("score", ["fraud", "ok"])
    (0, None)
    """
    found = [
        k for k, name in enumerate(names) if re.search(rf"(?:^|[\W_]){re.escape(name)}$", column, flags=re.IGNORECASE)
    ]
    return max(found, key=lambda k: len(names[k]), default=None)


def against_rest(labels: Labels, positive: str, place: Place, forecast: str) -> Labels:
    """The named class and, before it, all others as one."""
    found = _meant(positive, [str(label) for label in labels.classes], place, forecast)
    name, others = labels.classes[found], [*labels.classes[:found], *labels.classes[found + 1 :]]
    rest = others[0] if len(others) == 1 else f"not {name}"
    return Labels([rest, name], (labels.codes == found).astype(np.intp), True)


def class_named(text: str, names: list[str], place: Place) -> int:
    """Which class a text names: that of the same name, else that of the same meaning, as 1.0 and true are 1.

    >>> class_named("true", ["False", "True"], Place("table", "y")), class_named("1.0", ["0", "1"], Place("table", "y"))
    (1, 1)
    """
    text = str(text)  # a caller from Python may give the number 1
    if text in names:
        return names.index(text)
    meaning = _meaning(text)
    alike = [k for k, name in enumerate(names) if meaning is not None and _meaning(name) == meaning]
    if len(alike) != 1:
        raise Misuse(f"{place} has no class {text!r}; it has {listed(names)}.")
    return alike[0]


def _meaning(text: str) -> float | None:
    """The number that a text stands for; truth values are 0 and 1."""
    try:
        return float({"false": "0", "true": "1"}.get(text.strip().lower(), text))
    except ValueError:
        return None


def named_numbers(column: Any, place: Place) -> Array:
    """`numbers` of a column that was named for them; if not one of its values is a number, it is the wrong column."""
    cells = plain(column)
    some = cells.drop_null()
    of_kind = is_text(cells.type) and compute.any(is_number_text(some)).as_py()
    if not (of_kind or is_numeric(cells.type) or len(some) == 0):
        holds = f"texts such as {some[0].as_py()!r}" if is_text(cells.type) else cells.type
        raise Misuse(f"{place} holds {holds}, but numbers are needed; is it the right column?")
    return numbers(column, place)


def probabilities(column: Any, place: Place) -> Array:
    """What is no probability is told with its row."""
    p = named_numbers(column, place)
    place.refuse(np.isnan(p), "the probability is missing; leave out such rows.")
    remedy = "divide percentages by 100, and calibrate other scores first."
    place.refuse((p < 0.0) | (p > 1.0), f"a probability must lie in [0, 1], got {{:g}}; {remedy}", p)
    return p


def row_weights(column: Any, place: Place) -> Array:
    """How many rows each row stands for: finite, not negative; perhaps all 0, where others follow."""
    values = named_numbers(column, place)
    bad = ~(np.isfinite(values) & (values >= 0.0))
    place.refuse(bad, "a weight must be a number of at least 0, got {:g}.", values)
    return values


def weights(column: Any, place: Place) -> Array:
    """How many rows each row stands for: finite, not negative, not all 0."""
    values = row_weights(column, place)
    if not values.any():
        raise Misuse(f"{place}: every weight is 0; at least one must be positive.")
    total, n_rows = float(values.sum()), np.count_nonzero(values)
    if total < _SMALL_WEIGHT * n_rows:
        warnings.warn(
            f"{place}: the weights of {n_rows:,} rows add up to {total:g} only. A weight is a number of rows, so "
            f"results are as uncertain as those of {total:g} rows; rescale the weights if that is not meant.",
            UserWarning,
            stacklevel=2,
        )
    return values


def read_target(
    table: Any,
    source: str,
    target: str,
    *,
    positive: str | None = None,
    forecast: str | None = None,
    weight: str | None = None,
) -> tuple[Labels, Array | None]:
    """The classes of a table's rows and their weights, with at least two rows of every class.

    Rows of weight 0 do not count. `positive` and `forecast` are as in `class_labels`.
    """
    place = Place(source, target)
    labels = class_labels(table.column(target), place, positive, forecast)
    row_weights = None if weight is None else weights(table.column(weight), Place(source, weight))
    counted = labels.codes if row_weights is None else labels.codes[row_weights > 0.0]
    counts = np.bincount(counted, minlength=len(labels.classes))
    if counts.min() < 2:
        rows = "only one row" if counts.min() else "no row"
        raise TableError(
            f"{place}: the class {labels.classes[int(counts.argmin())]!r} has {rows}, but two are needed; add rows of "
            "it, or leave the class out."
        )
    return labels, row_weights


def columns_of_classes(columns: Sequence[str], classes: Sequence[str], source: str) -> dict[str, str]:
    """Which class each column is for, by its name, in sorted order; all columns may have the same prefix.

    >>> columns_of_classes(["p_b", "p_a", "p_c"], ["a", "b"], "predictions.csv")
    {'a': 'p_a', 'b': 'p_b', 'c': 'p_c'}
    """
    if len(set(columns)) < len(columns):
        raise Misuse("a column of probabilities is named twice; every class needs a column of its own.")
    prefixes = [column.removesuffix(name) for column in columns for name in classes if column.endswith(name)]
    for prefix in sorted(set(prefixes), key=len):
        if all(f"{prefix}{name}" in columns for name in classes) and all(each.startswith(prefix) for each in columns):
            found = {column.removeprefix(prefix): column for column in columns}
            return dict(sorted(found.items()))
    raise Misuse(
        f"the columns of probabilities must be named by the classes, which are {listed(classes)} in {source}; "
        f"got {listed(columns)}."
    )


def group_codes(column: Any, source: str, name: str, what: str = "group") -> NDArray[Any]:
    """The number of every row's group or cluster, such as its customer; a missing one is refused."""
    place = Place(source, name)
    missing = compute.index(compute.is_null(column, nan_is_null=True), True).as_py()
    if missing >= 0:
        raise place.error(missing, f"the {what} is missing; fill it in, or leave out the row.")
    return np.asarray(encoded_column(texts(column, place)).indices.to_numpy())


def times(column: Any, source: str, name: str) -> Array:
    """When every row was known, as numbers or days."""
    place, kind = Place(source, name), kind_of(column.type)
    if kind not in ("number", "date"):
        raise Misuse(f"{place}: a time must be a date such as 2024-05-31 or a number, got {column[0].as_py()!r}.")
    values = NUMERIC_KINDS[kind](column, place)
    place.refuse(np.isnan(values), "the time is missing; fill it in, or leave out the row.")
    return values


def encoded_column(column: Any) -> Any:
    """Distinct values that occur, and which of them every row has."""
    if not types.is_dictionary(column.type):
        column = column.cast(plain_type(column.type)).dictionary_encode()
    if isinstance(column, arrow.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    if isinstance(column, arrow.ChunkedArray):
        column = column.chunk(0)
    used = column.indices.drop_null().unique()  # a dictionary may hold values of other tables
    if len(used) == len(column.dictionary):
        return column
    return arrow.DictionaryArray.from_arrays(
        compute.index_in(column.indices, value_set=used), column.dictionary.take(used)
    )
