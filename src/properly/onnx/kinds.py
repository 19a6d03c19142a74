"""Which objects are what their class says."""

from __future__ import annotations

from typing import Any

_KNOWN = ("sklearn", "properly")


def is_kind(model: Any, kind: type | tuple[type, ...]) -> bool:
    """Whether a model is of one of these classes, or of a subclass that scikit-learn or this library made.

    Another subclass may do anything: it must not be written as if it were its parent.

    >>> from sklearn.preprocessing import StandardScaler
    >>> another = type("Another", (StandardScaler,), {"__module__": "elsewhere"})
    >>> is_kind(StandardScaler(), StandardScaler), is_kind(another(), StandardScaler)
    (True, False)
    """
    return isinstance(model, kind) and package_of(type(model)) in _KNOWN


def package_of(kind: type) -> str:
    """The package that a class belongs to."""
    return kind.__module__.partition(".")[0]
