"""Trees of LightGBM and of scikit-learn's forests: ONNX has an operator for them, in float64 from ai.onnx.ml 5 on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from properly.inputs.optional import require
from properly.numeric.arrays import beside, constant, namespace

_AT_MOST, _IN_SET = np.uint8(0), np.uint8(6)  # kinds of splits: BRANCH_LEQ, BRANCH_MEMBER
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


def forest_means(forest: Any, X: Any) -> Any:
    """The class probabilities of a forest of scikit-learn: the means of those in the leaves, a column for every class.

    It reads its rows in float32. A leaf of the operator has one number, so that every class has trees of its own; the
    first of two classes is what is left of 1.
    """
    xp, written, n_classes = namespace(X), _Forest(), len(forest.classes_)
    classes = [1] if n_classes == 2 else list(range(n_classes))
    for each in forest.estimators_:
        for score, code in enumerate(classes):
            written.add(_as_dumped(each.tree_, code), score, 1.0 / len(forest.estimators_))
    single = xp.astype(xp.astype(X, xp.float32), xp.float64)
    means = xp.asarray(written.operator(single.unwrap_spox(), len(classes)))
    return beside(1.0 - means, means) if n_classes == 2 else means


def _as_dumped(tree: Any, code: int) -> dict[str, Any]:
    """A tree of scikit-learn in the form of LightGBM's, with the share of a class in the leaves."""
    shares = tree.value[:, 0, code] / tree.value[:, 0].sum(axis=1)
    nodes: list[dict[str, Any]] = [{} for _ in shares]
    for node, (left, right) in enumerate(zip(tree.children_left, tree.children_right, strict=True)):
        if left < 0:
            nodes[node]["leaf_value"] = float(shares[node])
            continue
        nodes[node] |= {
            "split_feature": int(tree.feature[node]),
            "threshold": float(tree.threshold[node]),
            "decision_type": "<=",
            "missing_type": "NaN",
            "default_left": bool(tree.missing_go_to_left[node]),
            "left_child": nodes[left],
            "right_child": nodes[right],
        }
    return nodes[0]


class _Forest:
    """The attributes of the operator TreeEnsemble: a row for each split, and one for each leaf."""

    def __init__(self) -> None:
        self.roots: list[int] = []
        self.splits: list[dict[str, Any]] = []
        self.leaves: list[tuple[float, int]] = []  # values, and the scores they count for
        self.sets: list[float] = []  # of categories, each ended by nan
        self.categorical: set[int] = set()

    def add(self, tree: dict[str, Any], score: int, share: float) -> None:
        """Add a tree whose leaves count for a score."""
        if "split_feature" not in tree:  # a single leaf, below a split that changes nothing
            only = {"split_feature": 0, "decision_type": "<=", "threshold": 0.0, "missing_type": "None"}
            tree = {**only, "left_child": tree, "right_child": tree}
        self.roots.append(len(self.splits))
        pending: list[tuple[dict[str, Any], dict[str, Any], str]] = [(tree, {}, "true")]
        while pending:
            part, parent, side = pending.pop()
            is_leaf = "split_feature" not in part
            parent[f"{side}nodeids"], parent[f"{side}leafs"] = (
                len(self.leaves if is_leaf else self.splits),
                int(is_leaf),
            )
            if not is_leaf:
                split = self._split(part)
                self.splits.append(split)
                pending += [(part["right_child"], split, "false"), (part["left_child"], split, "true")]
            elif "leaf_coeff" in part:
                raise NotImplementedError("LightGBM with linear_tree=True cannot be written as ONNX.")
            else:
                self.leaves.append((part["leaf_value"] * share, score))

    def _split(self, split: dict[str, Any]) -> dict[str, Any]:
        """The attributes of a split, but for the places of its children."""
        feature, threshold, missing = split["split_feature"], split["threshold"], split["missing_type"]
        if missing == "Zero":
            raise NotImplementedError("LightGBM with zero_as_missing=True cannot be written as ONNX.")
        if split["decision_type"] == "==":  # what is missing is in no set
            self.categorical.add(feature)
            self.sets += [*map(float, threshold.split("||")), np.nan]
            return {"featureids": feature, "modes": _IN_SET, "splits": 0.0, "missing_value_tracks_true": 0}
        left = split["default_left"] if missing == "NaN" else threshold >= 0.0  # else nan counts as 0
        return {"featureids": feature, "modes": _AT_MOST, "splits": threshold, "missing_value_tracks_true": int(left)}

    def operator(self, X: Any, n_scores: int) -> Any:
        values, scores = zip(*self.leaves, strict=True)
        return require("spox.opset.ai.onnx.ml.v5", "onnx").tree_ensemble(
            X,
            aggregate_function=_ADDED_UP,
            leaf_targetids=scores,
            leaf_weights=np.array(values),
            membership_values=np.array(self.sets) if self.sets else None,
            n_targets=n_scores,
            tree_roots=self.roots,
            **{f"nodes_{name}": np.array([split[name] for split in self.splits]) for name in self.splits[0]},
        )
