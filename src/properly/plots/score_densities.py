"""Scores of either class, and the densities fitted to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from properly.plots.style import STYLES, as_text, canvas, styles

if TYPE_CHECKING:
    from properly.diagnostics.score_densities import ScoreDensities

_COLOURS = (STYLES[0].colour, STYLES[5].colour)
_HATCHES = (None, "///")  # in print the classes differ by these


def draw_score_densities(result: ScoreDensities, ax: Any = None) -> Any:
    """Draw what `properly.diagnostics.score_densities` found; see `ScoreDensities.plot`."""
    with canvas(ax, (6.4, 4.4)) as axes:
        for side, (colour, hatch) in enumerate(zip(_COLOURS, _HATCHES, strict=True)):
            name = f"class {as_text(result.classes[side])}"
            axes.stairs(
                result.observed[side],
                result.edges,
                fill=True,
                facecolor=(colour, 0.18),
                edgecolor=(colour, 0.4),
                hatch=hatch,
                linewidth=0.0,
                label=f"{name}, observed",
            )
            for method, density, style in zip(
                result.methods, result.fitted[side], styles(len(result.methods)), strict=True
            ):
                label = f"{name}, {method.replace('_', ' ')}"
                axes.plot(result.score, density, color=colour, linestyle=style.line, label=label)
        axes.set(xlabel="score", ylabel="density within the class", ylim=(0.0, None))
        axes.set_xlim(result.edges[0], result.edges[-1])
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return axes
