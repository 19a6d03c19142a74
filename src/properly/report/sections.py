"""The sections of a page and their table; each is drawn from what was found, and nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from string import Template

import numpy as np

from properly.audit.answers import answer, band_note, verdict
from properly.audit.formatting import aligned, count, decimals, interval, number, percent
from properly.audit.results import MOST_GROUPS_ON_PAGE, Audit, Decision
from properly.comparison import Comparison
from properly.diagnostics import Reliability
from properly.numeric.probabilities import Array
from properly.report.answer import against_section, sizes_table, tests_table
from properly.report.html import Markup, asset, data_script, element, markup, picture, section, table

_MOST_CLASSES = 12
_STYLES = {"right": "answer right", "nearly right": "answer right", "wrong": "answer wrong", "unclear": "answer"}


@dataclass(frozen=True)
class Findings:
    """What a page shows: an audit, the comparison of models that it belongs to if any, and facts for reproduction."""

    audit: Audit
    comparison: Comparison | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


def answer_section(findings: Findings) -> Markup:
    """The answer in two sentences, and the numbers behind it; for a fit, the best model and whether it is right."""
    audit, comparison = findings.audit, findings.comparison
    right, missed, gained = answer(audit)
    sentences = (right, missed, gained) if comparison is None else (_best(comparison), right, missed)
    tiles = {"rows": count(audit.n_rows)}
    if audit.total != audit.n_rows:
        tiles["total weight"] = count(audit.total)
    if audit.auc is not None:
        tiles[f"share of {audit.classes[1]}"] = percent(audit.hit_rate)
        tiles["mean probability"] = percent(audit.confidence)
        tiles["area under the ROC curve"] = number(audit.auc.area)
    else:
        tiles["classes"] = str(len(audit.classes))
        tiles["most probable class is the true one"] = percent(audit.hit_rate)
        tiles["its mean probability"] = percent(audit.confidence)
    tiles["smooth calibration error"] = number(audit.smooth_error, 2)
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
        return f"{comparison.best} has a score of {number(comparison.scores[0], 4)} on held-out rows."
    found = f"{comparison.best} gives the best probabilities of {others + 1} models"
    if worse == others:
        return f"{found}; all others are significantly worse."
    alike = others - worse
    return f"{found}; {alike} of the others {'is' if alike == 1 else 'are'} not significantly worse."


def scores_section(findings: Findings) -> Markup:
    """Proper scores and their parts, before and after."""
    head = ("", "score", "miscalibration", "discrimination", "uncertainty")
    of_classes = "" if findings.audit.is_binary else ", added up over the classes, each against the rest"
    tables = []
    for score in findings.audit.scores.values():
        parts = {"as given": score.parts, "recalibrated": score.parts_after}
        rows = [(name, *(number(part, 4) for part in each)) for name, each in parts.items() if each is not None]
        tables.append(table(head, rows, f"{score.name.capitalize()}{of_classes}: the smaller, the better"))
    explanation = (
        "Score = miscalibration − discrimination + uncertainty. Miscalibration is what perfect recalibration would "
        "gain (0 is best), discrimination what is gained by telling rows apart (the larger, the better), and "
        "uncertainty the score of the class proportions as probabilities of every row."
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
        caption = f"The most probable class. {band_note(audit, several.top.outside)}"
        pictures.append(_reliability_picture(several.top, "probability", "top", caption))
        common = sorted(range(len(audit.classes)), key=lambda k: -audit.rates[k])[:_MOST_CLASSES]
        for k in sorted(common):
            caption = f"Class {audit.classes[k]}. {band_note(audit, several.by_class[k].outside)}"
            pictures.append(_reliability_picture(several.by_class[k], "probability", f"class-{k}", caption))
        if len(common) < len(audit.classes):
            note = f"The {len(common)} most frequent of {len(audit.classes)} classes are shown."
            notes.append(element("p", note, class_="note"))
    explanation = (
        "The predicted probability (horizontal) against the share that was observed (vertical). The points of "
        "calibrated probabilities differ from the diagonal by chance only: each lies within the band 90 % of the time."
    )
    drawn = element("div", *pictures, class_="figures" if several is None else "figures small")
    return section("Reliability", element("p", explanation), drawn, *notes, id="reliability")


def _reliability_picture(found: Reliability, scale: str, name: str, caption: str) -> Markup:
    description = f"Reliability diagram on the {scale} scale. {caption}"
    return picture(found.plot(scale=scale), f"reliability-{name}", description, caption)


def recalibration_section(findings: Findings) -> Markup:
    """What recalibration changed."""
    audit = findings.audit
    heading, id = "What recalibration changes", "recalibration"
    if not audit.n_recalibrated:
        note = element("p", "A class has fewer than two rows: a calibrator cannot be both fitted and tested.")
        return section(heading, note, id=id)
    rows: list[tuple[str, ...]] = []
    for score in audit.scores.values():
        change = (
            ("–", "–") if score.gain is None else (aligned(score.gain.difference, score.gain), interval(score.gain))
        )
        rows.append((score.name, number(score.before_same_rows, 4), number(score.after, 4), *change))
    decision = audit.decision
    if decision is not None and decision.saving is not None:
        name = f"cost per row at the threshold {number(decision.choice.theoretical_threshold)}"
        change = aligned(decision.saving.difference, decision.saving), interval(decision.saving)
        rows.append((name, number(decision.before), number(decision.after), *change))
    figures = []
    if audit.reliability_after is not None and audit.murphy is not None:
        scale = "log-odds" if audit.is_rare else "probability"
        outside = percent(audit.reliability_after.outside)
        caption = f"Reliability after recalibration, on the {scale} scale. {outside} of the rows lie outside the band."
        after = _reliability_picture(audit.reliability_after, scale, "after", caption)
        caption = (
            "Murphy diagram: the mean cost of deciding by the probabilities, for every ratio of the costs of the two "
            "errors. If one curve lies below another everywhere, it is better whatever the costs are."
        )
        description = "Murphy diagram: the cost of decisions at every threshold, before and after recalibration."
        murphy = picture(audit.murphy.plot(scale=scale), "murphy", description, caption)
        figures.append(element("div", after, murphy, class_="figures"))
    head = ("score", "before", "after", "gain", "95 % interval")
    shown = table(head, rows, "Scores before and after; the smaller, the better")
    return section(heading, element("p", _how(audit)), shown, *figures, id=id)


def _how(audit: Audit) -> str:
    if audit.n_folds is None:
        return "The probabilities are compared with the recalibrated ones that were given with them."
    rows = "the rows" if audit.n_recalibrated == audit.n_rows else f"{audit.n_recalibrated:,} rows, drawn at random,"
    return (
        f"Cross-fitting: {rows} were split into {audit.n_folds} folds, and the probabilities of each fold were "
        "recalibrated by a calibrator that was fitted to the other folds."
    )


def threshold_section(findings: Findings) -> Markup | None:
    """What each threshold does and costs, for two classes; a slider shows the table of thresholds."""
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
    shown = [element("p", explanation), *([] if decision is None else [_choices(decision)]), Markup(slider)]
    data = data_script(audit.thresholds.as_json(), "threshold-table")
    return section("Thresholds and costs", *shown, data, id="thresholds")


def _choices(decision: Decision) -> Markup:
    choice = decision.choice
    chosen = {
        "for these costs, if the probabilities are right": (choice.theoretical_threshold, choice.expected_cost_there),
        "cheapest on these rows": (choice.threshold, choice.expected_cost),
    }
    rows = [(name, number(threshold), number(1000.0 * cost)) for name, (threshold, cost) in chosen.items()]
    caption = f"A false positive costs {decision.false_positive:,g}, a false negative {decision.false_negative:,g}"
    return table(("threshold", "p at least", "cost per 1,000 rows"), rows, caption)


def groups_section(findings: Findings) -> Markup | None:
    """Calibration of every group by itself, the largest first."""
    audit, groups = findings.audit, findings.audit.groups
    if groups is None:
        return None
    rows = []
    for k in sorted(range(len(groups.groups)), key=lambda k: -groups.weight[k])[:MOST_GROUPS_ON_PAGE]:
        flag = ("too high" if groups.mean_p[k] > groups.base_rate[k] else "too low") if groups.off[k] else "within"
        mean, share = percent(groups.mean_p[k]), percent(groups.base_rate[k])
        ends = f"{percent(groups.low[k])} to {percent(groups.high[k])}"
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
        note = f"The {len(rows)} largest groups are shown. {note}"
    head = ("group", "rows", "mean probability", "observed share", "if right", "", "miscalibration")
    caption = "Calibration by group" if audit.is_binary else "Calibration of the most probable class by group"
    shown = table(head, rows, caption)
    return section("By group", element("p", opening), shown, element("p", note, class_="note"), id="groups")


def facts_section(findings: Findings) -> Markup | None:
    """What is needed to do this again."""
    if not findings.facts:
        return None
    pairs = [markup(element("dt", name), element("dd", value)) for name, value in findings.facts.items()]
    return section("For reproduction", element("dl", *pairs), id="facts")


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
        score = _with_interval(found.scores[k], found.intervals[k], places)
        worse, bar, standing = "–", "", "best"
        style: str | None = "fine"
        if k:
            worse, bar = (
                _with_interval(difference, ends, places + 1),
                _bar(difference, ends, found.difference_intervals),
            )
            standing, style = ("significant", "flag") if found.significant[k] else ("may be chance", None)
        time = "–" if np.isnan(seconds) else f"{number(seconds, 2)} s"
        rows.append((name, score, worse, bar, element("span", standing, class_=style), time))
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
    mark = element("line", x1=zero, x2=zero, y1="0", y2="16", class_="zero")
    line = element("line", x1=left, x2=right, y1="8", y2="8", class_="interval")
    circle, width = element("circle", cx=dot, cy="8", r="3.5"), f"{_WIDTH + 2 * _MARGIN:g}"
    size = {"viewBox": f"0 0 {width} 16", "width": width, "height": "16"}
    return element("svg", mark, line, circle, **size, class_="bar", aria_hidden="true")


# All sections in the order of the page; one that does not apply to what was found returns None.
SECTIONS: dict[str, Callable[[Findings], Markup | None]] = {
    "answer": answer_section,
    "against": lambda findings: against_section(findings.audit),
    "leaderboard": leaderboard_section,
    "reliability": reliability_section,
    "recalibration": recalibration_section,
    "thresholds": threshold_section,
    "groups": groups_section,
    "scores": scores_section,
    "facts": facts_section,
}
