"""What a person sees: text on the standard output stream, progress bars on the standard error stream."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from properly.inputs.optional import require


def terminal() -> Any:
    """A console of rich for the summary. Data may hold square brackets: nothing in a text is taken for markup."""
    width = None if sys.stdout.isatty() else 120  # of a file, nobody knows; rich would take 80
    make = require("rich.console", "cli").Console
    return make(markup=False, highlight=False, emoji=False, soft_wrap=True, width=width)


@contextmanager
def progress(label: str, total: float | None) -> Iterator[Callable[[float, str], None]]:
    """A bar on the standard error stream if that is a terminal; the function it gives takes what is done and a note.

    Without `total` it tells that there is work going on, and the note.
    """
    if not sys.stderr.isatty() or find_spec("rich") is None:
        yield lambda done, note: None
        return
    columns = require("rich.progress", "cli")
    bar = columns.Progress(
        columns.TextColumn("{task.description}", markup=False),
        columns.BarColumn(),
        columns.TimeElapsedColumn(),
        columns.TextColumn("{task.fields[note]}", markup=False),
        console=require("rich.console", "cli").Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(label, total=total, note="")
        yield lambda done, note: bar.update(task, completed=done, note=note)


def table_of(headings: list[str], rows: list[list[str]]) -> Any:
    """A table without frame: the first column to the left, numbers to the right; texts are shown as they are."""
    table = require("rich.table", "cli").Table(box=None, pad_edge=False, header_style="bold")
    text = require("rich.text", "cli").Text
    for place, heading in enumerate(headings):
        table.add_column(text(heading), justify="left" if place in (0, len(headings) - 1) else "right")
    for row in rows:
        table.add_row(*(text(cell) for cell in row))
    return table
