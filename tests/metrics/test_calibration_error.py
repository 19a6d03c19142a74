import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from properly.metrics import (
    calibration_loss,
    classwise_calibration_error,
    confidence_calibration_error,
    expected_calibration_error,
)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, 1500)
    return (rng.random(1500) < p**1.4).astype(int), p


def brute_force(y, p, index, norm):
    total = 0.0
    for bin_ in np.unique(index):
        rows = index == bin_
        total += rows.mean() * abs(p[rows].mean() - y[rows].mean()) ** norm
    return total ** (1 / norm)


@pytest.mark.parametrize("norm", [1, 2])
def test_bins_of_equal_width_and_mass(data, norm):
    y, p = data
    width = np.ceil(p * 15).astype(int)
    mass = np.argsort(np.argsort(p)) // 100
    assert expected_calibration_error(y, p, norm=norm) == pytest.approx(brute_force(y, p, width, norm), abs=1e-12)
    assert expected_calibration_error(y, p, norm=norm, strategy="mass") == pytest.approx(
        brute_force(y, p, mass, norm), abs=1e-12
    )


@pytest.mark.parametrize(("ours", "theirs"), [("width", "uniform"), ("mass", "quantile")])
def test_bins_are_those_of_scikit_learn(data, ours, theirs):
    y, p = data
    if ours == "width":
        p = np.round(p, 1)  # on the edges of the bins
    frequency, forecast = calibration_curve(y, p, n_bins=10, strategy=theirs)
    index = np.array([np.argmin(np.abs(forecast - x)) for x in p]) if ours == "width" else None
    share = 0.1 if index is None else np.bincount(index) / len(p)
    expected = np.sum(share * np.abs(frequency - forecast))
    assert expected_calibration_error(y, p, n_bins=10, strategy=ours) == pytest.approx(expected, abs=1e-9)


def test_relplot_agrees(data):
    relplot = pytest.importorskip("relplot.metrics")
    y, p = data
    assert expected_calibration_error(y, p, n_bins=10) == pytest.approx(relplot.binnedECE(p, y, 10), abs=1e-9)


def test_equal_forecasts_stay_together():
    y, p = np.array([0, 0, 0, 1, 1, 1]), np.array([0.2, 0.5, 0.5, 0.5, 0.5, 0.9])
    # thirds would begin within the ties: the bins are {0.2, the ties} and {0.9}
    assert expected_calibration_error(y, p, n_bins=3, strategy="mass") == pytest.approx(
        5 / 6 * abs(2.2 / 5 - 2 / 5) + 1 / 6 * 0.1
    )
    constant = np.full(6, 0.5)
    for strategy in ("width", "mass"):
        assert expected_calibration_error(y, constant, strategy=strategy) == 0.0
    many = expected_calibration_error(y, np.linspace(0.1, 0.9, 6), strategy="mass", n_bins=100)
    assert many == pytest.approx(np.mean(np.abs(y - np.linspace(0.1, 0.9, 6))))  # every row by itself


def test_weights_of_any_scale_give_the_same_bins(data):
    y, p = data
    for strategy in ("width", "mass"):
        expected = expected_calibration_error(y, p, strategy=strategy)
        for scale in (1e-6, 1 / 3, 1e6):
            weight = np.full(len(y), scale)
            ours = expected_calibration_error(y, p, strategy=strategy, sample_weight=weight)
            assert ours == pytest.approx(expected, abs=1e-12)


def test_debiased_norm_2_by_hand():
    y, p = np.array([0, 1, 1, 0, 0]), np.array([0.2, 0.3, 0.4, 0.8, 0.9])
    gaps = np.array([0.3 - 2 / 3, 0.85])
    variance = np.array([2 / 3 / 3 / 2, 0.0])
    expected = np.sqrt(np.sum([0.6, 0.4] * (gaps**2 - variance)))
    assert expected_calibration_error(y, p, n_bins=2, norm=2, debiased=True) == pytest.approx(expected)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("strategy", ["width", "mass"])
def test_debiasing_removes_what_is_chance(norm, strategy):
    rng = np.random.default_rng(0)
    options = {"norm": norm, "strategy": strategy}
    plain, debiased, truth = [], [], []
    for _ in range(200):
        p = rng.random(400)
        true_p = np.where(p < 0.5, p, p - 0.1)
        y = rng.random(400) < true_p
        plain.append(expected_calibration_error(y, p, **options))
        debiased.append(expected_calibration_error(y, p, debiased=True, **options))
        # with the true probabilities instead of labels in bins of equal width
        index = np.ceil(p * 15).astype(int)
        truth.append(brute_force(true_p, p, index, norm))
    bias, rest = np.mean(plain) - np.mean(truth), np.mean(debiased) - np.mean(truth)
    assert bias > 0.01
    assert abs(rest) < 0.5 * bias


def test_debiased_norm_1_by_simulation():
    y, p = np.array([0, 1, 1, 0, 1, 0, 0, 0]), np.linspace(0.3, 0.5, 8)
    gap, deviation = abs(0.4 - 3 / 8), np.sqrt(3 / 8 * 5 / 8 / 7)
    drawn = np.abs(gap + deviation * np.random.default_rng(0).normal(size=1_000_000)).mean()
    result = expected_calibration_error(y, p, n_bins=1, debiased=True)
    assert result == pytest.approx(max(0.0, 2 * gap - drawn), abs=1e-3)
    far = expected_calibration_error(y, p / 100, n_bins=1, debiased=True)  # the gap is well above chance
    assert far == pytest.approx(3 / 8 - 0.004, abs=0.02)


def test_classwise_and_confidence():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1.0, 2.0, 3.0], 600)
    y = (p.cumsum(axis=1) < rng.random((600, 1))).sum(axis=1)
    single = [expected_calibration_error(y == k, p[:, k], n_bins=8, norm=2) for k in range(3)]
    assert classwise_calibration_error(y, p, n_bins=8, norm=2) == pytest.approx(np.mean(single))
    expected = expected_calibration_error(p.argmax(axis=1) == y, p.max(axis=1), strategy="mass")
    assert confidence_calibration_error(y, p, strategy="mass") == pytest.approx(expected)


def test_two_classes_are_many_classes(data):
    y, p = data
    both = [expected_calibration_error(y, p), expected_calibration_error(1 - y, 1 - p)]
    assert classwise_calibration_error(y, p) == pytest.approx(np.mean(both))
    right = (p > 0.5) == y
    assert confidence_calibration_error(y, p) == pytest.approx(expected_calibration_error(right, np.maximum(p, 1 - p)))
    # of equally probable classes the first counts
    assert confidence_calibration_error([0, 0], [0.5, 0.5]) == 0.5
    assert confidence_calibration_error([1, 1], [0.5, 0.5]) == 0.5
    assert confidence_calibration_error([0, 0, 1], [[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]], n_bins=1) == pytest.approx(0.4)


def test_calibration_loss(data):
    y, p = data
    index = np.ceil(p * 10).astype(int)
    frequency = np.array([y[index == bin_].mean() for bin_ in index])
    assert calibration_loss(y, p) == pytest.approx(np.mean((p - frequency) ** 2))
    assert calibration_loss([0, 1], [0.0, 1.0]) == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 0}, "n_bins must be a whole number of at least 1, got 0"),
        ({"n_bins": True}, "n_bins must be a whole number of at least 1, got True"),
        ({"norm": True}, "norm must be 1 or 2, got True"),
        ({"norm": [1]}, "norm must be 1 or 2, got .1."),
        ({"n_bins": 2.5}, "n_bins must be a whole number"),
        ({"strategy": "uniform"}, "strategy must be one of 'width', 'mass', got 'uniform'"),
        ({"norm": 3}, "norm must be 1 or 2, got 3"),
        ({"norm": "max"}, "norm must be 1 or 2, got 'max'"),
    ],
)
def test_bad_options(options, message):
    for metric in (expected_calibration_error, classwise_calibration_error, confidence_calibration_error):
        with pytest.raises(ValueError, match=message):
            metric([0, 1], [0.2, 0.8], **options)
