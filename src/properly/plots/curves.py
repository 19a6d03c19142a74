"""Curves over all thresholds or probabilities: Murphy diagrams, decision and cost curves, losses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special as sc

from properly.inputs.options import choose
from properly.numeric.probabilities import Array
from properly.plots.scales import SCALES, Scale, threshold_scale
from properly.plots.style import INK, PALE, STYLES, canvas, panels, styles

if TYPE_CHECKING:
    from properly.diagnostics import CostCurve, DecisionCurve, LossCurves, Murphy, MurphyDifference
    from properly.diagnostics.results import ThresholdCurves

THRESHOLD = "threshold: cost of a false alarm / (of a false alarm + of a miss)"


@contextmanager
def _over_thresholds(
    result: ThresholdCurves, curves: Array, ax: Any, scale: str, **texts: Any
) -> Iterator[tuple[Any, Scale, Array]]:
    """Axes to draw on, the scale of the thresholds, and where these lie; at the end the axes are labelled."""
    where = threshold_scale(scale, result.thresholds, curves)
    with canvas(ax, (6.0, 4.4)) as axes:
        yield axes, where, where(result.thresholds)
        where.label(axes.xaxis)
        axes.set(**texts)
        axes.legend()


def draw_murphy(result: Murphy, ax: Any = None, *, scale: str = "probability") -> Any:
    """Draw what `properly.diagnostics.murphy` found; see `Murphy.plot`."""
    curves = np.vstack([result.base, result.errors])
    texts = {"xlabel": THRESHOLD, "ylabel": "mean cost per row", "ylim": (0.0, None)}
    with _over_thresholds(result, curves, ax, scale, **texts) as (axes, _, x):
        axes.plot(x, result.base, color=PALE, linewidth=1.0, label="base rate for all")
        for name, curve, style in zip(result.names, result.errors, styles(result.names), strict=True):
            axes.plot(x, curve, **style.look(name))
    return axes


def draw_murphy_difference(result: MurphyDifference, ax: Any = None, *, scale: str = "probability") -> Any:
    """Draw what `properly.diagnostics.murphy_difference` found; see `MurphyDifference.plot`."""
    curves, colour = np.stack([result.low, result.high]), STYLES[0].colour
    texts = {"xlabel": THRESHOLD, "ylabel": "difference in mean cost per row"}
    with _over_thresholds(result, curves, ax, scale, **texts) as (axes, _, x):
        label = f"{100 * result.confidence:g} % interval at each threshold"
        axes.axhline(0.0, color=PALE, linewidth=1.0)
        axes.fill_between(x, *curves, color=colour, alpha=0.2, linewidth=0.0, label=label)
        axes.plot(x, result.difference, color=colour, label="difference (below 0: the first is better)")
    return axes


def draw_decision_curve(result: DecisionCurve, ax: Any = None, *, scale: str = "probability") -> Any:
    """Draw what `properly.diagnostics.decision_curve` found; see `DecisionCurve.plot`."""
    top = max(float(np.max(result.benefits)), float(np.max(result.treat_all)), 1e-12)
    texts = {"xlabel": "threshold: act from this probability on", "ylabel": "net benefit, in true positives per row"}
    limits = (-0.15 * top, 1.08 * top)  # what is far below 0 does not matter: nobody need do worse than that
    with _over_thresholds(result, result.benefits, ax, scale, ylim=limits, **texts) as (axes, _, x):
        axes.plot(x, result.treat_all, color=PALE, linewidth=1.0, label="act on all")
        axes.axhline(0.0, color=INK, linewidth=1.0, linestyle=(0, (5, 3)), label="act on none")
        for name, curve, style in zip(result.names, result.benefits, styles(result.names), strict=True):
            axes.plot(x, curve, **style.look(name))
    return axes


def draw_cost_curve(result: CostCurve, ax: Any = None, *, scale: str = "probability") -> Any:
    """Draw what `properly.diagnostics.cost_curve` found; see `CostCurve.plot`."""
    texts = {"xlabel": "threshold: positive from this probability on", "ylabel": "mean cost per row"}
    with _over_thresholds(result, result.costs, ax, scale, **texts) as (axes, where, x):
        axes.axhline(result.constant, color=PALE, linewidth=1.0, label="the same decision for all")
        theory = result.choices[0].theoretical_threshold
        look = {"color": INK, "linewidth": 1.0, "linestyle": (0, (1, 2))}
        axes.axvline(float(where(np.array(theory))), label=f"best if right: {theory:.3g}", **look)
        each = zip(result.names, result.costs, result.choices, styles(result.names), strict=True)
        for name, curve, choice, style in each:
            axes.plot(x, curve, **style.look(name))
            lowest = float(where(np.array(min(choice.threshold, 1.0))))
            axes.plot(lowest, choice.expected_cost, style.marker, color=style.colour, markersize=7)
    return axes


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
        for k, (name, style) in enumerate(zip(result.names, styles(result.names), strict=True)):
            weight.plot(x, (result.weight / unit)[k, shown], **style.look(name))
            entropy.plot(x, (result.entropy / unit)[k, shown], **style.look(name))
            losses.plot(x, (result.loss1 / unit)[k, shown], **style.look(name))
            losses.plot(x, (result.loss0 / unit)[k, shown], alpha=0.5, color=style.colour, linestyle=style.line)
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
