"""Averaging over all prunings of a tree, weighted by how probable the training rows make them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special as sc

from properly.numeric.probabilities import Array
from properly.tree.structure import Tree

_NEGLIGIBLE = 0.1  # splits that are less probable than this are cut off
_SHRINKAGES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # from classes that hardly overlap to those that overlap much
_MOST_ROWS = 1e12  # a larger weight counts as this: logarithms of gamma functions would lose their digits


def most_probable_shrinkage(tree: Tree, n_cuts: Array) -> float:
    """That of a few under which the training labels are most probable, over all prunings together."""
    return max(_SHRINKAGES, key=lambda shrinkage: _log_posterior(tree, n_cuts, shrinkage).log_evidence)


def without_improbable_splits(tree: Tree, n_cuts: Array, shrinkage: float) -> Tree:
    """The tree in which a node is a leaf where almost all prunings that reach it end there."""
    log_goes_on = _log_posterior(tree, n_cuts, shrinkage).log_goes_on
    return tree.cut(~tree.is_leaf & (log_goes_on < np.log(_NEGLIGIBLE)))


def averaged_over_prunings(tree: Tree, n_cuts: Array, shrinkage: float) -> tuple[Array, Array]:
    """Class probabilities of every node and their logarithms, as if the node were a leaf.

    A row reaches the node by its ancestors, and each of these ends a pruning with some probability: the result is the
    mean of their probabilities and of the node's own, each after shrinkage.
    """
    log_ends, log_goes_on, _ = _log_posterior(tree, n_cuts, shrinkage)
    _, own = tree.shrunken(shrinkage)
    reached, above = np.zeros(len(own)), np.full_like(own, -np.inf)
    for inner in tree.inner_by_depth():
        for child in (tree.left[inner], tree.right[inner]):
            reached[child] = reached[inner] + log_goes_on[inner]
            above[child] = np.logaddexp(above[inner], (reached[inner] + log_ends[inner])[:, None] + own[inner])
    log_p = np.logaddexp(above, reached[:, None] + own)
    p = np.exp(log_p)
    return p / p.sum(axis=1, keepdims=True), log_p


class _Prunings(NamedTuple):
    """All prunings of a tree, each with its posterior probability."""

    log_ends: Array  # the log-probability that a pruning which reaches a node ends there,
    log_goes_on: Array  # and that it keeps the split
    log_evidence: float  # of the labels


def _log_posterior(tree: Tree, n_cuts: Array, shrinkage: float) -> _Prunings:
    """The posterior of prunings.

    A pruning makes some nodes leaves. Given the probabilities π of its parent, those of a leaf are a priori Dirichlet
    with the parameters s π, s the shrinkage. So the labels of its rows have the evidence

        Γ(s)/Γ(W + s) · Π_k Γ(w_k + s π_k)/Γ(s π_k),    w_k the weight of class k, W = Σ_k w_k.

    A node is split with the prior odds 1/Σ_f √c_f, where c_f = min(cuts of the feature f, W - 1) is the number of
    places where it could have been cut: the best of many splits looks better than it is. The root stands for
    neighbouring places, which make nearly the same split; Schwarz's criterion has it too. Where c categories are
    divided, √2^(c-1) stands in place of √(c-1): the best division of pure noise gains 1/π for each category, and
    ½ ln 2 is a little more. If a category has two rows or fewer, which a division can fit exactly, it is 2^(c-1). The
    sum of prior times evidence over all prunings is found from the leaves up.
    """
    p, _ = tree.shrunken(shrinkage)
    prior = shrinkage * p[np.maximum(tree.parent, 0)]
    weight = tree.class_weight * min(1.0, _MOST_ROWS / tree.class_weight[0].sum())
    total = weight.sum(axis=1)
    seen = weight[0] > 0.0  # a class without weight has probability 0 everywhere
    prior, counted = prior[:, seen], weight[:, seen]
    evidence = np.sum(sc.gammaln(counted + prior) - sc.gammaln(prior), axis=1)
    evidence += sc.gammaln(shrinkage) - sc.gammaln(total + shrinkage)
    places = np.sqrt(np.minimum(np.maximum(total - 1.0, 0.0)[:, None], n_cuts)).sum(axis=1)
    log_odds = -np.log(np.maximum(places, 1.0)) - _log_more_places(tree, n_cuts, total)
    log_ends, log_goes_on, best = np.zeros(len(total)), np.full(len(total), -np.inf), evidence.copy()
    for inner in reversed(list(tree.inner_by_depth())):
        split = log_odds[inner] + best[tree.left[inner]] + best[tree.right[inner]]
        either = np.logaddexp(evidence[inner], split)
        log_ends[inner], log_goes_on[inner] = evidence[inner] - either, split - either
        best[inner] = either - np.log1p(np.exp(log_odds[inner]))
    return _Prunings(log_ends, log_goes_on, float(best[0]))


def _log_more_places(tree: Tree, n_cuts: Array, total: Array) -> Array:
    """By how much the logarithm of the places is larger for nodes that divide categories; 0 for others."""
    cuts = np.minimum(np.maximum(total - 1.0, 1.0), np.maximum(n_cuts[np.maximum(tree.feature, 0)], 1.0))
    rows_of_one = np.maximum(total, 1.0) / (cuts + 1.0)
    divisions = 0.5 * np.log(2.0) * (cuts - 1.0) * (1.0 + np.minimum(1.0, 2.0 / rows_of_one))
    return np.where(tree.set_index >= 0, np.maximum(divisions - 0.5 * np.log(cuts), 0.0), 0.0)
