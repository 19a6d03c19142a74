"""Decision and cost curves against counting."""

import numpy as np
import pytest

from properly.diagnostics import cost_curve, decision_curve
from properly.metrics import cost_weighted_error

RANDOM = np.random.RandomState(0)
P = RANDOM.beta(1.0, 4.0, 400).round(2)
Y = (RANDOM.random_sample(400) < P).astype(int)
WEIGHT = RANDOM.exponential(size=400)


def test_net_benefit_by_counting():
    at = np.array([0.0, 0.1, 0.3])
    result = decision_curve(Y, {"p": P, "half": P / 2}, sample_weight=WEIGHT, thresholds=at)
    for benefits, p in zip(result.benefits, (P, P / 2), strict=True):
        for benefit, c in zip(benefits, at, strict=True):
            hits = WEIGHT[(p >= c) & (Y == 1)].sum() / WEIGHT.sum()
            alarms = WEIGHT[(p >= c) & (Y == 0)].sum() / WEIGHT.sum()
            assert benefit == pytest.approx(hits - alarms * c / (1 - c))
    rate = np.average(Y, weights=WEIGHT)
    np.testing.assert_allclose(result.treat_all, rate - (1 - rate) * at / (1 - at))
    error = cost_weighted_error(Y, P, at, sample_weight=WEIGHT)
    np.testing.assert_allclose(result.benefits[0], rate - error / (1 - at))
    assert result.frame().columns.tolist() == ["threshold", "p", "half", "treat all"]


def test_thresholds_by_default_stay_below_1():
    result = decision_curve(Y, P)
    assert result.thresholds[0] == 0.0
    assert result.thresholds[-1] < 1.0
    assert np.isfinite(result.benefits).all()


@pytest.mark.parametrize("costs", [(1, 20), "1:20", [[0.0, 1.0], [20.0, 0.0]], [[-1.0, 2.0], [30.0, 5.0]]])
def test_costs_by_counting(costs):
    at = np.array([0.0, 0.05, 0.2, 1.0])
    result = cost_curve(Y, P, costs, sample_weight=WEIGHT, thresholds=at)
    matrix = np.array([[0.0, 1.0], [20.0, 0.0]] if np.ndim(costs) < 2 else costs)
    expected = [np.average(matrix[Y, (c <= P).astype(int)], weights=WEIGHT) for c in at]
    np.testing.assert_allclose(result.costs[0], expected)
    assert result.constant == pytest.approx(min(np.average(matrix[Y, k], weights=WEIGHT) for k in (0, 1)))


def test_the_cheapest_threshold_is_cheapest():
    result = cost_curve(Y, {"p": P, "half": P / 2}, (1, 4))
    for costs, choice in zip(result.costs, result.choices, strict=True):
        assert choice.expected_cost <= costs.min() + 1e-12
        assert choice.theoretical_threshold == pytest.approx(0.2)
    assert result.frame().columns.tolist() == ["threshold", "p", "half"]


def test_errors():
    with pytest.raises(ValueError, match="costs contradict themselves"):
        cost_curve(Y, P, [[1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="must be below 1"):
        decision_curve(Y, P, thresholds=[0.5, 1.0])


def test_names_of_other_columns_are_refused():
    y, p = [0, 1, 1], [0.1, 0.4, 0.9]
    for name in ("threshold", "treat all"):
        with pytest.raises(ValueError, match="is that of another column"):
            decision_curve(y, {name: p})
    with pytest.raises(ValueError, match="is that of another column"):
        cost_curve(y, {"threshold": p}, (1, 2))
    assert list(cost_curve(y, {"treat all": p}, (1, 2)).frame().columns) == ["threshold", "treat all"]
