"""The audit in plain words: numbers as people write them, and the answer in two sentences."""

from __future__ import annotations

from math import isfinite
from typing import Protocol

from properly.audit.results import Audit

_SURE = 1.96  # standard errors: 95 % of chance lies within
_SLIGHT = 0.01  # a gain below this share of the score is called slight
_MOST_PLACES = 8  # behind the point, before an exponent reads better
_FEW = 10  # rows of a class below which no fault found is no proof of right
_TOO_FEW = 20  # rows in all, below which neither is a fault


class Interval(Protocol):
    """What has two ends."""

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits, without an exponent where it reads well without.

    >>> number(0.0123456), number(1234567.0), number(2.5e-7), number(None)
    ('0.0123', '1,234,567', '2.50e-07', '–')
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
    text = scientific if places > _MOST_PLACES else f"{abs(value):,.{max(places, 0)}f}"
    return text if value > 0.0 else f"−{text}"


def count(rows: float) -> str:
    """A number of rows, or the sum of their weights.

    >>> count(7.0), count(12345.0), count(2.345)
    ('7', '12,345', '2.35')
    """
    whole = round(rows)
    return f"{whole:,}" if abs(rows - whole) < 1e-9 * max(rows, 1.0) or rows >= 100.0 else number(rows)


def percent(value: float, digits: int = 3) -> str:
    """A share in per cent, which no line break parts from its number.

    >>> print(percent(0.0123), percent(0.5), percent(1.0))
    1.23 % 50.0 % 100 %
    """
    return f"{number(100.0 * value, digits)}\N{NO-BREAK SPACE}%"


def interval(difference: Interval) -> str:
    """The ends of an interval, with two significant digits of the larger one.

    >>> from properly.metrics import PairedDifference
    >>> interval(PairedDifference(0.01, -0.0102, 0.025, 0.5, 0.01))
    '−0.010 to 0.025'
    """
    return f"{aligned(difference.low, difference)} to {aligned(difference.high, difference)}"


def aligned(value: float, beside: Interval) -> str:
    """A number with as many decimals as the interval beside it has."""
    largest = max(abs(beside.low), abs(beside.high))
    if not isfinite(largest) or largest == 0.0:
        return number(value, 2)
    return decimals(value, 1 - _exponent(largest))


def decimals(value: float, places: int) -> str:
    """A number with so many decimals; with an exponent if they are very many, without any if they are fewer than 0.

    >>> decimals(-0.01234, 3), decimals(1234.5, -1), decimals(1.2e-12, 13)
    ('−0.012', '1,234', '1.2e-12')
    """
    if not isfinite(value):
        return number(value)
    if places > _MOST_PLACES:
        return number(value, max(places + _exponent(value) + 1, 1)) if value else "0"
    text = f"{abs(value):,.{max(places, 0)}f}"
    return f"−{text}" if value < 0.0 and text.strip("0.,") else text


def _exponent(value: float) -> int:
    return int(f"{abs(value):.1e}".partition("e")[2])


def verdict(audit: Audit) -> str:
    """ "right", "nearly right", "wrong" or "unclear": by what recalibration gains on rows it has not seen."""
    if audit.surprises:
        return "wrong"
    gain = audit.headline.gain
    if gain is None or audit.n_rows < _TOO_FEW:
        return "unclear"
    if gain.low > 0.0:
        return "wrong" if gain.difference > _SLIGHT * audit.headline.before else "nearly right"
    return "unclear" if min(audit.rates) * audit.total < _FEW else "right"


def answer(audit: Audit) -> tuple[str, str]:
    """Are the probabilities right, and what is gained by mending them?"""
    return _are_they_right(audit), _what_is_gained(audit)


def _are_they_right(audit: Audit) -> str:
    found = verdict(audit)
    if found == "unclear":
        return (
            f"Whether the probabilities are right cannot be told from these {_rows(audit)}, of which the "
            f"rarest class has {count(min(audit.rates) * audit.total)}."
        )
    if found == "right":
        return (
            f"The probabilities look right: {_rows(audit)} show no fault beyond chance "
            f"(on average {_said_and_happened(audit)})."
        )
    opening = "The probabilities are nearly right" if found == "nearly right" else "The probabilities are not right"
    reasons = faults(audit)
    if found == "nearly right" and reasons:
        return f"{opening}, only slightly {_joined(reasons)}."
    return (
        f"{opening}: they are {_joined(reasons)}." if reasons else f"{opening}: right on average, not at every level."
    )


def _rows(audit: Audit) -> str:
    """How many rows there are, and their weight if it is another number."""
    found = f"{audit.n_rows:,} {'row' if audit.n_rows == 1 else 'rows'}"
    return found if audit.total == audit.n_rows else f"{found} with a weight of {count(audit.total)}"


def faults(audit: Audit) -> list[str]:
    """What is wrong, in words; empty if it is neither the mean nor the spread."""
    found = []
    if audit.surprises:
        rows = "row" if audit.surprises == 1 else "rows"
        found.append(f"certain and mistaken for {audit.surprises:,} {rows}, whose class was given a probability of 0")
    rate, mean = audit.hit_rate, audit.confidence
    error = (max(rate * (1.0 - rate), 1e-300) / audit.total) ** 0.5
    if abs(mean - rate) > _SURE * error:
        found.append(f"{'too high' if mean > rate else 'too low'} on average ({_said_and_happened(audit)})")
    line = audit.line
    if line is not None and abs(line.slope - 1.0) > _SURE * line.standard_error:
        if line.slope <= 0.0:
            found.append("the wrong way round (the higher the probability, the rarer the event)")
        else:
            spread = "too extreme" if line.slope < 1.0 else "too timid"
            found.append(f"{spread} (log-odds should be multiplied by {number(line.slope, 2)})")
    return found


def _said_and_happened(audit: Audit) -> str:
    if audit.is_binary:
        return f"{percent(audit.confidence)} said, {percent(audit.hit_rate)} happened"
    return f"{percent(audit.confidence)} said for the most probable class, which was right in {percent(audit.hit_rate)}"


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"


def _what_is_gained(audit: Audit) -> str:
    score = audit.headline
    if score.after is None:
        return "What mending them would gain cannot be measured: a class has fewer than two rows."
    if score.gain is None:
        return f"Mending them changes the {score.name} from {number(score.before)} to {number(score.after)}."
    if score.gain.low > 0.0:
        gained = (
            f"Mending them lowers the {score.name} by {percent(score.relative_gain, 2)}, "
            f"to {number(score.after, 4)} (95 % interval of the gain: {interval(score.gain)})"
        )
    elif score.gain.high < 0.0:
        gained = (
            f"Mending them gains nothing: a calibrator makes the {score.name} of rows that it has not seen worse, "
            f"{number(score.after, 4)} instead of {number(score.after + score.gain.difference, 4)}"
        )
    else:
        gained = (
            f"Mending them gains nothing that can be told from chance: the {score.name} stays at "
            f"{number(score.before, 4)} (95 % interval of the gain: {interval(score.gain)})"
        )
    return f"{gained}{_money(audit)}."


def _money(audit: Audit) -> str:
    decision = audit.decision
    if decision is None or decision.saving is None:
        return ""
    saved, before, after = (1000.0 * x for x in (decision.saving.difference, decision.before, decision.after or 0.0))
    if decision.saving.low > 0.0:
        change = f"saves {number(saved)} per 1,000 rows, from {number(before)} to {number(after)}"
    elif decision.saving.high < 0.0:
        change = f"costs {number(-saved)} more per 1,000 rows, {number(after)} instead of {number(before)}"
    else:
        change = f"leaves the cost where it is, at about {number(before)} per 1,000 rows"
    return (
        f"; with a false positive at {decision.false_positive:,g} and a false negative at "
        f"{decision.false_negative:,g} it {change}"
    )
