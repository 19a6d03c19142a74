"""The leaderboard of a fit: which model is best, and which others are significantly worse."""

from __future__ import annotations

import numpy as np

from properly.audit.formatting import decimals, number
from properly.numeric.probabilities import Array
from properly.report.html import Markup, element, section, table
from properly.report.sections import Findings

_WIDTH, _MARGIN = 112.0, 4.0  # of the picture of an interval


def leaderboard_section(findings: Findings) -> Markup | None:
    """Models in the order of their score on held-out rows, with intervals."""
    found = findings.comparison
    if found is None:
        return None
    best = float(found.scores[0])  # four of its digits are shown
    places = 4 if not np.isfinite(best) or best <= 0.0 else int(np.clip(3 - np.floor(np.log10(best)), 3, 7))
    rows = []
    for k, name in enumerate(found.names):
        difference, ends, seconds = found.difference_to_best[k], found.difference_intervals[k], found.seconds[k]
        standing = ("significant", "flag") if found.significant[k] else ("may be chance", None)
        rows.append(
            (
                name,
                _with_interval(found.scores[k], found.intervals[k], places),
                _with_interval(difference, ends, places + 1) if k else "–",
                _bar(difference, ends, found.difference_intervals) if k else "",
                element("span", standing[0], class_=standing[1]) if k else element("span", "best", class_="fine"),
                "–" if np.isnan(seconds) else f"{number(seconds, 2)} s",
            )
        )
    head = ("model", "score", "worse than the best by", "", "difference", "time")
    note = (
        "The score is the mean loss on held-out rows: the smaller, the better. Below it are 95 % intervals. All models "
        "are scored on the same rows, so a difference has a smaller error than either score; it is called significant "
        "at 5 %, corrected for the number of comparisons."
    )
    shown = table(head, rows, "Scores in cross-validation", highlight=[0])
    return section("The models", shown, element("p", note, class_="note"), id="leaderboard")


def _with_interval(value: float, interval: Array, places: int) -> Markup:
    ends = element("small", " to ".join(decimals(float(end), places) for end in interval))
    return element("span", decimals(float(value), places), ends)


def _bar(middle: float, interval: Array, all_intervals: Array) -> Markup:
    """The interval of a difference as a line with a dot, and a mark at 0, on the scale that all rows share."""
    ends = np.append(all_intervals[np.isfinite(all_intervals)], 0.0)
    low, high = ends.min(), ends.max()
    if not (high > low and np.isfinite([middle, *interval]).all()):
        return Markup("")
    zero, dot, left, right = (
        f"{_MARGIN + _WIDTH * (value - low) / (high - low):.1f}" for value in (0.0, middle, *interval)
    )
    return element(
        "svg",
        element("line", x1=zero, x2=zero, y1="0", y2="16", class_="zero"),
        element("line", x1=left, x2=right, y1="8", y2="8", class_="interval"),
        element("circle", cx=dot, cy="8", r="3.5"),
        viewBox=f"0 0 {_WIDTH + 2 * _MARGIN:g} 16",
        width=f"{_WIDTH + 2 * _MARGIN:g}",
        height="16",
        class_="bar",
        aria_hidden="true",
    )
