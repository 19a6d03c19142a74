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
    IsotonicCalibration,
    PlattScaling,
    QuadraticScaling,
    TemperatureScaling,
)
from properly.datasets import make_rare_events
from properly.linear import ProperLinearClassifier, RareEventLogisticRegression, inference
from properly.maxent import Maxent
from properly.metrics import expected_calibration_error
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


def probabilities(calibrator):
    return calibrator.fit(P, LABELS).predict_proba(P)[:, 1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what it is built on
def test_netcal():
    scaling = pytest.importorskip("netcal.scaling")
    from netcal.binning import HistogramBinning as TheirBinning
    from netcal.binning import IsotonicRegression
    from netcal.metrics import ECE

    for theirs, ours, atol in (
        (scaling.TemperatureScaling(), TemperatureScaling(), 1e-5),
        (scaling.LogisticCalibration(), PlattScaling(noisy_labels=False), 1e-6),
        (scaling.BetaCalibration(), BetaCalibration(), 1e-4),
        (TheirBinning(bins=10), HistogramBinning(10, strategy="width"), 1e-12),
        (IsotonicRegression(), IsotonicCalibration(), 1e-12),
    ):
        expected = np.ravel(theirs.fit(P, LABELS).transform(P))
        np.testing.assert_allclose(probabilities(ours), expected, atol=atol)
    assert ECE(bins=10).measure(P, LABELS) == pytest.approx(expected_calibration_error(LABELS, P, n_bins=10), rel=1e-9)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of options of scikit-learn that it uses
@pytest.mark.parametrize(
    ("theirs", "ours", "atol"),
    [
        ("temp-scaling", TemperatureScaling(), 1e-7),
        ("affine-scaling", PlattScaling(noisy_labels=False), 1e-4),
        ("quadratic-scaling", QuadraticScaling(), 1e-3),
        ("isotonic", IsotonicCalibration(), 1e-12),
        ("ts-mix", TemperatureScaling(), 1e-3),  # mixed with the base rate
    ],
)
def test_probmetrics(theirs, ours, atol):
    calibrators = pytest.importorskip("probmetrics.calibrators")
    both = np.column_stack((1.0 - P, P))
    expected = calibrators.get_calibrator(theirs).fit(both, LABELS).predict_proba(both)[:, 1]
    np.testing.assert_allclose(probabilities(ours), expected, atol=atol)


def test_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    family = sm.families.Binomial(sm.families.links.CLogLog())
    theirs = sm.GLM(Y, sm.add_constant(X), family=family).fit()
    model = ProperLinearClassifier(link="cloglog", C=np.inf).fit(X, Y)
    np.testing.assert_allclose(np.r_[model.intercept_, model.coef_[0]], theirs.params, atol=1e-6)
    errors = inference(model, X, Y).summary()["std_err"].to_numpy()
    np.testing.assert_allclose(errors, np.r_[theirs.bse[1:], theirs.bse[0]], rtol=1e-5)


NUMBERS = np.arange(1, 41)
FEW = np.column_stack((np.sin(NUMBERS), np.cos(2 * NUMBERS)))
FEW_LABELS = (FEW @ [1.0, 0.5] + np.sin(7.0 * NUMBERS**2) > 1.2).astype(int)


def test_firth():
    """R 4.2.2, brglm2 0.9: glm(y ~ x1 + x2, binomial, method = "brglmFit", type = "AS_mean"). Maximising logistf's
    penalised likelihood, the log-likelihood plus half the log determinant of the information, gives the same there."""
    model = RareEventLogisticRegression("firth", C=np.inf, tol=1e-8).fit(FEW, FEW_LABELS)
    found = np.r_[model.intercept_, model.coef_[0]]
    np.testing.assert_allclose(found, [-1.292660060099572, 2.023207534463037, 0.438356753091593], rtol=1e-7)
    errors = inference(model, FEW, FEW_LABELS).standard_errors
    np.testing.assert_allclose(np.ravel(errors), [0.866221859451504, 0.670104232685045, 0.549592573222177], rtol=1e-6)


@pytest.mark.parametrize(
    ("weight", "expected", "atol"),
    [(100, [2.35241509493, 0, 0, -1.83917576911], 1e-3), (10_000, [2.35162058485, 0, 0, -1.83953496654], 2e-5)],
)
def test_maxnet(weight, expected, atol):
    """R 4.2.2, glmnet 4.1-6, called as by maxnet (Phillips et al., 2017): presences of weight 1 beside background.
    maxnet's weight of 100 stands for infinity, where the model is maxent; with 10,000 it is closer."""
    numbers = np.arange(1, 301)
    x1, x2 = np.sin(numbers), np.cos(2 * numbers) + np.sin(numbers) / 2
    seen = np.argsort(-(x1 - 0.8 * (x2 - 0.3) ** 2 + 0.7 * np.sin(7.0 * numbers**2)))[:30]
    region = np.column_stack((x1, x2, x1**2, x2**2))
    labels = np.concatenate((np.ones(30), np.full(300, -1)))
    model = Maxent(1.0, duplicates="once").fit(np.vstack((region[seen], region)), labels)
    np.testing.assert_allclose(model.coef_[0], expected, atol=atol)


def test_firth_of_a_two_by_two_table():
    """One half is added to each count."""
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
