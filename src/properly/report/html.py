"""HTML that is safe by construction, text being escaped unless it is `Markup` already, and figures as inline SVG."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from io import StringIO
from string import Template
from typing import Any

from properly.inputs.optional import require


class Markup(str):
    """A string that is HTML already; every other string is text, and is escaped where it enters a page."""

    __slots__ = ()


_SPACED_PERCENT = re.compile(r"(?<=\d) %")
_MANY_ROWS = 15  # more of them may be printed on several pages
_WITHOUT_CONTENT = frozenset({"col", "input", "br", "meta"})


def markup(*parts: str) -> Markup:
    """The parts joined, text escaped, with a no-break space between a number and its %.

    >>> markup("a < b ", Markup("<br>"))
    'a &lt; b <br>'
    """
    return Markup("".join(part if isinstance(part, Markup) else _escaped(part) for part in parts))


def _escaped(text: str) -> str:
    return html.escape(_SPACED_PERCENT.sub("\N{NO-BREAK SPACE}%", text), quote=True)


def element(tag: str, *children: str, **attributes: object) -> Markup:
    """An HTML element. Attributes that are keywords of Python end in an underscore; None and False leave one out.

    >>> element("p", "1 < 2", class_="note", hidden=True)
    '<p class="note" hidden>1 &lt; 2</p>'
    """
    words = [tag]
    for key, value in attributes.items():
        name = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(name)
        elif value is not None and value is not False:
            words.append(f'{name}="{html.escape(str(value), quote=True)}"')
    opening = f"<{' '.join(words)}>"
    return Markup(opening if tag in _WITHOUT_CONTENT else f"{opening}{markup(*children)}</{tag}>")


def table(
    head: Sequence[str],
    rows: Iterable[Iterable[str]],
    caption: str,
    *,
    highlight: Iterable[int] = (),
    stacked: bool = False,
) -> Markup:
    """A table that scrolls inside its own box on a narrow screen; the first cell of a row is its heading.

    With `stacked` a narrow screen shows every row as a block instead, its cells below each other under their headings.
    """
    marked = frozenset(highlight)
    heading = element("tr", *(element("th", cell, scope="col") for cell in head))
    body = []
    for number, (name, *cells) in enumerate(rows):
        labels = head[1:] if stacked else [None] * len(cells)
        content = (element("td", cell, data_label=label) for cell, label in zip(cells, labels, strict=True))
        row = element("th", name, scope="row"), *content
        body.append(element("tr", *row, class_="marked" if number in marked else None))
    kinds = ["scroll", *(["stacked"] if stacked else []), *(["long"] if len(body) > _MANY_ROWS else [])]
    whole = element("table", element("caption", caption), element("thead", heading), element("tbody", *body))
    return element("div", whole, class_=" ".join(kinds), tabindex="0", role="region", aria_label=caption)


def section(heading: str, *children: str, id: str, class_: str | None = None) -> Markup:
    title = element("h2", heading, id=f"{id}-heading")
    return element("section", title, *children, id=id, class_=class_, aria_labelledby=f"{id}-heading")


def data_script(data: object, id: str) -> Markup:
    """Data for the page's script, with <, > and & escaped, so that none of it can end the script element.

    >>> data_script({"name": "</script>"}, "names")
    '<script type="application/json" id="names">{"name":"\\\\u003c/script\\\\u003e"}</script>'
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="application/json" id="{html.escape(id)}">{text}</script>')


@cache
def asset(name: str) -> str:
    """The text of a file in the folder `assets`."""
    return files("properly.report").joinpath("assets", name).read_text(encoding="utf-8")


def page(title: str, *body: str) -> str:
    """A document in one file, whose security policy forbids loading anything and running any script but this one."""
    script = asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(asset("page.html")).substitute(
        title=markup(title), style=asset("page.css"), digest=digest, body=markup(*body), script=script
    )


_SETTINGS = {
    "svg.fonttype": "none",  # text stays text: smaller, and read by screen readers
    "svg.hashsalt": "properly",  # the same data give the same file
    "font.family": "sans-serif",
    "path.simplify": True,
}
_ID = re.compile(r'(?<=\bid=")([^"]+)(?=")|(?<=href="#)([^"]+)(?=")|(?<=url\(#)([^)]+)(?=\))')
_COORDINATES = re.compile(r'(?<= )(?:d|x|y)="[^"]*"')
_DECIMALS = re.compile(r"(\d\.\d{2})\d+")
_COLOUR = re.compile(r"(?<=(?:fill|roke): )#([0-9a-f]{6})")
_FONT = re.compile(r"font-family: [^;\"]*;? ?")


def inline_svg(drawn: Any, name: str, description: str) -> Markup:
    """The figure that `drawn` (a Figure, Axes or array of Axes) belongs to, as an SVG element.

    `name` is put before every id, so that several figures fit into one page. Coordinates keep two decimals, which are
    hundredths of a point. The style of the page may replace every colour: #0072b2 is ``var(--0072b2, #0072b2)``; there
    is no background, and text has the colour and the font of the page.
    """
    matplotlib = require("matplotlib", "plots")
    figure = figure_of(drawn)
    text = StringIO()
    with matplotlib.rc_context(_SETTINGS):
        figure.savefig(
            text, format="svg", bbox_inches="tight", transparent=True, metadata={"Date": None, "Creator": None}
        )
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = _COLOUR.sub(r"var(--\1, #\1)", _FONT.sub("", svg))
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
