import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from properly.losses import BetaLoss, BoostingLoss, GEVLoss, LogLoss, SquaredLoss
from properly.metrics import log_loss, proper_score, score_decomposition

LOSSES = [LogLoss(), SquaredLoss(), BetaLoss(2, 5), GEVLoss(0.3), GEVLoss(-0.5)]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    p = np.round(rng.beta(1, 2, 800), 2).clip(0.005, 0.995)
    return rng.random(800) < p**1.5, p, rng.integers(0, 5, 800).astype(float)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_parts_are_what_they_say(data, loss, weighted):
    y, p, weight = data
    options = {"sample_weight": weight if weighted else None}
    parts = score_decomposition(y, p, loss, **options)
    isotonic = IsotonicRegression().fit(p, y, **options)
    recalibrated = proper_score(y, isotonic.predict(p).clip(0, 1), loss, **options)
    rate = np.average(y, weights=options["sample_weight"])
    assert parts.score == proper_score(y, p, loss, **options)
    assert parts.miscalibration == pytest.approx(parts.score - recalibrated, abs=1e-9)
    assert parts.uncertainty == pytest.approx(loss.entropy(rate), abs=1e-12)
    assert parts.discrimination == pytest.approx(parts.uncertainty - recalibrated, abs=1e-9)
    assert parts.score == pytest.approx(parts.miscalibration - parts.discrimination + parts.uncertainty, abs=1e-15)


@pytest.mark.parametrize("weighted", [False, True])
def test_model_diagnostics_agrees(data, weighted):
    scoring = pytest.importorskip("model_diagnostics.scoring")
    y, p, weight = data
    weight = weight + 0.5  # theirs warns of weights of 0
    options = {"sample_weight": weight} if weighted else {}
    for loss, function, factor in (("log", scoring.LogLoss(), 1.0), ("squared", scoring.SquaredError(), 0.5)):
        theirs = scoring.decompose(y.astype(float), p, weight if weighted else None, scoring_function=function)
        ours = score_decomposition(y, p, loss, **options)
        for name in ours._fields:
            assert getattr(ours, name) == pytest.approx(factor * theirs[name][0], abs=1e-9)


def test_an_infinite_score_is_miscalibration():
    parts = score_decomposition([0, 1, 0, 1], [0.2, 0.0, 0.4, 0.9])
    assert parts.score == parts.miscalibration == np.inf
    assert 0.0 <= parts.discrimination <= parts.uncertainty == pytest.approx(np.log(2))


@pytest.mark.parametrize("loss", [*LOSSES, BoostingLoss()])
def test_degenerate_forecasts(loss):
    perfect = score_decomposition([0, 1, 0, 1], [0.0, 1.0, 0.0, 1.0], loss)
    assert perfect.score == pytest.approx(0.0, abs=1e-12)
    assert perfect.miscalibration == pytest.approx(0.0, abs=1e-12)
    assert perfect.discrimination == pytest.approx(perfect.uncertainty)
    constant = score_decomposition([0, 1, 0, 0], [0.25] * 4, loss)
    assert constant.miscalibration == pytest.approx(0.0, abs=1e-15)
    assert constant.discrimination == pytest.approx(0.0, abs=1e-15)
    backwards = score_decomposition([1, 1, 0, 0], [0.2, 0.3, 0.6, 0.8], loss)
    assert backwards.discrimination == pytest.approx(0.0, abs=1e-15)
    one_class = score_decomposition([0, 0], [0.3, 0.4], loss)
    assert one_class.miscalibration == one_class.score
    assert one_class.discrimination == 0.0


def test_a_loss_without_lower_bound():
    parts = score_decomposition([0, 1, 1], [0.3, 1.0, 1.0], GEVLoss(1.5))
    assert not np.isnan(parts).any()


def test_many_classes_are_added_up():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1.0, 2.0, 3.0], 400)
    y = (p.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1)
    for loss in ("squared", "log"):
        parts = score_decomposition(y, p, loss)
        single = [score_decomposition(y == k, p[:, k], loss) for k in range(3)]
        np.testing.assert_allclose(parts, np.sum(single, axis=0))
    assert score_decomposition(y, p, "squared").score == pytest.approx(proper_score(y, p, "squared"))
    assert score_decomposition(y, p, "log").score > log_loss(y, p)


def test_calibrated_forecasts_have_little_to_mend():
    rng = np.random.default_rng(2)
    p = rng.random(100_000)
    y = rng.random(100_000) < p
    parts = score_decomposition(y, p, "squared")
    assert 0.0 <= parts.miscalibration < 2e-4
    # E (p - ½)² / 2 of a uniform p
    assert parts.discrimination == pytest.approx(1 / 24, abs=1e-3)


def test_weights_of_very_different_size():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p = rng.random(200)
        y, weight = rng.random(200) < p, 10.0 ** rng.uniform(-12, 12, 200)
        parts = score_decomposition(y, p, "squared", sample_weight=weight)
        model = IsotonicRegression(out_of_bounds="clip").fit(p, y, weight)
        expected = np.average(0.5 * (model.predict(p) - y) ** 2, weights=weight)
        assert parts.score - parts.miscalibration == pytest.approx(expected, rel=1e-6, abs=1e-12)
