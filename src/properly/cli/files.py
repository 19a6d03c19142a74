"""Files of a command: where its output goes, and what is told about its input."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def checked_output(path: str, inputs: Iterable[str]) -> str:
    """The path, if a file can be written there; told before the long work, not after it."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it.")
    folder = target.resolve().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {folder}.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{path} cannot be written: no permission for {folder}.")
    for name in inputs:
        if target.exists() and Path(name).exists() and target.samefile(name):
            raise ValueError(f"{path} is an input; give the output another name.")
    return path


def scored_path(path: str) -> str:
    """Where predictions go if nothing else is said: beside nothing, in the working folder.

    >>> scored_path("data/new.csv.gz")
    'new-scored.csv.gz'
    """
    from properly.tables.formats import ending_of

    name, ending = Path(path).name, ending_of(path)
    return f"{name[: -len(ending)]}-scored{ending}"
