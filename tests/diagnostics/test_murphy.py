"""Murphy diagrams against brute force over rows."""

import numpy as np
import pytest

from properly.diagnostics import murphy, murphy_difference

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
        ([0.1, 0.2], {"thresholds": [0.5, 1.5]}, r"thresholds must be numbers in \[0, 1\]"),
        ([0.1, 0.2], {"thresholds": [np.nan]}, r"thresholds must be numbers in \[0, 1\]"),
        ([0.1, 0.2], {"thresholds": []}, r"thresholds must be numbers in \[0, 1\]"),
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
