"""Platt, beta, quadratic, temperature and ensemble temperature scaling against independent fits."""

import numpy as np
import pytest
import sklearn.calibration
import statsmodels.api as sm
from scipy import optimize
from scipy import special as sc

from properly.calibration import (
    BetaCalibration,
    EnsembleTemperatureScaling,
    PlattScaling,
    QuadraticScaling,
    TemperatureScaling,
)


def overlapping(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    return rng.normal(size=n) * 1.4 + 1.8 * y - 1.0, y


def logits_of_three(n=500, seed=0, sharpness=4.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return sharpness * (np.eye(3)[y] + 0.8 * rng.normal(size=(n, 3))), y


def by_maximum_likelihood(features, y, weight=None):
    """The log-odds of a logistic regression, by statsmodels."""
    design = sm.add_constant(features)
    weight = np.ones(len(y)) if weight is None else weight
    fit = sm.GLM(y, design, family=sm.families.Binomial(), freq_weights=weight).fit(tol=1e-12)
    return design @ fit.params


def test_platt_agrees_with_scikit_learn():
    scores, y = overlapping()
    p = PlattScaling().fit(scores, y).predict_proba(scores)[:, 1]
    peer = sklearn.calibration._SigmoidCalibration().fit(scores, y)
    assert p == pytest.approx(peer.predict(scores), abs=1e-5)


def test_platt_with_noisy_labels_solves_its_equations():
    scores, y = overlapping()
    weight = np.random.default_rng(1).random(len(y)) + 0.5
    p = PlattScaling().fit(scores, y, weight).predict_proba(scores)[:, 1]
    own, rest = weight[y == 1].sum(), weight[y == 0].sum()
    target = np.where(y == 1, (own + 1.0) / (own + 2.0), 1.0 / (rest + 2.0))
    # The gradient of the likelihood vanishes for the intercept and for the slope.
    assert weight @ (p - target) == pytest.approx(0.0, abs=1e-8)
    assert (weight * scores) @ (p - target) == pytest.approx(0.0, abs=1e-8)
    log_odds = sc.logit(p)
    assert np.ptp((log_odds - log_odds[0])[1:] / (scores - scores[0])[1:]) < 1e-8  # a straight line


def test_platt_without_noise_is_logistic_regression():
    scores, y = overlapping()
    weight = np.random.default_rng(1).integers(1, 5, len(y))
    p = PlattScaling(noisy_labels=False).fit(scores, y, weight).predict_proba(scores)[:, 1]
    assert sc.logit(p) == pytest.approx(by_maximum_likelihood(scores, y, weight), abs=1e-8)


def test_separated_classes_get_the_noisy_labels():
    scores, y = np.arange(20.0), (np.arange(20) > 11).astype(int)
    noisy = PlattScaling().fit(scores, y).predict_proba(scores)
    assert PlattScaling(noisy_labels=False).fit(scores, y).predict_proba(scores) == pytest.approx(noisy)
    assert noisy[:, 1].sum() == pytest.approx(12.0 / 14.0 + 8.0 * 9.0 / 10.0)  # the sum of the targets
    touching = np.append(scores, 11.0), np.append(y, 1)
    noisy = PlattScaling().fit(*touching).predict_proba(scores)
    assert PlattScaling(noisy_labels=False).fit(*touching).predict_proba(scores) == pytest.approx(noisy)


def test_hardly_overlapping_classes_keep_maximum_likelihood():
    scores, y = np.arange(40.0), (np.arange(40) > 19).astype(int)
    y[[19, 20]] = [1, 0]
    p = PlattScaling(noisy_labels=False).fit(scores, y).predict_proba(scores)[:, 1]
    assert sc.logit(p) == pytest.approx(by_maximum_likelihood(scores, y), rel=1e-6)


def test_platt_in_large_data_is_as_exact_as_in_small():
    scores, y = overlapping(60_000)
    p = PlattScaling(noisy_labels=False).fit(scores, y).predict_proba(scores[:100])[:, 1]
    assert sc.logit(p) == pytest.approx(by_maximum_likelihood(scores, y)[:100], abs=1e-7)


def test_quadratic_is_logistic_regression_on_squares():
    scores, y = overlapping()
    p = QuadraticScaling().fit(scores, y).predict_proba(scores)[:, 1]
    assert sc.logit(p) == pytest.approx(by_maximum_likelihood(np.column_stack([scores, scores**2]), y), abs=1e-7)


def test_beta_is_logistic_regression_on_both_logarithms():
    scores, y = overlapping()
    model = BetaCalibration().fit(scores, y)
    assert model.maps_[0].coef.min() > 0.0
    features = np.column_stack([sc.log_expit(scores), -sc.log_expit(-scores)])
    assert sc.logit(model.predict_proba(scores)[:, 1]) == pytest.approx(by_maximum_likelihood(features, y), abs=1e-7)


@pytest.mark.parametrize(("a", "b"), [(-0.6, 1.5), (1.5, -0.6), (-0.5, -0.8)])
def test_beta_is_monotone(a, b):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=3000) * 2.0
    truth = a * sc.log_expit(scores) - b * sc.log_expit(-scores)
    y = rng.random(3000) < sc.expit(truth)
    fitted = BetaCalibration().fit(scores, y).maps_[0]
    assert fitted.coef.min() == 0.0

    def loss(parameters):
        v = parameters[0] * sc.log_expit(scores) - parameters[1] * sc.log_expit(-scores) + parameters[2]
        return -np.mean(sc.log_expit(np.where(y, v, -v)))

    best = optimize.minimize(loss, [1.0, 1.0, 0.0], bounds=[(0, None), (0, None), (None, None)], tol=1e-13)
    assert loss([*fitted.coef, fitted.intercept]) <= best.fun + 1e-9


def test_beta_leaves_calibrated_scores_alone():
    scores = np.random.default_rng(0).normal(size=200_000) * 2.0
    y = np.random.default_rng(1).random(200_000) < sc.expit(scores)
    fitted = BetaCalibration().fit(scores, y).maps_[0]
    assert [*fitted.coef, fitted.intercept] == pytest.approx([1.0, 1.0, 0.0], abs=0.03)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12, 1e300])
@pytest.mark.parametrize("informative", [1e-7, 1e-2, 1.0, 1e6])
def test_temperatures_far_from_where_the_search_starts(scale, informative):
    """Most rows share a logit that is large or small beside those that tell the classes apart."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    scores = np.where(np.arange(400) < 40, informative * (2 * y - 1 + 2.0 * rng.normal(size=400)), 1.0 - 2.0 * (y == 0))
    scores[40:][::10] *= -1.0
    model = TemperatureScaling().fit(scale * scores, y)
    p = model.predict_proba(scale * scores)[:, 1]
    unit = np.abs(scores).max()
    slope = (p - y) @ scores / unit  # the derivative of the loss
    assert model.slope_ > 0.0
    assert slope == pytest.approx(0.0, abs=1e-9)


def softmax_loss(slope, logits, y):
    return -np.mean(sc.log_softmax(slope * logits, axis=1)[np.arange(len(y)), y])


def test_temperature_minimises_the_log_loss():
    logits, y = logits_of_three()
    model = TemperatureScaling().fit(logits, y)
    best = optimize.minimize_scalar(softmax_loss, (0.1, 1.0), args=(logits, y), tol=1e-12)
    assert model.slope_ == pytest.approx(best.x, rel=1e-6)
    assert model.temperature_ == pytest.approx(1.0 / best.x, rel=1e-6)
    assert model.predict_proba(logits) == pytest.approx(sc.softmax(best.x * logits, axis=1), abs=1e-6)
    scores, y = overlapping()
    pair = np.column_stack([np.zeros_like(scores), scores])
    best = optimize.minimize_scalar(softmax_loss, (0.1, 1.0), args=(pair, y), tol=1e-12)
    assert TemperatureScaling().fit(scores, y).slope_ == pytest.approx(best.x, rel=1e-6)


@pytest.mark.skipif(not hasattr(sklearn.calibration, "_TemperatureScaling"), reason="since scikit-learn 1.8")
def test_temperature_agrees_with_scikit_learn():
    logits, y = logits_of_three()
    peer = sklearn.calibration._TemperatureScaling().fit(logits, y)
    assert TemperatureScaling().fit(logits, y).predict_proba(logits) == pytest.approx(peer.predict(logits), abs=1e-4)


def test_temperature_at_its_limits():
    logits, y = logits_of_three()
    worse_than_none = TemperatureScaling().fit(-logits, y)
    assert worse_than_none.temperature_ == np.inf
    assert worse_than_none.predict_proba(logits) == pytest.approx(1.0 / 3.0)
    perfect = TemperatureScaling().fit(np.eye(3)[y], y)
    # Every label keeps a total of 1/(N + 2) for the others.
    wrong = np.mean(1.0 / (np.bincount(y) + 2.0)[y])
    assert 1.0 - perfect.predict_proba(np.eye(3))[0, 0] == pytest.approx(wrong, rel=1e-9)
    scores, y = np.array([-1.0, -1.0, -1.0, 1.0, 1.0]), np.array([0, 0, 0, 1, 1])
    p = TemperatureScaling().fit(scores, y).predict_proba(scores)[:, 1]
    assert scores @ p == pytest.approx(-3.0 * 0.2 + 2.0 * 0.75, rel=1e-9)


def test_ensemble_temperature_minimises_the_log_loss_over_mixtures():
    logits, y = logits_of_three(sharpness=8.0)
    model = EnsembleTemperatureScaling().fit(logits, y)
    forecasts = [sc.softmax(model.slope_ * logits, axis=1), sc.softmax(logits, axis=1), np.full_like(logits, 1 / 3)]
    chosen = np.stack(forecasts)[:, np.arange(len(y)), y]
    assert model.predict_proba(logits) == pytest.approx(np.tensordot(model.weights_, forecasts, 1), abs=1e-12)
    assert model.weights_.sum() == pytest.approx(1.0)
    # At the optimum of a mixture every part in use scores 1 on average, and no other scores more.
    scores = np.mean(chosen / (model.weights_ @ chosen), axis=1)
    assert np.all(scores <= 1.0 + 1e-4)
    assert scores[model.weights_ > 1e-6] == pytest.approx(1.0, abs=1e-4)
    assert model.slope_ == TemperatureScaling().fit(logits, y).slope_
