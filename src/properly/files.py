"""Files that are either complete or not there: written beside their place, and moved to it when they are done."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FULL = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the disk quota is used up", errno.EFBIG: "it is too large"}


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path to write to, in the same folder; it takes the place of `path` when the block ends well.

    If the block raises anything, Ctrl-C included, the temporary file is removed and a file that was there before stays
    as it was. A reader never sees half a file, and after a power cut there is the old file or the new one. The
    temporary name has the same suffixes. A device or a pipe, such as ``/dev/stdout``, has no place to move to and is
    written directly. Folders are not made, and an existing file keeps its permissions.

    Raises
    ------
    OSError
        In one line that names the path: the folder does not exist, may not be written to, the disk is full.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "numbers.txt")
    ...     with atomic_path(path) as temporary:
    ...         _ = temporary.write_text("1 2 3")
    ...     path.read_text(), len(os.listdir(folder))
    ('1 2 3', 1)
    """
    target = Path(os.path.realpath(path))  # a symbolic link goes on pointing to what it points to
    with _plain_words(target):
        if target.exists() and not target.is_file() and not target.is_dir():
            yield target
            return
        temporary = _created_beside(target)
        try:
            yield temporary
            _flush(temporary)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
    _flush_folder(target.parent)


@contextmanager
def _plain_words(target: Path) -> Iterator[None]:
    """Say of a full disk what it means for the file; other errors stay what they are."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise OSError(f"{target} could not be written: {_FULL[error.errno]}.") from error


def _created_beside(target: Path) -> Path:
    """An empty file with a name of its own; that it can be made shows that the folder can be written to."""
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target} could not be written: there is no folder {target.parent}.")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"{target} could not be written: the file is read-only.")
    suffixes = "".join(target.suffixes)[-40:]
    temporary = target.with_name(f".properly-{secrets.token_hex(8)}{suffixes}")
    try:
        # Not by tempfile, whose files are for the owner's eyes only.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        if error.errno in _FULL:
            raise
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise PermissionError(f"{target} could not be written: no permission for {target.parent}.") from error
        raise OSError(f"{target} could not be written: {error.strerror}.") from error
    if target.exists():
        shutil.copymode(target, temporary)
    return temporary


def _flush(path: Path) -> None:
    """Wait until the content is on the disk: a rename may otherwise get there first."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _flush_folder(folder: Path) -> None:
    """The rename itself, where the system can be asked for it; the file is in place either way."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
