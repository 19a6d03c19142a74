"""Parts that were read once, as raw numbers on a local disk."""

from __future__ import annotations

import mmap
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self, TypeVar, cast
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from properly.engines.description import Part
from properly.files import mark_finished, mark_unfinished
from properly.inputs.frames import missing_in

T = TypeVar("T")
_ALIGNMENT = 64  # bytes, to which arrays begin


class StoredPart(NamedTuple):
    """A file of numbers, and nothing that could run; what the arrays in it are, and where each begins and ends.

    Arrays are mapped from the file, without a copy: the system reads what is used, and may forget it.
    """

    number: int
    path: str
    head: bytes
    ends: tuple[tuple[int, int], ...]

    @classmethod
    def written(cls, folder: str, part: Part, number: int) -> Self:
        """The part in a new file of the folder."""
        buffers: list[pickle.PickleBuffer] = []
        part = part.converted()
        part = part._replace(y=_stored(part.y), group=_stored(part.group))
        head = pickle.dumps(part, protocol=5, buffer_callback=buffers.append)
        path, ends = f"{folder}/{uuid4().hex}", []
        try:
            with open(path, "wb") as file:
                for piece in (each.raw() for each in buffers):
                    file.write(bytes(-file.tell() % _ALIGNMENT))
                    ends.append((file.tell(), file.tell() + len(piece)))
                    file.write(piece)
        except OSError as error:
            raise OSError(f"rows cannot be kept in {folder}: {error}") from error
        return cls(number, path, head, tuple(ends))

    def part(self) -> Part:
        pieces: list[Any] = [b""] * len(self.ends)  # of no rows nothing can be mapped
        if any(begin < end for begin, end in self.ends):
            with open(self.path, "rb") as file:
                whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            pieces = [whole[begin:end] for begin, end in self.ends]
        part = cast(Part, pickle.loads(self.head, buffers=pieces))
        return part._replace(y=_restored(part.y), group=_restored(part.group))


class PartCache:
    """A folder that only this user can read, with a file for every part; removed at the end, or with the process."""

    def __init__(self, folder: str) -> None:
        if not (folder and Path(folder).is_dir()):
            raise ValueError(f"cache must be an existing folder on a local disk, got {folder!r}.")
        self._folder = TemporaryDirectory(prefix="properly-", dir=folder, ignore_cleanup_errors=True)
        mark_unfinished(self._folder.name)
        self._parts: dict[int, StoredPart] = {}
        self.complete = False

    def keeping(self, function: Callable[[Part, int], T]) -> Callable[[Part, int], T]:
        """The same function, which also writes every part that it sees."""

        def keep(part: Part, number: int) -> T:
            self._parts[number] = StoredPart.written(self._folder.name, part, number)
            return function(part.converted(), number)

        return keep

    def parts(self) -> list[StoredPart]:
        """In the order of their numbers."""
        return [self._parts[number] for number in sorted(self._parts)]

    def close(self) -> None:
        self._parts = {}
        with suppress(OSError):
            self._folder.cleanup()
            mark_finished(self._folder.name)


class _Texts(NamedTuple):
    """Texts as NumPy's own, whose characters go to the file, and which of them are missing."""

    texts: NDArray[np.str_]
    missing: NDArray[np.bool_]


def _stored(labels: Any) -> Any:
    """Labels that are texts, or missing, in a form of which nothing stays in memory."""
    if labels is None or labels.dtype != object:
        return labels
    missing = missing_in(labels)
    if not all(isinstance(each, str) for each in labels[~missing]):
        return labels
    return _Texts(np.where(missing, "", labels).astype(np.str_), missing)


def _restored(labels: Any) -> Any:
    if not isinstance(labels, _Texts):
        return labels
    if not labels.missing.any():
        return labels.texts
    found = labels.texts.astype(object)
    found[labels.missing] = None
    return found
