"""Incomplete beta and gamma integrals, extended to the parameters that proper losses need.

The partial losses of the beta family are unregularised incomplete beta integrals whose second
parameter may be zero or negative; those of the generalised-extreme-value (GEV) family are upper
incomplete gamma integrals of negative order. SciPy covers neither, so this module adds

    B(x; a, b) for a > 0 and b > -1, and Gamma(a, T) for every real a,

and the two GEV partial losses. Wherever possible a value is a sum, or a continued fraction, of
positive terms, so that relative accuracy survives in both tails.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log1p

import numpy as np
from scipy.special import betainc, betaincc, betaln, exprel, gamma, gammaincc, zetac

from properly.numeric.limits import EPS
from properly.numeric.probabilities import Array

_LARGE_B = 10.0  # beyond, scipy.special.betainc is cheaper than the recurrence in b
_SMALL_T = 2.0  # the series of Gamma(a, T) serves below, its continued fraction above
_DEEPEST = 10_000  # of a continued fraction; the parameters that losses may have need some hundreds


# --- building blocks -----------------------------------------------------------------


def _box_cox(log_t: Array, a: float) -> Array:
    """(t^a - 1) / a for finite log t; log t at a = 0, without a singularity there."""
    value: Array = log_t * exprel(a * log_t)
    return value


def _horner(coefficients: Array, t: Array) -> Array:
    """sum_k coefficients[k] t^k."""
    total = np.full_like(t, coefficients[-1])
    for c in coefficients[-2::-1]:
        total *= t
        total += c
    return total


def _scaled(value: Array, log_scale: float | Array) -> Array:
    """value exp(log_scale) in two halves, as either factor may be huge where the other is tiny."""
    half = np.exp(0.5 * log_scale)
    return np.where((value == 0) | (half == 0), 0.0, half * value * half)


def _convergent(coefficients: Array, z: Array) -> Array:
    """1/(1 + c_1 z/(1 + c_2 z/(... (1 + c_n z)))), from the bottom up."""
    t = np.ones_like(z)
    for c in coefficients[::-1]:
        np.divide(z, t, out=t)
        t *= c
        t += 1.0
    return 1.0 / t


def _stieltjes_fraction(coefficients: Callable[[int], Array], z: Array) -> Array:
    """1/(1 + c_1 z/(1 + c_2 z/(1 + ...))) for z >= 0 and positive c_k.

    Consecutive convergents enclose the value, and the more slowly the larger z is: the depth at
    which the enclosure closes for the largest z serves every z.
    """
    worst, depth = np.array([np.fmax.reduce(z, axis=None, initial=0.0)]), 8
    while depth < _DEEPEST:
        c = coefficients(depth)
        one_end, other_end = _convergent(c, worst), _convergent(c[:-1], worst)
        if not np.any(np.abs(other_end - one_end) > EPS * one_end):
            return _convergent(c, z)
        depth += depth // 4
    raise ArithmeticError(f"a continued fraction does not converge within {_DEEPEST} terms at z = {worst[0]}.")


# --- incomplete beta -----------------------------------------------------------------


def incomplete_beta(x: Array, y: Array, a: float, b: float, log_scale: float = 0.0) -> Array:
    """exp(log_scale) B(x; a, b), where B(x; a, b) = int_0^x u^(a-1) (1-u)^(b-1) du.

    The complement y = 1 - x is a separate argument, so that neither tail is rounded away.
    Requires a > 0 and b > -1; for b <= 0 the integral diverges (+inf) at x = 1.
    The relative error is about 1e-13 for moderate parameters. For a + b up to 1e4 the exponents
    a log x, b log y, log B(a, b) and log_scale are thousands, and their rounding allows about 1e-11
    around the mode, and 1e-9 in the far tail of I_x(a, b), near 1e-200.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    with np.errstate(all="ignore"):
        if b > _LARGE_B:
            return _beta_by_scipy(x, y, a, b, log_scale)
        if b > 1:  # (a+b-1) B(x; a, b) = (b-1) B(x; a, b-1) + x^a y^(b-1)
            lower = incomplete_beta(x, y, a, b - 1, log_scale)
            power = np.exp(_log_power(x, y, a, b - 1) + log_scale)
            return np.asarray(((b - 1) * lower + power) / (a + (b - 1)))
        result = np.empty_like(x)
        cut = min(0.5, 2.0 / a)
        near = y < cut  # near the singularity of u^(a-1) (1-u)^(b-1) at u = 1
        result[near] = _beta_near_one(y[near], a, b, cut, log_scale)
        result[~near] = _beta_by_fraction(x[~near], y[~near], a, b, log_scale)
    return result


def _log_power(x: Array, y: Array, a: float, b: float) -> Array:
    """a log x + b log y, each logarithm from the smaller of x and y."""
    return np.where(x < y, a * np.log(x) + b * np.log1p(-x), a * np.log1p(-y) + b * np.log(y))


def _beta_by_scipy(x: Array, y: Array, a: float, b: float, log_scale: float) -> Array:
    """B(a, b) I_x(a, b), with I_x(a, b) = 1 - I_y(b, a) from the smaller of x and y."""
    result = np.empty_like(x)
    low = x <= y
    result[low] = betainc(a, b, x[low])
    result[~low] = betaincc(b, a, y[~low])
    return _scaled(result, betaln(a, b) + log_scale)


def _beta_by_fraction(x: Array, y: Array, a: float, b: float, log_scale: float) -> Array:
    """B(x; a, b) = x^a y^(b-1) / a  2F1(1-b, 1; a+1; -x/y), by Gauss's fraction.

    All its coefficients are positive when a + b > 0. Otherwise a < 1, so that y >= 1/2,
    and the only negative one, c_2 >= -1/2, meets x/y <= 1: nothing cancels.
    """

    def coefficients(n: int) -> Array:
        m = np.arange(n // 2 + 1, dtype=np.float64)
        c = np.empty(2 * m.size)
        c[0::2] = (m + 1 - b) * (a + m) / ((a + 2 * m) * (a + 2 * m + 1))
        c[1::2] = (m + 1) * (m + (a + b)) / ((a + 2 * m + 1) * (a + 2 * m + 2))
        return c[:n]

    power = np.exp(_log_power(x, y, a, b - 1.0) + log_scale)
    return power * _stieltjes_fraction(coefficients, x / y) / a


def _beta_near_one(y: Array, a: float, b: float, cut: float, log_scale: float) -> Array:
    """B(1-cut; a, b) + int_y^cut v^(b-1) (1-v)^(a-1) dv for y < cut, by powers of v.

    (1-v)^(a-1) = sum_k (1-a)_k v^k / k!, whose signs cancel little while a cut <= 2. The integrals
    of v^(b-1) and v^b are Box-Cox forms, as b or b + 1 may vanish.
    """
    k = np.arange(64, dtype=np.float64)
    ratios = (k - a) * cut / np.maximum(k, 1.0)
    ratios[0] = 1.0
    c = np.cumprod(ratios)  # (1-a)_k cut^k / k!
    c = c[: 3 + int(np.max(np.flatnonzero(np.abs(c) > 0.1 * EPS)))]
    base = _beta_by_fraction(np.array([1.0 - cut]), np.array([cut]), a, b, 0.0)
    v = y / cut
    log_v = np.log(np.where(y > 0, v, 1.0))
    tail = c[2:] / (b + k[2 : c.size])
    powers = -_box_cox(log_v, b) - c[1] * _box_cox(log_v, b + 1.0)
    powers += tail.sum() - np.exp((b + 2.0) * log_v) * _horner(tail, v)
    complete = np.exp(betaln(a, b) + log_scale) if b > 0 else np.inf
    return np.where(y > 0, _scaled(base + cut**b * powers, log_scale), complete)


# --- upper incomplete gamma ----------------------------------------------------------


def _log_gamma_two(e: float) -> float:
    """log Gamma(2 + e) for |e| <= 1/2, relatively accurate around e = 0."""
    k = np.arange(2, 32)  # e (1 - euler_gamma) + sum_{k>=2} (-1)^k (zeta(k) - 1) e^k / k
    coefficients = np.concatenate(([1.0 - np.euler_gamma], (-1.0) ** k * zetac(k) / k))
    return e * float(_horner(coefficients, np.array(e)))


def gamma_minus_one_ratio(a: float) -> float:
    """(Gamma(1+a) - 1) / a, which is -euler_gamma at a = 0."""
    a = float(a)
    if abs(a - 1.0) <= 0.5:
        return float(np.expm1(_log_gamma_two(a - 1.0))) / a
    if abs(a) > 0.5:
        return (float(gamma(1.0 + a)) - 1.0) / a
    if abs(a) < EPS:
        return -float(np.euler_gamma)
    # Gamma(1+a) = exp(a q), where q = (log Gamma(2+a) - log(1+a)) / a
    q = (_log_gamma_two(a) - log1p(a)) / a
    return q * float(exprel(a * q))


def upper_gamma(a: float, T: Array, log_T: Array | None = None) -> Array:
    """Gamma(a, T) = int_T^inf s^(a-1) e^(-s) ds for real a and T in [0, inf].

    At T = 0 it is Gamma(a) for a > 0 and +inf otherwise; a value beyond float64 is +inf. For a <= 1,
    log_T = log T may be handed in where T itself underflows. The relative error is about 1e-13.
    """
    T = np.asarray(T, dtype=np.float64)
    with np.errstate(all="ignore"):
        if a > 1:
            return np.asarray(gammaincc(a, T) * gamma(a))
        L = np.log(T) if log_T is None else np.asarray(log_T, dtype=np.float64)
        result = np.full_like(T, np.nan)
        zero = np.isneginf(L)
        low, high = (T < _SMALL_T) & ~zero, T >= _SMALL_T
        result[zero] = gamma(a) if a > 0 else np.inf
        result[low] = _upper_gamma_by_series(a, T[low], L[low])
        result[high] = _upper_gamma_by_fraction(a, T[high])
    return result


def _upper_gamma_by_fraction(a: float, T: Array) -> Array:
    """T^(a-1) e^(-T) / (1 + (1-a)z/(1 + z/(1 + (2-a)z/(1 + 2z/(1 + ...))))), z = 1/T."""

    def coefficients(n: int) -> Array:
        m = np.arange(1, n // 2 + 2, dtype=np.float64)
        return np.column_stack((m - a, m)).ravel()[:n]

    return T ** (a - 1.0) * np.exp(-T) * _stieltjes_fraction(coefficients, 1.0 / T)


def _upper_gamma_by_series(a: float, T: Array, L: Array) -> Array:
    """For a <= 1 and 0 < T < 2: a series at a + n >= -1/2, then n steps down to a.

    Gamma(a, T) = (Gamma(1+a) - T^a)/a - T^a sum_{k>=1} (-T)^k / (k! (a+k)); the steps
    Gamma(a-1, T) = (T^(a-1) e^(-T) - Gamma(a, T)) / (1-a) are taken on
    g_a = T^(-a) Gamma(a, T), which neither overflows nor underflows.
    """
    n = max(0, round(-a))
    top = a + n
    k = np.arange(1, 32, dtype=np.float64)
    tail = np.cumprod(-1.0 / k) / (top + k)
    value = gamma_minus_one_ratio(top) - _box_cox(L, top)
    value -= np.exp((top + 1.0) * L) * _horner(tail, T)
    if n == 0:
        return value
    decay = np.exp(-T)
    g = (decay - np.exp((1.0 - top) * L) * value) / (1.0 - top)
    for m in range(1, n):
        g = (decay - T * g) / (1.0 - top + m)
    return _scaled(g, a * L)


# --- partial losses of the GEV family ------------------------------------------------


def gev_loss0(xi: float, T: Array) -> Array:
    """Partial loss at y = 0 and T = -log p: Gamma(-xi, T)."""
    return upper_gamma(-xi, T)


def gev_loss1(xi: float, T: Array) -> Array:
    """Partial loss at y = 1 and T = -log p: int_0^T (1 - e^(-s)) s^(-xi-1) ds if xi < 1.

    For xi >= 1 that integral diverges at 0, and the loss is instead Gamma(-xi, T) - psi,
    where psi = (T^(-xi) - 1)/xi is the link: it rises from -inf at T = 0.
    """
    T = np.asarray(T, dtype=np.float64)
    loss = _gev_loss1_divergent if xi >= 1 else _gev_loss1_convergent
    result = np.full_like(T, np.nan)
    inner = (T > 0) & np.isfinite(T)
    with np.errstate(all="ignore"):
        result[inner] = loss(-xi, T[inner])
        result[T == 0] = -np.inf if xi >= 1 else 0.0
        result[np.isposinf(T)] = _gev_loss1_limit(xi)
    return result


def _gev_loss1_limit(xi: float) -> float:
    """The loss at T = inf, where Gamma(-xi, T) = 0 and -psi = 1/xi for xi > 0."""
    if xi <= 0:
        return np.inf
    return float(np.divide(1.0 if xi >= 1 else gamma(1.0 - xi), xi))


def _gev_loss1_convergent(a: float, T: Array) -> Array:
    """int_0^T (1 - e^(-s)) s^(a-1) ds for a > -1 and finite T > 0.

    For small T: T^(a+1) e^(-T) sum_k D_k T^k, where D_0 = 1/(a+1) and, all positive and regular at
    a = 0, D_k = (D_{k-1} + 1/(k+1)!) / (a+k+1).
    For large T: Gamma(a, T) + (T^a - 1)/a - (Gamma(1+a) - 1)/a.
    """
    result = np.empty_like(T)
    small = T - 2.0 * abs(a) <= 25.0
    t = T[small]
    most = float(t.max(initial=1.0))
    d = [1.0 / (a + 1.0)]  # D_k most^k, which cannot underflow
    term = 1.0  # most^k / (k+1)!
    for k in range(1, int(most + 8.0 * most**0.5) + 20):
        term *= most / (k + 1.0)
        d.append((most * d[-1] + term) / (a + k + 1.0))
    result[small] = t ** (a + 1.0) * np.exp(-t) * _horner(np.array(d), t / most)
    t = T[~small]
    result[~small] = upper_gamma(a, t) + (_box_cox(np.log(t), a) - gamma_minus_one_ratio(a))
    return result


def _gev_loss1_divergent(a: float, T: Array) -> Array:
    """Gamma(a, T) + (T^a - 1)/a for a <= -1 and finite T > 0.

    For T < 1 the singular parts are combined: (Gamma(a+1, T) + T^a (1 - e^(-T)) - 1) / a.
    """
    result = np.empty_like(T)
    small = T < 1.0
    t = T[small]
    result[small] = (upper_gamma(a + 1.0, t) + t ** (a + 1.0) * exprel(-t) - 1.0) / a
    t = T[~small]
    result[~small] = upper_gamma(a, t) + _box_cox(np.log(t), a)
    return result
