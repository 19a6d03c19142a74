"""A fitted tree as arrays, one entry per node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from properly.numeric import functions as fn
from properly.numeric.arrays import Array, columns_of, is_foreign, namespace

Integers = NDArray[np.intp]
Booleans = NDArray[np.bool_]
LEAF = {"left": -1, "right": -1, "feature": -1, "threshold": np.nan, "missing_left": False}
LEAF |= {"n_categories": 0, "set_index": -1}
"""What a leaf has where other nodes have a split."""


@dataclass(frozen=True)
class Tree:
    """The nodes in depth-first order: the root is 0, a left child follows its parent, a subtree is contiguous.

    A row goes left if its value is at most the threshold, or, for a categorical feature, if its code is in the node's
    set. A row whose value is missing goes left if `missing_left`.

    Attributes
    ----------
    left, right : array of int of shape (n_nodes,)
        The children, -1 in a leaf.
    feature : array of int
        What the node asks about, -1 in a leaf.
    threshold : array
        nan in a leaf and where a set decides; inf if all that are not missing go left.
    missing_left : array of bool
        Where rows with a missing value go.
    n_categories : array of int
        How many categories a set divides, else 0.
    set_index : array of int
        The row of `sets` that decides, -1 if none does.
    sets : array of bool of shape (n_categorical_splits, n_codes)
        The categories that go left.
    depth, n_rows : array of int
        The depth of the node, and its training rows.
    class_weight : array of shape (n_nodes, n_classes)
        The training weight of each class.
    impurity : array
        The summed training loss of the node as a leaf.
    """

    left: Integers  # the children, -1 in a leaf
    right: Integers
    feature: Integers  # -1 in a leaf
    threshold: Array  # nan in a leaf and where a set decides; inf if all that are not missing go left
    missing_left: Booleans
    n_categories: Integers  # that a set divides, those of the node's training rows, missing as one of them; else 0
    set_index: Integers  # the row of `sets` that decides, -1 if none does
    sets: Booleans  # (n_categorical_splits, n_codes): the categories that go left
    depth: Integers
    class_weight: Array  # (n_nodes, n_classes): the training weight of each class
    impurity: Array  # the summed training loss of the node as a leaf
    n_rows: Integers

    def check(self) -> None:
        """Refuse arrays that are no tree, such as one in which a row would never reach a leaf; for trees from files.

        Raises
        ------
        ValueError
            Arrays of several lengths or of other types, a child that is not a later node or has two parents, or a depth
            that is not one more than the parent's.
        """
        integers = (self.left, self.right, self.feature, self.set_index, self.depth)
        n_nodes = len(self.left)
        if not all(each.dtype.kind == "i" and each.shape == (n_nodes,) for each in integers) or n_nodes < 1:
            raise ValueError("a tree has no nodes, or arrays that do not fit together")
        inner, number = np.flatnonzero(~self.is_leaf), np.arange(1, n_nodes)
        children = np.concatenate([self.left[inner], self.right[inner]])
        if not (np.array_equal(np.sort(children), number) and np.all(children > np.tile(inner, 2))):
            raise ValueError("a tree has a node that is not below exactly one earlier node")
        if self.depth[0] != 0 or np.any(self.depth[children] != np.tile(self.depth[inner], 2) + 1):
            raise ValueError("a tree has a node that is not one deeper than the node above it")

    @property
    def is_leaf(self) -> Booleans:
        return self.left < 0

    @property
    def gain(self) -> Array:
        """What each split takes off the training loss; 0 in a leaf."""
        gain = np.zeros(len(self.left))
        inner = ~self.is_leaf
        gain[inner] = self.impurity[inner] - self.impurity[self.left[inner]] - self.impurity[self.right[inner]]
        return gain

    def inner_by_depth(self) -> Iterator[Integers]:
        """The nodes that are split, one array for each level from the root down."""
        for depth in range(int(self.depth.max())):
            yield np.flatnonzero((self.depth == depth) & ~self.is_leaf)

    @property
    def parent(self) -> Integers:
        """The parent of every node, -1 of the root."""
        parent, inner = np.full(len(self.left), -1), np.flatnonzero(~self.is_leaf)
        parent[self.left[inner]] = parent[self.right[inner]] = inner
        return parent

    def subtree_sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """The sum of `values`, one per node, over each node and all nodes below it."""
        sums = values.copy()
        for inner in reversed(list(self.inner_by_depth())):
            sums[inner] += sums[self.left[inner]] + sums[self.right[inner]]
        return sums

    def leaf_of(self, X: Array) -> Integers:
        """The leaf that each row of X falls into."""
        if is_foreign(X):
            return self._leaf_in_array(X)
        node = np.zeros(len(X), dtype=np.intp)
        rows = np.arange(len(X)) if not self.is_leaf[0] else np.arange(0)
        while len(rows):
            at = node[rows]
            value = X[rows, self.feature[at]]
            left, missing = value <= self.threshold[at], np.isnan(value)
            by_set = np.flatnonzero((self.set_index[at] >= 0) & ~missing)
            left[by_set] = self.sets[self.set_index[at[by_set]], value[by_set].astype(np.intp)]
            left[missing] = self.missing_left[at[missing]]
            node[rows] = np.where(left, self.left[at], self.right[at])
            rows = rows[~self.is_leaf[node[rows]]]
        return node

    def _leaf_in_array(self, X: Any) -> Any:
        """`leaf_of` for arrays of other libraries: all rows go down as far as the deepest leaf, where others wait."""
        xp, own = namespace(X), np.arange(len(self.left))
        left, right = (np.where(self.is_leaf, own, each) for each in (self.left, self.right))
        n_codes = self.sets.shape[1]
        node = xp.zeros_like(columns_of(X)[0], dtype=xp.int64)
        for _ in range(int(self.depth.max())):
            column = fn.entries(np.maximum(self.feature, 0), node)
            value = columns_of(xp.take_along_axis(X, column[:, None], axis=1))[0]
            missing = xp.isnan(value)
            goes_left = value <= fn.entries(self.threshold, node)
            if self.sets.size:
                code = xp.astype(xp.clip(xp.where(missing, 0.0, value), 0.0, n_codes - 1.0), xp.int64)
                place = fn.entries(np.maximum(self.set_index, 0) * n_codes, node) + code
                by_set = fn.entries(self.set_index >= 0, node)
                goes_left = xp.where(by_set, fn.entries(self.sets.ravel(), place), goes_left)
            goes_left = xp.where(missing, fn.entries(self.missing_left, node), goes_left)
            node = xp.where(goes_left, fn.entries(left, node), fn.entries(right, node))
        return node

    def shrunken(self, shrinkage: float) -> tuple[Array, Array]:
        """Class probabilities of every node, (class weight + shrinkage · parent's p) / (weight + shrinkage), and logs.

        The logarithms are finite also where a probability underflows, and -inf where it is 0.

        Parameters
        ----------
        shrinkage : float
            How strongly leaves are drawn to the nodes above them.
        """
        p = self.class_weight / self.class_weight.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            log_p, log_weight, log_shrinkage = np.log(p), np.log(self.class_weight), np.log(shrinkage)
            for inner in self.inner_by_depth():
                for child in (self.left[inner], self.right[inner]):
                    weight = self.class_weight[child]
                    total = weight.sum(axis=1, keepdims=True) + shrinkage
                    p[child] = (weight + shrinkage * p[inner]) / total
                    log_p[child] = np.logaddexp(log_weight[child], log_shrinkage + log_p[inner]) - np.log(total)
            return p, np.where(p > np.finfo(np.float64).tiny, np.log(p), log_p)

    def _of_nodes(self, nodes: Integers, position: Integers) -> Tree:
        """The tree of these nodes, in this order; `position` has the new number of every node."""
        entries = {field.name: getattr(self, field.name)[nodes] for field in fields(self) if field.name != "sets"}
        for side in ("left", "right"):
            entries[side] = np.where(entries["feature"] < 0, -1, position[entries[side]])
        return Tree(**entries, sets=self.sets)

    def cut(self, collapsed: Booleans) -> Tree:
        """The tree in which the marked nodes are leaves.

        Parameters
        ----------
        collapsed : array of bool of shape (n_nodes,)
            The nodes that become leaves.
        """
        removed = np.zeros(len(self.left), dtype=np.bool_)
        for inner in self.inner_by_depth():
            removed[self.left[inner]] = removed[self.right[inner]] = removed[inner] | collapsed[inner]
        kept = np.flatnonzero(~removed)
        leaf = (self.is_leaf | collapsed)[kept]
        tree = self._of_nodes(kept, np.cumsum(~removed) - 1)
        tree = replace(tree, **{name: np.where(leaf, entry, getattr(tree, name)) for name, entry in LEAF.items()})
        used, index = np.unique(tree.set_index[tree.set_index >= 0]), tree.set_index
        return replace(tree, set_index=np.where(index < 0, -1, np.searchsorted(used, index)), sets=self.sets[used])


def depth_first(tree: Tree) -> Tree:
    """The same tree with its nodes in depth-first order."""
    size, position = tree.subtree_sums(np.ones(len(tree.left), dtype=np.intp)), np.zeros(len(tree.left), dtype=np.intp)
    for inner in tree.inner_by_depth():
        position[tree.left[inner]] = position[inner] + 1
        position[tree.right[inner]] = position[inner] + 1 + size[tree.left[inner]]
    return tree._of_nodes(np.argsort(position), position)
