"""The zip archive of a model file: read within limits, and compared with its checksums and with the user's key.

Nothing in a file is believed before it is checked. Sizes are compared with the limits before anything is unpacked, and
what is unpacked is cut off at them, since the stated sizes may be wrong. An array must be as long as its shape says.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import numpy as np

from properly.files import FilePath
from properly.persistence.schema import SCHEMA, ModelFileError, nodes_of, one_line, read_schema
from properly.progress import visible

HEADER, SEAL = "properly.json", "properly.sum"
_ENDINGS = {"NdArrayNode": ".npy", "SparseMatrixNode": ".npz", "BytesNode": ".bin", "BytearrayNode": ".bin"}
_SIGNED = b"properly model file\n"  # before what is signed, so that a signature for another purpose does not fit
_SHORTEST_KEY = 16
_LONGEST_MESSAGE = 2000

_UNPACKED, _TIMES = 100_000_000, 20  # bytes in any case, and times the size of the file
# About the bytes in memory of a value of JSON, and of an object while skops builds it; and how many there may be for
# each byte of a file, in any case. Models as saved have one object for 20 to 30 bytes.
_VALUE, _OBJECT = 64, 4_000
_VALUES_A_BYTE, _BYTES_AN_OBJECT = 2, 10

Key = str | bytes


class Limits(NamedTuple):
    """What a file may become in memory."""

    unpacked: int  # bytes
    values: int  # of JSON
    objects: int

    @classmethod
    def of(cls, size: int, max_bytes: int | None) -> Limits:
        """Those of a file of this size, or those for `max_bytes` in all."""
        if max_bytes is not None:
            return cls(max_bytes, max_bytes // _VALUE, max_bytes // _OBJECT)
        unpacked = max(_UNPACKED, _TIMES * size)
        return cls(
            unpacked, max(unpacked // _VALUE, _VALUES_A_BYTE * size), max(unpacked // _OBJECT, size // _BYTES_AN_OBJECT)
        )

    def check(self, unpacked: int = 0, values: int = 0, objects: int = 0) -> None:
        """Refuse more than the limits."""
        units = (1, "bytes"), (_VALUE, "values of JSON"), (_OBJECT, "objects")
        for number, limit, (unit, what) in zip((unpacked, values, objects), self, units, strict=True):
            if number > limit:
                raise ModelFileError(
                    f"holds {number:,} {what} when it is unpacked, more than the {limit:,} that are allowed for its "
                    f"size. If you know where it comes from, load it with max_bytes={number * unit}."
                )


class Archive:
    """A model file, opened, whose header is as it was saved.

    Errors are sentences that begin with the name of the file, which `open_archive` adds.
    """

    def __init__(self, source: ZipFile, size: int, key: Key | None, max_bytes: int | None) -> None:
        self.source, self.limits = source, Limits.of(size, max_bytes)
        self.names = [info.filename for info in source.infolist()]
        _check_zip(source, self.limits)
        if HEADER not in self.names:
            remedy = "; it was saved by skops itself: use skops.io.load" if SCHEMA in self.names else ""
            raise ModelFileError(f"was not saved by properly.save{remedy}.")
        content = self.read(HEADER)
        self._check_seal(content, key)
        self.limits.check(values=count_values(content))
        self.header = json.loads(content)

    def read(self, name: str) -> bytes:
        return _unpacked(self.source, name)

    def members(self, checksums: Mapping[str, Any]) -> dict[str, bytes]:
        """All that skops wrote; refused unless it is what was saved."""
        members = {name: self.read(name) for name in self.names if name not in (HEADER, SEAL)}
        found = checksums_of(members)
        for name in sorted(found.keys() | checksums.keys()):
            if found.get(name) != checksums.get(name):
                raise ModelFileError(f"is damaged: {name} does not have the checksum that was saved with it.")
        return members

    def _check_seal(self, content: bytes, key: Key | None) -> None:
        if key is None and SEAL not in self.names:
            return  # an earlier format, which its number tells
        found = self.read(SEAL).split(b"\n") if SEAL in self.names else []
        checksum, *signature = seal_of(content, key).split(b"\n")
        if key is not None:
            if len(found) < 2:
                raise ModelFileError("was saved without a key, so that nobody can tell whether it was altered.")
            if not hmac.compare_digest(found[1], signature[0]):
                raise ModelFileError("was altered, or saved with another key.")
        if found[:1] != [checksum]:
            raise ModelFileError(f"is damaged: {HEADER} does not have the checksum that was saved with it.")


@contextmanager
def open_archive(path: FilePath, key: Key | None, max_bytes: int | None) -> Iterator[Archive]:
    """The archive of a file; errors are those of `named_errors`."""
    check_key(key)
    with named_errors(path):
        size = os.stat(path).st_size
        if size == 0:
            raise ModelFileError("is empty.")
        with ZipFile(path) as source:
            yield Archive(source, size, key, max_bytes)


@contextmanager
def named_errors(path: FilePath) -> Iterator[None]:
    """Turn every error of the block into one line that begins with the name of the file."""
    try:
        yield
    except ImportError:
        raise
    except FileNotFoundError as error:
        raise ModelFileError(f"{path} does not exist.") from error
    except MemoryError as error:
        raise ModelFileError(f"{path} needs more memory than there is; it may be damaged.") from error
    except ModelFileError as error:
        raise ModelFileError(f"{path} {_shown(error)}") from error
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or one_line(error)}.") from error
    except BadZipFile as error:
        raise ModelFileError(f"{path} is no model file, or a damaged one: {one_line(error)}") from error
    except Exception as error:  # a damaged file may trip anything in skops, NumPy or zipfile
        raise ModelFileError(f"{path} is damaged: {one_line(error)}") from error


def _shown(error: ModelFileError) -> str:
    """What an error says; names in a file may be of any length, and hold commands to a terminal."""
    text = visible(str(error))
    return text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE] + " ..."


def checked_schema(members: Mapping[str, bytes], limits: Limits) -> Any:
    """skops's description of a model, which must fit its other members and the limits.

    It loses the identities of objects, by which a short description could name one object again and again. All that
    they are for is that a model which shares an array with itself still does so when it is loaded.
    """
    limits.check(sum(map(len, members.values())), count_values(members[SCHEMA]))
    schema = read_schema(members[SCHEMA])
    sizes = {name: len(content) for name, content in members.items()}
    for name, content in members.items():
        if name.endswith(".npy"):
            check_array(content)
        elif name.endswith(".npz"):
            sizes[name] = check_sparse_arrays(content, limits)
    unpacked = values = objects = 0
    for node in nodes_of(schema):
        node.pop("__id__", None)
        objects += 1
        if "file" in node:
            if not node["file"].endswith(_ENDINGS[node["__loader__"]]):
                raise ValueError(f"{node['file']} is taken for another kind of file")
            unpacked += sizes[node["file"]]
        if node["__loader__"] == "JsonNode":
            values += count_values(node["content"])
    limits.check(unpacked, values, objects)
    return schema


def count_values(text: bytes | str) -> int:
    """How many values JSON may hold at most: what begins or separates them is counted, also where it is in a text.

    >>> count_values('{"a": [1, 2]}')
    4
    """
    signs = ("[", "{", ",", ":")
    if isinstance(text, bytes):
        return sum(text.count(sign.encode()) for sign in signs)
    return sum(map(text.count, signs))


def checksums_of(members: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}


def check_key(key: Key | None) -> None:
    """Refuse what is no secret."""
    if key is None:
        return
    if not isinstance(key, str | bytes):
        raise ValueError(f"key must be a str or bytes, got {type(key).__name__}.")
    if len(key) < _SHORTEST_KEY:
        raise ValueError(
            f"key must have at least {_SHORTEST_KEY} characters, got {len(key)}; secrets.token_hex() makes a good one."
        )


def seal_of(content: bytes, key: Key | None) -> bytes:
    """The checksum of the header, which has those of all else, and in a second line, if there is a key, its HMAC."""
    seal = hashlib.sha256(content).hexdigest()
    if key is not None:
        secret = key.encode() if isinstance(key, str) else key
        seal += "\n" + hmac.new(secret, _SIGNED + content, "sha256").hexdigest()
    return seal.encode()


def check_array(content: bytes) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and type of a file of NumPy (.npy), whose content must be as long as they say."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"an array has the format {version}")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    stored = len(content) - file.tell()
    if min(shape, default=0) < 0 or dtype.hasobject or (dtype.itemsize == 0 and math.prod(shape) > 0):
        raise ValueError(f"an array has the shape {shape} and the type {dtype}")
    if math.prod(shape) * dtype.itemsize != stored:
        raise ValueError(f"an array of shape {shape} and type {dtype} has {stored:,} bytes")
    return shape, dtype


def check_sparse_arrays(content: bytes, limits: Limits) -> int:
    """The same for the archive of a sparse matrix (.npz); the size to which it unpacks."""
    with ZipFile(io.BytesIO(content)) as source:
        size = _check_zip(source, limits)
        for info in source.infolist():
            check_array(_unpacked(source, info.filename))
    return size


def _check_zip(source: ZipFile, limits: Limits) -> int:
    """Refuse members of one name, and what unpacks to more than is allowed; the stated size otherwise."""
    members = source.infolist()
    if len({info.filename for info in members}) < len(members):
        raise ValueError("two of its parts have the same name")
    # Other methods of compression cannot be cut off at a size.
    if any(info.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for info in members):
        raise ValueError("its parts are not compressed as save does it")
    size = sum(info.file_size for info in members)
    limits.check(size)
    return size


def _unpacked(source: ZipFile, name: str) -> bytes:
    """A member, never longer than stated: read() without a number would unpack all of it first."""
    size = source.getinfo(name).file_size
    with source.open(name) as member:
        content = member.read(size + 1)
    if len(content) != size:
        raise ValueError(f"{name} is shorter than stated")
    return content
