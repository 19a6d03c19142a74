"""What a terminal shows: text without control characters, and progress on the standard error stream.

Progress is a bar of rich if that is installed, plain text otherwise.
"""

from __future__ import annotations

import re
import sys
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


@contextmanager
def progress(label: str, total: float | None, show: bool | None = None) -> Iterator[Callable[[float, str], None]]:
    """A bar that the function it gives moves: that takes how much of `total` is done, and a note.

    Without `total` it shows that work is going on, and the note. By default it is shown on a terminal only, and only if
    rich is installed.
    """
    has_rich = find_spec("rich") is not None
    if not (sys.stderr.isatty() and has_rich if show is None else show):
        yield lambda done, note: None
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
            transient=show is None,
        )
        with bar:
            task = bar.add_task(label, total=total, note="")
            yield lambda done, note: bar.update(task, completed=done, note=visible(note))


def tracked(items: Iterable[T], total: int, label: str, show: bool) -> Iterator[T]:
    """The items one after the other, with a bar that says how many of them are done."""
    with progress(label, total, show) as tell:
        for done, item in enumerate(items, start=1):
            tell(done, f"{done} of {total}")
            yield item
