"""Names of what is compared: columns of tables and entries of legends, so no two may be equal."""

from __future__ import annotations

from collections.abc import Iterable


def checked_names(names: Iterable[object], reserved: Iterable[str] = ()) -> tuple[str, ...]:
    """Names that a user chose, as strings.

    >>> checked_names(["a", 1, "1"])
    Traceback (most recent call last):
    ValueError: the name '1' is given twice; names must differ as strings.
    """
    taken = set(reserved)
    found: list[str] = []
    for name in map(str, names):
        if name in taken:
            raise ValueError(f"the name {name!r} is that of another column of the result; choose another name.")
        if name in found:
            raise ValueError(f"the name {name!r} is given twice; names must differ as strings.")
        found.append(name)
    return tuple(found)


def numbered(names: Iterable[str]) -> tuple[str, ...]:
    """Names that nobody chose: equal ones get a number.

    >>> numbered(["PlattScaling()", "auto", "PlattScaling()"])
    ('PlattScaling()', 'auto', 'PlattScaling() (2)')
    """
    found: list[str] = []
    for name in names:
        count, new = 1, name
        while new in found:
            count += 1
            new = f"{name} ({count})"
        found.append(new)
    return tuple(found)
