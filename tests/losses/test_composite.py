"""Composites over all losses × links, canonical pairs, and the convex extension outside a support."""

import mpmath as mp
import numpy as np
import pytest

from properly.links import GEV, LINKS, Cauchit, Cloglog, Logit, Loglog, Probit
from properly.losses import (
    LOSSES,
    BetaLoss,
    BoostingLoss,
    CanonicalLink,
    CanonicalLoss,
    Composite,
    CostWeightedLoss,
    GEVLoss,
    LogLoss,
    LossFromWeight,
    SquaredLoss,
    canonical_loss,
)


def asymmetric(p):
    return (1.0 + 3.0 * p) / (p * (1.0 - p))


NUMERICAL = LossFromWeight(asymmetric)
ALL_LOSSES = [
    *(make() for make in LOSSES.values()),
    BetaLoss(2, 5),
    BetaLoss(-0.2, 0.4),
    BetaLoss.tailored(0.2, 10),
    *map(GEVLoss, (-1.5, -0.5, 0.3, 1.0)),
    *map(CanonicalLoss, (Probit(), Cloglog(), Cauchit())),
    NUMERICAL,
]
ALL_LINKS = [*(make() for make in LINKS.values()), *map(GEV, (-1.5, -0.3, 1e-9, 0.2, 1.0))]
CANONICAL = [(loss, loss.canonical_link) for loss in ALL_LOSSES]
PAIRS = [(loss, link) for loss in ALL_LOSSES for link in ALL_LINKS]
PAIRS += [(LogLoss(), CanonicalLink(BetaLoss(2, 5))), (GEVLoss(0.3), CanonicalLink(BoostingLoss()))]
PAIRS += [(BetaLoss(2, 5), CanonicalLink(SquaredLoss())), (SquaredLoss(), CanonicalLink(NUMERICAL))]
EXTREME = np.array([-np.inf, -1e308, -1e100, -1e6, -800.0, -710.0, -40.0, -7.0, 0.0, 7.0, 40.0, 710.0, 800.0, 1e6])
EXTREME = np.concatenate([EXTREME, [1e100, 1e308, np.inf]])
Y = np.array([[0.0], [1.0], [0.25]])


def name(thing):
    return repr(thing).split(" at 0x")[0]


over_pairs = pytest.mark.parametrize(("loss", "link"), [*PAIRS, *CANONICAL], ids=name)
over_canonical_pairs = pytest.mark.parametrize(("loss", "link"), CANONICAL, ids=name)


def scores(link):
    """Ordinary scores, inside the support of the link and not close to its end."""
    if isinstance(link, CanonicalLink):
        return link.link([0.04, 0.1, 0.2, 0.4, 0.6])
    v = np.array([-3.1, -1.3, -0.61, -0.4, -0.05, 0.15, 0.35, 0.8, 1.4, 2.6])
    (p, _), (_, q) = link.inverse_pair(v - 0.01), link.inverse_pair(v + 0.01)
    return v[(p > 1e-7) & (q > 1e-7)]


def derivative(function, v, h):
    """Central differences of fourth order."""
    return (8.0 * (function(v + h) - function(v - h)) - (function(v + 2 * h) - function(v - 2 * h))) / (12.0 * h)


# --- derivatives ---------------------------------------------------------------------------


@over_pairs
def test_gradient_and_curvature_against_differences(loss, link):
    composite, v = Composite(loss, link), scores(link)
    assert len(v) >= 4
    value, gradient = composite.value(Y, v), composite.gradient(Y, v)
    p, q = link.inverse_pair(v)
    h = 2e-4 * np.minimum(1.0, p * q / link.inverse_derivative(v))
    slope = derivative(lambda x: composite.value(Y, x), v, h)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=np.max(1e-14 * np.abs(value) / h) + 1e-10)

    observed = composite.curvature(Y, v, kind="observed")
    slope = derivative(lambda x: composite.gradient(Y, x), v, h)
    np.testing.assert_allclose(observed, slope, rtol=1e-6, atol=np.max(1e-14 * np.abs(gradient) / h) + 1e-10)

    expected = composite.curvature(Y, v)
    assert expected.shape == observed.shape
    np.testing.assert_array_equal(expected[0], expected[1])
    np.testing.assert_allclose(expected[0], q * observed[0] + p * observed[1], rtol=1e-6, atol=1e-10)
    assert np.all(expected >= 0.0)


@over_pairs
def test_value_is_the_loss_of_the_probability(loss, link):
    composite, v = Composite(loss, link), scores(link)
    p, q = link.inverse_pair(v)
    size = 1.0 + np.abs(loss.loss0(p, q)) + np.abs(loss.loss1(p, q))
    assert np.all(np.abs(composite.value(0, v) - loss.loss0(p, q)) <= 1e-12 * size)
    assert np.all(np.abs(composite.value(1, v) - loss.loss1(p, q)) <= 1e-12 * size)


@over_pairs
def test_fractional_labels_average(loss, link):
    composite, v = Composite(loss, link), scores(link)
    for method in (composite.value, composite.gradient, lambda y, v: composite.curvature(y, v, kind="observed")):
        np.testing.assert_allclose(method(0.25, v), 0.75 * method(0, v) + 0.25 * method(1, v), rtol=1e-12, atol=1e-15)


@over_pairs
def test_no_nan_and_monotone_at_extreme_scores(loss, link):
    composite = Composite(loss, link)
    value, gradient = composite.value(Y, EXTREME), composite.gradient(Y, EXTREME)
    expected, observed = composite.curvature(Y, EXTREME), composite.curvature(Y, EXTREME, kind="observed")
    assert not np.isnan([value, gradient, expected, observed]).any()
    assert np.all(gradient[0] >= 0.0)
    assert np.all(gradient[1] <= 0.0)
    assert np.all(expected >= 0.0)
    slack = 1e-12 * (1.0 + np.minimum(np.abs(value), 1e300))
    assert np.all(value[0, 1:] >= (value - slack)[0, :-1])
    assert np.all(value[1, 1:] <= (value + slack)[1, :-1])


@pytest.mark.parametrize(("loss", "link"), [(LogLoss(), Logit()), (BetaLoss(2, 5), Probit())], ids=name)
def test_kinds_of_input(loss, link):
    composite = Composite(loss, link)
    v = np.array([-1.5, 0.3, 2.0], dtype=np.float32)
    y = np.array([0, 1, 1])
    for method in (composite.value, composite.gradient, composite.curvature):
        result = method(y, v)
        assert (result.dtype, result.shape) == (np.float64, (3,))
        np.testing.assert_array_equal(result, method(y.astype(np.float32), v.astype(np.float64)))
        np.testing.assert_array_equal(result, method(y == 1, v))
        np.testing.assert_array_equal(result, method(y.tolist(), v.tolist()))
        assert type(method(1, 0.5)) is np.float64
        assert method(y[:, None], v).shape == (3, 3)
        assert method([], []).shape == (0,)


# --- far tails, in high precision ------------------------------------------------------------


def log_tail(z):
    """ln(1 + e^z) in high precision."""
    return mp.log1p(mp.exp(z))


def mills(v):
    return mp.npdf(v) / mp.ncdf(v)


def upper_gamma(t):
    """Γ(-1/2, t)."""
    return 2 * (mp.exp(-t) / mp.sqrt(t) - mp.sqrt(mp.pi) * mp.erfc(mp.sqrt(t)))


def cauchy(v):
    return mp.atan2(1, -v) / mp.pi


def probit_score(v):
    """Φ⁻¹ of the logistic function, far to the left."""
    return mp.findroot(lambda x: mp.log(mp.ncdf(x)) + log_tail(-v), -mp.sqrt(-2 * v))


FAR = [
    # loss, link, y, v, value, gradient
    (LogLoss(), Logit(), 1, -800, lambda v: log_tail(-v), lambda v: -1 / (1 + mp.exp(v))),
    (LogLoss(), Logit(), 0, 800, lambda v: log_tail(v), lambda v: 1 / (1 + mp.exp(-v))),
    (LogLoss(), Probit(), 1, -800, lambda v: -mp.log(mp.ncdf(v)), lambda v: -mills(v)),
    (LogLoss(), Probit(), 0, 800, lambda v: -mp.log(mp.ncdf(-v)), lambda v: mills(-v)),
    (LogLoss(), Cauchit(), 1, -800, lambda v: -mp.log(cauchy(v)), None),
    (LogLoss(), Cauchit(), 1, -1e250, lambda v: -mp.log(cauchy(v)), lambda v: 1 / v),
    (LogLoss(), Cloglog(), 0, 600, mp.exp, mp.exp),
    (LogLoss(), Cloglog(), 1, -800, lambda v: -mp.log(-mp.expm1(-mp.exp(v))), lambda v: mp.mpf(-1)),
    (LogLoss(), Loglog(), 1, -600, lambda v: mp.exp(-v), lambda v: -mp.exp(-v)),
    (LogLoss(), Loglog(), 0, 800, lambda v: -mp.log(-mp.expm1(-mp.exp(-v))), lambda v: mp.mpf(1)),
    (LogLoss(), GEV(-0.5), 1, -800, lambda v: (1 - v / 2) ** 2, lambda v: -(1 - v / 2)),
    (LogLoss(), GEV(0.25), 0, 800, lambda v: -mp.log(-mp.expm1(-((1 + v / 4) ** -4))), None),
    (BoostingLoss(), Logit(), 0, 800, lambda v: 2 * mp.exp(v / 2), lambda v: mp.exp(v / 2)),
    (BoostingLoss(), Logit(), 0, -800, lambda v: 2 * mp.exp(v / 2), lambda v: mp.exp(v / 2)),
    (BoostingLoss(), Logit(), 1, 800, lambda v: 2 * mp.exp(-v / 2), lambda v: -mp.exp(-v / 2)),
    (BoostingLoss(), Probit(), 1, -50, lambda v: 2 * mp.sqrt(mp.ncdf(-v) / mp.ncdf(v)), None),
    (BetaLoss(-0.5, -0.5), Probit(), 1, -50, lambda v: 2 * mp.sqrt(mp.ncdf(-v) / mp.ncdf(v)), None),
    (BetaLoss(0, 0), Logit(), 1, -800, lambda v: log_tail(-v), None),
    (BetaLoss(0, 0), Probit(), 1, -800, lambda v: -mp.log(mp.ncdf(v)), lambda v: -mills(v)),
    (SquaredLoss(), Logit(), 1, -800, lambda v: mp.mpf(1) / 2, None),
    (SquaredLoss(), Logit(), 0, -300, lambda v: mp.exp(2 * v) / 2, lambda v: mp.exp(2 * v)),
    (SquaredLoss(), Cauchit(), 0, -800, lambda v: cauchy(v) ** 2 / 2, None),
    (GEVLoss(0.0), Logit(), 1, -800, lambda v: mp.e1(log_tail(-v)) + mp.log(log_tail(-v)) + mp.euler, None),
    (GEVLoss(0.0), Logit(), 0, 800, lambda v: mp.e1(log_tail(-v)), lambda v: mp.mpf(1)),
    (GEVLoss(0.5), Logit(), 0, 800, lambda v: upper_gamma(log_tail(-v)), lambda v: mp.exp(v / 2)),
    (GEVLoss(0.5), GEV(0.5), 0, 800, lambda v: upper_gamma((1 + v / 2) ** -2), None),
    (GEVLoss(0.0), Loglog(), 0, 800, lambda v: mp.e1(mp.exp(-v)), lambda v: mp.mpf(1)),
    (CanonicalLoss(Probit()), Probit(), 1, -800, lambda v: -v + 0, lambda v: mp.mpf(-1)),
    (CanonicalLoss(Probit()), Probit(), 0, -37, lambda v: v * mp.ncdf(v) + mp.npdf(v), mp.ncdf),
    (CanonicalLoss(Probit()), Logit(), 1, -800, lambda v: -probit_score(v), lambda v: -1 / mills(probit_score(v))),
    (CanonicalLoss(Cauchit()), Cauchit(), 0, 800, lambda v: v * cauchy(v) - mp.log1p(v * v) / (2 * mp.pi), None),
]


@pytest.mark.parametrize(("loss", "link", "y", "v", "value", "gradient"), FAR, ids=name)
def test_far_tails_against_high_precision(loss, link, y, v, value, gradient):
    """Long after p or 1 - p has left float64. Where no gradient is written down, differences give it."""
    composite = Composite(loss, link)
    with mp.workdps(400 if isinstance(loss, LogLoss | SquaredLoss | GEVLoss) else 30):
        x = mp.mpf(v)
        assert composite.value(y, v) == pytest.approx(float(value(x)), rel=1e-11)
        slope = mp.diff(value, x, relative=True) if gradient is None else gradient(x)
        if abs(slope) > 1e-300:
            assert composite.gradient(y, v) == pytest.approx(float(slope), rel=1e-11)
        else:
            assert abs(composite.gradient(y, v)) < 1e-300


# --- canonical pairs ---------------------------------------------------------------------------


@over_canonical_pairs
def test_each_is_canonical_for_the_other(loss, link):
    assert canonical_loss(link) == loss
    assert canonical_loss(link).canonical_link == link
    assert Composite(loss) == Composite(loss, link)
    assert Composite(loss).canonical


@pytest.mark.parametrize("link", ALL_LINKS, ids=name)
def test_links_have_a_canonical_loss(link):
    """Loglog and GEV(0) are the same map, and either is canonical for GEVLoss(0)."""
    loss = canonical_loss(link)
    assert Composite(loss, link).canonical
    assert loss.canonical_link == (GEV(0.0) if link == Loglog() else link)
    v = scores(link)
    np.testing.assert_allclose(loss.weight(*link.inverse_pair(v)) * link.inverse_derivative(v), 1.0, rtol=1e-11)


@over_canonical_pairs
def test_weight_times_slope_is_one(loss, link):
    v = scores(link)
    np.testing.assert_allclose(loss.weight(*link.inverse_pair(v)) * link.inverse_derivative(v), 1.0, rtol=1e-11)


@over_canonical_pairs
def test_canonical_link_is_the_integral_of_the_weight(loss, link):
    nodes, weights = np.polynomial.legendre.leggauss(40)
    for start, stop in ((0.1, 0.3), (0.3, 0.8)):
        p = 0.5 * (start + stop) + 0.5 * (stop - start) * nodes
        integral = np.sum(loss.weight(p) * weights) * 0.5 * (stop - start)
        assert link.link(stop) - link.link(start) == pytest.approx(integral, rel=1e-9)
    if not isinstance(loss, GEVLoss | CanonicalLoss):
        assert link.link(0.5) == 0.0


@over_canonical_pairs
def test_fused_equals_generic(loss, link):
    """p - y, p' and the antiderivative of F against ω p' and L_y(F(v)), inside the support."""
    composite, v = Composite(loss, link), scores(link)
    with np.errstate(all="ignore"):
        at = link._probabilities(v)
        losses, gradients, curvatures = loss._losses(at), loss._gradients(link, v), loss._curvatures(link, v)
    labels, size = [[0], [1]], 1.0 + np.abs(losses).max()
    np.testing.assert_allclose(composite.value(labels, v), losses, rtol=1e-11, atol=1e-14 * size)
    np.testing.assert_allclose(composite.gradient(labels, v), gradients, rtol=1e-10)
    np.testing.assert_allclose(composite.gradient(labels, v), [at.p, -at.q], rtol=1e-15)
    np.testing.assert_allclose(composite.curvature(labels, v, kind="observed"), curvatures, rtol=1e-5, atol=1e-9)
    np.testing.assert_array_equal(composite.curvature(0, v), composite.curvature(1, v, kind="observed"))


@pytest.mark.parametrize(
    ("loss", "link"),
    [(LogLoss(), Probit()), (SquaredLoss(), Logit()), (GEVLoss(0.2), GEV(0.3)), (CostWeightedLoss(0.2), Logit())],
    ids=name,
)
def test_other_pairs_are_not_canonical(loss, link):
    assert not Composite(loss, link).canonical


# --- canonical links found numerically ------------------------------------------------------------

FOUND = [
    SquaredLoss(),
    BoostingLoss(),
    BetaLoss(2, 5),
    BetaLoss(-0.2, 0.4),
    BetaLoss.tailored(0.1, 30),
    NUMERICAL,
]
over_found = pytest.mark.parametrize("loss", FOUND, ids=name)


@over_found
def test_canonical_link_inverts(loss):
    """From p to v and back, up to what a rounding of the losses, and so of v, does to p."""
    link = loss.canonical_link
    assert isinstance(link, CanonicalLink)
    p = np.concatenate([[1e-6, 1e-3], np.linspace(0.02, 0.98, 49), [0.999, 1.0 - 1e-6]])
    v = link.link(p)
    assert np.all(np.diff(v) >= 0.0)
    largest = np.abs(loss.loss0(p)) + np.abs(loss.loss1(p)) + np.abs(v)  # v is a difference of the two
    slack = 1e-12 + 8 * np.finfo(float).eps * largest / (loss.weight(p) * p * (1.0 - p))
    kept = slack < 1e-3  # where ω vanishes, v hardly moves with p
    p, v, slack = p[kept], v[kept], slack[kept]
    assert len(p) >= 30
    again, complement = link.inverse_pair(v)
    assert np.all(np.abs(again - p) <= slack * p)
    assert np.all(np.abs(complement - (1.0 - p)) <= slack * (1.0 - p))


@pytest.mark.parametrize(
    ("loss", "lower", "upper"),
    [
        (SquaredLoss(), -0.5, 0.5),
        (BetaLoss(1, 1), -0.5, 0.5),
        (BetaLoss(2, 2), -1 / 12, 1 / 12),
        (BetaLoss(1, 0), -np.log(2.0), np.inf),
        (BetaLoss(0, 1), -np.inf, np.log(2.0)),
        (BetaLoss(-0.2, 0.4), -np.inf, 5.0),
        (LossFromWeight(np.ones_like), -0.5, 0.5),
    ],
    ids=name,
)
def test_outside_a_bounded_range_p_is_exactly_0_or_1(loss, lower, upper):
    link = loss.canonical_link
    if loss == BetaLoss(-0.2, 0.4):
        upper = link.link(1.0)  # B(-0.2, 0.4) has no simple form from 1/2 on
        assert np.isfinite(upper)
    assert link.link([0.0, 1.0]) == pytest.approx([lower, upper], rel=1e-12)
    if np.isfinite(upper):
        p, q = link.inverse_pair([upper * 1.0001, upper + 1.0, 1e300, np.inf])
        assert (p.tolist(), q.tolist()) == ([1.0] * 4, [0.0] * 4)
    if np.isfinite(lower):
        p, q = link.inverse_pair([-np.inf, -1e300, lower - 1.0, lower * 1.0001])
        assert (p.tolist(), q.tolist()) == ([0.0] * 4, [1.0] * 4)
    composite, v = Composite(loss), np.linspace(-3.0, 3.0, 121)
    for y in (0, 1):  # convex, with slope 0 on one side and ±1 on the other
        value = composite.value(y, v)
        assert np.all(np.diff(value, 2) >= -1e-13)
        np.testing.assert_allclose(np.diff(value)[1:], np.diff(value)[:-1], atol=0.1)


# --- the convex extension of the GEV pair -----------------------------------------------------------


@pytest.mark.parametrize("xi", [-2.0, -1.0, -0.5, -0.1, 0.1, 0.5, 1.0, 2.0])
def test_convex_extension_outside_the_support(xi):
    composite, edge, outwards = Composite(GEVLoss(xi)), -1.0 / xi, -np.sign(xi)
    outside = edge + outwards * np.array([1e-6, 0.5, 3.0, 1e4])
    for y in (0, 1):
        slope = (1.0 if xi < 0 else 0.0) - y
        np.testing.assert_array_equal(composite.gradient(y, outside), slope)
        np.testing.assert_array_equal(composite.curvature(y, outside), 0.0)
        value = composite.value(y, outside)
        np.testing.assert_allclose(np.diff(value), slope * np.diff(outside), rtol=1e-11, atol=1e-11)
        # continuous value and slope at the edge (the slope approaches like t or e^-t)
        near = edge + outwards * 1e-9 * np.array([-1.0, 1.0]) * max(1.0, abs(edge))
        assert np.subtract(*composite.value(y, near)) == pytest.approx(0.0, abs=1e-7)
        grid = edge + np.linspace(-1.0, 1.0, 401) * min(2.0, abs(edge))
        across = composite.value(y, grid)
        assert np.all(np.isfinite(across))
        assert np.all(np.diff(across, 2) >= -1e-12 * (1.0 + np.abs(across[1:-1])))
        assert np.all(np.diff(composite.gradient(y, grid)) >= 0.0)
    difference = composite.value(0, outside) - composite.value(1, outside) - outside
    np.testing.assert_allclose(difference, difference[0], atol=1e-11)


@pytest.mark.parametrize("xi", [-1.0, -0.5, 0.5, 1.5])
def test_slope_is_continuous_at_the_edge(xi):
    """At relative distance 1e-9 inside, t^(-ξ) = 1e-9: p is exp(-t) and within 2e-5 of its end."""
    composite, edge = Composite(GEVLoss(xi)), -1.0 / xi
    inside, outside = edge * (1.0 - 1e-9), edge * (1.0 + 1e-9)
    assert composite.gradient(0, inside) == pytest.approx(composite.gradient(0, outside), abs=2e-5)


# --- errors --------------------------------------------------------------------------------------------


def test_step_functions_cannot_be_fitted():
    composite = Composite(CostWeightedLoss(0.2), Logit())
    assert composite.value([0, 1], [2.0, -2.0]).tolist() == [0.2, 0.8]
    for method in (composite.gradient, composite.curvature):
        with pytest.raises(ValueError, match=r"step function.*BetaLoss\.tailored"):
            method(0, 0.0)
    mixed = Composite(LogLoss() + CostWeightedLoss(0.2), Logit())
    with pytest.raises(ValueError, match=r"^CostWeightedLoss\(cost=0\.2\) is a step function or has steps"):
        mixed.gradient(0, 0.0)
    with pytest.raises(ValueError, match="no canonical link"):
        Composite(CostWeightedLoss(0.2))


@pytest.mark.parametrize("method", ["value", "gradient", "curvature"])
@pytest.mark.parametrize(
    ("y", "v", "message"),
    [
        (2, 0.0, r"y must lie in \[0, 1\], got 2"),
        (-1, 0.0, r"y must lie in \[0, 1\], got -1"),
        ([0, np.nan], [0.0, 0.0], r"y must lie in \[0, 1\], got nan"),
        (["yes"], [0.0], "y must be numbers"),
        (0, np.nan, "v must not contain nan"),
        (0, "high", "v must be numbers"),
    ],
)
def test_bad_input(method, y, v, message):
    with pytest.raises(ValueError, match=message):
        getattr(Composite(LogLoss()), method)(y, v)


def test_unknown_kind_lists_the_valid_ones():
    with pytest.raises(ValueError, match="kind must be one of 'expected', 'observed', got 'fisher'"):
        Composite(LogLoss()).curvature(0, 0.0, kind="fisher")


@pytest.mark.parametrize(
    ("loss", "link", "y", "v", "truth"),
    [
        (GEVLoss(1.0), Cloglog(), 1, 10.0, -np.exp(10.0)),
        (GEVLoss(1.0), Logit(), 1, 800.0, -1.0),
        (GEVLoss(2.5), Logit(), 1, 300.0, -np.exp(450.0)),
        (GEVLoss(2.5), Logit(), 1, 800.0, -np.inf),
        (BoostingLoss(), Logit(), 0, -800.0, np.exp(-400.0)),
        (BoostingLoss(), Logit(), 1, -800.0, -np.exp(400.0)),
        (canonical_loss(Cauchit()), Probit(), 0, -40.0, 40.0249688 / np.pi),
    ],
    ids=str,
)
def test_gradients_survive_the_underflow_of_a_probability(loss, link, y, v, truth):
    np.testing.assert_allclose(Composite(loss, link).gradient(y, v), truth, rtol=1e-6)


def test_keys_stand_for_objects():
    assert Composite("log", "probit") == Composite(LogLoss(), Probit())
    with pytest.raises(ValueError, match="loss must be one of 'log'"):
        Composite(LogLoss)
    with pytest.raises(ValueError, match="link must be one of 'logit'"):
        Composite(LogLoss(), "logitt")


def test_differences_near_one_outgrow_the_rounding_of_p():
    """ω of a user is a function of p, whose distance from 1 has few digits there."""
    ours, closed = (Composite(loss, GEV(0.2)) for loss in (LossFromWeight(lambda p: 1 / (p * (1 - p))), "log"))
    v = np.array([10.0, 100.0, 300.0, 710.0, 1000.0, 2000.0])  # 1 - p is from 4e-3 to 1e-13
    for y in (0.0, 1.0):
        expected = closed.curvature(y, v, kind="observed")
        np.testing.assert_allclose(ours.curvature(y, v, kind="observed"), expected, rtol=0.03)
