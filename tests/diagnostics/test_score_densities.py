"""Histograms and fitted densities of scores."""

import numpy as np
import pytest
from scipy.stats import laplace_asymmetric, norm

from properly.diagnostics import score_densities
from properly.diagnostics.score_densities import DENSITIES

RANDOM = np.random.RandomState(0)
Y = RANDOM.random_sample(4000) < 0.25
SCORE = np.where(Y, 2.0, -1.0) + laplace_asymmetric(kappa=0.5).rvs(4000, random_state=RANDOM)


def test_histograms():
    result = score_densities(Y, SCORE, n_bins=30)
    for side in (0, 1):
        expected = np.histogram(SCORE[side == Y], result.edges)[0] / (np.sum(side == Y) * np.diff(result.edges))
        np.testing.assert_allclose(result.observed[side], expected)
        assert 0.99 < result.observed[side] @ np.diff(result.edges) <= 1.0
    assert result.observed.shape == (2, 30)


def test_gaussian_fits():
    result = score_densities(Y, SCORE, ["gaussian"])
    for side in (0, 1):
        own = SCORE[side == Y]
        fitted = norm(own.mean(), own.std())
        np.testing.assert_allclose(result.fitted[side, 0], fitted.pdf(result.score), rtol=1e-6)
        assert result.log_likelihood[side, 0] == pytest.approx(fitted.logpdf(own).mean())


@pytest.mark.parametrize("method", DENSITIES)
def test_fitted_densities_integrate_to_1_and_asymmetric_laplace_suits_best(method):
    result = score_densities(Y, SCORE, [method, "asymmetric_laplace"])
    np.testing.assert_allclose(np.trapezoid(result.fitted[:, 0], result.score, axis=1), 1.0, atol=0.05)
    assert (result.log_likelihood[:, 1] >= result.log_likelihood[:, 0]).all()


def test_weights_count_as_rows():
    weight = RANDOM.randint(1, 3, 4000)
    weighted = score_densities(Y, SCORE, sample_weight=weight)
    repeated = score_densities(np.repeat(Y, weight), np.repeat(SCORE, weight))
    np.testing.assert_allclose(weighted.log_likelihood, repeated.log_likelihood)


def test_a_single_score_is_given_some_width():
    result = score_densities([0, 1, 1], [3.0, 3.0, 3.0])
    assert result.edges[0] < 3.0 < result.edges[-1]
    assert np.isfinite(result.fitted).all()


def test_scores_that_can_hardly_be_told_apart():
    for scores in ([5e-324, 0.0, 0.0], [1.0, 1.0 + 1e-15, 1.0], [1e150, -1e150, 0.0]):
        assert np.isfinite(score_densities([0, 1, 1], scores).observed).all()
    with pytest.raises(ValueError, match=r"scores must not exceed 1e\+150 in size, got 1e\+200"):
        score_densities([0, 1, 1], [1e200, 0.0, 1.0])


def test_frame():
    frame = score_densities(np.where(Y, "yes", "no"), SCORE, n_bins=20).frame()
    assert len(frame) == 40
    assert frame["class"].tolist() == ["no"] * 20 + ["yes"] * 20
    assert frame.columns.tolist()[-2:] == ["asymmetric_laplace", "gaussian"]


def test_errors():
    with pytest.raises(ValueError, match=r"method must be one of 'gaussian', .*, got 'platt'"):
        score_densities(Y, SCORE, ["platt"])
    with pytest.raises(ValueError, match="scores must be finite"):
        score_densities([0, 1], [np.nan, 0.0])
