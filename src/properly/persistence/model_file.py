"""Models as files: written whole or not at all, and read without running any code that they might bring.

A model file is a zip archive in the format of skops (arrays and JSON, no pickle) with one more member,
``properly.json``: the version of this format, the versions of the libraries, a checksum of every other member, and the
user's own notes. A second one, ``properly.sum``, has the checksum of the first, and its HMAC if there is a key. Our
types are named by package and class (`schema`), and stay readable when a class moves.
"""

from __future__ import annotations

import io
import json
import os
import platform
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from properly.files import atomic_path
from properly.inputs.optional import require
from properly.persistence.archive import (
    HEADER,
    SEAL,
    Archive,
    Key,
    Limits,
    check_key,
    checked_schema,
    checksums_of,
    named_errors,
    open_archive,
    seal_of,
)
from properly.persistence.schema import (
    SCHEMA,
    ModelFileError,
    checked_metadata,
    name_by_module,
    name_stably,
    nodes_of,
    one_line,
    read_schema,
    refuse_what_cannot_be_found,
    types_in,
)

__all__ = ["FORMAT", "ModelFileError", "load", "load_metadata", "load_versions", "save"]
FORMAT = 3
_LIBRARIES = ("properly", "numpy", "scipy", "scikit-learn", "skops")
_FOR_BOOSTING = ("properly.boosting.", "lightgbm.")


def save(
    model: Any, path: str | os.PathLike[str], *, metadata: Mapping[str, Any] | None = None, key: Key | None = None
) -> None:
    """Save a fitted model, pipelines and scikit-learn's own estimators included, as one file.

    The file takes the place of an older one only when it is complete. It holds no code: a model with a function in it,
    such as `LossFromWeight`, is refused. A warning names the types that `load` will want to be told to trust: models of
    other libraries, and of scikit-learn those that compiled code reads without looking, such as `SVC`,
    `KNeighborsClassifier` and `HistGradientBoostingClassifier`. Another says if it will want a larger `max_bytes`.

    Parameters
    ----------
    model : estimator, or a dict, list or tuple of estimators
    path : str or path, by custom ending in ".skops"
        The folder must exist.
    metadata : dict, optional
        Notes to keep with the model: whatever JSON can hold, with strings as keys. `load_metadata` reads them.
    key : str or bytes, optional
        A secret of at least 16 characters, such as ``secrets.token_hex()``. Who does not have it can read the file, but
        not alter it without `load` with the same key noticing.

    Raises
    ------
    ModelFileError
        The model or its metadata hold what a file cannot.
    OSError
        The file cannot be written: no such folder, no permission, disk full.

    Examples
    --------
    >>> import tempfile
    >>> from properly.datasets import make_rare_events
    >>> from properly.linear import GEVCanonicalRegression
    >>> X, y, _ = make_rare_events(500, 3, rate=0.1, random_state=0)
    >>> model = GEVCanonicalRegression(xi=0.2).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.skops", metadata={"trained on": "synthetic rows"})
    ...     again = load(f"{folder}/model.skops")
    ...     load_metadata(f"{folder}/model.skops")
    {'trained on': 'synthetic rows'}
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    skops = require("skops.io", "save")

    for part in getattr(model, "unsaved_parts", []):
        raise ModelFileError(
            f"the part {part} of this {type(model).__name__} cannot be saved: what its file holds could not be checked "
            "when it is loaded. Leave it out of `method`."
        )
    notes = checked_metadata(metadata)
    check_key(key)
    try:
        data = skops.dumps(model)
        members = _members(data)
        schema = read_schema(members[SCHEMA])
        names = skops.get_untrusted_types(data=data)
    except (TypeError, ValueError, AttributeError, RecursionError, NotImplementedError) as error:
        raise ModelFileError(f"this {type(model).__name__} cannot be saved: {one_line(error)}") from error
    refuse_what_cannot_be_found(names, model)
    refused = _refused(names, schema, ())
    if refused:
        warnings.warn(
            f"load will not trust all that this {type(model).__name__} holds; load it with trusted={refused}.",
            UserWarning,
            stacklevel=2,
        )
    archive = _archive(members, schema, notes, key)
    with atomic_path(path) as temporary:
        temporary.write_bytes(archive)  # at once: a device such as /dev/null has no positions to write at
    try:
        checked_schema(members, Limits.of(len(archive), None))
    except ModelFileError as error:
        warnings.warn(f"{path} {error}", UserWarning, stacklevel=2)


def load(
    path: str | os.PathLike[str],
    *,
    trusted: Sequence[str] = (),
    key: Key | None = None,
    max_bytes: int | None = None,
) -> Any:
    """The model in a file that `save` wrote, with the same predictions to the last digit.

    Nothing that the file brings is run: it may hold this library's models, most of scikit-learn's estimators, arrays
    and plain values only, and another type is refused by name. Indices and sizes that would make predictions crash or
    never end are refused as well. A warning tells if scikit-learn has another version than the one that saved the file.

    The file has a checksum of each of its parts, which shows damage. Who alters a file on purpose can write new
    checksums, and with them other predictions; only a `key` shows that.

    Parameters
    ----------
    path : str or path
    trusted : sequence of str, default ()
        Full names of further types that the file may hold, as the error message gives them. Name only what you know,
        in files from a source that you trust: their code is run, and their content is not checked.
    key : str or bytes, optional
        The secret with which the file was saved. Another key, or a file without one, is an error before anything but
        the checksums is read.
    max_bytes : int, optional
        How large the parts of the file may be when unpacked, in sum; an object counts as 4,000 bytes. By default
        100 MB, or 20 times the size of the file if that is more, with an object for every ten bytes of the file.

    Raises
    ------
    ModelFileError
        The file is missing, damaged, altered, too large when unpacked, not a model, of a newer format, or holds types
        that are not trusted.
    """
    skops = require("skops.io", "save")
    from properly.persistence.structure import check_structure, check_tree_nodes

    if isinstance(trusted, str):
        raise ValueError(f"trusted must be a list of type names, got the string {trusted!r}.")
    with open_archive(path, key, max_bytes) as archive:
        header = _header(archive)
        members = archive.members(header["checksums"])
        schema = checked_schema(members, archive.limits)
        check_tree_nodes(schema, members)
    _warn_about_versions(path, header["versions"])
    with named_errors(path):
        unknown = name_by_module(schema)
        if unknown:
            raise ModelFileError(
                f"holds {', '.join(unknown)}, saved by properly {header['versions'].get('properly')}: properly "
                f"{_version('properly')} has no such type."
            )
        data = _for_skops(members, schema)
        names = skops.get_untrusted_types(data=data)
        refused = _refused(names, schema, trusted)
        if refused:
            raise ModelFileError(
                f"holds types that are not trusted: {', '.join(refused)}. If you know them and where the file comes "
                f"from, load it with trusted={refused}."
            )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Trying to unpickle estimator")  # the versions were named above
            model = skops.loads(data, trusted=names)
        check_structure(model, trusted)
    return model


def load_metadata(
    path: str | os.PathLike[str], *, key: Key | None = None, max_bytes: int | None = None
) -> dict[str, Any]:
    """The notes that were given to `save` with a model; {} if there were none. The model itself is not loaded.

    `key` and `max_bytes` are those of `load`.

    Parameters
    ----------
    path : str or Path
        The model file.
    """
    with open_archive(path, key, max_bytes) as archive:
        return dict(_header(archive)["metadata"])


def load_versions(path: str | os.PathLike[str], *, key: Key | None = None) -> dict[str, str]:
    """The versions of Python and the libraries that saved a model. The model itself is not loaded.

    Parameters
    ----------
    path : str or Path
        The model file.
    key : str or bytes, optional
        The key that it was saved with.
    """
    with open_archive(path, key, None) as archive:
        return dict(_header(archive)["versions"])


def _refused(untrusted: Iterable[str], schema: Any, trusted: Collection[str]) -> list[str]:
    """The types that a file may not hold, of those that skops does not trust and of all."""
    from properly.persistence.trusted import is_made_otherwise, is_refused, is_trusted

    refused = {name for name in untrusted if not is_trusted(name)}
    types = types_in(schema)
    refused |= {name for name, loader in types if is_refused(name) or is_made_otherwise(name, loader)}
    return sorted(refused.difference(trusted))


def _members(archive: bytes) -> dict[str, bytes]:
    with ZipFile(io.BytesIO(archive)) as source:
        return {name: source.read(name) for name in source.namelist()}


def _archive(members: dict[str, bytes], schema: Any, notes: dict[str, Any], key: Key | None) -> bytes:
    boosted = any(str(node.get("__module__")).startswith(_FOR_BOOSTING) for node in nodes_of(schema))
    libraries = (*_LIBRARIES, "lightgbm") if boosted else _LIBRARIES
    name_stably(schema)
    members = members | {SCHEMA: json.dumps(schema).encode()}
    header = {
        "format": FORMAT,
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in libraries}},
        "checksums": checksums_of(members),
        "metadata": notes,
    }
    content, result = json.dumps(header, indent=2).encode(), io.BytesIO()
    with ZipFile(result, "w", ZIP_DEFLATED) as target:
        target.writestr(HEADER, content)
        target.writestr(SEAL, seal_of(content, key))
        for name, member in members.items():
            target.writestr(name, member)
    return result.getvalue()


def _for_skops(members: dict[str, bytes], schema: Any) -> bytes:
    """The archive as skops reads it, without compression."""
    result = io.BytesIO()
    with ZipFile(result, "w", ZIP_STORED) as target:
        for name in list(members):
            content = members.pop(name)  # so that there are never two copies of all
            target.writestr(name, json.dumps(schema) if name == SCHEMA else content)
    return result.getvalue()


def _version(library: str) -> str:
    if library == "properly":
        from properly import __version__

        return __version__
    try:
        return version(library)
    except PackageNotFoundError:
        return "unknown"


def _header(archive: Archive) -> dict[str, Any]:
    """The checked content of properly.json."""
    header = archive.header
    if not (isinstance(header, dict) and isinstance(header.get("versions"), dict)):
        raise ValueError("its header is incomplete.")
    _check_format(header.get("format"), header["versions"].get("properly", "unknown"))
    if not all(isinstance(header.get(part), dict) for part in ("checksums", "metadata")) or SEAL not in archive.names:
        raise ValueError("its header is incomplete.")
    return header


def _check_format(number: Any, saved_by: str) -> None:
    if not isinstance(number, int) or isinstance(number, bool):
        raise ModelFileError(f"is damaged: its format is {number!r}.")
    if number > FORMAT:
        raise ModelFileError(
            f"has format {number}, saved by properly {saved_by}; this version, {_version('properly')}, reads up "
            f"to format {FORMAT}: install a newer one."
        )
    if number < FORMAT:
        raise ModelFileError(
            f"has format {number}, saved by properly {saved_by}, which is no longer read; load it with that "
            "version and fit or save it anew."
        )


def _warn_about_versions(path: str | os.PathLike[str], versions: Mapping[str, str]) -> None:
    saved, here = versions.get("scikit-learn"), _version("scikit-learn")
    if saved != here:
        warnings.warn(
            f"{path} was saved with scikit-learn {saved} and is loaded with {here}: parts from scikit-learn may not "
            "work or predict differently.",
            UserWarning,
            stacklevel=3,
        )
