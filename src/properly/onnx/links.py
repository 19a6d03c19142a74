"""Inverse links: from a score to the pair (p, 1 - p), each with its own last digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from properly.links import GEV, Cauchit, Cloglog, Link, Logit, Loglog, Probit
from properly.losses import BoostingLoss, CanonicalLink, SquaredLoss
from properly.onnx.graph import Value, expm1, log1p
from properly.onnx.special import arcsinh, arctan, scaled_normal_tail

Pair = tuple[Value, Value]


def pair_of(link: Link, v: Value) -> Pair:
    """(p, q) of the scores v under a link."""
    for kind, inverse in _INVERSES.items():
        if type(link) is kind:
            return inverse(link, v)
    raise NotImplementedError(
        f"{link!r} has no closed form that ONNX could compute; use one of the links "
        f"{', '.join(kind.__name__ for kind in _INVERSES if kind is not CanonicalLink)}."
    )


def logistic_pair(v: Value) -> Pair:
    small = (-abs(v)).exp()
    large = 1.0 / (1.0 + small)
    return (v >= 0.0).where(large, small * large), (v >= 0.0).where(small * large, large)


def _by_tail(v: Value, tail: Value) -> Pair:
    """The pair of a symmetric link, from the smaller of the two."""
    return (v >= 0.0).where(1.0 - tail, tail), (v >= 0.0).where(tail, 1.0 - tail)


def _probit(link: Any, v: Value) -> Pair:
    size = abs(v).minimum(40.0)  # beyond, the tail is 0 in float64
    return _by_tail(v, 0.5 * scaled_normal_tail(size * float(np.sqrt(0.5))) * (-0.5 * size * size).exp())


def _cauchit(link: Any, v: Value) -> Pair:
    size = abs(v)
    small = arctan(size.minimum(1.0 / size))
    return _by_tail(v, (size < 1.0).where(0.5 - small * (1.0 / np.pi), small * (1.0 / np.pi)))


def _extreme(log_t: Value) -> Pair:
    t = log_t.exp()
    return (-t).exp(), -expm1(-t)


def _cloglog(link: Any, v: Value) -> Pair:
    q, p = _extreme(v)
    return p, q


def _gev(link: GEV, v: Value) -> Pair:
    xi = link._shape
    if not xi:
        return _extreme(-v)
    scaled = xi * v
    inside = scaled > -1.0
    log_t = log1p(inside.where(scaled, 0.0)) / -xi
    return _extreme(inside.where(log_t, float(np.copysign(np.inf, xi))))


def _canonical(link: CanonicalLink, v: Value) -> Pair:
    if type(link.loss) is SquaredLoss:
        inside = v.clip(-0.5, 0.5)
        return 0.5 + inside, 0.5 - inside
    if type(link.loss) is BoostingLoss:
        return logistic_pair(2.0 * arcsinh(v * 0.25))
    raise NotImplementedError(
        f"the canonical link of {link.loss!r} has no closed form that ONNX could compute; fit with a link such as "
        "Logit() instead."
    )


_INVERSES: dict[type, Callable[[Any, Value], Pair]] = {
    Logit: lambda link, v: logistic_pair(v),
    Probit: _probit,
    Cauchit: _cauchit,
    Cloglog: _cloglog,
    Loglog: lambda link, v: _extreme(-v),
    GEV: _gev,
    CanonicalLink: _canonical,
}
