"""Every proper loss: its definition by ω, properness, the mixture of cost-weighted errors, closed forms, both ends."""

import math

import numpy as np
import pytest
from scipy import optimize, special

from properly import load, save
from properly.datasets import make_rare_events
from properly.linear import ProperLinearClassifier
from properly.links import GEV, Cauchit, Cloglog, Loglog, Probit
from properly.losses import (
    LOSSES,
    BetaLoss,
    BoostingLoss,
    CanonicalLoss,
    CostWeightedLoss,
    GEVLoss,
    LogLoss,
    LossFromPartial,
    LossFromWeight,
    MixtureLoss,
    SquaredLoss,
    get_loss,
)


def asymmetric(p):
    return (1.0 + 3.0 * p) / (p * (1.0 - p))


def bump(p):
    return np.exp(-20.0 * (p - 0.3) ** 2)


BETAS = [(2, 5), (0.5, 0.25), (-0.2, 0.4), (0.4, -0.2), (-0.9, -0.9), (0, 3), (3, 0), (-0.5, 2), (30, 70)]
SMOOTH = [
    *(make() for make in LOSSES.values()),
    *(BetaLoss(alpha, beta) for alpha, beta in BETAS if alpha != 30),
    BetaLoss.tailored(0.1, 10),
    BetaLoss.tailored(0.3, 100),
    *map(GEVLoss, (-2.0, -1.0, -0.5, -1e-9, 1e-6, 0.2, 0.5, 1.0, 1.5)),
    *map(CanonicalLoss, (Probit(), Cloglog(), Cauchit())),
    LossFromWeight(asymmetric),
    LossFromWeight(bump),
    LossFromWeight(lambda p: (p * (1.0 - p)) ** -1.5),
    LossFromPartial(lambda p: -np.log(p)),
    LossFromPartial(at0=lambda p: p**2 / 2.0),
    0.1 * LogLoss() + BetaLoss.tailored(0.3, 30),
]
UNBOUNDED_BELOW = {GEVLoss(1.0), GEVLoss(1.5), CanonicalLoss(Cauchit())}
BOUNDED_BELOW = [loss for loss in SMOOTH if loss not in UNBOUNDED_BELOW]
P = np.concatenate([[1e-9, 1e-4], np.linspace(0.02, 0.98, 25), [1.0 - 1e-4]])

over_losses = pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: repr(loss).split(" at 0x")[0])


# --- the definition ----------------------------------------------------------------------


@over_losses
def test_derivatives_are_those_the_weight_gives(loss):
    """L₀' = p ω and L₁' = -(1-p) ω, by differences of fourth order."""
    h = 2e-4 * np.minimum(P, 1.0 - P)
    steps = ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))
    slope0 = sum(c * loss.loss0(P + k * h) for k, c in steps) / h
    slope1 = sum(c * loss.loss1(P + k * h) for k, c in steps) / h
    weight = loss.weight(P)
    noise0 = 1e-14 * np.abs(loss.loss0(P)) / h
    noise1 = 1e-14 * np.abs(loss.loss1(P)) / h
    assert np.all(np.abs(slope0 - P * weight) <= 1e-7 * P * weight + noise0)
    assert np.all(np.abs(slope1 + (1.0 - P) * weight) <= 1e-7 * (1.0 - P) * weight + noise1)


@over_losses
def test_monotone_and_risk_is_the_average(loss):
    at0, at1 = loss.loss0(P), loss.loss1(P)
    assert np.all(np.diff(at0) >= 0.0)
    assert np.all(np.diff(at1) <= 0.0)
    np.testing.assert_allclose(loss.risk(0.3, P), 0.7 * at0 + 0.3 * at1, rtol=1e-14)
    np.testing.assert_allclose(loss.entropy(P), (1.0 - P) * at0 + P * at1, rtol=1e-13)
    np.testing.assert_array_equal(loss.risk([0.0], P), at0)
    np.testing.assert_array_equal(loss.risk([1.0], P), at1)


@over_losses
@pytest.mark.parametrize("eta", [0.003, 0.1, 0.42, 0.7, 0.95])
def test_proper(loss, eta):
    """The truth is the best forecast: on a grid in the log-odds, and by Brent's method around it."""
    z = np.log(eta / (1.0 - eta))
    grid = 1.0 / (1.0 + np.exp(-(z + np.linspace(-6.0, 6.0, 241))))
    risk = loss.risk(eta, grid)
    best = loss.entropy(eta)
    assert np.all(risk >= best - 1e-13 * (1.0 + abs(best)))
    weights = loss.weight(grid) * (grid * (1.0 - grid)) ** 2
    if weights[120] < 1e-3 * weights.max():
        return  # the loss hardly cares here: the minimum is too flat for a search by values
    found = optimize.minimize_scalar(lambda x: loss.risk(eta, 1.0 / (1.0 + np.exp(-x))), bracket=(z - 1, z + 1))
    assert found.x == pytest.approx(z, abs=2e-5)


@over_losses
def test_entropy_is_concave_with_second_derivative_minus_weight(loss):
    """By the second difference, exact to O(h²); regret is never negative."""
    eta = np.linspace(0.05, 0.95, 19)
    h = 1e-3 * np.minimum(eta, 1.0 - eta)
    low, middle, high = loss.entropy(eta - h), loss.entropy(eta), loss.entropy(eta + h)
    second = (low - 2.0 * middle + high) / h**2
    weight = loss.weight(eta)
    noise = 1e-14 * (np.abs(loss.loss0(eta)) + np.abs(loss.loss1(eta))) / h**2
    assert np.all(np.abs(second + weight) <= 1e-3 * weight + noise)
    assert np.all(second <= noise)


NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(20)


def mixture(loss, label, p, upper):
    """∫ L_c(y|p) ω(c) dc over c in (0, upper), in the log-odds of c, where the lower end is smooth."""
    z, last = np.log([p, upper]) - np.log1p([-p, -upper])
    edges = np.unique([*np.arange(-300.0, -20.0, 10.0), *np.arange(-20.0, 6.0), z, last])
    edges = edges[edges <= last]
    half = 0.5 * np.diff(edges)[:, None]
    c = 1.0 / (1.0 + np.exp(-(edges[:-1, None] + half + half * NODES)))
    name = "loss1" if label else "loss0"
    errors = np.reshape([getattr(CostWeightedLoss(cost), name)(p) for cost in c.flat], c.shape)
    return np.sum(errors * loss.weight(c) * c * (1.0 - c) * half * NODE_WEIGHTS)


@pytest.mark.parametrize("loss", BOUNDED_BELOW, ids=lambda loss: repr(loss).split(" at 0x")[0])
@pytest.mark.parametrize("p", [0.03, 0.9])
def test_mixture_of_cost_weighted_errors(loss, p):
    """L_y(p) = ∫ L_c(y|p) ω(c) dc; costs above 0.99 add the same to every L₁ that is not yet 0."""
    assert mixture(loss, 0, p, 0.99) == pytest.approx(loss.loss0(p), rel=1e-10)
    assert mixture(loss, 1, p, 0.99) == pytest.approx(loss.loss1(p) - loss.loss1(0.99), rel=1e-10)


@pytest.mark.parametrize("loss", BOUNDED_BELOW, ids=lambda loss: repr(loss).split(" at 0x")[0])
def test_a_perfect_forecast_costs_nothing(loss):
    assert loss.loss0(0.0) == 0.0
    assert loss.loss1(1.0) == 0.0
    assert loss.entropy(0.0) == loss.entropy(1.0) == 0.0


@over_losses
def test_ends_are_not_nan(loss):
    p, q = np.array([0.0, 1e-308, 1e-300, 1.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0, 1e-300, 1e-308, 0.0])
    for name in ("weight", "loss0", "loss1", "entropy"):
        values = getattr(loss, name)(p, q)
        assert not np.isnan(values).any(), name
    assert not np.isnan(loss.risk([[0.0], [0.5], [1.0]], p, q)).any()
    assert loss.loss0(1.0) >= loss.loss0(1.0, 1e-300) >= loss.loss0(0.5)
    assert loss.loss1(0.0) >= loss.loss1(1e-300) >= loss.loss1(0.5)
    assert loss.risk(0.0, 0.0) == loss.loss0(0.0)
    assert loss.risk(1.0, 1.0) == loss.loss1(1.0)


@over_losses
def test_kinds_of_input(loss):
    p = np.array([0.125, 0.3, 0.8], dtype=np.float32)
    for method in (loss.weight, loss.loss0, loss.loss1, loss.entropy):
        array = method(p)
        assert (array.dtype, array.shape) == (np.float64, (3,))
        np.testing.assert_array_equal(array, method(p.astype(np.float64)))
        np.testing.assert_array_equal(array, method(p.tolist()))
        np.testing.assert_allclose(array, method(p, 1.0 - p.astype(np.float64)), rtol=1e-12)
        assert type(method(0.5)) is np.float64
        assert method([]).shape == (0,)
    assert type(loss.risk(0.5, 0.25)) is np.float64
    assert loss.risk(p[:, None], p).shape == (3, 3)


# --- closed forms ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "weight", "loss0", "loss1"),
    [
        (LogLoss(), lambda p, q: 1 / (p * q), lambda p, q: -np.log1p(-p), lambda p, q: -np.log(p)),
        (SquaredLoss(), lambda p, q: p**0, lambda p, q: p**2 / 2, lambda p, q: q**2 / 2),
        (
            BoostingLoss(),
            lambda p, q: (p * q) ** -1.5,
            lambda p, q: 2 * np.sqrt(p / q),
            lambda p, q: 2 * np.sqrt(q / p),
        ),
        (GEVLoss(-1.0), lambda p, q: 1 / p, lambda p, q: p, lambda p, q: p - 1 - np.log(p)),
    ],
)
def test_closed_special_cases(loss, weight, loss0, loss1):
    p, q = P, 1.0 - P
    np.testing.assert_allclose(loss.weight(p, q), weight(p, q), rtol=1e-13)
    np.testing.assert_allclose(loss.loss0(p, q), loss0(p, q), rtol=1e-12)
    np.testing.assert_allclose(loss.loss1(p, q), loss1(p, q), rtol=1e-11, atol=1e-16)


@pytest.mark.parametrize(
    ("general", "special"),
    [
        (BetaLoss(0, 0), LogLoss()),
        (BetaLoss(1, 1), SquaredLoss()),
        (BetaLoss(-0.5, -0.5), BoostingLoss()),
        (BetaLoss(0, 1), GEVLoss(-1.0)),
        (CanonicalLoss(Loglog()), GEVLoss(0.0)),
        (CanonicalLoss(GEV(0.3)), GEVLoss(0.3)),
    ],
    ids=repr,
)
def test_special_cases_of_a_family(general, special):
    p, q = np.append(P, [1e-300, 1.0]), np.append(1.0 - P, [1.0, 1e-300])
    for name in ("weight", "loss0", "loss1"):
        np.testing.assert_allclose(getattr(general, name)(p, q), getattr(special, name)(p, q), rtol=1e-12)


@pytest.mark.parametrize(("alpha", "beta"), BETAS)
def test_exchanging_the_classes_exchanges_the_parameters(alpha, beta):
    p, q = P, 1.0 - P
    one, other = BetaLoss(alpha, beta), BetaLoss(beta, alpha)
    np.testing.assert_allclose(one.loss0(p, q), other.loss1(q, p), rtol=1e-13)
    np.testing.assert_allclose(one.weight(p, q), other.weight(q, p), rtol=1e-13)


# --- tailored ------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [1e-4, 0.03, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("concentration", [0.0, 1.0, 30.0, 1e4])
def test_tailored(at, concentration):
    loss = BetaLoss.tailored(at, concentration)
    assert loss.alpha + loss.beta == pytest.approx(concentration)
    assert loss.alpha == pytest.approx(at * concentration)
    assert loss.weight(at) == pytest.approx(1.0 / (at * (1.0 - at)), rel=1e-10)
    p = np.concatenate([P, [at]])
    assert np.all(np.isfinite([loss.weight(p), loss.loss0(p), loss.loss1(p)]))
    rounding = 1e-11 * loss.loss0(1.0)  # some of these probabilities are a digit in the last place apart
    assert np.all(np.diff(loss.loss0(np.sort(p))) >= -rounding)


def test_tailored_tends_to_cost_weighted_error():
    """Far from the cost the loss is a multiple of the step function, up to O(1/√concentration)."""
    cost, p = 0.3, np.array([0.01, 0.15, 0.5, 0.99])
    loss, step = BetaLoss.tailored(cost, 1e4), CostWeightedLoss(cost)
    factor = loss.loss0(0.99) / step.loss0(0.99)
    np.testing.assert_allclose(loss.loss0(p) / factor, step.loss0(p), atol=1e-6)
    np.testing.assert_allclose(loss.loss1(p) / factor, step.loss1(p), rtol=1e-3, atol=1e-6)


# --- cost-weighted error -------------------------------------------------------------------


def test_cost_weighted_errors():
    loss = CostWeightedLoss(0.2)
    p = [0.0, 0.1, 0.2, 0.9, 1.0]
    assert loss.loss0(p).tolist() == [0.0, 0.0, 0.2, 0.2, 0.2]
    assert loss.loss1(p).tolist() == [0.8, 0.8, 0.0, 0.0, 0.0]
    assert loss.weight(p).tolist() == [0.0, 0.0, np.inf, 0.0, 0.0]
    eta = np.linspace(0.0, 1.0, 101)
    np.testing.assert_allclose(loss.entropy(eta), np.minimum(0.8 * eta, 0.2 * (1.0 - eta)), atol=1e-16)
    forecasts = np.linspace(0.0, 1.0, 41)
    assert np.all(loss.risk(eta[:, None], forecasts) >= loss.entropy(eta)[:, None] - 1e-16)


def test_cost_weighted_error_cannot_be_fitted_and_says_so():
    assert not CostWeightedLoss(0.2).smooth
    with pytest.raises(ValueError, match=r"no canonical link.*BetaLoss\.tailored"):
        CostWeightedLoss(0.2).canonical_link  # noqa: B018


# --- from a weight function ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "closed"),
    [
        (lambda p: 1.0 / (p * (1.0 - p)), LogLoss()),
        (lambda p: 1.0, SquaredLoss()),
        (np.ones_like, SquaredLoss()),
        (lambda p: p * (1.0 - p) ** 4, BetaLoss(2, 5)),
        (lambda p: (p * (1.0 - p)) ** -0.9, BetaLoss(0.1, 0.1)),
        (lambda p: 1.0 / p, GEVLoss(-1.0)),
        (lambda p: (-np.log(p)) ** -1.2 / p, GEVLoss(0.2)),
    ],
)
def test_numerical_integration_equals_the_closed_form(function, closed):
    """1e-10; L₁ within reach of p = 1 is limited by ω being known only up to 1 - p = 1e-16."""
    loss, p = LossFromWeight(function), np.concatenate([[1e-200, 1e-30], P])
    np.testing.assert_allclose(loss.weight(p), closed.weight(p), rtol=1e-12)
    np.testing.assert_allclose(loss.loss0(p), closed.loss0(p), rtol=1e-10)
    np.testing.assert_allclose(loss.loss1(p[:-1]), closed.loss1(p[:-1]), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (3.0, "function must be callable"),
        (lambda p: p - 0.5, "never negative"),
        (lambda p: 0.0 * p, "not be zero everywhere"),
        (lambda p: (p > 0.3) & (p < 0.30001), "zero everywhere.* name a place in points"),
        (lambda p: p * np.nan, "must be finite"),
        (lambda p: np.full_like(p, np.inf), "must be finite"),
        (lambda p: p[:2], r"one weight per probability, got shape \(2,\)"),
    ],
)
def test_weight_function_is_checked(function, message):
    with pytest.raises(ValueError, match=message):
        LossFromWeight(function)


# --- keys, parameters, bad input -----------------------------------------------------------


@pytest.mark.parametrize("key", LOSSES)
def test_keys(key):
    loss = get_loss(key)
    assert isinstance(loss, LOSSES[key])
    assert get_loss(loss) is loss


@pytest.mark.parametrize("unknown", ["hinge", None, LogLoss])
def test_unknown_key_lists_the_valid_ones(unknown):
    with pytest.raises(ValueError, match="loss must be one of") as error:
        get_loss(unknown)
    assert all(repr(key) in str(error.value) for key in LOSSES)


def test_parameters_by_position_and_equality():
    assert BetaLoss(2, 5) == BetaLoss(alpha=2, beta=5) != BetaLoss(5, 2)
    assert GEVLoss(0.2) == GEVLoss(xi=0.2)
    assert CostWeightedLoss(0.2) == CostWeightedLoss(cost=0.2)
    assert len({LogLoss(), LogLoss(), SquaredLoss(), GEVLoss(0.2), GEVLoss(0.2)}) == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BetaLoss(-1.0, 0.0), "alpha must be above -1 .* got -1.0"),
        (lambda: BetaLoss(0.0, -3.0), "beta must be above -1 .* got -3.0"),
        (lambda: BetaLoss(np.nan, 0.0), "alpha must be finite"),
        (lambda: BetaLoss(0.0, np.inf), "beta must be finite"),
        (lambda: BetaLoss(0.0, 0.0, np.inf), "log_scale must be finite"),
        (lambda: BetaLoss.tailored(0.0, 10.0), "at must lie strictly between 0 and 1, got 0.0"),
        (lambda: BetaLoss.tailored(1.2, 10.0), "at must lie strictly between 0 and 1, got 1.2"),
        (lambda: BetaLoss.tailored(0.5, -1.0), "concentration must not be negative, got -1.0"),
        (lambda: BetaLoss.tailored(0.5, np.inf), "concentration must be finite"),
        (lambda: GEVLoss(np.nan), "xi must be finite, got nan"),
        (lambda: GEVLoss(np.inf), "xi must be finite, got inf"),
        (lambda: CostWeightedLoss(0.0), "cost must lie strictly between 0 and 1, got 0.0"),
        (lambda: CostWeightedLoss(np.nan), "cost must be finite, got nan"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("loss", [LogLoss(), BetaLoss(2, 5), GEVLoss(0.2), CostWeightedLoss(0.2)], ids=repr)
@pytest.mark.parametrize("name", ["weight", "loss0", "loss1", "entropy"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.5,), r"(p|eta) must lie in \[0, 1\], got 1.5"),
        (([0.5, np.nan],), r"(p|eta) must lie in \[0, 1\], got nan"),
        ((0.5, 0.6), r"q must be 1 - (p|eta)"),
        (("half",), "(p|eta) must be numbers"),
    ],
)
def test_bad_probabilities(loss, name, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(loss, name)(*arguments)


def test_bad_truth():
    with pytest.raises(ValueError, match=r"eta must lie in \[0, 1\], got -0.5"):
        LogLoss().risk(-0.5, 0.5)


@pytest.mark.parametrize(
    ("loss", "at0", "at1"),
    [
        (LogLoss(), np.inf, np.inf),
        (SquaredLoss(), 1.0, 1.0),
        (BetaLoss(2, 5), 0.0, 0.0),
        (BetaLoss(1, 0), 1.0, np.inf),
        (GEVLoss(0.5), np.inf, np.inf),
        (GEVLoss(0.0), np.inf, np.inf),
        (GEVLoss(-1.0), np.inf, 1.0),
        (GEVLoss(-1.5), np.inf, 0.0),
        (CanonicalLoss(Probit()), np.inf, np.inf),
        (CanonicalLoss(Cauchit()), np.inf, np.inf),
        (CanonicalLoss(Cloglog()), np.inf, np.inf),
    ],
    ids=repr,
)
def test_weight_at_the_ends(loss, at0, at1):
    assert loss.weight([0.0, 1.0]).tolist() == [at0, at1]


class TestWeightFunctions:
    @pytest.mark.parametrize("alpha", [-0.95, -0.5, 0.0, 0.3, 1.0, 50.0])
    @pytest.mark.parametrize("beta", [-0.95, -0.5, 0.0, 7.0, 50.0])
    def test_beta_weights(self, alpha, beta):
        loss, closed = LossFromWeight(lambda p: p ** (alpha - 1) * (1 - p) ** (beta - 1)), BetaLoss(alpha, beta)
        p = np.array([1e-200, 1e-20, 1e-6, 0.01, 0.2, 0.5, 0.9, 1 - 1e-4, 1 - 1e-9])
        for name in ("loss0", "loss1"):
            found, true = getattr(loss, name)(p), getattr(closed, name)(p)
            np.testing.assert_allclose(found, true, rtol=1e-8, atol=1e-290)

    @pytest.mark.parametrize(("alpha", "beta"), [(-0.12, 23.77), (17.46, 29.53), (50.0, 31.3), (0.7, 41.2)])
    def test_powers_that_underflow_near_one(self, alpha, beta):
        """ω(1 - 2⁻⁵³) is 0 as a number: what rounding of 1 - p loses is restored by the power all the same."""
        loss, closed = LossFromWeight(lambda p: p ** (alpha - 1) * (1 - p) ** (beta - 1)), BetaLoss(alpha, beta)
        p = 1.0 - 10.0 ** -np.arange(4.0, 12.0)
        np.testing.assert_allclose(loss.loss1(p), closed.loss1(p), rtol=1e-9, atol=1e-300)

    @pytest.mark.parametrize("scale", [1e-200, 1e200])
    def test_the_unit_does_not_matter(self, scale):
        loss, p = LossFromWeight(lambda p: scale / (p * (1.0 - p))), np.array([1e-100, 1e-9, 0.3, 1.0 - 1e-12])
        np.testing.assert_allclose(loss.loss0(p) / scale, LogLoss().loss0(p), rtol=1e-10)
        np.testing.assert_allclose(loss.loss1(p) / scale, LogLoss().loss1(p), rtol=1e-10)

    @pytest.mark.parametrize(("low", "high"), [(0.2, 0.4), (0.29, 0.31), (1e-5, 2e-5), (0.9, 1.0 - 1e-6)])
    def test_boxes(self, low, high):
        loss = LossFromWeight(lambda p: (p > low) & (p < high))
        middle, square = 0.5 * (low + high), 0.5 * (high**2 - low**2)
        np.testing.assert_allclose(loss.loss0([0.5 * low, high]), [0.0, square], rtol=1e-8)
        np.testing.assert_allclose(loss.loss0(middle), 0.5 * (middle**2 - low**2), rtol=1e-8)
        np.testing.assert_allclose(loss.loss1(0.5 * low), high - low - square, rtol=1e-8)

    def test_several_narrow_boxes_are_found(self):
        lows, widths = np.array([0.123, 0.3333, 0.5001, 0.77]), np.array([1e-4, 1e-3, 2e-4, 0.1])
        boxes = LossFromWeight(lambda p: ((p[:, None] >= lows) & (p[:, None] < lows + widths)).any(axis=1))
        due = 0.5 * ((lows + widths) ** 2 - lows**2)
        np.testing.assert_allclose(boxes.loss0([0.2, 0.4, 0.6, 0.9]), np.cumsum(due), rtol=1e-10)
        np.testing.assert_allclose(boxes.loss1([0.05, 0.87]), [np.sum(widths - due), 0.0], rtol=1e-10, atol=1e-17)

    def test_points_of_a_narrow_box(self):
        narrow = LossFromWeight(lambda p: (p > 0.20001) & (p < 0.20003), points=(0.20001, 0.20003))
        np.testing.assert_allclose(narrow.loss0(0.5), 0.5 * (0.20003**2 - 0.20001**2), rtol=1e-8)
        with pytest.raises(ValueError, match=r"points must be above 0 and below 1, got 1\.5"):
            LossFromWeight(np.ones_like, points=(1.5,))
        with pytest.raises(ValueError, match=r"points must be a sequence of probabilities, got 0\.3"):
            LossFromWeight(np.ones_like, points=0.3)

    @pytest.mark.parametrize("beside", [1e-5, -1e-5, 3e-4, 1e-7])
    def test_a_jump_beside_an_edge_of_a_panel_is_seen(self, beside):
        """The first nodes of Gauss's rules lie farther inside than this jump does."""
        jump = 1.0 / (1.0 + np.exp(0.75 + beside))
        np.testing.assert_allclose(LossFromWeight(lambda p: p > jump).loss0(0.5), 0.125 - jump**2 / 2, rtol=1e-12)

    def test_small_losses_have_their_own_digits(self):
        """∫ u e^(-1/u) du = p² E₃(1/p), and a log loss that does not count below 1e-8."""
        loss, p = LossFromWeight(lambda p: np.exp(-1.0 / p)), np.array([0.01, 0.1, 0.5])
        np.testing.assert_allclose(loss.loss0(p), p**2 * special.expn(3, 1.0 / p), rtol=1e-11)
        cut = LossFromWeight(lambda p: np.where(p > 1e-8, 1.0 / (p * (1.0 - p)), 0.0))
        np.testing.assert_allclose(cut.loss0(2e-8), np.log1p(-1e-8) - np.log1p(-2e-8), rtol=1e-12)

    def test_narrow_peaks_and_many_jumps(self):
        peak = LossFromWeight(lambda p: np.exp(-0.5 * ((p - 0.3) / 1e-6) ** 2), points=[0.3])
        np.testing.assert_allclose(peak.loss0(0.5), 0.3e-6 * np.sqrt(2 * np.pi), rtol=1e-10)
        stairs, k = LossFromWeight(lambda p: np.floor(1000 * p)), np.arange(500)
        np.testing.assert_allclose(stairs.loss0(0.5), np.sum(k * (2 * k + 1)) / 2e6, rtol=1e-8)

    def test_functions_of_any_kind(self):
        def filled(p):
            result = np.ones(len(p))
            result[p > 0.5] = 2.0
            return result

        assert LossFromWeight(filled).weight(0.7) == 2.0
        line = LossFromWeight(np.poly1d([1.0, 0.0]))  # which has no hash
        assert line == LossFromWeight(np.poly1d([1.0, 0.0]))
        np.testing.assert_allclose(line.canonical_link.inverse(0.1), np.sqrt(0.45))  # ψ = (p² - ¼)/2

    @pytest.mark.parametrize(
        ("function", "message"),
        [
            (lambda p: np.abs(p - 0.3) ** -0.5, r"must be finite and never negative, got inf at p = 0\.3"),
            (lambda p: 1.0 / np.abs(p - 0.3), r"got inf at p = 0\.3"),
            (lambda p: 1.0 / (p * np.log(p / 3.0)) ** 2, "near p = 0 could not be found"),  # integrable, but how far?
            (lambda p: 1.0 / (p**2 * -np.log(p / 3.0)), "near p = 0 could not be found"),  # not integrable
            (lambda p: np.sin(1.0 / p) ** 2, "could not be found.* name the place in points"),
            (lambda p: np.exp(1.0 / p), "got inf at p = "),
            (lambda p: np.where(p < 1e-20, -1.0, 1.0), r"got -1\.0 at p = \S+e-"),
            (lambda p: np.where(p > 1 - 1e-13, -1.0, 1.0), r"got -1\.0 at p = 1 - \d\S*e-1"),
            (lambda p: np.where(np.abs(p - 0.30025) < 1e-4, np.nan, 1.0), r"got nan at p = 0\.30015"),
            (lambda p: 1 if p < 0.5 else 2, "take and return arrays"),
            (lambda p: np.sin(40 * p), "never negative, got"),
            (lambda p: p**-2.5, "near 0 must be finite"),
            (lambda p: (1 - p) ** -2.5, "near 1 must be finite"),
            (math.sqrt, "take and return arrays"),
            (lambda p: p + 1j, "values are complex"),
            (lambda p: np.full_like(p, 5e-324), "an integral that a number can hold, got"),
            (lambda p: 1e300 / p, "must be finite and never negative, got inf at p = "),
        ],
    )
    def test_unusable_weights_are_refused(self, function, message):
        with pytest.raises(ValueError, match=message):
            LossFromWeight(function)

    def test_evaluating_does_not_change_the_object(self):
        loss = LossFromWeight(np.sqrt)
        before = dict(vars(loss))
        loss.loss1(0.3), loss.canonical_link.inverse(0.1)
        assert vars(loss) == before


class TestPartialLosses:
    @pytest.mark.parametrize("closed", [LogLoss(), SquaredLoss(), BoostingLoss(), BetaLoss(0.5, 2), BetaLoss(2, 0.5)])
    def test_one_part_determines_the_other(self, closed):
        p = np.linspace(0.01, 0.99, 50)
        for loss in (
            LossFromPartial(lambda p: closed.loss1(p) + 3.0),  # constants do not matter
            LossFromPartial(at0=closed.loss0),
            LossFromPartial(closed.loss1, closed.loss0),
        ):
            np.testing.assert_allclose(loss.loss0(p), closed.loss0(p), rtol=1e-7, atol=1e-12)
            np.testing.assert_allclose(loss.loss1(p), closed.loss1(p), rtol=1e-7, atol=1e-12)
            np.testing.assert_allclose(loss.weight(p), closed.weight(p), rtol=1e-5)

    def test_it_is_fitted_like_its_closed_form(self):
        X, y, _ = make_rare_events(400, 3, rate=0.3, random_state=0)
        given, closed = (
            ProperLinearClassifier(loss, "logit").fit(X, y) for loss in (LossFromPartial(lambda p: -np.log(p)), "log")
        )
        np.testing.assert_allclose(given.coef_, closed.coef_, rtol=1e-4)

    @pytest.mark.parametrize("cost", [0.3, 1.0 / (1.0 + np.exp(0.75001)), 1e-5])
    def test_a_jump_is_a_point_mass(self, cost):
        point = CostWeightedLoss(cost)
        p = np.append(np.linspace(0.01, 0.99, 50), [0.5 * cost, 1.5 * cost])
        for loss in (LossFromPartial(point.loss1), LossFromPartial(at0=point.loss0)):
            np.testing.assert_allclose(loss.loss0(p), point.loss0(p), atol=1e-12)
            np.testing.assert_allclose(loss.loss1(p), point.loss1(p), atol=1e-12)
            assert not loss.smooth
            with pytest.raises(ValueError, match="no canonical link"):
                _ = loss.canonical_link
        assert LossFromPartial(point.loss1, point.loss0)
        assert LossFromPartial(lambda p: np.maximum(0.5 - p, 0.0)).smooth  # a kink is none
        with pytest.raises(ValueError, match="not proper together"):
            LossFromPartial(point.loss1, CostWeightedLoss(0.4).loss0)

    def test_a_pair_in_its_usual_form(self):
        def length(p):
            return np.sqrt(p**2 + (1.0 - p) ** 2)

        pair = LossFromPartial(lambda p: 1 - p / length(p), lambda p: 1 - (1 - p) / length(p))
        p = np.linspace(0.01, 0.99, 9)
        np.testing.assert_allclose(pair.weight(p), length(p) ** -3.0, rtol=1e-6)  # the spherical score
        assert (pair.loss1(0.0), pair.loss0(1.0)) == (1.0, 1.0)

    @pytest.mark.parametrize("r", [1.0, 1.5, 3.0])
    def test_power_losses_are_not_proper(self, r):
        assert LossFromPartial(lambda p: (1 - p) ** 2, lambda p: p**2)
        with pytest.raises(ValueError, match="not proper together: at p = "):
            LossFromPartial(lambda p: (1 - p) ** r, lambda p: p**r)

    @pytest.mark.parametrize(
        ("parts", "message"),
        [
            ({}, "at1 or at0 must be given"),
            ({"at1": 3.0}, "at1 must be callable"),
            ({"at1": lambda p: p}, "at1 must fall in p .* it does not at p = "),
            ({"at0": lambda p: 1 - p}, "at0 must rise in p"),
            ({"at1": lambda p: 1 - p + 1e-3 * np.exp(-(((p - 0.3) / 1e-4) ** 2))}, r"does not at p = 0\.29"),
            ({"at1": lambda p: np.where(p < 1e-8, 1e8 * p, 1 - p)}, r"does not at p = \S+e-"),
            ({"at1": lambda p: np.where(p > 1 - 1e-8, 0.5, 1 - p)}, r"does not at p = 1 - 1\.\d+e-08"),
            (
                {"at1": lambda p: 1 - p, "at0": lambda p: p},  # 1 - p in both places, not 0.999999 twice
                r"at p = 1 - 1\.07e-06 at0 should rise by \S+ up to 1 - 1\.02e-06, which",
            ),
            ({"at1": lambda p: np.where(p < 1e-30, np.nan, 1 - p)}, "got nan at p = "),
            ({"at1": lambda p: 1 / (p * np.log(p / 30) ** 2)}, "near p = 0 could not be found"),
            ({"at1": lambda p: np.ones(3)}, "arrays of one shape"),
            ({"at1": lambda p: 1j - p}, "arrays of one shape: its values are complex"),
            ({"at1": lambda p: 1 / p}, "at1 must have a finite integral near p = 0"),
            ({"at1": lambda p: -np.log(1 - p)}, "at1 must be finite at p = 1"),
            ({"at0": np.zeros_like}, "at0 must not be constant"),
            ({"at1": lambda p: np.where(p < 0.5, np.nan, 1 - p)}, "at1 must be finite inside"),
        ],
    )
    def test_parts_of_no_proper_loss_are_refused(self, parts, message):
        with pytest.raises(ValueError, match=message):
            LossFromPartial(**parts)


class TestMixtures:
    def test_everything_adds_up(self):
        one, two = LogLoss(), CostWeightedLoss(0.3)
        mixture = np.float64(0.5) * one + 2 * (two * 3)
        assert isinstance(mixture, MixtureLoss)
        for name in ("loss0", "loss1", "entropy"):
            expected = 0.5 * getattr(one, name)(P) + 6.0 * getattr(two, name)(P)
            np.testing.assert_allclose(getattr(mixture, name)(P), expected, rtol=1e-12)
        assert not mixture.smooth
        assert (one + SquaredLoss()).smooth
        with pytest.raises(ValueError, match="no canonical link"):
            _ = mixture.canonical_link

    def test_mixtures_of_mixtures_are_flat(self):
        inner = LogLoss() + 2 * SquaredLoss()
        mixture = MixtureLoss([inner, SquaredLoss()], [3.0, 1.0])
        assert repr(mixture) == "3 * LogLoss() + 6 * SquaredLoss() + 1 * SquaredLoss()"
        assert sum([LogLoss(), 2 * SquaredLoss()]) == inner
        assert hash(mixture) == hash(3 * inner + SquaredLoss())

    def test_a_mixture_of_point_masses_scores_as_its_parts(self):
        costs, factors = (0.1, 0.25, 0.6), (1.0, 2.0, 0.5)
        mixture = factors[0] * CostWeightedLoss(costs[0]) + factors[1] * CostWeightedLoss(costs[1])
        mixture = mixture + factors[2] * CostWeightedLoss(costs[2])
        expected = sum(a * (1.0 - c) * (c > P) for a, c in zip(factors, costs, strict=True))
        np.testing.assert_allclose(mixture.loss1(P), expected, rtol=1e-14)

    def test_it_is_fitted_and_saved(self, tmp_path):
        X, y, _ = make_rare_events(400, 3, rate=0.3, random_state=0)
        loss = 0.25 * LogLoss() + 0.75 * LogLoss()
        model = ProperLinearClassifier(loss, "logit").fit(X, y)
        np.testing.assert_allclose(model.coef_, ProperLinearClassifier().fit(X, y).coef_, rtol=1e-5)
        save(model, tmp_path / "model.skops")
        again = load(tmp_path / "model.skops")
        assert again.loss == loss
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))

    @pytest.mark.parametrize("factor", [0.0, -1.0, np.inf, np.nan, "a", True])
    def test_factors_are_above_zero(self, factor):
        with pytest.raises(ValueError, match="the factor of a loss must be above 0 and finite"):
            MixtureLoss((LogLoss(),), (factor,))

    def test_only_losses_are_added(self):
        with pytest.raises(TypeError):
            LogLoss() + 1.0
        with pytest.raises(ValueError, match="of one length, at least 1"):
            MixtureLoss((), ())
