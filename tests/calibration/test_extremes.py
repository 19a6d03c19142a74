"""Uneven and huge weights, far tails, ties and falling scores."""

import numpy as np
import pytest
from scipy import optimize
from scipy import special as sc
from sklearn.base import clone

from properly.calibration import (
    AsymmetricGaussianCalibration,
    AsymmetricLaplaceCalibration,
    AutoCalibration,
    DirichletCalibration,
    GaussianCalibration,
    HistogramBinning,
    HybridCalibration,
    IsotonicCalibration,
    LaplaceCalibration,
    MatrixScaling,
    MulticlassCalibration,
    PiecewiseLogOddsCalibration,
    PlattScaling,
    QuadraticScaling,
    SplineCalibration,
    TemperatureScaling,
    VennAbersCalibration,
)
from properly.calibration.methods import METHODS

DENSITIES = [
    GaussianCalibration,
    LaplaceCalibration,
    AsymmetricGaussianCalibration,
    AsymmetricLaplaceCalibration,
    HybridCalibration,
]


@pytest.mark.parametrize("heavy", [1.0, 1e4, 1e6])
def test_uneven_weights_have_the_exact_optimum(heavy):
    score, y = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, -2.5]), np.array([0, 0, 0, 1, 1, 1, 1])
    weight = np.append(np.full(6, heavy), 1.0)

    def gradient(line):
        residual = weight * (sc.expit(line[0] + line[1] * score) - y)
        return residual.sum(), residual @ score

    best = optimize.root(gradient, [0.0, np.log(heavy) + 1.0], tol=1e-13).x
    assert np.abs(gradient(best)).max() < 1e-8 * weight.sum()
    model = PlattScaling(noisy_labels=False).fit(score, y, weight)
    log_odds = model.predict_log_proba(score)[:, 1] - model.predict_log_proba(score)[:, 0]
    assert log_odds == pytest.approx(best[0] + best[1] * score, rel=1e-5)


@pytest.mark.parametrize("family", DENSITIES)
def test_monotone_falls_where_high_scores_mean_the_first_class(family):
    rng = np.random.default_rng(0)
    score = np.append(rng.normal(size=60) * 0.5 + 1.0, rng.normal(size=80) * 2.0 - 1.0)
    y = np.repeat([0, 1], [60, 80])
    grid = np.linspace(-30.0, 30.0, 2001)
    falling = family(monotone=True).fit(score, y).predict_proba(grid)[:, 1]
    mirrored = family(monotone=True).fit(-score, y).predict_proba(-grid)[:, 1]
    assert np.all(np.diff(falling) <= 0.0)
    assert falling[0] > falling[-1] + 0.5
    assert falling == pytest.approx(mirrored, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weight", [1e13, 1e20, 1e200])
@pytest.mark.parametrize(
    "model",
    [AutoCalibration(), MatrixScaling(), PlattScaling(), SplineCalibration(), DirichletCalibration()]
    + [VennAbersCalibration(), IsotonicCalibration()]
    + [each() for each in DENSITIES],
    ids=str,
)
def test_huge_weights(model, weight, n_classes):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, 150)
    scores = 2.0 * np.eye(n_classes)[y] + rng.normal(size=(150, n_classes))
    scores = scores if n_classes > 2 else scores[:, 1] - scores[:, 0]
    p = clone(model).fit(scores, y, np.full(150, weight)).predict_proba(scores)
    assert np.all(np.isfinite(p))
    if isinstance(model, SplineCalibration):
        return  # its choice of smoothing still depends on the weight
    many = clone(model).fit(scores, y, np.full(150, 1e9)).predict_proba(scores)
    assert p == pytest.approx(many, abs=1e-3)


def test_far_tails_of_equal_widths():
    score, y = np.array([-1.3, 0.1, 1.0, 0.7, 2.1, 3.0]), np.repeat([0, 1], 3)
    far = np.array([1e3, 1e8, 1e12, 1e17, 1e300])
    gaussian = GaussianCalibration().fit(score, y)
    assert np.all(gaussian.predict_proba(far)[:, 1] == 1.0)
    assert np.all(gaussian.predict_proba(-far)[:, 0] == 1.0)
    laplace = LaplaceCalibration().fit(score, y)
    expected = laplace.predict_proba([10.0, -10.0])[:, 1]
    assert laplace.predict_proba(far)[:, 1] == pytest.approx(expected[0], abs=1e-12)
    assert laplace.predict_proba(-far)[:, 1] == pytest.approx(expected[1], abs=1e-12)


def test_parabolas_of_the_largest_numbers():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    logits = 1.7e308 * np.sign(np.eye(3)[y] - 0.5 + rng.normal(size=(60, 3)))
    p = QuadraticScaling().fit(logits, y).predict_proba(logits)
    assert np.all(np.isfinite(p))
    assert p[np.arange(60), y].mean() > 0.4


def test_zero_of_many_classes_is_half_the_smallest_probability():
    p = np.array([[0.6, 0.4, 0.0], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8], [0.8, 0.2, 0.0]])
    reader = MatrixScaling(input="probability").fit(p, [0, 1, 2, 0]).reader_
    assert np.exp(reader(p)) == pytest.approx(np.where(p == 0.0, 0.05, p))


@pytest.mark.parametrize("model", [IsotonicCalibration(), VennAbersCalibration(), HistogramBinning(30)], ids=str)
def test_equal_probabilities_stay_ties(model):
    rng = np.random.default_rng(0)
    p = rng.multinomial(10, [0.5, 0.3, 0.2], size=2000) / 10
    y = (rng.random(2000)[:, None] > np.cumsum(p, axis=1)).sum(axis=1).clip(0, 2)
    fitted = clone(model).set_params(input="probability").fit(p, y)
    for each in fitted.maps_:
        edges = next(getattr(each, name) for name in ("first", "upper_scores", "edges") if hasattr(each, name))
        assert len(edges) <= 11
    classwise = MulticlassCalibration(clone(model), "classwise", input="probability").fit(p, y)
    assert classwise.predict_proba(p) == pytest.approx(fitted.predict_proba(p), abs=1e-12)


def test_bins_of_neighbouring_numbers():
    score = np.repeat([1.0, np.nextafter(1.0, 2.0)], 5)
    model = HistogramBinning(2, input="score").fit(score, [0, 0, 0, 0, 1, 0, 1, 1, 1, 1])
    assert model.predict_proba(score[[0, -1]])[:, 1] == pytest.approx([0.2, 0.8])


@pytest.mark.parametrize("scores", [[-1e-310, 1e-310, -2e-310, 3e-310], [0.0, 5e-324, 1e-323, 1.5e-323]])
@pytest.mark.parametrize("method", [*METHODS.values(), lambda input: IsotonicCalibration("linear", input=input)])
def test_subnormal_scores_have_probabilities(method, scores):
    p = method(input="score").fit(scores, [0, 1, 0, 1]).predict_proba([*scores, 0.0, 1.0])
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_the_temperature_of_subnormal_scores():
    for pair in ([-1e-310, 1e-310], [-1e-3, 1e-3]):
        p = TemperatureScaling().fit(pair, [0, 1]).predict_proba([0.0, *pair])[:, 1]
        assert p[0] == 0.5
        assert p[1] == pytest.approx(1.0 - p[2])
    assert p[2] == pytest.approx(2.0 / 3.0)  # a label is wrong with probability 1/3


@pytest.mark.parametrize("seed", [0, 20])
def test_piecewise_fits_do_not_depend_on_the_order_of_rows(seed):
    rng = np.random.default_rng(seed)
    scores, weight = rng.normal(size=200), 10.0 ** rng.uniform(-10.0, 10.0, size=200)
    y = rng.random(200) < sc.expit(scores)
    order = rng.permutation(200)
    first = PiecewiseLogOddsCalibration().fit(scores, y, weight)
    second = PiecewiseLogOddsCalibration().fit(scores[order], y[order], weight[order])
    assert np.array_equal(first.predict_proba(scores), second.predict_proba(scores))
