"""How many threads LightGBM may use: one in a forked process, where OpenMP would wait for threads that are gone."""

from __future__ import annotations

import os
from functools import cache

from threadpoolctl import threadpool_limits

_PROCESS = os.getpid()


def safe_threads(number: int) -> int:
    """This number of threads, 0 for all; 1 in a process that was forked after this module was imported.

    The threads of OpenMP do not survive a fork, but the child does not know: its first parallel loop never ends. To be
    called before LightGBM is.
    """
    if os.getpid() == _PROCESS:
        return number
    _limit_openmp()
    return 1


@cache
def _limit_openmp() -> None:
    """For good, also where LightGBM cannot be told a number: when it reads trees."""
    threadpool_limits(limits=1, user_api="openmp")
