"""A tree in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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

    def condition(self, node: int, left: bool) -> str:
        """What is true of the rows that go left, or right, at a node."""
        tree, feature = self.tree, int(self.tree.feature[node])
        name, with_missing = self.names[feature], bool(tree.missing_left[node]) == left
        if tree.set_index[node] >= 0:
            values = self.categories[feature]
            inside = tree.sets[tree.set_index[node], : len(values)] == left
            if not inside.any():
                return f"{name} is missing"
            condition = f"{name} {_membership(values[inside].tolist(), values[~inside].tolist())}"
        elif np.isinf(tree.threshold[node]):
            return f"{name} is {'present' if left else 'missing'}"
        else:
            condition = f"{name} {'≤' if left else '>'} {tree.threshold[node]:.6g}"
        return f"{condition} or missing" if with_missing and self.has_missing[feature] else condition

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
        parent = np.full(len(tree.left), -1)
        inner = np.flatnonzero(~tree.is_leaf)
        parent[tree.left[inner]] = parent[tree.right[inner]] = inner
        for node in range(1, len(tree.left)):
            above = int(parent[node])
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
