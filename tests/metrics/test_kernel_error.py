"""The squared kernel calibration error against sums over all pairs and redrawn labels."""

import numpy as np
import pytest

from properly.metrics import METRICS, kernel_calibration_error
from properly.metrics import kernel_error as module


def forecasts(n, seed=0, classes=3):
    random = np.random.default_rng(seed)
    p = random.dirichlet(np.ones(classes), n)
    return (random.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1), p


def test_it_is_the_mean_over_pairs():
    y, p = forecasts(40)
    residual = np.eye(3)[y] - p
    distance = np.sqrt(np.square(p[:, None] - p).sum(axis=2))
    scale = np.sqrt(np.mean(np.square(distance)))
    h = (residual @ residual.T) * np.exp(-distance / scale)
    pairs = np.triu_indices(40, 1)
    found = kernel_calibration_error(y, p)
    assert found.error == pytest.approx(h[pairs].mean())
    assert found.low < found.error < found.high
    assert METRICS["kernel_calibration_error"].function(y, p) == pytest.approx(found.error)


@pytest.mark.parametrize("estimator", ["pairs", "blocks", "linear"])
def test_no_estimator_has_a_bias(estimator, monkeypatch):
    monkeypatch.setitem(kernel_calibration_error.__globals__["_ESTIMATORS"], "blocks", 25)
    right, wrong = [], []
    y, p = forecasts(4_000, 1_000)
    truth = kernel_calibration_error(y, p[:, [1, 0, 2]]).error
    for seed in range(100):
        y, p = forecasts(100, seed)
        right.append(kernel_calibration_error(y, p, estimator=estimator).error)
        wrong.append(kernel_calibration_error(y, p[:, [1, 0, 2]], estimator=estimator).error)
    for errors, expected in ((right, 0.0), (wrong, truth)):
        assert np.mean(errors) == pytest.approx(expected, abs=4.0 * np.std(errors) / 10.0)


@pytest.mark.slow
@pytest.mark.parametrize("n", [120, 700])
def test_the_p_value_is_uniform_if_the_forecasts_are_right(n):
    p_values = np.array([kernel_calibration_error(*forecasts(n, seed)).p_value for seed in range(200)])
    for level in (0.05, 0.3, 0.7):
        assert np.mean(p_values <= level) == pytest.approx(level, abs=3.5 * np.sqrt(level * (1.0 - level) / 200))


def test_the_interval_holds_the_error_of_wrong_forecasts():
    y, p = forecasts(9_000, 5)
    truth = kernel_calibration_error(y, p[:, [1, 0, 2]]).error
    found = [kernel_calibration_error(y, p[:, [1, 0, 2]]) for y, p in (forecasts(400, seed) for seed in range(40))]
    assert np.mean([each.low < truth < each.high for each in found]) > 0.85


def test_equal_forecasts_and_bad_options():
    result = kernel_calibration_error([0, 1, 2, 0], np.full((4, 3), 1.0 / 3.0))
    assert np.isfinite(result.error)
    with pytest.raises(ValueError, match="estimator must be one of"):
        kernel_calibration_error([0, 1], [0.2, 0.8], estimator="all")


@pytest.mark.parametrize("weight", [1e-300, 1e200])
def test_equal_weights_that_are_no_counts_change_nothing(weight):
    y, p = forecasts(40)
    found, plain = kernel_calibration_error(y, p, sample_weight=np.full(40, weight)), kernel_calibration_error(y, p)
    assert (found.error, found.low, found.high) == pytest.approx((plain.error, plain.low, plain.high), rel=1e-9)


@pytest.mark.parametrize("estimator", ["pairs", "blocks"])
def test_copies_in_clusters_are_one_row(estimator, monkeypatch):
    monkeypatch.setitem(module._ESTIMATORS, "blocks", 100)
    y, p = forecasts(200)
    cluster = np.repeat(np.random.default_rng(0).permutation(200), 3)
    alone = kernel_calibration_error(y, p, estimator="pairs")
    copies = kernel_calibration_error(y.repeat(3), p.repeat(3, axis=0), estimator=estimator, cluster=cluster)
    assert np.isnan(copies.p_value)
    if estimator == "pairs":
        assert copies.error == pytest.approx(alone.error)
        assert (copies.low, copies.high) == pytest.approx((alone.low, alone.high), rel=0.2)
    assert copies.low < 0.0 < copies.high
    wrong = kernel_calibration_error(y.repeat(3), p[:, [1, 2, 0]].repeat(3, axis=0), cluster=cluster)
    assert wrong.low > 0.0


def test_rows_without_a_cluster_are_refused():
    y, p = forecasts(4)
    with pytest.raises(ValueError, match=r"cluster has 1 missing values, .* leave these rows out"):
        kernel_calibration_error(y, p, cluster=["a", "b", None, "a"])
