"""What a file holds, by its first bytes: a name that promises another format is refused with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from properly.files import FORMATS, Format
from properly.tables.base import TableError, arrow

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
PIECE = 2**21  # bytes that are looked at together
# How files of other formats begin, and what they are.
_BEGINNINGS = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"FEA1": "a Feather file of version 1, which is no longer read; write it again as version 2 or as Parquet",
    b"\x1f\x8b": "a gzip file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"PK\x03\x04": "a ZIP archive, such as .xlsx, .ods and .skops; export the table as CSV or Parquet",
    b"SQLite format 3": "an SQLite database; export the table as CSV or Parquet",
}
_OWN = {"gzip": "a gzip file", "zstd": "a zstd file", "parquet": "a Parquet file", "ipc": "an Arrow file"}


def check_content(path: str, form: Format) -> None:
    """Refuse a file that begins as one of another format does, or that should be text and is not."""
    with Path(path).open("rb") as file:
        start = file.read(PIECE)
    found = next((what for beginning, what in _BEGINNINGS.items() if start.startswith(beginning)), None)
    if found is not None and found != _OWN.get(form.compression or form.kind):
        what, _, remedy = found.partition("; ")
        right = [ending for ending, each in FORMATS.items() if _OWN.get(each.compression or each.kind) == what]
        remedy = remedy or f"its name must end with {' or '.join(right)}"
        raise TableError(f"{path} is {what}; {remedy}.")
    if form.kind in ("text", "json") and form.compression is None:
        if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise TableError(f"{path} is encoded in UTF-16; convert it to UTF-8 first.")
        if b"\0" in start:
            raise TableError(f"{path} is not a text file: byte {start.index(0) + 1:,} is zero, as in binary data.")


def ending_for(start: bytes) -> str:
    """The ending of a table of which only the content is known, such as standard input.

    >>> ending_for(b"PAR1..."), ending_for(b'{"a": 1}'), ending_for(b"a,b")
    ('.parquet', '.jsonl', '.csv')
    """
    packed = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
    for beginning, ending in packed.items():
        if start.startswith(beginning):
            unpacked = arrow.input_stream(
                arrow.BufferReader(start), compression={".gz": "gzip", ".zst": "zstd"}[ending]
            )
            return ending_for(unpacked.read(1)) + ending
    if start.startswith((b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")):  # the last: a stream of Arrow
        return ".parquet" if start.startswith(b"PAR1") else ".arrow"
    return ".jsonl" if start.removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"{") else ".csv"


def pieces(path: str, form: Format) -> Iterator[bytes]:
    """The bytes of a file of lines, unpacked, without a byte order mark."""
    with opened(path, form) as stream:
        piece: Any = stream.read(PIECE).removeprefix(BYTE_ORDER_MARK)
        while piece:
            yield piece
            piece = stream.read(PIECE)


def opened(path: str, form: Format) -> Any:
    """The bytes of a file of lines, unpacked."""
    return arrow.input_stream(path, compression=form.compression)
