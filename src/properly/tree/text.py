"""A tree in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from properly.probabilities import Array
from properly.tree.structure import Tree

_LISTED = 6  # categories named before the rest is only counted


@dataclass(frozen=True)
class TreeWords:
    """A tree with all that is needed to speak about it."""

    tree: Tree
    probabilities: Array
    names: Sequence[str]
    classes: NDArray[Any]
    categories: dict[int, NDArray[Any]]  # by feature
    has_missing: NDArray[np.bool_]  # by feature

    @cached_property
    def parent(self) -> NDArray[np.intp]:
        """The parent of every node, -1 of the root."""
        parent, inner = np.full(len(self.tree.left), -1), np.flatnonzero(~self.tree.is_leaf)
        parent[self.tree.left[inner]] = parent[self.tree.right[inner]] = inner
        return parent

    def possible(self, node: int, feature: int) -> tuple[NDArray[np.bool_], bool]:
        """Which categories of a feature the splits above a node leave, and whether a missing value can come there."""
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
        """What is true of the rows that go left, or right, at a node, besides what is true of all that come there."""
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
        # the line's part left of each child's own, from its parent on
        margins = {0: ""}
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
