"""Folders of files, and files larger than memory: read in batches, or counted by score."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from properly.engines import Stream
from properly.forecasts import counted_rows
from properly.inputs.misuse import Misuse
from properly.inputs.optional import require
from properly.numeric.probabilities import Array
from properly.tables.base import Place, TableError, arrow, listed, plain, require_columns
from properly.tables.columns import joined_type, typed_column
from properly.tables.reading import TableFile
from properly.tables.targets import named_numbers

LARGE = 2**31  # bytes of a file from which on its rows are counted rather than held in memory


class TableFolder:
    """The files of a folder, and of folders in it, as one table; they have the same format and the same columns.

    Files whose names begin with a dot or an underscore, as those that Spark leaves behind, are not read.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, separator: str | None = None, decimal: str | None = None
    ) -> None:
        self.path = str(path)
        found = sorted(each for each in Path(path).rglob("*") if each.is_file() and each.name[0] not in "._")
        if not found:
            raise TableError(f"{self.path} is a folder without files.")
        self.files = [TableFile(each, separator=separator, decimal=decimal) for each in found]
        first = self.files[0]
        self.format, self.notation, self.schema = first.format, first.notation, first.schema
        for each in self.files[1:]:
            if each.format.kind != self.format.kind:
                raise TableError(
                    f"{each.path} has another format than {first.path}, but a folder is one table; convert one of "
                    "them, or move it elsewhere."
                )
            if sorted(each.names) != sorted(self.names):
                raise TableError(
                    f"{each.path} has other columns ({listed(each.names)}) than {first.path} ({listed(self.names)}); "
                    "a folder is one table."
                )
            for name in self.names if self.format.kind != "text" else []:
                kinds = [_kind(file.schema.field(name).type) for file in (first, each)]
                if kinds[0] != kinds[1] and None not in kinds:
                    raise TableError(
                        f"column {name!r} holds {kinds[0]} in {first.path} and {kinds[1]} in {each.path}; a folder is "
                        "one table: convert one of them."
                    )

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    @property
    def n_rows(self) -> int | None:
        numbers = [each.n_rows for each in self.files]
        return None if None in numbers else sum(number for number in numbers if number is not None)

    def require(self, columns: Iterable[str]) -> None:
        require_columns(columns, self.names, self.path, Misuse)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows, in record batches of a few MB, file by file."""
        columns = self.names if columns is None else list(columns)
        for each in self.files:
            yield from each.batches(columns)

    def typed_schema(self, texts: Collection[str] = ()) -> Any:
        schemas = [each.typed_schema(texts) for each in self.files]
        if self.format.kind != "text":
            return self.schema
        found = {name: arrow.null() for name in self.names}
        for schema in schemas:
            found = {name: joined_type(so_far, schema.field(name).type) for name, so_far in found.items()}
        return arrow.schema(list(found.items()))


def table_at(
    path: str | os.PathLike[str], *, separator: str | None = None, decimal: str | None = None
) -> TableFile | TableFolder:
    """A file, or a folder of files."""
    kind = TableFolder if Path(path).is_dir() else TableFile
    return kind(path, separator=separator, decimal=decimal)


def is_large(path: str | os.PathLike[str]) -> bool:
    """Whether a table is counted: a folder, or a file of two gigabytes or more."""
    return Path(path).is_dir() or (Path(path).is_file() and Path(path).stat().st_size >= LARGE)


class CountedTable(NamedTuple):
    """Rows of the same label, score and group as one, in a table with the columns that were asked for."""

    table: Any
    weight: str  # the column with the weight of all of them
    rows: Array  # how many there are


def _kind(given: Any) -> str | None:
    """What a column of this type holds; None if that is nothing."""
    types, value = arrow.types, given.value_type if arrow.types.is_dictionary(given) else given
    if types.is_null(value):
        return None
    if types.is_integer(value) or types.is_floating(value) or types.is_decimal(value):
        return "numbers"
    return (
        "texts" if types.is_string(value) or types.is_large_string(value) or types.is_string_view(value) else str(value)
    )


def counted_table(
    source: TableFile | TableFolder,
    target: str,
    score: str,
    *,
    read: Callable[[Any, Place], Array],
    group: str | None = None,
    weight: str | None = None,
    dask: str | None = None,
) -> CountedTable:
    """A table of any size, counted by score in one pass: here, or by the Dask cluster of a scheduler.

    `read` checks a column of scores.
    """
    wanted = [target, score, *(name for name in (group, weight) if name is not None)]
    source.require(wanted)
    if dask is None:
        found = counted_rows(Stream(lambda: _blocks(source, target, score, read, group, weight)), None, read=_first)
    else:
        found = _by_cluster(dask, source, target, score, group, weight)
    labels, name = arrow.array(found.y), weight or _unused("rows", wanted)
    if source.format.kind == "text":
        labels = typed_column(labels.cast(arrow.string()))
    columns = {target: labels, score: arrow.array(found.score), name: arrow.array(found.weight)}
    if group is not None:
        columns[group] = arrow.array(found.group.tolist() if found.group is not None else [None] * len(labels))
    return CountedTable(arrow.table(columns), name, found.rows)


def _blocks(
    source: TableFile | TableFolder,
    target: str,
    score: str,
    read: Callable[[Any, Place], Array],
    group: str | None,
    weight: str | None,
) -> Iterator[tuple[Any, ...]]:
    wanted = list(dict.fromkeys([target, score, *(name for name in (group, weight) if name is not None)]))
    for file in source.files if isinstance(source, TableFolder) else [source]:
        begin = 0
        for batch in file.batches(wanted):
            values = read(batch.column(score), Place(file.path, score, begin))
            mass = None if weight is None else named_numbers(batch.column(weight), Place(file.path, weight, begin))
            labels, groups = (
                None if name is None else plain(batch.column(name)).to_numpy(zero_copy_only=False)
                for name in (target, group)
            )
            yield values[:, None], labels, mass, None, groups
            begin += batch.num_rows


def _first(values: Array) -> Array:
    return values[:, 0]


def _by_cluster(
    scheduler: str, source: TableFile | TableFolder, target: str, score: str, group: str | None, weight: str | None
) -> Any:
    if source.format.kind != "parquet":
        raise Misuse(f"{source.path}: a Dask cluster reads Parquet files; leave out --dask for others.")
    frames, distributed = require("dask.dataframe", "dask"), require("distributed", "dask")
    try:
        client = distributed.Client(scheduler, timeout=10)
    except (OSError, ValueError) as error:
        raise Misuse(f"there is no Dask scheduler at {scheduler!r} that answers ({error}).") from error
    with client:
        names = list(dict.fromkeys([target, score, *(name for name in (group, weight) if name is not None)]))
        frame = frames.read_parquet(str(Path(source.path).resolve()), columns=names)
        columns = (None if name is None else frame[name] for name in (target, weight, group))
        return counted_rows(frame[[score]], *columns, read=_first)


def _unused(name: str, taken: Collection[str]) -> str:
    return name if name not in taken else _unused(f"{name} counted", taken)
