"""Both losses of the Beta family from one polynomial: many times faster than incomplete beta functions.

With W = p^α q^β, A₀ = L₀(1) and A₁ = L₁(0), integration by parts gives

    β (A₀ - L₀) = W + α L₁    and    α (A₁ - L₁) = W + β L₀,

so either loss gives the other, and nothing cancels if the smaller one comes first: L₀ below the mode of W, L₁ above.
There L₀ = W p R(p) with R(p) = ₂F₁(α+β+1, 1; α+2; p) / (α+1), and L₁ likewise with the classes exchanged.
R corresponds to Mills' ratio of the normal distribution: away from the mode it falls as 1/distance. With the distance
in standard deviations and u = 1/(distance + 4), R/u is a polynomial in u of degree 10 to 20 to float64 precision.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev

from properly.numeric.arrays import namespace, piecewise
from properly.numeric.limits import EPS
from properly.numeric.probabilities import Array, Probabilities

_OFFSET = 4.0  # in u = 1/(distance + 4): about where the fewest powers are needed
_DEGREE = 20  # leaves 1e-14 for the most concentrated weight functions, and less for others
_DEEPEST = 100_000  # of the continued fraction; the largest parameters of `BetaLoss` need some thousands


class BetaPair:
    """(L₀, L₁) of the weight function scale · p^(α-1) q^(β-1), for positive α and β.

    The relative error is about 1e-14 plus that of the exponent α ln p + β ln q + ln scale. It is larger for a small
    parameter, as the losses at 0 and 1 are then larger than those between by a factor of 1/min(α, β).
    """

    def __init__(self, alpha: float, beta: float, log_scale: float) -> None:
        self.shape = alpha, beta, log_scale
        # Between (α+1)/(α+β+3) and (α+2)/(α+β+3) the fractions for both sides converge fast.
        total = alpha + beta + 3.0
        self.split_p, self.split_q = (alpha + 1.5) / total, (beta + 1.5) / total
        deviation = float(np.sqrt(self.split_p * self.split_q / total))
        self.below = _MillsRatio(alpha + 1.0, beta, self.split_p, deviation)
        self.above = _MillsRatio(beta + 1.0, alpha, self.split_q, deviation)
        # The largest losses, from the sum of both parts where the two sides meet: there is no jump.
        power = float(np.exp(alpha * np.log(self.split_p) + beta * np.log(self.split_q) + log_scale))
        loss0, loss1 = (
            float(power * split * ratio(np.zeros(1))[0])
            for split, ratio in ((self.split_p, self.below), (self.split_q, self.above))
        )
        self.largest0 = loss0 + (power + alpha * loss1) / beta
        self.largest1 = loss1 + (power + beta * loss0) / alpha

    def losses(self, at: Probabilities) -> tuple[Array, Array]:
        alpha, beta, log_scale = self.shape
        xp = namespace(at.p)
        power = xp.exp(alpha * at.log_p + beta * at.log_q + log_scale)
        # The distance above the split, from the smaller of p and q there: the other one is rounded.
        distance = at.p - self.split_p if self.split_p <= 0.5 else self.split_q - at.q
        is_above = distance > 0.0
        ratio = piecewise(is_above, self.above, lambda distance: self.below(-distance), distance)
        smaller = power * xp.where(is_above, at.q, at.p) * ratio
        larger = xp.where(
            is_above,
            self.largest0 - (power + alpha * smaller) / beta,
            self.largest1 - (power + beta * smaller) / alpha,
        )
        return xp.where(is_above, larger, smaller), xp.where(is_above, smaller, larger)


beta_pair = lru_cache(maxsize=64)(BetaPair)


class _MillsRatio:
    """R(x) = ₂F₁(a+b, 1; a+1; x) / a, that is B(x; a, b) = x^a (1-x)^b R(x), at a distance below `split`."""

    def __init__(self, a: float, b: float, split: float, deviation: float) -> None:
        self.deviation = deviation
        farthest, nearest = 1.0 / (split / deviation + _OFFSET), 1.0 / _OFFSET  # u at x = 0 and at the split
        middle, half = 0.5 * (nearest + farthest), 0.5 * (nearest - farthest)
        nodes = chebyshev.chebpts1(_DEGREE + 1)
        u = middle + half * nodes
        x = np.maximum(split - deviation * (1.0 / u - _OFFSET), 0.0)
        series = chebyshev.chebfit(nodes, _by_fraction(x, a, b) / u, _DEGREE)
        used = np.flatnonzero(np.abs(series) > 4.0 * EPS * np.abs(series).max())
        # R/u = Σ coefficients[k] (slope u - shift)^k, whose argument is that of the nodes.
        self.coefficients = chebyshev.cheb2poly(series[: used[-1] + 1]).tolist()
        self.slope, self.shift = 1.0 / half, middle / half

    def __call__(self, distance: Array) -> Array:
        u = 1.0 / (distance / self.deviation + _OFFSET)
        argument = self.slope * u
        argument -= self.shift
        total = namespace(u).full_like(u, self.coefficients[-1])
        for coefficient in self.coefficients[-2::-1]:
            total *= argument
            total += coefficient
        total *= u
        return total


def _by_fraction(x: Array, a: float, b: float) -> Array:
    """₂F₁(a+b, 1; a+1; x) / a by its continued fraction in x, whose depth grows until nothing changes any more.

    For x up to about (a+1)/(a+b+2) that is a depth of some √(a+b). Reference: DLMF 8.17.22.
    """
    depth, previous = 8, np.full_like(x, np.inf)
    while depth < _DEEPEST:
        m = np.arange(depth, dtype=np.float64)
        odd = -(a + m) * (a + b + m) / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        even = (m + 1.0) * (b - m - 1.0) / ((a + 2.0 * m + 1.0) * (a + 2.0 * m + 2.0))
        value = np.ones_like(x)
        for coefficient in np.column_stack((odd, even)).ravel()[::-1]:
            value = 1.0 + coefficient * x / value
        value = 1.0 / (a * value)
        if not np.any(np.abs(value - previous) > 4.0 * EPS * value):
            return value
        depth, previous = depth + depth // 2, value
    raise ArithmeticError(f"a continued fraction does not converge within {_DEEPEST} terms at a = {a}, b = {b}.")
