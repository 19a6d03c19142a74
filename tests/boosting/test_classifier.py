"""The proper booster against LightGBM itself, closed forms and what it promises."""

import pickle
import subprocess
import sys

import lightgbm
import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from properly.boosting import ProperBoostingClassifier
from properly.boosting.rows import BestForOthers
from properly.datasets import make_hand_vinciotti
from properly.links import Logit, get_link
from properly.losses import BetaLoss, BoostingLoss, Composite, CostWeightedLoss, GEVLoss, LogLoss, SquaredLoss

LOSSES = [SquaredLoss(), BoostingLoss(), BetaLoss.tailored(0.1, 30), GEVLoss(0.3), GEVLoss(-0.5)]


def data(n=2000, seed=0, **options):
    return make_classification(n, 8, n_informative=5, flip_y=0.1, random_state=seed, **options)


PLAIN = {  # LightGBM's own trees
    "num_leaves": 31,
    "min_samples_leaf": 20,
    "l2_regularization": 0.0,
    "max_features": 1.0,
    "max_samples": 1.0,
    "extra_trees": False,
    "learning_rate": 0.1,
}


def few(**options):
    """A booster that is quick to fit."""
    return ProperBoostingClassifier(**{**PLAIN, "n_estimators": 20, "n_jobs": 1, "random_state": 0, "cv": 2, **options})


@pytest.mark.parametrize("share", [0.5, 0.95])
@pytest.mark.parametrize("l2", [0.0, 3.0])
def test_log_loss_is_lightgbm(share, l2):
    X, y = data(6000, weights=[share])
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 4000)
    options = {"learning_rate": 0.2, "num_leaves": 12, "min_data_in_leaf": 15, "lambda_l2": l2}
    options |= {"objective": "binary", "num_threads": 1, "verbosity": -1}
    theirs = lightgbm.train(options, lightgbm.Dataset(X[:4000], y[:4000], weight=weight), 50)
    given = {"learning_rate": 0.2, "num_leaves": 12, "min_samples_leaf": 15, "l2_regularization": l2}
    ours = few(n_estimators=50, early_stopping=False, **given).fit(X[:4000], y[:4000], weight)
    one, other = ours.predict_proba(X[4000:])[:, 1], theirs.predict(X[4000:])
    assert abs(log_loss(y[4000:], one) - log_loss(y[4000:], other)) < 1e-4
    assert np.mean(np.abs(one - other)) < 1e-3
    assert ours.best_iteration_.tolist() == ours.log_iterations_.tolist() == [50]
    np.testing.assert_allclose(ours.starts_, Logit().link(np.average(y[:4000], weights=weight)))


@pytest.mark.parametrize("loss", [LogLoss(), *LOSSES], ids=repr)
@pytest.mark.parametrize("link", ["logit", "canonical", "cloglog"])
def test_every_loss_and_link_learns(loss, link):
    X, y = data()
    link = loss.canonical_link if link == "canonical" else get_link(link)
    model = few(loss=loss, link=link, early_stopping=False, n_estimators=15).fit(X, y)
    (losses,) = model.train_losses_
    assert len(losses) == 16
    assert losses[-1] < losses[0]
    if not isinstance(loss, BetaLoss):  # which is flat at the base rate, and so takes its time
        assert losses[-1] < 0.8 * losses[0]
    composite = Composite(loss, link)
    np.testing.assert_allclose(losses[0], np.mean(composite.value(y, link.link(y.mean()))), rtol=1e-9)
    # decision_function is measured from p = 1/2
    v = model.decision_function(X) + link.link(0.5)
    np.testing.assert_allclose(losses[-1], np.mean(composite.value(y, v)), rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], link.inverse(v), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_single_leaf_pair_is_newtons(loss):
    """One stump without penalty: each leaf moves by -Σ gradient / Σ curvature at the base rate."""
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.r_[np.arange(50) % 5 == 0, np.arange(50) % 5 > 1].astype(int)
    options = {"num_leaves": 2, "n_estimators": 1, "l2_regularization": 0.0, "learning_rate": 1.0}
    model = few(loss=loss, early_stopping=False, **options).fit(X, y)
    composite, v = Composite(loss, Logit()), Logit().link(y.mean())
    scale = y.mean() * (1.0 - y.mean()) / composite.curvature(0, v)
    for side in (0, 1):
        rows = y[X[:, 0] == side]
        curvature = np.maximum(composite.curvature(rows, v), composite.curvature(rows, v, kind="observed"))
        curvature = np.maximum(scale * curvature, y.mean() * (1.0 - y.mean()))
        step = -np.sum(scale * composite.gradient(rows, v)) / np.sum(curvature)
        np.testing.assert_allclose(model.decision_function([[side]]) - v, step, rtol=1e-5)


def test_the_unit_of_the_loss_does_not_matter():
    X, y = data()
    one, other = (few(loss=BetaLoss(2, 3, scale), early_stopping=False).fit(X, y) for scale in (0.0, 40.0))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-5)


def test_early_stopping_watches_the_held_out_loss():
    X, y = data(1500)
    weight = np.random.default_rng(0).integers(0, 3, 700).astype(float)
    options = {"learning_rate": 0.5, "n_estimators": 200, "n_iter_no_change": 5}
    model = few(**options).fit(X[700:], y[700:], eval_set=(X[:700], y[:700], weight))
    (losses,), (best,) = model.validation_losses_, model.best_iteration_
    assert 0 < best == np.argmin(losses) == len(losses) - 6
    p = model.predict_proba(X[:700])
    np.testing.assert_allclose(losses[best], log_loss(y[:700], p, sample_weight=weight), rtol=1e-9)
    watched = few(**{**options, "early_stopping": False}).fit(X[700:], y[700:], eval_set=(X[:700], y[:700], weight))
    assert watched.best_iteration_.tolist() == [200]
    np.testing.assert_allclose(watched.validation_losses_[0][: len(losses)], losses, rtol=1e-9)
    assert watched.validation_losses_[0][-1] > losses[best]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_boosting_begins_with_log_loss_and_goes_on_only_if_that_pays(loss):
    X, y = data(3000)
    log = few(n_iter_no_change=5).fit(X, y)
    model = few(loss=loss, n_iter_no_change=5).fit(X, y)
    assert model.log_iterations_.tolist() == log.best_iteration_.tolist()
    (losses,), (best,), (first,) = model.validation_losses_, model.best_iteration_, model.log_iterations_
    assert best >= first
    assert losses.min() < losses[0]
    if best == first:
        np.testing.assert_array_equal(model.predict_proba(X), log.predict_proba(X))
    directly = few(loss=loss, start="base rate", n_iter_no_change=5).fit(X, y)
    assert directly.log_iterations_.tolist() == [0]
    assert directly.best_iteration_[0] == min(2 * directly.validation_losses_[0].argmin(), 20)


@pytest.mark.parametrize("seed", range(3))
def test_a_tailored_loss_pays_where_no_sum_of_stumps_is_right(seed):
    X, y, _ = make_hand_vinciotti(4000, random_state=seed)
    X, (at, _, eta) = turned(X), make_hand_vinciotti(20_000, random_state=99)
    options = {"num_leaves": 2, "n_estimators": 500, "learning_rate": 0.1, "n_iter_no_change": 20}
    model, log = (few(loss=loss, **options).fit(X, y) for loss in (BetaLoss.tailored(0.3, 30), "log"))
    assert model.best_iteration_[0] > model.log_iterations_[0]
    regrets = [cost_of_decisions(fit.predict_proba(turned(at))[:, 1], eta, 0.3) for fit in (model, log)]
    assert regrets[0] < 0.6 * regrets[1]


def test_the_smallest_of_many_held_out_losses_is_no_gain():
    """Log loss is right for these rows. Judged by folds that also chose the number of trees, 8 of 24 are tailored."""
    tailored = 0
    options = {"num_leaves": 2, "learning_rate": 0.2, "n_estimators": 60, "n_iter_no_change": 15, "cv": 5}
    for seed in range(24):
        random = np.random.default_rng(seed)
        X = random.normal(size=(200, 4))
        y = random.random(200) < 1.0 / (1.0 + np.exp(-1.5 * X[:, 0]))
        model = few(loss=BetaLoss.tailored(0.2, 30), min_samples_leaf=5, l2_regularization=1.0, **options).fit(X, y)
        tailored += int(model.best_iteration_[0] > model.log_iterations_[0])
    assert tailored <= 4


def test_every_split_is_judged_after_the_rounds_that_are_best_for_the_others():
    random, sizes = np.random.default_rng(0), [3, 5, 2]
    losses, weight = random.random((20, 10)), random.random(10)
    losses[4, 0] = np.inf
    found = BestForOthers(losses[0], weight, sizes)
    for later in losses[1:]:
        found.look(later)
    split = np.repeat(np.arange(3), sizes)
    for k in range(3):
        others, own = split != k, split == k
        best = (losses[:, others] @ weight[others]).argmin()
        np.testing.assert_array_equal(found.losses[own], losses[best, own])


def turned(X):
    return np.column_stack([X.sum(axis=1), X[:, 1] - X[:, 0]])


def cost_of_decisions(p, eta, c):
    """The expected cost above the least possible."""
    return np.mean(np.where((p >= c) != (eta >= c), np.abs(eta - c), 0.0))


def test_log_loss_decides_how_trees_grow():
    X, y = data(1500)
    options = {"n_estimators": 20, "learning_rate": 0.3, "n_iter_no_change": 3, "random_state": 0, "n_jobs": 1}
    log = ProperBoostingClassifier(**options).fit(X, y)
    for at in (0.05, 0.5, 0.95):
        model = ProperBoostingClassifier(BetaLoss.tailored(at, 100), **options).fit(X, y)
        assert model.growths_ == log.growths_


def test_stages_add_up():
    X, y = data()
    model = few(early_stopping=False).fit(X, y)
    stages = list(model.staged_decision_function(X))
    assert len(stages) == 20
    np.testing.assert_allclose(stages[-1], model.decision_function(X), rtol=1e-9)
    assert np.array_equal(list(model.staged_predict(X)), [v > 0.0 for v in stages])
    for v, p, loss in zip(stages, model.staged_predict_proba(X), model.train_losses_[0][1:], strict=True):
        np.testing.assert_allclose(p[:, 1], Logit().inverse(v), rtol=1e-12)
        np.testing.assert_allclose(log_loss(y, p), loss, rtol=1e-9)


def test_tails_are_accurate():
    X, y = data()
    model = few().fit(X, y)
    model.starts_ += 800.0
    v = model.decision_function(X[-1:])
    assert v > 750.0
    log_p = model.predict_log_proba(X[-1:])[0]
    np.testing.assert_allclose(log_p, [-v[0], -np.exp(-v[0])], rtol=1e-9)
    model.starts_ -= 750.0
    np.testing.assert_allclose(model.predict_proba(X[-1:])[0, 0], np.exp(750.0 - v[0]), rtol=1e-9)


def three_classes(n=1500, seed=0):
    X, y = make_classification(n, 8, n_informative=5, n_classes=3, flip_y=0.1, random_state=seed)
    return X, np.array(["a", "b", "c"])[y]


def test_losses_of_many_classes_are_one_versus_rest():
    X, labels = three_classes()
    model = few(early_stopping=False, loss="squared").fit(X, labels)
    p = np.column_stack(
        [few(early_stopping=False, loss="squared").fit(X, labels == k).predict_proba(X)[:, 1] for k in "abc"]
    )
    np.testing.assert_allclose(model.predict_proba(X), p / p.sum(axis=1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    assert model.decision_function(X).shape == (1500, 3)
    assert len(list(model.staged_predict_proba(X))) == 20
    stopped = few(loss="squared", n_estimators=100, n_iter_no_change=2, learning_rate=0.5).fit(X, labels)
    assert len(set(stopped.best_iteration_.tolist())) > 1
    np.testing.assert_allclose(list(stopped.staged_predict_proba(X))[-1], stopped.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(stopped.held_out_proba_.sum(axis=1), 1.0)


def test_log_loss_of_many_classes_is_lightgbms():
    X, labels = three_classes(3000)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 2000)
    options = {"objective": "multiclass", "num_class": 3, "num_threads": 1, "verbosity": -1}
    codes = np.searchsorted(["a", "b", "c"], labels)
    theirs = lightgbm.train(options, lightgbm.Dataset(X[:2000], codes[:2000], weight=weight), 30)
    ours = few(n_estimators=30, early_stopping=False).fit(X[:2000], labels[:2000], weight)
    one, other = ours.predict_proba(X[2000:]), theirs.predict(X[2000:])
    assert abs(log_loss(codes[2000:], one) - log_loss(codes[2000:], other)) < 1e-3
    assert np.mean(np.abs(one - other)) < 2e-3
    assert ours.best_iteration_.tolist() == [30, 30, 30]
    assert len(ours.models_) == 1
    np.testing.assert_allclose(
        ours.train_losses_[0][-1], log_loss(codes[:2000], ours.predict_proba(X[:2000]), sample_weight=weight)
    )
    stages = list(ours.staged_decision_function(X))
    np.testing.assert_allclose(stages[-1], ours.decision_function(X), rtol=1e-9)
    assert "30 trees for log loss" in ours.summary_


def test_the_number_of_trees_comes_from_folds_and_all_rows_are_fitted():
    """The same as by hand: on the other folds, stopping where the pooled loss is smallest, then on all rows."""
    X, y = data(600)
    X = np.round(X)  # few distinct values, so that bins do not depend on the number of rows
    folds = np.arange(600) % 3
    pairs = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]
    model = few(cv=pairs, n_estimators=60, n_iter_no_change=60, learning_rate=0.3).fit(X, y)
    stages = np.empty((60, 600))
    for train, test in pairs:
        every = few(n_estimators=60, learning_rate=0.3, early_stopping=False).fit(X[train], y[train])
        stages[:, test] = [p[:, 1] for p in every.staged_predict_proba(X[test])]
    losses = [log_loss(y, p) for p in stages]
    best = int(np.argmin(losses)) + 1
    np.testing.assert_allclose(model.validation_losses_[0][1:], losses, rtol=1e-6)
    assert model.best_iteration_[0] == round(1.5 * best)
    np.testing.assert_allclose(log_loss(y, model.held_out_proba_), model.validation_losses_[0].min())
    np.testing.assert_allclose(model.held_out_proba_[:, 1], stages[best - 1], rtol=1e-5)
    directly = few(n_estimators=model.best_iteration_[0], learning_rate=0.3, early_stopping=False).fit(X, y)
    np.testing.assert_array_equal(directly.predict_proba(X), model.predict_proba(X))


def test_folds_may_leave_rows_out():
    """Periods, each held out after those before it; rows of weight 0, and of classes that no earlier row has."""
    X, y = data(400)
    y[395:] = 2
    weight = np.ones(400)
    weight[100:120] = 0.0
    pairs = [(np.arange(100 * k), np.arange(100 * k, 100 * k + 100)) for k in (1, 2, 3)]
    model = few(cv=pairs).fit(X, y, weight)
    missing = np.isnan(model.held_out_proba_).all(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(missing), np.r_[np.arange(120), np.arange(395, 400)])
    with pytest.raises(ValueError, match="cv must have a split with training rows of two classes"):
        few(cv=[(np.arange(395, 400), np.arange(100))]).fit(X, y)


def test_the_way_trees_grow_is_chosen():
    X, y = data(400)
    model = ProperBoostingClassifier(random_state=0, n_jobs=1, learning_rate=0.2, cv=2, n_iter_no_change=5)
    ways = [growth._asdict() for growth in model._growths()]
    assert len(ways) > 1
    smallest = [clone(model).set_params(**way).fit(X, y).validation_losses_[0].min() for way in ways]
    (chosen,) = model.fit(X, y).growths_
    assert chosen == ways[int(np.argmin(smallest))]
    np.testing.assert_allclose(model.validation_losses_[0].min(), min(smallest))
    assert {way["num_leaves"] for way in (growth._asdict() for growth in few(num_leaves=5)._growths())} == {5}


def test_held_out_probabilities_are_not_saved():
    X, y = data(300)
    model = few().fit(X, y)
    assert model.held_out_proba_.shape == (300, 2)
    assert not hasattr(pickle.loads(pickle.dumps(model)), "held_out_proba_")
    assert not hasattr(model.fit(X, y, eval_set=(X, y)), "held_out_proba_")


def test_a_class_without_weight_has_probability_zero():
    X, labels = three_classes(300)
    model = few(early_stopping=False).fit(X, labels, labels != "c")
    assert "num_leaves=1\n" in model.models_[0]
    p = model.predict_proba(X)
    np.testing.assert_array_equal(p[:, 2], 0.0)
    np.testing.assert_allclose(list(model.staged_predict_proba(X))[-1], p, rtol=1e-9)


def test_weight_is_repetition_and_none():
    X, y = data(1000)
    X = np.round(X, 1)  # few distinct values, so that bins do not depend on the number of rows
    weight = np.random.default_rng(0).integers(0, 3, 1000)
    options = {"early_stopping": False, "min_samples_leaf": 1, "num_leaves": 4, "n_estimators": 5}
    one = few(**options).fit(X, y, weight)
    other = few(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-5)
    np.testing.assert_allclose(one.train_losses_[0], other.train_losses_[0], rtol=1e-5)
    absent = few(**options).fit(X[weight > 0], y[weight > 0], weight[weight > 0])
    np.testing.assert_array_equal(one.predict_proba(X), absent.predict_proba(X))


def test_missing_values_carry_information():
    X, y = data()
    X[y == 1, 0] = np.nan
    model = few(early_stopping=False).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.feature_importances_.argmax() == 0
    np.testing.assert_allclose(model.feature_importances_.sum(), 1.0)


def frame(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    town = rng.choice(["Bonn", "Rome", "Kiel", "Nice", "Graz", "Oslo"], n)
    number = rng.choice([3.0, 10.0, 700.0], n)
    x = rng.normal(size=n)
    y = (rng.random(n) < np.where(np.isin(town, ["Rome", "Oslo", "Kiel"]), 0.8, 0.2)).astype(int)
    return pd.DataFrame({"town": town, "number": number, "x": x}), y


def test_categories_of_pandas_and_by_name_and_of_arrays_are_the_same():
    X, y = frame()
    typed = few().fit(X.astype({"town": "category"}), y)
    named = few(categorical_features=["town"]).fit(X, y)
    numbered = few(categorical_features=[0]).fit(X.to_numpy(), y)
    p = typed.predict_proba(X.astype({"town": "category"}))
    assert typed.score(X, y) > 0.75
    np.testing.assert_array_equal(named.predict_proba(X), p)
    np.testing.assert_array_equal(numbered.predict_proba(X.to_numpy()), p)
    np.testing.assert_array_equal(typed.predict_proba(X.iloc[::-1].astype({"town": "category"}))[::-1], p)
    assert typed.categories_[0].tolist() == sorted(set(X["town"]))
    assert typed.feature_names_in_.tolist() == ["town", "number", "x"]


def test_categories_are_lightgbms():
    X, y = frame()
    X["town"] = X["town"].astype("category")
    options = {"objective": "binary", "verbosity": -1, "num_threads": 1}
    unsmoothed = {"cat_l2": 0.0, "cat_smooth": 1.0, "min_data_per_group": 20}  # as leaves that are not shrunk
    theirs = lightgbm.train(options | unsmoothed, lightgbm.Dataset(X, y), 20)
    ours = few(early_stopping=False).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X)[:, 1], theirs.predict(X), rtol=1e-4)


def test_unknown_and_missing_categories_are_missing_values():
    X, y = frame()
    X.loc[::10, "town"] = None
    model = few(categorical_features=["town", "number"]).fit(X, y)
    new = X.iloc[:3].copy()
    new["town"], new["number"] = ["Ulm", None, "Rome"], [3.0, 3.0, 4.0]
    p = model.predict_proba(new)[:, 1]
    missing = new.assign(town=[None, None, "Rome"], number=[3.0, 3.0, np.nan])
    np.testing.assert_array_equal(model.predict_proba(missing)[:, 1], p)
    array = few(categorical_features=[0, 1]).fit(X.to_numpy(dtype=object), y)
    np.testing.assert_array_equal(array.predict_proba(missing.to_numpy(dtype=object))[:, 1], p)


def test_categories_of_sparse_matrices_are_refused():
    with pytest.raises(ValueError, match="need dense X"):
        few(categorical_features=[0]).fit(sparse.eye_array(10).tocsr(), np.arange(10) % 2)


def test_sparse_is_dense():
    X, y = data()
    X[X < 0.5] = 0.0
    one, other = few().fit(X, y), few().fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(sparse.csc_array(X)), rtol=1e-9)


@pytest.mark.parametrize("categories", [False, True])
def test_the_fitted_state_is_plain_and_survives(categories, tmp_path):
    X, y = frame() if categories else data()
    if categories:
        X["town"] = X["town"].astype("category")
    model = few(loss="squared").fit(X, y)
    p = model.predict_proba(X)
    assert "_boosters" not in model.__getstate__()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), p)
    skops.io.dump(model, tmp_path / "model.skops")
    unknown = skops.io.get_untrusted_types(file=tmp_path / "model.skops")
    assert all(name.startswith("properly.") for name in unknown)
    loaded = skops.io.load(tmp_path / "model.skops", trusted=unknown)
    np.testing.assert_array_equal(loaded.predict_proba(X), p)
    np.testing.assert_array_equal(list(loaded.staged_predict_proba(X))[-1], list(model.staged_predict_proba(X))[-1])


def test_refitting_forgets():
    X, y = data()
    model = few().fit(X, y)
    before = model.predict_proba(X)
    again = model.fit(X, 1 - y).predict_proba(X)
    assert np.corrcoef(again[:, 0], before[:, 1])[0, 1] > 0.9
    np.testing.assert_array_equal(clone(model).fit(X, 1 - y).predict_proba(X), again)


def test_nothing_to_split_leaves_the_base_rate():
    X, y = np.zeros((60, 2)), np.arange(60) % 3 == 0
    for early_stopping in (True, False):
        model = few(early_stopping=early_stopping).fit(X, y)
        assert model.best_iteration_.tolist() == [0]
        assert model.models_ == [""]
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1.0 / 3.0)
        assert list(model.staged_predict_proba(X)) == []
        np.testing.assert_array_equal(model.feature_importances_, 0.0)


def test_a_class_of_one_row_cannot_be_held_out():
    X, y = np.arange(40.0)[:, None], np.arange(40) == 39
    with pytest.warns(UserWarning, match="no two classes have two rows each"):
        model = few(min_samples_leaf=1).fit(X, y)
    assert not len(model.validation_losses_[0])
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1.0 / 40.0)


@pytest.mark.parametrize("cv", [3, KFold(3), [(np.arange(20), np.arange(20, 40))]], ids=["folds", "splitter", "pairs"])
def test_rows_of_one_class_need_no_split(cv):
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    model = few(cv=cv).fit(X, y, 1.0 - y)
    assert model.best_iteration_.tolist() == [0]
    np.testing.assert_array_equal(model.predict_proba(X), np.tile([1.0, 0.0], (40, 1)))


@pytest.mark.parametrize("early_stopping", [True, False])
@pytest.mark.parametrize("kind", ["constant", "missing", "category", "sparse", "large leaves"])
def test_without_a_split_nothing_is_said(kind, early_stopping, capfd):
    X, y = np.ones((60, 2)), np.arange(60) % 3 == 0
    X = {"missing": np.full((60, 2), np.nan), "sparse": sparse.csr_array((60, 2)), "large leaves": data(60)[0]}.get(
        kind, X
    )
    options = {"category": {"categorical_features": [0]}, "large leaves": {"min_samples_leaf": 100}}.get(kind, {})
    model = few(early_stopping=early_stopping, **options).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1.0 / 3.0)
    assert capfd.readouterr() == ("", "")


def test_a_stray_row_does_not_switch_early_stopping_off():
    X, y = data(1200)
    labels = y.copy()
    labels[17] = 2
    model = few(n_estimators=200, learning_rate=0.5, n_iter_no_change=5).fit(X, labels)
    assert max(model.best_iteration_) < 100
    assert np.isnan(model.held_out_proba_[17]).all()
    assert not np.isnan(np.delete(model.held_out_proba_, 17, axis=0)).any()


def test_a_loss_worse_than_that_of_the_base_rate_is_given_up():
    """Too long steps for log loss: held-out log loss falls, but boosting loss, which punishes sure errors, grows."""
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.r_[np.arange(50) == 0, np.arange(50) > 0].astype(int)
    judges = np.r_[np.arange(50) < 8, np.arange(50) > 7].astype(int)
    options = {"learning_rate": 2.0, "n_estimators": 1, "num_leaves": 2}
    log = few(**options).fit(X, y, eval_set=(X, judges))
    assert log.best_iteration_.tolist() == [1]
    model = few(loss="boosting", **options).fit(X, y, eval_set=(X, judges))
    composite = Composite(BoostingLoss(), Logit())
    base, logs = (np.mean(composite.value(judges, v)) for v in (0.0, log.decision_function(X)))
    assert logs > base
    assert np.mean(composite.value(judges, model.decision_function(X))) <= base
    assert model.log_iterations_.tolist() == [0]


def test_infinite_losses_are_not_better():
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.repeat([0, 1], 50)
    options = {"learning_rate": 1000.0, "n_estimators": 3, "num_leaves": 2}
    log = few(**options).fit(X, y, eval_set=(X, y))
    assert np.abs(log.decision_function(X)).min() > 1420.0  # boosting loss of the other label overflows
    model = few(loss="boosting", **options).fit(X, y, eval_set=(X, y))
    assert model.best_iteration_.tolist() == model.log_iterations_.tolist() == log.best_iteration_.tolist()
    np.testing.assert_array_equal(model.decision_function(X), log.decision_function(X))


@pytest.mark.parametrize("small", [1e-20, 1e-300])
@pytest.mark.parametrize("link", ["logit", "cloglog", "cauchit"])
def test_very_unequal_weights_leave_both_classes_a_probability(small, link):
    X, y = data(300)
    for rare, column in ((1, 1), (0, 0)):
        weight = np.where(y == rare, small, 1.0)
        model = few(link=link, early_stopping=False).fit(X, y, weight)
        share = small * np.sum(y == rare) / np.sum(y != rare)
        np.testing.assert_allclose(model.predict_proba(X)[:, column], share, rtol=1e-6)


@pytest.mark.parametrize("link", [None, "gev", "cloglog"])
def test_losses_without_a_lower_bound_need_their_own_link(link):
    X, y = data(500)
    loss = GEVLoss(1.5)
    with pytest.raises(ValueError, match=r"bounded below.*-inf for GEVLoss\(xi=1.5\).*link=GEV\(xi=1.5\)"):
        few(loss=loss, link=link).fit(X, y)
    assert few(loss=loss, link=loss.canonical_link).fit(X, y).score(X, y) > 0.7


def test_extreme_losses_and_weights_stay_finite():
    X, y = data(500)
    X[0] = [1e300, -1e300, *X[0, 2:]]
    for loss in (BoostingLoss(), BetaLoss(-0.9, -0.9), BetaLoss.tailored(0.01, 1e6), GEVLoss(0.9)):
        for scale in (1e-300, 1.0, 1e304):
            model = few(loss=loss, start="base rate", learning_rate=1.0).fit(X, y, np.full(500, scale))
            assert np.isfinite(model.decision_function(X)).all()
            assert np.isfinite(model.train_losses_[0]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hinge"}, "loss must be one of"),
        ({"loss": CostWeightedLoss(0.3)}, "is a step function"),
        ({"link": "identity"}, "link must be one of"),
        ({"start": "zero"}, "start must be one of 'log loss', 'base rate', got 'zero'"),
        ({"n_estimators": 0}, "n_estimators must be a whole number of at least 1, got 0"),
        ({"learning_rate": -1}, "learning_rate must be above 0"),
        ({"num_leaves": 1}, "num_leaves must be a whole number from 2 to 131072, got 1"),
        ({"num_leaves": 10**9}, "num_leaves must be a whole number from 2 to 131072, got 1000000000"),
        ({"min_samples_leaf": 0}, "min_samples_leaf must be"),
        ({"min_samples_leaf": 10**12}, "min_samples_leaf must be a whole number from 1 to 2147483647, got"),
        ({"l2_regularization": -0.1}, "l2_regularization must be at least 0"),
        ({"max_features": 0}, "max_features must be above 0 and below 1, got 0"),
        ({"max_samples": 1.5}, "max_samples must be above 0 and below 1, got 1.5"),
        ({"extra_trees": "yes"}, "extra_trees must be True or False"),
        ({"cv": 1}, "cv must be a whole number of at least 2, got 1"),
        ({"cv": [([0, 1], [1])]}, "split 0 of cv holds row 1 twice"),
        ({"cv": [([0, 1], [100])]}, "split 0 of cv must hold row numbers from 0 to 99"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be"),
        ({"early_stopping": 1}, "early_stopping must be True or False"),
        ({"n_jobs": 0}, "n_jobs, if not None or -1 for all threads, must be a whole number from 1 to"),
        ({"n_jobs": -2}, "n_jobs, if not None or -1 for all threads, must be .*, got -2"),
    ],
)
def test_options_are_checked(options, message):
    X, y = data(100)
    with pytest.raises(ValueError, match=message):
        few(**options).fit(X, y)


def test_data_are_checked():
    X, y = data(100)
    for target, weight, message in [
        (np.zeros(100), None, "one class only"),
        (y, np.zeros(100), "zero for every row"),
        (y, -np.ones(100), "must not be negative"),
        (y, np.full(100, 1e307), "finite sum; divide the weights by a large number"),
        (y, np.where(y == 1, 1e-310, 1.0), "class 1 have a weight of .*too little to count beside"),
        (y, np.ones(99), "99 entries"),
        (y.astype(float) + 0.5 * np.arange(100), None, "Unknown label type"),
        (y[:-1], None, "inconsistent numbers of samples"),
    ]:
        with pytest.raises(ValueError, match=message):
            few().fit(X, target, weight)
    with pytest.raises(ValueError, match="infinity"):
        few().fit(np.where(X > 1.0, np.inf, X), y)
    with pytest.raises(ValueError, match="eval_set holds the label 5"):
        few().fit(X, y, eval_set=(X, y + 5))
    with pytest.raises(ValueError, match="8 features"):
        few().fit(X, y).predict(X[:, 1:])


COUNTS = "folds are drawn, and bins and min_samples_leaf count, by rows and not by weight"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": COUNTS,
    "check_sample_weight_equivalence_on_sparse_data": COUNTS,
}


@parametrize_with_checks(
    [
        ProperBoostingClassifier(n_estimators=20, n_jobs=1),
        ProperBoostingClassifier("squared", start="base rate", n_estimators=20, min_samples_leaf=2, n_jobs=1),
        ProperBoostingClassifier("boosting", early_stopping=False, n_estimators=20, min_samples_leaf=2, n_jobs=1),
    ],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("rows", "threads"), [(10, 1), (499_999, 1), (500_000, 2), (10_000_000, 4)])
def test_small_data_have_one_thread(monkeypatch, rows, threads):
    monkeypatch.setattr("properly.boosting.classifier.number_of_threads", lambda: 4)
    cells = np.broadcast_to(0.0, (rows, 20))
    assert ProperBoostingClassifier()._threads(cells) == threads
    assert ProperBoostingClassifier()._threads(sparse.csr_matrix((rows, 20))) == 1  # nothing is stored
    assert ProperBoostingClassifier(n_jobs=-1)._threads(cells) == 4
    assert ProperBoostingClassifier(n_jobs=3)._threads(cells) == 3


def test_wide_tables_need_little_memory():
    """LightGBM would keep the histograms of all leaves: gigabytes for thousands of columns."""
    program = """
import resource, numpy as np
from properly.boosting import ProperBoostingClassifier
X = np.random.default_rng(0).normal(size=(400, 2000))
model = ProperBoostingClassifier(num_leaves=63, min_samples_leaf=2, n_estimators=6, random_state=0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.set_params(max_features=1.0, max_samples=1.0, extra_trees=True, l2_regularization=1.0).fit(X, X[:, 0] > 0.0)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 700
