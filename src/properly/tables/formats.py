"""Which ending of a file's name stands for which format."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from properly.tables.errors import TableError


class Format(NamedTuple):
    """How a table is written."""

    kind: str  # "text", "parquet" or "arrow"
    delimiter: str = ""
    gzipped: bool = False


FORMATS = {
    ".csv": Format("text", ","),
    ".tsv": Format("text", "\t"),
    ".csv.gz": Format("text", ",", gzipped=True),
    ".tsv.gz": Format("text", "\t", gzipped=True),
    ".parquet": Format("parquet"),
    ".pq": Format("parquet"),
    ".arrow": Format("arrow"),
    ".feather": Format("arrow"),
    ".ipc": Format("arrow"),
}


def ending_of(path: str) -> str:
    """The ending that tells the format, as it is written.

    >>> ending_of("data/scores.v2.csv.gz")
    '.csv.gz'
    """
    name = Path(path).name
    found = [name[-len(ending) :] for ending in FORMATS if name.lower().endswith(ending)]
    if not found:
        raise TableError(f"{path}: the ending must be one of {', '.join(FORMATS)}.")
    return max(found, key=len)


def format_of(path: str) -> Format:
    """The format that the ending of a name stands for.

    >>> format_of("a.tsv").delimiter
    '\\t'
    >>> format_of("a.xlsx")
    Traceback (most recent call last):
    properly.tables.errors.TableError: a.xlsx: the ending must be one of .csv, .tsv, .csv.gz, .tsv.gz, .parquet, .pq,
    .arrow, .feather, .ipc.
    """
    return FORMATS[ending_of(path).lower()]
