"""Numbers as people write them: significant digits, thousands, percentages, intervals."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Protocol

_MOST_PLACES = 8  # decimals, beyond which an exponent is easier to read
_LARGEST = 1e15  # beyond which likewise
_MOST_DIGITS = 5  # of the ends of an interval, however narrow it is


class Interval(Protocol):
    """Anything with two ends."""

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits; an exponent only for more than 8 decimals or 15 digits.

    >>> number(0.0123456), number(1234567.0), number(2.5e-7), number(1e30), number(None)
    ('0.0123', '1,234,567', '2.50e-07', '1.00e+30', '–')
    """
    if value is None:
        return "–"
    if value != value:
        return "unknown"
    if not isfinite(value):
        return "infinite" if value > 0.0 else "−infinite"
    if value == 0.0:
        return "0"
    scientific = f"{abs(value):.{digits - 1}e}"
    places = digits - 1 - int(scientific.partition("e")[2])
    extreme = places > _MOST_PLACES or abs(value) > _LARGEST
    text = scientific if extreme else f"{abs(value):,.{max(places, 0)}f}"
    return text if value > 0.0 else f"−{text}"


def count(rows: float) -> str:
    """A number of rows, or the sum of their weights.

    >>> count(7.0), count(12345.0), count(2.345)
    ('7', '12,345', '2.35')
    """
    if rows > _LARGEST:
        return number(rows)
    whole = round(rows)
    return f"{whole:,}" if abs(rows - whole) < 1e-9 * max(rows, 1.0) or rows >= 100.0 else number(rows)


def percent(value: float, digits: int = 3) -> str:
    """A share in per cent, with a no-break space before the sign.

    >>> print(percent(0.0123), percent(0.5), percent(1.0))
    1.23 % 50.0 % 100 %
    """
    return f"{number(100.0 * value, digits)}\N{NO-BREAK SPACE}%"


def interval(difference: Interval) -> str:
    """The ends of an interval, with as many decimals as give its width and its larger end two significant digits.

    >>> from properly.metrics import PairedDifference
    >>> interval(PairedDifference(0.01, -0.0102, 0.025, 0.5, 0.01)), interval(PairedDifference(1, 0.987, 1.021, 1, 0))
    ('−0.010 to 0.025', '0.987 to 1.021')
    """
    if difference.low == difference.high:
        return "the same for every row"
    return f"{aligned(difference.low, difference)} to {aligned(difference.high, difference)}"


def aligned(value: float, beside: Interval) -> str:
    """A number with as many decimals as `interval` gives to this interval."""
    largest = max(abs(beside.low), abs(beside.high))
    if not isfinite(largest) or largest == 0.0:
        return number(value, 2)
    size, width = _exponent(largest), _exponent(beside.high - beside.low) if beside.high > beside.low else 0
    return decimals(value, min(max(1 - size, 1 - width), _MOST_DIGITS - 1 - size))


def decimals(value: float, places: int) -> str:
    """A number with so many decimals (a negative number of them counts as 0), with an exponent if they exceed 8.

    >>> decimals(-0.01234, 3), decimals(1234.5, -1), decimals(1.2e-12, 13)
    ('−0.012', '1,234', '1.2e-12')
    """
    if not abs(value) <= _LARGEST:
        return number(value)
    if places > _MOST_PLACES:
        return number(value, max(places + _exponent(value) + 1, 1)) if value else "0"
    text = f"{abs(value):,.{max(places, 0)}f}"
    return f"−{text}" if value < 0.0 and text.strip("0.,") else text


def alike(values: Sequence[float]) -> list[str]:
    """Numbers with the same number of decimals, three significant digits of how far they lie apart.

    >>> alike([-3.61, 0.000002, 4.0]), alike([1990.0, 2020.0, 2007.3]), alike([0.5, 0.5])
    (['−3.61', '0.00', '4.00'], ['1,990.0', '2,020.0', '2,007.3'], ['0.500', '0.500'])
    """
    apart = max(values) - min(values)
    return [decimals(value, 2 - _exponent(apart)) if apart > 0.0 else number(value) for value in values]


def _exponent(value: float) -> int:
    return int(f"{abs(value):.1e}".partition("e")[2])


def cells(width: float) -> str:
    """What it means that a cell of counted probabilities has this width; "" if none were taken together.

    >>> print(cells(2.0**-14))
    probabilities that differ by less than 0.0061 % of their size (of 1 - p, above one half) count as their mean
    """
    if not width:
        return ""
    less = percent(width, 2)
    return f"probabilities that differ by less than {less} of their size (of 1 - p, above one half) count as their mean"
