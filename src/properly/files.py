"""Files: which format an ending stands for, and outputs that are complete or not there."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

FilePath = str | os.PathLike[str]

_unfinished: set[Path] = set()
_removing = Lock()  # a process must not end while another thread of it removes something
_records: list[list[FilePath]] = []
_display_names: dict[str, str] = {}
_FULL = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the disk quota is used up", errno.EFBIG: "it is too large"}


class Format(NamedTuple):
    """How a table is stored in a file."""

    kind: str  # "text", "json" (an object a line), "parquet" or "ipc" (Arrow)
    delimiter: str = ""
    compression: str | None = None  # of the whole file: "gzip" or "zstd"


_LINES = {
    ".csv": Format("text", ","),
    ".tsv": Format("text", "\t"),
    ".jsonl": Format("json"),
    ".ndjson": Format("json"),
}
# The formats of tables by the ending of the file name.
FORMATS = {
    ending + packed: form._replace(compression=compression)
    for packed, compression in (("", None), (".gz", "gzip"), (".zst", "zstd"))
    for ending, form in _LINES.items()
} | {
    ".parquet": Format("parquet"),
    ".pq": Format("parquet"),
    ".arrow": Format("ipc"),
    ".feather": Format("ipc"),
    ".ipc": Format("ipc"),
}

# Cells of a text file that mean "missing" if they stand without quotation marks.
MISSING_CELLS = ["", "#N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]


def files_in(folder: FilePath) -> list[Path]:
    """The files of a folder and of the folders in it, in order, without what Spark and others keep beside the data.

    Those are names that begin with a dot or an underscore, of files and of folders. Links are followed.

    Raises
    ------
    OSError, ValueError
        A link leads nowhere or to what is read already, or a folder may not be read.
    """
    found: list[Path] = []
    seen: set[str] = set()
    for place, folders, files in os.walk(folder, onerror=_refused, followlinks=True):
        folders[:] = [name for name in folders if name[0] not in "._"]
        inside = [Path(place, name) for name in files if name[0] not in "._"]
        for each in [Path(place), *inside]:
            if each.is_symlink() and not each.exists():
                raise FileNotFoundError(f"{each} is a link to what does not exist; remove it, or mend it.")
            if os.path.realpath(each) in seen:
                raise ValueError(f"{each} is read twice, by a link, and its rows would count twice; remove the link.")
            seen.add(os.path.realpath(each))
        found += filter(Path.is_file, inside)
    return sorted(found)


def _refused(error: OSError) -> None:
    raise error


@contextmanager
def displayed_as(path: FilePath, name: str) -> Iterator[None]:
    """Let `displayed` show a name in place of the path of a temporary file while the block runs."""
    _display_names[str(path)] = name
    try:
        yield
    finally:
        del _display_names[str(path)]


def displayed(text: object) -> str:
    """A path, or a message that holds one, as people should see it: the standard input by its name.

    >>> with displayed_as("/tmp/x1.csv", "standard input"):
    ...     displayed("/tmp/x1.csv is empty."), displayed(Path("other.csv"))
    ('standard input is empty.', 'other.csv')
    """
    shown = str(text)
    for path, name in _display_names.items():
        shown = shown.replace(path, name)
    return shown


def state_of(path: FilePath) -> tuple[int, int] | None:
    """What changes when a file is written to: its size, and the time of the last change; None if it is gone."""
    with suppress(OSError):
        found = os.stat(path)
        return found.st_size, found.st_mtime_ns
    return None


def sha256_of(path: FilePath) -> str:
    """The SHA-256 checksum of a file, as hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_output(path: FilePath, *, inputs: Iterable[FilePath] = (), outputs: Iterable[FilePath] = ()) -> None:
    """Refuse a path to which no file can be written; to be called before long work.

    Folders are not made. The path must be none of the inputs, in no folder among them, and none of the other outputs. A
    device or a pipe, such as ``/dev/stdout``, is always accepted.

    Raises
    ------
    OSError, ValueError
        In one line that names the path: it is a folder, its folder does not exist, there is no permission to write, or
        the path is that of another file in use.

    Examples
    --------
    >>> check_output("table.csv", inputs=["./table.csv"])
    Traceback (most recent call last):
    ValueError: table.csv is an input; give the output another name.
    """
    target = Path(path)
    resolved = _resolved(target)
    folder = resolved.parent
    if resolved.is_symlink():
        raise OSError(f"{path} cannot be written: it is a symbolic link that leads in a circle.")
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it.")
    if not folder.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {folder}.")
    if _is_device(target):
        return
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{path} cannot be written: no permission to write to the folder {folder}.")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"{path} cannot be written: the file is read-only.")
    for others, role in ((inputs, "an input"), (outputs, "another output")):
        if any(_same(target, Path(other)) for other in others):
            raise ValueError(f"{path} is {role}; give the output another name.")
    check_outside(path, inputs)


def check_outside(path: FilePath, inputs: Iterable[FilePath]) -> None:
    """Refuse an output, a file or a folder, in a folder that is read."""
    for other in inputs:
        if Path(other).is_dir() and _resolved(path).is_relative_to(_resolved(other)):
            raise ValueError(
                f"{path} lies in {other}, which is read; give a place outside of it, or it would be read as well the "
                "next time."
            )


@contextmanager
def written_files() -> Iterator[list[FilePath]]:
    """The files that `atomic_path` completes while the block runs, in a list that grows as it does."""
    record: list[FilePath] = []
    _records.append(record)
    try:
        yield record
    finally:
        _records.remove(record)


def remove_unfinished() -> None:
    """Remove all temporary files and folders; for a process that ends at once, without leaving its blocks."""
    for temporary in list(_unfinished):
        _remove(temporary)


def mark_unfinished(folder: FilePath) -> None:
    """From here on `remove_unfinished` removes a folder, with all that is in it, until `mark_finished`."""
    _unfinished.add(Path(folder))


def mark_finished(folder: FilePath) -> None:
    _unfinished.discard(Path(folder))


@contextmanager
def atomic_folder(path: FilePath) -> Iterator[Path]:
    """A new, hidden folder beside a path; it takes its name when the block ends without an exception.

    If the block raises anything, Ctrl-C included, the folder is removed, even if other processes still write to it.
    """
    target = _resolved(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    mark_unfinished(temporary)
    try:
        temporary.mkdir(parents=True)
        yield temporary
        temporary.rename(target)
    except BaseException:
        _remove(temporary)
        raise
    finally:
        mark_finished(temporary)


def _remove(path: Path) -> None:
    """A file, or a folder with what is in it; under another name, so that no process can write to it meanwhile."""
    with _removing, suppress(OSError):
        if not path.is_dir():
            path.unlink()
            return
        aside = path.with_name(f".properly-{secrets.token_hex(8)}")
        path.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def atomic_path(path: FilePath) -> Iterator[Path]:
    """A temporary path to write to, in the same folder; it replaces `path` when the block ends without an exception.

    If the block raises anything, Ctrl-C included, the temporary file is removed and an existing file stays as it was.
    Other programs never see an incomplete file, and after a power cut there is the old file or the new one. The
    temporary name has the same suffixes. A device or a pipe, such as ``/dev/stdout``, cannot be replaced and is written
    directly. An existing file keeps its permissions, and a symbolic link goes on pointing to the same file.

    Raises
    ------
    OSError
        What `check_output` refuses, or the disk is full; in one line that names the path.

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
    check_output(path)
    target = _resolved(path)
    try:
        if _is_device(target):
            yield target
            return
        temporary = _created_beside(target)
        _unfinished.add(temporary)
        try:
            yield temporary
            _flush(temporary, os.O_RDWR)  # otherwise the rename may reach the disk before the content
            os.replace(temporary, target)
        except BaseException:
            _remove(temporary)
            raise
        finally:
            _unfinished.discard(temporary)
        for record in _records:
            record.append(path)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise OSError(f"{path} cannot be written: {_FULL[error.errno]}.") from error
    with suppress(OSError):  # not every system can flush a folder; the file is in place either way
        _flush(target.parent, os.O_RDONLY)


def _created_beside(target: Path) -> Path:
    """A new, empty file in the folder of the target, with its permissions if it exists."""
    suffixes = "".join(target.suffixes)[-40:]
    temporary = target.with_name(f".properly-{secrets.token_hex(8)}{suffixes}")
    try:
        # tempfile would make a file that only its owner can read.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        if error.errno in _FULL:
            raise
        raise type(error)(f"{target} cannot be written: {error.strerror}.") from error
    if target.exists():
        shutil.copymode(target, temporary)
    return temporary


def _flush(path: Path, mode: int) -> None:
    """Wait until a file or a folder is on the disk."""
    handle = os.open(path, mode)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_device(target: Path) -> bool:
    return target.exists() and not target.is_file() and not target.is_dir()


def _same(first: Path, second: Path) -> bool:
    if first.exists() and second.exists():
        return first.samefile(second)
    return _resolved(first) == _resolved(second)


def _resolved(path: FilePath) -> Path:
    """Without symbolic links; one that leads in a circle stays one, where `Path.resolve` raises RuntimeError."""
    return Path(os.path.realpath(path))
