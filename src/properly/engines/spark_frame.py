"""What users say of a Spark data frame, and the columns that its rows are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from properly.engines.arrow import Columns
from properly.inputs.optional import require

_SMALL = ("float", "byte", "short", "boolean")  # float32 holds every value
_NUMBERS = (*_SMALL, "integer", "long", "double", "decimal")
_LABELS = (*_NUMBERS, "string", "char", "varchar", "date", "timestamp", "timestamp_ntz")


class Spark:
    """A Spark data frame, and which of its columns mean what: what `fit` takes as X.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Of a classic session; of Spark Connect for predictions only.
    target : str
        The column with the labels.
    features : list of str, or str, optional
        The columns used, by default all others; or the one column that holds vectors or arrays.
    sample_weight, offset : str, optional
        The columns with weights and offsets.
    group : str, optional
        A column of any labels, such as a customer or a region. Rows with the same one stay together in the folds of a
        cross-validation, and are judged together by an audit.

    Notes
    -----
    The first pass of a fit writes the rows as raw numbers to the local disks of the executors (``spark.local.dir``),
    from where the workers of a machine map them into their memory; the files are removed when the fit ends. There is
    at most one task for every core, since each takes a while to start (with dynamic allocation, one for every
    partition). Sparse vectors become dense.
    """

    def __init__(
        self,
        frame: Any,
        *,
        target: str | None = None,
        features: Sequence[str] | str | None = None,
        sample_weight: str | None = None,
        offset: str | None = None,
        group: str | None = None,
    ) -> None:
        if not type(frame).__module__.startswith("pyspark.sql"):
            raise ValueError(
                f"frame must be a Spark data frame, got a {type(frame).__module__}.{type(frame).__name__}."
            )
        self.connect = ".connect." in type(frame).__module__
        if not self.connect and frame.sparkSession.sparkContext._jsc is None:
            raise ValueError("the Spark session of the frame has ended; read the frame in a new one.")
        if frame.isStreaming:
            raise ValueError("a streaming frame has no end; write its rows, and fit to what was written.")
        self.columns = Columns.chosen(frame.columns, "the frame", features, target, sample_weight, offset, group)
        _check_names(frame, self.columns.names)
        names = self.columns.features
        self.vectors = len(names) == 1 and _kind_of(frame, names[0]) in ("vectorudt", "array")
        self.X = _vectors(frame, *names) if self.vectors else _array(frame, names)
        """One column, of arrays of the features."""
        attributes = frame.schema[names[0]].metadata.get("ml_attr", {})
        self.n_features: int | None = attributes.get("num_attrs") if self.vectors else len(names)
        for name in (target, group):
            if name is not None and _kind_of(frame, name) not in _LABELS:
                raise ValueError(
                    f"column {name!r} holds {_kind_of(frame, name)} in the frame; labels and groups are numbers, texts "
                    "or dates: convert it, or name another column."
                )
        # Spark itself does not find all names again: those with dots.
        roles = (_column(frame, name).alias(f"c{k}") for k, name in enumerate(self.columns.roles, start=1))
        self.frame = frame.select(self.X.alias("c0"), *roles)


def _check_names(frame: Any, used: Sequence[str]) -> None:
    """Refuse names that Spark cannot tell apart."""
    exact = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    known = [name if exact else name.lower() for name in frame.columns]
    for name in used:
        if known.count(name if exact else name.lower()) > 1:
            raise ValueError(f"the frame has two columns {name!r}; rename or drop one.")


def _kind_of(frame: Any, name: str) -> str:
    return str(frame.schema[name].dataType.typeName())


def _column(frame: Any, name: str) -> Any:
    """A column of a frame, whatever dots its name has."""
    return frame["`" + name.replace("`", "``") + "`"]


def _vectors(frame: Any, name: str) -> Any:
    """A column of vectors, or of arrays of numbers, as arrays of numbers that NumPy has."""
    column, kind = _column(frame, name), frame.schema[name].dataType
    if kind.typeName() == "array":
        element = _checked(kind.elementType.typeName(), name)
        return column if element in ("float", "double") else column.cast("array<double>")
    sql, as_array = require("pyspark.sql.functions", "spark"), require("pyspark.ml.functions", "spark").vector_to_array
    inside = sql.unwrap_udt(column)  # that of a dense vector is there already: it need not be made
    return sql.when(inside["type"] == 1, inside["values"]).when(column.isNotNull(), as_array(column))


def _array(frame: Any, names: Sequence[str]) -> Any:
    """Columns of numbers as arrays, which Spark hands over much faster than many columns."""
    small = all([_checked(_kind_of(frame, name), name) in _SMALL for name in names])
    columns = [_column(frame, name).cast("float" if small else "double") for name in names]
    return require("pyspark.sql.functions", "spark").array(*columns)


def _checked(kind: str, name: str) -> str:
    if kind not in _NUMBERS:
        raise ValueError(f"column {name!r} holds {kind} in the frame, not numbers; encode or leave it out.")
    return kind
