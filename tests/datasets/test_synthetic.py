import numpy as np
import pytest
from scipy.stats import chi2

from properly.datasets import make_rare_events
from properly.links import GEV

LINKS = ["logit", "probit", "cloglog", "loglog", "cauchit", "gev", GEV(0.3), GEV(-0.3)]


@pytest.mark.parametrize("link", LINKS, ids=str)
@pytest.mark.parametrize("rate", [0.001, 0.02, 0.5, 0.97])
def test_mean_probability_is_the_rate(link, rate):
    X, y, p = make_rare_events(3_000, 4, rate=rate, link=link, random_state=1)
    assert X.shape == (3_000, 4)
    assert set(np.unique(y)) <= {0, 1}
    assert p.min() >= 0
    assert p.max() <= 1
    assert p.mean() == pytest.approx(rate, rel=0, abs=1e-10)


def test_same_seed_same_data_other_seed_other_data():
    first, again = (make_rare_events(500, 3, random_state=7) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first[0], make_rare_events(500, 3, random_state=8)[0])


def calibration_statistic(y, p, n_groups=20):
    """Hosmer–Lemeshow: chi-square with n_groups degrees of freedom if y ~ Bernoulli(p)."""
    groups = np.array_split(np.argsort(p), n_groups)
    observed = np.array([y[group].sum() for group in groups])
    expected = np.array([p[group].sum() for group in groups])
    variance = np.array([(p[group] * (1 - p[group])).sum() for group in groups])
    return float(np.sum((observed - expected) ** 2 / variance))


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_labels_follow_the_probabilities(link):
    _, y, p = make_rare_events(200_000, 5, rate=0.3, link=link, signal=0.5, random_state=3)
    assert calibration_statistic(y, p) < chi2.ppf(1 - 1e-4, 20)
    # The check has teeth: probabilities off by a tenth do not pass.
    assert calibration_statistic(y, 0.9 * p) > chi2.ppf(1 - 1e-4, 20)


@pytest.mark.parametrize("signal", [0.0, 0.5, 2.0])
def test_signal_is_the_spread_of_the_score(signal):
    _, _, p = make_rare_events(50_000, 6, rate=0.1, signal=signal, random_state=0)
    assert np.std(np.log(p / (1 - p))) == pytest.approx(signal, rel=0.02, abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rate": 1.2}, r"rate must be above 0 and below 1, got 1\.2\."),
        ({"rate": 0.0}, r"rate must be above 0 and below 1, got 0\.0\."),
        ({"rate": float("nan")}, r"rate must be above 0 and below 1, got nan\."),
        ({"rate": "1 %"}, r"rate must be above 0 and below 1, got '1 %'\."),
        ({"signal": -1}, r"signal must be at least 0 and finite, got -1\."),
        ({"signal": float("inf")}, r"signal must be at least 0 and finite, got inf\."),
        ({"n_samples": 0}, r"n_samples must be a whole number of at least 1, got 0\."),
        ({"n_samples": 2.5}, r"n_samples must be a whole number of at least 1, got 2\.5\."),
        ({"n_features": 0}, r"n_features must be a whole number of at least 1, got 0\."),
        ({"n_samples": 100, "rate": 0.004}, r"n_samples must be at least 250 .* \(0\.4 rows expected"),
        ({"n_samples": 100, "rate": 0.996}, r"n_samples must be at least 250 .* \(0\.4 rows expected"),
        ({"link": "nonsense"}, r"nonsense"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_rare_events(**arguments)
