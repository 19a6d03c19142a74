"""A tree as a picture."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

import numpy as np

from properly.extras import require
from properly.probabilities import Array
from properly.tree.text import TreeWords

_WRAPPED = 24  # characters in a line


def draw(words: TreeWords, ax: Any = None) -> Any:
    """Nodes as boxes, coloured by their probability; the branch to the left is where the condition holds.

    A branch is the thicker the more weight goes along it. Several classes: the colour is that of the most probable.
    """
    tree = words.tree
    x = _leaf_columns(words)
    n_leaves, depth = int(np.count_nonzero(tree.is_leaf)), int(tree.depth.max())
    if ax is None:
        pyplot = require("matplotlib.pyplot", "plots")
        _, ax = pyplot.subplots(figsize=(max(5.0, 1.5 * n_leaves), 1.2 + 1.35 * depth), layout="constrained")
    share = tree.class_weight.sum(axis=1) / tree.class_weight[0].sum()
    width = ax.figure.get_figwidth() * ax.get_position().width
    size = float(np.clip(6.0 * width / n_leaves, 3.0, 9.0))
    for node in range(len(tree.left)):
        if not tree.is_leaf[node]:
            for child in (tree.left[node], tree.right[node]):
                line = [x[node], x[child]], [-tree.depth[node], -tree.depth[child]]
                ax.plot(*line, color="0.6", linewidth=0.8 + 8.0 * share[child] ** 0.5, solid_capstyle="round", zorder=1)
        lines = [] if tree.is_leaf[node] else wrap(words.condition(node, left=True), _WRAPPED)
        lines += [_probability(words, node), f"weight {words.weight(node)}"]
        place = x[node], -tree.depth[node], "\n".join(lines)
        box = {"boxstyle": "round,pad=0.35", "facecolor": _colour(words, node), "edgecolor": "0.3", "linewidth": 0.8}
        ax.text(*place, ha="center", va="center", fontsize=size, bbox=box, zorder=2)
    if not tree.is_leaf[0]:
        for child, answer in ((tree.left[0], "yes"), (tree.right[0], "no")):
            place = 0.5 * (x[0] + x[child]), -0.42, answer
            ax.text(*place, ha="center", va="bottom", fontsize=size, style="italic", zorder=2)
    ax.set_xlim(-0.6, n_leaves - 0.4)
    ax.set_ylim(-depth - 0.45, 0.45)
    ax.set_axis_off()
    return ax


def _leaf_columns(words: TreeWords) -> Array:
    """Leaves side by side, every other node in the middle above its children."""
    tree = words.tree
    x = np.where(tree.is_leaf, np.cumsum(tree.is_leaf) - 1.0, 0.0)
    for inner in reversed(list(tree.inner_by_depth())):
        x[inner] = 0.5 * (x[tree.left[inner]] + x[tree.right[inner]])
    return x


def _probability(words: TreeWords, node: int) -> str:
    p = words.probabilities[node]
    return words.probability(node) if len(p) == 2 else f"{words.classes[p.argmax()]} {p.max():.3f}"


def _colour(words: TreeWords, node: int) -> tuple[float, ...]:
    """Pale, so that the text on it can be read."""
    colormaps = require("matplotlib", "plots").colormaps
    p = words.probabilities[node]
    if len(p) == 2:
        colour = np.array(colormaps["coolwarm"](p[1])[:3])
    else:
        strength = (p.max() - 1.0 / len(p)) / (1.0 - 1.0 / len(p))
        colour = 1.0 - strength * (1.0 - np.array(colormaps["tab10"](int(p.argmax()) % 10)[:3]))
    return tuple(0.45 + 0.55 * colour)
