"""Weights, entropies and losses of proper losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from properly.options import choose
from properly.plots.scales import SCALES
from properly.plots.style import as_text, panels, styles

if TYPE_CHECKING:
    from properly.diagnostics.loss_curves import LossCurves

_ENDS = 1e-3  # where the log-odds axis ends
_WEIGHTS = (0.05, 200.0)  # weights and losses may be infinite at the ends
_HIGHEST_LOSS = 5.0


def draw_loss_curves(result: LossCurves, *, scale: str = "probability") -> Any:
    """Draw what `properly.diagnostics.loss_curves` found; see `LossCurves.plot`."""
    where = choose(scale, SCALES, "scale").of(_ENDS, 1.0 - _ENDS, lanes=False)
    shown = (result.p >= _ENDS) & (result.p <= 1.0 - _ENDS)
    x = where(result.p[shown])
    height = np.ptp(result.entropy[:, shown], axis=1, keepdims=True)
    unit = np.where(height > 0.0, height, 1.0)
    with panels(3, (3.9, 3.9), columns=3) as (weight, entropy, losses):
        for k, (name, style) in enumerate(zip(result.names, styles(len(result.names)), strict=True)):
            look = {"color": style.colour, "linestyle": style.line}
            weight.plot(x, (result.weight / unit)[k, shown], label=as_text(name), **look)
            entropy.plot(x, (result.entropy / unit)[k, shown], label=as_text(name), **look)
            losses.plot(x, (result.loss1 / unit)[k, shown], label=as_text(name), **look)
            losses.plot(x, (result.loss0 / unit)[k, shown], alpha=0.5, **look)
        weight.set(ylabel="weight ω(p)", yscale="log", ylim=_WEIGHTS)
        entropy.set(ylabel="entropy (expected loss if p is true)")
        losses.set(ylabel="loss (dark: positive, pale: negative)", ylim=(-0.1, _HIGHEST_LOSS))
        for axes in (weight, entropy, losses):
            where.label(axes.xaxis)
            axes.set_xlabel("probability p")
        figure = weight.figure
        figure.legend(*entropy.get_legend_handles_labels(), loc="outside lower center", ncols=min(len(result.names), 4))
    return figure
