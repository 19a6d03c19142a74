"""Tests of calibration against closed forms, statsmodels and redrawn labels."""

import numpy as np
import pytest
from scipy import special as sc
from scipy import stats

from properly.inputs.forecast import Forecast
from properly.metrics import calibration_test
from properly.metrics.calibration_tests import Cells, _range, detectable_shift, fitted_lines, joined


def forecasts(n=1_000, centre=-1.5, seed=0, fault=lambda v: v):
    random = np.random.default_rng(seed)
    truth = random.normal(centre, 1.2, n)
    return (random.random(n) < sc.expit(truth)).astype(int), sc.expit(fault(truth))


def by_name(result):
    return {test.name: test for test in result.tests}


def test_the_mean_is_a_z_test():
    y, p = forecasts(20_000, fault=lambda v: v + 0.05)
    test = by_name(calibration_test(y, p))["mean"]
    z = (y - p).sum() / np.sqrt((p * (1.0 - p)).sum())
    assert test.statistic == pytest.approx(z, rel=1e-5)  # neighbours are taken together
    assert test.p_value == pytest.approx(2.0 * stats.norm.sf(abs(z)), rel=0.05)


def test_the_line_is_that_of_logistic_regression():
    import statsmodels.api as sm

    y, p = forecasts(2_000, fault=lambda v: 1.3 * v + 0.2)
    peer = sm.Logit(y, sm.add_constant(sc.logit(p))).fit(disp=0)
    test = by_name(calibration_test(y, p))["line"]
    ratio = 2.0 * (peer.llf - np.sum(np.where(y == 1, np.log(p), np.log1p(-p))))
    assert test.statistic == pytest.approx(ratio, rel=1e-6)
    assert test.p_value == pytest.approx(stats.chi2.sf(ratio, 2), rel=1e-5)
    cells = Cells.of(Forecast.of_positives(y == 1, p))
    line = fitted_lines(sc.logit(cells.p), cells.weight, cells.positive[None])
    np.testing.assert_allclose(line.coef[0], peer.params, rtol=1e-5)


def test_the_range_of_brownian_motion():
    random = np.random.default_rng(0)
    path = np.cumsum(random.normal(size=(4_000, 2_000)), axis=1) / np.sqrt(2_000)
    found = _range(path).p_value  # the path is looked at 2,000 times only, so that its range is a little short
    for level in (0.05, 0.2, 0.5):
        assert 0.75 * level < np.mean(found < level) < 1.02 * level


@pytest.mark.parametrize("name", ["mean", "line", "cumulative", "smooth"])
def test_p_values_are_those_of_redrawn_labels(name):
    y, p = forecasts(600, fault=lambda v: v + 0.2)
    random = np.random.default_rng(1)
    here = by_name(calibration_test(y, p))[name]
    drawn = [by_name(calibration_test(random.random(600) < p, p))[name].p_value for _ in range(400)]
    assert np.mean(np.array(drawn) <= here.p_value) == pytest.approx(here.p_value, abs=0.05)


def test_few_rows_have_exact_p_values():
    p = np.array([0.1, 0.1, 0.3, 0.6])
    result = calibration_test([1, 1, 1, 1], p)
    assert by_name(result)["mean"].p_value == pytest.approx(0.1 * 0.1 * 0.3 * 0.6, abs=0.01)
    assert result.p_value < 0.05
    assert calibration_test([0, 0, 0, 1], p).p_value > 0.2


def test_weights_count_rows_and_the_order_does_not_matter():
    y, p = forecasts(800, fault=lambda v: np.round(v, 1))
    weight = np.arange(800) % 4
    twice = np.random.default_rng(0).permutation(np.repeat(np.arange(800), weight))
    one, other = calibration_test(y, p, sample_weight=weight), calibration_test(y[twice], p[twice])
    assert one.p_value == pytest.approx(other.p_value)
    for a, b in zip(one.tests, other.tests, strict=True):
        assert a[1:] == pytest.approx(b[1:])


def test_certain_rows():
    y, p = forecasts(500)
    more_y, more_p = np.append(y, [0, 1]), np.append(p, [0.0, 1.0])
    assert calibration_test(more_y, more_p) == calibration_test(y, p)
    wrong = calibration_test(np.append(y, 1), np.append(p, 0.0))
    assert wrong.p_value == 0.0
    assert by_name(wrong)["certainty"].statistic == 1.0
    assert calibration_test([0, 1], [0.0, 1.0]).p_value == 1.0
    assert calibration_test([0, 1], [1.0, 1.0]).p_value == 0.0


def test_one_probability_is_tested_by_the_mean():
    y = np.arange(200) < 60
    result = calibration_test(y, np.full(200, 0.2))
    assert [test.name for test in result.tests] == ["mean"]
    assert result.p_value == pytest.approx(stats.binomtest(60, 200, 0.2).pvalue, rel=0.3)


def test_separated_classes_have_an_answer():
    y = np.tile([0, 1], 100)
    result = calibration_test(y, np.where(y == 1, 0.8, 0.2))
    assert result.p_value < 1e-6
    assert np.isfinite([test.statistic for test in result.tests]).all()


@pytest.mark.slow
@pytest.mark.parametrize(("n", "centre"), [(30, 0.0), (200, -3.0), (1_000, -2.0)])
def test_false_alarms(n, centre):
    found = [calibration_test(*forecasts(n, centre, seed)).p_value <= 0.05 for seed in range(600)]
    assert np.mean(found) < 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 600)


@pytest.mark.slow
def test_the_detectable_shift_is_found():
    found = []
    for seed in range(300):
        random = np.random.default_rng(seed)
        p = sc.expit(random.normal(-2.0, 1.2, 1_500))
        shift = detectable_shift(np.sum(p * (1.0 - p))) * (-1) ** seed
        found.append(calibration_test(random.random(1_500) < sc.expit(sc.logit(p) + shift), p).p_value <= 0.05)
    assert 0.7 < np.mean(found) < 0.9


def test_clusters_that_repeat_rows_are_no_evidence():
    alarms = []
    for seed in range(60):
        y, p = forecasts(100, -1.0, seed)
        repeated = np.repeat(np.arange(100), 20)
        alarms.append(calibration_test(y[repeated], p[repeated], cluster=repeated).p_value <= 0.05)
    assert np.mean(alarms) <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 60)  # without `cluster` nearly all are
    y, p = forecasts(3_000, fault=lambda v: v + 0.5)
    assert calibration_test(y, p, cluster=np.arange(3_000) // 3).p_value < 0.01


def test_several_classes():
    random = np.random.default_rng(0)
    p = random.dirichlet([1.0, 1.0, 2.0], 600)
    y = (random.random((600, 1)) > p.cumsum(axis=1)).sum(axis=1)
    result = calibration_test(y, p)
    assert result.p_value > 0.05
    assert [test.name for test in result.tests][-4:] == ["class 0", "class 1", "class 2", "whole vector"]
    assert calibration_test(y, p[:, [1, 0, 2]]).p_value < 0.001
    assert calibration_test(y, np.eye(3)[y]).p_value > 0.9
    assert calibration_test(y, np.eye(3)[(y + 1) % 3]).p_value == 0.0


def test_the_cauchy_rule():
    assert joined(np.full(5, 0.03), np.ones(5)) == pytest.approx(0.03)
    assert joined(np.array([1e-6, 0.5]), np.ones(2)) == pytest.approx(2e-6, rel=1e-3)
    assert joined(np.array([1e-6, 1.0]), np.ones(2)) == pytest.approx(2e-6, rel=1e-3)
    random = np.random.default_rng(0)
    assert np.mean(joined(random.random((4, 100_000)), np.ones(4)) < 0.05) == pytest.approx(0.05, abs=0.004)


def sampled(random, rate=1.0, n=2000):
    """Right forecasts, of which a share of the negatives was drawn."""
    p = sc.expit(random.normal(-2.0, 1.0, n))
    y = random.random(n) < p
    drawn = y | (random.random(n) < rate)
    return y[drawn], p[drawn]


@pytest.mark.parametrize("kind", ["uniform", "exponential", "small", "by class"])
def test_right_forecasts_keep_the_level_whatever_the_weights_are(kind):
    random = np.random.default_rng(0)
    rejected = []
    for _ in range(400):
        y, p = sampled(random, 0.15 if kind == "by class" else 1.0)
        weight = {
            "uniform": random.uniform(0.5, 2.0, len(y)),
            "exponential": 5.0 * random.exponential(size=len(y)),
            "small": random.uniform(0.5, 2.0, len(y)) / len(y),
            "by class": np.where(y, 1.0, 1.0 / 0.15),
        }[kind]
        rejected.append(calibration_test(y, p, sample_weight=weight).p_value <= 0.05)
    assert 0.01 <= np.mean(rejected) <= 0.085  # 0.05 and three standard errors


def test_the_scale_of_weights_that_are_no_counts_does_not_matter():
    random = np.random.default_rng(0)
    y, p = sampled(random)
    weight = random.exponential(size=len(y))
    plain = calibration_test(y, p**0.8, sample_weight=weight)
    for factor in (1e-200, 1.0 / weight.sum(), 1e200):
        assert calibration_test(y, p**0.8, sample_weight=factor * weight).p_value == pytest.approx(plain.p_value)
    equal = calibration_test(y, p, sample_weight=np.full(len(y), 0.37))
    assert equal.p_value == pytest.approx(calibration_test(y, p).p_value)
    whole = random.integers(1, 4, len(y))
    repeated = calibration_test(np.repeat(y, whole), np.repeat(p, whole))
    assert calibration_test(y, p, sample_weight=whole).p_value == pytest.approx(repeated.p_value)
