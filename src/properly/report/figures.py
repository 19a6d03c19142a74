"""Figures as inline SVG: small, with ids of their own, and with a description for screen readers."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

from properly.inputs.optional import require
from properly.report.html import Markup, element

_SETTINGS = {
    "svg.fonttype": "none",  # text stays text: smaller, and read by screen readers
    "svg.hashsalt": "properly",  # the same data give the same file
    "font.family": "sans-serif",
    "path.simplify": True,
}
_ID = re.compile(r'(?<=\bid=")([^"]+)(?=")|(?<=href="#)([^"]+)(?=")|(?<=url\(#)([^)]+)(?=\))')
_COORDINATES = re.compile(r'(?<= )(?:d|x|y)="[^"]*"')
_DECIMALS = re.compile(r"(\d\.\d{2})\d+")


def inline_svg(drawn: Any, name: str, description: str) -> Markup:
    """The figure that `drawn` (a Figure, Axes or array of Axes) belongs to, as an SVG element.

    `name` is put before every id, so that several figures fit into one page. Coordinates keep two decimals, which are
    hundredths of a point.
    """
    matplotlib = require("matplotlib", "plots")
    figure = figure_of(drawn)
    text = StringIO()
    with matplotlib.rc_context(_SETTINGS):
        figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = _ID.sub(lambda match: f"{name}-{match[0]}", svg)
    opening, _, rest = svg.partition(">")
    box = re.search(r'viewBox="([^"]+)"', opening)
    rest = _COORDINATES.sub(lambda match: _DECIMALS.sub(r"\1", match[0]), re.sub(r"\n\s*", "\n", rest))
    start = element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=box[1] if box else None, role="img")
    title = element("title", description)
    return Markup(f"{start.removesuffix('</svg>')}{title}{rest}")


def figure_of(drawn: Any) -> Any:
    """The figure behind what a plotting method returned."""
    if hasattr(drawn, "savefig"):
        return drawn
    if hasattr(drawn, "flat"):
        return figure_of(drawn.flat[0])
    return figure_of(drawn.figure)


def picture(drawn: Any, name: str, description: str, caption: str) -> Markup:
    """The figure with a caption below it."""
    return element("figure", inline_svg(drawn, name, description), element("figcaption", caption), id=name)
