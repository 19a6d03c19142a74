import numpy as np
import pytest

from properly.metrics import cost_weighted_error


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    p = np.round(rng.beta(1, 2, 60), 2)
    return rng.random(60) < p, p, rng.random(60)


def brute_force(y, p, c, weight):
    losses = np.where(y, (1 - c) * (p < c), c * (p >= c))
    return np.average(losses, weights=weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_error_is_that_of_its_definition(data, weighted):
    y, p, weight = data
    weight = weight if weighted else None
    thresholds = np.concatenate([[0.0, 1.0, 0.5], p[:20], np.random.default_rng(1).random(20)]).reshape(43, 1)
    expected = [[brute_force(y, p, c, weight)] for c in thresholds.ravel()]
    np.testing.assert_allclose(cost_weighted_error(y, p, thresholds, sample_weight=weight), expected, atol=1e-15)
    one = cost_weighted_error(y, p, 0.3, sample_weight=weight)
    assert isinstance(one, float)
    assert one == pytest.approx(brute_force(y, p, 0.3, weight))


@pytest.mark.parametrize("threshold", [-0.1, 1.1, np.nan, [0.5, 2.0]])
def test_bad_thresholds(data, threshold):
    y, p, _ = data
    with pytest.raises(ValueError, match=r"thresholds must lie in \[0, 1\], got"):
        cost_weighted_error(y, p, threshold)
