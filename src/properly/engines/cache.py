"""Parts that were read once, as raw numbers on a local disk."""

from __future__ import annotations

import mmap
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

import numpy as np

from properly.engines.description import Part

T = TypeVar("T")
_ALIGNMENT = 64  # bytes, to which arrays begin


class PartCache:
    """A folder that only this user can read, with a file for every part; removed at the end, or with the process.

    Arrays are mapped from the file, without a copy: the system reads what is used, and may forget it.
    """

    def __init__(self, folder: str) -> None:
        if not Path(folder).is_dir():
            raise ValueError(f"cache must be an existing folder on a local disk, got {folder!r}.")
        self._folder = TemporaryDirectory(prefix="properly-", dir=folder, ignore_cleanup_errors=True)
        # What arrays are, and where their numbers begin and end in the file: the disk holds nothing that could run.
        self._parts: dict[int, tuple[bytes, list[tuple[int, int]]]] = {}
        self.complete = False

    @property
    def numbers(self) -> list[int]:
        """Of the parts, in their order."""
        return sorted(self._parts)

    def keeping(self, function: Callable[[Part, int], T]) -> Callable[[Part, int], T]:
        """The same function, which also writes every part that it sees."""

        def keep(part: Part, number: int) -> T:
            part = part.converted()
            self._write(part, number)
            return function(part, number)

        return keep

    def _write(self, part: Part, number: int) -> None:
        buffers: list[pickle.PickleBuffer] = []
        part = part._replace(y=_as_plain_texts(part.y), group=_as_plain_texts(part.group))
        head = pickle.dumps(part, protocol=5, buffer_callback=buffers.append)
        ends = []
        try:
            with open(self._path(number), "wb") as file:
                for piece in (each.raw() for each in buffers):
                    file.write(bytes(-file.tell() % _ALIGNMENT))
                    ends.append((file.tell(), file.tell() + len(piece)))
                    file.write(piece)
        except OSError as error:
            raise OSError(f"the cache in {self._folder.name} cannot be written: {error}") from error
        self._parts[number] = head, ends

    def part(self, number: int) -> Part:
        head, ends = self._parts[number]
        if not any(begin < end for begin, end in ends):  # no rows: nothing can be mapped
            return cast(Part, pickle.loads(head, buffers=[b""] * len(ends)))
        with open(self._path(number), "rb") as file:
            whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return cast(Part, pickle.loads(head, buffers=[whole[begin:end] for begin, end in ends]))

    def close(self) -> None:
        self._parts = {}
        with suppress(OSError):
            self._folder.cleanup()

    def _path(self, number: int) -> str:
        return f"{self._folder.name}/{number}"


def _as_plain_texts(labels: Any) -> Any:
    """Texts as NumPy's own, whose characters go to the file."""
    if labels is None or labels.dtype != object or not all(isinstance(each, str) for each in labels):
        return labels
    return labels.astype(np.str_)
