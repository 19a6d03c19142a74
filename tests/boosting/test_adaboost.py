"""AdaBoost against scikit-learn, closed forms and brute force."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification, make_gaussian_quantiles
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from properly.boosting import DiscreteAdaBoost, RealAdaBoost
from properly.tree import ProperTreeClassifier

BOTH = pytest.mark.parametrize("kind", [DiscreteAdaBoost, RealAdaBoost])


def spheres(n, seed, noise=0.1):
    """Ten-dimensional nested spheres with some labels exchanged: additive, and noisy."""
    X, y = make_gaussian_quantiles(n_samples=n, n_features=10, n_classes=2, random_state=seed)
    return X, y ^ (np.random.default_rng(seed).random(n) < noise)


@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_discrete_agrees_with_scikit_learn_at_every_stage(learning_rate, weighted):
    X, y = spheres(700, seed=3)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, 700) if weighted else None
    stump = DecisionTreeClassifier(max_depth=1)
    options = {"n_estimators": 60, "learning_rate": learning_rate, "random_state": 0}
    theirs = AdaBoostClassifier(stump, **options).fit(X, y, weight)
    ours = DiscreteAdaBoost(stump, early_stopping=False, **options).fit(X, y, weight)
    assert len(theirs.estimators_) == ours.best_iteration_ == 60
    np.testing.assert_allclose(2.0 * ours.steps_, theirs.estimator_weights_, rtol=1e-9)
    new = spheres(500, seed=4)[0]
    for one, other in zip(ours.staged_predict(new), theirs.staged_predict(new), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_step_is_the_best_one():
    X, y = spheres(400, seed=0)
    model = DiscreteAdaBoost(n_estimators=5, early_stopping=False, random_state=0).fit(X, y)
    sign, *stages = 2.0 * y - 1.0, *([0.0 * y, *model.staged_decision_function(X)])
    for before, after, step in zip(stages, stages[1:], model.steps_, strict=False):
        steps = step * np.array([0.9, 0.99, 1.0, 1.01, 1.1])
        losses = [np.mean(np.exp(-sign * (before + s * (after - before) / step))) for s in steps]
        assert np.argmin(losses) == 2


def test_real_adaboost_adds_half_the_log_odds_of_the_reweighted_leaves():
    X, y = spheres(400, seed=1)
    model = RealAdaBoost(n_estimators=3, early_stopping=False, random_state=0).fit(X, y)
    F, sign = np.zeros(400), 2.0 * y - 1.0
    for learner, after in zip(model.estimators_, model.staged_decision_function(X), strict=True):
        weight, leaf = np.exp(-sign * F), learner.apply(X)
        for number in np.unique(leaf):
            rows = leaf == number
            positive, negative = weight[rows & (y == 1)].sum(), weight[rows & (y == 0)].sum()
            np.testing.assert_allclose((after - F)[rows], 0.5 * np.log(positive / negative), rtol=1e-9)
        F = after


@BOTH
def test_probabilities_are_those_of_the_exponential_loss(kind):
    X, y = spheres(500, seed=2)
    model = kind(n_estimators=30, early_stopping=False).fit(X, y)
    F, p = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_allclose(p[:, 1], 1.0 / (1.0 + np.exp(-2.0 * F)), rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p, rtol=1e-12)
    np.testing.assert_allclose(model.train_losses_[-1], np.mean(np.exp(-(2.0 * y - 1.0) * F)), rtol=1e-12)
    assert np.all(np.diff(model.train_losses_) < 0.0)
    p = np.mean(y)
    np.testing.assert_allclose(model.train_losses_[0], 2.0 * np.sqrt(p * (1.0 - p)), rtol=1e-12)  # of the base rate
    assert model.start_ == 0.0
    np.testing.assert_array_equal(list(model.staged_predict_proba(X))[-1], model.predict_proba(X))


@BOTH
def test_error_falls_while_the_probabilities_get_worse(kind):
    (X, y), (new, new_y) = spheres(600, 0, noise=0.05), spheres(4000, 1, noise=0.05)
    model = kind(DecisionTreeClassifier(max_depth=3), n_estimators=200, early_stopping=False, random_state=0).fit(X, y)
    scores = model.staged_scores(new, new_y)
    for loss in (scores.exponential_loss, scores.log_loss):
        best = np.argmin(loss)
        assert best < 50
        assert loss[-1] > 1.5 * loss[best]
        assert scores.error[-1] < scores.error[best] - 0.02
    assert list(scores.frame().columns) == ["exponential_loss", "log_loss", "error"]
    assert scores.frame().index[0] == 1
    F = list(model.staged_decision_function(new))[9]
    assert scores.error[9] == np.mean((F > 0.0) != (new_y == 1))
    np.testing.assert_allclose(scores.exponential_loss[9], np.mean(np.exp(np.where(new_y == 1, -F, F))))
    np.testing.assert_allclose(scores.log_loss[9], np.mean(np.log1p(np.exp(np.where(new_y == 1, -2.0, 2.0) * F))))


@BOTH
def test_early_stopping_keeps_the_round_of_the_smallest_held_out_loss(kind):
    (X, y), (new, new_y) = spheres(600, seed=0), spheres(300, seed=1)
    weight = np.random.default_rng(0).integers(0, 3, 300)
    options = {"n_estimators": 100, "random_state": 0}
    model = kind(n_iter_no_change=5, **options).fit(X, y, eval_set=(new, new_y, weight))
    losses = model.validation_losses_
    assert 0 < model.best_iteration_ == np.argmin(losses) == len(model.estimators_) == len(losses) - 6
    F = model.decision_function(new)
    best = np.average(np.exp(np.where(new_y == 1, -F, F)), weights=weight)
    np.testing.assert_allclose(losses[model.best_iteration_], best, rtol=1e-12)
    watched = kind(early_stopping=False, **options).fit(X, y, eval_set=(new, new_y, weight))
    assert watched.best_iteration_ == 100
    np.testing.assert_allclose(watched.validation_losses_[: len(losses)], losses, rtol=1e-12)


@BOTH
def test_early_stopping_helps(kind):
    (X, y), (new, new_y) = spheres(400, seed=5), spheres(4000, seed=6)
    options = {"estimator": DecisionTreeClassifier(max_depth=2), "n_estimators": 200, "random_state": 0}
    stopped, full = (kind(early_stopping=early, **options).fit(X, y) for early in (True, False))
    last = [model.staged_scores(new, new_y).exponential_loss[-1] for model in (stopped, full)]
    assert last[0] < last[1]
    assert len(stopped.validation_losses_) > stopped.best_iteration_
    assert not len(full.validation_losses_)


@BOTH
def test_a_perfect_learner_gets_a_finite_step_and_is_the_last(kind):
    X, y = np.arange(10.0)[:, None], np.repeat([0, 1], 5)
    model = kind(early_stopping=False).fit(X, y)
    assert model.best_iteration_ == 1
    longest = {DiscreteAdaBoost: 4.0, RealAdaBoost: 2.0}[kind]
    np.testing.assert_allclose(model.decision_function(X), np.where(y, longest, -longest), rtol=1e-12)


@BOTH
def test_a_learner_no_better_than_chance_is_left_out(kind):
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), [0, 0, 1, 1]
    with pytest.warns(UserWarning, match=r"every row gets the base rate, 0\.5; use other learners"):
        model = kind(early_stopping=False).fit(X, y)
    assert model.best_iteration_ == 0
    assert not len(model.steps_)
    np.testing.assert_array_equal(model.predict_proba(X), 0.5)
    assert list(model.staged_predict(X)) == []
    assert model.staged_scores(X, y).error.shape == (0,)
    np.testing.assert_array_equal(model.predict(X), 0)


@BOTH
def test_the_base_rate_where_no_learner_helps_on_held_out_rows(kind):
    X, y = np.arange(100.0)[:, None], np.arange(100) >= 60
    weight = np.where(y, 3.0, 1.0)
    with pytest.warns(UserWarning, match=r"every row gets the base rate, 0\.667"):
        model = kind(random_state=0).fit(X, y, weight, eval_set=(X, ~y, np.where(y, 1.0, 2.0)))
    assert model.best_iteration_ == len(model.estimators_) == 0
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 2.0 / 3.0, rtol=1e-12)
    np.testing.assert_allclose(model.start_, 0.5 * np.log(2.0), rtol=1e-12)
    q = np.average(y, weights=np.where(y, 1.0, 2.0))  # of the first class among the held-out rows
    np.testing.assert_allclose(model.validation_losses_[0], q * np.sqrt(2.0) + (1.0 - q) / np.sqrt(2.0), rtol=1e-12)


@BOTH
def test_weights_are_repetitions(kind):
    X, y = spheres(300, seed=7)
    weight = np.random.default_rng(1).integers(0, 4, 300)
    options = {"n_estimators": 20, "early_stopping": False, "random_state": 0}
    one = kind(**options).fit(X, y, weight)
    other = kind(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-9)
    scaled = kind(**options).fit(X, y, 1e-3 * weight)
    np.testing.assert_allclose(one.decision_function(X), scaled.decision_function(X), rtol=1e-9)
    judged = one.staged_scores(X, y, weight)
    repeated = one.staged_scores(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(judged.log_loss, repeated.log_loss, rtol=1e-9)


@BOTH
def test_learners_that_count_rows_by_weight_can_split(kind):
    X, y = spheres(600, seed=0, noise=0.0)
    model = kind(ProperTreeClassifier(max_depth=2), n_estimators=60, early_stopping=False).fit(X, y)
    assert all(learner.get_n_leaves() > 1 for learner in model.estimators_)
    first = model.estimators_[0]
    assert first.tree_.class_weight[0].tolist() == np.bincount(y).tolist()
    assert first.tree_.class_weight[first.tree_.is_leaf].sum(axis=1).min() >= 20
    assert model.score(X, y) > 0.9
    scaled = kind(ProperTreeClassifier(max_depth=2), n_estimators=60, early_stopping=False).fit(
        X, y, np.full(600, 2.0**-1000)
    )
    np.testing.assert_array_equal(scaled.predict_proba(X), model.predict_proba(X))


def test_estimators_inside_learners_are_seeded():
    X, y = spheres(300, seed=0)
    weak = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=1, splitter="random"))
    fits = [
        DiscreteAdaBoost(_Weighted(weak), n_estimators=8, early_stopping=False, random_state=3).fit(X, y)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(fits[0].predict_proba(X), fits[1].predict_proba(X))
    seeds = {each.get_params()["estimator__decisiontreeclassifier__random_state"] for each in fits[0].estimators_}
    assert len(seeds) == 8
    assert None not in seeds


class _Weighted(ClassifierMixin, BaseEstimator):
    """A pipeline that takes weights."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y, sample_weight=None):
        self.fitted_ = clone(self.estimator).fit(X, y, decisiontreeclassifier__sample_weight=sample_weight)
        self.classes_ = self.fitted_.classes_
        return self

    def predict(self, X):
        return self.fitted_.predict(X)


def test_other_learners_missing_values_and_labels():
    X, y = make_classification(300, random_state=0)
    labels = np.array(["no", "yes"])[y]
    model = RealAdaBoost(LogisticRegression(), n_estimators=5).fit(X, labels)
    assert set(model.predict(X)) == {"no", "yes"}
    X[::7, 0] = np.nan
    model = DiscreteAdaBoost(n_estimators=5).fit(X, labels)
    assert np.isfinite(model.predict_proba(X)).all()
    with pytest.raises(ValueError, match="NaN"):
        RealAdaBoost(LogisticRegression()).fit(X, y)


@BOTH
def test_a_class_of_one_row_cannot_be_held_out(kind):
    X, y = np.arange(30.0)[:, None], np.r_[np.zeros(29), 1]
    model = kind(n_estimators=7).fit(X, y)
    assert not len(model.validation_losses_)
    assert model.predict(X)[-1] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_estimators": 0}, "n_estimators must be a whole number of at least 1, got 0"),
        ({"n_estimators": 1.5}, "n_estimators must be a whole number"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be above 0"),
        ({"early_stopping": "yes"}, "early_stopping must be True or False, got 'yes'"),
        ({"validation_fraction": 1.0}, "validation_fraction must be above 0 and below 1, got 1.0"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be a whole number"),
        ({"estimator": KNeighborsClassifier()}, "estimator must take sample_weight"),
        ({"estimator": RidgeClassifier()}, "estimator must have predict_proba"),
    ],
)
def test_options_are_checked(options, message):
    X, y = spheres(50, seed=0)
    with pytest.raises(ValueError, match=message):
        RealAdaBoost(**options).fit(X, y)


@BOTH
def test_data_are_checked(kind):
    X, y = spheres(50, seed=0)
    with pytest.raises(ValueError, match="one class only"):
        kind().fit(X, np.ones(50))
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        kind().fit(X, np.arange(50) % 3)
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        kind().fit(X, y, np.zeros(50))
    with pytest.raises(ValueError, match="must not be negative"):
        kind().fit(X, y, -np.ones(50))
    with pytest.raises(ValueError, match="finite sum; divide the weights by a large number"):
        kind().fit(X, y, np.full(50, 1e308))
    with pytest.raises(ValueError, match=r"eval_set must be \(X, y\)"):
        kind().fit(X, y, eval_set=X)
    with pytest.raises(ValueError, match="eval_set holds the label 7"):
        kind().fit(X, y, eval_set=(X, y + 7))
    with pytest.raises(ValueError, match="y holds the label 7"):
        kind(early_stopping=False).fit(X, y).staged_scores(X, y + 7)
    with pytest.raises(ValueError, match="eval_set has no row of positive weight"):
        kind().fit(X, y, eval_set=(X, y, np.zeros(50)))


VARIANTS = [
    kind(n_estimators=10, early_stopping=early_stopping)
    for kind in (DiscreteAdaBoost, RealAdaBoost)
    for early_stopping in (True, False)
]
DRAWN = "held-out rows are drawn one by one, whatever their weights"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": DRAWN,
    "check_sample_weight_equivalence_on_sparse_data": DRAWN,
}


@parametrize_with_checks(
    VARIANTS, expected_failed_checks=lambda estimator: EXPECTED if estimator.early_stopping else {}
)
def test_scikit_learn_accepts(estimator, check):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no weak learner")  # the checks use tiny data
        check(estimator)


@pytest.mark.parametrize("kind", [DiscreteAdaBoost, RealAdaBoost])
def test_feature_importances_are_those_of_the_learners(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = (X[:, 1] + 0.3 * rng.normal(size=500) > 0.0).astype(int)
    model = kind(random_state=0).fit(X, y)
    steps = model.steps_ / model.steps_.sum()
    assert model.feature_importances_ == pytest.approx(
        steps @ [each.feature_importances_ for each in model.estimators_]
    )
    assert model.feature_importances_.argmax() == 1
    assert model.feature_importances_.sum() == pytest.approx(1.0)
