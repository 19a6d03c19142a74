"""What the pages "Coming from…" say: the same task in both packages gives the same numbers."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from properly.calibration import (
    BetaCalibration,
    CalibratedClassifier,
    HistogramBinning,
    PlattScaling,
    TemperatureScaling,
)
from properly.datasets import make_rare_events
from properly.linear import ProperLinearClassifier, RareEventLogisticRegression, inference
from properly.prevalence import PriorCorrectedClassifier

X, Y, _ = make_rare_events(2_000, 4, rate=0.1, random_state=0)
random = np.random.RandomState(0)
P = random.beta(1.0, 2.0, 2_000)
LABELS = (random.uniform(size=2_000) < P**1.5).astype(int)


@pytest.mark.parametrize(("theirs", "ours"), [("sigmoid", "platt"), ("isotonic", "isotonic")])
def test_scikit_learn(theirs, ours):
    left = CalibratedClassifierCV(LinearSVC(), method=theirs, cv=3, ensemble=False).fit(X, Y)
    right = CalibratedClassifier(LinearSVC(), ours, cv=3, ensemble=False).fit(X, Y)
    difference = np.abs(left.predict_proba(X) - right.predict_proba(X))
    assert np.median(difference) < 1e-6
    # Between two blocks of the isotonic fit scikit-learn draws a line; ours is constant there.
    assert (difference > 1e-6).mean() <= (0.0 if theirs == "sigmoid" else 0.03)


def test_logistic_regression():
    left, right = LogisticRegression(tol=1e-10).fit(X, Y), ProperLinearClassifier().fit(X, Y)
    np.testing.assert_allclose(left.coef_, right.coef_, atol=1e-6)


def test_imbalanced_learn():
    sampling = pytest.importorskip("imblearn.under_sampling")
    X_small, y_small = sampling.RandomUnderSampler(random_state=0).fit_resample(X, Y)
    plain = LogisticRegression().fit(X_small, y_small).predict_proba(X)[:, 1]
    model = PriorCorrectedClassifier(LogisticRegression(), true_prior=Y.mean()).fit(X_small, y_small)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(p / (1 - p), plain / (1 - plain) * Y.mean() / (1 - Y.mean()), rtol=1e-9)


def test_betacal():
    betacal = pytest.importorskip("betacal")
    theirs = betacal.BetaCalibration(parameters="abm").fit(P[:, None], LABELS).predict(P)
    np.testing.assert_allclose(BetaCalibration().fit(P, LABELS).predict_proba(P)[:, 1], theirs, atol=2e-3)


def test_netcal():
    scaling = pytest.importorskip("netcal.scaling")
    for theirs, ours in ((scaling.TemperatureScaling(), TemperatureScaling()),):
        expected = np.ravel(theirs.fit(P, LABELS).transform(P))
        np.testing.assert_allclose(ours.fit(P, LABELS).predict_proba(P)[:, 1], expected, atol=2e-3)
    binning = pytest.importorskip("netcal.binning").HistogramBinning(bins=10)
    expected = np.ravel(binning.fit(P, LABELS).transform(P))
    ours = HistogramBinning(10, strategy="uniform").fit(P, LABELS).predict_proba(P)[:, 1]
    assert np.median(np.abs(ours - expected)) < 0.02


def test_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    family = sm.families.Binomial(sm.families.links.CLogLog())
    theirs = sm.GLM(Y, sm.add_constant(X), family=family).fit()
    model = ProperLinearClassifier(link="cloglog", C=np.inf).fit(X, Y)
    np.testing.assert_allclose(np.r_[model.intercept_, model.coef_[0]], theirs.params, atol=1e-6)
    errors = inference(model, X, Y).summary()["std_err"].to_numpy()
    np.testing.assert_allclose(errors, np.r_[theirs.bse[1:], theirs.bse[0]], rtol=1e-5)


def test_firth_of_a_two_by_two_table():
    """logistf's estimate: one half is added to each count."""
    counts = np.array([[12, 0], [5, 7]])
    x, y = np.repeat([0.0, 0.0, 1.0, 1.0], counts.ravel()), np.repeat([0, 1, 0, 1], counts.ravel())
    model = RareEventLogisticRegression("firth").fit(x[:, None], y)
    log_odds = np.log((counts[:, 1] + 0.5) / (counts[:, 0] + 0.5))
    np.testing.assert_allclose([model.intercept_[0], model.coef_[0, 0]], [log_odds[0], log_odds[1] - log_odds[0]])


def test_platt_without_noise_is_a_logistic_regression_of_the_score():
    """probably's cal_estimate_logistic(smooth = FALSE)."""
    score = np.log(P / (1 - P))
    theirs = LogisticRegression(C=np.inf, tol=1e-10).fit(score[:, None], LABELS).predict_proba(score[:, None])
    ours = PlattScaling(noisy_labels=False).fit(score, LABELS).predict_proba(score)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
