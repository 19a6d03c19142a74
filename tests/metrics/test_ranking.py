import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from properly.metrics import auc, auc_difference


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.3
    a = np.round(stats.norm.cdf(rng.normal(size=300) + y), 2)  # with ties
    b = np.round(stats.norm.cdf(rng.normal(size=300) + 0.5 * y), 2)
    return y, a, b


def kernel(y, p):
    """1[p of a positive > p of a negative] + ½ 1[equal], for all pairs."""
    own, rest = p[y][:, None], p[~y][None, :]
    return (own > rest) + 0.5 * (own == rest)


def test_the_area_is_that_of_scikit_learn(data):
    y, a, _ = data
    weight = np.random.default_rng(1).random(300)
    assert auc(y, a).area == pytest.approx(roc_auc_score(y, a), abs=1e-12)
    assert auc(y, a, sample_weight=weight).area == pytest.approx(roc_auc_score(y, a, sample_weight=weight), abs=1e-12)


def test_delong_by_all_pairs(data):
    y, a, b = data
    first, second = kernel(y, a), kernel(y, b)
    above = np.cov(first.mean(axis=1), second.mean(axis=1)) / y.sum()
    below = np.cov(first.mean(axis=0), second.mean(axis=0)) / (~y).sum()
    covariance = above + below
    assert auc(y, a).standard_error == pytest.approx(np.sqrt(covariance[0, 0]), rel=1e-12)
    assert auc(y, b).standard_error == pytest.approx(np.sqrt(covariance[1, 1]), rel=1e-12)
    error = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    result = auc_difference(y, a, b)
    assert result.difference == pytest.approx(first.mean() - second.mean(), abs=1e-14)
    assert result.standard_error == pytest.approx(error, rel=1e-12)
    assert result.low == pytest.approx(result.difference - 1.959963984540054 * error)
    assert result.high == pytest.approx(result.difference + 1.959963984540054 * error)
    assert result.p_value == pytest.approx(2 * stats.norm.sf(abs(result.difference) / error))


def test_the_interval_is_normal_in_log_odds(data):
    y, a, _ = data
    result = auc(y, a, confidence=0.9)
    logit = np.log(result.area / (1 - result.area))
    spread = stats.norm.ppf(0.95) * result.standard_error / (result.area * (1 - result.area))
    for edge, expected in ((result.low, logit - spread), (result.high, logit + spread)):
        assert np.log(edge / (1 - edge)) == pytest.approx(expected)


def test_intervals_cover():
    rng = np.random.default_rng(2)
    truth = stats.norm.cdf(2.0 / np.sqrt(2))
    y = np.repeat([False, True], [60, 30])
    covered = 0
    for _ in range(400):
        result = auc(y, stats.norm.cdf(rng.normal(size=90) + 2.0 * y))
        covered += result.low <= truth <= result.high
    assert 0.91 <= covered / 400 <= 0.98


@pytest.mark.parametrize(("n_positive", "n_negative"), [(10, 30), (1, 30), (5, 1), (1, 1)])
def test_perfect_and_perfectly_wrong_rankings(n_positive, n_negative):
    y = np.repeat([0, 1], [n_negative, n_positive])
    result = auc(y, y.astype(float))
    assert result.area == result.high == 1.0
    assert 0.0 < result.low < 1.0
    wrong = auc(y, 1.0 - y)
    assert wrong.area == wrong.low == 0.0
    assert wrong.high == pytest.approx(1.0 - result.low)


def test_newcombe_solves_its_equation():
    y = np.repeat([0, 1], [30, 10])
    low = auc(y, y.astype(float)).low
    half = 0.5 * 40 - 1
    variance = low * (1 - low) / 300 * (1 + half * ((1 - low) / (2 - low) + low / (1 + low)))
    assert 1.0 - low == pytest.approx(1.959963984540054 * np.sqrt(variance))


def test_a_class_of_one_row():
    result = auc([0, 0, 0, 1], [0.1, 0.2, 0.9, 0.5])
    assert result.area == pytest.approx(2 / 3)
    assert 0.0 < result.low < 2 / 3 < result.high < 1.0
    assert result.standard_error > 0.0
    difference = auc_difference([0, 0, 0, 1], [0.1, 0.2, 0.9, 0.5], [0.1, 0.2, 0.3, 0.5])
    assert difference[:3] == (pytest.approx(-1 / 3), -1.0, 1.0)  # one row has no variance
    assert np.isnan(difference.p_value)
    assert np.isnan(difference.standard_error)


def test_forecasts_that_rank_alike():
    rng = np.random.default_rng(0)
    y, p = rng.random(50) < 0.5, rng.random(50)
    assert auc_difference(y, p, p**2) == (0.0, 0.0, 0.0, 1.0, 0.0)
    constant = auc(y, np.full(50, 0.3))
    assert constant.area == 0.5
    assert constant.low < 0.5 < constant.high


@pytest.mark.parametrize("copies", [1, 1000])
def test_a_difference_without_variance_is_not_certain(copies):
    y = np.repeat([0, 1], 2 * copies)
    result = auc_difference(y, 0.1 + 0.8 * y, 0.9 - 0.8 * y)
    assert result[:3] == (1.0, -1.0, 1.0)
    assert np.isnan(result.p_value)


def test_the_scale_of_weights_that_are_no_counts_does_not_matter(data):
    y, a, b = data
    for weight in (np.full(300, 1 / 300), np.where(y, 0.5, 50.5)):  # as they are, or by class
        assert auc(y, a, sample_weight=weight) == pytest.approx(auc(y, a))
        found = auc_difference(y, a, b, sample_weight=weight)
        assert found == pytest.approx(auc_difference(y, a, b))


def test_it_is_decided_for_all_rows_whether_weights_are_numbers_of_rows(data):
    """Those of one class may be whole by chance."""
    y, a, _ = data
    weight = np.where(y, 1.0 + np.arange(300) % 2, 2.5)
    assert auc(y, a, sample_weight=weight) == pytest.approx(auc(y, a, sample_weight=0.7 * weight))


@pytest.mark.parametrize("weight", [1e-300, 1e12, 1e15, 1e150, 1e300])
@pytest.mark.parametrize("p", [[0.1, 0.2, 0.7, 0.9], [0.9, 0.7, 0.2, 0.1], [0.1, 0.8, 0.7, 0.9], [0.5] * 4])
def test_weights_of_any_size(weight, p):
    result = auc([0, 0, 1, 1], p, sample_weight=np.full(4, weight))
    assert result.area == auc([0, 0, 1, 1], p).area
    assert 0.0 <= result.low <= result.area <= result.high <= 1.0
    if weight == 1e12 or weight == 1e15:
        assert result.high - result.low < 4.0 / np.sqrt(weight)
    else:  # no number of rows
        assert result == pytest.approx(auc([0, 0, 1, 1], p), nan_ok=True)


def test_bad_confidence():
    with pytest.raises(ValueError, match="confidence must be above 0 and below 1"):
        auc([0, 1], [0.1, 0.2], confidence=95)
