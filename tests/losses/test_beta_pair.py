"""The losses of the Beta family by polynomials, against mpmath and against incomplete beta functions."""

import mpmath as mp
import numpy as np
import pytest

from properly.links import Logit
from properly.losses import BetaLoss
from properly.losses import beta_pair as pair
from properly.losses.beta_pair import beta_pair
from properly.numeric import special

SHAPES = [
    (0.1, 0.1),
    (0.1, 9.9),
    (0.5, 4.5),
    (1.0, 9.0),
    (5.0, 5.0),
    (10.0, 90.0),
    (50.0, 50.0),
    (99.9, 0.1),
    (20.0, 980.0),
]


def exact(alpha, beta, log_scale, v):
    """(L₀, L₁) at the log-odds v: x^a y^b / a ₂F₁(a+b, 1; a+1; x), from the end where that converges fast."""

    def incomplete_beta(x, y, a, b):
        if x > a / (a + b):
            return mp.beta(a, b) - incomplete_beta(y, x, b, a)
        return x**a * y**b / a * mp.hyp2f1(a + b, 1, a + 1, x)

    with mp.workdps(60):
        v, alpha, beta, scale = mp.mpf(v), mp.mpf(alpha), mp.mpf(beta), mp.exp(mp.mpf(log_scale))
        p, q = 1 / (1 + mp.exp(-v)), 1 / (1 + mp.exp(v))
        return [float(scale * incomplete_beta(*x)) for x in ((p, q, alpha + 1, beta), (q, p, beta + 1, alpha))]


@pytest.mark.parametrize(("alpha", "beta"), SHAPES)
def test_matches_mpmath(alpha, beta):
    at = alpha / (alpha + beta)
    loss = BetaLoss.tailored(at, alpha + beta)
    width = 1.0 / np.sqrt((alpha + beta) * at * (1.0 - at))
    v = np.concatenate([[-300.0, -40.0, -5.0, 0.0, 5.0, 40.0], np.log(at / (1 - at)) + width * np.linspace(-6, 6, 13)])
    probabilities = Logit()._probabilities(v)
    ours = np.array(loss._losses(probabilities))
    truth = np.array([exact(loss.alpha, loss.beta, loss.log_scale, x) for x in v]).T
    visible = truth > 1e-290
    np.testing.assert_allclose(ours[visible], truth[visible], rtol=1e-12)
    assert np.all(ours[~visible] <= 1e-290)


@pytest.mark.parametrize("at", [0.001, 0.3, 0.5, 0.9])
def test_the_most_concentrated_are_limited_by_the_rounding_of_their_exponents(at):
    loss = BetaLoss.tailored(at, 1e4)
    v = np.log(at / (1 - at)) + np.linspace(-5, 5, 11) / np.sqrt(1e4 * at * (1 - at))
    ours = np.array(loss._losses(Logit()._probabilities(v)))
    truth = np.array([exact(loss.alpha, loss.beta, loss.log_scale, x) for x in v]).T
    np.testing.assert_allclose(ours, truth, rtol=1e-11)


def test_matches_incomplete_beta_functions_at_any_shape():
    rng = np.random.default_rng(0)
    p = np.concatenate([np.logspace(-12, -1, 23), np.linspace(0.11, 0.89, 79), 1.0 - np.logspace(-1, -12, 23)])
    q = np.concatenate([1.0 - np.logspace(-12, -1, 23), np.linspace(0.89, 0.11, 79), np.logspace(-1, -12, 23)])
    for alpha, beta in np.exp(rng.uniform(np.log(0.1), np.log(300.0), (60, 2))):
        loss = BetaLoss(alpha, beta, -np.log(special.incomplete_beta(np.ones(1), np.zeros(1), alpha, beta)[0]))
        np.testing.assert_allclose(
            loss.loss0(p, q), special.incomplete_beta(p, q, alpha + 1, beta, loss.log_scale), rtol=2e-12, atol=1e-280
        )
        np.testing.assert_allclose(
            loss.loss1(p, q), special.incomplete_beta(q, p, beta + 1, alpha, loss.log_scale), rtol=2e-12, atol=1e-280
        )


@pytest.mark.parametrize(("alpha", "beta"), SHAPES)
def test_ends_and_the_seam(alpha, beta):
    loss = BetaLoss(alpha, beta)
    with mp.workdps(40):
        largest = float(mp.beta(alpha + 1, beta)), float(mp.beta(beta + 1, alpha))
    assert loss.loss0(0.0) == 0.0
    assert loss.loss1(1.0) == 0.0
    assert loss.loss0(1.0) == pytest.approx(largest[0], rel=1e-12)
    assert loss.loss1(0.0) == pytest.approx(largest[1], rel=1e-12)
    seam = beta_pair(alpha, beta, 0.0).split_p
    around = seam + 1e-14 * min(seam, 1.0 - seam) * np.arange(-3, 4)
    for values in (loss.loss0(around), loss.loss1(around)):
        np.testing.assert_allclose(values, values[3], rtol=1e-11)


def test_shapes_of_arrays_are_kept():
    loss = BetaLoss(2.0, 3.0)
    p = np.array([[0.1, 0.5, 0.9], [0.0, 1.0, 0.4]])
    assert loss.loss0(p).shape == (2, 3)
    assert loss.loss0(p)[0, 1] == loss.loss0(0.5)
    assert loss.loss0(np.empty(0)).shape == (0,)


@pytest.mark.parametrize("x", [np.nan, 1.5])
def test_continued_fractions_end(x, monkeypatch):
    monkeypatch.setattr(pair, "_DEEPEST", 100)
    if np.isnan(x):
        assert np.isnan(pair._by_fraction(np.array([x]), 2.0, 3.5)).all()
    else:  # beyond its domain there is no limit
        with pytest.raises(ArithmeticError, match=r"does not converge within 100 terms at a = 2.0, b = 3.5"):
            pair._by_fraction(np.array([x]), 2.0, 3.5)


def test_fractions_of_incomplete_integrals_end(monkeypatch):
    monkeypatch.setattr(special, "_DEEPEST", 20)
    assert np.isnan(special.upper_gamma(-0.5, np.array([np.nan])))
    with pytest.raises(ArithmeticError, match="does not converge within 20 terms"):
        special.upper_gamma(-0.5, np.array([2.0]))
