"""Reliability diagrams, of two classes and of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from properly.inputs.options import checked_count, choose
from properly.plots.scales import SCALES, LogOdds, Scale
from properly.plots.style import INK, PALE, STYLES, as_text, canvas, panels, visible

if TYPE_CHECKING:
    from properly.diagnostics import MulticlassReliability, Reliability, ReliabilityByForecaster

_BARS = 40
_NEAREST = 1e-12  # to 0 and to 1 that a log-odds axis reaches


def draw_reliability(
    result: Reliability, ax: Any = None, *, scale: str = "probability", histogram: bool = True, legend: bool = True
) -> Any:
    """Draw what `properly.diagnostics.reliability` found; see `Reliability.plot`.

    Parameters
    ----------
    result : what the function of `properly.diagnostics` returned
        The numbers to draw.
    ax : matplotlib Axes, optional
        A figure of its own if not given.
    scale : {"probability", "log-odds"}, default "probability"
        Of the thresholds or forecasts; "log-odds" for rare classes.
    histogram : bool, default True
        Whether the distribution of the forecasts is drawn above.
    legend : bool, default True
        Whether there is a legend.
    """
    where = _scale_of(result, scale)
    limits = where.limits
    with canvas(ax) as axes:
        x, y = where(result.forecast), where(result.recalibrated)
        low, high = where(result.low), where(result.high)
        axes.plot([where.low, where.high], [where.low, where.high], color=PALE, linewidth=1.0)
        below, above = (visible(axes, x, edge, limits) for edge in (low, high))
        band_x = np.concatenate([x[below], x[above][::-1]])
        band_y = np.concatenate([low[below], high[above][::-1]])
        label = f"right forecasts, {100 * result.confidence:g} %"
        axes.fill(band_x, band_y, color=STYLES[0].colour, alpha=0.2, linewidth=0.0, label=label)
        kept = visible(axes, x, y, limits)
        axes.plot(x[kept], y[kept], color=STYLES[0].colour, label="observed")
        if len(x) == 1:  # no line or area would be seen
            axes.vlines(x, low, high, color=STYLES[0].colour, alpha=0.4, linewidth=4.0)
            axes.plot(x, y, STYLES[0].marker, color=STYLES[0].colour)
        if isinstance(where, LogOdds):
            _mark_ends(axes, where, x, y)
        where.label(axes.xaxis)
        where.label(axes.yaxis)
        axes.set(aspect="equal", xlabel="forecast probability", ylabel="share that came true")
        if legend:
            axes.legend(loc="upper left")
        if histogram:
            _draw_histogram(axes, result, where)
    return axes


def _scale_of(result: Reliability, scale: str) -> Scale:
    """Ends that n rows can tell from 0 and 1, and no wider than what is there."""
    kind = choose(scale, SCALES, "scale")
    nothing = max(0.1 / max(float(result.weight.sum()), 1.0), _NEAREST)
    there = np.concatenate([result.forecast, result.recalibrated])
    there = there[(there >= nothing) & (there <= 1.0 - nothing)]
    return kind.of(float(there.min(initial=0.5)), float(there.max(initial=0.5)), lanes=True)


def _mark_ends(axes: Any, where: LogOdds, x: Any, y: Any) -> None:
    """Triangles in the lanes of 0 and 1."""
    for end, inside, edge, marker in (
        (where.low, y < where.low, where.low - where.lane, "v"),
        (where.high, y > where.high, where.high + where.lane, "^"),
    ):
        if inside.any():
            ends = x[inside][[0, -1]]
            axes.plot(ends, [edge, edge], marker, color=STYLES[0].colour, markersize=6, clip_on=False)
        for line in (axes.axhline, axes.axvline):
            line(end, color=PALE, linewidth=0.6, linestyle=(0, (1, 3)))


def _draw_histogram(axes: Any, result: Reliability, where: Scale) -> None:
    """The distribution of the forecasts, in a strip above."""
    strip = axes.inset_axes((0.0, 1.02, 1.0, 0.14))
    edges = np.linspace(*where.limits, _BARS + 1)
    bars = np.histogram(where(result.forecast), edges, weights=result.weight)[0]
    strip.stairs(bars, edges, fill=True, color=INK, alpha=0.6)
    strip.set_xlim(*where.limits)
    strip.set_axis_off()


def draw_multiclass_reliability(
    result: MulticlassReliability, *, scale: str = "probability", max_panels: int = 12
) -> Any:
    """Draw what `properly.diagnostics.reliability` found; see `MulticlassReliability.plot`.

    Parameters
    ----------
    result : what the function of `properly.diagnostics` returned
        The numbers to draw.
    scale : {"probability", "log-odds"}, default "probability"
        Of the thresholds or forecasts; "log-odds" for rare classes.
    max_panels : int
        If there are more, the classes with the most positives are drawn.
    """
    checked_count(max_panels, "max_panels", 1)
    heaviest = sorted(range(len(result.classes)), key=lambda k: -result.by_class[k].positive.sum())[: max_panels - 1]
    drawn = [("most probable class", result.top)]
    drawn += [(f"class {as_text(result.classes[k])}", result.by_class[k]) for k in sorted(heaviest)]
    return _draw_panels(drawn, scale)


def draw_reliability_by_forecaster(result: ReliabilityByForecaster, *, scale: str = "probability") -> Any:
    """Draw what `properly.diagnostics.reliability` found of several; see `ReliabilityByForecaster.plot`.

    Parameters
    ----------
    result : what the function of `properly.diagnostics` returned
        The numbers to draw.
    scale : {"probability", "log-odds"}, default "probability"
        Of the thresholds or forecasts; "log-odds" for rare classes.
    """
    names = (as_text(name) for name in result.names)
    return _draw_panels(list(zip(names, result.forecasters, strict=True)), scale)


def _draw_panels(drawn: list[tuple[str, Reliability]], scale: str) -> Any:
    columns = min(len(drawn), 4)
    with panels(len(drawn), (3.1, 3.4), columns=columns) as all_axes:
        for k, (axes, (name, part)) in enumerate(zip(all_axes, drawn, strict=True)):
            draw_reliability(part, axes, scale=scale, legend=False)
            axes.set_xlabel(f"forecast probability: {name}")
            if k % columns:
                axes.set_ylabel("")
        figure = all_axes[0].figure
        figure.get_layout_engine().set(h_pad=0.1)  # room for the histograms above the panels
        figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure
