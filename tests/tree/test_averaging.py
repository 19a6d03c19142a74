"""Averages over prunings, against the sum over all of them one by one."""

from itertools import product

import numpy as np
import pytest
from scipy import special as sc
from sklearn.metrics import log_loss

from properly.losses import CostWeightedLoss
from properly.tree import ProperTreeClassifier
from properly.tree.averaging import averaged_over_prunings
from properly.tree.growth import prune


def prunings(tree, node=0):
    """Every pruning of the subtree, as the list of its leaves."""
    yield [node]
    if tree.left[node] >= 0:
        for left, right in product(prunings(tree, tree.left[node]), prunings(tree, tree.right[node])):
            yield left + right


def log_weight(tree, leaves, n_cuts, shrinkage):
    """The logarithm of prior times evidence."""
    p, _ = tree.shrunken(shrinkage)
    result = 0.0
    nodes = {0}
    for node in range(len(tree.left)):  # parents come first
        if node not in nodes:
            continue
        own = tree.class_weight[node]
        odds = 1.0 / max(np.sqrt(np.minimum(own.sum() - 1.0, n_cuts)).sum(), 1.0)
        if node in leaves:
            prior = shrinkage * p[max(tree.parent[node], 0)]
            result += np.sum(sc.gammaln(own + prior) - sc.gammaln(prior))
            result += sc.gammaln(shrinkage) - sc.gammaln(own.sum() + shrinkage)
            result -= np.log1p(odds) if tree.left[node] >= 0 else 0.0
        else:
            result += np.log(odds) - np.log1p(odds)
            nodes |= {tree.left[node], tree.right[node]}
    return result


@pytest.mark.parametrize(("n_classes", "shrinkage"), [(2, 1.0), (3, 0.3)])
def test_the_average_is_that_of_all_prunings(n_classes, shrinkage):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(60, 2)).round(1)
    y = np.clip(np.floor(X[:, 0] + rng.normal(size=60)) + 1, 0, n_classes - 1).astype(int)
    tree, n_cuts = ProperTreeClassifier(max_depth=3, min_samples_leaf=4)._grown(X, y, None)
    assert np.sum(tree.left >= 0) > 3
    own, _ = tree.shrunken(shrinkage)
    found, log_found = averaged_over_prunings(tree, n_cuts, shrinkage)
    np.testing.assert_allclose(np.exp(log_found), found, rtol=1e-12)
    every = list(prunings(tree))
    weights = sc.softmax([log_weight(tree, leaves, n_cuts, shrinkage) for leaves in every])
    for leaf in np.flatnonzero(tree.is_leaf):
        path = [leaf]
        while tree.parent[path[-1]] >= 0:
            path.append(tree.parent[path[-1]])
        ends = [next(node for node in path if node in leaves) for leaves in every]
        np.testing.assert_allclose(found[leaf], weights @ own[ends], rtol=1e-10)


@pytest.mark.parametrize("overlap", [0.02, 2.0])
def test_the_shrinkage_is_that_of_the_most_probable_labels(overlap):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 2)).round(1)
    y = (X[:, 0] + overlap * rng.normal(size=80) > 0.0).astype(int)
    model = ProperTreeClassifier(max_depth=3, min_samples_leaf=4)
    tree, n_cuts = model._grown(X, y, None)
    tree = prune(tree, 0.0)

    def evidence(shrinkage):
        return sc.logsumexp([log_weight(tree, leaves, n_cuts, shrinkage) for leaves in prunings(tree)])

    assert model.fit(X, y).shrinkage_ == max((0.03, 0.1, 0.3, 1.0, 3.0, 10.0), key=evidence)
    assert (model.shrinkage_ < 1.0) == (overlap < 1.0)
    assert ProperTreeClassifier(shrinkage=0.3).fit(X, y).shrinkage_ == 0.3
    assert ProperTreeClassifier(ccp_alpha=0.0).fit(X, y).shrinkage_ == 1.0


def test_noise_gives_the_base_rate():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(2, 2000, 10))
    y, new_y = rng.random((2, 2000)) < 0.08
    model = ProperTreeClassifier().fit(X, y)
    grown = ProperTreeClassifier(ccp_alpha=0.0).fit(X, y)
    base = log_loss(new_y, np.full(2000, y.mean()))
    assert log_loss(new_y, model.predict_proba(new)) < 1.005 * base
    assert log_loss(new_y, grown.predict_proba(new)) > 1.2 * base


def test_clear_splits_stay():
    rng = np.random.default_rng(0)
    X = rng.random((2000, 3))
    truth = np.where(X[:, 0] > 0.5, np.where(X[:, 1] > 0.3, 0.9, 0.2), 0.05)
    model = ProperTreeClassifier().fit(X, rng.random(2000) < truth)
    assert np.abs(model.predict_proba(X)[:, 1] - truth).mean() < 0.03


def test_splits_that_do_not_lower_the_loss_are_removed():
    rng = np.random.default_rng(0)
    X = rng.random((2000, 1))
    y = rng.random(2000) < np.where(X[:, 0] > 0.5, 0.9, 0.5)  # both decisions at 0.3 are the same
    assert ProperTreeClassifier(CostWeightedLoss(0.3), max_depth=1).fit(X, y).get_n_leaves() == 1
    assert ProperTreeClassifier(max_depth=1).fit(X, y).get_n_leaves() == 2


def test_huge_and_tiny_weights_have_finite_answers():
    X = np.arange(100.0)[:, None]
    y = np.arange(100) >= 50
    for scale in (1e-3, 1e14, 1e305):
        p = ProperTreeClassifier(min_samples_leaf=0.0).fit(X, y, np.full(100, scale)).predict_proba(X)
        assert np.isfinite(p).all()
        if scale > 1.0:
            assert np.abs(p[:, 1] - y).max() < 0.02


def test_no_shrinkage_needs_a_price():
    with pytest.raises(ValueError, match=r"shrinkage must be above 0 and finite, got 0\.0"):
        ProperTreeClassifier(shrinkage=0.0).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("rows_of_one", [1, 3, 10])
def test_categories_without_meaning_do_no_harm(rows_of_one):
    """Names, numbers of cards: the best division of many categories fits the training rows and nothing else."""
    random = np.random.default_rng(rows_of_one)
    n = 600
    X = np.column_stack([random.permutation(n) // rows_of_one, random.normal(size=n)])
    y = (random.random(n) < 0.2).astype(int)
    train = np.arange(n) < 400
    model = ProperTreeClassifier(categorical_features=[0]).fit(X[train], y[train])
    base = np.full(200, y[train].mean())
    assert log_loss(y[~train], model.predict_proba(X[~train])[:, 1]) <= 1.02 * log_loss(y[~train], base)
