"""Bennett's density calibrators: reference values, brute force, and what their log-odds look like."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from properly.calibration import (
    AsymmetricGaussianCalibration,
    AsymmetricLaplaceCalibration,
    GaussianCalibration,
    HybridCalibration,
    LaplaceCalibration,
    PiecewiseLogOddsCalibration,
    TwoPieceDensity,
)

# Scores drawn from an asymmetric Laplace density, and its parameters of maximum likelihood by independent search.
SAMPLE = """
-1.493661 -10.510632 -1.596828 -1.150045 -4.147588 -1.832107 -1.926036 -0.997628 -2.304449 -2.798083 -1.35512 -3.929446
-1.315996 -2.343936 -1.173888 -2.587109 -1.767553 -2.170402 -5.658834 -2.92809 -2.544186 -5.998627 -4.558765 -3.019423
0.739895 -0.759514 8.945523 -0.667707 1.965085 1.288888 -0.569102 1.170285 -0.888607 0.647093 0.46031 -0.875207 0.351209
3.465684 -0.003874 -0.280656
"""
LAPLACE = {"theta": -1.315996, "beta": 0.5191973625200156, "gamma": 0.5364612109779185, "loglik": -93.29588102441215}
GAUSSIAN = {
    "theta": -1.508639677647942,
    "sigma_left": 2.794930192517663,
    "sigma_right": 2.993790304670497,
    "loglik": -99.26810539469062,
}
FAMILIES = [
    GaussianCalibration,
    LaplaceCalibration,
    AsymmetricGaussianCalibration,
    AsymmetricLaplaceCalibration,
    HybridCalibration,
]


@pytest.fixture
def reference():
    """The sample as the positives, and negatives below it: enough to make a binary problem of it."""
    positive = np.array(SAMPLE.split(), dtype=float)
    return positive, np.append(positive - 5.0, positive - 6.0)


def fitted(family, positive, negative, **options):
    return family(**options).fit(np.append(negative, positive), np.repeat([0, 1], [len(negative), len(positive)]))


def test_asymmetric_laplace_reference_values(reference):
    density = fitted(AsymmetricLaplaceCalibration, *reference).densities_[1]
    assert density.mode == pytest.approx(LAPLACE["theta"], abs=1e-8)
    assert 1.0 / density.left_scale == pytest.approx(LAPLACE["beta"], abs=1e-8)
    assert 1.0 / density.right_scale == pytest.approx(LAPLACE["gamma"], abs=1e-8)
    assert density.log_density(reference[0]).sum() == pytest.approx(LAPLACE["loglik"], abs=1e-8)


def test_asymmetric_gaussian_reference_values(reference):
    density = fitted(AsymmetricGaussianCalibration, *reference).densities_[1]
    assert density.mode == pytest.approx(GAUSSIAN["theta"], abs=1e-8)
    assert density.left_scale == pytest.approx(GAUSSIAN["sigma_left"], abs=1e-8)
    assert density.right_scale == pytest.approx(GAUSSIAN["sigma_right"], abs=1e-8)
    assert density.log_density(reference[0]).sum() == pytest.approx(GAUSSIAN["loglik"], abs=1e-8)


def test_symmetric_families_are_those_of_scipy(reference):
    positive, negative = reference
    density = fitted(GaussianCalibration, positive, negative).densities_[1]
    location, scale = stats.norm.fit(positive)
    assert [density.mode, density.left_scale, density.right_scale] == pytest.approx([location, scale, scale])
    assert density.log_density(positive) == pytest.approx(stats.norm.logpdf(positive, location, scale))
    density = fitted(LaplaceCalibration, positive, negative).densities_[1]
    location, scale = stats.laplace.fit(positive)
    assert [density.mode, density.left_scale, density.right_scale] == pytest.approx([location, scale, scale])
    assert density.log_density(positive) == pytest.approx(stats.laplace.logpdf(positive, location, scale))


@pytest.mark.parametrize("powers", [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_densities_integrate_to_one(powers):
    density = TwoPieceDensity(0.7, 0.4, 2.5, *powers)
    halves = [integrate.quad(lambda s: np.exp(density.log_density(s)), *ends)[0] for ends in ((-60, 0.7), (0.7, 90))]
    assert sum(halves) == pytest.approx(1.0, abs=1e-9)
    assert density.log_density(0.7 - 1e-12) == pytest.approx(density.log_density(0.7 + 1e-12))


def squares(scores, mode, weight):
    left, right = np.minimum(scores - mode[:, None], 0.0), np.maximum(scores - mode[:, None], 0.0)
    return np.square(left) @ weight, np.square(right) @ weight


@pytest.mark.parametrize("seed", range(60))
def test_the_mode_of_the_asymmetric_gaussian_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 15))
    scores = [rng.standard_cauchy(n), rng.integers(-3, 4, n), rng.exponential(size=n)][seed % 3].astype(float)
    scores[:2] = [-3.0, 4.0]
    weight = rng.integers(1, 4, n).astype(float)
    density = AsymmetricGaussianCalibration()._fit_density(scores, weight, True)
    gaps = np.sort(scores)
    grid = np.append(gaps, gaps[:-1, None] + np.diff(gaps)[:, None] * np.linspace(0.0, 1.0, 2001))
    objective = np.sum(np.cbrt(squares(scores, grid, weight)), axis=0)
    found = np.sum(np.cbrt(squares(scores, np.array([density.mode]), weight)))
    assert found <= objective.min() * (1.0 + 1e-14)


@pytest.mark.parametrize("family", [AsymmetricLaplaceCalibration, AsymmetricGaussianCalibration, HybridCalibration])
@pytest.mark.parametrize("seed", range(4))
def test_scales_have_maximum_likelihood(family, seed):
    """No other scales, given the mode, and no other data point as mode, make the data more likely."""
    rng = np.random.default_rng(seed)
    scores = rng.gamma(3.0, size=60) * rng.choice([-1.0, 1.0], 60, p=[0.3, 0.7])
    weight = rng.integers(1, 4, 60).astype(float)
    for rising in (True, False):
        density = family()._fit_density(scores, weight, rising)
        best = weight @ density.log_density(scores)

        def loss(logs, mode, powers=(density.left_power, density.right_power)):
            return -weight @ TwoPieceDensity(mode, *np.exp(logs), *powers).log_density(scores)

        start = np.log([density.left_scale, density.right_scale])
        assert -optimize.minimize(loss, start, args=(density.mode,)).fun <= best + 1e-6
        for mode in scores[::3]:
            assert -optimize.minimize(loss, start, args=(mode,)).fun <= best + 1e-6


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", ["skewed", "two humps", "ties"])
def test_mode_of_many_scores_is_the_best_of_all(shape, weighted):
    rng = np.random.default_rng(4)
    score = {
        "skewed": rng.gamma(1.5, size=9000),
        "two humps": np.concatenate([rng.normal(-3.0, 1.0, 4500), rng.normal(3.0, 1.1, 4500)]),
        "ties": rng.normal(size=9000).round(1),
    }[shape]
    weight = rng.integers(1, 4, len(score)).astype(float) if weighted else np.ones(len(score))
    order = np.argsort(score)
    x, w = score[order], weight[order]
    left = np.cumsum(w) * x - np.cumsum(w * x)
    right = np.sum(w * x) - np.cumsum(w * x) - (w.sum() - np.cumsum(w)) * x
    roots = np.sqrt(np.maximum(left, 0.0)) + np.sqrt(np.maximum(right, 0.0))
    model = AsymmetricLaplaceCalibration().fit(
        np.concatenate([score, score - 1.0]),
        np.repeat([1, 0], len(score)),
        sample_weight=np.tile(weight, 2) if weighted else None,
    )
    assert model.densities_[1].mode == pytest.approx(x[np.argmin(roots)], abs=1e-9)


def test_hybrid_is_exponential_inside():
    rng = np.random.default_rng(0)
    rest, own = fitted(HybridCalibration, rng.normal(size=80) + 3.0, rng.normal(size=90)).densities_
    assert (rest.left_power, rest.right_power) == (2, 1)
    assert (own.left_power, own.right_power) == (1, 2)
    rest, own = fitted(HybridCalibration, rng.normal(size=80) - 3.0, rng.normal(size=90)).densities_
    assert (rest.left_power, rest.right_power) == (1, 2)
    assert (own.left_power, own.right_power) == (2, 1)


def test_hybrid_searches_large_classes_in_two_steps():
    rng = np.random.default_rng(0)
    # The density is continuous at the mode if the halves have masses in the ratio √(π/2) σ : b.
    scores = np.append(-np.abs(rng.normal(size=4623)), rng.exponential(2.0, 7377)) + 1.0
    density = HybridCalibration()._fit_density(scores, None, False)
    assert [density.mode, density.left_scale, density.right_scale] == pytest.approx([1.0, 1.0, 2.0], abs=0.1)


@pytest.mark.parametrize("family", FAMILIES)
def test_bayes_rule(family):
    rng = np.random.default_rng(0)
    positive, negative = rng.normal(size=30) + 1.0, rng.normal(size=170) * 2.0
    model = fitted(family, positive, negative)
    asked = np.linspace(-8.0, 8.0, 101)
    rest, own = (np.exp(each.log_density(asked)) for each in model.densities_)
    assert model.predict_proba(asked)[:, 1] == pytest.approx(own * 31 / 202 / (own * 31 / 202 + rest * 171 / 202))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_class_of_one_row_has_a_stated_scale(family):
    scores = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 0.5])
    model = family().fit(scores, [0, 0, 0, 0, 0, 1])
    assert model.densities_[1].mode == pytest.approx(0.5)
    assert model.densities_[1].left_scale >= scores.std() / 2.0 * (1.0 - 1e-9)  # σ/(N + 1)
    assert model.densities_[1].right_scale >= scores.std() / 2.0 * (1.0 - 1e-9)


def test_three_classes_have_three_pairs_of_densities():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    model = AsymmetricLaplaceCalibration().fit(np.eye(3)[y] + rng.normal(size=(90, 3)), y)
    assert [len(pair) for pair in model.densities_] == [2, 2, 2]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(6))
def test_monotone_log_odds(family, seed):
    rng = np.random.default_rng(seed)
    positive, negative = rng.normal(size=60) * rng.uniform(0.3, 3) + 1.5, rng.normal(size=80) * rng.uniform(0.3, 3)
    plain, rising = fitted(family, positive, negative), fitted(family, positive, negative, monotone=True)
    grid = np.sort(np.append(np.linspace(-40.0, 40.0, 40_001), [each.mode for each in plain.densities_]))
    curve, monotone = plain.maps_[0].log_odds(grid), rising.maps_[0].log_odds(grid)
    assert np.all(np.diff(monotone) >= 0.0)
    # Brute force: running extremes outwards from the middle between the modes.
    middle = np.searchsorted(grid, np.mean([each.mode for each in plain.densities_]))
    expected = np.append(
        np.minimum.accumulate(curve[: middle + 1][::-1])[::-1][:-1], np.maximum.accumulate(curve[middle:])
    )
    assert np.max(np.abs(monotone - expected)) < 0.01


def test_asymmetric_gaussian_turns_back_unless_monotone():
    rng = np.random.default_rng(0)
    positive, negative = rng.normal(size=100) * 0.3 + 1.0, rng.normal(size=100) * 2.0
    far = [1.0, 5.0, 50.0]
    plain = fitted(AsymmetricGaussianCalibration, positive, negative).predict_proba(far)[:, 1]
    rising = fitted(AsymmetricGaussianCalibration, positive, negative, monotone=True).predict_proba(far)[:, 1]
    assert plain[2] < plain[1] < plain[0]
    assert rising[0] <= rising[1] == rising[2]


def test_piecewise_log_odds_are_three_straight_pieces():
    rng = np.random.default_rng(0)
    positive, negative = rng.normal(size=300) + 1.0, rng.normal(size=500) - 1.0
    model = fitted(PiecewiseLogOddsCalibration, positive, negative)
    modes = [each.mode for each in fitted(AsymmetricLaplaceCalibration, positive, negative).densities_]
    each = model.maps_[0]
    center, scale = each.features.standardize.center, each.features.standardize.scale
    assert center + scale * each.features.knots == pytest.approx(modes)
    grid = np.linspace(-6.0, 6.0, 2401)
    bends = np.abs(np.diff(each.log_odds(grid), 2)) > 1e-9
    assert np.all(np.min(np.abs(grid[1:-1][bends][:, None] - modes), axis=1) < 0.011)
    # Four equations of maximum likelihood with noisy labels.
    scores, y = np.append(negative, positive), np.repeat([0.0, 1.0], [500, 300])
    residual = model.predict_proba(scores)[:, 1] - np.where(y == 1.0, 301 / 302, 1 / 502)
    features = [np.ones(800), scores, *(np.maximum(scores - mode, 0.0) for mode in modes)]
    assert np.array(features) @ residual == pytest.approx(0.0, abs=1e-6)


def test_piecewise_outer_piece_without_positives_stays_finite():
    scores = np.concatenate([np.linspace(-10.0, 0.0, 50), [0.5, 1.0, 2.0, 3.0, -0.5, 0.2]])
    y = np.repeat([0, 1], [50, 6])
    p = PiecewiseLogOddsCalibration().fit(scores, y).predict_proba(scores)
    assert p.min() > 1e-6


@pytest.mark.parametrize("family", [AsymmetricGaussianCalibration, AsymmetricLaplaceCalibration])
def test_equally_good_modes_do_not_depend_on_the_order_of_rows(family):
    s = np.array([-1.5637227378357235, 0.7743306126054347, -3.287649403991737, -1.0111528247164165, 3.114748679197355])
    y = np.array([0, 1, 0, 0, 1])
    p = family().fit(s, y).predict_proba(s)
    np.testing.assert_allclose(family().fit(s[::-1], y[::-1]).predict_proba(s), p, rtol=1e-9)
