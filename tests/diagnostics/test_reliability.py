"""The reliability curve is isotonic regression's; the band holds what right forecasts give."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.isotonic import IsotonicRegression

from properly import diagnostics
from properly.diagnostics import reliability
from properly.diagnostics.reliability import reliability_of
from properly.diagnostics.results import jeffreys_interval
from properly.inputs.forecast import Forecast


def rows(n, seed=0, digits=None):
    random = np.random.RandomState(seed)
    p = random.beta(0.5, 3.0, n)
    y = random.random_sample(n) < p
    return y, p if digits is None else p.round(digits), random.exponential(size=n)


@pytest.mark.parametrize("digits", [None, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_curve_is_that_of_scikit_learn(digits, weighted):
    y, p, weight = rows(500, digits=digits)
    weight = weight if weighted else None
    result = reliability(y, p, sample_weight=weight)
    expected = IsotonicRegression().fit(p, y, sample_weight=weight).predict(result.forecast)
    np.testing.assert_array_equal(result.forecast, np.unique(p))
    np.testing.assert_allclose(result.recalibrated, expected, atol=1e-12)
    np.testing.assert_allclose(result.weight.sum(), 500 if weight is None else weight.sum())
    np.testing.assert_allclose(result.positive.sum(), y.sum() if weight is None else weight[y].sum())


def test_grouped_neighbours_leave_the_curve_exact():
    y, p, weight = rows(20_000)
    exact = reliability(y, p, sample_weight=weight, n_resamples=2)
    grouped = reliability(y, p, sample_weight=weight, n_resamples=2, max_points=400)
    assert len(exact.forecast) == 20_000
    assert len(grouped.forecast) <= 400
    at = np.searchsorted(exact.forecast, grouped.forecast, side="right") - 1
    np.testing.assert_allclose(grouped.recalibrated, exact.recalibrated[at], rtol=1e-12)
    assert grouped.weight.sum() == pytest.approx(weight.sum())
    assert grouped.weight @ grouped.forecast == pytest.approx(weight @ p)
    assert grouped.weight.max() < 2 * weight.sum() / 300


def test_more_blocks_than_points_are_grouped_all_the_same():
    p = np.arange(1, 1001) / 1001
    y = np.concatenate([np.zeros(1000), np.ones(1000)])
    weight = np.concatenate([1 - p, p])  # every forecast is a block of its own
    result = reliability(y, np.tile(p, 2), sample_weight=weight, n_resamples=2, max_points=100)
    assert len(result.forecast) <= 100
    np.testing.assert_allclose(result.recalibrated, result.forecast, rtol=1e-9)


@pytest.mark.parametrize("digits", [None, 1])
def test_the_band_holds_the_whole_curve_of_right_forecasts_as_often_as_it_says(digits):
    inside = []
    for seed in range(100):
        random = np.random.RandomState(seed)
        p = random.beta(1.0, 3.0, 200)
        p = p if digits is None else np.clip(p.round(digits), 0.05, 0.95)
        result = reliability(random.random_sample(200) < p, p, n_resamples=100, confidence=0.8, random_state=seed)
        inside.append(result.outside == 0.0)
    assert abs(np.mean(inside) - 0.8) < 3.0 * np.sqrt(0.8 * 0.2 / 100)


def test_rows_that_belong_together_widen_the_band():
    y, p, _ = rows(300)
    many = np.repeat(np.arange(300), 4)
    forecast = Forecast.of_positives(y[many], p[many])
    alone, together = reliability_of(forecast), reliability_of(forecast, cluster=many)
    assert np.mean(together.high - together.low) > 1.5 * np.mean(alone.high - alone.low)
    np.testing.assert_array_equal(together.recalibrated, alone.recalibrated)
    nothing = reliability_of(forecast, cluster=np.zeros(1_200))
    assert (nothing.low.max(), nothing.high.min()) == (0.0, 1.0)


def test_wrong_forecasts_lie_outside():
    y, p, _ = rows(5000)
    right, wrong = reliability(y, p), reliability(y, np.sqrt(p))
    assert right.outside == 0.0
    assert wrong.outside > 0.8


def test_the_band_of_two_values_is_that_of_two_binomial_shares():
    p = np.repeat([0.2, 0.7], [1000, 500])
    result = reliability(np.arange(1500) % 2, p, n_resamples=4000, confidence=0.9)
    deviation = np.sqrt(np.array([0.2 * 0.8 / 1000, 0.7 * 0.3 / 500]))
    np.testing.assert_allclose(result.high - result.low, 2 * 1.949 * deviation, rtol=0.1)  # √0.9 each
    np.testing.assert_allclose((result.high + result.low) / 2, [0.2, 0.7], atol=0.003)


@pytest.mark.parametrize(("weight", "rows"), [(0.25, 1.0), (2.0, 2.0), (2.5, 1.0), (3.0, 3.0)])
def test_a_whole_weight_counts_as_that_many_rows_also_for_the_band(weight, rows):
    p = np.repeat([0.2, 0.7], 400)
    y = np.arange(800) % 3 == 0
    wide = reliability(y, p, n_resamples=3000)
    narrow = reliability(y, p, sample_weight=np.full(800, weight), n_resamples=3000, random_state=1)
    np.testing.assert_array_equal(narrow.recalibrated, wide.recalibrated)
    np.testing.assert_allclose((wide.high - wide.low) / (narrow.high - narrow.low), np.sqrt(rows), rtol=0.12)


def test_rows_of_weight_0_do_not_count():
    y, p, weight = rows(300)
    weight[::3] = 0.0
    kept = weight > 0.0
    some, all_rows = reliability(y[kept], p[kept], sample_weight=weight[kept]), reliability(y, p, sample_weight=weight)
    np.testing.assert_array_equal(some.high, all_rows.high)


def test_the_same_random_state_gives_the_same_band():
    y, p, _ = rows(300)
    first, again, other = reliability(y, p), reliability(y, p), reliability(y, p, random_state=1)
    np.testing.assert_array_equal(first.low, again.low)
    assert (first.high != other.high).any()


def test_degenerate_cases_are_finite():
    one = reliability([1], [0.0])
    assert (one.recalibrated, one.low, one.high) == (1.0, 0.0, 0.0)
    result = reliability(np.zeros(5), [0.0, 1.0, 1.0, 0.5, 0.0])
    np.testing.assert_array_equal(result.recalibrated, 0.0)
    tiny = reliability([0, 1], [0.3, 0.6], sample_weight=[1e-300, 1e300])
    assert np.isfinite([tiny.low, tiny.high]).all()
    assert (tiny.low >= 0.0).all()
    assert (tiny.high <= 1.0).all()


def test_frame():
    result = reliability([0, 1, 1], [0.2, 0.4, 0.4])
    frame = result.frame()
    assert frame.columns.tolist() == ["forecast", "weight", "positive", "recalibrated", "low", "high"]
    assert frame["weight"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": 1}, "n_resamples must be a whole number of at least 2, got 1."),
        ({"max_points": 0.5}, "max_points must be a whole number of at least 2, got 0.5."),
        ({"confidence": 1.0}, "confidence must be above 0 and below 1, got 1.0."),
        ({"confidence": "high"}, "confidence must be above 0 and below 1, got 'high'."),
        ({"sample_weight": [0.0, 0.0]}, "sample_weight is zero for every row"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        reliability([0, 1], [0.2, 0.4], **options)


def test_probabilities_are_checked():
    with pytest.raises(ValueError, match=r"p must lie in \[0, 1\], got 1.2 in row 1"):
        reliability([0, 1], [0.2, 1.2])


def test_several_forecasters():
    y, p = [0, 0, 1, 1, 0, 1], [0.1, 0.2, 0.2, 0.4, 0.6, 0.9]
    both = reliability(y, {"one": p, "two": [0.5] * 6})
    assert both.names == ("one", "two")
    np.testing.assert_array_equal(both["one"].recalibrated, reliability(y, p).recalibrated)
    assert both.frame()["forecaster"].tolist() == ["one"] * 5 + ["two"]


@pytest.mark.parametrize("right", [True, False])
def test_perfect_and_perfectly_wrong_forecasts_can_be_drawn(right):
    y = np.arange(40) % 2
    p = np.where(y == 1, 1.0, 0.0) if right else np.where(y == 1, 0.0, 1.0)
    for found in (
        diagnostics.reliability(y, p),
        diagnostics.murphy(y, p),
        diagnostics.decision_curve(y, p),
        diagnostics.log_odds_fit(y, p),
        diagnostics.by_group(y, p, np.arange(40) // 20),
        diagnostics.murphy_difference(y, p, np.full(40, 0.5)),
    ):
        assert found is not None
    three = np.arange(42) % 3
    codes = three if right else (three + 1) % 3
    assert diagnostics.multiclass_reliability(three, np.eye(3)[codes]) is not None


def test_intervals_of_shares_of_very_many_rows():
    rows = np.array([1e13, 1e14, 1e15, 1e20, 1e30])
    low, high = jeffreys_interval(0.3 * rows, 0.7 * rows, 0.95)
    assert np.all((low <= 0.3 + 1e-15) & (high >= 0.3 - 1e-15))
    assert_allclose((high - low)[:3], 2 * 1.959964 * np.sqrt(0.21 / rows[:3]), rtol=0.01)
