import numpy as np
import pytest
from scipy import integrate

from properly.links import Probit
from properly.losses import BetaLoss, BoostingLoss, CanonicalLoss, GEVLoss, LogLoss, LossFromWeight, SquaredLoss
from properly.metrics import cost_weighted_error, murphy_curve, net_benefit, proper_score


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    p = np.round(rng.beta(1, 2, 60), 2)
    return rng.random(60) < p, p, rng.random(60)


def brute_force(y, p, c, weight):
    losses = np.where(y, (1 - c) * (p < c), c * (p >= c))
    return np.average(losses, weights=weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_error_is_that_of_its_definition(data, weighted):
    y, p, weight = data
    weight = weight if weighted else None
    thresholds = np.concatenate([[0.0, 1.0, 0.5], p[:20], np.random.default_rng(1).random(20)]).reshape(43, 1)
    expected = [[brute_force(y, p, c, weight)] for c in thresholds.ravel()]
    np.testing.assert_allclose(cost_weighted_error(y, p, thresholds, sample_weight=weight), expected, atol=1e-15)
    one = cost_weighted_error(y, p, 0.3, sample_weight=weight)
    assert isinstance(one, float)
    assert one == pytest.approx(brute_force(y, p, 0.3, weight))
    curve = murphy_curve(y, p, thresholds.ravel(), sample_weight=weight)
    np.testing.assert_allclose(curve.errors, np.ravel(expected), atol=1e-15)
    assert curve.thresholds.tolist() == thresholds.ravel().tolist()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_exact_curve_is_exact(data, weighted):
    y, p, weight = data
    weight = weight if weighted else None
    thresholds, errors = murphy_curve(y, p, sample_weight=weight)
    assert thresholds[0] == 0.0
    assert thresholds[-1] == 1.0
    assert (np.diff(thresholds) >= 0.0).all()
    for c in np.linspace(0.0013, 0.9987, 200):  # not at a jump
        assert np.interp(c, thresholds, errors) == pytest.approx(brute_force(y, p, c, weight), abs=1e-14)
    for value in np.unique(p):  # both sides of every jump
        at = errors[thresholds == value][-2:] if value > 0.0 else errors[1:3]
        assert at[0] == pytest.approx(brute_force(y, p, value, weight), abs=1e-14)
        assert at[1] == pytest.approx(brute_force(y, p, value + 1e-12, weight), abs=1e-10)


@pytest.mark.parametrize(
    "loss",
    [
        LogLoss(),
        SquaredLoss(),
        BoostingLoss(),
        BetaLoss(2, 5),
        BetaLoss(-0.3, 0.4),
        GEVLoss(0.4),
        GEVLoss(-0.7),
        CanonicalLoss(Probit()),
        LossFromWeight(lambda p: 1 + np.cos(3 * p)),
    ],
    ids=lambda loss: str(loss).partition("<")[0],  # a function prints with its address
)
def test_the_weighted_area_is_the_score(data, loss):
    y, p, weight = data
    p = p.clip(0.01, 0.99)
    corners, errors = murphy_curve(y, p, sample_weight=weight)
    area = 0.0
    for left, right, at_left, at_right in zip(corners, corners[1:], errors, errors[1:], strict=False):
        if right > left:
            slope = (at_right - at_left) / (right - left)
            # towards 0 the error is c times a constant, towards 1 it is (1 - c) times one: c ω(c) is integrable
            area += integrate.quad(
                lambda c, s=slope, a=left, e=at_left: (e + s * (c - a)) * float(loss.weight(c)),
                left,
                right,
                epsabs=1e-12,
                epsrel=1e-10,
                limit=200,
            )[0]
    assert area == pytest.approx(proper_score(y, p, loss, sample_weight=weight), rel=1e-7)


def test_the_plain_area_is_half_the_brier_score_whatever_the_forecasts():
    for y, p in (([0, 1, 0, 1], [0.0, 0.0, 1.0, 1.0]), ([1], [0.0]), ([0, 0], [0.3, 1.0])):
        curve = murphy_curve(y, p)
        assert integrate.trapezoid(curve.errors, curve.thresholds) == pytest.approx(proper_score(y, p, "squared"))


def test_net_benefit(data):
    y, p, weight = data
    at = np.array([0.0, 0.1, 0.35, 0.9])
    curve = net_benefit(y, p, at, sample_weight=weight)
    total = weight.sum()
    for c, benefit, everyone in zip(at, curve.benefits, curve.treat_all, strict=True):
        odds = c / (1 - c)
        true, false = weight[y & (p >= c)].sum() / total, weight[~y & (p >= c)].sum() / total
        assert benefit == pytest.approx(true - false * odds)
        assert everyone == pytest.approx(weight[y].sum() / total - weight[~y].sum() / total * odds)
    error = cost_weighted_error(y, p, at, sample_weight=weight)
    np.testing.assert_allclose(curve.benefits, np.average(y, weights=weight) - error / (1 - at))
    with pytest.raises(ValueError, match="must be below 1"):
        net_benefit(y, p, [0.5, 1.0])


@pytest.mark.parametrize("threshold", [-0.1, 1.1, np.nan, [0.5, 2.0]])
def test_bad_thresholds(data, threshold):
    y, p, _ = data
    with pytest.raises(ValueError, match=r"a threshold must lie in \[0, 1\], got"):
        cost_weighted_error(y, p, threshold)
