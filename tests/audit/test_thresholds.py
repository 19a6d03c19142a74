import numpy as np
import pytest

from properly.audit.results import MOST_THRESHOLDS, ThresholdTable
from properly.inputs.forecast import Forecast


def sorted_rows(n, seed=0, ties=False):
    random = np.random.default_rng(seed)
    p = np.sort(random.random(n) ** 3)
    if ties:
        p = np.round(p, 1)
    return p, random.random(n) < p, random.random(n) * 3.0


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [1, 7, 5000])
def test_counts_are_those_of_deciding_row_by_row(n, weighted, ties):
    p, positive, weight = sorted_rows(n, ties=ties)
    table = ThresholdTable.of(Forecast.of_positives(positive, p, weight if weighted else None), np.array([0.5, 0.3]))
    one = weight if weighted else np.ones(n)
    for threshold, hits, alarms in zip(table.thresholds, table.true_positives, table.false_positives, strict=True):
        called = p >= threshold
        assert hits == pytest.approx(np.sum(one[called & positive]), abs=1e-9)
        assert alarms == pytest.approx(np.sum(one[called & ~positive]), abs=1e-9)
    assert table.positives == pytest.approx(np.sum(one[positive]))
    assert len(table.thresholds) <= MOST_THRESHOLDS
    assert {0.3, 0.5, 0.0002, 0.003, 0.99} <= set(table.thresholds)
    assert table.thresholds[0] == 0.0
    assert table.thresholds[-1] == np.inf


def test_a_rare_class_has_many_thresholds():
    random = np.random.default_rng(0)
    p = np.sort(np.concatenate([random.random(100_000) * 0.01, 0.01 + random.random(200) * 0.9]))
    positive = p > 0.01
    table = ThresholdTable.of(Forecast.of_positives(positive, p), np.array([0.5]))
    steps = -np.diff(table.true_positives)
    assert steps.max() <= 2  # of 200 positives, although they are a fiftieth of a per cent of the rows
    assert -np.diff(table.false_positives).min() < 0.003 * len(p)


def test_the_page_gets_plain_numbers():
    p, positive, weight = sorted_rows(50)
    plain = ThresholdTable.of(Forecast.of_positives(positive, p), np.array([0.5])).as_json()
    assert plain["thresholds"][-1] is None
    assert all(isinstance(count, int) for count in plain["truePositives"])
    assert plain["positives"] + plain["negatives"] == 50
    weighted = ThresholdTable.of(Forecast.of_positives(positive, p, weight), np.array([0.5])).as_json()
    assert weighted["positives"] == pytest.approx(weight[positive].sum(), abs=1e-5)


def test_what_a_threshold_does():
    p, positive, weight = sorted_rows(3000)
    table = ThresholdTable.of(Forecast.of_positives(positive, p, weight), np.array([0.3]))
    found, called = table.at(0.3), p >= 0.3
    assert found.threshold == 0.3
    assert found.alerts == pytest.approx(weight[called].sum() / weight.sum())
    assert found.precision == pytest.approx(weight[called & positive].sum() / weight[called].sum())
    assert found.recall == pytest.approx(weight[called & positive].sum() / weight[positive].sum())
    none = table.at(np.inf)
    assert np.isnan(none.precision)
    assert (none.alerts, none.recall) == (0.0, 0.0)


def test_even_costs_make_the_base_rate_the_threshold():
    p, positive, weight = sorted_rows(500)
    for labels in (positive, ~positive):
        false_positive, false_negative = ThresholdTable.of(
            Forecast.of_positives(labels, p, weight), np.array([])
        ).even_costs
        rate = weight[labels].sum() / weight.sum()
        assert false_positive / (false_positive + false_negative) == pytest.approx(rate)
        assert min(false_positive, false_negative) == 1.0
