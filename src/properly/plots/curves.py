"""Curves over thresholds, probabilities or scores: Murphy, decision and cost curves, losses, densities; and groups."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special as sc

from properly.inputs.options import checked_count, choose, numbered
from properly.numeric.probabilities import Array
from properly.plots.scales import SCALES, Scale, threshold_scale
from properly.plots.style import INK, PALE, STYLES, as_text, canvas, panels, styles

if TYPE_CHECKING:
    from properly.diagnostics import CompositeCurves, CostCurve, DecisionCurve, LossCurves, Murphy, MurphyDifference
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
    """Draw what `properly.diagnostics.murphy` found; see `Murphy.plot`.

    Parameters
    ----------
    result : what the function of `properly.diagnostics` returned
        The numbers to draw.
    ax : matplotlib Axes, optional
        A figure of its own if not given.
    scale : {"probability", "log-odds"}, default "probability"
        Of the thresholds or forecasts; "log-odds" for rare classes.
    """
    curves = np.vstack([result.base, result.errors])
    texts = {"xlabel": THRESHOLD, "ylabel": "mean cost per row", "ylim": (0.0, None)}
    with _over_thresholds(result, curves, ax, scale, **texts) as (axes, _, x):
        axes.plot(x, result.base, color=PALE, linewidth=1.0, label="base rate for all")
        for name, curve, style in zip(result.names, result.errors, styles(result.names), strict=True):
            axes.plot(x, curve, **style.look(name))
    return axes


def draw_murphy_difference(result: MurphyDifference, ax: Any = None, *, scale: str = "probability") -> Any:
    """Draw what `properly.diagnostics.murphy_difference` found; see `MurphyDifference.plot`.

    Parameters
    ----------
    result : what the function of `properly.diagnostics` returned
        The numbers to draw.
    ax : matplotlib Axes, optional
        A figure of its own if not given.
    scale : {"probability", "log-odds"}, default "probability"
        Of the thresholds or forecasts; "log-odds" for rare classes.
    """
    curves, colour = np.stack([result.low, result.high]), STYLES[0].colour
    texts = {"xlabel": THRESHOLD, "ylabel": "difference in mean cost per row"}
    with _over_thresholds(result, curves, ax, scale, **texts) as (axes, _, x):
        label = f"{100 * result.confidence:g} % interval at each threshold"
        axes.axhline(0.0, color=PALE, linewidth=1.0)
        axes.fill_between(x, *curves, color=colour, alpha=0.2, linewidth=0.0, label=label)
        axes.plot(x, result.difference, color=colour, label="difference (below 0: the first is better)")
    return axes


def draw_decision_curve(result: DecisionCurve, ax: Any = None, *, scale: str = "probability") -> Any:
    """Draw what `properly.diagnostics.decision_curve` found; see `DecisionCurve.plot`.

    Parameters
    ----------
    result : what the function of `properly.diagnostics` returned
        The numbers to draw.
    ax : matplotlib Axes, optional
        A figure of its own if not given.
    scale : {"probability", "log-odds"}, default "probability"
        Of the thresholds or forecasts; "log-odds" for rare classes.
    """
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
    """Draw what `properly.diagnostics.cost_curve` found; see `CostCurve.plot`.

    Parameters
    ----------
    result : what the function of `properly.diagnostics` returned
        The numbers to draw.
    ax : matplotlib Axes, optional
        A figure of its own if not given.
    scale : {"probability", "log-odds"}, default "probability"
        Of the thresholds or forecasts; "log-odds" for rare classes.
    """
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
    """Draw what `properly.diagnostics.loss_curves` found; see `LossCurves.plot`.

    Parameters
    ----------
    result : what the function of `properly.diagnostics` returned
        The numbers to draw.
    scale : {"probability", "log-odds"}, default "probability"
        Of the thresholds or forecasts; "log-odds" for rare classes.
    """
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
    with panels(3 if result.risk is None else 4, (3.9, 3.9), columns=4 - (result.risk is None)) as drawn:
        weight, entropy, losses = drawn[:3]
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
        if result.risk is not None:
            _draw_risk(drawn[3], result, x, (result.risk / unit)[:, shown])
            drawn[3].axvline(float(where(np.array(result.eta))), color=INK, linewidth=1.0, linestyle=(0, (1, 2)))
        for axes in drawn:
            where.label(axes.xaxis)
            axes.set_xlabel("probability p")
    return _with_legend(weight, result.names)


_HIGHEST_VALUE = 6.0  # of a loss of a score


def draw_composite_curves(result: CompositeCurves) -> Any:
    """Draw what `properly.diagnostics.composite_curves` found; see `CompositeCurves.plot`.

    Parameters
    ----------
    result : what the function of `properly.diagnostics` returned
        The numbers to draw.
    """
    with panels(3 if result.risk is None else 4, (3.9, 3.9), columns=4 - (result.risk is None)) as drawn:
        curves = (result.p, result.loss1, result.loss0)
        texts = ("probability p = F(v)", "loss of a positive", "loss of a negative")
        for axes, values, text in zip(drawn, curves, texts, strict=False):
            for value, name, style in zip(values, result.names, styles(result.names), strict=True):
                axes.plot(result.score, value, **style.look(name))
            axes.set(ylabel=text)
        for axes, values in zip(drawn[1:], curves[1:], strict=False):
            finite = values[np.isfinite(values)]
            axes.set_ylim(max(-0.5 * _HIGHEST_VALUE, min(-0.1, float(finite.min()))), _HIGHEST_VALUE)
        if result.risk is not None:
            _draw_risk(drawn[3], result, result.score, result.risk)
        for axes in drawn:
            axes.set_xlabel("score v")
    return _with_legend(drawn[0], result.names)


def _draw_risk(axes: Any, result: LossCurves | CompositeCurves, x: Array, risk: Array) -> None:
    """Expected losses, with a mark at the lowest point of each."""
    lowest = np.array([np.nanmin(np.where(np.isfinite(row), row, np.nan)) for row in risk])
    for row, low, name, style in zip(risk, lowest, result.names, styles(result.names), strict=True):
        axes.plot(x, row, **style.look(name))
        axes.plot(x[row == low][:1], [low], style.marker, color=style.colour, markersize=6)
    height = max(float(np.max(np.abs(lowest))), 0.2)
    axes.set(ylabel=f"risk (expected loss, true p = {result.eta:g})")
    axes.set_ylim(min(0.0, float(lowest.min())) - 0.02 * height, float(lowest.max()) + 2.0 * height)


def _with_legend(axes: Any, names: Sized) -> Any:
    """The figure, with one legend for all its panels."""
    handles = axes.get_legend_handles_labels()
    axes.figure.legend(*handles, loc="outside lower center", ncols=min(len(names), 4))
    return axes.figure


if TYPE_CHECKING:
    from properly.diagnostics import GroupCalibration, LogOddsFit, ScoreDensities

_COLOURS = (STYLES[0].colour, STYLES[5].colour)
_HATCHES = (None, "///")  # in print the classes differ by these


def draw_score_densities(result: ScoreDensities, ax: Any = None) -> Any:
    """Draw what `properly.diagnostics.score_densities` found; see `ScoreDensities.plot`.

    Parameters
    ----------
    result : what the function of `properly.diagnostics` returned
        The numbers to draw.
    ax : matplotlib Axes, optional
        A figure of its own if not given.
    """
    with canvas(ax, (6.4, 4.4)) as axes:
        for side, (colour, hatch) in enumerate(zip(_COLOURS, _HATCHES, strict=True)):
            name = f"class {as_text(result.classes[side])}"
            look = {"facecolor": (colour, 0.18), "edgecolor": (colour, 0.4), "hatch": hatch, "linewidth": 0.0}
            axes.stairs(result.observed[side], result.edges, fill=True, label=f"{name}, observed", **look)
            each = zip(result.methods, result.fitted[side], styles(result.methods), strict=True)
            for method, density, style in each:
                label = f"{name}, {method.replace('_', ' ')}"
                axes.plot(result.score, density, color=colour, linestyle=style.line, label=label)
        axes.set(xlabel="score", ylabel="density within the class", ylim=(0.0, None))
        axes.set_xlim(result.edges[0], result.edges[-1])
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return axes


def draw_log_odds_fit(result: LogOddsFit, ax: Any = None) -> Any:
    """Draw what `properly.diagnostics.log_odds_fit` found; see `LogOddsFit.plot`.

    Parameters
    ----------
    result : what the function of `properly.diagnostics` returned
        The numbers to draw.
    ax : matplotlib Axes, optional
        A figure of its own if not given.
    """
    bottom, top = _limits(result)
    with canvas(ax, (6.4, 4.6)) as axes:
        kinds = (
            (np.isfinite(result.low) & np.isfinite(result.high), "o", "counted"),
            (np.isneginf(result.low), "v", "counted, no positive: at most"),
            (np.isposinf(result.high), "^", "counted, no negative: at least"),
        )
        for inside, marker, label in kinds:
            if not inside.any():
                continue
            at = result.log_odds[inside]
            low, high = (np.clip(end[inside], bottom, top) for end in (result.low, result.high))
            end = high if marker == "v" else low if marker == "^" else at  # an open interval is marked at its end
            axes.vlines(result.score[inside], low, high, color=INK, linewidth=0.9, alpha=0.7)
            axes.plot(result.score[inside], end, marker, color=INK, markersize=5, fillstyle="full", label=label)
        for name, curve, style in zip(result.names, result.curves, styles(result.names), strict=True):
            inside = np.clip(curve, bottom - 1.0, top + 1.0)  # infinite log-odds leave the frame
            axes.plot(result.grid, inside, **style.look(name.replace("_", " ")))
        axes.set(xlabel="score", ylabel="log-odds of the positive class", ylim=(bottom, top))
        axes.legend()
    return axes


def _limits(result: LogOddsFit) -> tuple[float, float]:
    """What was counted, and room for the ends of the intervals."""
    ends = np.concatenate([result.log_odds, result.low, result.high])
    ends = ends[np.isfinite(ends)]
    low, high = float(ends.min()), float(ends.max())
    margin = 0.08 * (high - low) + 0.1
    return low - margin, high + margin


_LONGEST = 30  # letters of a group's name


def draw_groups(result: GroupCalibration, ax: Any = None, *, max_groups: int = 30) -> Any:
    """Draw what `properly.diagnostics.by_group` found; see `GroupCalibration.plot`.

    Parameters
    ----------
    result : what the function of `properly.diagnostics` returned
        The numbers to draw.
    ax : matplotlib Axes, optional
        A figure of its own if not given.
    max_groups : int
        If there are more, those with the most weight are drawn.
    """
    checked_count(max_groups, "max_groups", 1)
    drawn = np.sort(np.argsort(-result.weight, kind="stable")[:max_groups])
    observed, forecast = STYLES[0], STYLES[5]
    with canvas(ax, (6.0, 1.3 + 0.26 * len(drawn))) as axes:
        height = np.arange(len(drawn))
        axes.hlines(height, result.low[drawn], result.high[drawn], color=forecast.colour, linewidth=2.0, alpha=0.5)
        label = "share that came true"
        axes.plot(result.base_rate[drawn], height, observed.marker, color=observed.colour, markersize=5, label=label)
        label = f"mean forecast, {100 * result.confidence:g} % of shares if right"
        axes.plot(result.mean_p[drawn], height, forecast.marker, color=forecast.colour, markersize=6, label=label)
        axes.locator_params(axis="x", nbins=6)
        axes.set_yticks(height, numbered(as_text(result.groups[k], _LONGEST) for k in drawn))
        axes.set_ylim(len(drawn) - 0.5, -0.5)
        left_out = len(result.groups) - len(drawn)
        axes.set_xlabel("probability" + (f" ({left_out} smaller groups not shown)" if left_out else ""))
        axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0))
    return axes
