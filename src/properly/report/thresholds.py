"""The threshold section: a slider over all thresholds, whose numbers come from the table of thresholds."""

from __future__ import annotations

from string import Template

from properly.audit.formatting import number
from properly.audit.thresholds import Decision
from properly.report.html import Markup, asset, data_script, element, markup, section, table
from properly.report.sections import Findings


def threshold_section(findings: Findings) -> Markup | None:
    """What each threshold does and costs; for two classes."""
    audit, decision = findings.audit, findings.audit.decision
    if audit.thresholds is None:
        return None
    explanation = (
        f"A row is called {audit.classes[1]} if its probability is at least the threshold. If the probabilities are "
        "right, the cheapest threshold is the cost of a false positive divided by the sum of both costs."
    )
    costs = (1.0, 1.0) if decision is None else (decision.false_positive, decision.false_negative)
    slider = Template(asset("thresholds.html")).substitute(
        positive=markup(audit.classes[1]), false_positive=f"{costs[0]:.15g}", false_negative=f"{costs[1]:.15g}"
    )
    return section(
        "Thresholds and costs",
        element("p", explanation),
        *([] if decision is None else [_choices(decision)]),
        Markup(slider),
        data_script(audit.thresholds.as_json(), "threshold-table"),
        id="thresholds",
    )


def _choices(decision: Decision) -> Markup:
    choice = decision.choice
    chosen = {
        "for these costs, if the probabilities are right": (choice.theoretical_threshold, choice.expected_cost_there),
        "cheapest on these rows": (choice.threshold, choice.expected_cost),
    }
    rows = [(name, number(threshold), number(1000.0 * cost)) for name, (threshold, cost) in chosen.items()]
    caption = f"A false positive costs {decision.false_positive:,g}, a false negative {decision.false_negative:,g}"
    return table(("threshold", "p at least", "cost per 1,000 rows"), rows, caption)
