"""Add a model's probabilities to a table.

Read a table in batches, add a column of probabilities for every class, and write it with all its
columns. Memory does not grow with the table. The model is a file of properly fit, calibrate or maxent.
With --dask a cluster reads the files of a folder, each worker its own, and writes a folder of them.

example: properly predict model.skops new.parquet -o scored.parquet
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, cast

import properly
from properly.cli.arguments import (
    NOTATION,
    Arguments,
    add_notation,
    check_new_folder,
    check_output,
    checked,
    one_of,
    read_key,
    table_file,
    whole,
)
from properly.files import FilePath, atomic_folder, files_in
from properly.inputs.misuse import Misuse
from properly.progress import progress

_UNSEEN = ("missing", "refuse")
_CATCHING = Lock()


def add_arguments(add: Arguments) -> None:
    add("model")
    add("table")
    add("-o --output FILE")
    add("--prefix TEXT")
    add("--unseen", choices=_UNSEEN)
    add("--key-file FILE")
    add("--max-bytes N")
    add("--dask SCHEDULER")
    add_notation(add)


@checked(unseen=one_of(lambda: _UNSEEN), max_bytes=whole(1), **NOTATION)
def predict_table(
    model: FilePath,
    table: FilePath,
    *,
    output: FilePath | None = None,
    prefix: str | None = None,
    unseen: str = "missing",
    key_file: FilePath | None = None,
    max_bytes: int | None = None,
    dask: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
) -> dict[str, Any]:
    """Write a table with a model's probabilities for its rows, as ``properly predict`` does.

    Parameters
    ----------
    model : path
        A model file of properly fit, calibrate or maxent.
    table : path
        The rows to predict: a file, or a folder of files with the same columns.
    output : path, optional
        The table with probabilities to write, in the format of its ending; if it is not given, NAME-scored.ENDING,
        after the name of the table, in the working folder. With `dask` a folder, NAME-scored if it is not given.
    prefix : str, optional
        What the added columns begin with, before the class; probability_ if it is not given.
    unseen : {"missing", "refuse"}, default "missing"
        Whether a category that did not occur in training counts as missing, with a warning, or is an error.
    key_file : path, optional
        The file with the secret with which the model was saved; a model that was altered, or saved without it, is an
        error.
    max_bytes : int, optional
        How large the model may be when unpacked; if it is not given, 100 MB or 20 times the size of its file.
    dask : str, optional
        The address of a Dask scheduler, such as tcp://10.0.0.1:8786, whose workers read the files of the folder
        `table` and write those of the folder `output`, under the same paths as here.
    separator : str, optional
        What separates the cells of a text file, such as ; or tab; recognised if it is not given.
    decimal : {".", ","}, optional
        The decimal sign of a text file; recognised if it is not given.

    Returns
    -------
    dict
        The "output" file, the number of its "rows", the names of the added "columns", and, if there are any, "unseen":
        the number of rows with a category that did not occur in training, by column.
    """
    if dask is None and output is not None:
        output = _table_file(output)
    loaded = load_model(model, read_key(key_file), max_bytes)
    if not isinstance(loaded, properly.tables.TableClassifier):
        raise ValueError(
            f"{model} holds a {type(loaded).__name__}, which does not take tables; a model of properly fit, calibrate "
            "or maxent is needed."
        )
    table = table if dask is None else Path(table).resolve()
    file = properly.tables.table_at(table, separator=separator, decimal=decimal)
    if dask is not None:
        return _score_folder(loaded, file, output, prefix, unseen, dask)
    return score_table(loaded, file, output, prefix, unseen)


def _table_file(output: FilePath) -> FilePath:
    try:
        return cast(FilePath, table_file(output))
    except ValueError as error:
        raise Misuse(f"output: {error}.") from error


def _score_folder(
    model: properly.tables.TableClassifier,
    folder: properly.tables.TableFile | properly.tables.TableFolder,
    output: FilePath | None,
    prefix: str | None,
    unseen: str,
    scheduler: str,
) -> dict[str, Any]:
    """Write a folder of tables with the output of a model, a file by each task of a cluster; returns the summary."""
    from properly.tables.clusters import connected

    if not isinstance(folder, properly.tables.TableFolder):
        raise Misuse(f"{folder.path}: a Dask cluster reads the files of a folder; leave out --dask for a single file.")
    source = Path(folder.path)
    target = Path(f"{source.name}-scored" if output is None else output)
    check_new_folder(target, inputs=[source])
    with connected(scheduler) as client, atomic_folder(target) as beside:
        places = [str(beside / Path(each.path).relative_to(source)) for each in folder.files]
        for place in places:
            Path(place).parent.mkdir(parents=True, exist_ok=True)
        tasks = client.map(partial(_score_part, model, prefix, unseen), folder.files, places, pure=False)
        try:
            done = client.gather(tasks)
        finally:  # also when the user interrupts: nothing keeps running
            client.cancel(tasks)
    strange = _Unseen(folder.path)
    for _, found in done:
        strange.add(found)
    strange.warn()
    summary = {"output": str(target), "rows": sum(each["rows"] for each, _ in done), "columns": done[0][0]["columns"]}
    return summary | {"unseen": strange.rows} if strange.rows else summary


def _score_part(
    model: properly.tables.TableClassifier, prefix: str | None, unseen: str, file: properly.tables.TableFile, place: str
) -> tuple[dict[str, Any], list[tuple[str, str, int]]]:
    """On a worker: the summary of a file, and its unseen categories."""
    summary, strange = _written(model, file, place, prefix, unseen)
    return summary, [(column, example, strange.rows[column]) for column, example in strange.first.items()]


def load_model(path: FilePath, key: bytes | None = None, max_bytes: int | None = None) -> Any:
    """The model in a file; one of unknown types needs Python, where they can be trusted by name."""
    try:
        return properly.load(path, key=key, max_bytes=max_bytes)
    except ValueError as error:
        if "trusted=" not in str(error):
            raise
        raise ValueError(
            f"{str(error).partition(' If you know them')[0]} No command loads such a file; if you trust it, use "
            f"Python: properly.load({str(path)!r}, trusted=[...])."
        ) from error


def scored_path(table: FilePath) -> str:
    """The default output, in the working folder.

    >>> scored_path("data/new.csv.gz")
    'new-scored.csv.gz'
    """
    if Path(table).is_dir():
        return f"{Path(table).resolve().name}-scored{properly.tables.base.ending_of(str(files_in(table)[0]))}"
    name, ending = Path(table).name, properly.tables.base.ending_of(str(table))
    return f"{name[: -len(ending)]}-scored{ending}"


def score_table(
    model: properly.tables.TableClassifier,
    file: properly.tables.TableFile | properly.tables.TableFolder,
    output: FilePath | None = None,
    prefix: str | None = None,
    unseen: str = "missing",
) -> dict[str, Any]:
    """Write a table with the output of a model for its rows, batch by batch; returns the summary."""
    summary, strange = _written(model, file, output, prefix, unseen)
    strange.warn()
    return summary


def _written(
    model: properly.tables.TableClassifier,
    file: properly.tables.TableFile | properly.tables.TableFolder,
    output: FilePath | None,
    prefix: str | None,
    unseen: str,
) -> tuple[dict[str, Any], _Unseen]:
    tables, arrow = properly.tables, properly.tables.base.arrow
    output = scored_path(file.path) if output is None else str(output)
    form = tables.base.format_of(output)
    check_output(output, inputs=[file.path])
    tables.base.require_columns((column.name for column in model.encoder.columns_), file.names, file.path)
    added = model.output_columns
    if prefix is not None:
        added = [prefix + name.removeprefix(tables.models.PREFIX) for name in added]
    for name in added:
        if name in file.names:
            raise Misuse(f"{file.path} already has a column {name!r}; choose another prefix with --prefix.")
    # Texts of a text file stay as they are in another one; other formats need their types.
    categories = [column.name for column in model.encoder.columns_ if column.kind == "category"]
    schema = file.schema if form.kind == "text" else file.typed_schema(categories)
    for name in added:
        schema = schema.append(arrow.field(name, arrow.float64()))
    strange = _Unseen(file.path)
    with progress("Predicting", file.n_rows) as tell:

        def scored() -> Iterator[Any]:
            n_rows = 0
            for part, batch, begin in tables.folders.located(file, file.names):
                with strange:
                    columns = model.scored(batch, source=part.path, first_row=begin, unseen=unseen).values()
                kept = [
                    tables.columns.converted(column, schema.field(k).type) for k, column in enumerate(batch.columns)
                ]
                arrays = [*kept, *(arrow.array(column) for column in columns)]
                yield arrow.RecordBatch.from_arrays(arrays, schema=schema)
                n_rows += batch.num_rows
                tell(n_rows, f"{n_rows:,} rows")

        n_rows = tables.write_batches(output, schema, scored())
    found = {"output": output, "rows": n_rows, "columns": added}
    return (found | {"unseen": strange.rows} if strange.rows else found), strange


class _Unseen:
    """Warnings about categories that did not occur in training: one for all batches of a file or folder."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.first: dict[str, str] = {}  # example of every column
        self.rows: dict[str, int] = {}

    def __enter__(self) -> None:
        _CATCHING.acquire()  # what catches warnings is shared by threads, of which a cluster's worker may have several
        self.catching = warnings.catch_warnings(record=True)
        self.caught = self.catching.__enter__()
        warnings.simplefilter("always")

    def __exit__(self, *error: Any) -> None:
        self.catching.__exit__(*error)
        _CATCHING.release()
        for each in self.caught or []:
            found = each.message
            if isinstance(found, properly.tables.encoder.UnseenCategories):
                self.add([(found.column, found.example, found.n_rows)])
            else:
                warnings.warn(found, each.category, stacklevel=2)

    def add(self, found: list[tuple[str, str, int]]) -> None:
        """Columns, examples and numbers of rows."""
        for column, example, rows in found:
            self.first.setdefault(column, example)
            self.rows[column] = self.rows.get(column, 0) + rows

    def warn(self) -> None:
        for column, example in self.first.items():
            kind = properly.tables.encoder.UnseenCategories
            warnings.warn(kind(self.source, column, example, self.rows[column]), stacklevel=3)


def show(summary: dict[str, Any], console: Any) -> None:
    """What was added, and where it is."""
    columns = ", ".join(summary["columns"])
    console.print(f"{summary['rows']:,} rows, with the new columns {columns}.\n\nTable: {summary['output']}")


run = predict_table
