"""What a terminal or a notebook shows of work in progress, and text without control characters.

Progress is a bar of rich on a terminal, if that is installed, and a line that is written again and again in a notebook.
The environment variable ``PROPERLY_PROGRESS=0`` turns all of it off.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TypeVar

T = TypeVar("T")

# Control characters but line feed and tab, and those that turn the direction of writing.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""The text with escapes for control characters: a name in a file could hold commands to the terminal.

    >>> print(visible("a\x1b[31mb"))
    a\x1b[31mb
    """
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


Tell = Callable[[float, str], None]  # takes how much is done, and a note


def _silent(done: float, note: str) -> None:
    """Progress that nobody wants to see."""


@contextmanager
def progress(label: str, total: float | None, show: bool | None = None) -> Iterator[Tell]:
    """A bar that the function it gives moves: that takes how much of `total` is done, and a note.

    Without `total` it shows that work is going on, and the note. By default it is shown in a notebook, and on a
    terminal if rich is installed.
    """
    has_rich = find_spec("rich") is not None
    in_notebook = _in_notebook()
    if show is None:
        show = in_notebook or (sys.stderr is not None and sys.stderr.isatty() and has_rich)
        transient = True
    else:
        transient = False
    if not show or os.environ.get("PROPERLY_PROGRESS") == "0":
        yield _silent
    elif in_notebook:
        line = _notebook_line(label, total)
        yield line
        if total is not None:
            line(total, "")
    elif not has_rich:
        yield lambda done, note: print(
            f"\r{label}: {visible(note)}", end="\n" if done == total else "", file=sys.stderr, flush=True
        )
    else:
        rich = import_module("rich.progress")
        bar = rich.Progress(
            rich.TextColumn("{task.description}", markup=False),
            rich.BarColumn(),
            rich.TimeElapsedColumn(),
            rich.TimeRemainingColumn(),
            rich.TextColumn("{task.fields[note]}", markup=False),
            console=import_module("rich.console").Console(stderr=True),
            transient=transient,
        )
        with bar:
            task = bar.add_task(label, total=total, note="")
            yield lambda done, note: bar.update(task, completed=done, note=visible(note))


def _in_notebook() -> bool:
    """Whether a Jupyter kernel runs this."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and getattr(shell, "kernel", None) is not None


def _notebook_line(label: str, total: float | None) -> Tell:
    """A line of the output of a cell, which is replaced at most ten times a second."""
    display = import_module("IPython.display")
    start, last = time.monotonic(), [-1.0]
    line = display.display(display.Pretty(label), display_id=True)

    def tell(done: float, note: str) -> None:
        now = time.monotonic()
        if total and (done >= total or now - last[0] > 0.1):
            last[0] = now
            share = min(done / total, 1.0)
            left = f", about {(now - start) * (1.0 - share) / share:.0f} s left" if 0.0 < share < 1.0 else ""
            full = round(20 * share)
            line.update(display.Pretty(f"{label} {'█' * full}{'░' * (20 - full)} {share:.0%}{left}  {visible(note)}"))
        elif not total and now - last[0] > 0.1:
            last[0] = now
            line.update(display.Pretty(f"{label}: {visible(note)}"))

    return tell


@contextmanager
def reported(to: Tell | bool | None, label: str) -> Iterator[Tell]:
    """Where an option `progress` of a user leads: to a function of theirs, to a bar, or (False) nowhere."""
    if callable(to):
        yield to
    else:
        with progress(label, 1.0, to) as tell:
            yield tell


def tracked(items: Iterable[T], total: int, label: str, show: bool) -> Iterator[T]:
    """The items one after the other, with a bar that says how many of them are done."""
    with progress(label, total, show) as tell:
        for done, item in enumerate(items, start=1):
            tell(done, f"{done} of {total}")
            yield item
