"""Which types a model file may hold, so that loading it runs no code but that of harmless constructors.

A file names the types of its objects, and loading calls them with arguments from the file. So only classes that do
nothing but keep their arguments are trusted: this library's estimators, dataclasses, named tuples and enumerations in
the packages below, scikit-learn's splitters, scorers and plain containers, and what skops trusts by itself
(scikit-learn's estimators, arrays and plain Python values). Of functions only those are trusted that scorers use: they
make a number of arrays, and do nothing else. A class that calls a function while it is made is not trusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit

_OPEN = "boosting calibration inputs linear links losses maxent metrics numeric prevalence solvers tables tree"
PACKAGES = frozenset(f"properly.{name}" for name in _OPEN.split())
"""The packages whose classes, and of metrics the functions that scorers call, a file may hold."""

_SPLITTERS = "sklearn.model_selection._split"
_TREE = "sklearn.tree._tree.Tree"  # trusted here because `check_trees` looks inside, which skops does not
_BOOSTED_TREES = "sklearn.ensemble._gb"
_PLAIN = frozenset(
    {
        _TREE,
        "collections.OrderedDict",
        "numpy.dtype",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.metrics._scorer._Scorer",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.utils._bunch.Bunch",
    }
)
_WITH_METRICS = ("properly.metrics.", "sklearn.metrics.")
_CALLS_ITS_ARGUMENT = frozenset({"properly.losses.from_weight.LossFromWeight"})


def is_trusted(name: str) -> bool:
    """Whether the type of this full name is one that any file may hold.

    >>> is_trusted("properly.links.symmetric.Logit"), is_trusted("os.system"), is_trusted("properly.files.atomic_path")
    (True, False, False)
    """
    if name in _PLAIN:
        return True
    if name.startswith(_WITH_METRICS):
        return name in _scoring_functions()
    module, _, attribute = name.rpartition(".")
    parts = module.split(".")
    if parts[0] == "properly":
        if ".".join(parts[:2]) not in PACKAGES or name in _CALLS_ITS_ARGUMENT:
            return False
        kinds: tuple[type, ...] = (BaseEstimator, tuple, Enum)
    elif module == _SPLITTERS:
        kinds = (BaseCrossValidator, BaseShuffleSplit)
    else:
        return False
    try:  # these modules may be imported without harm
        found = getattr(import_module(module), attribute, None)
    except (ModuleNotFoundError, ValueError):
        return False
    if not (isinstance(found, type) and found.__module__ == module and found.__name__ == attribute):
        return False
    return issubclass(found, kinds) or (parts[0] == "properly" and is_dataclass(found))


@cache
def _scoring_functions() -> frozenset[str]:
    """Full names of the functions that this library's and scikit-learn's scorers call."""
    from properly.metrics import SCORERS, proper_scorer

    scorers = [*SCORERS.values(), proper_scorer(), *map(get_scorer, get_scorer_names())]
    functions = [scorer._score_func for scorer in scorers]
    return frozenset(f"{function.__module__}.{function.__name__}" for function in functions)


def check_trees(model: Any) -> None:
    """Refuse a scikit-learn tree that looks outside itself or its rows: compiled code would read there unchecked.

    Raises
    ------
    ValueError
        A tree without nodes, a child that is not a later node, a feature that the tree does not have, another number
        of features than that of its estimator, which checks the rows, a tree without an estimator, or boosted trees
        that do not fit together.
    """
    found = list(_objects_in([model], set()))
    owned = set()
    for each in found:
        state = vars(each) if hasattr(each, "__dict__") else {}
        if _is_tree(state.get("tree_")):
            _check_tree(state["tree_"], state.get("n_features_in_"))
            owned.add(id(state["tree_"]))
    if not all(id(each) in owned for each in found if _is_tree(each)):
        raise ValueError("a tree belongs to no estimator")
    for each in reversed(found):  # inner ones first
        if type(each).__module__ == _BOOSTED_TREES and "estimators_" in vars(each):
            _check_boosted_trees(each)


def _is_tree(each: Any) -> bool:
    return f"{type(each).__module__}.{type(each).__name__}" == _TREE


def _check_tree(tree: Any, n_features: Any) -> None:
    if tree.node_count < 1:
        raise ValueError("a tree has no nodes")
    if tree.n_features != n_features:
        raise ValueError("a tree has another number of features than its estimator")
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    number = np.arange(tree.node_count)
    inner = left != -1
    later = (left > number) & (right > number) & (left < tree.node_count) & (right < tree.node_count)
    if not (np.all(later[inner]) and np.all((feature[inner] >= 0) & (feature[inner] < tree.n_features))):
        raise ValueError("a tree points outside its own nodes or features")


def _check_boosted_trees(model: Any) -> None:
    """All trees are applied to rows that only the first has checked, and each of an iteration writes to a column."""
    trees = model.estimators_
    if not (isinstance(trees, np.ndarray) and trees.ndim == 2 and all(_is_tree(each.tree_) for each in trees.flat)):
        raise ValueError("boosted trees are missing")
    n_features = trees[0, 0].n_features_in_
    if any(each.n_features_in_ != n_features for each in trees.flat):
        raise ValueError("boosted trees have different numbers of features")
    if model._raw_predict_init(np.zeros((1, n_features))).shape != (1, trees.shape[1]):
        raise ValueError("boosted trees are not as many as their classes")


def _objects_in(objects: Iterable[Any], seen: set[int]) -> Iterator[Any]:
    """Trees and everything that has attributes, from the outside in."""
    for each in objects:
        if id(each) in seen or isinstance(each, str | bytes | int | float | type):
            continue
        seen.add(id(each))
        if _is_tree(each):
            yield each
        elif isinstance(each, dict):
            yield from _objects_in(each.values(), seen)
        elif isinstance(each, list | tuple | set):
            yield from _objects_in(each, seen)
        elif isinstance(each, np.ndarray):
            if each.dtype == object:
                yield from _objects_in(each.ravel().tolist(), seen)
        elif hasattr(each, "__dict__"):
            yield each
            yield from _objects_in(vars(each).values(), seen)
