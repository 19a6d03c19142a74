"""The shape of the GEV link by maximum likelihood: against a joint search, its profile, and its interval."""

import numpy as np
import pytest
from scipy.optimize import minimize

from properly.datasets import make_rare_events
from properly.linear import GEVLogRegression
from properly.links import GEV


def negative_log_likelihood(parameters, X, y, C):
    xi, *w, b = parameters
    p = GEV(xi).inverse(X @ w + b)
    with np.errstate(divide="ignore"):
        return -np.sum(np.log(np.where(y, p, 1.0 - p))) + 0.5 * np.sum(np.square(w)) / C


@pytest.mark.parametrize("xi", [-0.5, 0.3])
def test_it_is_the_joint_optimum(xi):
    X, y, _ = make_rare_events(1500, 2, rate=0.2, link=GEV(xi), random_state=1)
    model = GEVLogRegression("ml", C=100.0).fit(X, y)
    found = np.concatenate([[model.xi_], model.coef_[0], model.intercept_])
    own = negative_log_likelihood(found, X, y, 100.0)
    assert own == pytest.approx(-model.xi_profile_["log_likelihood"].max(), rel=1e-10)
    start = np.concatenate([[0.0], *(lambda fit: (fit.coef_[0], fit.intercept_))(GEVLogRegression(0.0).fit(X, y))])
    search = minimize(negative_log_likelihood, start, args=(X, y, 100.0), method="Nelder-Mead",
                      options={"maxiter": 4000, "fatol": 1e-10, "xatol": 1e-7})  # fmt: skip
    assert own <= search.fun + 1e-5
    np.testing.assert_allclose(found, search.x, atol=2e-3)
    fixed = GEVLogRegression(model.xi_, C=100.0).fit(X, y)
    np.testing.assert_allclose(fixed.coef_, model.coef_, rtol=1e-5)
    assert fixed.xi_ == model.xi_


def test_the_ends_of_the_interval_are_less_likely_by_half_the_quantile():
    X, y, _ = make_rare_events(1500, 2, rate=0.2, link=GEV(0.0), random_state=2)
    model = GEVLogRegression("ml", C=1e4).fit(X, y)
    assert model.xi_interval_[0] < model.xi_ < model.xi_interval_[1]
    best = model.xi_profile_["log_likelihood"].max()
    for end in model.xi_interval_:
        fit = GEVLogRegression(end, C=1e4).fit(X, y)
        parameters = np.concatenate([[end], fit.coef_[0], fit.intercept_])
        fall = best + negative_log_likelihood(parameters, X, y, 1e4)
        assert fall == pytest.approx(0.5 * 3.8415, abs=0.05)


def test_data_that_say_nothing_give_an_open_interval():
    rng = np.random.default_rng(0)
    model = GEVLogRegression("ml").fit(rng.normal(size=(40, 1)), np.arange(40) % 4 == 0)
    assert np.isinf(model.xi_interval_).any()


@pytest.mark.slow
def test_the_interval_covers():
    covered = 0
    for seed in range(40):
        X, y, _ = make_rare_events(1000, 2, rate=0.2, link=GEV(0.2), random_state=seed)
        low, high = GEVLogRegression("ml", C=1e4).fit(X, y).xi_interval_
        covered += low <= 0.2 <= high
    assert 33 <= covered <= 40  # 38 are expected; 33 and fewer have a probability of 1 %


def test_options():
    X, y, _ = make_rare_events(300, 2, rate=0.3, random_state=0)
    with pytest.raises(ValueError, match="xi must be one of 'ml'"):
        GEVLogRegression("best").fit(X, y)
    with pytest.raises(ValueError, match="Only binary classification"):
        GEVLogRegression("ml").fit(X, np.arange(300) % 3)
    one = GEVLogRegression("ml").fit(X, y, np.where(y, 0.0, 1.0))  # a class without weight
    assert np.isnan(one.xi_)
    weighted = GEVLogRegression("ml", class_weight={0: 1.0, 1: 2.0}).fit(X, y)
    same = GEVLogRegression("ml").fit(X, y, np.where(y, 2.0, 1.0))
    assert weighted.xi_ == pytest.approx(same.xi_, abs=1e-3)
