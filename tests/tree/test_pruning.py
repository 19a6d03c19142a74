"""Cost-complexity pruning against scikit-learn and against all subtrees."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from properly.losses import BetaLoss, CostWeightedLoss, LogLoss
from properly.tree import ProperTreeClassifier


def sample(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * X[:, 0] - X[:, 1] * X[:, 2]))).astype(int)


def tree(loss="log", **options):
    return ProperTreeClassifier(loss, **{"min_samples_leaf": 6, "ccp_alpha": 0.0, "shrinkage": 0.0, **options})


def training_loss(model):
    return model.tree_.impurity[model.tree_.is_leaf].sum()


# our entropies in units of scikit-learn's: pq/2 of 2pq, nats of bits
@pytest.mark.parametrize(("loss", "criterion", "unit"), [("squared", "gini", 0.25), ("log", "entropy", np.log(2.0))])
def test_scikit_learn_prunes_alike(loss, criterion, unit):
    X, y = sample()
    theirs = DecisionTreeClassifier(criterion=criterion, min_samples_leaf=6, random_state=0)
    path, expected = (model.cost_complexity_pruning_path(X, y) for model in (tree(loss), theirs))
    # scikit-learn names a price twice where two splits go at the same one
    alphas, first = np.unique(np.round(expected.ccp_alphas, 12), return_index=True)
    last = np.append(first[1:], len(expected.ccp_alphas)) - 1
    np.testing.assert_allclose(path.ccp_alphas, unit * alphas, atol=1e-10)
    np.testing.assert_allclose(path.impurities, unit * expected.impurities[last], atol=1e-10)
    assert len(path.ccp_alphas) > 10
    for alpha in 0.5 * (path.ccp_alphas[1:] + path.ccp_alphas[:-1]):
        ours = tree(loss, ccp_alpha=alpha).fit(X, y)
        theirs.set_params(ccp_alpha=alpha / unit).fit(X, y)
        assert ours.get_n_leaves() == theirs.get_n_leaves()
        losses = theirs.tree_.impurity * theirs.tree_.n_node_samples  # equally good splits may differ, their losses not
        assert training_loss(ours) == pytest.approx(unit * losses[theirs.tree_.feature < 0].sum())


def all_subtrees(nodes, node=0):
    """(loss, leaves) of every subtree that keeps the root."""
    options = [(nodes.impurity[node], 1)]
    if nodes.left[node] >= 0:
        left, right = (list(all_subtrees(nodes, child)) for child in (nodes.left[node], nodes.right[node]))
        options += [(a + b, m + n) for a, m in left for b, n in right]
    return options


@pytest.mark.parametrize("loss", [LogLoss(), BetaLoss.tailored(0.3, 20), CostWeightedLoss(0.3)], ids=repr)
def test_no_subtree_is_better(loss):
    X, y = sample(120, seed=3)
    options = {"max_depth": 4, "min_samples_leaf": 4}
    full = tree(loss, **options).fit(X, y)
    subtrees = np.array(all_subtrees(full.tree_))
    path = tree(loss, **options).cost_complexity_pruning_path(X, y)
    assert path.impurities[0] == pytest.approx(subtrees[:, 0].min() / len(y))
    for alpha in [*path.ccp_alphas, *(0.5 * (path.ccp_alphas[1:] + path.ccp_alphas[:-1])), 1.0]:
        pruned = tree(loss, ccp_alpha=alpha, **options).fit(X, y)
        cost = training_loss(pruned) / len(y) + alpha * pruned.get_n_leaves()
        assert cost == pytest.approx((subtrees[:, 0] / len(y) + alpha * subtrees[:, 1]).min(), rel=1e-9)
    for alpha, impurity in zip(path.ccp_alphas, path.impurities, strict=True):
        pruned = tree(loss, ccp_alpha=alpha * (1 + 1e-7), **options).fit(X, y)
        assert training_loss(pruned) / len(y) == pytest.approx(impurity)


def test_a_high_price_leaves_the_root():
    X, y = sample()
    model = tree(ccp_alpha=1.0).fit(X, y)
    assert model.get_n_leaves() == 1
    np.testing.assert_allclose(model.predict_proba(X[:1]), [[1 - y.mean(), y.mean()]])
    assert model.export_text() == f"P(1) = {y.mean():.3f}, weight 240"


def test_pruning_keeps_the_right_sets_of_categories():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, (600, 3)).astype(float)
    y = (rng.random(600) < np.where(np.isin(X[:, 1], [2, 5, 7]), 0.9, 0.3)).astype(int)
    full = tree(categorical_features=[0, 1, 2]).fit(X, y)
    pruned = tree(categorical_features=[0, 1, 2], ccp_alpha=0.01).fit(X, y)
    assert len(pruned.tree_.sets) == pruned.get_n_leaves() - 1 < len(full.tree_.sets)
    leaf = pruned.apply(X)
    for node in np.unique(leaf):
        np.testing.assert_allclose(pruned.probabilities_[node, 1], y[leaf == node].mean())


def test_the_path_does_not_change_the_model():
    X, y = sample()
    model = tree(max_depth=2).fit(X, y)
    before = model.predict_proba(X)
    model.cost_complexity_pruning_path(X[:, :2], y)
    np.testing.assert_array_equal(model.predict_proba(X), before)
