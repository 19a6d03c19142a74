"""Files of Parquet, Arrow and CSV as parts of a stream."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from properly.engines.arrow import Columns, rows_a_part
from properly.engines.description import Part
from properly.files import FORMATS, MISSING_CELLS, Format, files_in
from properly.inputs.optional import require
from properly.inputs.options import choose

_FORMATS = {ending: form for ending, form in FORMATS.items() if form.kind in ("parquet", "ipc", "text")}
_CONVERSION = re.compile(r"In CSV column #(\d+):.*CSV conversion error to (\w+): invalid value '(.*)'", re.DOTALL)


@dataclass
class Source:
    """A file, or a row group of a Parquet file."""

    fragment: Any  # of a data set of Arrow
    path: str
    name: str  # in messages
    state: tuple[int, int] | None
    schema: Any = None  # the types in which its columns are read

    @classmethod
    def opened(cls, path: str, form: Format) -> Self:
        source = cls(None, path, path, _state(path))
        with source.told():
            local = require("pyarrow.fs", "arrow").LocalFileSystem()
            source.fragment = _arrow_format(form).make_fragment(path, filesystem=local)
            source.schema = source.fragment.physical_schema
        repeated = [name for name, count in Counter(source.schema.names).items() if count > 1]
        if repeated:
            raise ValueError(f"{path} has several columns named {repeated[0]!r}; give every column its own name.")
        if form.kind == "text":
            _refuse_other_separators(path, source.schema.names, form.delimiter)
        return source

    @contextmanager
    def told(self) -> Iterator[None]:
        """What Arrow finds wrong while the block runs becomes one line that names the place."""
        self.check_unchanged()
        try:
            yield
        except (OSError, ValueError) as error:  # those of Arrow are among them
            self.check_unchanged()
            mixed = _CONVERSION.search(str(error))
            if mixed is None:
                raise ValueError(f"{self.name} cannot be read: {error}") from error
            column, kind, value = mixed.groups()
            raise ValueError(
                f"column {self.schema.names[int(column)]!r} of {self.path} holds {value!r}, though it was of type "
                f"{kind} up to there; write all its values alike (1.0 and 0.5, not 1 and 0.5), or use Parquet."
            ) from error

    def check_unchanged(self) -> None:
        """Refuse a file that was written to since it was opened: passes over different rows add up to nothing."""
        if _state(self.path) != self.state:
            raise ValueError(
                f"{self.path} has changed since the Stream was made; make a new one, of a copy that nobody writes to."
            )

    def row_groups(self) -> list[Self]:
        return [
            replace(
                self,
                fragment=self.fragment.subset(row_group_ids=[group.id]),
                name=f"row group {group.id} of {self.path}",
            )
            for group in self.fragment.row_groups
        ]


@dataclass
class Files:
    """Files of one format, and which of their columns mean what."""

    sources: list[Source]
    n_rows: int | None
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
        sources: list[Source] = []
        n_rows = 0
        for file in files:
            _check_columns(file, needed, features is None)
            with file.told():
                n_rows += 0 if kind == "text" else file.fragment.count_rows()
                sources += file.row_groups() if kind == "parquet" else [file]
            if kind == "text":
                file.schema = _text_types(file.schema, columns, encoder is not None)
        made = columns.features if encoder is None else [str(name) for name in encoder.get_feature_names_out()]
        return cls(sources, None if kind == "text" else n_rows, columns, made, encoder)

    def parts(self, source: Source, alone: bool) -> Iterator[Part]:
        """The rows of a source, a batch at a time; `alone` says whether other threads are free to decode."""
        ahead = {"use_threads": alone, "batch_readahead": 2 * alone, "fragment_readahead": 1}
        rows, first_row = rows_a_part(len(self.feature_names)), 0
        with source.told():
            batches = iter(
                source.fragment.to_batches(schema=source.schema, columns=self.columns.names, batch_size=rows, **ahead)
            )
        while True:
            with source.told():
                batch = next(batches, None)
            if batch is None:
                return
            if batch.num_rows:
                yield self.columns.part(batch, source.name, self.encoder, first_row)
            first_row += batch.num_rows


def _formats(paths: list[str]) -> dict[str, Format]:
    """All files of these files and folders, with their formats, which are of one kind."""
    found: dict[str, Format] = {}
    seen: set[str] = set()
    for path in paths:
        if not Path(path).exists():
            raise FileNotFoundError(f"no such file: {path}")
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


def _arrow_format(form: Format) -> Any:
    arrow = require("pyarrow.dataset", "arrow")
    if form.kind != "text":
        return arrow.ParquetFileFormat() if form.kind == "parquet" else arrow.IpcFileFormat()
    csv = require("pyarrow.csv", "arrow")
    missing = csv.ConvertOptions(null_values=MISSING_CELLS, strings_can_be_null=True, quoted_strings_can_be_null=False)
    options = arrow.CsvFragmentScanOptions(convert_options=missing)
    return arrow.CsvFileFormat(csv.ParseOptions(delimiter=form.delimiter), default_fragment_scan_options=options)


def _text_types(schema: Any, columns: Columns, encoded: bool) -> Any:
    """The types that Arrow finds in the first block of a file of text, but for those that further blocks may exceed.

    Whole numbers may be followed by fractions, and nothing by anything. What an encoder reads keeps its type.
    """
    pa = require("pyarrow", "arrow")
    numbers = {columns.weight, columns.offset, *(() if encoded else columns.features)}
    for j, field in enumerate(schema):
        if field.name in numbers and (pa.types.is_integer(field.type) or pa.types.is_null(field.type)):
            schema = schema.set(j, field.with_type(pa.float64()))
        elif pa.types.is_null(field.type):
            schema = schema.set(j, field.with_type(pa.string()))
    return schema


def _state(path: str) -> tuple[int, int] | None:
    """What changes when a file is written to: its size, and the time of the last change; None if it is gone."""
    with suppress(OSError):
        found = os.stat(path)
        return found.st_size, found.st_mtime_ns
    return None


def _refuse_other_separators(path: str, names: Sequence[str], delimiter: str) -> None:
    """Refuse a header of one column that rather looks like several."""
    if len(names) == 1 and any(sign in names[0] for sign in ",;|\t"):
        raise ValueError(
            f"{path} has a single column, {names[0]!r}, if cells are separated by {delimiter!r}, as the ending says; "
            "write it with that separator (.csv: commas, .tsv: tabs)."
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
