"""Reliability diagrams of several classes side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from properly.options import checked_count
from properly.plots.reliability import draw_reliability
from properly.plots.style import as_text, panels

if TYPE_CHECKING:
    from properly.diagnostics.multiclass_reliability import MulticlassReliability


def draw_multiclass_reliability(
    result: MulticlassReliability, *, scale: str = "probability", max_panels: int = 12
) -> Any:
    """Draw what `properly.diagnostics.multiclass_reliability` found; see `MulticlassReliability.plot`."""
    checked_count(max_panels, "max_panels", 1)
    heaviest = sorted(range(len(result.classes)), key=lambda k: -result.by_class[k].positive.sum())[: max_panels - 1]
    drawn = [("most probable class", result.top)]
    drawn += [(f"class {as_text(result.classes[k])}", result.by_class[k]) for k in sorted(heaviest)]
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
