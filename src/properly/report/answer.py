"""The tables below the answer: how large the fault is, the tests behind the verdict, and other probabilities."""

from __future__ import annotations

from math import isfinite

from properly.audit.answers import RIGHT, sizes_of, unknown, verdict
from properly.audit.formatting import aligned, interval, number
from properly.audit.results import Audit
from properly.report.html import Markup, element, picture, section, table

_WHAT = {
    "mean": "mean (observed against expected)",
    "line": "intercept and slope in log-odds (likelihood ratio)",
    "cumulative": "cumulative differences (range)",
    "smooth": "smooth functions (score test)",
    "certainty": "rows that were certain and wrong",
    "whole vector": "whole vector (squared kernel calibration error)",
}


def sizes_table(audit: Audit) -> Markup:
    """Each measure of the fault with its interval, beside the value of right probabilities."""
    rows = []
    for name, size in sizes_of(audit).items():
        known = (
            (f"not determined: {unknown(audit, name)}", "–")
            if size is None
            else (aligned(size.estimate, size), interval(size))
        )
        rows.append((name, *known, f"{RIGHT[name]:g}"))
    of = "" if audit.is_binary else " of the most probable class"
    return table(("size", "estimate", "95 % interval", "if right"), rows, f"How large is the fault{of}?", stacked=True)


def tests_table(audit: Audit) -> Markup:
    """Every test with its p-value, and that of all together."""
    rows = [
        (_named(test.name), number(test.statistic if isfinite(test.statistic) else None), _p_value(test.p_value))
        for test in audit.test.tests
    ]
    if audit.groups is not None:
        rows.append((f"groups: {int(audit.groups.off.sum())} of {len(audit.groups.groups)} flagged", "–", "–"))
    rows.append(("all together", "–", _p_value(audit.p_value)))
    shown = table(
        ("test", "statistic", "p-value"), rows, "The tests of whether the probabilities are right", stacked=True
    )
    return element("details", element("summary", "The tests behind this verdict"), shown)


def _named(name: str) -> str:
    what, separator, test = name.rpartition(": ")
    return f"{what}{separator}{_WHAT.get(test, test)}"


def _p_value(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else number(value, 2)


def against_section(audit: Audit) -> Markup | None:
    """The audited probabilities against others of the same rows."""
    other = audit.against
    if other is None:
        return None
    rows: list[tuple[str, ...]] = []
    for name, difference in other.differences.items():
        change = (
            ("–", "–") if difference is None else (aligned(difference.difference, difference), interval(difference))
        )
        rows.append((name, number(audit.scores[name].before, 4), number(other.audit.scores[name].before, 4), *change))
    words = f"Verdict on the audited probabilities: {verdict(audit)}. Verdict on {other.name}: {verdict(other.audit)}."
    head = ("score", "audited", other.name, f"audited less {other.name}", "95 % interval")
    shown = table(head, rows, "Scores on the same rows; the smaller, the better", stacked=True)
    scale = "log-odds" if audit.is_rare else "probability"
    caption = "Murphy diagram of both: where one curve is lower, it is better for these costs."
    drawn = picture(other.murphy.plot(scale=scale), "murphy-against", f"Murphy diagram against {other.name}.", caption)
    return section(
        f"Against {other.name}", element("p", words), shown, element("div", drawn, class_="figures"), id="against"
    )
