"""Predicted probabilities in files, with the classes, weights and groups of their rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.engines import Stream
from properly.forecasts import audited_forecast
from properly.forecasts.counting import MOST_GROUPS, TooManyGroups
from properly.inputs.forecast import MISSING, Forecast, Groups
from properly.inputs.misuse import Misuse
from properly.inputs.weights import unit_of
from properly.metrics.decisions import least_cost
from properly.numeric.probabilities import Array
from properly.tables.base import Place, arrow, distinct, listed
from properly.tables.columns import texts
from properly.tables.counted import class_blocks, classes_in, counted_table, counting, refuse_other_sums
from properly.tables.folders import TableFolder, column_as_read, is_large, table_at
from properly.tables.reading import TableFile
from properly.tables.targets import (
    against_rest,
    class_labels,
    columns_of_classes,
    completed,
    encoded_column,
    group_codes,
    probabilities,
    warn_if_named_after_another,
    weights,
)


class Predictions(NamedTuple):
    """What `read_predictions` returns: rows of weight 0 are left out everywhere."""

    forecast: Forecast
    groups: Groups | None
    clusters: NDArray[Any] | None
    against: Array | None
    cell_width: float = 0.0  # of rows that were counted: see `Audit`


def read_predictions(
    path: str | os.PathLike[str],
    target: str,
    probability: Sequence[str],
    *,
    positive: str | None = None,
    group: str | None = None,
    cluster: str | None = None,
    weight: str | None = None,
    against: str | None = None,
    needs_positive: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    dask: str | None = None,
    costs: Any = None,
) -> Predictions:
    """Read only the columns that are needed, and check every value in them; rows of weight 0 are left out.

    With one column of probabilities the target has two values, and the probability is that of the positive class, or
    of `positive` against all others. With several columns there is one for every class, named by the class, perhaps
    with a prefix that all of them have. `needs_positive` names an option that depends on the positive one of two.
    `against` is a second column of probabilities of that class. The rows of a folder, and of a very large file, are
    counted by probability: here, or by the cluster of a Dask scheduler. The decisions of several classes, counted with
    them, are those of `costs`.
    """
    file, counted = table_at(path, separator=separator, decimal=decimal), None
    place, columns = Place(file.path, target), list(probability)
    single = len(columns) == 1
    if isinstance(file, TableFolder) or dask is not None or (is_large(path) and single and not (cluster or against)):
        for name in [name for name, column in {"cluster": cluster, "against": against}.items() if column is not None]:
            raise Misuse(
                f"{name} needs all rows in memory, but those of {file.path} are counted by probability, as there may "
                f"be too many; leave out {name}, or give one file, which is then read as a whole (without --dask)."
            )
        if not single:
            return _counted_classes(file, target, columns, group, weight, dask, costs)
        counted = counted_table(file, target, columns[0], read=probabilities, group=group, weight=weight, dask=dask)
        table, weight = counted.table, counted.weight
    else:
        table = file.read(distinct(target, *probability, group, cluster, weight, against))
    labels = class_labels(
        table.column(target),
        place,
        None if single else positive,
        columns[0] if single and positive is None else None,
        fewest=1,
    )
    if len(labels.classes) == 1:
        labels = completed(labels, place, columns, positive)
    if single and positive is not None:
        labels = against_rest(labels, positive, place, columns[0])
    if single and len(labels.classes) > 2:
        raise Misuse(
            f"{place} has {len(labels.classes)} classes ({listed(map(str, labels.classes))}): name a column of "
            "probabilities for each of them, or the class that the single column is for, with positive (--positive)."
        )
    if single or needs_positive is not None:
        labels.require_told(place, f"the column {columns[0]!r} of probabilities" if single else str(needs_positive))
    classes, codes = [str(label) for label in labels.classes], labels.codes.astype(np.int8)
    if not single:
        found = columns_of_classes(columns, classes, file.path)
        if set(found) != set(classes):  # a class that has a column and no rows
            codes = np.array([list(found).index(name) for name in classes], dtype=np.int8)[codes]
            classes = list(found)
        columns = [found[name] for name in classes]
    if against is not None and len(classes) == 2:
        warn_if_named_after_another(against, classes, 1)
    p = _probabilities(table, columns, file.path)
    row_weights = None if weight is None else weights(table.column(weight), Place(file.path, weight))
    unit, rows, width = (unit_of(row_weights), None, 0.0) if counted is None else counted[2:]
    forecast = Forecast(codes, p, None, row_weights, np.array(classes), unit=unit, rows=rows).without_weight_0()
    groups = None if group is None else _groups(table.column(group), Place(file.path, group), forecast)
    clusters = (
        None if cluster is None else forecast.kept(group_codes(table.column(cluster), file.path, cluster, "cluster"))
    )
    other = None if against is None else forecast.kept(_probabilities(table, [against], file.path))
    del table
    arrow.default_memory_pool().release_unused()  # of ten million rows, half a gigabyte
    return Predictions(forecast, groups, clusters, other, width)


def _counted_classes(
    file: TableFile | TableFolder,
    target: str,
    columns: list[str],
    group: str | None,
    weight: str | None,
    dask: str | None,
    costs: Any,
) -> Predictions:
    """A column of probabilities for every class, of a table of any size: one pass for the classes, one for the rest."""
    if dask is not None:
        raise Misuse("a Dask cluster counts one column of probabilities; leave out --dask for several classes.")
    file.require(distinct(target, *columns, group, weight))
    meant = classes_in(file, target)
    classes = distinct(*meant.values())
    found = columns_of_classes(columns, classes, file.path)
    if set(found) == set(classes):
        found = {name: found[name] for name in classes}
    if len(found) < 3:
        raise Misuse("of two classes, name one column of probabilities: that of the positive class.")
    blocks = partial(class_blocks, file, target, meant, found, group, weight)
    decide = None if costs is None else partial(least_cost, costs)
    names = np.array(list(found))
    with counting(file, group, weight):
        forecast, groups, width = audited_forecast(Stream(blocks), None, None, None, range(len(names)), decide)
    coded = None
    if group is not None and groups is not None:
        coded = _groups(column_as_read(groups, file, group), Place(file.path, group), forecast)
    return Predictions(replace(forecast, classes=names), coded, None, None, width)


def _probabilities(table: Any, columns: list[str], source: str) -> Array:
    """Of shape (n,) for one or two columns, (n, K) for more; what is wrong is told with its column and row."""
    found = []
    for name in columns:
        place = Place(source, name)
        found.append(probabilities(table.column(name), place))
    if len(found) == 1:
        return found[0]
    refuse_other_sums(found, source)
    return found[1] if len(found) == 2 else np.column_stack(found)


def _groups(column: Any, place: Place, forecast: Forecast) -> Groups:
    """As `read_groups` gives them; each distinct value is looked at once."""
    encoded = encoded_column(column)
    names = [MISSING if name is None else name for name in texts(encoded.dictionary, place).to_pylist()]
    if encoded.null_count:
        names.append(MISSING)
    known, position = np.unique(np.array(names, dtype=object), return_inverse=True)
    if len(known) > MOST_GROUPS:
        raise TooManyGroups(place)
    codes = position.astype(np.int32)[encoded.indices.fill_null(len(names) - 1).to_numpy()]
    return Groups(tuple(known.tolist()), forecast.kept(codes))
