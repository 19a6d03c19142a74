"""``-`` in place of a table: the standard input, kept in a temporary file because tables are read more than once."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from properly.files import displayed, displayed_as
from properly.inputs.misuse import Misuse

_OUTPUTS = ("-o", "--output", "--report", "--scored")  # whose files are not read


@contextmanager
def standard_input(argv: Sequence[str] | None) -> Iterator[list[str]]:
    """The words of a command, with the name of a file in place of ``-``; its format is told by its content."""
    words = list(sys.argv[1:] if argv is None else argv)
    places = [k for k, word in enumerate(words) if word == "-" and (not k or words[k - 1] not in _OUTPUTS)]
    if not places:
        yield words
        return
    if len(places) > 1:
        raise Misuse("the standard input, -, can stand for one table only.")
    with tempfile.TemporaryDirectory(prefix="properly-") as folder:
        path = words[places[0]] = str(_spooled(Path(folder)))
        with displayed_as(path, "standard input"):
            try:
                yield words
            except ValueError as error:
                if path not in str(error):
                    raise
                raise type(error)(displayed(error)) from error


def _spooled(folder: Path) -> Path:
    """The standard input as a file."""
    from properly.tables.content import PIECE, ending_for

    stream = sys.stdin.buffer
    start = stream.read(PIECE)
    path = folder / f"standard-input{ending_for(start)}"
    with path.open("wb") as file:
        file.write(start)
        shutil.copyfileobj(stream, file)
    return path
