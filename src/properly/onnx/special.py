"""Functions that runtimes have for float32 at most, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy import special as sc

from properly.onnx.graph import Value, log1p

_MIDDLE, _DEGREE = 3.0, 32


def arctan(x: Value) -> Value:
    """arctan of x in [0, 1]: a guess t in float32, and the rest, arctan x - t = arctan((x c - s)/(c + x s)).

    With s and c the sine and cosine of t. The rest is so small that it is its own arctangent to the last digit.
    """
    guess = x.graph.apply("Atan", x.cast("FLOAT")).cast("DOUBLE")
    s, c = x.graph.apply("Sin", guess), x.graph.apply("Cos", guess)
    return guess + (x * c - s) / (c + x * s)


def arcsinh(x: Value) -> Value:
    """ln(|x| + √(1 + x²)) with the sign of x, from the excess over 1 so that small x keeps its digits."""
    size = abs(x)
    near = size.minimum(1e9)
    root = (1.0 + near * near).sqrt()
    result = (size > 1e9).where(size.log() + float(np.log(2.0)), log1p(near + near * near / (1.0 + root)))
    return (x < 0.0).where(-result, result)


def scaled_normal_tail(x: Value) -> Value:
    """erfcx(x) = e^(x²) erfc(x) for x >= 0, by a Chebyshev series.

    (1 + 2x) erfcx(x) runs smoothly from 1 to 2/√π as t = (x - 3)/(x + 3) runs from -1 to 1; the series is summed by
    Clenshaw's rule. The coefficients are computed here, and are right to the last digits of float64.
    """
    t = (x - _MIDDLE) / (x + _MIDDLE)
    series = chebyshev.chebinterpolate(_smooth, _DEGREE)
    twice = 2.0 * t
    ahead, after = x * 0.0, x * 0.0
    for coefficient in series[:0:-1]:
        ahead, after = twice * ahead - after + float(coefficient), ahead
    return (t * ahead - after + float(series[0])) / (1.0 + 2.0 * x)


def _smooth(t: Any) -> Any:
    x = _MIDDLE * (1.0 + t) / (1.0 - t)
    return (1.0 + 2.0 * x) * sc.erfcx(x)
