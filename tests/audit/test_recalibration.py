import numpy as np
import pytest
from scipy import special as sc

import properly.audit.recalibration as module
from properly.audit.recalibration import Bins, divide, recalibrate, recalibrate_several
from properly.calibration import AutoCalibration
from properly.crossfit import stratified_folds
from properly.inputs.forecast import Forecast
from properly.inputs.weights import unit_of
from properly.metrics import log_loss


def two_classes(n, slope=1.0, intercept=0.0, seed=0):
    """Labels, and probabilities whose log-odds should be intercept + slope times what they are."""
    random = np.random.default_rng(seed)
    score = random.normal(size=n) * 2.0 - 1.0
    return random.random(n) < sc.expit(intercept + slope * score), sc.expit(score)


def bins_of(y, p, weight=None):
    return Bins.of(Forecast.of_positives(y, p, weight))


def recalibrated(y, p, random_state=0):
    forecast = Forecast.of_positives(y, p)
    divided = divide(forecast, random_state)
    return recalibrate(forecast, None if divided is None else divided.folds)


def several(codes, p, weight=None):
    return Forecast(codes, p, None, weight, np.arange(p.shape[1]), unit=unit_of(weight))


def test_every_row_is_recalibrated_by_other_folds():
    """Against a loop over folds without bins."""
    y, p = two_classes(400, 0.5)
    result = recalibrated(y, p, random_state=3)
    folds = stratified_folds(y.view(np.int8), np.arange(2), 5, 3)
    for fold in range(5):
        test = folds == fold
        direct = AutoCalibration(input="probability").fit(p[~test], y[~test]).predict_proba(p[test])[:, 1]
        np.testing.assert_allclose(result.after.p[test], direct, rtol=1e-9)


def test_bins_hardly_change_the_outcome(monkeypatch):
    y, p = two_classes(30_000, 0.6, -1.0)
    exact = recalibrated(y, p).after.p
    monkeypatch.setattr(module, "MOST_BINS", 2_000)
    assert len(bins_of(y, p).centre) <= 2_000
    binned = recalibrated(y, p).after.p
    assert abs(log_loss(y, binned) - log_loss(y, exact)) < 1e-5
    assert np.abs(sc.logit(binned) - sc.logit(exact)).max() < 0.05


def test_bins_keep_ties_together(monkeypatch):
    monkeypatch.setattr(module, "MOST_BINS", 50)
    y, p = two_classes(5_000)
    p = np.round(p, 2)
    bins = bins_of(y, p)
    for value in np.unique(p):
        assert len(np.unique(bins.of_row[p == value])) == 1
    order = np.argsort(p, kind="stable")
    assert (np.diff(bins.of_row[order]) >= 0).all()
    assert bins.of_row.max() == len(bins.centre) - 1


def test_weights_count_as_rows():
    y, p = two_classes(300, 0.5)
    weight = np.where(np.arange(300) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(300), weight.astype(int))
    score, label, total = bins_of(y, p, weight).training_rows()
    score2, label2, total2 = bins_of(y[twice], p[twice]).training_rows()
    np.testing.assert_allclose(score, score2, rtol=1e-12)
    np.testing.assert_array_equal(label, label2)
    np.testing.assert_array_equal(total, total2)


def test_several_classes_gain_what_they_should():
    random = np.random.default_rng(0)
    logits = random.normal(size=(4_000, 4)) * 1.5
    truth = sc.softmax(logits, axis=1)
    codes = (random.random((4_000, 1)) > np.cumsum(truth, axis=1)).sum(axis=1)
    given = sc.softmax(2.0 * logits, axis=1)
    forecast = several(codes, given)
    result = recalibrate_several(forecast)
    assert result.before is forecast
    assert result.n_folds == 5
    np.testing.assert_allclose(result.after.p.sum(axis=1), 1.0, rtol=1e-12)
    best = log_loss(codes, truth)
    assert abs(log_loss(codes, result.after.p) - best) < 0.1 * (log_loss(codes, given) - best)


def test_many_rows_of_several_classes_are_sampled(monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 500)
    random = np.random.default_rng(0)
    p = random.dirichlet([1.0, 1.0, 1.0], 2_000)
    codes = random.integers(3, size=2_000)
    forecast = several(codes, p, random.random(2_000))
    result = recalibrate_several(forecast)
    assert len(result.before.p) == len(result.after.p) == 500
    rows = [int(np.flatnonzero((p == row).all(axis=1))[0]) for row in result.before.p]
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(result.after.codes, codes[rows])
    np.testing.assert_array_equal(result.after.weight, forecast.weight[rows])


def test_a_class_of_one_row_cannot_be_split():
    y, p = two_classes(50)
    y[:] = False
    y[3] = True
    assert recalibrated(y, p) is None


@pytest.mark.parametrize("p", [np.full(40, 0.3), np.tile([0.0, 1.0], 20), np.tile([0.0, 1e-320, 0.5, 1.0], 10)])
def test_degenerate_probabilities_have_an_answer(p):
    y = np.arange(40) % 3 == 0
    after = recalibrated(y, p).after.p
    assert ((after > 0.0) & (after < 1.0)).all()
