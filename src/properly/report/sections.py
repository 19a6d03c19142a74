"""The parts of a page, each made from the results of an audit; nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from properly.audit.results import Audit, Recalibration, Score
from properly.audit.answers import answer, verdict
from properly.audit.formatting import aligned, count, interval, number, percent
from properly.diagnostics import Reliability
from properly.report.figures import picture
from properly.report.html import Markup, element, markup, section, table

_MOST_GROUPS = 50
_MOST_CLASSES = 12
_STYLES = {"right": "right", "nearly right": "right", "wrong": "wrong", "unclear": ""}


def answer_section(audit: Audit, lead: str | None = None) -> Markup:
    """The answer in two sentences, and the numbers behind it; a lead takes the place of what mending would gain."""
    right, gained = answer(audit)
    sentences = [element("p", sentence) for sentence in ((right, gained) if lead is None else (lead, right))]
    facts = {"rows": count(audit.n_rows)}
    if audit.total != audit.n_rows:
        facts["their weight"] = count(audit.total)
    if audit.auc is not None:
        facts[f"share of {audit.classes[1]}"] = percent(audit.hit_rate)
        facts["mean probability"] = percent(audit.confidence)
        facts["area under the ROC curve"] = number(audit.auc.area)
    else:
        facts["classes"] = str(len(audit.classes))
        facts["most probable class is right"] = percent(audit.hit_rate)
        facts["and is given on average"] = percent(audit.confidence)
    facts["smooth calibration error"] = number(audit.smooth_error, 2)
    tiles = [
        element("div", element("div", name, class_="name"), element("div", value, class_="value"))
        for name, value in facts.items()
    ]
    return element(
        "section",
        element("h2", "The answer", id="answer-heading"),
        *sentences,
        element("div", *tiles, class_="tiles"),
        id="answer",
        class_=f"answer {_STYLES[verdict(audit)]}".strip(),
        aria_labelledby="answer-heading",
    )


def scores_section(audit: Audit) -> Markup:
    """Proper scores and their parts, before and after."""
    head = ("", "score", "miscalibration", "discrimination", "uncertainty")
    tables = []
    for score in audit.scores.values():
        lines = [("as given", score.parts)]
        if score.parts_after is not None:
            lines.append(("recalibrated", score.parts_after))
        rows = [
            (name, *(number(x, 4) for x in (d.score, d.miscalibration, d.discrimination, d.uncertainty)))
            for name, d in lines
        ]
        of_classes = "" if audit.is_binary else ", added up over the classes, each against the rest"
        tables.append(table(head, rows, f"{score.name.capitalize()}{of_classes}: the smaller, the better"))
    explanation = (
        "A score is the miscalibration (what is lost because probabilities are not what they say; 0 is best), less the "
        "discrimination (what is won by telling rows apart), plus the uncertainty (the score of the same probability "
        "for every row)."
    )
    return section("Scores and their parts", element("p", explanation), *tables, id="scores")


def reliability_section(audit: Audit) -> Markup:
    """What was said against what happened."""
    pictures, note, kind = [], None, "figures"
    if audit.multiclass_reliability is not None:
        kind = "figures small"
        panels = audit.multiclass_reliability.by_class
        common = sorted(range(len(panels)), key=lambda k: -audit.rates[k])[:_MOST_CLASSES]
        pictures.append(_reliability_picture(audit.multiclass_reliability.top, "probability", "top", "The most probable class."))
        for k in sorted(common):
            caption = f"Class {audit.classes[k]}."
            pictures.append(_reliability_picture(panels[k], "probability", f"class-{k}", caption))
        if len(common) < len(panels):
            note = element("p", f"The {len(common)} most frequent of {len(panels)} classes are shown.", class_="note")
    elif audit.reliability is not None:
        for scale in ["probability", "log-odds"] if audit.is_rare else ["probability"]:
            pictures.append(_reliability_picture(audit.reliability, scale, scale, f"On the {scale} scale."))
    explanation = (
        "What was said (across) against how often it came true (up). Right probabilities lie on the diagonal but for "
        "chance: at each place they lie within the band 90 % of the time."
    )
    return section(
        "Reliability",
        element("p", explanation),
        element("div", *pictures, class_=kind),
        *([] if note is None else [note]),
        id="reliability-section",
    )


def _reliability_picture(found: Reliability, scale: str, name: str, caption: str) -> Markup:
    outside = f"{percent(found.outside)} of the rows lie outside the band."
    return picture(
        found.plot(scale=scale),
        f"reliability-{name}",
        f"Reliability diagram on the {scale} scale. {caption} {outside}",
        f"{caption} {outside}",
    )


def recalibration_section(audit: Audit) -> Markup:
    """What calibration changed."""
    heading, id = "What calibration changes", "recalibration"
    if audit.recalibration is None:
        note = element("p", "A class has fewer than two rows: a calibrator cannot be both fitted and tested.")
        return section(heading, note, id=id)
    head = ("mean per row", "before", "after", "gain", "95 % interval")
    rows = [_gain_row(score) for score in audit.scores.values()]
    decision = audit.decision
    if decision is not None and decision.saving is not None:
        name = f"cost, deciding at {number(decision.choice.theoretical_threshold)}"
        change = (number(decision.before), number(decision.after), aligned(decision.saving.difference, decision.saving))
        rows.append((name, *change, interval(decision.saving)))
    pictures = []
    if audit.reliability_after is not None:
        scale = "log-odds" if audit.is_rare else "probability"
        caption = f"Reliability after recalibration, on the {scale} scale."
        pictures.append(_reliability_picture(audit.reliability_after, scale, "after", caption))
    if audit.murphy is not None:
        pictures.append(_murphy_picture(audit))
    return section(
        heading,
        element("p", _how(audit, audit.recalibration)),
        table(head, rows, "Scores before and after; the smaller, the better"),
        *([element("div", *pictures, class_="figures")] if pictures else []),
        id=id,
    )


def _murphy_picture(audit: Audit) -> Markup:
    if audit.murphy is None:
        return Markup("")
    return picture(
        audit.murphy.plot(scale="log-odds" if audit.is_rare else "probability"),
        "murphy",
        "Murphy diagram: the cost of deciding by the probabilities at every threshold, before and after recalibration.",
        "Murphy diagram: the mean cost of deciding by the probabilities, for every ratio of the costs of the two "
        "mistakes. A curve that lies below another everywhere is better whatever the costs are.",
    )


def _gain_row(score: Score) -> tuple[str, ...]:
    if score.gain is None or score.after is None:
        return score.name, number(score.before, 4), number(score.after, 4), "–", "–"
    before = score.after + score.gain.difference  # on the same rows, if only some were recalibrated
    return (
        score.name,
        number(before, 4),
        number(score.after, 4),
        aligned(score.gain.difference, score.gain),
        interval(score.gain),
    )


def _how(audit: Audit, mending: Mending) -> str:
    if mending.n_folds is None:
        return "The probabilities as given are compared with the mended ones that came with them."
    rows = "the rows" if mending.n_rows == audit.n_rows else f"a random {mending.n_rows:,} of the rows"
    return (
        f"A calibrator was fitted to {rows} but one part in {mending.n_folds}, and applied to that part, "
        f"{mending.n_folds} times: every recalibrated probability comes from rows other than its own."
    )


def groups_section(audit: Audit) -> Markup | None:
    """Calibration of every group by itself, the largest first."""
    groups = audit.groups
    if groups is None:
        return None
    largest = sorted(range(len(groups.groups)), key=lambda k: -groups.weight[k])[:_MOST_GROUPS]
    rows = [
        (
            groups.groups[k],
            count(groups.weight[k]),
            percent(groups.mean_p[k]),
            percent(groups.base_rate[k]),
            f"{percent(groups.low[k])} to {percent(groups.high[k])}",
            element("span", _fault(groups, k), class_="flag" if groups.off[k] else "fine"),
            number(groups.miscalibration[k], 2),
        )
        for k in largest
    ]
    happened = "happened" if audit.is_binary else "right"
    head = ("group", "rows", "said on average", happened, "interval of that", "", "miscalibration")
    flagged = int(groups.off.sum())
    opening = (
        f"In {flagged} of {len(groups.groups)} groups the mean probability lies outside the interval of what happened."
        if flagged
        else "In every group the mean probability lies within the interval of what happened."
    )
    note = (
        "The intervals are so wide that one audit in twenty flags any group at all if the probabilities are right. "
        "Miscalibration is the part of the log loss that recalibration within the group would mend; small groups show "
        "some by chance."
    )
    if len(rows) < len(groups.groups):
        note = f"The {len(rows)} largest groups are shown. {note}"
    caption = "Calibration by group" if audit.is_binary else "Calibration of the most probable class by group"
    return section(
        "By group", element("p", opening), table(head, rows, caption), element("p", note, class_="note"), id="groups"
    )


def _fault(groups: Any, k: int) -> str:
    if not groups.off[k]:
        return "within"
    return "too high" if groups.mean_p[k] > groups.base_rate[k] else "too low"


def facts_section(facts: Mapping[str, str]) -> Markup:
    """What is needed to do this again."""
    pairs = [markup(element("dt", name), element("dd", value)) for name, value in facts.items()]
    return section("For reproduction", element("dl", *pairs), id="facts")
