"""The leaderboard of a fit: which model is best, and of which others that can be said for sure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from properly.audit.formatting import decimals, number
from properly.comparison import Comparison
from properly.numeric.probabilities import Array
from properly.report.html import Markup, element, section, table

_WIDTH, _MARGIN = 112.0, 4.0  # of the picture of an interval


def leader(comparison: Comparison) -> str:
    """The best model in a sentence."""
    others, worse = len(comparison.names) - 1, int(np.sum(comparison.significant))
    if others == 0:
        return f"{comparison.best} has a score of {number(comparison.scores[0], 4)} for rows that it has not seen."
    found = f"{comparison.best} gives the best probabilities of {others + 1} models"
    if worse == others:
        return f"{found}, and the others are significantly worse."
    alike = others - worse
    return f"{found}, but {alike} of the others {'is' if alike == 1 else 'are'} not significantly worse."


def leaderboard_section(comparison: Comparison) -> Markup:
    """Models in the order of their score for rows they have not seen, with intervals."""
    places = _places(float(comparison.scores[0]))
    scale = _Scale.of(comparison)
    rows = []
    for k, name in enumerate(comparison.names):
        low, high = (float(end) for end in comparison.difference_intervals[k])
        difference = float(comparison.difference_to_best[k])
        rows.append(
            (
                name,
                _with_interval(float(comparison.scores[k]), comparison.intervals[k], places),
                "–" if k == 0 else _with_interval(difference, comparison.difference_intervals[k], places + 1),
                Markup("") if k == 0 else scale.bar(difference, low, high),
                _standing(k, bool(comparison.significant[k])),
                _seconds(float(comparison.seconds[k])),
            )
        )
    head = ("model", "score", "worse than the best by", "", "difference", "time")
    note = (
        "The score is the mean loss for rows that the model was not fitted to: the smaller, the better. Below it are "
        "95 % intervals. All models see the same rows, so a difference is known better than either score; it is called "
        "significant at 5 %, all comparisons taken together."
    )
    return section(
        "The models",
        table(head, rows, "Scores in cross-validation", highlight=[0]),
        element("p", note, class_="note"),
        id="leaderboard",
    )


def _places(score: float) -> int:
    """Decimals that show four digits of the best score."""
    return 4 if not np.isfinite(score) or score <= 0.0 else int(np.clip(3 - np.floor(np.log10(score)), 3, 7))


def _with_interval(value: float, interval: Array, places: int) -> Markup:
    ends = element("small", " to ".join(decimals(float(end), places) for end in interval))
    return element("span", decimals(value, places), ends)


def _standing(place: int, significant: bool) -> Markup:
    if place == 0:
        return element("span", "best", class_="fine")
    return element("span", "significant", class_="flag") if significant else element("span", "may be chance")


def _seconds(seconds: float) -> str:
    return "–" if np.isnan(seconds) else f"{number(seconds, 2)} s"


@dataclass(frozen=True)
class _Scale:
    """From differences to places in a picture that all rows share."""

    low: float
    high: float

    @classmethod
    def of(cls, comparison: Comparison) -> _Scale:
        ends = comparison.difference_intervals[np.isfinite(comparison.difference_intervals)]
        return cls(min(0.0, float(ends.min(initial=0.0))), max(0.0, float(ends.max(initial=0.0))))

    def bar(self, middle: float, low: float, high: float) -> Markup:
        """The interval of a difference as a line with a dot, and a mark at 0."""
        if not (self.high > self.low and np.isfinite([middle, low, high]).all()):
            return Markup("")

        def at(value: float) -> str:
            return f"{_MARGIN + _WIDTH * (value - self.low) / (self.high - self.low):.1f}"

        return element(
            "svg",
            element("line", x1=at(0.0), x2=at(0.0), y1="0", y2="16", class_="zero"),
            element("line", x1=at(low), x2=at(high), y1="8", y2="8", class_="interval"),
            element("circle", cx=at(middle), cy="8", r="3.5"),
            viewBox=f"0 0 {_WIDTH + 2 * _MARGIN:g} 16",
            width=f"{_WIDTH + 2 * _MARGIN:g}",
            height="16",
            class_="bar",
            aria_hidden="true",
        )
