import numpy as np
import pytest
from scipy import special as sc

import properly.audit.recalibration as module
from properly.audit.recalibration import Bins, Line, recalibrate_many, recalibrate_one
from properly.calibration import AutoCalibration
from properly.metrics import log_loss


def forecasts(n, slope=1.0, intercept=0.0, seed=0):
    """Labels, and probabilities whose log-odds should be intercept + slope times what they are."""
    random = np.random.default_rng(seed)
    score = random.normal(size=n) * 2.0 - 1.0
    return random.random(n) < sc.expit(intercept + slope * score), sc.expit(score)


def test_every_row_is_mended_by_others():
    """Against a loop over folds without bins; the folds are found by what changes when a label is turned."""
    y, p = forecasts(400, 0.5)
    bins = Bins.of(p, y, None)
    result = recalibrate_one(bins, y, None, random_state=3)
    folds = module._folds(y.view(np.int8), 2, np.random.RandomState(3))
    for fold in range(5):
        test = folds == fold
        direct = AutoCalibration(input="probability").fit(p[~test], y[~test]).predict_proba(p[test])[:, 1]
        np.testing.assert_allclose(result.p[test], direct, rtol=1e-9)


def test_folds_have_their_share_of_every_class():
    codes = np.repeat([0, 1, 2], [1000, 13, 7])
    folds = module._folds(codes, 3, np.random.RandomState(0))
    for k, count in enumerate([1000, 13, 7]):
        sizes = np.bincount(folds[codes == k], minlength=5)
        assert sizes.sum() == count
        assert np.ptp(sizes) <= 1


def test_bins_hardly_change_the_outcome(monkeypatch):
    y, p = forecasts(30_000, 0.6, -1.0)
    exact = recalibrate_one(Bins.of(p, y, None), y, None).p
    monkeypatch.setattr(module, "MOST_BINS", 2_000)
    bins = Bins.of(p, y, None)
    assert len(bins.centre) <= 2_000
    binned = recalibrate_one(bins, y, None).p
    assert abs(log_loss(y, binned) - log_loss(y, exact)) < 1e-5
    assert np.abs(sc.logit(binned) - sc.logit(exact)).max() < 0.05


def test_bins_keep_ties_together(monkeypatch):
    monkeypatch.setattr(module, "MOST_BINS", 50)
    y, p = forecasts(5_000)
    p = np.round(p, 2)
    bins = Bins.of(p, y, None)
    for value in np.unique(p):
        assert len(np.unique(bins.of_row[p == value])) == 1
    order = np.argsort(p, kind="stable")
    assert (np.diff(bins.of_row[order]) >= 0).all()
    assert bins.of_row.max() == len(bins.centre) - 1


def test_weights_count_as_rows():
    y, p = forecasts(300, 0.5)
    weight = np.where(np.arange(300) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(300), weight.astype(int))
    score, label, total = Bins.of(p, y, weight).training_rows(y, weight)
    score2, label2, total2 = Bins.of(p[twice], y[twice], None).training_rows(y[twice], None)
    np.testing.assert_allclose(score, score2, rtol=1e-12)
    np.testing.assert_array_equal(label, label2)
    np.testing.assert_array_equal(total, total2)


def test_the_line_is_that_of_logistic_regression():
    import statsmodels.api as sm

    y, p = forecasts(5_000, 0.7, -0.4)
    line = Line.of(Bins.of(p, y, None), y, None)
    peer = sm.Logit(y.astype(float), sm.add_constant(sc.logit(p))).fit(disp=0)
    # Platt's labels are a little less than certain, by one row in the number of rows.
    assert line.intercept == pytest.approx(peer.params[0], abs=5e-3)
    assert line.slope == pytest.approx(peer.params[1], abs=5e-3)
    assert line.standard_error == pytest.approx(peer.bse[1], rel=0.01)


def test_several_classes_gain_what_they_should():
    random = np.random.default_rng(0)
    logits = random.normal(size=(4_000, 4)) * 1.5
    truth = sc.softmax(logits, axis=1)
    codes = (random.random((4_000, 1)) > np.cumsum(truth, axis=1)).sum(axis=1)
    given = sc.softmax(2.0 * logits, axis=1)
    result = recalibrate_many(codes, given, None)
    assert result.rows is None
    assert result.n_folds == 5
    np.testing.assert_allclose(result.p.sum(axis=1), 1.0, rtol=1e-12)
    best = log_loss(codes, truth)
    assert abs(log_loss(codes, result.p) - best) < 0.1 * (log_loss(codes, given) - best)


def test_many_rows_of_several_classes_are_sampled(monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 500)
    random = np.random.default_rng(0)
    p = random.dirichlet([1.0, 1.0, 1.0], 2_000)
    codes = random.integers(3, size=2_000)
    result = recalibrate_many(codes, p, random.random(2_000))
    assert len(result.rows) == len(result.p) == 500
    assert (np.diff(result.rows) > 0).all()


def test_a_class_of_one_row_cannot_be_split():
    y, p = forecasts(50)
    y[:] = False
    y[3] = True
    assert recalibrate_one(Bins.of(p, y, None), y, None) is None


@pytest.mark.parametrize("p", [np.full(40, 0.3), np.tile([0.0, 1.0], 20), np.tile([0.0, 1e-320, 0.5, 1.0], 10)])
def test_degenerate_probabilities_have_an_answer(p):
    y = np.arange(40) % 3 == 0
    bins = Bins.of(p, y, None)
    mended = recalibrate_one(bins, y, None).p
    assert ((mended > 0.0) & (mended < 1.0)).all()
    line = Line.of(bins, y, None)
    assert line is None or np.isfinite([line.intercept, line.slope]).all()
