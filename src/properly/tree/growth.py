"""Growing a tree level by level: all nodes of a level are split at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from properly.probabilities import Array
from properly.tree.binning import Bins
from properly.tree.impurity import Impurity
from properly.tree.splits import Rows, Splits, best_splits, class_weights
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
