"""skops's description of a model: what it may hold, and how it names our types.

A class of ours is named by its package and its own name, not by the module it is in, so that files survive moves:
``properly.calibration.IsotonicMap`` is found in whichever module of the package it is. Names within a package are
therefore unique.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from properly.progress import visible

SCHEMA = "schema.json"


class ModelFileError(ValueError):
    """A model that cannot be saved, or a file that cannot be loaded; says which and why in one line."""


def checked_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Notes that are the same when they are read again, but for tuples."""
    if not isinstance(metadata, Mapping | None):
        raise ModelFileError(f"metadata must be a dict, got {type(metadata).__name__}.")
    notes = dict(metadata or {})
    try:
        json.dumps(notes)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"metadata must be what JSON can hold: {one_line(error)}") from error
    for key in _keys_in(notes):
        if not isinstance(key, str):
            raise ModelFileError(f"metadata must have strings as keys, got {key!r}.")
    return notes


def _keys_in(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for each in value:
        yield from _keys_in(each)


def refuse_what_cannot_be_found(names: list[str], model: Any) -> None:
    """A file has names of types and functions only: refuse a name that leads nowhere, or to what only exists now."""
    for name in names:
        module, _, attribute = name.rpartition(".")
        if attribute in ("LossFromWeight", "LossFromPartial"):
            raise ModelFileError(
                f"this {type(model).__name__} cannot be saved: {attribute} holds a function, and files hold no "
                "code; use a loss with parameters, such as BetaLoss."
            )
        if module == "__main__" or not hasattr(sys.modules.get(module), attribute):
            raise ModelFileError(
                f"this {type(model).__name__} cannot be saved: it holds {name}, which no other program could find; "
                "use an object of a module that can be imported."
            )


def read_schema(content: bytes) -> Any:
    """skops's description of a model, from JSON, which makes strings of keys; these must stay different."""
    schema = json.loads(content, object_pairs_hook=_different)
    for node in nodes_of(schema):
        _mend_boolean_keys(node)
    return schema


def _different(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A dict of pairs, whose keys must differ."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(
                f"a dict in it has two keys that both read {key!r} in a file, such as 1 and '1'; rename one."
            )
        found[key] = value
    return found


def nodes_of(schema: Any) -> Iterator[dict[str, Any]]:
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


def types_in(schema: Any) -> set[tuple[str, str]]:
    """The full names of all types in a description, but of plain values, each with how skops makes the object."""
    nodes = (node for node in nodes_of(schema) if node["__loader__"] != "JsonNode")
    return {(f"{node['__module__']}.{node['__class__']}", node["__loader__"]) for node in nodes}


def _mend_boolean_keys(node: dict[str, Any]) -> None:
    """JSON writes the key False as "false", and skops reads bool("false"), which is True; 0 and 1 are equal to them."""
    if node.get("__loader__") != "DictNode" or "key_types" not in node:
        return
    kinds = node["key_types"]["content"]
    boolean = [kind["__class__"] in ("bool", "bool_") for kind in kinds]
    if any(boolean):
        number = {"__class__": "int", "__module__": "builtins", "__loader__": "TypeNode"}
        keys = [{"false": "0", "true": "1"}[key] if b else key for key, b in zip(node["content"], boolean, strict=True)]
        node["content"] = _different(zip(keys, node["content"].values(), strict=True))
        node["key_types"]["content"] = [number if b else kind for kind, b in zip(kinds, boolean, strict=True)]


def one_line(error: BaseException) -> str:
    text = visible(" ".join(str(error).split())) or type(error).__name__
    return text if len(text) <= 200 else text[:197] + "..."


_PREFIX = "properly."


def name_stably(schema: Any) -> None:
    """Replace the modules of our types in skops's description of a model by their packages."""
    for node in _own_nodes(schema):
        node["__module__"] = ".".join(node["__module__"].split(".")[:2])


def name_by_module(schema: Any) -> list[str]:
    """Replace packages by the modules in which our types are found now; returns the names that lead nowhere."""
    unknown = []
    for node in _own_nodes(schema):
        module = members_of(node["__module__"]).get(node["__class__"])
        if module is None:
            unknown.append(f"{node['__module__']}.{node['__class__']}")
        else:
            node["__module__"] = module
    return unknown


@cache
def members_of(package: str) -> dict[str, str]:
    """The module of every class and function that a package of ours defines; {} for what is no such package.

    Private classes are no part of a model file, and their names need not be unique.

    >>> members_of("properly.links")["Logit"]
    'properly.links.symmetric'
    """
    from properly.persistence.trusted import NAMED

    found: dict[str, str] = {}
    for module in iter_modules(import_module(package).__path__, f"{package}.") if package in NAMED else ():
        for attribute, value in vars(import_module(module.name)).items():
            private = isinstance(value, type) and attribute.startswith("_")
            if getattr(value, "__module__", None) == module.name and callable(value) and not private:
                found[attribute] = module.name
    return found


def _own_nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """The nodes that name a type of this library."""
    return (
        node
        for node in nodes_of(schema)
        if isinstance(node.get("__class__"), str) and str(node.get("__module__")).startswith(_PREFIX)
    )
