"""Counted log-odds, and calibrators as they are."""

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import beta

from properly.calibration import IsotonicCalibration, PlattScaling
from properly.diagnostics import log_odds_fit

RANDOM = np.random.RandomState(0)
SCORE = RANDOM.normal(size=3000).round(2)
Y = RANDOM.random_sample(3000) < 1 / (1 + np.exp(3 - SCORE))


def test_bins_hold_all_rows_and_split_the_classes_evenly():
    fit = log_odds_fit(Y, SCORE, n_bins=10)
    assert fit.weight.sum() == 3000
    assert fit.positive.sum() == Y.sum()
    assert len(fit.score) == 10
    mass = 0.5 * fit.positive / Y.sum() + 0.5 * (fit.weight - fit.positive) / (~Y).sum()
    np.testing.assert_allclose(mass, 0.1, atol=0.02)
    assert fit.weight @ fit.score == pytest.approx(SCORE.sum())


def test_log_odds_and_their_interval():
    fit = log_odds_fit(Y, SCORE, n_bins=5, confidence=0.8)
    negative = fit.weight - fit.positive
    np.testing.assert_allclose(fit.log_odds, np.log((fit.positive + 0.5) / (negative + 0.5)))
    expected = logit(beta(fit.positive + 0.5, negative + 0.5).ppf([[0.1], [0.9]]))
    np.testing.assert_allclose([fit.low, fit.high], expected)


def test_bins_of_one_class_are_open_at_one_end():
    fit = log_odds_fit([0, 0, 0, 1, 1], [0.0, 0.0, 0.0, 5.0, 5.0], ["platt"])
    np.testing.assert_array_equal(fit.low == -np.inf, [True, False])
    np.testing.assert_array_equal(fit.high == np.inf, [False, True])
    assert np.isfinite(fit.log_odds).all()


def test_calibrators_are_fitted_unless_they_are_already():
    fitted = PlattScaling().fit(SCORE[:500], Y[:500])
    fit = log_odds_fit(Y, SCORE, {"here": PlattScaling(), "before": fitted, "named": "platt"})
    assert fit.names == ("here", "before", "named")
    np.testing.assert_array_equal(fit.fitted[0], fit.fitted[2])
    here = PlattScaling().fit(SCORE, Y)
    np.testing.assert_allclose(fit.fitted[0], logit(here.predict_proba(fit.score)[:, 1]))
    np.testing.assert_allclose(fit.fitted[1], logit(fitted.predict_proba(fit.score)[:, 1]))


def test_a_calibrator_may_say_0_and_1():
    fit = log_odds_fit([0, 0, 1, 1], [1.0, 2.0, 3.0, 4.0], [IsotonicCalibration()])
    assert fit.curves[0, 0] == -np.inf
    assert fit.curves[0, -1] == np.inf


def test_weights_count_as_rows():
    weight = RANDOM.randint(0, 3, 3000)
    weighted = log_odds_fit(Y, SCORE, sample_weight=weight)
    repeated = log_odds_fit(np.repeat(Y, weight), np.repeat(SCORE, weight))
    np.testing.assert_allclose(weighted.log_odds, repeated.log_odds)
    np.testing.assert_allclose(weighted.curves, repeated.curves, rtol=1e-6)


def test_a_single_score():
    fit = log_odds_fit([0, 1, 1], [2.0, 2.0, 2.0])
    np.testing.assert_allclose(fit.log_odds, np.log(2.5 / 1.5))
    assert np.isfinite(fit.curves).all()


def test_frame():
    frame = log_odds_fit(Y, SCORE).frame()
    assert frame.columns.tolist()[-2:] == ["platt", "asymmetric_laplace"]


@pytest.mark.parametrize(
    ("y", "score", "options", "message"),
    [
        ([0, 1], [0.0, np.inf], {}, "scores must be finite"),
        ([1, 1], [0.0, 1.0], {}, "y holds one class only"),
        ([0, 1, 2], [0.0, 1.0, 2.0], {}, "y holds 3 classes, but this needs two"),
        ([0, 1], [0.0, 1.0], {"calibrators": ["plat"]}, "method must be one of 'auto', 'platt'"),
        ([0, 1], [0.0, 1.0], {"n_bins": 0}, "n_bins must be a whole number of at least 1"),
    ],
)
def test_errors(y, score, options, message):
    with pytest.raises(ValueError, match=message):
        log_odds_fit(y, score, **options)


def test_equal_names_are_numbered_or_refused():
    one, other = PlattScaling().fit(SCORE, Y), PlattScaling().fit(3 * SCORE, Y)
    fit = log_odds_fit(Y, SCORE, [one, other, "platt"])
    assert fit.names == ("PlattScaling()", "PlattScaling() (2)", "platt")
    assert not np.allclose(fit.fitted[0], fit.fitted[1])
    with pytest.raises(ValueError, match="the name '1' is given twice"):
        log_odds_fit(Y, SCORE, {1: one, "1": other})
    with pytest.raises(ValueError, match="is that of another column"):
        log_odds_fit(Y, SCORE, {"score": one})


def test_a_calibrator_of_other_classes_is_refused():
    for labels in (np.where(Y, "a", "b"), np.where(Y, 2, 1)):
        with pytest.raises(ValueError, match=r"calibrator 'old' was fitted to the classes .*, but y holds"):
            log_odds_fit(Y, SCORE, {"old": PlattScaling().fit(SCORE, labels)})
    assert log_odds_fit(Y, SCORE, {"old": PlattScaling().fit(SCORE, Y.astype(int))}).names == ("old",)


def test_bins_are_counted():
    with pytest.raises(ValueError, match="n_bins must be a whole number of at least 1, got True"):
        log_odds_fit(Y, SCORE, n_bins=True)
