"""What a notebook shows of a result: a few lines of HTML that need no style of their own, and pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from properly.progress import visible

# The notebook's own colours of text and background, light or dark, are left alone. Pictures bring a light background.
_LINE = "border-bottom:1px solid rgba(128,128,128,.4);padding:.2em .8em .2em 0;text-align:left"


class Html(str):
    """Text that is HTML already."""


def section(title: str, *parts: str) -> str:
    """A title and what belongs to it; a part that is plain text is a paragraph."""
    shown = "".join(part if isinstance(part, Html) else f"<p>{escape(visible(part))}</p>" for part in parts)
    return f"<div><strong>{escape(visible(title))}</strong>{shown}</div>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """A table of texts."""

    def line(kind: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{kind} style='{_LINE}'>{escape(visible(cell))}</{kind}>" for cell in cells) + "</tr>"

    body = "".join(line("td", row) for row in rows)
    return Html(f"<table style='border-collapse:collapse'>{line('th', header)}{body}</table>")


def picture(drawn: Any, about: str) -> Html:
    """A figure of matplotlib, or the figure of its Axes, on a light background."""
    file = io.BytesIO()
    figure = getattr(drawn, "figure", None) or drawn
    figure.savefig(file, format="png", dpi=80, bbox_inches="tight", facecolor="white")
    data = base64.b64encode(file.getvalue()).decode()
    look = "max-width:100%;background:white"
    return Html(f"<img alt='{escape(about)}' style='{look}' src='data:image/png;base64,{data}'>")
