"""The tree against brute force, scikit-learn and arithmetic by hand."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from properly.calibration import CalibratedClassifier
from properly.datasets import make_hand_vinciotti
from properly.losses import BetaLoss, BoostingLoss, CostWeightedLoss, GEVLoss, LogLoss, LossFromWeight, SquaredLoss
from properly.tree import ProperTreeClassifier

LOSSES = [
    LogLoss(),
    SquaredLoss(),
    BoostingLoss(),
    GEVLoss(0.2),
    BetaLoss.tailored(0.3, 30),
    CostWeightedLoss(0.3),
    LossFromWeight(lambda p: 1.0 + p),
]
EVERY_LOSS = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)  # the same in every process


def sample(n=200, n_features=3, n_classes=2, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + rng.logistic(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def exact(loss="log", **options):
    """A tree without anything between it and the shares of classes in its leaves."""
    return ProperTreeClassifier(loss, **{"min_samples_leaf": 1, "ccp_alpha": 0.0, "shrinkage": 0.0, **options})


def summed_loss(loss, y, weight=None):
    """The loss of the best constant for labels 0 and 1, from the losses of the rows."""
    weight = np.ones(len(y)) if weight is None else weight
    p = np.average(y, weights=weight)
    q = np.average(1 - y, weights=weight)
    rows = np.where(y == 1, loss.loss1(p, q), loss.loss0(p, q))
    return np.sum(np.where(weight > 0, weight * rows, 0.0))


def best_of(loss, y, partitions, weight=None):
    """The least loss after one split, over all partitions (masks of the rows that go left)."""
    weight = np.ones(len(y)) if weight is None else weight
    return min(
        summed_loss(loss, y[left], weight[left]) + summed_loss(loss, y[~left], weight[~left])
        for left in partitions
        if 0 < left.sum() < len(y)
    )


def training_loss(model):
    return model.tree_.impurity[model.tree_.is_leaf].sum()


@EVERY_LOSS
def test_the_first_split_is_the_best_of_all(loss):
    X, y = sample(60)
    weight = np.random.default_rng(1).exponential(size=60)
    model = exact(loss, max_depth=1, min_samples_leaf=0).fit(X, y, weight)
    partitions = [X[:, j] <= value for j in range(3) for value in X[:, j]]
    assert training_loss(model) == pytest.approx(best_of(loss, y, partitions, weight), rel=1e-9)


@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss(), CostWeightedLoss(0.4)], ids=repr)
def test_missing_values_go_to_the_better_side(loss):
    X, y = sample(50, 2, missing=0.3)
    model = exact(loss, max_depth=1).fit(X, y)
    partitions = [
        (X[:, j] <= value) | (np.isnan(X[:, j]) & side)
        for j in range(2)
        for value in [*X[~np.isnan(X[:, j]), j], np.inf]
        for side in (False, True)
    ]
    assert training_loss(model) == pytest.approx(best_of(loss, y, partitions), rel=1e-9)


@EVERY_LOSS
def test_no_set_of_categories_is_better(loss):
    rng = np.random.default_rng(2)
    x = rng.integers(0, 6, 80)
    y = (rng.random(80) < np.array([0.2, 0.7, 0.4, 0.9, 0.1, 0.5])[x]).astype(int)
    model = exact(loss, max_depth=1, categorical_features=[0]).fit(x[:, None], y)
    partitions = [np.isin(x, some) for size in range(1, 6) for some in combinations(range(6), size)]
    assert training_loss(model) == pytest.approx(best_of(loss, y, partitions), rel=1e-9)


@pytest.mark.parametrize(("loss", "criterion"), [("squared", "gini"), ("log", "entropy")])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_scikit_learn_grows_the_same_tree(loss, criterion, n_classes):
    X, y = sample(250, 5, n_classes)  # fewer rows than bins: nothing is lost by binning
    ours = exact(loss, max_depth=3, min_samples_leaf=12).fit(X, y)
    theirs = DecisionTreeClassifier(criterion=criterion, max_depth=3, min_samples_leaf=12, random_state=0).fit(X, y)
    assert ours.get_n_leaves() == theirs.get_n_leaves() > 5
    grid, _ = sample(5000, 5, n_classes, seed=1)
    np.testing.assert_allclose(ours.predict_proba(grid), theirs.predict_proba(grid), atol=1e-12)
    np.testing.assert_array_equal(ours.tree_.feature, np.maximum(theirs.tree_.feature, -1))
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-12)


@pytest.mark.parametrize(("loss", "criterion"), [("squared", "gini"), ("log", "entropy")])
def test_bins_of_many_values_cost_little(loss, criterion):
    X, y = sample(20_000, 4)
    grid = np.searchsorted(np.sort(X[::80, 0]), X)  # scikit-learn on values as coarse as the bins
    ours = exact(loss, max_depth=6).fit(grid, y)
    theirs = DecisionTreeClassifier(criterion=criterion, max_depth=6, random_state=0).fit(grid, y)
    same = exact(loss, max_depth=6).fit(X, y)
    losses = [_leaf_loss(loss, model.apply(data), y) for model, data in [(ours, grid), (theirs, grid), (same, X)]]
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)
    assert losses[2] == pytest.approx(losses[1], rel=2e-3)


def _leaf_loss(loss, leaf, y):
    instance = {"squared": SquaredLoss(), "log": LogLoss()}[loss]
    return sum(summed_loss(instance, y[leaf == one]) for one in np.unique(leaf))


@EVERY_LOSS
def test_impurities_are_losses_of_the_rows(loss):
    X, y = sample(300)
    model = exact(loss, max_depth=4, min_samples_leaf=5).fit(X, y)
    p = model.predict_proba(X)
    rows = np.where(y == 1, loss.loss1(p[:, 1], p[:, 0]), loss.loss0(p[:, 1], p[:, 0]))
    assert training_loss(model) == pytest.approx(rows.sum(), rel=1e-9)
    leaf = model.apply(X)
    counts = np.bincount(leaf, minlength=len(model.tree_.left))
    np.testing.assert_array_equal(counts[model.tree_.is_leaf], model.tree_.n_rows[model.tree_.is_leaf])


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("loss", ["log", CostWeightedLoss(0.4)], ids=repr)
def test_weight_two_is_the_row_twice(loss, missing):
    X, y = sample(700, 3, 3, missing=missing)
    times = np.random.default_rng(3).integers(0, 4, len(y))
    options = {"n_bins": 40, "max_depth": 6, "min_samples_leaf": 4, "categorical_features": [2]}
    X[:, 2] = np.round(X[:, 2])
    weighted = ProperTreeClassifier(loss, **options).fit(X, y, times)
    repeated = ProperTreeClassifier(loss, **options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.get_n_leaves() > 10
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


def test_the_unit_of_the_weights_does_not_matter():
    X, y = sample(400)
    weight = np.random.default_rng(0).exponential(size=len(y))
    models = [
        exact(max_depth=5, min_samples_leaf=5 * unit).fit(X, y, weight * unit) for unit in (1.0, 2.0**-1060, 2.0**900)
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.tree_.threshold, models[0].tree_.threshold)


def test_shrinkage_follows_the_formula():
    X = np.repeat([[0.0], [1.0], [2.0]], [10, 10, 20], axis=0)
    y = np.repeat([0, 1, 0, 1], [8, 2, 0, 30])
    y[10:20] = [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    model = ProperTreeClassifier(min_samples_leaf=1, ccp_alpha=0.0, shrinkage=3.0).fit(X, y)
    root = 27 / 40
    pair = (7 + 3 * root) / 23
    expected = [(2 + 3 * pair) / 13, (5 + 3 * pair) / 13, (20 + 3 * root) / 23]
    np.testing.assert_allclose(model.predict_proba([[0], [1], [2]])[:, 1], expected, rtol=1e-14)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-15)


def test_no_log_loss_is_infinite_by_default():
    X, y = sample(500)
    model = ProperTreeClassifier(min_samples_leaf=1, ccp_alpha=0.0).fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert np.isinf(exact().fit(X, y).predict_log_proba(X)).any()


def test_decisions_are_log_odds_and_finite():
    X, y = sample(500)
    model = ProperTreeClassifier(min_samples_leaf=5).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(model.decision_function(X), np.log(p[:, 1] / p[:, 0]), rtol=1e-12, atol=1e-14)
    pure = exact().fit(X, y).decision_function(X)  # every leaf has one class
    np.testing.assert_array_equal(pure, np.where(y == 1, 1e100, -1e100))
    X, y = sample(500, n_classes=3)
    model = ProperTreeClassifier(min_samples_leaf=5).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), np.log(model.predict_proba(X)), rtol=1e-12)
    assert np.isfinite(exact().fit(X, y).decision_function(X)).all()


def test_log_probabilities_are_finite_where_probabilities_underflow():
    """A class that two splits leave behind: p = s · p_parent / (w + s), twice."""
    X = np.repeat([[0.0], [1.0], [2.0]], 10, axis=0)
    y = np.repeat([0, 1, 2], 10)
    model = ProperTreeClassifier(min_samples_leaf=1, ccp_alpha=0.0, shrinkage=1e-200).fit(X, y)
    p, log_p = model.predict_proba(X), model.predict_log_proba(X)
    once, twice = np.log(1e-200) + np.log(1 / 3) - np.log(10.0), 2 * np.log(1e-200) + np.log(1 / 3) - np.log(20 * 10.0)
    expected = [sorted([0.0, once, once]), sorted([0.0, np.log(1e-200 / 2 / 10), twice])]
    found = np.sort(log_p[[0, 10, 20]], axis=1)
    for row in found:
        assert any(np.allclose(row, values, rtol=1e-12) for values in expected)
    assert np.isfinite(log_p).all()
    assert (p == 0.0).any()
    np.testing.assert_array_equal(log_p[p > 1e-300], np.log(p[p > 1e-300]))


def test_calibrators_read_probabilities_of_zero_and_one():
    X, y = sample(400)
    calibrated = CalibratedClassifier(exact(min_samples_leaf=3), "platt", cv=3).fit(X, y)
    slope = np.diff(np.sort(np.unique(calibrated.predict_proba(X)[:, 1])))
    assert len(slope) > 3  # leaves of both classes are told apart


def test_splits_that_see_no_gain_may_prepare_one():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    y = X[:, 0] ^ X[:, 1]
    for loss in LOSSES:
        np.testing.assert_array_equal(exact(loss).fit(X, y).predict(X), y)
    # p = 0.05, 0.15, 0.25, 0.75 in groups of 20 and a cost of 0.5: the first split that costs see is the last one
    x = np.repeat([0.0, 1.0, 2.0, 3.0], 20)
    y = np.concatenate([np.arange(20) < n for n in (1, 3, 5, 15)]).astype(int)
    model = exact(CostWeightedLoss(0.5)).fit(x[:, None], y)
    assert model.get_n_leaves() == 2  # the other splits brought nothing and are gone
    assert model.tree_.threshold[0] == 2.5


def test_pure_noise_at_one_mean_is_one_leaf():
    x = np.repeat(np.arange(200.0), 2)
    y = np.tile([0, 1], 200)
    model = exact().fit(x[:, None], y)
    assert model.get_n_leaves() == 1
    assert model.get_depth() == 0
    np.testing.assert_array_equal(model.feature_importances_, [0.0])


def test_missing_and_unseen_values_have_a_way():
    x = np.array([1.0] * 30 + [2.0] * 10 + [np.nan] * 5)
    y = np.array([0] * 30 + [1] * 15)
    model = exact().fit(x[:, None], y)
    np.testing.assert_array_equal(model.predict([[1.0], [2.0], [np.nan]]), [0, 1, 1])
    model = exact().fit(x[:40, None], y[:40])  # nothing was missing: the heavier side
    np.testing.assert_array_equal(model.predict([[np.nan]]), [0])
    only_missing = exact().fit(np.where(np.isnan(x), np.nan, 1.0)[:, None], y)
    np.testing.assert_allclose(only_missing.predict_proba([[7.0], [np.nan]])[:, 1], [0.25, 1.0])
    assert "is missing" in only_missing.export_text()


def test_categories_may_be_strings():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"job": ["clerk", "smith", "cook", None] * 20, "age": np.tile(np.arange(20.0), 4), "town": ["a", "b"] * 40}
    )
    y = frame["job"].isin(["clerk", "cook"]).astype(int)
    model = exact(categorical_features=["job", "town"]).fit(frame, y)
    np.testing.assert_array_equal(model.predict(frame), y)
    assert "job in {clerk, cook}" in model.export_text()
    new = pandas.DataFrame({"job": ["pilot", None], "age": [3.0, np.nan], "town": ["c", "a"]})
    np.testing.assert_array_equal(model.predict(new), [0, 0])  # unseen is taken as missing
    by_mask = clone(model).set_params(categorical_features=[True, False, True]).fit(frame, y)
    np.testing.assert_array_equal(by_mask.predict_proba(frame), model.predict_proba(frame))


@pytest.mark.parametrize("absent", ["a", "b", "d"])
def test_categories_of_weight_zero_are_absent(absent):
    rng = np.random.default_rng(0)
    x = np.array(list("abcd"))[rng.integers(0, 4, 400)]
    y = (rng.random(400) < np.where(np.isin(x, ["b", "d"]), 0.9, 0.1)).astype(int)
    weighted = exact(categorical_features=[0]).fit(x[:, None], y, (x != absent).astype(float))
    without = exact(categorical_features=[0]).fit(x[x != absent, None], y[x != absent])
    new = np.array([["a"], ["b"], ["c"], ["d"], ["e"]])
    np.testing.assert_array_equal(weighted.predict_proba(new), without.predict_proba(new))
    for category in set("abcd") - {absent}:
        expected = y[x == category].mean()
        assert weighted.predict_proba([[category]])[0, 1] == pytest.approx(expected)
    assert weighted.categories_[0].tolist() == sorted(set("abcd") - {absent})


def test_the_largest_value_has_a_bin_however_little_it_weighs():
    """Else it counts as missing, and is one of the missing values."""
    x = np.r_[np.arange(400.0), np.full(50, np.nan)]
    y = np.r_[np.arange(400) >= 200, np.zeros(50)].astype(int)
    weight = np.where(x == 399.0, 1e-11, 1.0)
    model = exact(n_bins=50, min_samples_leaf=0).fit(x[:, None], y, weight)
    np.testing.assert_array_equal(model.predict([[398.0], [399.0], [np.nan]]), [1, 1, 0])
    assert model.predict_proba([[np.nan]])[0, 1] == 0.0


def test_more_categories_than_bins():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 500, 5000)
    y = (x % 2 == 0).astype(int)
    model = exact(categorical_features=[0], n_bins=10, max_depth=1).fit(x[:, None], y)
    np.testing.assert_array_equal(model.predict(x[:, None]), y)


def test_a_tailored_tree_decides_more_cheaply():
    X, y, _ = make_hand_vinciotti(5000, random_state=0)
    new, _, p = make_hand_vinciotti(100_000, random_state=1)
    cost = {}
    for loss in ("log", BetaLoss.tailored(0.1, 30)):
        model = ProperTreeClassifier(loss, max_depth=3).fit(X, y)
        alarm = model.predict_proba(new)[:, 1] >= 0.1
        cost[str(loss)] = np.mean(np.where(alarm, 0.1 * (1 - p), 0.9 * p))
    assert cost.pop("log") > next(iter(cost.values()))


def test_depth_and_leaf_size_are_kept():
    X, y = sample(1000)
    for options in ({"max_depth": 0}, {"max_depth": 3}, {"min_samples_leaf": 37}):
        model = exact(**options).fit(X, y)
        assert model.get_depth() <= options.get("max_depth", 99)
        assert model.tree_.n_rows.min() >= options.get("min_samples_leaf", 1)
        assert model.get_depth() == options.get("max_depth", model.get_depth())


def test_neighbouring_numbers_are_told_apart():
    x = np.array([1.0, np.nextafter(1.0, 2.0)] * 20)
    y = np.array([0, 1] * 20)
    np.testing.assert_array_equal(exact().fit(x[:, None], y).predict(x[:, None]), y)
    x = np.array([-1e300, 1e300] * 20)
    np.testing.assert_array_equal(exact().fit(x[:, None], y).predict(x[:, None]), y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "gini"}, "loss must be one of 'log'"),
        ({"loss": GEVLoss(1.5)}, "finite entropy"),
        ({"max_depth": -1}, "max_depth must be a whole number of at least 0, got -1"),
        ({"max_depth": 2.5}, "max_depth must be a whole number"),
        ({"min_samples_leaf": -1}, "min_samples_leaf must be at least 0 and finite, got -1"),
        ({"ccp_alpha": np.nan}, "ccp_alpha must be at least 0 and finite, got nan"),
        ({"shrinkage": "1"}, "shrinkage must be above 0 and finite, got '1'"),
        ({"n_bins": 1}, "n_bins must be a whole number of at least 2"),
        ({"max_depth": True}, "max_depth must be a whole number"),
        ({"min_samples_leaf": True}, "min_samples_leaf must be at least 0 and finite, got True"),
        ({"shrinkage": False}, "shrinkage must be above 0 and finite, got False"),
    ],
)
def test_bad_options_are_named(options, message):
    X, y = sample(50)
    with pytest.raises(ValueError, match=message):
        ProperTreeClassifier(**options).fit(X, y)


def test_bad_data_are_named():
    X, y = sample(50)
    with pytest.raises(ValueError, match="one class only, 0"):
        ProperTreeClassifier().fit(X, np.zeros(50))
    with pytest.raises(ValueError, match="finite sum"):
        ProperTreeClassifier().fit(X, y, np.full(50, 1e308))
    with pytest.raises(ValueError, match="infinity"):
        ProperTreeClassifier(categorical_features=[0]).fit(np.where(X > 2, np.inf, X), y)
    with pytest.raises(ValueError, match=r"class 1 have a weight of .*e-19 in all, too little to count .*2⁻⁵²"):
        ProperTreeClassifier().fit(X, y, np.where(y == 1, 1e-20, 1.0))
    with pytest.warns(UserWarning, match=r"sums to 1, too little.*Scale the weights"):
        ProperTreeClassifier().fit(X, y, np.full(50, 0.02))
    with pytest.raises(ValueError, match="feature_names must have 3 entries, got 1"):
        ProperTreeClassifier().fit(X, y).export_text(["a"])


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_features(kind):
    X, y = sample(300)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model, expected = ProperTreeClassifier().fit(kind(X), y), ProperTreeClassifier().fit(X, y)
    assert np.array_equal(model.predict_proba(kind(X)), expected.predict_proba(X))
