"""The work of ``properly predict``: a table through a model, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from properly import load
from properly.cli.console import progress
from properly.cli.files import checked_output, scored_path
from properly.persistence import ModelFileError
from properly.tables import TableClassifier, TableError, TableFile, write_batches
from properly.tables.arrow import arrow
from properly.tables.errors import format_of, require_columns
from properly.tables.models import PREFIX
from properly.tables.values import converted


def load_model(path: str) -> TableClassifier:
    """A model that takes tables."""
    model = load(path)
    if not isinstance(model, TableClassifier):
        raise ModelFileError(
            f"{path} holds a {type(model).__name__}, which knows nothing of tables; a model of properly fit, calibrate "
            "or maxent is needed."
        )
    return model


def score_table(
    model: TableClassifier, path: str, output: str | None, prefix: str | None = None, unseen: str = "refuse"
) -> dict[str, Any]:
    """Write a table with what a model says of its rows; returns the summary."""
    file = TableFile(path)
    output = checked_output(scored_path(path) if output is None else output, [path], table=True)
    to_text = format_of(output).kind == "text"
    known = [column.name for column in model.encoder.columns_]
    require_columns(known, file.names, path)
    added = [name if prefix is None else prefix + name.removeprefix(PREFIX) for name in model.output_columns]
    for name in added:
        if name in file.names:
            raise TableError(f"{path} has a column {name!r} already; call the new ones otherwise with --prefix.")
    # Texts of a text file stay as they are in another one; other formats need their types.
    categories = [column.name for column in model.encoder.columns_ if column.kind == "category"]
    schema = file.schema if to_text else file.typed_schema(categories)
    for name in added:
        schema = schema.append(arrow.field(name, arrow.float64()))
    with progress("Predicting", file.n_rows) as tell:

        def scored() -> Iterator[Any]:
            n_rows = 0
            for batch in file.batches():
                columns = model.scored(batch, source=path, first_row=n_rows, unseen=unseen).values()
                kept = [converted(column, schema.field(k).type) for k, column in enumerate(batch.columns)]
                arrays = [*kept, *(arrow.array(column) for column in columns)]
                yield arrow.RecordBatch.from_arrays(arrays, schema=schema)
                n_rows += batch.num_rows
                tell(n_rows, f"{n_rows:,} rows")

        n_rows = write_batches(output, schema, scored())
    return {"output": output, "rows": n_rows, "columns": added}
