"""Files of Parquet, Arrow and CSV as parts of a stream."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from properly.engines.arrow import Columns, gathered, kind_of, rows_a_part
from properly.engines.description import Part
from properly.engines.stream_sources import Source
from properly.files import FORMATS, Format, files_in
from properly.inputs.optional import require
from properly.inputs.options import choose

_FORMATS = {ending: form for ending, form in FORMATS.items() if form.kind in ("parquet", "ipc", "text")}
_TEXT = 8  # numbers that need as much memory as a text
_ELSEWHERE = re.compile(r"[*?\[]|^~|://")  # in what other programs would expand to a path


@dataclass
class Files:
    """Files of one format, and which of their columns mean what."""

    sources: list[Source]
    n_rows: int  # about, of text
    columns: Columns
    feature_names: list[str]
    encoder: Any

    @classmethod
    def found(
        cls, paths: list[str], features: Sequence[str] | str | None, roles: tuple[str | None, ...], encoder: Any
    ) -> Files:
        if encoder is not None and not (hasattr(encoder, "transform") and hasattr(encoder, "get_feature_names_out")):
            raise ValueError(
                "encoder must be a fitted transformer, with transform and get_feature_names_out, got a "
                f"{type(encoder).__name__}."
            )
        forms = _formats(paths)
        kind = next(iter(forms.values())).kind
        files = [Source.opened(path, form) for path, form in forms.items()]
        names = files[0].schema.names
        columns = Columns.chosen(names, "the file", features, *roles)
        needed = names if features is None else columns.names
        for file in files:
            _check_columns(file, needed, features is None)
        if kind == "text":
            _set_types(files, columns, encoder is not None)
        else:
            _check_kinds(files, columns)
        sources = [each for file in files for each in (file.row_groups() if kind == "parquet" else [file])]
        made = columns.features if encoder is None else [str(name) for name in encoder.get_feature_names_out()]
        return cls(sources, sum(file.n_rows for file in files), columns, made, encoder)

    def parts(self, source: Source, alone: bool) -> Iterator[Part]:
        """The rows of a source, a part at a time; `alone` says whether other threads are free to decode."""
        texts = sum(kind_of(source.schema.field(name).type) == "texts" for name in self.columns.labels)
        rows, first_row = rows_a_part(len(self.feature_names) + _TEXT * texts), 0
        batches = gathered(source.batches(self.columns.names, rows, alone), lambda _: rows)
        for batch in _ahead(batches) if alone else batches:
            yield self.columns.part(batch, source.name, self.encoder, first_row)
            first_row += batch.num_rows


def _ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """The same, of which another thread gets the next one ready."""
    with ThreadPoolExecutor(1, thread_name_prefix="properly-decode") as pool:
        coming = pool.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = pool.submit(next, batches, None)
            yield batch


def _formats(paths: list[str]) -> dict[str, Format]:
    """All files of these files and folders, with their formats, which are of one kind."""
    found: dict[str, Format] = {}
    seen: set[str] = set()
    for path in paths:
        if not path:
            raise ValueError("source must name a file or a folder, got an empty path.")
        if not Path(path).exists():
            hint = "; patterns, ~ and addresses are not expanded: name a folder of this machine."
            raise FileNotFoundError(f"no such file: {path}{hint if _ELSEWHERE.search(path) else ''}")
        inside = [path] if Path(path).is_file() else [str(each) for each in files_in(path)]
        if not inside:
            raise ValueError(f"{path} is a folder without files; name one that has some.")
        for file in inside:
            if os.path.realpath(file) in seen:
                raise ValueError(f"{file} is named twice, and its rows would count twice; name it once.")
            seen.add(os.path.realpath(file))
            found[file] = _format_of(file)
    first, form = next(iter(found.items()))
    for file, other in found.items():
        if other.kind != form.kind:
            raise ValueError(
                f"{file} has another format than {first}, but all files are one table; convert one of them, or move "
                "it elsewhere."
            )
    return found


def _format_of(path: str) -> Format:
    name = Path(path).name.lower()
    ending = next((end for end in sorted(_FORMATS, key=len, reverse=True) if name.endswith(end)), Path(name).suffix)
    return choose(ending, _FORMATS, f"the ending of {path}")


def _set_types(files: list[Source], columns: Columns, encoded: bool) -> None:
    """The types in which columns of text are read.

    They are those that Arrow finds in the first megabyte of a file, but for those that what follows may exceed: whole
    numbers may be followed by fractions, and nothing by anything. What an encoder reads keeps its type. A column of
    labels or groups has one type in all files, which is text if some have texts there, as they would in a single file.
    """
    pa = require("pyarrow", "arrow")
    for file in files:
        for name in columns.names:
            if pa.types.is_binary(file.schema.field(name).type):
                raise ValueError(f"{file.path} is not encoded in UTF-8 (column {name!r}); save it as UTF-8.")
    for name in columns.labels:
        joined = _joined_type([file.schema.field(name).type for file in files])
        for file in files:
            file.read_as(name, joined)
    numbers = {columns.weight, columns.offset, *(() if encoded else columns.features)}
    for file in files:
        for name in columns.names:
            kind = file.schema.field(name).type
            if name in numbers and (pa.types.is_integer(kind) or pa.types.is_null(kind)):
                file.read_as(name, pa.float64())
            elif pa.types.is_null(kind):
                file.read_as(name, pa.string())


def _joined_type(types: list[Any]) -> Any:
    """That of a column in which Arrow found these types, one in every file: text, if they have nothing in common."""
    pa = require("pyarrow", "arrow")
    if any(map(pa.types.is_timestamp, types)):
        types = [pa.timestamp("s") if pa.types.is_date(each) else each for each in types]
    try:
        schemas = [pa.schema([("", each)]) for each in types]
        return pa.unify_schemas(schemas, promote_options="permissive").types[0]
    except pa.ArrowException:
        return pa.string()


def _check_kinds(files: list[Source], columns: Columns) -> None:
    """Refuse labels or groups that are numbers in one file and texts in another: they are never the same."""
    for name in columns.labels:
        kinds = [(kind_of(file.schema.field(name).type), file.path) for file in files]
        (first, place), *others = [each for each in kinds if each[0] is not None] or [(None, "")]
        for other, path in others:
            if other != first:
                raise ValueError(
                    f"column {name!r} holds {first} in {place} and {other} in {path}, but all files are one table; "
                    "convert one of them."
                )


def _check_columns(file: Source, needed: Sequence[str], others_count: bool) -> None:
    """Refuse a file without these columns, or with others where all of a file are features."""
    names = file.schema.names
    wrong = [name for name in needed if name not in names]
    wrong += [name for name in names if others_count and name not in needed]
    if wrong:
        raise ValueError(
            f"column {wrong[0]!r} is not in all files: {file.path} has {', '.join(map(repr, names))}; give all "
            "files the same columns, or name those that all have (features=)."
        )
