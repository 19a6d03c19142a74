"""How much less rows tell that belong together."""

import numpy as np
import pytest
from scipy import stats

from properly.inputs.forecast import Forecast
from properly.metrics import calibration_test
from properly.metrics.clusters import cluster_sums, design_effect


def rows(n=2_000, seed=0, weight=None):
    random = np.random.default_rng(seed)
    p = random.uniform(0.05, 0.6, n)
    return Forecast.of_positives(random.random(n) < p, p, weight)


def widened(degrees):
    return (stats.t.ppf(0.975, degrees) / 1.96) ** 2


def test_copies_of_a_row_are_one_row():
    copies = np.repeat(np.arange(2_000), 7)
    assert design_effect(rows().take(copies), copies) == pytest.approx(7.0 * widened(1_700), rel=0.01)


def test_independent_rows_are_counted_whole():
    found = [design_effect(rows(seed=seed), np.arange(2_000) // 5) for seed in range(20)]
    assert min(found) >= 1.0
    assert np.mean(found) < 1.1


def test_a_fault_is_no_dependence():
    shifted = rows()
    shifted = shifted.with_p(np.minimum(shifted.p + 0.3, 1.0))
    assert design_effect(shifted, np.arange(2_000) // 100) < 2.0
    result = calibration_test(shifted.positive, shifted.p, cluster=np.arange(2_000) // 100)
    assert result.p_value < 1e-6


def test_weights_that_are_no_counts():
    """Kish: rows of weight w tell as much as (Σw)²/Σw² equal ones."""
    weight = np.random.default_rng(1).exponential(3.0, 20_000)
    found = design_effect(rows(20_000, weight=weight), np.arange(20_000))
    assert found == pytest.approx(np.square(weight).sum() / weight.sum(), rel=0.05)


def test_few_clusters_tell_little_and_one_nothing():
    few = np.arange(2_000) // 1_000
    assert design_effect(rows(), few) > widened(1.1)
    assert design_effect(rows(), np.where(np.arange(2_000) < 3, 0, 1)) > 1e3  # nearly all rows in one of two
    assert design_effect(rows(), np.zeros(2_000)) == np.inf
    forecast = rows()
    assert calibration_test(forecast.positive, forecast.p**2, cluster=np.zeros(2_000)).p_value == 1.0


def test_certain_rows_leave_nothing_to_chance():
    certain = Forecast.of_positives(np.array([True, False, True]), np.array([1.0, 0.0, 1.0]))
    assert design_effect(certain, np.array([0, 0, 1])) == 1.0


def test_sums():
    values = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    np.testing.assert_array_equal(cluster_sums(values, np.array([5, 3, 5])), [[2.0, 20.0], [5.0, 50.0]])
