"""Models as files: written whole or not at all, and read without running any code that they might bring.

A model file is a zip archive in the format of skops (arrays and JSON, no pickle) with one more member,
``properly.json``: the version of this format, the versions of the libraries, a checksum of every other member, and the
user's own notes. Our types are named by package and class (`schema`), and stay readable when a class moves.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from properly.files import atomic_path
from properly.inputs.optional import require
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
)

__all__ = ["FORMAT", "ModelFileError", "load", "load_metadata", "load_versions", "save"]
FORMAT = 2
_HEADER = "properly.json"
_LIBRARIES = ("properly", "numpy", "scipy", "scikit-learn", "skops")
_FOR_BOOSTING = ("properly.boosting.", "lightgbm.")


def save(model: Any, path: str | os.PathLike[str], *, metadata: Mapping[str, Any] | None = None) -> None:
    """Save a fitted model, pipelines and scikit-learn's own estimators included, as one file.

    The file takes the place of an older one only when it is complete. It holds no code: a model with a function in it,
    such as `LossFromWeight`, is refused. A warning names the types that `load` will want to be told to trust: models of
    other libraries, and of scikit-learn those that compiled code reads without looking, such as those of
    `HistGradientBoostingClassifier` and `KNeighborsClassifier`.

    Parameters
    ----------
    model : estimator, or a dict, list or tuple of estimators
    path : str or path, by custom ending in ".skops"
        The folder must exist.
    metadata : dict, optional
        Notes to keep with the model: whatever JSON can hold, with strings as keys. `load_metadata` reads them.

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
    from properly.persistence.trusted import is_trusted

    notes = checked_metadata(metadata)
    try:
        data = skops.dumps(model)
        names = skops.get_untrusted_types(data=data)
    except (TypeError, ValueError, AttributeError, RecursionError, NotImplementedError) as error:
        raise ModelFileError(f"this {type(model).__name__} cannot be saved: {one_line(error)}") from error
    refuse_what_cannot_be_found(names, model)
    members = _members(data)
    schema = read_schema(members[SCHEMA])
    refused = [name for name in names if not is_trusted(name)]
    if refused:
        warnings.warn(
            f"load will not trust all that this {type(model).__name__} holds; load it with trusted={refused}.",
            UserWarning,
            stacklevel=2,
        )
    with atomic_path(path) as temporary:
        _write(temporary, members, schema, notes)


def load(path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """The model in a file that `save` wrote, with the same predictions to the last digit.

    Nothing that the file brings is run: it may hold this library's models, scikit-learn's estimators, arrays and plain
    values only, and another type is refused by name. A warning tells if scikit-learn has another version than the one
    that saved the file.

    Parameters
    ----------
    path : str or path
    trusted : sequence of str, default ()
        Full names of further types that the file may hold, as the error message gives them. Name only what you know,
        in files from a source that you trust: their code is run.

    Raises
    ------
    ModelFileError
        The file is missing, damaged, not a model, of a newer format, or holds types that are not trusted.
    """
    skops = require("skops.io", "save")
    from properly.persistence.trusted import check_trees, is_trusted

    if isinstance(trusted, str):
        raise ValueError(f"trusted must be a list of type names, got the string {trusted!r}.")
    archive = _read(path)
    header = _header(path, archive)
    members = _checked_members(path, archive, header["checksums"])
    _warn_about_versions(path, header["versions"])
    try:
        data, unknown = _with_modules(members)
        if unknown:
            raise ModelFileError(
                f"{path} holds {', '.join(unknown)}, saved by properly {header['versions'].get('properly')}: properly "
                f"{_version('properly')} has no such type."
            )
        names = skops.get_untrusted_types(data=data)
        refused = [name for name in names if name not in trusted and not is_trusted(name)]
        if refused:
            raise ModelFileError(
                f"{path} holds types that are not trusted: {', '.join(refused)}. If you know them and where the file "
                f"comes from, load it with trusted={refused}."
            )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Trying to unpickle estimator")  # the versions were named above
            model = skops.loads(data, trusted=names)
        check_trees(model)
    except (ModelFileError, ImportError):
        raise
    except MemoryError as error:
        raise ModelFileError(f"{path} needs more memory than there is; it may be damaged.") from error
    except Exception as error:  # a damaged file may trip anything in skops, NumPy or zipfile
        raise ModelFileError(f"{path} is damaged: {one_line(error)}") from error
    return model


def load_metadata(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The notes that were given to `save` with a model; {} if there were none. The model itself is not loaded."""
    return dict(_header(path, _read(path))["metadata"])


def load_versions(path: str | os.PathLike[str]) -> dict[str, str]:
    """The versions of Python and the libraries that saved a model. The model itself is not loaded."""
    return dict(_header(path, _read(path))["versions"])


def _members(archive: bytes) -> dict[str, bytes]:
    with ZipFile(io.BytesIO(archive)) as source:
        return {name: source.read(name) for name in source.namelist()}


def _write(path: Path, members: dict[str, bytes], schema: Any, notes: dict[str, Any]) -> None:
    boosted = any(str(node.get("__module__")).startswith(_FOR_BOOSTING) for node in nodes_of(schema))
    libraries = (*_LIBRARIES, "lightgbm") if boosted else _LIBRARIES
    name_stably(schema)
    members = members | {SCHEMA: json.dumps(schema).encode()}
    header = {
        "format": FORMAT,
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in libraries}},
        "checksums": _checksums(members),
        "metadata": notes,
    }
    with ZipFile(path, "w", ZIP_DEFLATED) as target:
        target.writestr(_HEADER, json.dumps(header, indent=2))
        for name, content in members.items():
            target.writestr(name, content)


def _with_modules(members: dict[str, bytes]) -> tuple[bytes, list[str]]:
    """The archive as skops reads it, our types by their modules; and the names that this version does not have."""
    schema, result = read_schema(members[SCHEMA]), io.BytesIO()
    unknown = name_by_module(schema)
    with ZipFile(result, "w", ZIP_STORED) as target:
        for name, content in members.items():
            target.writestr(name, json.dumps(schema) if name == SCHEMA else content)
    return result.getvalue(), unknown


def _checked_members(path: str | os.PathLike[str], archive: bytes, checksums: Mapping[str, Any]) -> dict[str, bytes]:
    """The members of an archive but its header; refused if they are not those that were saved."""
    try:
        members = _members(archive)
    except Exception as error:  # zipfile has many ways to fail on damaged archives
        raise ModelFileError(f"{path} is damaged: {one_line(error)}") from error
    del members[_HEADER]
    found = _checksums(members)
    changed = sorted(name for name in found.keys() | checksums.keys() if found.get(name) != checksums.get(name))
    if changed:
        raise ModelFileError(f"{path} is damaged: {changed[0]} does not have the checksum that was saved with it.")
    return members


def _checksums(members: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}


def _version(library: str) -> str:
    if library == "properly":
        from properly import __version__

        return __version__
    try:
        return version(library)
    except PackageNotFoundError:
        return "unknown"


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise ModelFileError(f"{path} does not exist.") from error
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}.") from error


def _header(path: str | os.PathLike[str], data: bytes) -> dict[str, Any]:
    """The checked content of properly.json."""
    if not data:
        raise ModelFileError(f"{path} is empty.")
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            members = archive.namelist()
            header = json.loads(archive.read(_HEADER)) if _HEADER in members else None
    except Exception as error:  # zipfile has many ways to fail on damaged archives
        what = "is no model file, or a damaged one" if isinstance(error, BadZipFile) else "is damaged"
        raise ModelFileError(f"{path} {what}: {one_line(error)}") from error
    if header is None:
        remedy = "; it was saved by skops itself: use skops.io.load" if SCHEMA in members else ""
        raise ModelFileError(f"{path} was not saved by properly.save{remedy}.")
    if not (isinstance(header, dict) and isinstance(header.get("versions"), dict)):
        raise ModelFileError(f"{path} is damaged: its header is incomplete.")
    _check_format(path, header.get("format"), header["versions"].get("properly", "unknown"))
    if not all(isinstance(header.get(part), dict) for part in ("checksums", "metadata")):
        raise ModelFileError(f"{path} is damaged: its header is incomplete.")
    return header


def _check_format(path: str | os.PathLike[str], number: Any, saved_by: str) -> None:
    if not isinstance(number, int) or isinstance(number, bool):
        raise ModelFileError(f"{path} is damaged: its format is {number!r}.")
    if number > FORMAT:
        raise ModelFileError(
            f"{path} has format {number}, saved by properly {saved_by}; this version, {_version('properly')}, reads up "
            f"to format {FORMAT}: install a newer one."
        )
    if number < FORMAT:
        raise ModelFileError(
            f"{path} has format {number}, saved by properly {saved_by}, which is no longer read; load it with that "
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
