"""Cost-complexity pruning: the subtree that is best when every leaf has a price."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import inf

import numpy as np

from properly.probabilities import Array
from properly.tree.impurity import TIE
from properly.tree.structure import Tree


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
