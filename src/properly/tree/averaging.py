"""Averaging over all prunings of a tree, weighted by how probable the training rows make them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special as sc

from properly.numeric.probabilities import Array
from properly.tree.structure import Tree

_NEGLIGIBLE = 0.1  # splits that are less probable than this are cut off
_SHRINKAGES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # from classes that hardly overlap to those that overlap much
_DIVISIONS = 1.25  # the price of dividing categories, in terms of what the best division of noise gains
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
    neighbouring places, which make nearly the same split; Schwarz's criterion has it too. Where the rows of a node are
    divided by their c categories, e^(1.25 g (c-2)) stands in place of √(c-1), where g is what the best division of
    noise gains (`_gain_of_noise`). The sum of prior times evidence over all prunings is found from the leaves up.
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
    log_odds = -np.log(np.maximum(places, 1.0)) - _log_more_places(tree)
    log_ends, log_goes_on, best = np.zeros(len(total)), np.full(len(total), -np.inf), evidence.copy()
    for inner in reversed(list(tree.inner_by_depth())):
        split = log_odds[inner] + best[tree.left[inner]] + best[tree.right[inner]]
        either = np.logaddexp(evidence[inner], split)
        log_ends[inner], log_goes_on[inner] = evidence[inner] - either, split - either
        best[inner] = either - np.log1p(np.exp(log_odds[inner]))
    return _Prunings(log_ends, log_goes_on, float(best[0]))


def _log_more_places(tree: Tree) -> Array:
    """By how much the logarithm of the places is larger for nodes that divide categories; 0 for others."""
    more, by_set = np.zeros(len(tree.left)), np.flatnonzero(tree.set_index >= 0)
    n_categories = tree.n_categories[by_set].astype(np.float64)
    cuts = n_categories - 1.0
    divisions = _DIVISIONS * (cuts - 1.0) * _gain_of_noise(tree.class_weight[by_set], n_categories)
    more[by_set] = np.maximum(divisions - 0.5 * np.log(cuts), 0.0)
    return more


def _gain_of_noise(class_weight: Array, n_categories: Array) -> Array:
    """What the best division of categories without meaning gains in log-likelihood, for each of many categories.

    If a category has one row or more of the smaller class, 1/π. With fewer, many have none, and those are set apart: if
    there are r rows in a category, a share s of them of the smaller class, and h = 1 - (1-s)^r of the categories have
    such a row, that gains r (H(s) - h H(s/h)), H the entropy; for categories of one row that is H(s), all there is.
    """
    total = class_weight.sum(axis=1)
    others = total - class_weight.max(axis=1)
    smaller = np.minimum(others, total - others)
    share, rows = smaller / total, total / n_categories
    hit = -np.expm1(rows * np.log1p(-share))
    within = np.minimum(share / np.maximum(hit, np.finfo(np.float64).tiny), 1.0)
    apart = rows * (_entropy(share) - hit * _entropy(within))
    return np.maximum(apart, np.where(smaller < n_categories, 0.0, 1.0 / np.pi))


def _entropy(share: Array) -> Array:
    return np.asarray(sc.entr(share) + sc.entr(1.0 - share))
