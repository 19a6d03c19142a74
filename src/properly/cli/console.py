"""What a person sees on the standard output stream."""

from __future__ import annotations

import sys
from typing import Any

from properly.inputs.optional import require


def terminal() -> Any:
    """A console of rich for the summary. Data may hold square brackets: nothing in a text is taken for markup."""
    width = None if sys.stdout.isatty() else 120  # the width of a file is unknown; rich would take 80
    make = require("rich.console", "cli").Console
    return make(markup=False, highlight=False, emoji=False, soft_wrap=True, width=width)


def table_of(headings: list[str], rows: list[list[str]]) -> Any:
    """A table without frame: the first and last columns to the left, the others to the right."""
    table = require("rich.table", "cli").Table(box=None, pad_edge=False, header_style="bold")
    text = require("rich.text", "cli").Text
    for place, heading in enumerate(headings):
        table.add_column(text(heading), justify="left" if place in (0, len(headings) - 1) else "right")
    for row in rows:
        table.add_row(*(text(cell) for cell in row))
    return table
