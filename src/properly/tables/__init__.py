"""Tables in files: read and written in batches, and turned into the numbers that models take."""

from properly.tables.base import TableError, as_table
from properly.tables.columns import numbers
from properly.tables.encoder import TableEncoder
from properly.tables.folders import TableFolder, table_at
from properly.tables.models import LinearFeatures, TableClassifier, TableMaxent, WithFeatures
from properly.tables.reading import TableFile, read_batches, read_table
from properly.tables.writing import write_batches

__all__ = [
    "LinearFeatures",
    "TableClassifier",
    "TableEncoder",
    "TableError",
    "TableFile",
    "TableFolder",
    "TableMaxent",
    "WithFeatures",
    "as_table",
    "numbers",
    "read_batches",
    "read_table",
    "table_at",
    "write_batches",
]
