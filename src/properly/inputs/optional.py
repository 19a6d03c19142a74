"""Optional dependencies: imported when they are needed, and named with their remedy when they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, extra: str) -> Any:
    """The module, or an ImportError that says how to install it.

    >>> require("math", "none").sqrt(4.0)
    2.0
    >>> require("no_such_module", "plots")
    Traceback (most recent call last):
    ImportError: This needs no_such_module, which is not installed: pip install "properly[plots]".
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise ImportError(f'This needs {package}, which is not installed: pip install "properly[{extra}]".') from error
