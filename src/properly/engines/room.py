"""How much memory blocks may take: on a card, and on workers."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TypeVar

from properly.inputs.options import checked_count

T = TypeVar("T")
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt, in malloc.h
_BLOCK_BYTES: ContextVar[int | None] = ContextVar("_BLOCK_BYTES", default=None)


@contextmanager
def block_bytes(size: int) -> Iterator[None]:
    """Within it, arrays of PyTorch and CuPy are looked at in blocks of this many bytes, as float64.

    A block has four copies at most while it is added up, so this limits what a fit takes beside the data. The default
    is 512 MiB on a card. Smaller blocks take longer; results agree but for rounding.

    >>> with block_bytes(2**24):
    ...     pass  # model.fit(X, y)
    """
    token = _BLOCK_BYTES.set(checked_count(size, "block_bytes", 1))
    try:
        yield
    finally:
        _BLOCK_BYTES.reset(token)


def chosen_bytes(default: int) -> int:
    """Those of `block_bytes`, or the default."""
    return _BLOCK_BYTES.get() or default


def within_memory(work: Callable[[], T], what: str, needed: int, remedy: str) -> T:
    """work(); if the card has no room for it, an error that keeps nothing of it alive."""
    try:
        return work()
    except Exception as error:
        if type(error).__name__ != "OutOfMemoryError":  # that of PyTorch, and that of CuPy
            raise
        reason = str(error).partition("\n")[0]
    # Not above: a traceback of the first error would hold on to arrays.
    raise MemoryError(
        f"the card has no room for {what}, about {needed / 2**20:,.1f} MiB beside the data ({reason}); {remedy}"
    )


@cache
def reuse_memory() -> None:
    """Let this process keep up to 64 MiB that it has freed, for the next block.

    Dask has its workers return every freed page to the system, and Python workers of Spark return most; to get
    them back then takes longer than the sums. Only the C library of GNU is asked, as others have other rules.
    """
    if sys.platform == "linux":
        c_library = ctypes.CDLL(None)
        if hasattr(c_library, "mallopt"):
            c_library.mallopt(_TRIM_THRESHOLD, 2**26)
            c_library.mallopt(_MMAP_THRESHOLD, 2**24)
