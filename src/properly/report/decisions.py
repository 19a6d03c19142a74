"""What decisions do and cost: at every threshold for two classes, and among more than two."""

from __future__ import annotations

from string import Template

import numpy as np

from properly.audit.confusion import Confusion
from properly.audit.formatting import count, number, percent
from properly.audit.results import Audit
from properly.numeric.probabilities import Array
from properly.report.findings import Findings
from properly.report.html import Markup, asset, data_script, element, markup, section, table

_MOST_CLASSES = 12


def threshold_section(findings: Findings) -> Markup | None:
    """What each threshold does and costs, for two classes; a slider shows the table of thresholds."""
    audit = findings.audit
    if audit.thresholds is None:
        return None
    positive, decision = audit.classes[1], audit.decision
    explanation = (
        f"A row is called {positive} if its probability is at least the threshold. If the probabilities are right, the "
        "cheapest threshold is the cost of a false positive divided by the sum of both costs."
    )
    if decision is not None:
        costs, start = (decision.false_positive, decision.false_negative), decision.choice.theoretical_threshold
    elif audit.thresholds.even_costs is None:
        costs, start = (1.0, 1.0), 0.5
        explanation += " No costs were given: the page starts with equal ones."
    else:
        costs, start = audit.thresholds.even_costs, float(audit.rates[1])
        explanation += (
            f" No costs were given: the page starts with costs whose threshold is the share of {positive}. With them, "
            f"calling every row {positive} and calling none so cost the same."
        )
    slider = Template(asset("thresholds.html")).substitute(
        positive=markup(positive),
        false_positive=f"{costs[0]:.4g}" if decision is None else f"{costs[0]:.15g}",
        false_negative=f"{costs[1]:.4g}" if decision is None else f"{costs[1]:.15g}",
        start=repr(start),
    )
    data = data_script(audit.thresholds.as_json(), "threshold-table")
    return section(
        "Thresholds and costs", element("p", explanation), _points(audit), Markup(slider), data, id="thresholds"
    )


def _points(audit: Audit) -> Markup:
    """A table of thresholds that have a name."""
    decision, table_of_thresholds = audit.decision, audit.thresholds
    assert table_of_thresholds is not None
    named: dict[str, tuple[float, float | None]] = {
        f"share of {audit.classes[1]}": (float(audit.rates[1]), None),
        "the more probable class": (0.5, None),
    }
    caption = "What a threshold does"
    if decision is not None:
        choice = decision.choice
        named = {
            "for these costs, if the probabilities are right": (
                choice.theoretical_threshold,
                choice.expected_cost_there,
            ),
            "cheapest on these rows": (choice.threshold, choice.expected_cost),
        }
        caption = f"A false positive costs {decision.false_positive:,g}, a false negative {decision.false_negative:,g}"
    rows = []
    for name, (threshold, cost) in named.items():
        found = table_of_thresholds.at(threshold)
        cells = (number(threshold), number(1000.0 * found.alerts), _share(found.precision), _share(found.recall))
        rows.append((name, *cells, *([] if cost is None else [number(1000.0 * cost)])))
    head = ["threshold", "p at least", "alerts per 1,000 rows", "precision", "recall"]
    return table(head + ([] if decision is None else ["cost per 1,000 rows"]), rows, caption, stacked=True)


def _share(value: float) -> str:
    return "–" if np.isnan(value) else percent(value)


def confusion_section(findings: Findings) -> Markup | None:
    """Which classes are taken for which, and what that costs, for more than two."""
    audit, confusion = findings.audit, findings.audit.confusion
    if confusion is None:
        return None
    shown = sorted(sorted(range(len(audit.classes)), key=lambda k: -audit.rates[k])[:_MOST_CLASSES])
    names = [audit.classes[k] for k in shown]
    parts = [element("p", _how_decided(audit, confusion)), _matrix(confusion, shown, names)]
    if confusion.costs is not None:
        rows = [
            (name, *(f"{cost:,g}" for cost in confusion.costs[k, shown])) for k, name in zip(shown, names, strict=True)
        ]
        parts.append(
            table(["true class", *names], rows, "The cost of calling a row of a class (left) by another (above)")
        )
    note = (
        "Precision is the share of the rows called by a class that belong to it; recall is the share of the rows of a "
        "class that are called by it."
    )
    if len(shown) < len(audit.classes):
        note = f"The {len(shown)} most frequent of {len(audit.classes)} classes are shown. {note}"
    return section("Decisions", *parts, element("p", note, class_="note"), id="confusion")


def _how_decided(audit: Audit, confusion: Confusion) -> str:
    if confusion.cost is None or confusion.same_for_all is None:
        return f"Every row is called by its most probable class, which is right for {percent(audit.hit_rate)} of them."
    name, always = audit.classes[confusion.same_for_all[0]], confusion.same_for_all[1]
    return (
        "Every row is called by the class whose expected cost is smallest, which costs "
        f"{number(1000.0 * confusion.cost)} per 1,000 rows. Calling all of them {name}, the cheapest decision that is "
        f"the same for all, would cost {number(1000.0 * always)}."
    )


def _matrix(confusion: Confusion, shown: list[int], names: list[str]) -> Markup:
    """The counts, shaded by their share of the true class, with recall at the right and precision at the foot."""
    rows = []
    for k, name in zip(shown, names, strict=True):
        of_class = confusion.counts[k].sum() or 1.0
        cells = [_cell(confusion.counts[k], j, of_class, right=j == k) for j in shown]
        rows.append((name, *cells, _share(confusion.recall[k])))
    rows.append(("precision", *(_share(confusion.precision[k]) for k in shown), ""))
    caption = "Rows by their true class (left) and the class they are called by (above)"
    return table(["true class", *names, "recall"], rows, caption)


def _cell(counts: Array, j: int, of_class: float, *, right: bool) -> Markup:
    shade = f"--shade: {100.0 * counts[j] / of_class:.0f}%"
    return element("span", count(counts[j]), class_="cell right" if right else "cell", style=shade)
