"""Models as files: written whole or not at all, and read without running any code that they might bring.

A model file is a zip archive in the format of skops (arrays and JSON, no pickle) with one more member,
``properly.json``: the version of this format, the versions of the libraries, and the user's own notes.
"""

from __future__ import annotations

import io
import json
import os
import platform
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from properly.atomic import atomic_path
from properly.extras import require

FORMAT = 1
_HEADER, _SCHEMA = "properly.json", "schema.json"
_LIBRARIES = ("properly", "numpy", "scipy", "scikit-learn", "skops")
_FOR_BOOSTING = ("properly.boosting.", "lightgbm.")


class ModelFileError(ValueError):
    """A model that cannot be saved, or a file that cannot be loaded; says which and why in one line."""


def save(model: Any, path: str | os.PathLike[str], *, metadata: Mapping[str, Any] | None = None) -> None:
    """Save a fitted model, pipelines and scikit-learn's own estimators included, as one file.

    The file takes the place of an older one only when it is complete. It holds no code: a model with a function in it,
    such as `LossFromWeight`, is refused.

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
    notes = _checked_metadata(metadata)
    try:
        data = skops.dumps(model)
        names = skops.get_untrusted_types(data=data)
    except (TypeError, ValueError, AttributeError, RecursionError, NotImplementedError) as error:
        raise ModelFileError(f"this {type(model).__name__} cannot be saved: {_one_line(error)}") from error
    _refuse_what_cannot_be_found(names, model)
    with atomic_path(path) as temporary:
        _write(temporary, data, notes)


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
    from properly.trust import check_trees, is_trusted

    if isinstance(trusted, str):
        raise ValueError(f"trusted must be a list of type names, got the string {trusted!r}.")
    data = _read(path)
    header = _header(path, data)
    _warn_about_versions(path, header["versions"])
    try:
        names = skops.get_untrusted_types(data=data)
        refused = [name for name in names if name not in trusted and not is_trusted(name)]
        if refused:
            raise ModelFileError(_refusal(path, refused, header))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Trying to unpickle estimator")  # the versions were named above
            model = skops.loads(data, trusted=names)
        check_trees(model)
    except (ModelFileError, ImportError):
        raise
    except MemoryError as error:
        raise ModelFileError(f"{path} needs more memory than there is; it may be damaged.") from error
    except Exception as error:  # a damaged file may trip anything in skops, NumPy or zipfile
        raise ModelFileError(f"{path} is damaged: {_one_line(error)}") from error
    return model


def load_metadata(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The notes that were given to `save` with a model; {} if there were none. The model itself is not loaded."""
    return dict(_header(path, _read(path))["metadata"])


def load_versions(path: str | os.PathLike[str]) -> dict[str, str]:
    """The versions of Python and the libraries that saved a model. The model itself is not loaded."""
    return dict(_header(path, _read(path))["versions"])


def _checked_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    if not isinstance(metadata, Mapping | None):
        raise ModelFileError(f"metadata must be a dict, got {type(metadata).__name__}.")
    notes = dict(metadata or {})
    try:
        json.dumps(notes)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"metadata must be what JSON can hold: {_one_line(error)}") from error
    if not all(isinstance(key, str) for key in notes):
        raise ModelFileError(f"metadata must have strings as keys, got {sorted(map(repr, notes))[0]}.")
    return notes


def _refuse_what_cannot_be_found(names: list[str], model: Any) -> None:
    """A file has names of types and functions only: refuse a name that leads nowhere, or to what only exists now."""
    for name in names:
        module, _, attribute = name.rpartition(".")
        if attribute == "LossFromWeight":
            raise ModelFileError(
                f"this {type(model).__name__} cannot be saved: LossFromWeight holds a function, and files hold no "
                "code; use a loss with parameters, such as BetaLoss."
            )
        if module == "__main__" or not hasattr(sys.modules.get(module), attribute):
            raise ModelFileError(
                f"this {type(model).__name__} cannot be saved: it holds {name}, which no other program could find; "
                "use an object of a module that can be imported."
            )


def _write(path: Path, data: bytes, notes: dict[str, Any]) -> None:
    with ZipFile(io.BytesIO(data)) as source, ZipFile(path, "w", ZIP_DEFLATED) as target:
        schema = json.loads(source.read(_SCHEMA))
        nodes = list(_nodes(schema))
        boosted = any(str(node["__module__"] + ".").startswith(_FOR_BOOSTING) for node in nodes)
        header = {"format": FORMAT, "versions": _versions(boosted), "metadata": notes}
        target.writestr(_HEADER, json.dumps(header, indent=2))
        for node in nodes:
            _mend_boolean_keys(node)
        target.writestr(_SCHEMA, json.dumps(schema))
        for name in source.namelist():
            if name != _SCHEMA:
                target.writestr(name, source.read(name))


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object in skops's description of a model, from the outside in."""
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if "__loader__" in each:
                yield each
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)


def _mend_boolean_keys(node: dict[str, Any]) -> None:
    """JSON writes the key False as "false", and skops reads bool("false"), which is True; 0 and 1 are equal to them."""
    if node["__loader__"] != "DictNode":
        return
    kinds = node["key_types"]["content"]
    boolean = [kind["__class__"] in ("bool", "bool_") for kind in kinds]
    if any(boolean):
        number = {"__class__": "int", "__module__": "builtins", "__loader__": "TypeNode"}
        keys = [{"false": "0", "true": "1"}[key] if b else key for key, b in zip(node["content"], boolean, strict=True)]
        node["content"] = dict(zip(keys, node["content"].values(), strict=True))
        node["key_types"]["content"] = [number if b else kind for kind, b in zip(kinds, boolean, strict=True)]


def _versions(boosted: bool) -> dict[str, str]:
    names = (*_LIBRARIES, "lightgbm") if boosted else _LIBRARIES
    return {"python": platform.python_version(), **{name: _version(name) for name in names}}


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
        raise ModelFileError(f"{path} {what}: {_one_line(error)}") from error
    if header is None:
        remedy = "; it was saved by skops itself: use skops.io.load" if _SCHEMA in members else ""
        raise ModelFileError(f"{path} was not saved by properly.save{remedy}.")
    if not (isinstance(header, dict) and all(isinstance(header.get(key), dict) for key in ("versions", "metadata"))):
        raise ModelFileError(f"{path} is damaged: its header is incomplete.")
    _check_format(path, header.get("format"), header["versions"].get("properly", "unknown"))
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


def _refusal(path: str | os.PathLike[str], refused: list[str], header: dict[str, Any]) -> str:
    ours = [name for name in refused if name.startswith("properly.")]
    if ours and len(ours) == len(refused):
        return (
            f"{path} holds {', '.join(ours)}, saved by properly {header['versions'].get('properly')}: properly "
            f"{_version('properly')} has no such model."
        )
    return (
        f"{path} holds types that are not trusted: {', '.join(refused)}. If you know them and where the file comes "
        f"from, load it with trusted={refused}."
    )


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else text[:197] + "..."
