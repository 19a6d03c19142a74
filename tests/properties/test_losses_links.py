"""Properties that hold whatever the shape, the parameters and the probability."""

import numpy as np
import pytest
from hypothesis import example, settings
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st

from properly.links import GEV, LINKS, Cauchit, Probit
from properly.losses import (
    LOSSES,
    BetaLoss,
    CanonicalLoss,
    Composite,
    CostWeightedLoss,
    GEVLoss,
    canonical_loss,
)
from properly.numeric.probabilities import as_probabilities


def given(*strategies):
    """Without a deadline: how long a machine takes is no property of the library."""
    return lambda test: settings(deadline=None)(hypothesis_given(*strategies)(test))


EPS = np.finfo(np.float64).eps
shapes = st.floats(-2.0, 2.0)
probabilities = st.floats(-690.0, 690.0).map(lambda z: (1.0 / (1.0 + np.exp(-z)), 1.0 / (1.0 + np.exp(z))))
ordinary = st.floats(0.01, 0.99)
parameters = st.floats(-0.95, 6.0)
scores = st.floats(allow_nan=False)
links = st.one_of(
    st.sampled_from([make() for make in LINKS.values()]),
    shapes.map(GEV),
)
losses = st.one_of(
    st.sampled_from([*(make() for make in LOSSES.values()), CanonicalLoss(Probit()), CanonicalLoss(Cauchit())]),
    shapes.map(GEVLoss),
    st.builds(BetaLoss, parameters, parameters),
    st.builds(BetaLoss.tailored, ordinary, st.floats(0.0, 1e4)),
)


@given(links, scores)
def test_inverse_is_a_probability(link, v):
    p, q = link.inverse_pair(v)
    assert 0.0 <= p <= 1.0
    assert 0.0 <= q <= 1.0
    assert abs(p + q - 1.0) <= EPS
    assert link.inverse_derivative(v) >= 0.0


@given(links, scores, scores)
def test_inverse_is_monotone(link, v, w):
    """To a rounding: v and its neighbour may come out the wrong way round by the last digit."""
    low, high = link.inverse_pair(min(v, w)), link.inverse_pair(max(v, w))
    assert low[0] <= high[0] * (1.0 + 1e-12)
    assert high[1] <= low[1] * (1.0 + 1e-12)


@given(links, probabilities)
def test_round_trip(link, pair):
    """p is back up to what a rounding of the score does to it."""
    v = link.link(*pair)
    if not np.isfinite(v):
        return
    p, q = link.inverse_pair(v)
    with np.errstate(all="ignore"):
        hazards = link._hazards(link._coordinate(as_probabilities(*pair)))
    for actual, expected, hazard in zip((p, q), pair, hazards, strict=True):
        unavoidable = 8.0 * EPS * abs(v) * hazard
        if unavoidable < 0.01:
            assert actual == pytest.approx(expected, rel=1e-11 + unavoidable)


@given(shapes, probabilities)
@example(1e-12, (1e-300, 1.0))
@example(-1e-17, (0.999, 0.001))
def test_shape_moves_the_gev_link_continuously(xi, pair):
    """A shape that differs in its last digits gives a link that differs in its last digits."""
    one, other = GEV(xi).link(*pair), GEV(xi + 1e-15).link(*pair)
    log_t = abs(float(np.log(-np.log1p(-pair[1])))) if pair[1] < 0.5 else abs(float(np.log(-np.log(pair[0]))))
    assert other == pytest.approx(one, rel=1e-14 + 4e-15 * log_t, abs=1e-14 * (1.0 + log_t**2)) or one == other


@given(losses, ordinary, ordinary)
def test_the_truth_is_the_best_forecast(loss, eta, p):
    """Regret is never negative, up to a rounding of the losses."""
    size = abs(loss.loss0(p)) + abs(loss.loss1(p)) + abs(loss.loss0(eta)) + abs(loss.loss1(eta))
    assert loss.risk(eta, p) >= loss.entropy(eta) - 1e-11 * size


@given(losses, probabilities, probabilities)
def test_losses_are_monotone(loss, one, other):
    (p, q), (r, s) = (one, other) if one[0] < other[0] or one[1] > other[1] else (other, one)
    for low, high in ((loss.loss0(p, q), loss.loss0(r, s)), (loss.loss1(r, s), loss.loss1(p, q))):
        assert not np.isnan([low, high]).any()
        assert low <= high + 1e-10 * abs(high) or low == high


@given(losses, ordinary)
def test_weight_gives_both_derivatives(loss, p):
    """(L₀(p+h) - L₀(p-h)) / p and (L₁(p-h) - L₁(p+h)) / (1-p) agree: both are 2h ω."""
    concentration = abs(getattr(loss, "alpha", 0.0)) + abs(getattr(loss, "beta", 0.0))
    h = 1e-4 * p * (1.0 - p) / (1.0 + concentration)
    rise, fall = loss.loss0(p + h) - loss.loss0(p - h), loss.loss1(p - h) - loss.loss1(p + h)
    weight = loss.weight(p)
    noise = 1e-11 * (abs(loss.loss0(p)) + abs(loss.loss1(p)))
    assert rise / (2 * h) == pytest.approx(p * weight, rel=1e-4, abs=noise / h)
    assert fall / (2 * h) == pytest.approx((1.0 - p) * weight, rel=1e-4, abs=noise / h)


@given(parameters, parameters, probabilities)
def test_beta_losses_mirror(alpha, beta, pair):
    one, other = BetaLoss(alpha, beta), BetaLoss(beta, alpha)
    assert one.loss0(*pair) == pytest.approx(other.loss1(*pair[::-1]), rel=1e-12)
    assert one.weight(*pair) == pytest.approx(other.weight(*pair[::-1]), rel=1e-12)


@given(ordinary, st.floats(0.0, 1e4))
def test_tailored_weight(at, concentration):
    loss = BetaLoss.tailored(at, concentration)
    assert loss.weight(at) == pytest.approx(1.0 / (at * (1.0 - at)), rel=1e-10)


@given(st.floats(-0.999, 0.999), probabilities)
def test_gev_losses_differ_by_the_link_and_a_constant(xi, pair):
    """L₀ - L₁ - ψ is the same at every p, for ξ < 1."""
    loss, link = GEVLoss(xi), GEV(xi)
    constant = loss.loss0(0.4) - loss.loss1(0.4) - link.link(0.4)
    at0, at1, v = loss.loss0(*pair), loss.loss1(*pair), link.link(*pair)
    if np.isfinite([at0, at1, v]).all():
        size = 1.0 + abs(at0) + abs(at1) + abs(v) + abs(constant)
        assert abs(at0 - at1 - v - constant) <= 1e-12 * size


@given(losses, links, st.floats(-30.0, 30.0), st.sampled_from([0.0, 0.3, 1.0]))
@example(BetaLoss.tailored(0.5, 1025.0), GEV(1.0), -1.0, 0.3)
def test_composites_have_no_nan_and_gradients_of_the_right_sign(loss, link, v, y):
    composite = Composite(loss, link)
    assert not np.isnan(composite.value(y, v))
    assert composite.gradient(0, v) >= 0.0
    assert composite.gradient(1, v) <= 0.0
    assert composite.curvature(y, v) >= 0.0
    assert not np.isnan(composite.curvature(y, v, kind="observed"))


@given(shapes, st.floats(-50.0, 50.0), st.floats(-50.0, 50.0), st.floats(0.0, 1.0), st.sampled_from([0, 1]))
def test_canonical_gev_composite_is_convex_everywhere(xi, v, w, share, y):
    """Inside the support, outside it, and across its end."""
    composite = Composite(GEVLoss(xi))
    middle = share * v + (1.0 - share) * w
    at_v, at_w, between = composite.value(y, [v, w, middle])
    assert between <= share * at_v + (1.0 - share) * at_w + 1e-11 * (1.0 + abs(at_v) + abs(at_w))


@given(links, st.floats(-8.0, 8.0), st.floats(-8.0, 8.0))
def test_canonical_composites_lie_above_their_tangents(link, v, w):
    composite = Composite(canonical_loss(link), link)
    for y in (0, 1):
        tangent = composite.value(y, v) + composite.gradient(y, v) * (w - v)
        value = composite.value(y, w)
        assert value >= tangent - 1e-11 * (1.0 + abs(value) + abs(composite.value(y, v)))


@given(st.floats(0.001, 0.999), ordinary, ordinary)
def test_cost_weighted_error_is_proper(cost, eta, p):
    loss = CostWeightedLoss(cost)
    assert loss.risk(eta, p) >= loss.entropy(eta) - 1e-15
    assert loss.entropy(eta) == pytest.approx(min(eta * (1.0 - cost), (1.0 - eta) * cost), rel=1e-12)
