"""Isotonic, binning and Venn–Abers calibration against scikit-learn and brute force."""

import numpy as np
import pytest
from scipy import special as sc
from sklearn.isotonic import IsotonicRegression

from properly.calibration import HistogramBinning, IsotonicCalibration, VennAbersCalibration


def data(seed, n=None, levels=None):
    """Scores with ties (if `levels`), labels of both classes, weights."""
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(2, 60))
    scores = rng.normal(size=n) if levels is None else rng.integers(0, levels, n).astype(float)
    y = rng.random(n) < sc.expit(scores - scores.mean())
    y[rng.choice(n, 2, replace=False)] = [True, False]
    return scores, y, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("levels", [None, 3, 20])
@pytest.mark.parametrize("seed", range(10))
def test_isotonic_agrees_with_scikit_learn(seed, levels):
    scores, y, weight = data(seed, levels=levels)
    asked = np.concatenate([scores, np.linspace(-5.0, 25.0, 200)])
    for weights in (None, weight):
        peer = IsotonicRegression(out_of_bounds="clip").fit(scores, y, weights)
        linear = IsotonicCalibration("linear").fit(scores, y, weights)
        assert linear.predict_proba(asked)[:, 1] == pytest.approx(peer.predict(asked), abs=1e-8)  # scores are rounded
        step = IsotonicCalibration().fit(scores, y, weights)
        assert step.predict_proba(scores)[:, 1] == pytest.approx(peer.predict(scores), abs=1e-12)
        p = step.predict_proba(np.sort(asked))[:, 1]
        assert np.all(np.diff(p) >= 0.0)
        assert set(p) <= set(step.predict_proba(scores)[:, 1])  # no values in between


def test_isotonic_steps_up_at_the_next_score_only():
    model = IsotonicCalibration().fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1])
    p = model.predict_proba([-1.0, 0.999, 1.0, 2.999, 3.0, 9.0])[:, 1]
    assert p == pytest.approx([0.0, 0.0, 0.5, 0.5, 1.0, 1.0])


def test_isotonic_where_scores_mean_nothing():
    p = IsotonicCalibration().fit([3.0, 2.0, 1.0, 0.0], [0, 0, 1, 1]).predict_proba([0.0, 5.0])
    assert p == pytest.approx(0.5)


@pytest.mark.parametrize("seed", range(5))
def test_strict_isotonic_keeps_the_ranking_and_the_log_loss(seed):
    scores, y, weight = data(seed, n=200)
    model = IsotonicCalibration(strict=True).fit(scores, y, weight)
    asked = np.linspace(-10.0, 10.0, 5001)
    p = model.predict_proba(asked)[:, 1]
    assert np.all(np.diff(p) > 0.0)
    assert p.min() > 0.0
    assert p.max() < 1.0
    # The same as isotonic regression with half a positive below all scores and half a negative above.
    peer = IsotonicRegression().fit(
        np.concatenate([[-1e9], scores, [1e9]]), np.concatenate([[1], y, [0]]), np.concatenate([[0.5], weight, [0.5]])
    )
    assert sc.logit(model.predict_proba(scores)[:, 1]) == pytest.approx(sc.logit(peer.predict(scores)), abs=2e-6)


def test_large_isotonic_fit_agrees_too():
    scores, y, weight = data(0, n=100_000)
    peer = IsotonicRegression(out_of_bounds="clip").fit(scores, y, weight).predict(scores)
    assert IsotonicCalibration("linear").fit(scores, y, weight).predict_proba(scores)[:, 1] == pytest.approx(peer)


def test_bins_of_equal_width():
    rng = np.random.default_rng(0)
    p, weight = rng.random(500), rng.random(500) + 0.1
    y = rng.random(500) < p
    model = HistogramBinning(10, "width", input="probability").fit(p, y, weight)
    for low in np.arange(10) / 10:
        inside = (p >= low) & (p < low + 0.1)
        expected = np.average(y[inside], weights=weight[inside])
        assert model.predict_proba(p[inside])[:, 1] == pytest.approx(expected)


def test_an_empty_bin_takes_the_nearest_one():
    model = HistogramBinning(10, "width", input="probability").fit([0.05, 0.05, 0.05, 0.95, 0.95], [0, 0, 1, 1, 0])
    p = model.predict_proba([0.15, 0.45, 0.55, 0.85])[:, 1]
    assert p == pytest.approx([1 / 3, 1 / 3, 0.5, 0.5])


def test_bins_of_equal_mass():
    scores, y, _ = data(3, n=1000)
    model = HistogramBinning(8).fit(scores, y)
    order = np.argsort(scores)
    p = model.predict_proba(scores[order])[:, 1]
    for chunk in np.split(np.arange(1000), 8):
        assert p[chunk] == pytest.approx(y[order][chunk].mean())
    assert len(HistogramBinning(8).fit(scores.round(), y).maps_[0].edges) <= 7
    assert HistogramBinning(1).fit(scores, y).predict_proba(scores)[:, 1] == pytest.approx(y.mean())


@pytest.mark.parametrize("levels", [None, 2, 12])
@pytest.mark.parametrize("seed", range(12))
def test_venn_abers_is_isotonic_regression_with_the_row_added(seed, levels):
    scores, y, weight = data(seed, levels=levels)
    asked = np.unique(np.concatenate([scores, scores + 1e-3, [-99.0, 99.0]]))
    for weights in (None, weight):
        model = VennAbersCalibration(input="score").fit(scores, y, weights)
        expected = np.empty((2, len(asked)))
        for label in (0, 1):
            for i, score in enumerate(asked):
                added = np.append(np.ones(len(y)) if weights is None else weights, 1.0)
                peer = IsotonicRegression().fit(np.append(scores, score), np.append(y, label), added)
                expected[label, i] = peer.predict([score])[0]
        assert np.stack(model.predict_interval(asked)) == pytest.approx(expected, abs=1e-12)
        p0, p1 = expected
        assert model.predict_proba(asked)[:, 1] == pytest.approx(p1 / (1.0 - p0 + p1), abs=1e-12)


def test_venn_abers_of_three_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    logits = np.eye(3)[y] + rng.normal(size=(200, 3))
    p0, p1 = VennAbersCalibration().fit(logits, y).predict_interval(logits)
    assert p0.shape == p1.shape == (200, 3)
    assert np.all(p0 < p1)
