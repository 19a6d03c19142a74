"""A progress bar on the standard error stream: rich if it is installed, plain text otherwise."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import TypeVar

T = TypeVar("T")


def tracked(items: Iterable[T], total: int, label: str, show: bool) -> Iterator[T]:
    """The items, one after the other, with a bar that tells how many of them have come."""
    if show and find_spec("rich") is not None:
        console = import_module("rich.console").Console(stderr=True)
        yield from import_module("rich.progress").track(items, description=label, total=total, console=console)
        return
    for done, item in enumerate(items, start=1):
        if show:
            end = "\n" if done == total else ""
            print(f"\r{label}: {done} of {total}", end=end, file=sys.stderr, flush=True)
        yield item
