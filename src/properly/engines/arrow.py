"""Tables of Arrow as parts: what files and the frames of Spark have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from inspect import signature
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from properly.engines.description import Part
from properly.inputs.optional import require
from properly.numeric.probabilities import Array

PART_BYTES = 2**24
_ROLES = ("target", "sample_weight", "offset", "group")  # as users name them
_SMALL = ("float", "halffloat", "int8", "int16", "uint8", "uint16", "bool")  # float32 holds every value


class Columns(NamedTuple):
    """Which columns mean what."""

    features: list[str]
    y: str | None = None
    weight: str | None = None
    offset: str | None = None
    group: str | None = None

    @classmethod
    def chosen(
        cls, names: Sequence[str], what: str, features: Sequence[str] | str | None, *roles: str | None
    ) -> Columns:
        """Of the columns with these names; all that have no other role are features, unless they are named."""
        for option, role in zip(_ROLES, roles, strict=False):
            if not isinstance(role, str | None):
                raise ValueError(f"{option} must be the name of one column, a text, got {role!r}.")
        if features is None:
            features = [name for name in names if name not in roles]
        features = [features] if isinstance(features, str) else list(features) if np.iterable(features) else [features]
        for name in features:
            if not isinstance(name, str):
                raise ValueError(f"features must be names of columns, which are texts, got {name!r}.")
        found = cls(features, *roles)
        if found.y is not None and found.y in found.features:
            raise ValueError(f"column {found.y!r} is the target and among the features; leave it out of the features.")
        if not found.features:
            raise ValueError(f"there are no features: name at least one column of {what}.")
        for name in found.features:
            if found.features.count(name) > 1:
                raise ValueError(f"column {name!r} is among the features twice; name it once.")
        for name in found.names:
            if name not in names:
                raise ValueError(f"there is no column {name!r}; {what} has {', '.join(map(repr, names))}.")
        return found

    @property
    def names(self) -> list[str]:
        """All of them, once each."""
        return list(dict.fromkeys([*self.features, *self.roles]))

    @property
    def roles(self) -> list[str]:
        """Those that mean something else than a feature, once each."""
        return list(dict.fromkeys(name for name in self[1:] if isinstance(name, str)))

    @property
    def labels(self) -> list[str]:
        """Those that hold labels of any kind, once each."""
        return list(dict.fromkeys(name for name in (self.y, self.group) if name is not None))

    def part(self, batch: Any, place: str, encoder: Any = None, first_row: int = 0) -> Part:
        """The rows of a batch of Arrow, the first of which has this number; `encoder` makes numbers of a table."""
        if encoder is not None:
            table = require("pyarrow", "arrow").Table.from_batches([batch]).select(self.features)
            X = np.asarray(_encoded(encoder, table, place, first_row), dtype=np.float64)
        else:
            columns = [batch.column(name) for name in self.features]
            small = all(str(column.type) in _SMALL for column in columns)
            X = np.empty((batch.num_rows, len(columns)), np.float32 if small else np.float64, order="F")
            for j, column in enumerate(columns):
                X[:, j] = _numbers(column, self.features[j], place)
        y, group = (None if name is None else _labels(batch.column(name), name, place) for name in (self.y, self.group))
        weight, offset = (
            None if name is None else _numbers(batch.column(name), name, place) for name in (self.weight, self.offset)
        )
        return Part(X, y, weight, offset, group, place)

    def part_of_lists(self, batch: Any, place: str) -> Part:
        """The same where the columns are lists of the features, all of one length, and the other roles."""
        lists, batch = batch.column(0), batch.select(range(1, batch.num_columns)).rename_columns(self.roles)
        lengths = [0] if not batch.num_rows else lists.value_lengths().unique().to_pylist()
        if lists.null_count or len(lengths) > 1:
            what = "has missing values" if lists.null_count else f"has vectors of different lengths, {lengths},"
            raise ValueError(f"column {self.features[0]!r} {what} in {place}; drop or mend such rows first.")
        values = lists.flatten()
        if values.null_count:
            first = values.is_null().index(True).as_py() % lengths[0]
            name = self.features[first if len(self.features) == lengths[0] else 0]
            raise ValueError(f"column {name!r} has missing values in {place}; drop or impute such rows first.")
        part = self._replace(features=[]).part(batch, place)
        return part._replace(X=values.to_numpy().reshape(batch.num_rows, lengths[0]))


def rows_a_part(n_features: int) -> int:
    """The most that there are in a part."""
    return max(1, PART_BYTES // (8 * max(1, n_features)))


def rows_of_lists(batch: Any) -> int:
    """The same for batches whose first column holds lists of the features."""
    return rows_a_part(len(batch.column(0).flatten()) // len(batch))


def gathered(batches: Iterable[Any], rows: Callable[[Any], int]) -> Iterator[Any]:
    """Small batches together, as long as they have at most so many rows, which a function finds from a batch."""
    pa = require("pyarrow", "arrow")
    waiting: list[Any] = []
    for batch in chain((batch for batch in batches if batch.num_rows), [None]):
        if waiting and (batch is None or sum(map(len, waiting)) + len(batch) > rows(waiting[0])):
            together, waiting = pa.Table.from_batches(waiting).combine_chunks(), []
            yield from together.to_batches()
        waiting.append(batch)


def kind_of(given: Any) -> str | None:
    """What a column of this type of Arrow holds; None if that is nothing."""
    types = require("pyarrow", "arrow").types
    value = given.value_type if types.is_dictionary(given) else given
    if types.is_null(value):
        return None
    if types.is_integer(value) or types.is_floating(value) or types.is_decimal(value) or types.is_boolean(value):
        return "numbers"
    if types.is_string(value) or types.is_large_string(value) or types.is_string_view(value):
        return "texts"
    return "dates" if types.is_date(value) or types.is_timestamp(value) else str(value)


def _encoded(encoder: Any, table: Any, place: str, first_row: int) -> Any:
    """What a transformer makes of a table; one that takes the place, for its messages, is told it."""
    first = encoder[0] if isinstance(encoder, Pipeline) else encoder
    if "first_row" not in signature(getattr(first, "transform", encoder.transform)).parameters:
        return encoder.transform(table)
    found = first.transform(table, source=place, first_row=first_row)
    return found if encoder is first or len(encoder) == 1 else encoder[1:].transform(found)


def _labels(column: Any, name: str, place: str) -> NDArray[Any]:
    types = require("pyarrow", "arrow").types
    if types.is_nested(column.type):
        raise ValueError(f"column {name!r} holds {column.type} in {place}, which are no labels; name another one.")
    if types.is_decimal(column.type):
        column = column.cast("float64", safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _numbers(column: Any, name: str, place: str) -> Array:
    """A column of numbers, of which none is missing, in their own type if NumPy has it."""
    types = require("pyarrow", "arrow").types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        raise ValueError(f"column {name!r} has missing values in {place}; drop or impute such rows first.")
    kind = column.type
    if types.is_decimal(kind):
        column = column.cast("float64", safe=False)
    elif not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise ValueError(f"column {name!r} holds {kind} in {place}, not numbers; encode or leave it out.")
    values: Array = column.to_numpy(zero_copy_only=False)
    return values
