"""Which sums `properly.numeric.cuda.fused` reads off X in one go on a CUDA card; the plain path computes all others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from properly import kernels
from properly.kernels import Gradient, LinearModel, Moments
from properly.links import GEV, Cloglog, Link, Logit, Loglog, Probit
from properly.losses.composite import Composite
from properly.numeric.arrays import Array, fused_for, to_numpy

if TYPE_CHECKING:
    from properly.engines.device import DeviceEngine


def fused_sums(engine: DeviceEngine, kernel: Callable[..., Any], params: tuple[Any, ...]) -> Any:
    """What the kernel would add up, or None where that is not covered."""
    fused = fused_for(engine.X)
    if fused is None:
        return None
    if kernel is kernels.moments and params[0] is None:
        total, squares = to_numpy(fused.moments(engine.X, engine.weight))
        return Moments(total, squares, 0)
    return _gradient(fused, engine, *params) if kernel is kernels.gradient else None


def covers(engine: DeviceEngine, model: LinearModel, want_value: bool) -> bool:
    """Whether a gradient is fused: of one score with a canonical link that has a formula, without the value."""
    if want_value or fused_for(engine.X) is None or not isinstance(model.composite, Composite):
        return False
    one_offset = engine.offset is None or engine.offset.ndim == 1
    return one_offset and model.composite.canonical and _formula(model.composite.link) is not None


def _gradient(fused: Any, engine: DeviceEngine, model: LinearModel, coef: Array, want_value: bool) -> Gradient | None:
    if len(coef) > 1 or not covers(engine, model, want_value):
        return None
    rows = (engine.X, engine.y, engine.weight, engine.offset)
    formula = _formula(model.composite.link)  # type: ignore[union-attr]
    total = fused.gradient(*rows, model.center, coef[0], formula, model.positive, rough=engine.rough_arithmetic)
    return Gradient(np.nan, to_numpy(total)[None])


_TINY = 1e-30  # a ξ that makes no difference, and whose reciprocal float32 could not hold if it were much smaller
_FORMULAS = {
    Logit: ("logit", 0.0),
    GEV: ("loglog", 0.0),  # where ξ is 0, or next to it
    Loglog: ("loglog", 0.0),
    Cloglog: ("cloglog", 0.0),
    Probit: ("probit", math.sqrt(0.5)),
}


def _formula(link: Link) -> tuple[str, float] | None:
    """The formula of `properly.numeric.cuda.fused`, and the number that it needs."""
    if isinstance(link, GEV) and abs(link._shape) > _TINY:
        return "gev", link._shape
    return _FORMULAS.get(type(link))
