"""A tree as text and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from properly.inputs.optional import require
from properly.numeric.probabilities import Array
from properly.tree.structure import Tree

_LISTED = 6  # categories named before the rest is only counted


@dataclass(frozen=True)
class LabelledTree:
    """A tree with the names of its features, classes and categories."""

    tree: Tree
    probabilities: Array
    names: Sequence[str]
    classes: NDArray[Any]
    categories: dict[int, NDArray[Any]]  # by feature
    has_missing: NDArray[np.bool_]  # by feature

    @cached_property
    def parent(self) -> NDArray[np.intp]:
        return self.tree.parent

    def possible(self, node: int, feature: int) -> tuple[NDArray[np.bool_], bool]:
        """Which categories of a feature can reach a node, by the splits above it, and whether missing values can."""
        tree = self.tree
        categories = np.ones(len(self.categories.get(feature, ())), dtype=np.bool_)
        missing = bool(self.has_missing[feature])
        while (above := int(self.parent[node])) >= 0:
            if tree.feature[above] == feature:
                left = bool(tree.left[above] == node)
                missing &= bool(tree.missing_left[above]) == left
                if tree.set_index[above] >= 0:
                    categories &= tree.sets[tree.set_index[above], : len(categories)] == left
            node = above
        return categories, missing

    def condition(self, node: int, left: bool) -> str:
        """The condition on which a row that has reached a node goes left there, or right."""
        tree, feature = self.tree, int(self.tree.feature[node])
        name, (possible, missing) = self.names[feature], self.possible(node, feature)
        missing &= bool(tree.missing_left[node]) == left
        if tree.set_index[node] >= 0:
            values, goes = self.categories[feature], tree.sets[tree.set_index[node], : len(possible)] == left
            inside, outside = values[possible & goes], values[possible & ~goes]
            if not len(inside):
                return f"{name} is missing"
            condition = f"{name} {_membership(inside.tolist(), outside.tolist())}"
        elif np.isinf(tree.threshold[node]):
            return f"{name} is {'present' if left else 'missing'}"
        else:
            condition = f"{name} {'≤' if left else '>'} {tree.threshold[node]:.6g}"
        return f"{condition} or missing" if missing else condition

    def probability(self, node: int) -> str:
        """The probability of the second of two classes, or of all of more."""
        p = self.probabilities[node]
        if len(p) == 2:
            return f"P({self.classes[1]}) = {p[1]:.3f}"
        labels = ", ".join(str(label) for label in self.classes)
        return f"P({labels}) = ({', '.join(f'{share:.3f}' for share in p)})"

    def weight(self, node: int) -> str:
        return f"{self.tree.class_weight[node].sum():.6g}"

    def text(self) -> str:
        """One line per node, indented by its depth."""
        tree = self.tree
        lines = [f"{self.probability(0)}, weight {self.weight(0)}"]
        margins = {0: ""}  # what comes before the branches of a node's children
        for node in range(1, len(tree.left)):
            above = int(self.parent[node])
            is_left = tree.left[above] == node
            branch, margin = ("├─ ", "│  ") if is_left else ("└─ ", "   ")
            margins[node] = margins[above] + margin
            condition = self.condition(above, bool(is_left))
            lines.append(f"{margins[above]}{branch}{condition}: {self.probability(node)}, weight {self.weight(node)}")
        return "\n".join(lines)


def _membership(inside: list[Any], outside: list[Any]) -> str:
    """The shorter of "in" and "not in" where a set is long."""
    word, listed = ("not in", outside) if len(inside) > max(_LISTED, len(outside)) else ("in", inside)
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return f"{word} {{{', '.join(map(str, listed[:_LISTED]))}{more}}}"


_WRAPPED = 24  # characters in a line


def draw(labelled: LabelledTree, ax: Any = None) -> Any:
    """Nodes as boxes, coloured by their probability; the branch to the left is where the condition holds.

    The more weight goes along a branch, the thicker it is. Several classes: the colour is that of the most probable.
    """
    tree, x = labelled.tree, _positions(labelled.tree)
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
        lines = [] if tree.is_leaf[node] else wrap(labelled.condition(node, left=True), _WRAPPED)
        lines += [_probability(labelled, node), f"weight {labelled.weight(node)}"]
        place = x[node], -tree.depth[node], "\n".join(lines)
        box = {"boxstyle": "round,pad=0.35", "facecolor": _colour(labelled, node), "edgecolor": "0.3", "linewidth": 0.8}
        ax.text(*place, ha="center", va="center", fontsize=size, bbox=box, zorder=2)
    if not tree.is_leaf[0]:
        for child, answer in ((tree.left[0], "yes"), (tree.right[0], "no")):
            place = 0.5 * (x[0] + x[child]), -0.42, answer
            ax.text(*place, ha="center", va="bottom", fontsize=size, style="italic", zorder=2)
    ax.set_xlim(-0.6, n_leaves - 0.4)
    ax.set_ylim(-depth - 0.45, 0.45)
    ax.set_axis_off()
    return ax


def _positions(tree: Tree) -> Array:
    """Leaves side by side, every other node in the middle above its children."""
    x = np.where(tree.is_leaf, np.cumsum(tree.is_leaf) - 1.0, 0.0)
    for inner in reversed(list(tree.inner_by_depth())):
        x[inner] = 0.5 * (x[tree.left[inner]] + x[tree.right[inner]])
    return x


def _probability(labelled: LabelledTree, node: int) -> str:
    p = labelled.probabilities[node]
    return labelled.probability(node) if len(p) == 2 else f"{labelled.classes[p.argmax()]} {p.max():.3f}"


def _colour(labelled: LabelledTree, node: int) -> tuple[float, ...]:
    """Pale, so that the text on it can be read."""
    colormaps = require("matplotlib", "plots").colormaps
    p = labelled.probabilities[node]
    if len(p) == 2:
        colour = np.array(colormaps["coolwarm"](p[1])[:3])
    else:
        strength = (p.max() - 1.0 / len(p)) / (1.0 - 1.0 / len(p))
        colour = 1.0 - strength * (1.0 - np.array(colormaps["tab10"](int(p.argmax()) % 10)[:3]))
    return tuple(0.45 + 0.55 * colour)
