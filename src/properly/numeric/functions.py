"""Functions that formulas need and the array API standard does not have, or that ONNX runtimes have no float64 for.

For NumPy arrays they are those of SciPy and NumPy. For the arrays of other libraries they are computed from the
functions of the standard, to about 1e-14, or on the host where no short formula is good enough.
"""

from __future__ import annotations

import math
from contextvars import ContextVar
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special as sc

from properly.numeric.arrays import Array, constant, contiguous, fused_for, is_foreign, is_traced, namespace, on_host
from properly.numeric.limits import LARGEST

_SLAB, _SLABS = 1024, 256  # rows of one at least, and so many at most
_FEW = 32  # values are counted one by one up to here, after a sort beyond; so many columns are multiplied at once
_ROOT_HALF = math.sqrt(0.5)
_LOG_TWO = math.log(2.0)

# --- logistic function and softmax -----------------------------------------------------


def expit(x: Array) -> Array:
    """1/(1 + e^-x)."""
    xp = namespace(x)
    if xp is np:
        return sc.expit(x)
    small = xp.exp(-xp.abs(x))
    return xp.where(x >= 0.0, 1.0, small) / (1.0 + small)


def log_expit(x: Array) -> Array:
    """ln 1/(1 + e^-x)."""
    xp = namespace(x)
    if xp is np:
        return sc.log_expit(x)
    return xp.minimum(x, 0.0) - xp.log1p(xp.exp(-xp.abs(x)))


def logit(p: Array) -> Array:
    """ln(p/(1 - p)), around p = 1/2 from the distance to it."""
    xp = namespace(p)
    if xp is np:
        return sc.logit(p)
    twice = 2.0 * xp.clip(p, 0.25, 0.75) - 1.0
    middle = xp.log1p(twice) - xp.log1p(-twice)
    return xp.where((p > 0.25) & (p < 0.75), middle, xp.log(p) - xp.log1p(-p))


def logsumexp(
    x: Array, axis: int, keepdims: bool = False, highest: Array | None = None, weight: Array | None = None
) -> Array:
    """ln Σ weight e^x along an axis; `highest`, the largest x, if it is known, spares the search for it."""
    xp = namespace(x)
    if xp is np:
        return sc.logsumexp(x, axis=axis, keepdims=keepdims, b=weight)
    if weight is not None:
        x = x + constant(np.log(weight), x)
    highest = largest(x, axis) if highest is None else highest
    shift = xp.where(xp.isfinite(highest), highest, 0.0)
    total = xp.log(xp.sum(xp.exp(x - shift), axis=axis, keepdims=True)) + shift
    return total if keepdims else xp.squeeze(total, axis=axis)


def logaddexp(x: Array, y: Array) -> Array:
    """ln(e^x + e^y)."""
    xp = namespace(x)
    if xp is np:
        return np.logaddexp(x, y)
    return xp.maximum(x, y) + xp.log1p(xp.exp(-xp.where(x == y, 0.0, xp.abs(x - y))))


def log_softmax(x: Array, axis: int) -> Array:
    """x - ln Σ e^x along an axis."""
    xp = namespace(x)
    if xp is np:
        return sc.log_softmax(x, axis=axis)
    centred = _below_largest(x, axis)
    return centred - xp.log(xp.sum(xp.exp(centred), axis=axis, keepdims=True))


def softmax(x: Array, axis: int) -> Array:
    """e^x / Σ e^x along an axis."""
    xp = namespace(x)
    if xp is np:
        return sc.softmax(x, axis=axis)
    power = xp.exp(_below_largest(x, axis))
    return power / xp.sum(power, axis=axis, keepdims=True)


def _below_largest(x: Array, axis: int) -> Array:
    """x less the largest along an axis."""
    xp = namespace(x)
    highest = largest(x, axis)
    return x - xp.where(xp.isfinite(highest), highest, 0.0)


def exprel(x: Array) -> Array:
    """(e^x - 1)/x, which is 1 at x = 0."""
    xp = namespace(x)
    if xp is np:
        return sc.exprel(x)
    ordinary = (x != 0.0) & (x != math.inf)
    inner = xp.where(ordinary, x, 1.0)
    return xp.where(ordinary, xp.expm1(inner) / inner, xp.where(x == 0.0, 1.0, x))


# --- arrays ------------------------------------------------------------------------------


def largest(x: Array, axis: int) -> Array:
    """The largest element along an axis, which is kept; for ONNX by its place: ndonnx's own looks for nan first."""
    xp = namespace(x)
    if is_traced(x):
        return xp.take_along_axis(x, xp.argmax(x, axis=axis, keepdims=True), axis=axis)
    return xp.max(x, axis=axis, keepdims=True)


def average(x: Array, weight: Array | None) -> float:
    """The weighted mean of all elements."""
    xp = namespace(x)
    if xp is np:
        return float(np.average(x, weights=weight))
    return float(xp.mean(x) if weight is None else xp.sum(weight * x) / xp.sum(weight))


def bincount(index: Any, weight: Array | None, size: int) -> Array:
    """The number of entries of each of the values 0 ... size - 1, or their summed weight."""
    xp = namespace(index)
    if xp is np:
        return np.bincount(index, weight, size).astype(np.float64)
    if size <= _FEW:
        if weight is None:
            return xp.astype(xp.stack([xp.count_nonzero(index == k) for k in range(size)]), xp.float64)
        return xp.stack([xp.sum(xp.where(index == k, weight, 0.0)) for k in range(size)])
    order = xp.argsort(index)
    edges = searchsorted_in(xp.take(index, order), np.arange(size + 1))
    return sums_between(None if weight is None else xp.take(weight, order), edges)


def cumulative(x: Array) -> Array:
    """0, x₁, x₁ + x₂, ..."""
    xp = namespace(x)
    return np.concatenate([[0.0], np.cumsum(x)]) if xp is np else xp.cumulative_sum(x, include_initial=True)


def sums_between(values: Array | None, edges: Any) -> Array:
    """The sum of the values from each edge up to the next; None stands for values of 1."""
    xp = namespace(edges)
    upto = xp.astype(edges, xp.float64) if values is None else xp.take(cumulative(values), edges)
    return upto[1:] - upto[:-1]


def median(x: Array) -> float:
    """The middle one of the elements in order, or the mean of the two in the middle."""
    xp = namespace(x)
    if xp is np:
        return float(np.median(x))
    ordered, half = xp.sort(x), x.shape[0] // 2
    return float(ordered[half] if x.shape[0] % 2 else 0.5 * (ordered[half - 1] + ordered[half]))


def matmul(x: Any, matrix: Array) -> Any:
    """x @ matrix in float64, with a matrix of numbers.

    For ONNX as a sum of products over an axis (Einsum): onnxruntime would join a factor beside a MatMul to it, in
    float32.
    """
    if not is_foreign(x):
        return x @ matrix
    if is_traced(x):
        return namespace(x).tensordot(x, constant(np.ascontiguousarray(matrix), x), axes=1)
    fused = fused_for(x)
    if fused is not None and matrix.ndim == 2 and matrix.shape[1] <= _FEW:
        return fused.product(x, matrix)
    xp = namespace(x)
    return xp.astype(x, xp.float64, copy=False) @ constant(np.ascontiguousarray(matrix), x)


def cross(a: Any, b: Any) -> Any:
    """aᵀ b, summed over the rows of arrays of another library than NumPy.

    In slabs of rows: as one product its few entries would be the work of a few processors of a card.
    """
    xp, (n, slab) = namespace(a), (a.shape[0], max(_SLAB, -(-a.shape[0] // _SLABS)))
    whole = n - n % slab
    left, right = (xp.reshape(x[:whole, ...], (whole // slab, slab, x.shape[1])) for x in (a, b))
    rest = xp.matmul(a[whole:, ...].T, b[whole:, ...])
    return rest + xp.sum(xp.matmul(xp.permute_dims(left, (0, 2, 1)), right), axis=0)


# --- normal distribution ---------------------------------------------------------------

_MIDDLE, _FAR = 3.0, 12.0
_ERFCX_SERIES = (  # coefficients of Chebyshev polynomials, computed with 40 digits
    1.17756257419656, 0.005353904539615676, -0.09377550342284209, 0.05436652555744322, -0.018976596707845208,
    0.004453426061462712, -0.0006335531710553147, 1.7661719523171593e-05, 1.2841532864056671e-05,
    -2.0072285659059913e-06, -1.807522790414837e-07, 7.549828343825093e-08, 1.885668523838603e-09,
    -2.699519049798364e-09, -1.460079119939105e-11, 1.0361607445969489e-10, 1.475715976623473e-12,
    -4.277340064396911e-12, -2.07922492859799e-13, 1.8134502003176963e-13, 1.973425574544739e-14,
    -7.287943737592673e-15, -1.5169878690228116e-15, 2.3514112258781403e-16,
)  # fmt: skip


def erfcx(x: Array) -> Array:
    """e^(x²) erfc(x).

    For x >= 0 by a Chebyshev series: (1 + 2x) erfcx(x) runs smoothly from 1 to 2/√π as t = (x - 3)/(x + 3) runs from
    -1 to 1. The series is summed by Clenshaw's rule. From x = 12 on x √π erfcx(x) = 1 - 1/(2x²) + 3/(2x²)² - ..., which
    has the last digit, too. For x < 0 erfcx(x) = 2 e^(x²) - erfcx(-x).
    """
    xp = namespace(x)
    if xp is np:
        return sc.erfcx(x)
    size = xp.minimum(xp.abs(x), LARGEST)
    t = (size - _MIDDLE) / (size + _MIDDLE)
    first, *others = _ERFCX_SERIES
    ahead, after = xp.zeros_like(t), xp.zeros_like(t)
    for coefficient in reversed(others):
        ahead, after = 2.0 * t * ahead - after + coefficient, ahead
    near = (t * ahead - after + first) / (1.0 + 2.0 * size)
    far = xp.maximum(size, _FAR)
    series = xp.ones_like(far)
    for odd in range(19, 0, -2):
        series = 1.0 - odd * (0.5 / far / far) * series
    right = xp.where(size < _FAR, near, math.sqrt(1.0 / math.pi) / far * series)
    return xp.where(x < 0.0, 2.0 * xp.exp(x * x) - right, right)


def ndtr(v: Array) -> Array:
    """Φ(v), the standard normal distribution function."""
    xp = namespace(v)
    if xp is np:
        return sc.ndtr(v)
    tail = 0.5 * erfcx(_ROOT_HALF * xp.abs(v)) * xp.exp(-0.5 * v * v)
    return xp.where(v > 0.0, 1.0 - tail, tail)


def log_ndtr(v: Array) -> Array:
    """ln Φ(v)."""
    xp = namespace(v)
    if xp is np:
        return sc.log_ndtr(v)
    scaled, exponent = 0.5 * erfcx(_ROOT_HALF * xp.abs(v)), -0.5 * v * v
    left = xp.where(exponent == -math.inf, exponent, xp.log(scaled) + exponent)
    return xp.where(v > 0.0, xp.log1p(-scaled * xp.exp(exponent)), left)


def ndtri(p: Array) -> Array:
    """Φ⁻¹(p)."""
    return on_host(sc.ndtri, p, what="the quantile of the normal distribution")


def ndtri_exp(log_p: Array) -> Array:
    """Φ⁻¹(p) from ln p."""
    return on_host(sc.ndtri_exp, log_p, what="the quantile of the normal distribution")


# --- angles and hyperbolic functions ---------------------------------------------------


def arccot(x: Array) -> Array:
    """The angle between 0 and π whose cotangent is x: π/2 - arctan x, with all digits also where it is small."""
    xp = namespace(x)
    if xp is np:
        return np.arctan2(1.0, x)
    if not is_traced(x):
        return xp.atan2(xp.ones_like(x), x)
    size = xp.abs(x)
    small = _arctan(xp.minimum(size, 1.0 / size))
    acute = xp.where(size < 1.0, 0.5 * math.pi - small, small)
    return xp.where(x < 0.0, math.pi - acute, acute)


def _arctan(x: Any) -> Any:
    """arctan of x in [0, 1]: a guess t in float32, and the rest, arctan x - t = arctan((x c - s)/(c + x s)).

    With s and c the sine and cosine of t. The rest is so small that it is its own arctangent to the last digit.
    """
    xp = namespace(x)
    guess = xp.astype(xp.atan(xp.astype(x, xp.float32)), xp.float64)
    s = xp.sin(guess)
    c = xp.sqrt(1.0 - s * s)
    return guess + (x * c - s) / (c + x * s)


def tan(x: Array) -> Array:
    """tan x for x between 0 and π/4."""
    xp = namespace(x)
    if not is_traced(x):
        return xp.tan(x)
    s = xp.sin(x)
    return s / xp.sqrt(1.0 - s * s)


def cos(x: Array) -> Array:
    """cos x."""
    xp = namespace(x)
    if not is_traced(x):
        return xp.cos(x)
    s = xp.sin(0.5 * x)
    return 1.0 - 2.0 * s * s


def radius(x: Array) -> Array:
    """√(1 + x²), without overflow."""
    xp = namespace(x)
    if xp is np:
        return np.hypot(1.0, x)
    size = xp.abs(x)
    larger = xp.maximum(size, 1.0)
    ratio = xp.minimum(size, 1.0) / larger
    return larger * xp.sqrt(1.0 + ratio * ratio)


def asinh(x: Array) -> Array:
    """ln(x + √(1 + x²)); for ONNX from the excess of |x| + √(1 + x²) over 1, so that small x keeps its digits."""
    xp = namespace(x)
    if xp is np:
        return np.arcsinh(x)
    if not is_traced(x):
        return xp.asinh(x)
    size = xp.abs(x)
    near = xp.minimum(size, 1e9)
    excess = near + near * near / (1.0 + xp.sqrt(1.0 + near * near))
    result = xp.where(size > 1e9, xp.log(size) + _LOG_TWO, xp.log1p(excess))
    return xp.where(x < 0.0, -result, result)


# --- tables ----------------------------------------------------------------------------

ROUNDING = ContextVar("ROUNDING", default=1e-12)  # of scores without values, relative to their size


def entries(table: NDArray[Any], place: Any) -> Any:
    """The entries of a NumPy table of one dimension at these places."""
    return namespace(place).take(constant(table, place), place)


def rows(table: Array, place: Any) -> Array:
    """The rows of a NumPy table at these places."""
    return namespace(place).take(constant(table, place), place, axis=0)


def own_entries(x: Array, column: Any) -> Array:
    """The entry of every row in a column of its own."""
    return namespace(x).take_along_axis(x, column[:, None], axis=1)[:, 0]


def step_of(edges: Array, x: Array, side: str = "right") -> Any:
    """The number of edges below x, and with "right" those equal to x, too: its place in a table of steps.

    A graph runs where scores may be added up in another order. A score that should lie on an edge, as scores of
    calibration rows do, must not fall to the other side there: for arrays without values the edges are moved by
    `ROUNDING` of their size.
    """
    if is_traced(x) and len(edges):
        move = ROUNDING.get() * (np.abs(edges) + np.median(np.abs(edges)))
        edges = edges - move if side == "right" else edges + move
    return searchsorted(edges, x, side)


def searchsorted(edges: Array, x: Array, side: str = "left") -> Any:
    """np.searchsorted; in ONNX by bisection, so that neither time nor memory grow with the table."""
    xp = namespace(x)
    if xp is np:
        return np.searchsorted(edges, x, side=side)  # type: ignore[call-overload]
    if not is_traced(x):
        return xp.searchsorted(constant(edges, x), contiguous(x), side=side)
    depth = len(edges).bit_length()
    table = np.append(edges, np.full(2**depth - len(edges), np.inf))
    place = xp.astype(x != x, xp.int64)  # zeros
    for power in reversed(range(depth)):
        edge = entries(table, place + (2**power - 1))
        place = place + 2**power * xp.astype(edge <= x if side == "right" else edge < x, xp.int64)
    return xp.minimum(place, len(edges))


def searchsorted_in(ordered: Any, x: NDArray[Any], side: Literal["left", "right"] = "left") -> Any:
    """np.searchsorted of NumPy's numbers in an ordered array of any library."""
    xp = namespace(ordered)
    if xp is np:
        return np.searchsorted(ordered, x, side)
    return xp.searchsorted(ordered, constant(x, ordered), side=side)


def interp(x: Array, knots: Array, values: Array) -> Array:
    """Straight lines between the values at knots, which are in order; constant beyond them."""
    xp = namespace(x)
    if xp is np:
        y = np.interp(x, knots, values)
        if np.isfinite(y).all():
            return y
    gap = np.diff(knots)
    with np.errstate(over="ignore"):  # between knots whose distance is a subnormal number
        slope = np.divide(np.diff(values), gap, out=np.zeros(len(gap)), where=gap > 0.0)
    slope = np.clip(slope, -LARGEST, LARGEST)
    inside = xp.clip(x, float(knots[0]), float(knots[-1]))
    left = searchsorted(knots[1:], inside, "right")
    return entries(np.append(slope, 0.0), left) * (inside - entries(knots, left)) + entries(values, left)
