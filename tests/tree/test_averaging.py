"""Averages over prunings, against the sum over all of them one by one."""

from itertools import product

import numpy as np
import pytest
from scipy import special as sc
from sklearn.metrics import log_loss

from properly.losses import CostWeightedLoss
from properly.tree import ProperTreeClassifier
from properly.tree.averaging import _gain_of_noise, averaged_over_prunings
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


@pytest.mark.parametrize(("rows_of_one", "share"), [(1, 0.2), (1, 0.5), (3, 0.2), (30, 0.02), (200, 0.001), (50, 0.4)])
def test_what_the_best_division_of_noise_gains(rows_of_one, share):
    """Against drawn labels: for two classes the best division is a cut in the order of the shares."""
    random, n = np.random.default_rng(0), 400
    gains, expected = [], []
    for _ in range(20):
        positive = np.sort(random.binomial(rows_of_one, share, n))
        left, size = np.cumsum(positive)[:-1], rows_of_one * np.arange(1, n)
        total, rows = positive.sum(), rows_of_one * n
        parts = [(left, size), (total - left, rows - size)]
        after = sum(sc.xlogy(k, k / m) + sc.xlogy(m - k, 1.0 - k / m) for k, m in parts)
        before = sc.xlogy(total, total / rows) + sc.xlogy(rows - total, 1.0 - total / rows)
        gains.append((after - before).max() / n)
        expected.append(_gain_of_noise(np.array([[rows - total, total]]), np.array([n]))[0])
    assert np.mean(expected) == pytest.approx(np.mean(gains), rel=0.12)


def test_a_split_knows_how_many_categories_it_divides():
    random = np.random.default_rng(0)
    a, b = random.integers(2, size=3000), random.integers(6, size=3000)
    b = np.where(a == 0, b % 3, b).astype(float)
    b[(a == 1) & (b == 5)] = np.nan
    y = (random.random(3000) < np.where(a == 0, 0.1, 0.7) + 0.2 * (b % 2 == 1)).astype(int)
    tree = ProperTreeClassifier(categorical_features=[1], max_depth=2).fit(np.column_stack([a, b]), y).tree_
    assert tree.feature[:5].tolist() == [0, 1, -1, -1, 1]
    assert tree.n_categories[:5].tolist() == [0, 3, 0, 0, 6]


@pytest.mark.parametrize("rate", [0.005, 0.02])
def test_few_positives_among_categories_without_meaning_do_no_harm(rate):
    losses, bases = [], []
    for seed in range(8):
        random = np.random.default_rng(seed)
        X, y = random.integers(40, size=(8000, 1)), (random.random(8000) < rate).astype(int)
        p = ProperTreeClassifier(categorical_features=[0]).fit(X[:4000], y[:4000]).predict_proba(X[4000:])[:, 1]
        losses.append(log_loss(y[4000:], p))
        bases.append(log_loss(y[4000:], np.full(4000, y[:4000].mean())))
    assert np.mean(losses) <= 1.02 * np.mean(bases)


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
