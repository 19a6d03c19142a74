"""Cross-validated GEV-canonical regression: exact paths, harmless choice, bad input."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from properly.datasets import make_rare_events
from properly.engines import Stream
from properly.engines.memory import MemoryEngine
from properly.linear import GEVCanonicalRegression, GEVCanonicalRegressionCV, ProperLinearClassifier, cross_validation
from properly.linear.cross_validation import Path, with_splits
from properly.linear.fitting import Data
from properly.links import GEV, Logit
from properly.losses import BetaLoss, Composite, CostWeightedLoss, GEVLoss, LogLoss, SquaredLoss
from properly.solvers import Status

CS = np.array([0.01, 0.3, 10.0])


@pytest.fixture(scope="module")
def data():
    X, y, p = make_rare_events(1500, 4, rate=0.06, link=GEV(0.4), random_state=3)
    return X + np.array([0.0, 0.0, 0.0, 200.0]), y, p  # one column is far from 0, so that all are centred


def brute_force_losses(composite, X, y, weight, score):
    """Mean held-out losses for every C by separate fits to five folds."""
    losses = np.zeros(len(CS))
    for (train, judge), (i, C) in itertools.product(StratifiedKFold(5).split(X, y), enumerate(CS)):
        if composite.loss == LogLoss():
            model = ProperLinearClassifier(C=C)
        else:
            model = GEVCanonicalRegression(composite.loss.xi, C=C)
        model.fit(X[train], y[train], sample_weight=weight[train])
        p = model.predict_proba(X[judge])[:, 1]
        losses[i] += np.sum(weight[judge] * np.where(y[judge] == 1, score.loss1(p), score.loss0(p)))
    return losses / weight.sum()


@pytest.mark.parametrize(
    "composite",
    [Composite(LogLoss()), *(Composite(GEVLoss(xi), GEV(xi)) for xi in (-1.2, -0.5, 0.0, 0.5, 2.0))],
    ids=lambda composite: str(composite.loss),
)
@pytest.mark.parametrize("rough", [0.1, 1e-7])
def test_path_equals_separate_fits(composite, rough, data, monkeypatch):
    X, y, _ = data
    weight = np.random.RandomState(0).randint(1, 4, len(y)).astype(float)
    monkeypatch.setattr(cross_validation, "_ROUGH", rough)
    engine = with_splits(5, MemoryEngine(X, y.astype(np.intp), weight))
    described = Data.describe(engine, np.bincount(y, weight), True)
    score = SquaredLoss()
    path = Path.fitted(described, composite, CS, score, 100)
    expected = brute_force_losses(composite, X, y, weight, score)
    np.testing.assert_allclose(path.loss, expected, rtol=3e-2 * rough + 1e-7)
    np.testing.assert_allclose(path.loss.min(), expected.min(), rtol=1e-5)


def test_logarithms_of_an_average_do_not_underflow():
    X, y, _ = make_rare_events(1500, 4, rate=0.1, random_state=0)
    model = GEVCanonicalRegressionCV(xis=[-0.5, 0.0], Cs=3).fit(X, y)
    assert len(model.links_) > 1
    p = model.predict_proba(X)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(p), rtol=1e-10, atol=1e-14)
    far = -1e4 * model.coef_[[0]]
    assert model.predict_proba(far)[0, 1] == 0.0
    with np.errstate(all="ignore"):
        scores = (far @ model.coef_.T + model.intercept_)[0]
        logs = [link._logs(np.array(v))[0] for link, v in zip(model.links_, scores, strict=True)]
    expected = np.logaddexp.reduce(np.log(model.weights_) + logs)
    np.testing.assert_allclose(model.predict_log_proba(far)[0, 1], expected, rtol=1e-12)


def test_whole_default_grid_takes_few_passes():
    """Five hundred fits in about two passes for every ξ and C, however the machine is feeling."""
    X, y, _ = make_rare_events(4000, 10, rate=0.05, random_state=0)
    passes = []
    reduce = MemoryEngine.reduce

    def counted(self, kernel, *params):
        passes.append(kernel.__name__)
        return reduce(self, kernel, *params)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryEngine, "reduce", counted)
        GEVCanonicalRegressionCV().fit(X, y)
    assert passes.count("fold_gradients") <= 2.2 * 100
    assert passes.count("hessian") <= 60


def test_single_choice_is_the_model_it_names(data):
    X, y, _ = data
    model = GEVCanonicalRegressionCV(xis=[-0.5, 0.4], Cs=CS, average=False).fit(X, y)
    results = model.cv_results_
    gev = ~np.isnan(results["xi"])
    best = np.flatnonzero(gev)[np.argmin(results["loss"][gev])]
    assert (model.xi_, model.C_) == (results["xi"][best], results["C"][best])
    plain = GEVCanonicalRegression(model.xi_, C=model.C_).fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-7)
    assert model.weights_.tolist() == [1.0]


def test_average_is_the_weighted_mean_of_its_members(data):
    X, y, _ = data
    model = GEVCanonicalRegressionCV(xis=[-0.5, 0.0, 0.4], Cs=CS).fit(X, y)
    assert model.weights_.sum() == pytest.approx(1.0)
    assert len(model.links_) == len(model.weights_) == len(model.coef_) == len(model.intercept_)
    scores = X @ model.coef_.T + model.intercept_
    expected = model.weights_ @ [link.inverse(scores[:, i]) for i, link in enumerate(model.links_)]
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)
    assert np.array_equal(model.predict(X) == 1, model.decision_function(X) > 0.0)


def test_clear_data_give_one_member_all_the_weight():
    X, y, _ = make_rare_events(30_000, 2, rate=0.1, link=Logit(), signal=4.0, random_state=0)
    model = GEVCanonicalRegressionCV(xis=[0.5, 1.0], Cs=3).fit(X, y)
    assert model.links_ == [Logit()]


def test_weights_are_repetitions(data):
    X, y, _ = data
    X, y = X[:600], y[:600]
    repeat = np.random.RandomState(1).randint(0, 3, len(y))
    fold = np.arange(len(y)) % 4
    weighted = GEVCanonicalRegressionCV(xis=[0.3], Cs=CS, cv=PredefinedSplit(fold))
    repeated = GEVCanonicalRegressionCV(xis=[0.3], Cs=CS, cv=PredefinedSplit(np.repeat(fold, repeat)))
    weighted.fit(X, y, sample_weight=repeat)
    repeated.fit(np.repeat(X, repeat, axis=0), np.repeat(y, repeat))
    np.testing.assert_allclose(weighted.cv_results_["loss"], repeated.cv_results_["loss"], rtol=1e-6)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_validation_set_chooses_and_all_rows_are_fitted(data):
    X, y, _ = data
    train, judge = np.arange(1000), np.arange(1000, 1500)
    model = GEVCanonicalRegressionCV(xis=[0.4], Cs=CS, cv=[(train, judge)], average=False).fit(X, y)
    losses, score = [], BetaLoss(0.5, 0.5)
    for C in CS:
        p = GEVCanonicalRegression(0.4, C=C).fit(X[train], y[train]).predict_proba(X[judge])[:, 1]
        losses.append(np.mean(np.where(y[judge] == 1, score.loss1(p), score.loss0(p))))
    np.testing.assert_allclose(model.cv_results_["loss"][3:], losses, rtol=2e-3)
    assert CS[np.argmin(losses)] == model.C_
    plain = GEVCanonicalRegression(0.4, C=model.C_).fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-5, atol=1e-7)


def test_sparse_offset_and_no_intercept(data):
    X, y, _ = data
    X = X - X.mean(axis=0)
    offset = 0.3 * X[:, 0]
    model = GEVCanonicalRegressionCV(xis=[0.0], Cs=2, fit_intercept=False)
    dense = clone(model).fit(X, y, offset=offset)
    thin = clone(model).fit(sparse.csr_array(X), y, offset=offset)
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-7)
    assert np.all(dense.intercept_ == 0.0)
    assert not np.allclose(dense.predict_proba(X, offset), dense.predict_proba(X))


def hard_cases():
    random = np.random.RandomState(0)
    X, y, _ = make_rare_events(400, 3, rate=0.05, random_state=0)
    yield "duplicated and constant columns", np.column_stack([X, X[:, 0], np.full(400, 3.0)]), y
    yield "scaled up", X * 1e8, y
    yield "scaled down", X * 1e-8, y
    yield "separated", X, (X[:, 0] > 1.5).astype(int)
    wide = random.randn(60, 150)
    yield "more columns than rows", wide, (wide[:, 0] + random.randn(60) > 1.3).astype(int)
    few = random.randn(20_000, 3)
    yield "two positives", few, (np.arange(20_000) % 10_000 == 7).astype(int)
    many = random.randn(120, 1100)
    yield "too many columns for one matrix", many, (many[:, 0] > 1.0).astype(int)


@pytest.mark.parametrize(("name", "X", "y"), list(hard_cases()), ids=[case[0] for case in hard_cases()])
def test_hard_data_end_in_numbers(name, X, y):
    model = GEVCanonicalRegressionCV(xis=[-1.2, 0.5, 2.0], Cs=3, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    p = model.predict_proba(X)
    assert np.isfinite(p).all()
    loss = model.cv_results_["loss"].reshape(-1, 3)
    assert np.isfinite(loss[:, :2]).all()
    assert not np.isinf(loss).any()  # nan where weaker penalties only overfit more
    for link, coef, intercept, C, solution in zip(
        model.links_, model.coef_, model.intercept_, model.Cs_, model.solutions_, strict=True
    ):
        residual = link.inverse(X @ coef + intercept) - y
        gradient = np.append(C * X.T @ residual + coef, C * residual.sum())
        size = np.append(C * np.abs(X).T @ np.abs(residual) + np.abs(coef), C * np.abs(residual).sum())
        assert solution.status is not Status.CONVERGED or np.all(np.abs(gradient) <= 1e-4 * size + 1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"xis": []}, "at least one"),
        ({"xis": [np.nan]}, "xi must be finite"),
        ({"Cs": 0}, "Cs must be a positive number"),
        ({"Cs": [-1.0]}, "C must be a positive"),
        ({"Cs": []}, "at least one value of C, got"),
        ({"scoring": "brier"}, "scoring must be one of"),
        ({"scoring": CostWeightedLoss(0.1)}, "smooth loss"),
        ({"scoring": GEVLoss(1.5)}, "finite for a certain forecast that is right"),
        ({"xis": None}, "xis must be a sequence"),
        ({"Cs": None}, "Cs must be a whole number or a sequence"),
        ({"Cs": True}, "Cs must be a whole number or a sequence"),
        ({"average": "yes"}, "average must be True or False"),
        ({"cv": [([0, 1, 1, 150], [2])]}, "holds row 1 twice"),
        ({"cv": [([0, 1, 150], [1])]}, "holds row 1 twice"),
        ({"cv": [([0, 150], [200])]}, "row numbers from 0 to 199"),
        ({"cv": []}, "cv gave no splits"),
        ({"cv": [(np.arange(10), np.arange(10, 20))]}, "both classes"),
    ],
)
def test_bad_options(options, message, data):
    X, y, _ = data
    X, y = X[:200], np.repeat([0, 1], 100)
    with pytest.raises(ValueError, match=message):
        GEVCanonicalRegressionCV(**options).fit(X, y)


def test_probabilities_do_not_exceed_1():
    X, y, _ = make_rare_events(300, 2, rate=0.3, signal=6.0, random_state=5)
    model = GEVCanonicalRegressionCV(xis=[-1.0, -0.75, -0.5], Cs=[1e4]).fit(X, y)
    far = 1e3 * np.outer(np.linspace(0.1, 1.0, 50), np.sign(model.coef_.sum(axis=0)))
    p = model.predict_proba(far)
    assert p.max() <= 1.0
    assert p.min() >= 0.0


def test_decision_function_is_finite_where_p_is_0():
    X, y, _ = make_rare_events(4000, 3, rate=0.1, link=GEV(0.7), signal=2.0, random_state=1)
    for average in (False, True):
        model = GEVCanonicalRegressionCV(xis=[0.75, 1.0], Cs=[1e4], average=average).fit(X, y)
        assert model.predict_proba(X)[:, 1].min() == 0.0
        decision = model.decision_function(X)
        assert np.isfinite(decision).all()
        assert np.array_equal(decision > 0.0, model.predict(X) == 1)
    single = GEVCanonicalRegressionCV(xis=[1.0], Cs=[10.0], average=False).fit(X, y)
    plain = GEVCanonicalRegression(1.0, C=10.0).fit(X, y)
    np.testing.assert_allclose(single.decision_function(X), plain.decision_function(X), atol=1e-6)


def test_repeating_the_splits_adds_no_evidence(data):
    X, y, _ = data
    once = list(StratifiedKFold(5).split(X, y))
    model = GEVCanonicalRegressionCV(xis=[-0.5, 0.5], Cs=CS, cv=once).fit(X, y)
    repeated = GEVCanonicalRegressionCV(xis=[-0.5, 0.5], Cs=CS, cv=once * 10).fit(X, y)
    np.testing.assert_allclose(model.weights_, repeated.weights_, rtol=1e-2)


def test_no_cv_is_five_folds_of_the_rows_that_count(data):
    X, y, _ = data
    weight = np.ones(len(y))
    weight[::7] = 0.0
    model = GEVCanonicalRegressionCV(xis=[0.4], Cs=CS, cv=None).fit(X, y, sample_weight=weight)
    other = GEVCanonicalRegressionCV(xis=[0.4], Cs=CS).fit(X[weight > 0.0], y[weight > 0.0])
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-9)


@pytest.mark.slow
def test_averaging_does_little_harm_where_the_logit_is_right_and_keeps_gains_where_not():
    """Means over few samples: bounds are wide. benchmarks/bench_gev_selection.py has the numbers."""
    change = {}
    for name, link in (("logit", Logit()), ("gev", GEV(0.5))):
        errors = []
        for seed in range(12):
            X, y, p = make_rare_events(24_000, 20, rate=0.05, link=link, signal=1.0, random_state=seed)
            model = GEVCanonicalRegressionCV().fit(X[:4000], y[:4000])
            logit = np.isnan(model.cv_results_["xi"])
            C = model.cv_results_["C"][logit][np.argmin(model.cv_results_["loss"][logit])]
            plain = ProperLinearClassifier(C=C).fit(X[:4000], y[:4000])
            errors.append([np.sqrt(np.mean((each.predict_proba(X)[:, 1] - p) ** 2)) for each in (model, plain)])
        averaged, logistic = np.mean(errors, axis=0)
        change[name] = averaged / logistic - 1.0
    assert change["logit"] < 0.04
    assert change["gev"] < -0.1


def test_bad_data(data):
    X, y, _ = data
    with pytest.raises(ValueError, match="two rows of every class"):
        GEVCanonicalRegressionCV().fit(X, np.arange(len(X)) == 3)
    with pytest.raises(ValueError, match="Only binary"):
        GEVCanonicalRegressionCV().fit(X, np.arange(len(X)) % 3)
    model = GEVCanonicalRegressionCV(xis=[0.0], Cs=1).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="Only binary"):
        model.fit(X, np.arange(len(X)) % 3)
    assert np.array_equal(model.predict_proba(X), before)  # a failed fit leaves the old one whole
    with pytest.raises(ValueError, match=r"no order to split them by, got cv=.*KeyedFolds"):
        GEVCanonicalRegressionCV(cv=[(np.arange(9), np.arange(9, 12))]).fit(Stream([(X, y)]))


@parametrize_with_checks([GEVCanonicalRegressionCV(xis=[0.0, 0.3], Cs=2, cv=3)])
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


def test_penalties_that_overfit_are_not_fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 200))
    y = rng.random(150) < 1.0 / (1.0 + np.exp(1.5 - X[:, 0] - X[:, 1]))
    model = GEVCanonicalRegressionCV(xis=[0.5], Cs=10).fit(X, y)
    loss = model.cv_results_["loss"].reshape(2, 10)
    assert np.isnan(loss[:, -1]).all()  # the classes are separable: fits without penalty are the slowest
    assert np.isfinite(loss[:, :3]).all()
    best = np.nanargmin(loss, axis=1)
    assert model.cv_results_["C"].reshape(2, 10)[1, best[1]] == model.C_
    assert np.all(best < np.isfinite(loss).sum(axis=1) - 1)
