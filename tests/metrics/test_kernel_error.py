"""The squared kernel calibration error against sums over all pairs and redrawn labels."""

import numpy as np
import pytest

from properly.metrics import METRICS, kernel_calibration_error


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
def test_weights_whose_powers_float64_cannot_hold_are_refused(weight):
    y, p = forecasts(40)
    with pytest.raises(ValueError, match=r"sample_weight must add up to a number between 1e-70 and 1e\+70, got"):
        kernel_calibration_error(y, p, sample_weight=np.full(40, weight))
