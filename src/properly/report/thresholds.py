"""The threshold helper: a slider over all thresholds, whose numbers come from the table of cuts."""

from __future__ import annotations

from properly.audit.results import Audit
from properly.audit.thresholds import Decision
from properly.audit.formatting import number
from properly.report.html import Markup, data_script, element, section, table


def threshold_section(audit: Audit) -> Markup | None:
    """What each threshold does and costs; for two classes."""
    if audit.thresholds is None:
        return None
    decision = audit.decision
    costs = (1.0, 1.0) if decision is None else (decision.false_positive, decision.false_negative)
    parts: list[str] = [
        element(
            "p",
            f"A row is called {audit.classes[1]} if its probability reaches the threshold. If the probabilities are "
            "right, the cheapest threshold is the cost of a false positive divided by the sum of both costs.",
        )
    ]
    if decision is not None:
        parts.append(_choices(decision))
    parts.append(_slider(audit, costs))
    parts.append(element("p", "The slider needs JavaScript.", class_="note", id="without-script"))
    parts.append(data_script(audit.thresholds.as_json(), "cuts"))
    return section("Thresholds and costs", *parts, id="thresholds")


def _choices(decision: Decision) -> Markup:
    choice = decision.choice
    rows = [
        (
            "for these costs, if the probabilities are right",
            number(choice.theoretical_threshold),
            number(1000.0 * choice.expected_cost_there),
        ),
        ("cheapest on these rows", number(choice.threshold), number(1000.0 * choice.expected_cost)),
    ]
    caption = f"A false positive costs {decision.false_positive:,g}, a false negative {decision.false_negative:,g}"
    return table(("threshold", "p at least", "cost per 1,000 rows"), rows, caption)


def _slider(audit: Audit, costs: tuple[float, float]) -> Markup:
    def cost_input(label: str, id: str, value: float) -> Markup:
        box = element("input", type="number", id=id, value=f"{value:.15g}", min="0", step="any", inputmode="decimal")
        return element("label", label, box)

    def row(name: str, *cells: str) -> Markup:
        counts = (element("td", element("output", "–", id=id, for_="cut")) for id in cells)
        return element("tr", element("th", name, scope="row"), *counts)

    curve = element(
        "svg",
        element("path", id="cost-path"),
        *(element("line", id=f"{name}-mark", y1="0", y2="100", class_=name) for name in ("theory", "now")),
        id="cost-curve",
        preserveAspectRatio="none",
        role="img",
        aria_label="Expected cost at every threshold; a dashed line marks the threshold for these costs.",
    )
    positive = audit.classes[1]
    confusion = element(
        "table",
        element("caption", "Rows by what they are and what they are called"),
        element("thead", element("tr", element("th", ""), element("th", f"called {positive}"), element("th", "not"))),
        element(
            "tbody",
            row(f"is {positive}", "true-positives", "false-negatives"),
            row("is not", "false-positives", "true-negatives"),
        ),
    )
    return element(
        "div",
        element(
            "div",
            cost_input("Cost of a false positive", "cost-false-positive", costs[0]),
            cost_input("Cost of a false negative", "cost-false-negative", costs[1]),
            class_="costs",
        ),
        element("p", "Cost at every threshold; the dashed line is the threshold for these costs.", class_="note"),
        curve,
        element("input", type="range", id="cut", min="0", max="1", step="1", value="0", aria_label="threshold"),
        element("p", "Threshold ", element("output", "–", id="threshold-value", for_="cut")),
        element(
            "div",
            element(
                "button",
                "Threshold for these costs: ",
                element("span", "–", id="theory-threshold"),
                type="button",
                id="go-theory",
            ),
            element("button", "Cheapest on these rows", type="button", id="go-cheapest"),
            class_="buttons",
        ),
        element("div", confusion, class_="scroll"),
        element("p", "Expected cost per 1,000 rows: ", element("output", "–", id="expected-cost", for_="cut")),
        id="threshold-helper",
        hidden=True,
    )
