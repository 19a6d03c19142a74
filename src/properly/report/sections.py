"""The sections of a page and their table; each is drawn from what was found, and nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from properly.audit.answers import answer, band_note, verdict
from properly.audit.formatting import aligned, count, interval, number, percent
from properly.audit.results import MOST_GROUPS_ON_PAGE, Audit
from properly.comparison import Comparison
from properly.diagnostics import Reliability
from properly.inputs.options import CONFIDENCE
from properly.report.answer import against_section, sizes_table, tests_table
from properly.report.decisions import confusion_section, threshold_section
from properly.report.findings import Findings
from properly.report.html import Markup, element, markup, picture, section, table
from properly.report.models import data_section, importances_section, leaderboard_section, parts_section

_MOST_CLASSES = 12
_LEVEL = percent(CONFIDENCE, 2)
_STYLES = {"right": "answer right", "nearly right": "answer right", "wrong": "answer wrong", "unclear": "answer"}


def warnings_section(findings: Findings) -> Markup | None:
    """What to look at before the results."""
    if not findings.warnings:
        return None
    listed = element("ul", *(element("li", f"{each[:1].upper()}{each[1:]}.") for each in findings.warnings))
    return section("Look at this first", listed, id="warnings", class_="answer wrong")


def answer_section(findings: Findings) -> Markup:
    """The answer in two sentences, and the numbers behind it; for a fit, the best model and whether it is right."""
    audit, comparison, recalibrated = findings.audit, findings.comparison, findings.recalibrated
    sentences = list(answer(audit)[:2])
    if comparison is not None:
        sentences[0] = f"{comparison.choice}, on held-out rows: {sentences[0]}"
        sentences.insert(0, _best(comparison))
    elif recalibrated is not audit:
        sentences[0] = f"After calibration, on held-out rows: {sentences[0]}"
    if recalibrated is not None:
        sentences.append(answer(recalibrated)[2])
    n_rows = audit.n_rows if comparison is None else comparison.n_rows
    tiles = {"rows": count(n_rows)}
    if not np.isclose(audit.total, n_rows):
        tiles["weighted to count as"] = count(audit.total)
    if audit.is_binary:
        tiles[f"share of {audit.classes[1]}"] = percent(audit.hit_rate)
        tiles["mean probability"] = percent(audit.confidence)
        if audit.auc is not None:
            tiles["area under the ROC curve"] = number(audit.auc.area)
    else:
        tiles["classes"] = str(len(audit.classes))
        tiles["most probable class is the true one"] = percent(audit.hit_rate)
        tiles["its mean probability"] = percent(audit.confidence)
    drawn = [
        element("div", element("div", name, class_="name"), element("div", value, class_="value"))
        for name, value in tiles.items()
    ]
    paragraphs = [element("p", sentence) for sentence in sentences]
    style = _STYLES[verdict(audit)]
    shown = [*paragraphs, element("div", *drawn, class_="tiles"), sizes_table(audit), tests_table(audit)]
    return section("The answer", *shown, id="answer", class_=style)


def _best(comparison: Comparison) -> str:
    """The best model in a sentence."""
    others, worse = len(comparison.names) - 1, int(np.sum(comparison.significant))
    if others == 0:
        return f"{comparison.best} has a {comparison.score_name} of {number(comparison.scores[0], 4)} on held-out rows."
    found = f"{comparison.best} gives the best probabilities of {others + 1} models"
    if worse == others:
        return f"{found}; all others are significantly worse."
    alike = others - worse
    found += f"; {alike} of the others {'is' if alike == 1 else 'are'} not significantly worse."
    if comparison.choice == comparison.best:
        return found
    return f"{found} {comparison.choice} is chosen: {comparison.reason}."


def scores_section(findings: Findings) -> Markup:
    """Proper scores and their parts; before and after, if the page is about recalibration."""
    audit = findings.recalibrated or findings.audit
    head = ("", "score", "miscalibration", "discrimination", "uncertainty")
    tables = []
    for score in audit.scores.values():
        parts = {"as given": score.parts, "recalibrated": score.parts_after}
        if findings.recalibrated is None:
            twice = findings.comparison is not None and findings.comparison.repeats > 1
            parts = {f"on held-out rows{', of the first division' if twice else ''}": score.parts}
        rows = [(name, *(number(part, 4) for part in each)) for name, each in parts.items() if each is not None]
        if not rows:
            rows = [("as given", number(score.before, 4), "–", "–", "–")]
        name = f"{score.name[:1].upper()}{score.name[1:]}"
        tables.append(table(head, rows, f"{name}: the smaller, the better", stacked=True))
    gain = "perfect recalibration would gain (0 is best)"
    if not audit.is_binary:
        gain = "recalibration gains on held-out rows (0 is best, and chance can make it negative)"
    explanation = (
        f"Score = miscalibration − discrimination + uncertainty. Miscalibration is what {gain}, discrimination what is "
        "gained by telling rows apart (the larger, the better), and uncertainty the score of the class proportions as "
        "probabilities of every row."
    )
    return section("Scores and their parts", element("p", explanation), *tables, id="scores")


def reliability_section(findings: Findings) -> Markup:
    """Predicted probabilities against observed shares."""
    audit, several, notes = findings.audit, findings.audit.multiclass_reliability, []
    pictures = []
    if audit.reliability is not None:
        for scale in ["probability", "log-odds"] if audit.is_rare else ["probability"]:
            caption = f"On the {scale} scale. {band_note(audit, audit.reliability.outside)}"
            pictures.append(_reliability_picture(audit.reliability, scale, scale, caption))
    if several is not None:
        tests = [test for test in audit.test.tests if test.name.startswith("most probable class: ")]
        caption = f"The most probable class. {band_note(audit, several.top.outside, tests)}"
        pictures.append(_reliability_picture(several.top, "probability", "top", caption))
        common = sorted(range(len(audit.classes)), key=lambda k: -audit.rates[k])[:_MOST_CLASSES]
        for k in sorted(common):
            tests = [test for test in audit.test.tests if test.name == f"class {audit.classes[k]}"]
            caption = f"Class {audit.classes[k]}. {band_note(audit, several.by_class[k].outside, tests)}"
            pictures.append(_reliability_picture(several.by_class[k], "probability", f"class-{k}", caption))
        if len(common) < len(audit.classes):
            note = f"The {len(common)} most frequent of {len(audit.classes)} classes are shown."
            notes.append(element("p", note, class_="note"))
    explanation = (
        "The predicted probability (horizontal) against the share that was observed (vertical). The curve of "
        "calibrated probabilities differs from the diagonal by chance only: in "
        f"{_LEVEL} of all audits it lies within the band from end to end."
    )
    drawn = element("div", *pictures, class_="figures" if several is None else "figures small")
    return section("Reliability", element("p", explanation), drawn, *notes, id="reliability")


def _reliability_picture(found: Reliability, scale: str, name: str, caption: str) -> Markup:
    description = f"Reliability diagram on the {scale} scale. {caption}"
    return picture(found.plot(scale=scale), f"reliability-{name}", description, caption)


def recalibration_section(findings: Findings) -> Markup | None:
    """What recalibration changed."""
    audit = findings.recalibrated
    if audit is None:
        return None
    heading, id = "What recalibration changes", "recalibration"
    if not audit.n_recalibrated:
        note = element("p", "A class has fewer than two rows: a calibrator cannot be both fitted and tested.")
        return section(heading, note, id=id)
    rows: list[tuple[str, ...]] = []
    for score in audit.scores.values():
        change = (
            ("–", "–") if score.gain is None else (aligned(score.gain.difference, score.gain), interval(score.gain))
        )
        rows.append((score.name, number(score.before, 4), number(score.after, 4), *change))
    decision = audit.decision
    if decision is not None and decision.saving is not None:
        name = f"cost per 1,000 rows at the threshold {number(decision.choice.theoretical_threshold)}"
        saving = decision.saving._replace(
            **{end: 1000.0 * getattr(decision.saving, end) for end in ("difference", "low", "high")}
        )
        costs = (number(1000.0 * cost) for cost in (decision.before, decision.after or 0.0))
        rows.append((name, *costs, aligned(saving.difference, saving), interval(saving)))
    head = ("score", "before", "after", "gain", f"{_LEVEL} interval")
    shown = table(head, rows, "Scores of these rows before and after; the smaller, the better", stacked=True)
    return section(heading, element("p", _how(audit, findings)), shown, *_pictures(audit, findings), id=id)


def _pictures(audit: Audit, findings: Findings) -> list[Markup]:
    """For two classes: the reliability that the page has not shown yet, and the costs before and after."""
    if audit.reliability is None or audit.reliability_after is None or audit.murphy is None:
        return []
    scale = "log-odds" if audit.is_rare else "probability"
    found, when = (audit.reliability_after, "after") if audit is findings.audit else (audit.reliability, "before")
    caption = f"Reliability {when} recalibration, on the {scale} scale."
    other = _reliability_picture(found, scale, when, caption)
    caption = (
        "Murphy diagram: the mean cost of deciding by the probabilities, for every ratio of the costs of the two "
        "errors. If one curve lies below another everywhere, it is better whatever the costs are."
    )
    description = "Murphy diagram: the cost of decisions at every threshold, before and after recalibration."
    murphy = picture(audit.murphy.plot(scale=scale), "murphy", description, caption)
    return [element("div", other, murphy, class_="figures")]


def _how(audit: Audit, findings: Findings) -> str:
    if audit is not findings.audit:
        return "The probabilities are compared with those of a calibrator that was fitted to other rows."
    if audit.n_folds is None:
        return "The probabilities are compared with the recalibrated ones that were given with them."
    rows = "the rows" if audit.n_recalibrated == audit.n_rows else f"{audit.n_recalibrated:,} rows, drawn at random,"
    return (
        f"Cross-fitting: {rows} were split into {audit.n_folds} folds, and the probabilities of each fold were "
        "recalibrated by a calibrator that was fitted to the other folds."
    )


def groups_section(findings: Findings) -> Markup | None:
    """Calibration of every group by itself: those that are off first, then the largest."""
    audit, groups = findings.audit, findings.audit.groups
    if groups is None:
        return None
    rows = []
    order = sorted(range(len(groups.groups)), key=lambda k: (not groups.off[k], -groups.weight[k]))
    for k in order[: max(MOST_GROUPS_ON_PAGE, int(groups.off.sum()))]:
        flag = ("too high" if groups.mean_p[k] > groups.base_rate[k] else "too low") if groups.off[k] else "within"
        mean, share = percent(groups.mean_p[k]), percent(groups.base_rate[k])
        ends = f"{percent(groups.low[k])} to {percent(groups.high[k])}"
        if groups.low[k] == groups.high[k]:
            ends = f"exactly {percent(groups.low[k])}"
        found = element("span", flag, class_="flag" if groups.off[k] else "fine")
        error = number(groups.miscalibration[k], 2)
        rows.append((groups.groups[k], count(groups.weight[k]), mean, share, ends, found, error))
    flagged = int(groups.off.sum())
    where = f"In {flagged} of {len(groups.groups)} groups" if flagged else "In every group"
    opening = (
        f"{where} the observed share lies {'outside' if flagged else 'within'} the interval of right probabilities."
    )
    note = (
        "The intervals are so wide that one audit in forty flags any group at all if the probabilities are right; the "
        "verdict counts these flags and the tests together, at 5 %. "
        "Miscalibration is the part of the log loss that recalibration within the group would remove; in small groups "
        "some of it is chance."
    )
    if len(rows) < len(groups.groups):
        note = f"{len(rows)} groups are shown: all that lie outside, and the largest of the others. {note}"
    head = ("group", "rows", "mean probability", "observed share", "share if right", "finding", "miscalibration")
    caption = "Calibration by group" if audit.is_binary else "Calibration of the most probable class by group"
    shown = table(head, rows, caption, stacked=True)
    return section("By group", element("p", opening), shown, element("p", note, class_="note"), id="groups")


def facts_section(findings: Findings) -> Markup | None:
    """What is needed to do this again."""
    if not findings.facts:
        return None
    pairs = [markup(element("dt", name), element("dd", value)) for name, value in findings.facts.items()]
    return section("For reproduction", element("dl", *pairs), id="facts")


# All sections in the order of the page; one that does not apply to what was found returns None.
SECTIONS: dict[str, Callable[[Findings], Markup | None]] = {
    "warnings": warnings_section,
    "answer": answer_section,
    "against": lambda findings: against_section(findings.audit),
    "leaderboard": leaderboard_section,
    "parts": parts_section,
    "importances": importances_section,
    "reliability": reliability_section,
    "recalibration": recalibration_section,
    "thresholds": threshold_section,
    "confusion": confusion_section,
    "groups": groups_section,
    "scores": scores_section,
    "data": data_section,
    "facts": facts_section,
}
