"""Every link against high-precision arithmetic, statsmodels and its own inverse, from p = 1e-300 to 1 - p = 1e-300."""

import mpmath as mp
import numpy as np
import pytest
from statsmodels.genmod.families import links as statsmodels_links

from properly.links import GEV, LINKS, Cauchit, Cloglog, Link, Logit, Loglog, Probit, get_link

DIGITS = 340  # enough for 1 - 1e-300
EPS = np.finfo(np.float64).eps
TINY_XI = [sign * size for size in (1e-12, 1e-9, 1e-6, 1e-3) for sign in (-1, 1)]
XI = [0.0, *TINY_XI, *(sign * size for size in (0.1, 0.25, 0.5, 1.0, 1.5, 2.0) for sign in (-1, 1))]
FIXED = [Logit(), Probit(), Cloglog(), Loglog(), Cauchit()]
DEFINED = [*FIXED, *map(GEV, XI)]  # those whose definition `Truth` states
ALL = [*DEFINED, *(make() for make in LINKS.values() if make() not in DEFINED)]

SMALL = np.array([1e-300, 1e-200, 1e-100, 1e-30, 1e-16, 1e-9, 1e-4, 0.02, 0.1, 0.25, 0.36787944, 0.45])
P = np.concatenate([SMALL, [0.5], 1.0 - SMALL[::-1]])
Q = np.concatenate([1.0 - SMALL, [0.5], SMALL[::-1]])
EXTREME = [-np.inf, -1e308, -1e200, -1e100, -1e17, -1e9, -1e4, -800.0, -746.0, -709.0, -40.0, -1.0, -1e-300, -0.0]
EXTREME = np.array([*EXTREME, *(-v for v in EXTREME[::-1])])

over_links = pytest.mark.parametrize("link", ALL, ids=repr)
over_defined_links = pytest.mark.parametrize("link", DEFINED, ids=repr)


@pytest.fixture(autouse=True)
def high_precision():
    with mp.workdps(DIGITS):
        yield


class Truth:
    """One link at one score, from its definition."""

    def __init__(self, link: Link, v: float) -> None:
        self.link = link
        self.v = mp.mpf(v)

    def log_t(self, v):
        """ln t of the extreme-value links, for p = exp(-t)."""
        xi = mp.mpf(getattr(self.link, "xi", 0.0))
        return -mp.log1p(xi * v) / xi if xi else -v

    def pair(self, v=None):
        v = self.v if v is None else v
        match self.link:
            case Logit():
                return 1 / (1 + mp.exp(-v)), 1 / (1 + mp.exp(v))
            case Probit():
                return mp.ncdf(v), mp.ncdf(-v)
            case Cauchit():
                return mp.atan2(1, -v) / mp.pi, mp.atan2(1, v) / mp.pi
            case Cloglog():
                return -mp.expm1(-mp.exp(v)), mp.exp(-mp.exp(v))
        t = mp.exp(self.log_t(v))
        return mp.exp(-t), -mp.expm1(-t)

    def derivative(self, v=None):
        v = self.v if v is None else v
        match self.link:
            case Logit():
                return mp.exp(-v) / (1 + mp.exp(-v)) ** 2
            case Probit():
                return mp.npdf(v)
            case Cauchit():
                return 1 / (mp.pi * (1 + v * v))
            case Cloglog():
                return mp.exp(v - mp.exp(v))
        log_t = self.log_t(v)
        return mp.exp((1 + mp.mpf(getattr(self.link, "xi", 0.0))) * log_t - mp.exp(log_t))

    def hazards(self, v=None):
        slope, (p, q) = self.derivative(v), self.pair(v)
        return slope / p, slope / q

    def hazard_slopes(self):
        """With a = p'/p and b = p'/q: a' = a (p''/p' - a), b' = b (p''/p' + b), where p''/p' = (ln p')'."""
        (a, b), relative = self.hazards(), bool(self.v)
        log_slope = mp.diff(lambda v: mp.log(self.derivative(v)), self.v, relative=relative)
        return a * (log_slope - a), b * (log_slope + b)


def true_link(link: Link, p: float, q: float):
    """ψ(p), from whichever of p and q is the smaller and therefore exact."""
    p, q = mp.mpf(p), mp.mpf(q)
    log_p, log_q = (mp.log(p), mp.log1p(-p)) if p < q else (mp.log1p(-q), mp.log(q))
    match link:
        case Logit():
            return log_p - log_q
        case Probit():
            sign, tail = (1, p) if p < q else (-1, q)
            v = mp.mpf(float(link.link(float(tail))))
            for _ in range(3):  # Newton's method on ln Φ doubles the digits
                v -= (mp.log(mp.ncdf(v)) - mp.log(tail)) * mp.ncdf(v) / mp.npdf(v)
            return sign * v
        case Cauchit():
            return -mp.cot(mp.pi * p) if p < q else mp.cot(mp.pi * q)
        case Cloglog():
            return mp.log(-log_q)
    xi = mp.mpf(getattr(link, "xi", 0.0))
    return mp.expm1(-xi * mp.log(-log_p)) / xi if xi else -mp.log(-log_p)


def scores(link: Link) -> np.ndarray:
    """Scores over the whole range of p, where float64 holds both p and q, and a rounding of v still spares them."""
    v = np.concatenate([link.link(P, Q), np.linspace(-5.0, 5.0, 21), [-700.0, -38.0, 38.0, 700.0]])
    v = v[np.isfinite(v)]
    p, q = link.inverse_pair(v)
    v = v[(p > 0.0) & (q > 0.0)]
    return v[np.max(conditioning(link, v), axis=0) < 1e-3]


def relative_error(actual, truth) -> np.ndarray:
    """|actual/truth - 1|; 0 where the truth does not fit into float64 and the result is its limit 0 or ∞."""
    return np.array([_relative_error(x, t) for x, t in zip(np.asarray(actual).tolist(), truth, strict=True)])


def _relative_error(x: float, truth) -> float:
    if abs(truth) < 1e-307:
        return 0.0 if abs(x) <= 1.1e-307 else np.inf
    if abs(truth) > 1.79e308:
        return 0.0 if x == np.inf * int(mp.sign(truth)) else np.inf
    return float(abs(mp.mpf(x) / truth - 1)) if np.isfinite(x) else np.inf


def conditioning(link: Link, v: np.ndarray) -> np.ndarray:
    """What a rounding of v alone does to p and to q, relatively: |v| times the hazards."""
    hazards = [[float(abs(x) * h) for h in Truth(link, x).hazards()] for x in v]
    return EPS * np.array(hazards).T


@over_defined_links
def test_link_against_high_precision(link):
    v = link.link(P, Q)
    truth = [true_link(link, p, q) for p, q in zip(P, Q, strict=True)]
    near_zero = np.array([abs(mp.mpf(x) - t) < EPS for x, t in zip(v.tolist(), truth, strict=True)])
    assert np.all((relative_error(v, truth) <= 1e-12) | near_zero)
    assert np.all(v[1:] >= v[:-1])


@pytest.mark.parametrize("xi", TINY_XI)
def test_shape_near_zero_is_neither_zero_nor_noise(xi):
    """The links at ξ and at 0 truly differ by about |ξ| ln²T / 2; the difference is there and right."""
    p = np.array([1e-300, 1e-9, 0.1, 0.9, 1.0 - 1e-9])
    difference = GEV(xi).link(p) - GEV(0.0).link(p)
    square = np.log(-np.log(p)) ** 2
    assert difference == pytest.approx(0.5 * xi * square, rel=0.01, abs=1e-14)


@over_defined_links
def test_inverse_and_derivative_against_high_precision(link):
    """To 1e-12, plus what one rounding of v does: near the end of a GEV support and in the tails that is more."""
    v = scores(link)
    pairs = [Truth(link, x).pair() for x in v]
    p, q = link.inverse_pair(v)
    unavoidable_p, unavoidable_q = conditioning(link, v)
    assert np.all(relative_error(p, [pair[0] for pair in pairs]) <= 1e-12 + 4 * unavoidable_p)
    assert np.all(relative_error(q, [pair[1] for pair in pairs]) <= 1e-12 + 4 * unavoidable_q)
    np.testing.assert_array_equal(link.inverse(v), p)

    slope = link.inverse_derivative(v)
    truth = [Truth(link, x).derivative() for x in v]
    assert np.all(relative_error(slope, truth) <= 1e-12 + 8 * np.maximum(unavoidable_p, unavoidable_q))


@over_defined_links
def test_logarithms_hazards_and_slopes_against_high_precision(link):
    v = scores(link)
    slack = 1e-12 + 8 * np.max(conditioning(link, v), axis=0)
    truths = [Truth(link, x) for x in v]
    expected = {
        "_logs": [[mp.log(x) for x in truth.pair()] for truth in truths],
        "_hazards": [truth.hazards() for truth in truths],
        "_hazard_slopes": [truth.hazard_slopes() for truth in truths],
    }
    for name, rows in expected.items():
        with np.errstate(all="ignore"):
            actual = getattr(link, name)(v)
        for side, truth in enumerate(zip(*rows, strict=True)):
            excess = relative_error(actual[side], truth) / slack
            assert excess.max() <= 1.0, (name, side, v[excess.argmax()])


@over_defined_links
def test_round_trips(link):
    v = scores(link)
    p, q = link.inverse_pair(v)
    with np.errstate(all="ignore"):
        steepest = np.max(link._hazards(v), axis=0)  # a rounding of the smaller of p and q moves v by ε/steepest
    assert np.all(np.abs(link.link(p, q) - v) <= 1e-12 * np.abs(v) + 4 * EPS / steepest)

    v = link.link(P, Q)
    inner = np.isin(v, scores(link))
    assert inner.sum() >= 8
    again_p, again_q = link.inverse_pair(v[inner])
    unavoidable = conditioning(link, v[inner])
    assert np.all(np.abs(again_p / P[inner] - 1.0) <= 1e-12 + 8 * unavoidable[0])
    assert np.all(np.abs(again_q / Q[inner] - 1.0) <= 1e-12 + 8 * unavoidable[1])


@over_links
def test_no_nan_and_monotone_at_extreme_scores(link):
    p, q = link.inverse_pair(EXTREME)
    assert np.all((p >= 0.0) & (p <= 1.0) & (q >= 0.0) & (q <= 1.0))
    assert np.all(np.abs(p + q - 1.0) <= EPS)
    assert np.all(np.diff(p) >= 0.0)
    assert np.all(np.diff(q) <= 0.0)
    assert (p[0], q[0], p[-1], q[-1]) == (0.0, 1.0, 1.0, 0.0)
    slope = link.inverse_derivative(EXTREME)
    assert np.all(np.isfinite(slope) & (slope >= 0.0))
    assert slope[0] == slope[-1] == 0.0
    with np.errstate(all="ignore"):
        for method in (link._logs, link._hazards, link._hazard_slopes, link._antiderivatives):
            assert not np.isnan(method(EXTREME)).any(), method.__name__
        ends = np.array(link._antiderivatives(EXTREME[[0, -1]]))
        assert ends[0, 1] == ends[1, 0] == np.inf
        # ln p and ln q are infinite only outside the support, or where p or q is below exp(-1.8e308)
        log_p, log_q = link._logs(EXTREME[1:-1])
    assert np.all(np.isfinite(log_p) | (p[1:-1] == 0.0))
    assert np.all(np.isfinite(log_q) | (q[1:-1] == 0.0))


@pytest.mark.parametrize(
    ("link", "v", "log_p"),
    [
        (Logit(), -800.0, -800.0),
        (Logit(), -1e308, -1e308),
        (Probit(), -1e5, -0.5e10 - np.log(1e5 * np.sqrt(2 * np.pi))),
        (Cauchit(), -1e300, -np.log(np.pi * 1e300)),
        (Cloglog(), -800.0, -800.0),
        (Loglog(), -700.0, -np.exp(700.0)),
        (GEV(0.5), -1.999, -(0.0005**-2.0)),
        (GEV(-0.5), -1e6, -((1.0 + 5e5) ** 2.0)),
    ],
)
def test_logarithms_outlive_the_probability(link, v, log_p):
    with np.errstate(all="ignore"):
        assert link._logs(np.array([v]))[0] == pytest.approx([log_p], rel=1e-10)


@over_defined_links
def test_ends(link):
    xi = getattr(link, "xi", 0.0)
    at0, at1 = link.link([0.0, 1.0])
    assert at0 == (-1.0 / xi if xi > 0 else -np.inf)
    assert at1 == (-1.0 / xi if xi < 0 else np.inf)
    assert link.link(0.0, 1.0) == at0
    smallest = np.nextafter(0.0, 1.0)
    assert at0 <= link.link(smallest, 1.0) <= link.link(1e-300)
    assert link.link(1.0, 1e-300) <= link.link(1.0, smallest) <= at1


@pytest.mark.parametrize(
    ("link", "support"),
    [(GEV(0.5), (-2.0, np.inf)), (GEV(2.0), (-0.5, np.inf)), (GEV(-0.5), (-np.inf, 2.0)), (GEV(-1.0), (-np.inf, 1.0))],
)
def test_outside_the_support_p_is_exactly_0_or_1(link, support):
    below, above = support
    if np.isfinite(below):
        assert link.inverse_pair([below, below - 1.0, -1e300])[0].tolist() == [0.0] * 3
    if np.isfinite(above):
        assert link.inverse_pair([above, above + 1.0, 1e300])[1].tolist() == [0.0] * 3
    edge = below if np.isfinite(below) else above
    outside = edge + np.sign(edge) * np.array([1e-9, 1.0, 1e9])
    assert link.inverse_derivative(outside).tolist() == [0.0] * 3


def test_infinite_only_beyond_float64():
    """For ξ = 2 the score of 1 - p = 1e-300 is 1e600 / 2, for ξ = 1 it is 1e300."""
    assert GEV(2.0).link(1.0, 1e-300) == np.inf
    assert GEV(1.0).link(1.0, 1e-300) == pytest.approx(1e300, rel=1e-12)
    assert Cauchit().link(1e-307) == pytest.approx(-1e307 / np.pi, rel=1e-14)
    assert Cauchit().link(1e-310) == -np.inf


@over_links
def test_kinds_of_input(link):
    p = np.array([0.1, 0.3, 0.7], dtype=np.float32)
    for method in (link.link, link.inverse, link.inverse_derivative):
        array = method(p)
        assert array.dtype == np.float64
        assert array.shape == (3,)
        np.testing.assert_array_equal(array, method(p.astype(np.float64)))
        np.testing.assert_array_equal(array, method(p.tolist()))
        np.testing.assert_array_equal(array.reshape(3, 1), method(p[:, None]))
        assert type(method(0.5)) is np.float64
        assert method([]).shape == (0,)
    assert all(type(x) is np.float64 for x in link.inverse_pair(0.25))
    assert type(link.link(0.25, 0.75)) is np.float64
    assert link.link(0.25, [0.75, 0.75]).shape == (2,)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Logit(), statsmodels_links.Logit()),
        (Probit(), statsmodels_links.Probit()),
        (Cloglog(), statsmodels_links.CLogLog()),
        (Loglog(), statsmodels_links.LogLog()),
        (Cauchit(), statsmodels_links.Cauchy()),
    ],
)
def test_agrees_with_statsmodels(ours, theirs):
    p = np.linspace(0.001, 0.999, 201)
    v = ours.link(p)
    np.testing.assert_allclose(v, theirs(p), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(ours.inverse(v), theirs.inverse(v), rtol=1e-12)
    np.testing.assert_allclose(ours.inverse_derivative(v), theirs.inverse_deriv(v), rtol=1e-11)


def test_relations_between_links():
    v = np.linspace(-30.0, 30.0, 61)
    np.testing.assert_array_equal(Loglog().inverse_pair(v), GEV(0.0).inverse_pair(v))
    np.testing.assert_array_equal(Cloglog().inverse_pair(v)[::-1], Loglog().inverse_pair(-v))
    np.testing.assert_array_equal(GEV(1e-300).inverse(v), GEV(0.0).inverse(v))
    inner = np.linspace(-5.0, 0.9, 30)  # ξ = -1: t = 1 - v
    np.testing.assert_allclose(GEV(-1.0).inverse(inner), np.exp(inner - 1.0), rtol=1e-14)


# --- antiderivatives -------------------------------------------------------------------


def true_antiderivatives(link: Link, v: float):
    """By quadrature; for the extreme-value links in t, with dv = -t^(-ξ-1) dt."""
    v = mp.mpf(v)
    truth = Truth(link, v)
    match link:
        case Cauchit():
            at0 = mp.quad(lambda x: truth.pair(x)[0], [0, v])
            return at0, mp.quad(lambda x: -truth.pair(x)[1], [0, v])
        case Cloglog():
            return true_antiderivatives(Loglog(), -v)[::-1]
        case GEV() | Loglog():
            xi, log_t = mp.mpf(getattr(link, "xi", 0.0)), truth.log_t(v)
            t = mp.exp(log_t)
            at0 = mp.quad(lambda s: mp.exp(-s) * s ** (-xi - 1), [t, t + 1, t + 10, mp.inf])
            if xi >= 1:
                return at0, at0 - v
            tail = [-mp.inf, log_t - 50, log_t]  # in ln t
            return at0, mp.quad(lambda x: -mp.expm1(-mp.exp(x)) * mp.exp(-xi * x), tail)
    at0 = mp.quad(lambda x: truth.pair(x)[0], [-mp.inf, v - 10, v])
    return at0, mp.quad(lambda x: truth.pair(x)[1], [v, v + 10, mp.inf])


@pytest.mark.parametrize("link", [*FIXED, *map(GEV, (-2.0, -0.5, -1e-9, 1e-6, 0.3, 0.75, 1.0, 2.0))], ids=repr)
@pytest.mark.parametrize("v", [-0.4, 0.0, 0.3])
def test_antiderivatives_against_quadrature(link, v):
    with mp.workdps(30), np.errstate(all="ignore"):
        truth = [float(x) for x in true_antiderivatives(link, v)]
        assert link._antiderivatives(np.array([v])) == pytest.approx(np.array(truth)[:, None], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("v", [-37.5, -30.0, -10.0, 10.0, 30.0, 37.5])
def test_normal_antiderivative_in_the_tails(v):
    x = mp.mpf(v)
    truth = [x * mp.ncdf(x) + mp.npdf(x)], [-x * mp.ncdf(-x) + mp.npdf(x)]
    for actual, expected in zip(Probit()._antiderivatives(np.array([v])), truth, strict=True):
        assert relative_error(actual, expected) <= 1e-12


@pytest.mark.parametrize("v", [-49.0, -51.0, -300.0, -1e4])
def test_normal_hazards_far_out(v):
    """Long after Φ has underflowed; the slope of φ/Φ tends to -1, by v + φ/Φ, which is about -1/v."""
    truth = Truth(Probit(), v)
    for side, x in ((0, v), (1, -v)):  # the right tail of φ/(1 - Φ) mirrors the left tail of φ/Φ
        sign = -1 if side else 1
        assert relative_error(Probit()._hazards(np.array([x]))[side], [truth.hazards()[0]]) <= 1e-14
        slope = Probit()._hazard_slopes(np.array([x]))[side]
        assert relative_error(slope, [sign * truth.hazard_slopes()[0]]) <= 1e-12


@over_links
def test_antiderivatives_have_slopes_p_and_minus_q(link):
    """Everywhere, outside the support included."""
    v = np.array([-50.0, -6.3, -2.7, -1.2, -0.45, 0.0, 0.45, 0.9, 1.7, 3.1, 12.0, 50.0])
    h = 1e-4
    with np.errstate(all="ignore"):
        (low0, low1), (high0, high1) = link._antiderivatives(v - h), link._antiderivatives(v + h)
    p, q = link.inverse_pair(v)
    np.testing.assert_allclose((high0 - low0) / (2 * h), p, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose((high1 - low1) / (2 * h), -q, rtol=1e-6, atol=1e-7)


@over_links
def test_antiderivatives_differ_by_the_score(link):
    """∫p - ∫(-q) = v + constant, through every change of method and beyond the support."""
    v = np.concatenate([-np.geomspace(1e15, 1e-3, 73), [0.0], np.geomspace(1e-3, 1e15, 73)])
    with np.errstate(all="ignore"):
        at0, at1 = link._antiderivatives(v)
        constant = np.subtract(*link._antiderivatives(np.array([0.0])))
    size = 1.0 + np.maximum(np.abs(at0), np.abs(at1)) + np.abs(v)
    assert np.all(np.abs(at0 - at1 - v - constant) <= 1e-12 * size)
    assert np.all(np.diff(at0) >= -1e-12 * size[1:])
    assert np.all(np.diff(at1) <= 1e-12 * size[1:])


def test_cauchit_antiderivatives_are_normalised_at_zero():
    assert np.array(Cauchit()._antiderivatives(np.array([0.0]))).tolist() == [[0.0], [0.0]]


# --- parameters and bad input ------------------------------------------------------------


def test_parameters_by_position_and_equality():
    assert GEV(0.2) == GEV(xi=0.2) != GEV(0.3)
    assert repr(GEV(0.2)) == "GEV(xi=0.2)"
    assert len({GEV(0.2), GEV(0.2), GEV(0.3), Logit(), Logit()}) == 3


@pytest.mark.parametrize("key", LINKS)
def test_keys(key):
    link = get_link(key)
    assert isinstance(link, LINKS[key])
    assert get_link(link) is link


@pytest.mark.parametrize("unknown", ["identity", "", None, 3, Logit])
def test_unknown_key_lists_the_valid_ones(unknown):
    with pytest.raises(ValueError, match="link must be one of") as error:
        get_link(unknown)
    assert all(repr(key) in str(error.value) for key in LINKS)


@pytest.mark.parametrize("xi", [np.nan, np.inf, -np.inf])
def test_shape_must_be_finite(xi):
    with pytest.raises(ValueError, match=f"xi must be finite, got {xi}"):
        GEV(xi)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda link: link.link(1.5), r"p must lie in \[0, 1\], got 1.5"),
        (lambda link: link.link([0.5, -0.1]), r"p must lie in \[0, 1\], got -0.1"),
        (lambda link: link.link([0.5, np.nan]), r"p must lie in \[0, 1\], got nan"),
        (lambda link: link.link(0.5, 1.5), r"q must lie in \[0, 1\], got 1.5"),
        (lambda link: link.link(0.5, 0.6), r"q must be 1 - p, but p \+ q is 1.1"),
        (lambda link: link.link("a half"), "p must be numbers"),
        (lambda link: link.inverse([0.0, np.nan]), "v must not contain nan"),
        (lambda link: link.inverse_pair(np.nan), "v must not contain nan"),
        (lambda link: link.inverse_derivative(np.nan), "v must not contain nan"),
        (lambda link: link.inverse("high"), "v must be numbers"),
    ],
)
@pytest.mark.parametrize("link", [Logit(), GEV(0.5)], ids=repr)
def test_bad_input(link, call, message):
    with pytest.raises(ValueError, match=message):
        call(link)
