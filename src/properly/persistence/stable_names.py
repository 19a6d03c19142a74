"""Stable names in model files: a class of ours is named by its package and its own name, not by the module it is in.

``properly.calibration.IsotonicMap`` is found in whichever module of the package it is, so that files survive moves.
Names within a package are therefore unique.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from properly.persistence.contents import nodes_of

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

    >>> members_of("properly.links")["Logit"]
    'properly.links.symmetric'
    """
    found: dict[str, str] = {}
    for name in _modules_of(package):
        for attribute, value in vars(import_module(name)).items():
            if getattr(value, "__module__", None) == name and callable(value):
                found[attribute] = name
    return found


def _modules_of(package: str) -> list[str]:
    from properly.persistence.trusted import PACKAGES

    if package not in PACKAGES:
        return []
    inside = iter_modules(import_module(package).__path__, f"{package}.")
    return [each.name for each in inside]


def _own_nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """The nodes that name a type of this library."""
    return (
        node
        for node in nodes_of(schema)
        if isinstance(node.get("__class__"), str) and str(node.get("__module__")).startswith(_PREFIX)
    )
