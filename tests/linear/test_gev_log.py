"""GEV regression by maximum likelihood: several starts, infinite losses, kinks."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from properly.datasets import make_rare_events
from properly.linear import GEVLogRegression, ProperLinearClassifier
from properly.links import GEV
from properly.losses import Composite, LogLoss

XIS = [-1.2, -1.0, -0.9, -0.5, -1e-9, 0.0, 0.01, 0.3, 1.0, 1.5, 2.0]
X, Y, P = make_rare_events(2000, 3, rate=0.1, random_state=0)


def objective(xi, X, y, C, parameters):
    """The stated objective, divided by C, and its gradient; written from the definition of the distribution."""
    w, v = parameters[:-1], X @ parameters[:-1] + parameters[-1]
    with np.errstate(all="ignore"):
        u = 1.0 + xi * v
        t = np.exp(-v) if xi == 0.0 else np.where(u > 0.0, u, 0.0) ** (-1.0 / xi)
        loss = np.where(y == 1, t, -np.log(-np.expm1(-t)))
        slope = -(t ** (1.0 + xi)) * np.where(y == 1, 1.0, -1.0 / np.expm1(t))
        slope = np.where((u > 0.0) & (loss > 0.0), slope, 0.0)
    gradient = np.append(X.T @ slope + w / C, slope.sum())
    value = loss.sum() + 0.5 * w @ w / C
    return (value, gradient) if np.isfinite(value) else (1e300, np.zeros_like(gradient))


def parameters_of(model):
    return np.append(model.coef_[0], model.intercept_)


def draw(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 150))
    X = rng.normal(size=(n, 2))
    score = X @ rng.normal(size=2)
    y = (score + rng.logistic(size=n) > np.quantile(score, rng.choice([0.5, 0.8])) + 1.0).astype(int)
    return X, y, float(rng.choice([0.1, 1.0, 10.0, 1000.0])), rng


@pytest.mark.parametrize("xi", [-0.5, 0.0, 0.2, 0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_no_random_start_finds_a_better_optimum(xi, seed):
    X, y, C, rng = draw(seed)
    ours = objective(xi, X, y, C, parameters_of(GEVLogRegression(xi, C=C).fit(X, y)))[0]
    rate, rivals = y.mean(), []
    for _ in range(15):
        start = np.append(rng.normal(size=2), GEV(xi).link(rate) + rng.normal()) * 10.0 ** rng.uniform(-1.0, 0.7)
        rivals.append(minimize(lambda at: objective(xi, X, y, C, at), start, jac=True, method="BFGS").fun)
    assert ours <= min(rivals) * (1.0 + 1e-8)


def test_several_starts_find_the_better_of_two_optima():
    """A fit that begins at the GEV-canonical solution only ends in another optimum."""
    rng = np.random.default_rng(26)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] + rng.logistic(size=40) > 0.0).astype(int)
    one = ProperLinearClassifier("log", GEV(2.0), C=1000.0).fit(X, y)
    several = GEVLogRegression(2.0, C=1000.0).fit(X, y)
    values = [objective(2.0, X, y, 1000.0, parameters_of(model))[0] for model in (one, several)]
    assert values[1] < values[0] - 1e-3


def test_without_penalty_it_is_the_maximum_likelihood_fit_of_statsmodels():
    theirs = sm.GLM(Y, sm.add_constant(X), family=sm.families.Binomial(sm.families.links.LogLog())).fit(tol=1e-14)
    ours = GEVLogRegression(C=np.inf).fit(X, Y)
    np.testing.assert_allclose(np.append(ours.intercept_, ours.coef_), theirs.params, atol=1e-6)


@pytest.mark.parametrize("xi", [-0.5, 0.0])
def test_where_convex_it_is_the_proper_linear_classifier(xi):
    ours, reference = GEVLogRegression(xi).fit(X, Y), ProperLinearClassifier("log", GEV(xi)).fit(X, Y)
    np.testing.assert_array_equal(ours.coef_, reference.coef_)


@pytest.mark.parametrize("xi", [-0.3, 0.3])
def test_it_recovers_the_truth(xi):
    X, y, p = make_rare_events(50_000, 3, rate=0.03, link=GEV(xi), random_state=1)
    model = GEVLogRegression(xi, C=np.inf).fit(X, y)
    error = np.sqrt(np.mean((model.predict_proba(X)[:, 1] - p) ** 2))
    logistic = ProperLinearClassifier(C=np.inf).fit(X, y)
    assert error < 0.15 * p.std()
    assert error < 0.7 * np.sqrt(np.mean((logistic.predict_proba(X)[:, 1] - p) ** 2))


def difficult(kind):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 60) if kind == "more columns than rows" else (300, 3))
    y = X[:, 0] - X[:, 1] + (0.0 if kind == "separated" else rng.normal(size=len(X))) > 0.8
    changes = {
        "duplicated column": lambda: np.column_stack([X, X[:, :2]]),
        "constant column": lambda: np.column_stack([X, np.full(len(X), 7.0)]),
        "scaled up": lambda: 1e8 * X,
        "scaled down": lambda: 1e-8 * X,
    }
    if kind == "rare":
        return rng.normal(size=(20_000, 3)), np.arange(20_000) % 10_000 == 17
    return changes.get(kind, lambda: X)(), y


DIFFICULT = [
    "ordinary",
    "separated",
    "duplicated column",
    "constant column",
    "scaled up",
    "scaled down",
    "rare",
    "more columns than rows",
]


@pytest.mark.parametrize("xi", XIS)
@pytest.mark.parametrize("kind", DIFFICULT)
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_the_gradient_vanishes_or_a_warning_says_what_to_do(xi, kind, C):
    X, y = difficult(kind)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = GEVLogRegression(xi, C=C).fit(X, y)
    assert np.isfinite(parameters_of(model)).all()
    assert not np.isnan(model.predict_proba(X)).any()
    composite = Composite(LogLoss(), GEV(xi))
    v = X @ model.coef_[0] + model.intercept_
    assert np.isfinite(composite.value(y, v)).all()
    if caught:
        assert all(issubclass(one.category, ConvergenceWarning) for one in caught)
        assert "C" in str(caught[0].message) or "xi" in str(caught[0].message)
        # Only kinks, steep edges and separated classes may end so.
        assert xi <= -0.9 or (np.isinf(C) and kind in ("separated", "more columns than rows"))
        return
    rows = composite.gradient(y, v)
    gradient = np.append(X.T @ rows + model.coef_[0] / C, rows.sum())
    size = np.append(np.abs(X).T @ np.abs(rows) + np.abs(model.coef_[0]) / C, np.abs(rows).sum())
    assert np.all(np.abs(gradient) <= 1e-5 * size)
    if kind == "duplicated column":
        np.testing.assert_allclose(model.coef_[0, :2], model.coef_[0, 3:], rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("xi", [-1.2, -0.5, 0.5, 2.0])
def test_a_rate_of_one_in_ten_thousand(xi):
    X, y, _ = make_rare_events(100_000, 3, rate=1e-4, random_state=3)
    model = GEVLogRegression(xi, C=10.0).fit(X, y)
    value, gradient = objective(xi, X, y, 10.0, parameters_of(model))
    rows = np.abs(Composite(LogLoss(), GEV(xi)).gradient(y, X @ model.coef_[0] + model.intercept_))
    assert np.all(np.abs(gradient) <= 1e-7 * np.append(np.abs(X).T @ rows, rows.sum()))
    assert value < objective(xi, X, y, 10.0, np.append(np.zeros(3), GEV(xi).link(y.mean())))[0]


def test_a_kink_is_named_and_its_optimum_found():
    """At ξ = -1 positives pay max(0, 1 - v): a convex problem whose optimum, by linear programming, is on kinks."""
    X = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0], [3.0]])
    y = np.array([0, 0, 0, 1, 1, 1])
    with pytest.warns(ConvergenceWarning, match="kink.*xi > -1"):
        model = GEVLogRegression(-1.0, C=100.0).fit(X, y)
    # The first positive lies on the edge, v = 1; what is left is smooth in the slope.
    best = minimize(lambda w: objective(-1.0, X, y, 100.0, np.append(w, 1.0 - w))[0], [1.0], method="Nelder-Mead")
    ours = objective(-1.0, X, y, 100.0, parameters_of(model))[0]
    assert ours <= best.fun * (1.0 + 1e-6)


@pytest.mark.parametrize("xi", [0.5, 2.0])
def test_starts_outside_the_support_are_moved_inside(xi):
    """An offset puts the positives where p is 0 under the class proportions."""
    offset = np.where(Y == 1, -30.0, 0.0) * np.abs(X[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GEVLogRegression(xi).fit(X, Y, offset=offset)
    scores = X @ model.coef_[0] + model.intercept_ + offset
    assert np.isfinite(Composite(LogLoss(), GEV(xi)).value(Y, scores)).all()


def test_warm_start_from_outside_the_support_is_moved_inside():
    model = GEVLogRegression(0.5, warm_start=True).fit(X, Y)
    reference = model.coef_.copy()
    model.coef_, model.intercept_ = 100.0 * model.coef_, model.intercept_ - 5.0
    np.testing.assert_allclose(model.fit(X, Y).coef_, reference, atol=1e-6)


@pytest.mark.parametrize("xi", [-0.5, 0.3])
class TestLikeTheOthers:
    def test_weight_is_repetition(self, xi):
        copies = np.random.default_rng(0).integers(0, 4, len(X))
        weighted = GEVLogRegression(xi).fit(X, Y, copies)
        repeated = GEVLogRegression(xi).fit(np.repeat(X, copies, axis=0), np.repeat(Y, copies))
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)

    def test_sparse(self, xi):
        dense, sparse = GEVLogRegression(xi).fit(X, Y), GEVLogRegression(xi).fit(sp.csr_array(X), Y)
        np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-8)

    def test_offset(self, xi):
        known = 0.3 * X[:, 0]
        whole = GEVLogRegression(xi, C=np.inf).fit(X, Y)
        rest = GEVLogRegression(xi, C=np.inf).fit(X, Y, offset=known)
        np.testing.assert_allclose(rest.coef_ + np.array([0.3, 0.0, 0.0]), whole.coef_, atol=1e-6)

    def test_lasso(self, xi):
        model = GEVLogRegression(xi, C=0.02, l1_ratio=1.0).fit(X, Y)
        rows = Composite(LogLoss(), GEV(xi)).gradient(Y, X @ model.coef_[0] + model.intercept_)
        gradient, used = 0.02 * (X.T @ rows), model.coef_[0] != 0.0
        np.testing.assert_allclose(gradient[used], -np.sign(model.coef_[0][used]), atol=1e-5)
        assert np.all(np.abs(gradient[~used]) <= 1.0 + 1e-5)
        assert 0 < used.sum() < 3

    def test_without_intercept(self, xi):
        model = GEVLogRegression(xi, fit_intercept=False).fit(X, Y)
        rows = Composite(LogLoss(), GEV(xi)).gradient(Y, X @ model.coef_[0])
        np.testing.assert_allclose(X.T @ rows + model.coef_[0], 0.0, atol=1e-5)
        np.testing.assert_array_equal(model.intercept_, 0.0)

    def test_one_versus_rest(self, xi):
        y = np.digitize(X[:, 0] + np.random.default_rng(0).normal(size=len(X)), [-1.0, 1.0])
        model = GEVLogRegression(xi).fit(X, y)
        for k in range(3):
            single = GEVLogRegression(xi).fit(X, y == k)
            np.testing.assert_allclose(model.coef_[k], single.coef_[0], atol=1e-6)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)

    def test_warm_start(self, xi):
        model = GEVLogRegression(xi, warm_start=True).fit(X, Y)
        first = model.coef_.copy()
        assert model.fit(X, Y).n_iter_[0] == 1
        np.testing.assert_allclose(model.coef_, first, atol=1e-6)
        assert clone(model).get_params() == model.get_params()


def test_xi_must_be_finite():
    with pytest.raises(ValueError, match="xi must be finite, got nan"):
        GEVLogRegression(np.nan).fit(X, Y)
