"""LightGBM's trees, written by hand: ONNX has an operator for them, in float64 from version 5 of ai.onnx.ml on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from properly.inputs.optional import require
from properly.numeric.arrays import constant, namespace

_AT_MOST, _IN_SET = 0, 6  # kinds of splits: BRANCH_LEQ, BRANCH_MEMBER
_ADDED_UP = 1  # how trees are put together


def tree_sums(models: Sequence[dict[str, Any] | None], X: Any) -> Any:
    """What the trees of models add up to, a column for every score.

    The models are what `dump_model` of LightGBM's boosters gives, one for each score, or one for several; None stands
    for a score without trees.
    """
    xp, forest, width = namespace(X), _Forest(), 0
    for model in models:
        if model is None:
            forest.add({"leaf_value": 0.0}, width, 1.0)
            width += 1
            continue
        if model["pandas_categorical"]:
            raise NotImplementedError(
                "LightGBM cannot be written as ONNX if it was fitted to a data frame with columns of categories; pass "
                "them to it as numbers."
            )
        trees, n_scores = model["tree_info"], model["num_tree_per_iteration"]
        share = n_scores / len(trees) if model["average_output"] else 1.0
        for number, tree in enumerate(trees):
            forest.add(tree["tree_structure"], width + number % n_scores, share)
        width += n_scores
    whole = np.isin(np.arange(X.shape[1]), list(forest.categorical))  # LightGBM cuts off the fractions of categories
    X = xp.where(constant(whole[None, :], X), xp.trunc(X), X) if whole.any() else X
    return xp.asarray(forest.operator(X.unwrap_spox(), width))


class _Forest:
    """The attributes of the operator TreeEnsemble: a list entry for each split, and one for each leaf."""

    def __init__(self) -> None:
        self.roots: list[int] = []
        self.features: list[int] = []
        self.kinds: list[int] = []
        self.thresholds: list[float] = []
        self.missing_left: list[int] = []
        self.sets: list[float] = []  # of categories, each ended by nan
        self.children: dict[str, list[int]] = {"left": [], "right": []}
        self.are_leaves: dict[str, list[int]] = {"left": [], "right": []}
        self.leaf_values: list[float] = []
        self.leaf_scores: list[int] = []
        self.categorical: set[int] = set()

    def add(self, tree: dict[str, Any], score: int, share: float) -> None:
        """Add a tree whose leaves count for a score."""
        if "split_feature" not in tree:  # a single leaf, below a split that changes nothing
            only = {"split_feature": 0, "decision_type": "<=", "threshold": 0.0, "missing_type": "None"}
            tree = {**only, "left_child": tree, "right_child": tree}
        self.roots.append(len(self.features))
        pending: list[tuple[dict[str, Any], int, str]] = [(tree, -1, "")]
        while pending:
            part, parent, side = pending.pop()
            is_leaf = "split_feature" not in part
            place = len(self.leaf_values if is_leaf else self.features)
            if side:
                self.children[side][parent], self.are_leaves[side][parent] = place, int(is_leaf)
            if is_leaf:
                if "leaf_coeff" in part:
                    raise NotImplementedError("LightGBM with linear_tree=True cannot be written as ONNX.")
                self.leaf_values.append(part["leaf_value"] * share)
                self.leaf_scores.append(score)
            else:
                self._add_split(part)
                pending += [(part[f"{side}_child"], place, side) for side in ("right", "left")]

    def _add_split(self, split: dict[str, Any]) -> None:
        by_set = split["decision_type"] == "=="
        if split["missing_type"] == "Zero":
            raise NotImplementedError("LightGBM with zero_as_missing=True cannot be written as ONNX.")
        self.features.append(split["split_feature"])
        self.kinds.append(_IN_SET if by_set else _AT_MOST)
        if by_set:  # what is missing is in no set
            self.categorical.add(split["split_feature"])
            self.sets += [*map(float, split["threshold"].split("||")), np.nan]
            self.thresholds.append(0.0)
            self.missing_left.append(0)
        else:  # without missing values in training, nan counts as 0
            self.thresholds.append(split["threshold"])
            left = split["default_left"] if split["missing_type"] == "NaN" else split["threshold"] >= 0.0
            self.missing_left.append(int(left))
        for side in ("left", "right"):
            self.children[side].append(0)
            self.are_leaves[side].append(0)

    def operator(self, X: Any, n_scores: int) -> Any:
        return require("spox.opset.ai.onnx.ml.v5", "onnx").tree_ensemble(
            X,
            aggregate_function=_ADDED_UP,
            leaf_targetids=self.leaf_scores,
            leaf_weights=np.array(self.leaf_values),
            membership_values=np.array(self.sets) if self.sets else None,
            n_targets=n_scores,
            nodes_falseleafs=self.are_leaves["right"],
            nodes_falsenodeids=self.children["right"],
            nodes_featureids=self.features,
            nodes_missing_value_tracks_true=self.missing_left,
            nodes_modes=np.array(self.kinds, dtype=np.uint8),
            nodes_splits=np.array(self.thresholds),
            nodes_trueleafs=self.are_leaves["left"],
            nodes_truenodeids=self.children["left"],
            tree_roots=self.roots,
        )
