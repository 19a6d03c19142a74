"""How every picture looks: readable in print and by colour-blind people."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.inputs.optional import require
from properly.numeric.probabilities import Array


class Style(NamedTuple):
    """Colour, marker and line of one curve among several.

    Attributes
    ----------
    colour : str
        A colour of matplotlib.
    marker : str
        A marker.
    line : str
        A style of line.
    """

    colour: str
    marker: str
    line: str

    def look(self, name: object) -> dict[str, str]:
        """Options of matplotlib for the line of this name.

        Parameters
        ----------
        name : object
            What the legend calls the line.
        """
        return {"color": self.colour, "linestyle": self.line, "label": as_text(name)}


# Okabe–Ito colours, which colour-blind readers can tell apart; marker and line differ as well, for print.
STYLES = [
    Style("#0072B2", "o", "-"),
    Style("#E69F00", "s", "--"),
    Style("#CC79A7", "^", "-."),
    Style("#56B4E9", "v", ":"),
    Style("#009E73", "D", "-"),
    Style("#D55E00", "X", "--"),
]
_LINES = ["-", "--", "-.", ":"]
INK, PALE = "0.25", "0.6"  # greys: of marks, and of what the curves are compared with

_SETTINGS = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 10.0,
    "grid.color": "0.92",
    "legend.frameon": False,
    "lines.linewidth": 1.6,
}
_PIXELS_PER_INCH = 72.0  # what falls between two of them is not seen


def styles(curves: Sized) -> list[Style]:
    """A style for each of the curves; after the sixth, colours come again with other lines."""
    found = []
    for k in range(len(curves)):
        style = STYLES[k % len(STYLES)]
        line = _LINES[(_LINES.index(style.line) + k // len(STYLES)) % len(_LINES)]
        found.append(style._replace(line=line))
    return found


def as_text(name: object, longest: int = 40) -> str:
    """A name that comes from data, as a label: plain text, not mathematics, and never hidden by an underscore."""
    text = str(name)
    text = text if len(text) <= longest else f"{text[: longest - 1]}…"
    text = text.replace("$", r"\$")
    return f"\u200b{text}" if text.startswith("_") else text  # matplotlib leaves out of legends what begins with _


@contextmanager
def canvas(ax: Any = None, size: tuple[float, float] = (5.2, 5.2)) -> Iterator[Any]:
    """The given Axes, or those of a new Figure, to be drawn on in our style; global settings are left as they are."""
    with panels(1, size, ax=ax) as drawn:
        yield drawn[0]


@contextmanager
def panels(n: int, size: tuple[float, float], columns: int = 1, ax: Any = None) -> Iterator[list[Any]]:
    """The Axes of a new Figure in rows of `columns`, each of this size in inches; or `ax` alone, if given."""
    matplotlib = require("matplotlib", "plots")
    with matplotlib.rc_context(_SETTINGS):
        if ax is not None:
            yield [ax]
            return
        rows = -(-n // columns)
        inches = (columns * size[0], rows * size[1])
        figure = require("matplotlib.figure", "plots").Figure(figsize=inches, layout="constrained")
        yield [figure.add_subplot(rows, columns, k + 1) for k in range(n)]


def visible(axes: Any, x: Array, y: Array, limits: tuple[float, float]) -> NDArray[np.intp]:
    """The points of a curve with rising x that matter when drawn with these limits on both axes.

    While the curve stays within one pixel of height only its first and its last point are needed. A rising curve of
    any length, as of a million steps, becomes one of some hundred points, and looks the same.
    """
    low, high = limits
    width, height = _PIXELS_PER_INCH * axes.get_position().size * axes.figure.get_size_inches()
    column, row = (np.floor(size * (each - low) / (high - low)) for size, each in ((width, x), (height, y)))
    moved = np.diff(row) != 0.0
    first, last = np.concatenate([[True], moved]), np.concatenate([moved, [True]])
    begin = np.maximum.accumulate(np.where(first, np.arange(len(x)), 0))
    last[:-1] &= column[:-1] > column[begin[:-1]]
    return np.flatnonzero(first | last)
