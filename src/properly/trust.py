"""Which types a model file may hold, so that loading it runs no code but that of harmless constructors.

A file names the types of its objects, and loading calls them with arguments from the file. So only classes that do
nothing but keep their arguments are trusted: this library's estimators, dataclasses, named tuples and enumerations in
the packages below, scikit-learn's splitters, and what skops trusts by itself (scikit-learn's estimators, arrays and
plain Python values). A function is never trusted, and neither is a class that calls one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit

_PACKAGES = frozenset(
    {"boosting", "calibration", "linear", "links", "losses", "prevalence", "solvers", "tables", "tree"}
)
_SPLITTERS = "sklearn.model_selection._split"
_TREE = "sklearn.tree._tree.Tree"  # trusted here because `check_trees` looks inside, which skops does not
_PLAIN = frozenset({_TREE, "collections.OrderedDict", "numpy.dtype", "sklearn.metrics._scorer._PassthroughScorer"})
_CALLS_ITS_ARGUMENT = frozenset({"properly.losses.numerical.LossFromWeight"})


def is_trusted(name: str) -> bool:
    """Whether the type of this full name is one that any file may hold.

    >>> is_trusted("properly.links.symmetric.Logit"), is_trusted("os.system"), is_trusted("properly.atomic.atomic_path")
    (True, False, False)
    """
    if name in _PLAIN:
        return True
    module, _, attribute = name.rpartition(".")
    parts = module.split(".")
    if parts[0] == "properly":
        if parts[1:2] == [] or parts[1] not in _PACKAGES or name in _CALLS_ITS_ARGUMENT:
            return False
        kinds: tuple[type, ...] = (BaseEstimator, tuple, Enum)
    elif module == _SPLITTERS:
        kinds = (BaseCrossValidator, BaseShuffleSplit)
    else:
        return False
    found = found_by_name(name)
    if not (isinstance(found, type) and found.__module__ == module and found.__name__ == attribute):
        return False
    return issubclass(found, kinds) or (parts[0] == "properly" and is_dataclass(found))


def found_by_name(name: str) -> Any:
    """What a full name stands for, or None; only for modules that may be imported without harm."""
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(import_module(module), attribute, None)
    except (ModuleNotFoundError, ValueError):
        return None


def check_trees(model: Any) -> None:
    """Refuse a scikit-learn tree whose nodes point outside it: compiled code would read there without looking.

    Raises
    ------
    ValueError
        A tree without nodes, a child that is not a later node, or a feature that the tree does not have.
    """
    for tree in _trees_in([model], set()):
        if tree.node_count < 1:
            raise ValueError("a tree has no nodes")
        left, right, feature = tree.children_left, tree.children_right, tree.feature
        number = np.arange(tree.node_count)
        inner = left != -1
        later = (left > number) & (right > number) & (left < tree.node_count) & (right < tree.node_count)
        if not (np.all(later[inner]) and np.all((feature[inner] >= 0) & (feature[inner] < tree.n_features))):
            raise ValueError("a tree points outside its own nodes or features")


def _trees_in(objects: Iterable[Any], seen: set[int]) -> Iterator[Any]:
    for each in objects:
        if id(each) in seen or isinstance(each, str | bytes | int | float | type):
            continue
        seen.add(id(each))
        if f"{type(each).__module__}.{type(each).__name__}" == _TREE:
            yield each
        elif isinstance(each, dict):
            yield from _trees_in(each.values(), seen)
        elif isinstance(each, list | tuple | set):
            yield from _trees_in(each, seen)
        elif isinstance(each, np.ndarray):
            if each.dtype == object:
                yield from _trees_in(each.ravel().tolist(), seen)
        elif hasattr(each, "__dict__"):
            yield from _trees_in(vars(each).values(), seen)
