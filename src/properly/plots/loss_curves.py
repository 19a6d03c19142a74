"""Weights, entropies and losses of proper losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special as sc

from properly.options import choose
from properly.plots.scales import SCALES
from properly.plots.style import as_text, panels, styles

if TYPE_CHECKING:
    from properly.diagnostics.loss_curves import LossCurves

_ENDS = 1e-3  # where the log-odds axis ends, or farther out: at a tenth of where a loss is tailored to
_WEIGHTS = (0.05, 150.0)  # weights and losses may be infinite at the ends: shown up to here, or as high as they are
_HIGHEST_LOSS = 5.0  # around the probability that the loss is tailored to
_AROUND = 2.0  # log-odds
_WIDE, _LOWEST_LOSS = 4.0, 0.01  # for a logarithmic axis


def draw_loss_curves(result: LossCurves, *, scale: str = "probability") -> Any:
    """Draw what `properly.diagnostics.loss_curves` found; see `LossCurves.plot`."""
    centre = result.p[result.entropy.argmax(axis=1)]
    low, high = min(_ENDS, 0.1 * centre.min()), 1.0 - min(_ENDS, 0.1 * (1.0 - centre.max()))
    where = choose(scale, SCALES, "scale").of(low, high, lanes=False)
    shown = (result.p >= low) & (result.p <= high)
    x = where(result.p[shown])
    height = np.ptp(result.entropy[:, shown], axis=1, keepdims=True)
    unit = np.where(height > 0.0, height, 1.0)
    near = np.abs(sc.logit(result.p) - sc.logit(centre)[:, None]) <= _AROUND
    heaviest, highest = (
        float(np.max((values / unit)[near], initial=least, where=np.isfinite((values / unit)[near])))
        for values, least in ((result.weight, _WEIGHTS[1]), (np.maximum(result.loss0, result.loss1), _HIGHEST_LOSS))
    )
    with panels(3, (3.9, 3.9), columns=3) as (weight, entropy, losses):
        for k, (name, style) in enumerate(zip(result.names, styles(len(result.names)), strict=True)):
            look = {"color": style.colour, "linestyle": style.line}
            weight.plot(x, (result.weight / unit)[k, shown], label=as_text(name), **look)
            entropy.plot(x, (result.entropy / unit)[k, shown], label=as_text(name), **look)
            losses.plot(x, (result.loss1 / unit)[k, shown], label=as_text(name), **look)
            losses.plot(x, (result.loss0 / unit)[k, shown], alpha=0.5, **look)
        weight.set(ylabel="weight ω(p)", yscale="log", ylim=(_WEIGHTS[0], 1.5 * heaviest))
        entropy.set(ylabel="entropy (expected loss if p is true)")
        losses.set(ylabel="loss (dark: positive, pale: negative)", ylim=(-0.02 * highest, highest))
        if highest > _WIDE * _HIGHEST_LOSS:  # a miss of a rare class costs hundreds of false alarms
            losses.set(yscale="log", ylim=(_LOWEST_LOSS, 1.5 * highest))
        for axes in (weight, entropy, losses):
            where.label(axes.xaxis)
            axes.set_xlabel("probability p")
        figure = weight.figure
        figure.legend(*entropy.get_legend_handles_labels(), loc="outside lower center", ncols=min(len(result.names), 4))
    return figure
