"""Growing a tree level by level, and pruning it by cost and complexity."""

from __future__ import annotations

from dataclasses import replace
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any

import numpy as np

from properly.numeric.probabilities import Array
from properly.tree.binning import Bins
from properly.tree.splits import TIE, Impurity, Rows, Splits, best_splits, class_weights
from properly.tree.structure import LEAF, Booleans, Integers, Tree, depth_first


def grow(
    features: list[Bins],
    label: Integers,
    weight: Array | None,
    n_classes: int,
    impurity: Impurity,
    max_depth: float,
    smallest: float,
) -> Tree:
    """Split as long as a node has several classes and a split leaves `smallest` weight on both sides."""
    rows = Rows(np.arange(len(label)), np.zeros(len(label), dtype=np.intp), label, weight)
    levels: list[dict[str, Any]] = []
    n_nodes, first, n_sets = 1, 0, 0
    while n_nodes:
        totals = class_weights(rows.node, rows, n_classes, n_nodes)
        n_rows = np.bincount(rows.node, minlength=n_nodes)
        open_nodes = ((totals > 0.0).sum(axis=0) > 1) & (totals.sum(axis=0) >= 2.0 * smallest)
        open_nodes &= len(levels) < max_depth
        rows = _only(rows, open_nodes)
        split = best_splits(rows, features, totals[:, open_nodes], impurity, smallest)
        found = split.feature >= 0
        rows = _descend(_only(rows, found), features, split := split.take(found))
        inner, by_set = np.flatnonzero(open_nodes)[found], split.cut < 0
        first += n_nodes  # the number of the first node of the next level
        left = first + 2 * np.arange(len(inner))
        splits = {
            "left": left,
            "right": left + 1,
            "feature": split.feature,
            "threshold": split.threshold,
            "missing_left": split.missing_left,
            "n_categories": split.n_categories,
            "set_index": np.where(by_set, n_sets + np.cumsum(by_set) - 1, -1),
        }
        level = {name: np.full(n_nodes, entry) for name, entry in LEAF.items()}
        for name, entries in splits.items():
            level[name][inner] = entries
        depth, sets = np.full(n_nodes, len(levels)), split.sets.T[by_set]
        levels.append(level | {"sets": sets, "depth": depth, "class_weight": totals.T, "n_rows": n_rows})
        n_nodes, n_sets = 2 * len(inner), n_sets + int(by_set.sum())
    joined = {name: np.concatenate([level[name] for level in levels]) for name in levels[0]}
    return depth_first(Tree(**joined, impurity=impurity(joined["class_weight"].T)))


def _only(rows: Rows, kept: Booleans) -> Rows:
    """The rows of the nodes to be kept, which are numbered anew."""
    if kept.all():
        return rows
    rows = rows.take(kept[rows.node])
    return replace(rows, node=(np.cumsum(kept) - 1)[rows.node])


def _descend(rows: Rows, features: list[Bins], split: Splits) -> Rows:
    """The rows at the children: node i has the children 2 i and 2 i + 1. Rows of a node stay together."""
    node = 2 * rows.node
    for index in np.unique(split.feature):
        bins = features[index]
        here = np.flatnonzero(split.feature[rows.node] == index)
        code, at = bins.code[rows.row[here]], rows.node[here]
        missing = code == len(bins.low)
        left = split.sets[np.where(missing, 0, code), at] if bins.categorical else code <= split.cut[at]
        node[here] += ~np.where(missing, split.missing_left[at], left)
    return replace(rows, node=node).take(np.argsort(node, kind="stable"))


def prune(tree: Tree, alpha: float) -> Tree:
    """The smallest subtree that minimises training loss per unit of weight + alpha · leaves.

    A node becomes a leaf if that costs no more than the best subtree below it. With alpha = 0 only subtrees that lower
    the training loss by nothing are removed.
    """
    price = alpha * tree.class_weight[0].sum()
    least = tree.impurity + price
    collapsed = np.zeros(len(tree.left), dtype=np.bool_)
    for inner in reversed(list(tree.inner_by_depth())):
        below = least[tree.left[inner]] + least[tree.right[inner]]
        collapsed[inner] = least[inner] <= below + TIE * abs(tree.impurity[0])
        least[inner] = np.minimum(least[inner], below)
    return tree.cut(collapsed) if collapsed.any() else tree


def pruning_path(tree: Tree) -> tuple[Array, Array]:
    """The prices of a leaf at which the best subtree changes, from 0 on, and the training loss of each subtree.

    Breiman et al. (1984), section 3.3: the next split to go is the one with the smallest gain of its whole subtree
    per leaf that it has more than one. The loop is over nodes, as each split that goes changes the ones above it.
    """
    tree = prune(tree, 0.0)
    own, parent = tree.impurity.tolist(), tree.parent.tolist()
    loss = tree.subtree_sums(np.where(tree.is_leaf, tree.impurity, 0.0)).tolist()
    n_leaves = tree.subtree_sums(tree.is_leaf.astype(np.intp)).tolist()
    size = tree.subtree_sums(np.ones(len(own), dtype=np.intp)).tolist()
    remaining = bytearray((~tree.is_leaf).tolist())  # the splits that are left
    price = [(own[node] - loss[node]) / (n_leaves[node] - 1) if split else inf for node, split in enumerate(remaining)]
    queue = [(price[node], node) for node, split in enumerate(remaining) if split]
    heapify(queue)
    prices, losses = [0.0], [loss[0]]
    while queue:
        at, node = heappop(queue)
        if not remaining[node] or at != price[node]:
            continue  # gone with a larger subtree, or since then of another price
        more, fewer = own[node] - loss[node], n_leaves[node] - 1
        remaining[node : node + size[node]] = bytes(size[node])
        above = parent[node]
        while above >= 0:
            loss[above] += more
            n_leaves[above] -= fewer
            price[above] = (own[above] - loss[above]) / (n_leaves[above] - 1)
            heappush(queue, (price[above], above))
            above = parent[above]
        if node == 0:
            loss[0] = own[0]
        if at > prices[-1] * (1.0 + 1e-9):
            prices.append(at)
            losses.append(loss[0])
        else:  # splits of the same price go together
            losses[-1] = loss[0]
    total = tree.class_weight[0].sum()
    return np.array(prices) / total, np.array(losses) / total
