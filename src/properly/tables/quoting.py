"""Quotation marks in text files: one that is opened and not closed would merge rows, and is refused with its line."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from properly.files import Format
from properly.tables.base import TableError
from properly.tables.content import pieces

_QUOTE = b'"'


def require_closed_quotes(path: str, form: Format) -> None:
    """Refuse a text file with a quotation mark that opens a cell and does not close it: rows after it would be lost.

    Almost every file passes a fast test: each mark that opens stands after a separator, each that closes stands before
    one. Only if some do not, as in ``5" pipe``, the file is read again mark by mark, as the parser of CSV would.
    """
    line = None if _plainly_closed(path, form) else _unclosed(path, form)
    if line is not None:
        raise TableError(
            f'{path}: the quotation mark (") that opens a cell in line {line} is never closed, or closed in the middle '
            "of a cell; a quotation mark inside a cell in quotation marks must be doubled."
        )


def _plainly_closed(path: str, form: Format) -> bool:
    """Whether every other mark opens a cell, the ones between close it, and their number is even."""
    edges = np.frombuffer(b"\r\n" + _QUOTE + form.delimiter.encode(), dtype=np.uint8)
    n_marks, last = 0, b"\n"
    carried = b""  # a byte whose successor is not known yet
    for piece in pieces(path, form):
        text = np.frombuffer(last + carried + piece, dtype=np.uint8)
        # The last byte waits for its successor; the first one is only there to precede.
        marks = np.flatnonzero(text[1:-1] == _QUOTE[0]) + 1
        opening = (n_marks + np.arange(len(marks))) % 2 == 0
        beside = np.where(opening, text[marks - 1], text[marks + 1])
        if not np.isin(beside, edges).all():
            return False
        n_marks += len(marks)
        last, carried = text[-2:-1].tobytes(), text[-1:].tobytes()
    return (n_marks + (carried == _QUOTE)) % 2 == 0


def _unclosed(path: str, form: Format) -> int | None:
    """The line in which a cell opens with a mark that is not closed as it should be; None if there is none."""
    separators = (b"", b"\r", b"\n", form.delimiter.encode())
    opened = None
    for number, line in enumerate(_lines(path, form), start=1):
        place = line.find(_QUOTE)
        while place >= 0:
            if opened is None:
                if line[max(place - 1, 0) : place] in separators:  # elsewhere it is a part of the text
                    opened = number
                place += 1
            elif line[place + 1 : place + 2] == _QUOTE:
                place += 2
            elif line[place + 1 :].lstrip(b" ")[:1] in separators:
                opened = None
                place += 1
            else:
                return opened
            place = line.find(_QUOTE, place)
    return opened


def _lines(path: str, form: Format) -> Iterator[bytes]:
    rest = b""
    for piece in pieces(path, form):
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line + b"\n" for line in lines)
    yield rest
