"""Growing a tree level by level, and pruning it by cost and complexity."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple

import numpy as np

from properly.numeric.probabilities import Array
from properly.tree.binning import Bins
from properly.tree.splits import TIE, Impurity, Rows, Splits, best_splits, class_weights
from properly.tree.structure import Booleans, Integers, Tree, depth_first, goes_left


class _Level(NamedTuple):
    """The nodes of one level; `split` has one entry for each node that is split."""

    class_weight: Array  # (n_nodes, n_classes)
    n_rows: Integers
    inner: Integers  # the nodes that are split
    split: Splits


def grow(
    features: list[Bins],
    label: Integers,
    weight: Array | None,
    impurity: Impurity,
    *,
    n_classes: int,
    max_depth: float,
    smallest: float,
) -> Tree:
    """Split as long as a node has several classes and a split leaves `smallest` weight on both sides."""
    rows = Rows(np.arange(len(label)), np.zeros(len(label), dtype=np.intp), label, weight)
    levels: list[_Level] = []
    n_nodes = 1
    while n_nodes:
        totals = class_weights(rows.node, rows, n_classes, n_nodes)
        n_rows = np.bincount(rows.node, minlength=n_nodes)
        open_nodes = ((totals > 0.0).sum(axis=0) > 1) & (totals.sum(axis=0) >= 2.0 * smallest)
        open_nodes &= len(levels) < max_depth
        rows = _only(rows, open_nodes)
        split = best_splits(rows, features, totals[:, open_nodes], impurity, smallest)
        found = split.feature >= 0
        rows = _descend(_only(rows, found), features, split := split.take(found))
        levels.append(_Level(totals.T, n_rows, np.flatnonzero(open_nodes)[found], split))
        n_nodes = 2 * len(split.feature)
    return depth_first(_joined(levels, impurity))


def _only(rows: Rows, kept: Booleans) -> Rows:
    """The rows of the nodes to be kept, which are numbered anew."""
    if kept.all():
        return rows
    position = np.cumsum(kept) - 1
    inside = kept[rows.node]
    return Rows(
        rows.row[inside],
        position[rows.node[inside]],
        rows.label[inside],
        None if rows.weight is None else rows.weight[inside],
    )


def _descend(rows: Rows, features: list[Bins], split: Splits) -> Rows:
    """The rows at the children: node i has the children 2 i and 2 i + 1. Rows of a node stay together."""
    node = 2 * rows.node
    for index in np.unique(split.feature):
        bins = features[index]
        here = np.flatnonzero(split.feature[rows.node] == index)
        code, at = bins.code[rows.row[here]], rows.node[here]
        set_index = at if bins.categorical else np.full(len(at), -1)
        left = goes_left(code, code == len(bins.low), split.cut[at], split.missing_left[at], set_index, split.sets)
        node[here] += ~left
    order = np.argsort(node, kind="stable")
    return Rows(rows.row[order], node[order], rows.label[order], None if rows.weight is None else rows.weight[order])


def _joined(levels: list[_Level], impurity: Impurity) -> Tree:
    """The levels one after the other as one tree."""
    sizes = np.array([len(level.n_rows) for level in levels])
    first = np.cumsum(sizes) - sizes
    n_nodes = int(sizes.sum())
    left, feature, set_index = (np.full(n_nodes, -1) for _ in range(3))
    threshold, missing_left = np.full(n_nodes, np.nan), np.zeros(n_nodes, dtype=np.bool_)
    sets, n_sets = [], 0
    for level, start, following in zip(levels, first, np.append(first[1:], n_nodes), strict=True):
        inner, split = start + level.inner, level.split
        left[inner] = following + 2 * np.arange(len(inner))
        feature[inner], threshold[inner], missing_left[inner] = split.feature, split.threshold, split.missing_left
        by_set = np.flatnonzero(split.cut < 0)
        set_index[inner[by_set]] = n_sets + np.arange(len(by_set))
        sets.append(split.sets[by_set])
        n_sets += len(by_set)
    class_weight = np.concatenate([level.class_weight for level in levels])
    return Tree(
        left=left,
        right=np.where(left >= 0, left + 1, -1),
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        set_index=set_index,
        sets=np.concatenate(sets),
        depth=np.repeat(np.arange(len(levels)), sizes),
        class_weight=class_weight,
        impurity=impurity(class_weight.T),
        n_rows=np.concatenate([level.n_rows for level in levels]),
    )


def prune(tree: Tree, alpha: float) -> Tree:
    """The smallest subtree that minimises training loss per unit of weight + alpha · leaves.

    A node becomes a leaf if that costs no more than the best of what is below it. With alpha = 0 only splits that
    gained nothing go, which a tree needs on its way to later ones.
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
    per leaf that it has more than one.
    """
    tree = prune(tree, 0.0)
    n_leaves, loss = tree.is_leaf.astype(np.intp), np.where(tree.is_leaf, tree.impurity, 0.0)
    size, parent = np.ones(len(tree.left), dtype=np.intp), np.full(len(tree.left), -1)
    for inner in reversed(list(tree.inner_by_depth())):
        for child in (tree.left[inner], tree.right[inner]):
            parent[child] = inner
            n_leaves[inner] += n_leaves[child]
            loss[inner] += loss[child]
            size[inner] += size[child]
    prices, losses = _weakest_first(
        tree.impurity.tolist(), loss.tolist(), n_leaves.tolist(), size.tolist(), parent.tolist()
    )
    total = tree.class_weight[0].sum()
    return np.array(prices) / total, np.array(losses) / total


def _weakest_first(
    own: list[float], loss: list[float], n_leaves: list[int], size: list[int], parent: list[int]
) -> tuple[list[float], list[float]]:
    """Prices and losses of the whole tree as one split after the other goes; the lists describe subtrees.

    The loop is over nodes, one at a time by nature: each that goes changes the ones above it.
    """
    inside = bytearray(int(leaves > 1) for leaves in n_leaves)  # the splits that are left
    price = [(own[node] - loss[node]) / (n_leaves[node] - 1) if inside[node] else inf for node in range(len(own))]
    queue = [(price[node], node) for node in range(len(own)) if inside[node]]
    heapify(queue)
    prices, losses = [0.0], [loss[0]]
    while queue:
        at, node = heappop(queue)
        if not inside[node] or at != price[node]:
            continue  # gone with a larger subtree, or since then of another price
        more, fewer = own[node] - loss[node], n_leaves[node] - 1
        inside[node : node + size[node]] = bytes(size[node])
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
    return prices, losses
