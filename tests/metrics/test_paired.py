import numpy as np
import pytest
from scipy import stats

from properly.metrics import paired_bootstrap, sign_test
from properly.metrics.paired import bootstrap_of, simultaneous_bootstrap_of


@pytest.mark.parametrize(("wins_a", "wins_b", "ties"), [(5, 0, 1), (7, 3, 0), (4, 4, 9), (0, 1, 0), (60, 90, 4)])
def test_sign_test_is_the_binomial_test(wins_a, wins_b, ties):
    a = np.concatenate([np.zeros(wins_a), np.ones(wins_b), np.ones(ties)])
    b = np.concatenate([np.ones(wins_a), np.zeros(wins_b), np.ones(ties)])
    result = sign_test(a, b)
    assert result[:3] == (wins_a, wins_b, ties)
    assert result.p_value == pytest.approx(stats.binomtest(wins_a, wins_a + wins_b).pvalue, rel=1e-12)
    assert sign_test(b, a).p_value == result.p_value


def test_sign_test_of_infinite_losses_and_ties():
    assert sign_test([np.inf, np.inf, 1.0], [np.inf, 2.0, np.inf]) == (1.0, 1.0, 1.0, 1.0)
    assert sign_test([1.0, 2.0], [1.0, 2.0]) == (0.0, 0.0, 2.0, 1.0)


def test_sign_test_counts_weights():
    rng = np.random.default_rng(0)
    a, b, weight = rng.random(50), rng.random(50), rng.integers(0, 4, 50)
    assert sign_test(a, b, sample_weight=weight) == pytest.approx(sign_test(np.repeat(a, weight), np.repeat(b, weight)))
    assert 0.0 < sign_test(a, b, sample_weight=rng.random(50)).p_value <= 1.0


@pytest.mark.parametrize("n_rows", [400, 30_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_bootstrap_agrees_with_the_normal_approximation(n_rows, weighted):
    rng = np.random.default_rng(0)
    a = rng.exponential(size=n_rows)
    b = a + 0.5 * rng.normal(size=n_rows) + 0.02
    weight = rng.random(n_rows) if weighted else np.ones(n_rows)
    difference = np.average(a - b, weights=weight)
    error = np.sqrt(np.sum(weight**2 * (a - b - difference) ** 2)) / weight.sum()
    result = paired_bootstrap(a, b, sample_weight=weight if weighted else None, random_state=0)
    assert result.difference == pytest.approx(difference, rel=1e-9)
    assert result.standard_error == pytest.approx(error, rel=0.06)
    assert result.low == pytest.approx(difference - 1.96 * error, abs=0.2 * error)
    assert result.high == pytest.approx(difference + 1.96 * error, abs=0.2 * error)
    expected = 2 * stats.norm.sf(abs(difference) / error)
    assert result.p_value == pytest.approx(expected, abs=0.03)


def test_a_weight_of_two_is_the_row_twice_and_others_have_any_scale():
    rng = np.random.default_rng(1)
    a, b, weight = rng.exponential(size=300), rng.exponential(size=300), rng.integers(0, 5, 300)
    repeated = paired_bootstrap(np.repeat(a, weight), np.repeat(b, weight), random_state=0)
    assert paired_bootstrap(a, b, sample_weight=weight, random_state=0) == pytest.approx(repeated)
    ones = paired_bootstrap(a, b, sample_weight=np.ones(300), random_state=0)
    assert ones == pytest.approx(paired_bootstrap(a, b, random_state=0))
    halves = paired_bootstrap(a, b, sample_weight=0.3 * weight, random_state=0)
    scaled = paired_bootstrap(a, b, sample_weight=1e300 / 300 * 0.3 * weight, random_state=0)
    assert scaled == pytest.approx(halves)
    assert halves.standard_error > 1.3 * repeated.standard_error  # 300 rows at most, not 600
    large = paired_bootstrap(a, b, sample_weight=weight * 100_000, random_state=0)  # 60 million rows
    assert large.standard_error == pytest.approx(repeated.standard_error / np.sqrt(100_000), rel=0.06)


def test_several_differences_of_weighted_rows_keep_their_correlation():
    rng = np.random.default_rng(2)
    first, weight = rng.normal(0.1, 1.0, 2_000), rng.uniform(0.5, 1.5, 2_000)
    both = np.array([first, first + 0.01 * rng.normal(size=2_000)])
    once = simultaneous_bootstrap_of(both[:1], weight, unit=weight, random_state=0)[0]
    twice = simultaneous_bootstrap_of(both, weight, unit=weight, random_state=0)
    assert twice[0].high - twice[0].low == pytest.approx(once.high - once.low, rel=0.05)  # as if there were one
    two = np.array([first, rng.normal(size=2_000)])
    apart = simultaneous_bootstrap_of(two, weight, unit=weight, random_state=0)
    assert apart[0].high - apart[0].low > 1.08 * (once.high - once.low)


def test_clusters_are_drawn_whole():
    rng = np.random.default_rng(3)
    difference, cluster = np.repeat(rng.normal(size=200), 10), np.repeat(np.arange(200), 10)
    found = bootstrap_of(difference, np.ones(2_000), cluster, random_state=0)
    assert found.standard_error == pytest.approx(difference.std() / np.sqrt(200), rel=0.08)
    weight = np.tile([2.0, 0.5], 1_000)
    weighted = bootstrap_of(difference, weight, cluster, random_state=0)
    assert weighted == pytest.approx(found)


def test_grouping_rows_keeps_the_variance_of_sorted_data():
    difference = np.sort(np.random.default_rng(0).exponential(size=200_000))
    result = paired_bootstrap(difference, np.zeros(200_000), random_state=0)
    assert result.standard_error == pytest.approx(difference.std() / np.sqrt(200_000), rel=0.06)


def test_bootstrap_repeats_itself():
    rng = np.random.default_rng(0)
    a, b = rng.random(100), rng.random(100)
    assert paired_bootstrap(a, b, random_state=1) == paired_bootstrap(a, b, random_state=1)
    assert paired_bootstrap(a, b, random_state=1) != paired_bootstrap(a, b, random_state=2)
    narrow = paired_bootstrap(a, b, random_state=1, confidence=0.5)
    wide = paired_bootstrap(a, b, random_state=1, confidence=0.99)
    assert wide.low < narrow.low < narrow.difference < narrow.high < wide.high
    swapped = paired_bootstrap(b, a, random_state=1)
    assert swapped.difference == pytest.approx(-paired_bootstrap(a, b, random_state=1).difference)


def test_p_values_are_honest():
    """Without a difference they fall below 0.1 in about a tenth of the samples."""
    rng = np.random.default_rng(0)
    below = sum(
        paired_bootstrap(rng.random(200), rng.random(200), n_resamples=300, random_state=i).p_value < 0.1
        for i in range(300)
    )
    assert 15 <= below <= 50


def test_degenerate_differences():
    assert paired_bootstrap([1.0, 2.0], [1.0, 2.0], random_state=0) == (0.0, 0.0, 0.0, 1.0, 0.0)
    assert paired_bootstrap([np.inf, 2.0], [np.inf, 2.0], random_state=0).difference == 0.0
    one = paired_bootstrap([1.0], [3.0], random_state=0)
    assert (one.difference, one.low, one.high) == (-2.0, -2.0, -2.0)
    assert one.p_value == pytest.approx(2 / 2001)  # the smallest there is with 2,000 resamples
    only = paired_bootstrap([1.0, np.inf], [2.0, 0.0], sample_weight=[1, 0], random_state=0)
    assert only.difference == -1.0
    with pytest.raises(ValueError, match="the losses of 1 rows are infinite for one of the two"):
        paired_bootstrap([np.inf, 1.0], [1.0, 1.0])


@pytest.mark.parametrize("n_rows", [2_000, 30_000])
def test_independent_intervals_have_the_width_of_the_largest_of_several(n_rows):
    """P(the largest of m absolute standard normals <= c) = (2 Φ(c) - 1)^m."""
    rng = np.random.default_rng(0)
    differences = rng.normal(size=(6, n_rows)) * np.arange(1.0, 7.0)[:, None]
    found = simultaneous_bootstrap_of(differences, None, random_state=0)
    limit = stats.norm.ppf(0.5 + 0.5 * 0.95 ** (1 / 6))
    for each, row in zip(found, differences, strict=True):
        error = row.std() / np.sqrt(n_rows)
        assert (each.high - each.low) / (2 * error) == pytest.approx(limit, rel=0.06)
        assert each.difference == pytest.approx(row.mean(), rel=1e-9, abs=1e-12)
        alone = 2 * stats.norm.sf(abs(row.mean()) / error)
        assert each.p_value == pytest.approx(1.0 - (1.0 - alone) ** 6, abs=0.04)


def test_equal_differences_count_once():
    """Two candidates that are the same need no wider intervals than one."""
    row = np.random.default_rng(0).normal(size=500)
    twice = simultaneous_bootstrap_of(np.array([row, row]), None, random_state=0)
    (once,) = simultaneous_bootstrap_of(row[None], None, random_state=0)
    assert twice == [once, once]


def test_simultaneous_intervals_hold_together():
    rng = np.random.default_rng(1)
    missed = 0
    for seed in range(300):
        rows = rng.exponential(size=(4, 150)) + rng.exponential(size=150) - 2.0
        found = simultaneous_bootstrap_of(rows, None, n_resamples=400, random_state=seed)
        missed += any(each.low > 0.0 or each.high < 0.0 for each in found)
        assert all((each.low > 0.0 or each.high < 0.0) == (each.p_value <= 0.05) for each in found)
    assert 5 <= missed <= 27


def test_degenerate_simultaneous_differences():
    zero, constant = simultaneous_bootstrap_of(np.array([[0.0, 0.0], [2.0, 2.0]]), None, random_state=0)
    assert zero == (0.0, 0.0, 0.0, 1.0, 0.0)
    assert constant == (2.0, 2.0, 2.0, pytest.approx(1 / 2001), 0.0)


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        ([1.0], [1.0, 2.0], {}, r"the same n > 0 rows, got shapes \(1,\) and \(2,\)"),
        ([], [], {}, "n > 0 rows"),
        ([[1.0]], [[1.0]], {}, "two arrays of the same n"),
        ([1.0, np.nan], [1.0, 2.0], {}, "losses_a must not contain nan, as row 1 does"),
        (["a"], [1.0], {}, "losses_a must be numbers"),
        ([1.0], [1.0], {"sample_weight": [0.0]}, "zero for every row"),
    ],
)
def test_bad_losses(a, b, options, message):
    for test in (sign_test, paired_bootstrap):
        with pytest.raises(ValueError, match=message):
            test(a, b, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 1.0}, "confidence must be above 0 and below 1, got 1.0"),
        ({"confidence": "high"}, "confidence must be above 0 and below 1, got 'high'"),
        ({"n_resamples": 0}, "n_resamples must be a whole number of at least 1, got 0"),
        ({"n_resamples": True}, "n_resamples must be a whole number of at least 1, got True"),
        ({"n_resamples": 10.5}, "n_resamples must be a whole number"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        paired_bootstrap([1.0, 2.0], [2.0, 1.0], **options)


def test_results_are_plain_numbers():
    result = paired_bootstrap([1.0, 2.0], [2.0, 3.0], random_state=0)
    assert all(type(value) is float for value in result)
