"""LightGBM's text of boosted trees, checked before LightGBM sees it.

LightGBM believes what its own texts say: it follows children and features wherever they point, and a text of another
length than stated ends the process. So a text must have the very form in which LightGBM writes it, with arrays of the
right lengths, features that exist, and in every tree each node and each leaf below exactly one earlier node (of several
scores that are boosted together, one may have a tree of a single leaf).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_WHOLE = r"-?\d{1,10}"
_NUMBER = r"(?:-?\d+(?:\.\d*)?(?:e[+-]?\d+)?|-?inf|-?nan)"
_WHOLES, _NUMBERS = (re.compile(f"{each}(?: {each})*") for each in (_WHOLE, _NUMBER))
_HEAD = re.compile(
    r"tree\nversion=v4\nnum_class=(\d{1,9})\nnum_tree_per_iteration=(\d{1,9})\nlabel_index=0\nmax_feature_idx=(\d{1,9})\n"
    r"feature_names=([^\n]*)\nfeature_infos=([^\n]*)\ntree_sizes=(\d{1,9}(?: \d{1,9})*)\n\n"
)
_TAIL = re.compile(
    r"end of trees\n\nfeature_importances:\n(?:[^=\n]+=\d+\n)*\nparameters:\n(?:\[\w+: [^\n]*\]\n)*\n"
    r"end of parameters\n\npandas_categorical:null\n*"
)
_OF_NODES_WHOLE = ("split_feature", "decision_type", "left_child", "right_child", "internal_count")
_OF_NODES = ("split_gain", "threshold", "internal_value", "internal_weight")
_OF_LEAVES = ("leaf_value", "leaf_weight")
_OF_TREES = ("num_leaves", "num_cat", "is_linear")
_OF_CATEGORIES = ("cat_boundaries", "cat_threshold")
_ALL = {*_OF_NODES_WHOLE, *_OF_NODES, *_OF_LEAVES, "leaf_count", *_OF_TREES, "shrinkage"}
_CATEGORICAL, _LARGEST_DECISION = (
    1,
    11,
)  # bits of a decision: categorical, missing values go left, kind of missing (0-2)


def check_text(text: str, n_features: int, n_scores: int = 1) -> int:
    """The number of trees that each score has in a text.

    Raises
    ------
    ValueError
        The text is not one that LightGBM would write for so many features and scores.
    """
    head = _HEAD.match(text) if text.isascii() else None
    if head is None:
        raise ValueError("the text of boosted trees is not as LightGBM writes it: its header")
    *scores, features, names, infos, stated = head.groups()
    _require(scores == [str(n_scores)] * 2, "its number of scores")
    counts = {int(features) + 1, n_features, len(names.split(" ")), len(infos.split(" "))}
    _require(len(counts) == 1, "its number of features")
    sizes = [int(size) for size in stated.split(" ")]
    ends = head.end() + np.cumsum([0, *sizes])
    _require(_TAIL.fullmatch(text, int(ends[-1])) is not None, "what follows its trees")
    trees = [_fields(text[start:end], k) for k, (start, end) in enumerate(pairwise(ends))]
    _check_trees(trees, n_features)
    _require(len(sizes) % n_scores == 0, "its number of trees")
    return len(sizes) // n_scores


def _require(fine: bool | np.bool_, what: str) -> None:
    if not fine:
        raise ValueError(f"the text of boosted trees is not as LightGBM writes it: {what}")


def _fields(block: str, number: int) -> dict[str, str]:
    """The lines of one tree."""
    lines = block.split("\n")
    _require(lines[0] == f"Tree={number}" and lines[-3:] == ["", "", ""], "where a tree begins or ends")
    pairs = [line.partition("=")[::2] for line in lines[1:-3]]
    fields = dict(pairs)
    _require(len(fields) == len(pairs) and fields.keys() - _OF_CATEGORIES == _ALL, "the entries of a tree")
    return fields


def _check_trees(trees: Sequence[Mapping[str, str]], n_features: int) -> None:
    leaves, n_sets, linear = (_one_each(trees, name) for name in _OF_TREES)
    fine = (leaves >= 1) & (linear == 0) & (n_sets >= 0) & (n_sets < leaves)
    _require(np.all(fine), "the size of a tree")
    _check_numbers(trees, ["shrinkage"], np.ones_like(leaves))
    _check_numbers(trees, _OF_NODES, leaves - 1)
    _check_numbers(trees, _OF_LEAVES, leaves)
    _wholes(trees, "leaf_count", leaves)
    feature, decision, left, right, _ = (_wholes(trees, name, leaves - 1) for name in _OF_NODES_WHOLE)
    _require(np.all((feature >= 0) & (feature < n_features)), "a feature that there is not")
    _require(np.all((decision >= 0) & (decision <= _LARGEST_DECISION)), "a kind of split")
    _check_children(left, right, leaves)
    _check_sets(trees, decision & _CATEGORICAL == 1, np.repeat(n_sets, leaves - 1), n_sets)


def _one_each(trees: Sequence[Mapping[str, str]], name: str) -> Integers:
    return _wholes(trees, name, np.ones(len(trees), dtype=np.int64))


def _wholes(trees: Sequence[Mapping[str, str]], name: str, lengths: Integers) -> Integers:
    """An entry of all trees, one after the other; each tree must have as many numbers as `lengths` says."""
    joined = _joined(trees, name, lengths, _WHOLES)
    return np.array(joined.split(" ") if joined else [], dtype=np.str_).astype(np.int64)


def _check_numbers(trees: Sequence[Mapping[str, str]], names: Sequence[str], lengths: Integers) -> None:
    for name in names:
        _joined(trees, name, lengths, _NUMBERS)


def _joined(trees: Sequence[Mapping[str, str]], name: str, lengths: Integers, form: re.Pattern[str]) -> str:
    found = [tree.get(name, "") for tree in trees]
    counts = np.array([text.count(" ") + 1 if text else 0 for text in found])
    _require(np.array_equal(counts, lengths), f"the length of {name}")
    joined = " ".join(text for text in found if text)
    _require(not joined or form.fullmatch(joined) is not None, f"the numbers of {name}")
    return joined


def _check_children(left: Integers, right: Integers, leaves: Integers) -> None:
    """A child is a later node, or -1 - leaf; all of them are children once, but for the root."""
    nodes = leaves - 1
    own = _within(nodes)
    first_node, first_leaf = (np.repeat(np.cumsum(sizes) - sizes, nodes) for sizes in (nodes, leaves))
    for child in (left, right):
        fine = np.where(
            child >= 0, (child > own) & (child < np.repeat(nodes, nodes)), child >= -np.repeat(leaves, nodes)
        )
        _require(np.all(fine), "a child that is no later node and no leaf")
    children, first_node, first_leaf = np.append(left, right), np.tile(first_node, 2), np.tile(first_leaf, 2)
    inner = children >= 0
    node_used = np.bincount((children + first_node)[inner], minlength=int(nodes.sum()))
    leaf_used = np.bincount((-1 - children + first_leaf)[~inner], minlength=int(leaves.sum()))
    below_a_node = np.repeat(leaves > 1, leaves)
    once = np.array_equal(node_used, _within(nodes) > 0) and np.array_equal(leaf_used, below_a_node)
    _require(once, "a child of two nodes or none")


def _within(lengths: Integers) -> Integers:
    """0, 1, ... for each of these lengths, one after the other.

    >>> _within(np.array([2, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _check_sets(
    trees: Sequence[Mapping[str, str]], by_set: NDArray[np.bool_], available: Integers, n_sets: Integers
) -> None:
    """The threshold of a split by categories is the number of a set, and the sets share one array of bits."""
    thresholds = " ".join(tree["threshold"] for tree in trees if tree["threshold"]).split(" ")
    chosen = [thresholds[k] for k in np.flatnonzero(by_set)]
    _require(all(text.isdigit() and len(text) < 10 for text in chosen), "the number of a set of categories")
    numbers = np.array(chosen, dtype=np.str_).astype(np.int64)
    _require(np.all(numbers < available[by_set]), "the number of a set of categories")
    with_sets = [tree for tree in trees if tree["num_cat"] != "0"]
    without = [tree for tree in trees if tree["num_cat"] == "0"]
    _require(not any(tree.keys() & {*_OF_CATEGORIES} for tree in without), "sets of categories")
    lengths = n_sets[n_sets > 0] + 1
    bounds = _wholes(with_sets, "cat_boundaries", lengths)
    first, last = np.cumsum(lengths) - lengths, np.cumsum(lengths) - 1
    rising = np.diff(bounds, prepend=0)
    rising[first] = 0
    _require(np.all(bounds[first] == 0) and np.all(rising >= 0), "the bounds of sets of categories")
    _require(np.all(_wholes(with_sets, "cat_threshold", bounds[last]) >= 0), "the bits of sets of categories")
