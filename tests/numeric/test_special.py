"""The special functions against mpmath at 70 digits or more, and at their limits."""

import warnings
from collections.abc import Iterator

import mpmath as mp
import numpy as np
import pytest
from scipy.special import betaln

from properly.numeric.special import gamma_minus_one_ratio, gev_loss0, gev_loss1, incomplete_beta, upper_gamma

RTOL = 1e-12
NUDGE = mp.mpf("1e-30")  # moves a parameter off a removable singularity of a reference formula


@pytest.fixture(autouse=True)
def strict_arithmetic() -> Iterator[None]:
    """Any warning, and any floating-point event that escapes a function, is an error."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        yield


def relative_error(value: float, reference: mp.mpf, scale: float = 0.0) -> float:
    """|value - reference| / max(|reference|, scale); 0 where both overflow or both underflow."""
    if abs(reference) > mp.mpf("1.79e308"):
        return 0.0 if value == np.sign(float(mp.sign(reference))) * np.inf else np.inf
    if abs(reference) < mp.mpf("1e-306"):
        return 0.0 if abs(value) < 1e-305 else np.inf
    return float(abs(mp.mpf(float(value)) - reference) / max(abs(reference), mp.mpf(scale)))


def assert_close(values, references, scale: float = 0.0, rtol: float = RTOL) -> None:
    errors = [relative_error(v, r, scale) for v, r in zip(np.ravel(values), references, strict=True)]
    assert max(errors) <= rtol, (int(np.argmax(errors)), max(errors))


def nudged(a: float) -> mp.mpf:
    return mp.mpf(a) + NUDGE


# --- references ----------------------------------------------------------------------


def beta_reference(x: float, y: float, a: float, b: float) -> mp.mpf:
    """B(x; a, b) by its power series at 0 up to x = 1/2, and by that at 1 beyond."""
    with mp.workdps(70 + int(0.5 * a)):
        a, b = mp.mpf(a), nudged(b)
        m = mp.mpf(x) if x < 0.5 else mp.mpf("0.5")
        total = m**a / a * mp.hyp2f1(a, 1 - b, a + 1, m)
        if x < 0.5:
            return total
        y, c, k = mp.mpf(y), mp.mpf(1), 0
        while abs(c) * m**k > mp.mpf("1e-25") and c != 0:
            total += c * (m ** (b + k) - y ** (b + k)) / (b + k)
            k += 1
            c *= (k - a) / k
        return total


def alternating_sum(a: mp.mpf, T: mp.mpf) -> mp.mpf:
    """sum_{k>=1} (-T)^k / (k! (a+k))."""
    total, term, k = mp.mpf(0), mp.mpf(1), 0
    while k <= T or abs(term) > mp.eps:
        k += 1
        term *= -T / k
        total += term / (a + k)
    return total


def gamma_reference(a: float, T: float) -> mp.mpf:
    with mp.workdps(90 + int(0.9 * T)):
        a, T = nudged(a), mp.mpf(T)
        return mp.gamma(a) - T**a * (1 / a + alternating_sum(a, T))


def loss1_reference(xi: float, T: float) -> mp.mpf:
    with mp.workdps(90 + int(0.9 * T)):
        a, T = nudged(-xi), mp.mpf(T)
        if xi < 1:
            return -(T**a) * alternating_sum(a, T)
        return mp.gamma(a) - T**a * alternating_sum(a, T) - 1 / a


def test_references_agree_with_quadrature():
    a, b, x, T = 2.5, -0.75, 0.9, 3.0
    with mp.workdps(30):
        integral = mp.quad(lambda u: u ** mp.mpf(a - 1) * (1 - u) ** mp.mpf(b - 1), [0, 0.5, x])
        assert abs(beta_reference(x, mp.mpf(1) - x, a, b) / integral - 1) < 1e-15
        integral = mp.quad(lambda s: s ** mp.mpf(-2.5) * mp.exp(-s), [T, 5, 10, 20, mp.inf])
        assert abs(gamma_reference(-1.5, T) / integral - 1) < 1e-15
        integral = mp.quad(lambda s: -mp.expm1(-s) * s ** mp.mpf(-1.5), [0, 0.01, 0.1, 1, T])
        assert abs(loss1_reference(0.5, T) / integral - 1) < 1e-10


# --- incomplete beta -----------------------------------------------------------------

TAILS = np.array([1e-300, 1e-16, 1e-5, 0.003, 0.03, 0.08, 0.2, 0.4, 0.5])
X = np.concatenate([TAILS, 1 - TAILS])
Y = np.concatenate([1 - TAILS, TAILS])


@pytest.mark.parametrize("a", [1e-12, 1e-4, 0.5, 1.0, 1 + 1e-10, 1.7, 2.0, 4.0, 7.3, 60.0])
def test_incomplete_beta_matches_mpmath(a):
    bs = [-1 + 1e-14, -0.99, -0.5, -1e-6, -1e-300, 0.0, 1e-320, 1e-16, 1e-5, 0.1, 0.5, 0.7]
    for b in [*bs, 1 - 1e-12, 1.0, 1 + 1e-12, 2.0, 7.3, 10.0, 10.01, 100.0]:
        references = [beta_reference(x, y, a, b) for x, y in zip(X, Y, strict=True)]
        assert_close(incomplete_beta(X, Y, a, b), references)


@pytest.mark.parametrize(
    ("a", "b", "x", "rtol"),
    [(5000.0, 5000.0, 0.505, 1e-10), (9990.0, 10.0, 0.9985, RTOL), (30.0, 9970.0, 0.002, 1e-10)]
    + [(10000.0, b, 0.9999, RTOL) for b in (-0.5, 0.0, 0.5, 3.0)],
)
def test_incomplete_beta_of_large_concentration(a, b, x, rtol):
    log_scale = -float(betaln(a, max(b, 0.5)))
    value = incomplete_beta(np.array(x), np.array(1 - x), a, b, log_scale)
    with mp.workdps(40):
        am, bm, xm = mp.mpf(a), mp.mpf(b), 1 - mp.mpf(1 - x)
        sd = np.sqrt(x * (1 - x) / (a + b))
        nodes = [0, *[x - k * sd for k in (40, 20, 10, 6, 4, 2, 1, 0.5) if k * sd < x], xm]
        reference = mp.quad(lambda u: mp.exp((am - 1) * mp.log(u) + (bm - 1) * mp.log1p(-u) + log_scale), nodes)
    assert_close(value, [reference], rtol=rtol)


@pytest.mark.parametrize("b", [-0.5, 0.0, 0.3, 2.0, 30.0])
def test_incomplete_beta_scale_is_combined_before_it_can_overflow(b):
    x = np.array([0.2, 0.7, 1.0])
    y = np.array([0.8, 0.3, 1e-290])
    plain = incomplete_beta(x, y, 2.5, b)
    for log_scale in (-3.0, 5.0):
        np.testing.assert_allclose(incomplete_beta(x, y, 2.5, b, log_scale), plain * np.exp(log_scale), rtol=1e-13)
    # y^b ~ 1e287 against exp(-800)
    huge = incomplete_beta(np.array(1.0), np.array(1e-290), 2.5, -0.99, -800.0)
    exponent = 0.99 * 290 * np.log(10) - 800.0
    np.testing.assert_allclose(huge, np.exp(exponent) / 0.99, rtol=RTOL)


@pytest.mark.parametrize("a", [1e-5, 0.5, 1.0, 3.0, 60.0])
def test_incomplete_beta_limits(a):
    zero, one = np.array(0.0), np.array(1.0)
    for b in (-0.9, -1e-9, 0.0, 1e-9, 0.5, 1.0, 3.0, 50.0):
        assert incomplete_beta(zero, one, a, b) == 0
        assert incomplete_beta(zero, one, a, b, 5000.0) == 0
        if b > 0:
            assert_close(incomplete_beta(one, zero, a, b), [mp.beta(a, b)])
        else:
            assert incomplete_beta(one, zero, a, b) == np.inf


def test_incomplete_beta_is_monotone_across_its_regions():
    x = np.linspace(0, 1, 4001)
    for a, b in [(0.5, -0.5), (3.0, 0.0), (9.0, -0.3), (60.0, 0.2), (2.0, 10.0), (2.0, 10.5)]:
        values = incomplete_beta(x, 1 - x, a, b)[:-1]
        assert np.all(np.diff(values) >= -1e-14 * values[1:])


@pytest.mark.parametrize(
    ("alpha", "beta", "p", "loss0", "loss1"),
    [
        (-0.5, -0.5, 1e-6, 0.00200000100000075, 1999.99899999975),
        (0.0, 0.0, 0.01, 0.01005033585350144, 4.605170185988092),
        (1.0, 1.0, 0.3, 0.045, 0.245),
        (2.0, 5.0, 0.7, 0.009249566666666667, 9.025714285714286e-05),
        (0.3, 0.7, 0.99, 1.1081645799687116, 0.0002352192659635608),
        (-0.2, 0.4, 1e-6, 1.9811170188743944e-05, 73.6194548140191),
        (30.0, 70.0, 1e-6, 3.22559083372184e-188, 1.1348545446423052e-27),
    ],
)
def test_beta_partial_losses(alpha, beta, p, loss0, loss1):
    p = np.array(p)
    np.testing.assert_allclose(incomplete_beta(p, 1 - p, alpha + 1, beta), loss0, rtol=RTOL)
    np.testing.assert_allclose(incomplete_beta(1 - p, p, beta + 1, alpha), loss1, rtol=RTOL)


# --- upper incomplete gamma ----------------------------------------------------------

SMALL_T = [1e-300, 1e-150, 1e-20, 1e-7, 0.01, 0.3, 0.56, 0.9, 0.9999, 1.0, 1.5, 1.99]
LARGE_T = [2.0, 2.5, 4.0, 8.0, 20.0, 24.9, 25.1, 55.0, 120.0, 150.0, 700.0]
T = np.array(SMALL_T + LARGE_T)


@pytest.mark.parametrize("a", [-50.0, -20.3, -7.0, -7 + 1e-13, -3.5, -2.0, -1.5, -1.0, -1 + 1e-9, -0.5])
def test_upper_gamma_of_negative_order(a):
    assert_close(upper_gamma(a, T), [gamma_reference(a, t) for t in T])


@pytest.mark.parametrize("a", [0.2, 1e-3, 1e-6, 1e-12, 1e-17, 1e-300, 5e-324, 0.0])
def test_upper_gamma_of_order_near_zero(a):
    for order in (a, -a):
        assert_close(upper_gamma(order, T), [gamma_reference(order, t) for t in T])


@pytest.mark.parametrize("a", [0.5, 0.75, 1 - 1e-12, 1.0, 1 + 1e-9, 1.5, 3.2, 10.0, 49.9])
def test_upper_gamma_of_positive_order(a):
    assert_close(upper_gamma(a, T), [gamma_reference(a, t) for t in T])


@pytest.mark.parametrize("a", [-50.0, -1.5, -1.0, -1e-300, 0.0, 1e-9, 0.5, 1.0, 3.0])
def test_upper_gamma_limits(a):
    at_zero, at_infinity = upper_gamma(a, np.array([0.0, np.inf]))
    assert at_infinity == 0
    if a > 0:
        assert_close(at_zero, [mp.gamma(a)])
    else:
        assert at_zero == np.inf
    assert np.all(np.diff(upper_gamma(a, np.linspace(0.01, 10, 2001))) < 0)


def test_upper_gamma_takes_the_logarithm_of_an_underflowing_argument():
    log_T = np.array([-800.0, -3000.0])
    with mp.workdps(60):
        np.testing.assert_allclose(upper_gamma(0.0, np.zeros(2), log_T), -log_T - np.euler_gamma, rtol=RTOL)
        values = upper_gamma(-0.5, np.zeros(2), log_T)
        assert_close(values, [2 * mp.exp(400), 2 * mp.exp(1500)])


def test_gamma_minus_one_ratio():
    assert gamma_minus_one_ratio(0.0) == gamma_minus_one_ratio(5e-324) == -np.euler_gamma
    near = [0.0, 1e-17, 1e-12, 1e-7, 1e-3, 0.3, 0.4999, 0.5]
    around = [s * t + c for t in near for s in (-1, 1) for c in (0, 1)]
    for a in [*around, -0.99, -0.6, 1.6, 7.0, 100.0, -2.5]:
        with mp.workdps(100):
            reference = (mp.gamma(1 + nudged(a)) - 1) / nudged(a)
        if a != 1:
            assert_close(gamma_minus_one_ratio(a), [reference], rtol=1e-14)
    assert gamma_minus_one_ratio(1.0) == 0


# --- partial losses of the GEV family ------------------------------------------------


@pytest.mark.parametrize("xi", [-50.0, -20.0, -3.0, -1.0, -0.5, 0.01, 0.2, 0.5, 0.9, 0.999, 1 - 1e-12])
def test_gev_loss1_matches_mpmath(xi):
    assert_close(gev_loss1(xi, T), [loss1_reference(xi, t) for t in T])


@pytest.mark.parametrize("xi", [1e-6, 1e-9, 1e-17, 1e-300, 5e-324, 0.0])
def test_gev_loss1_near_zero_shape(xi):
    for shape in (xi, -xi):
        assert_close(gev_loss1(shape, T), [loss1_reference(shape, t) for t in T])


@pytest.mark.parametrize("xi", [1.0, 1 + 1e-12, 1.001, 1.5, 2.0, 2.5, 7.0, 30.0])
def test_gev_loss1_of_divergent_shape(xi):
    # It crosses zero, so that the error is relative to its limit 1/xi or to its own size.
    assert_close(gev_loss1(xi, T), [loss1_reference(xi, t) for t in T], scale=1 / xi)


def test_gev_loss1_limits():
    ends = np.array([0.0, np.inf])
    for xi in (-50.0, -1.0, -1e-300, 0.0):
        np.testing.assert_array_equal(gev_loss1(xi, ends), [0.0, np.inf])
    for xi in (1e-300, 1e-9, 0.3, 0.999):
        low, high = gev_loss1(xi, ends)
        assert low == 0
        assert_close(high, [mp.gamma(1 - mp.mpf(xi)) / mp.mpf(xi)])
    for xi in (1.0, 1.5, 20.0):
        np.testing.assert_array_equal(gev_loss1(xi, ends), [-np.inf, 1 / xi])


@pytest.mark.parametrize("xi", [-2.0, -0.3, 0.0, 0.3, 0.99, 1.0, 1.7])
def test_gev_losses_are_monotone_and_differ_by_the_link(xi):
    t = np.geomspace(1e-6, 100, 2001)
    loss0, loss1 = gev_loss0(xi, t), gev_loss1(xi, t)
    assert np.all(np.diff(loss0) < 0)
    assert np.all(np.diff(loss1) >= -1e-13 * np.abs(loss1[1:]))
    psi = np.expm1(-xi * np.log(t)) / xi if xi else -np.log(t)
    constant = -gamma_minus_one_ratio(-xi) if xi < 1 else 0.0
    scale = np.maximum(np.abs(psi), loss0) + abs(constant)
    assert np.all(np.abs(loss0 - psi + constant - loss1) <= 1e-13 * scale)


@pytest.mark.parametrize(
    ("xi", "p", "loss0", "loss1"),
    [
        (-1.5, 1e-9, 4.6596382932312395e-09, 62.00586466009261),
        (-1.5, 0.02, 0.04412667001600078, 4.316250158827269),
        (-1.5, 0.9, 0.8648159291562199, 0.0013885167906050415),
        (0.0, 1e-9, 4.61236925844661e-11, 3.608472687531832),
        (0.0, 0.3, 0.15741490289468948, 0.920257326658588),
        (0.5, 1e-9, 9.912532351637533e-12, 3.105567549166104),
        (1.0, 0.9, 6.766298739503388, None),
        (1.5, 0.001, 6.001814818005711e-06, None),
    ],
)
def test_gev_partial_losses(xi, p, loss0, loss1):
    t = -np.log(np.array(p))
    np.testing.assert_allclose(gev_loss0(xi, t), loss0, rtol=RTOL)
    if loss1 is not None:
        np.testing.assert_allclose(gev_loss1(xi, t), loss1, rtol=RTOL)


# --- shapes and extremes -------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0,), (0, 3)])
def test_shapes_are_kept(shape):
    x = np.full(shape, 0.25)
    for b in (-0.5, 0.5, 2.0, 20.0):
        result = incomplete_beta(x, 1 - x, 1.5, b)
        assert isinstance(result, np.ndarray)
        assert result.shape == shape
    for a in (-2.5, -1.0, 0.0, 0.5, 1.0, 2.0):
        for result in (upper_gamma(a, x), gev_loss0(a, x), gev_loss1(a, x)):
            assert isinstance(result, np.ndarray)
            assert result.shape == shape


def test_extremes_give_no_nan():
    ends = np.array([0, 5e-324, 1e-310, 1e-300, 1e-8, 0.1, 0.4999999, 0.5])
    x, y = np.concatenate([ends, 1 - ends]), np.concatenate([1 - ends, ends])
    for a in (1e-300, 0.5, 1.0, 4.0, 60.0, 1e4):
        for b in (-1 + 1e-16, -0.5, -5e-324, 0.0, 5e-324, 0.3, 1.0, 1 + 2e-16, 2.0, 11.0, 1e4):
            for log_scale in (0.0, -800.0, 800.0, -7000.0, 7000.0):
                assert not np.isnan(incomplete_beta(x, y, a, b, log_scale)).any()
    t = np.array([0, 5e-324, 1e-310, 1e-300, 1e-10, 0.5, 1, 2, 24, 26, 125, 745, 750, 1e5, 1e300, np.inf])
    for a in [*np.linspace(-50, 50, 101), -5e-324, 5e-324, 1 - 1e-16, 1 + 2e-16]:
        for result in (upper_gamma(a, t), gev_loss0(a, t), gev_loss1(a, t)):
            assert not np.isnan(result).any()
