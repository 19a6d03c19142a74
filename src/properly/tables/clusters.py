"""Parquet files that the workers of a Dask cluster read, by the rules by which they are read here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from properly.engines.description import priorities
from properly.inputs.misuse import Misuse
from properly.inputs.optional import require
from properly.numeric.probabilities import Array
from properly.tables.base import DrawnFrom, arrow
from properly.tables.folders import Sample, TableBlock, TableFolder, files_of, located
from properly.tables.reading import TableFile


def connected(scheduler: str) -> Any:
    """A client of a Dask scheduler, to be used in a with block."""
    try:
        return require("distributed", "dask").Client(scheduler, timeout=10)
    except (OSError, ValueError) as error:
        raise Misuse(f"there is no Dask scheduler at {scheduler!r} that answers ({error}).") from error


def delayed_pieces(source: TableFile | TableFolder, function: Callable[[TableFile, int], Any]) -> list[Any]:
    """What a function makes of every piece of the files and the position of its file, not computed yet."""
    if source.format.kind != "parquet":
        raise Misuse(f"{source.path}: a Dask cluster reads Parquet files; leave out --dask for others.")
    delayed = require("dask", "dask").delayed(function, pure=False)
    found = []
    for position, file in enumerate(files_of(source)):
        there = copy(file)
        there.path = str(Path(file.path).resolve())  # a worker has another working folder
        found += [delayed(piece, position) for piece in there.pieces()]
    return found


def dask_block(made: Sequence[Any], no_rows: TableBlock) -> TableBlock:
    """Blocks that are not computed yet as one of dask arrays, with the columns of a block of no rows."""
    arrays = require("dask.array", "dask")

    def column(which: int, meta: Any) -> Any:
        shape = (np.nan, *meta.shape[1:])
        return arrays.concatenate([arrays.from_delayed(each[which], shape, meta=meta) for each in made])

    return TableBlock(*(None if meta is None else column(which, meta) for which, meta in enumerate(no_rows)))


def joined(blocks: Sequence[TableBlock]) -> TableBlock:
    """Blocks, of which there is at least one, as one."""
    columns = zip(*blocks, strict=True)
    return TableBlock(*(None if column[0] is None else np.concatenate(column) for column in columns))


def sampled_by_cluster(
    scheduler: str, source: TableFile | TableFolder, columns: Sequence[str], rows: int, seed: int
) -> tuple[Any, DrawnFrom, int]:
    """About so many rows of Parquet files, drawn by a cluster; see `Sample.drawn`."""
    n_rows = source.n_rows or 0
    sample = Sample(source, rows)
    share = (rows + 5.0 * rows**0.5) / max(1, n_rows)  # of which more than so many rows are all but certain
    made = delayed_pieces(source, partial(_drawn, list(columns), share, seed))
    with connected(scheduler):
        for batches in require("dask", "dask").compute(*made):
            for each in batches:
                sample.add(*each)
    table, name, _ = sample.drawn(())
    return table, name, n_rows


def _drawn(
    columns: list[str], share: float, seed: int, piece: TableFile, position: int
) -> list[tuple[Any, int, NDArray[np.intp], Array]]:
    """On a worker: of every batch the rows that are drawn, the position of the file, their places there, priorities."""
    found = []
    for _, batch, begin in located(piece, columns):
        priority = priorities(batch.num_rows, seed, position, begin)
        rows = np.flatnonzero(priority < share)
        found.append((batch.take(arrow.array(rows)), position, begin + rows, priority[rows]))
    return found
