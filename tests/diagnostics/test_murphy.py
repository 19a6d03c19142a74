"""Murphy diagrams against brute force over rows."""

import numpy as np
import pytest
from scipy import integrate

from properly.diagnostics import murphy, murphy_difference
from properly.links import Probit
from properly.losses import BetaLoss, BoostingLoss, CanonicalLoss, GEVLoss, LogLoss, LossFromWeight, SquaredLoss
from properly.metrics import proper_score

N = 300


@pytest.fixture
def data():
    random = np.random.RandomState(0)
    p = random.beta(1.0, 3.0, N).round(2)
    y = (random.random_sample(N) < p).astype(int)
    other = np.clip(p + 0.1 * random.normal(size=N), 0.0, 1.0).round(2)
    return y, p, other, random.randint(0, 4, N).astype(float)


def row_losses(y, p, at):
    return np.where(y == 1, (1 - at[:, None]) * (p < at[:, None]), at[:, None] * (p >= at[:, None]))


def test_errors_by_brute_force(data):
    y, p, other, weight = data
    at = np.array([0.0, 0.1, 0.13, 0.5, 1.0])
    result = murphy(y, {"one": p, "two": other}, sample_weight=weight, thresholds=at[::-1])
    np.testing.assert_array_equal(result.thresholds, at)
    for errors, forecast in zip(result.errors, (p, other), strict=True):
        np.testing.assert_allclose(errors, np.average(row_losses(y, forecast, at), axis=1, weights=weight))
    rate = np.average(y, weights=weight)
    np.testing.assert_allclose(
        result.base, np.average(row_losses(y, np.full(N, rate), at), axis=1, weights=weight), atol=1e-15
    )
    assert result.names == ("one", "two")
    assert result.frame().columns.tolist() == ["threshold", "one", "two", "base rate"]


def test_the_area_is_half_the_brier_score(data):
    y, p, _, _ = data
    result = murphy(y, p)
    assert np.trapezoid(result.errors[0], result.thresholds) == pytest.approx(0.5 * np.mean((p - y) ** 2), rel=5e-3)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    p = np.round(rng.beta(1, 2, 60), 2)
    return rng.random(60) < p, p, rng.random(60)


def error_at(y, p, c, weight):
    return np.average(np.where(y, (1 - c) * (p < c), c * (p >= c)), weights=weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_exact_curve_is_exact(rows, weighted):
    y, p, weight = rows
    weight = weight if weighted else None
    curve = murphy(y, p, thresholds="exact", sample_weight=weight)
    thresholds, errors = curve.thresholds, curve.errors[0]
    assert thresholds[0] == 0.0
    assert thresholds[-1] == 1.0
    assert (np.diff(thresholds) >= 0.0).all()
    for c in np.linspace(0.0013, 0.9987, 200):  # not at a jump
        assert np.interp(c, thresholds, errors) == pytest.approx(error_at(y, p, c, weight), abs=1e-14)
    for value in np.unique(p):  # both sides of every jump
        at = errors[thresholds == value][-2:] if value > 0.0 else errors[1:3]
        assert at[0] == pytest.approx(error_at(y, p, value, weight), abs=1e-14)
        assert at[1] == pytest.approx(error_at(y, p, value + 1e-12, weight), abs=1e-10)


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
def test_the_weighted_area_is_the_score(rows, loss):
    y, p, weight = rows
    p = p.clip(0.01, 0.99)
    curve = murphy(y, p, thresholds="exact", sample_weight=weight)
    corners, errors = curve.thresholds, curve.errors[0]
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
        curve = murphy(y, p, thresholds="exact")
        assert integrate.trapezoid(curve.errors[0], curve.thresholds) == pytest.approx(proper_score(y, p, "squared"))


def test_exact_curves_of_several_forecasters_have_the_corners_of_all(data):
    y, p, other, weight = data
    together = murphy(y, {"one": p, "two": other}, thresholds="exact", sample_weight=weight)
    for each, errors in zip((p, other), together.errors, strict=True):
        alone = murphy(y, each, thresholds="exact", sample_weight=weight)
        assert set(alone.thresholds) <= set(together.thresholds)
        between = np.unique(together.thresholds)[:-1] + 0.004  # no forecast has three digits
        np.testing.assert_allclose(
            np.interp(between, together.thresholds, errors),
            np.interp(between, alone.thresholds, alone.errors[0]),
            atol=1e-14,
        )


@pytest.mark.parametrize("weighted", [False, True])
def test_the_difference_and_its_interval_by_brute_force(data, weighted):
    y, p, other, weight = data
    at = np.array([0.05, 0.2, 0.35, 0.6])
    options = {"sample_weight": weight} if weighted else {}
    result = murphy_difference(y, p, other, thresholds=at, confidence=0.95, **options)
    times = weight.astype(int) if weighted else np.ones(N, dtype=int)
    d = np.repeat(row_losses(y, p, at) - row_losses(y, other, at), times, axis=1)
    deviation = d.std(axis=1) / np.sqrt(d.shape[1])
    np.testing.assert_allclose(result.difference, d.mean(axis=1), atol=1e-15)
    np.testing.assert_allclose(result.high - result.low, 2 * 1.959963984540054 * deviation, rtol=1e-10)


def test_equal_forecasters_differ_by_nothing(data):
    y, p, _, _ = data
    result = murphy_difference(y, p, p)
    np.testing.assert_array_equal([result.difference, result.low, result.high], 0.0)
    assert result.frame().columns.tolist() == ["threshold", "difference", "low", "high"]


def test_errors_name_the_forecaster():
    with pytest.raises(ValueError, match=r"forecaster 'bad': p must lie in \[0, 1\]"):
        murphy([0, 1], {"good": [0.1, 0.2], "bad": [0.1, 2.0]})


@pytest.mark.parametrize(
    ("p", "options", "message"),
    [
        ({}, {}, "p is an empty mapping"),
        ([0.1, 0.2], {"thresholds": [0.5, 1.5]}, r"thresholds must lie in \[0, 1\], got 1.5"),
        ([0.1, 0.2], {"thresholds": [np.nan]}, r"thresholds must lie in \[0, 1\], got nan"),
        ([0.1, 0.2], {"thresholds": []}, "thresholds must have at least one entry"),
        ([0.1, 0.2], {"thresholds": "all"}, "thresholds must be numbers"),
        ([[0.1, 0.2, 0.7], [0.1, 0.2, 0.7]], {"classes": [0, 1, 2]}, "defined for two classes"),
    ],
)
def test_errors(p, options, message):
    with pytest.raises(ValueError, match=message):
        murphy([0, 1], p, **options)


@pytest.mark.parametrize("names", [("threshold", "a"), ("a", "base rate")])
def test_names_of_other_columns_are_refused(names, data):
    y, p = data[:2]
    with pytest.raises(ValueError, match="is that of another column"):
        murphy(y, dict.fromkeys(names, p))


def test_names_must_differ(data):
    y, p = data[:2]
    with pytest.raises(ValueError, match="the name '1' is given twice"):
        murphy(y, {1: p, "1": p})
