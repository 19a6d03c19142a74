"""Files of a command: where its output goes, and what is told about its input."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def checked_output(path: str, inputs: Iterable[str], outputs: Iterable[str] = (), *, table: bool = False) -> str:
    """The path, if a file can be written there; told before the long work, not after it.

    It must be none of the inputs and none of the other outputs. The ending of a table must be known.
    """
    if table:
        from properly.tables.errors import format_of

        format_of(path)
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it.")
    folder = target.resolve().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {folder}.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{path} cannot be written: no permission for {folder}.")
    if target.exists() and not target.is_file():
        return path  # a device, such as /dev/null, takes everything
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"{path} cannot be written: the file is read-only.")
    for names, role in ((inputs, "an input"), (outputs, "another output")):
        if any(_same(target, Path(name)) for name in names):
            raise ValueError(f"{path} is {role}; give the output another name.")
    return path


def _same(first: Path, second: Path) -> bool:
    if first.exists() and second.exists():
        return first.samefile(second)
    return first.resolve() == second.resolve()


def scored_path(path: str) -> str:
    """Where predictions go if nothing else is said: beside nothing, in the working folder.

    >>> scored_path("data/new.csv.gz")
    'new-scored.csv.gz'
    """
    from properly.tables.errors import ending_of

    name, ending = Path(path).name, ending_of(path)
    return f"{name[: -len(ending)]}-scored{ending}"
