"""The sections of a fit: its models, what the best one makes of its features, and the data."""

from __future__ import annotations

import numpy as np

from properly.audit.formatting import alike, count, decimals, number, percent
from properly.comparison import CALIBRATED
from properly.inputs.options import CONFIDENCE
from properly.numeric.probabilities import Array
from properly.report.findings import Findings
from properly.report.html import Markup, element, section, table
from properly.tables.importances import EFFECT, SHUFFLED
from properly.tables.summaries import ColumnSummary

_WIDTH, _MARGIN = 112.0, 4.0  # of a picture in a cell
_MOST_FEATURES = 30
_MOST_COLUMNS = 100
_MOST_CLASSES = 12


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
            worse = _with_interval(difference, ends, places + 1)
            bar = _interval_picture(difference, ends, found.difference_intervals)
            standing, style = ("significant", "flag") if found.significant[k] else ("may be chance", None)
        if name == found.choice:
            standing, style = f"{standing}; chosen", "fine"
        time = "–" if np.isnan(seconds) else f"{number(seconds, 2)} s"
        rows.append((name, score, worse, bar, element("span", standing, class_=style), time))
    head = ("model", found.score_name, "worse than the best by", "", "difference", "time")
    level = percent(CONFIDENCE, 2)
    note = (
        f"The {found.score_name} is that of held-out rows: the smaller, the better. Below it are {level} intervals. "
        "All models are judged on the same rows, so a difference has a smaller error than either score. The intervals "
        f"of the differences are adjusted for their number: with a probability of {level} all of them hold. A "
        "difference is called significant if its interval excludes 0."
    )
    shown = table(
        head,
        rows,
        f"Mean {found.score_name} in cross-validation",
        highlight=[found.names.index(found.choice)],
        stacked=True,
    )
    return section("The models", shown, element("p", note, class_="note"), id="leaderboard")


def parts_section(findings: Findings) -> Markup | None:
    """The models of an average: how much each counts, and what it is worth."""
    parts, found = findings.parts, findings.comparison
    if found is None or len(parts) < 2:
        return None
    costs = np.array([part.cost for part in parts])
    rows = [(part.name, number(part.weight, 2), f"{part.cost:+.4f}", _bar_picture(part.cost, costs)) for part in parts]
    explanation = (
        "The log-probabilities of these models, each times its weight, are added up and brought back to a sum of "
        "probabilities of 1. The weights are those with the smallest log loss on held-out rows, drawn towards equal "
        "weights where rows are few; they need not add up to 1. The last column says by how much that log loss would "
        "rise if the model were left out, and the others were weighted anew. It is small where models resemble each "
        "other."
    )
    head = ("model", "weight", "rise without it", "")
    shown = table(head, rows, "The models that are averaged, the largest weight first")
    return section("The average", element("p", explanation), shown, id="parts")


def _with_interval(value: float, interval: Array, places: int) -> Markup:
    ends = element("small", " to ".join(decimals(float(end), places) for end in interval))
    return element("span", decimals(float(value), places), ends)


def _interval_picture(middle: float, interval: Array, all_intervals: Array) -> Markup:
    """The interval of a difference as a line with a dot, and a mark at 0, on the scale that all rows share."""
    ends = np.append(all_intervals[np.isfinite(all_intervals)], 0.0)
    low, high = ends.min(), ends.max()
    if not (high > low and np.isfinite([middle, *interval]).all()):
        return Markup("")
    zero, dot, left, right = _places([0.0, middle, *interval], low, high)
    line = element("line", x1=left, x2=right, y1="8", y2="8", class_="interval")
    return _picture(zero, line, element("circle", cx=dot, cy="8", r="3.5"))


def _bar_picture(value: float, all_values: Array) -> Markup:
    """A bar from 0, on the scale that all rows share."""
    ends = np.append(all_values[np.isfinite(all_values)], 0.0)
    low, high = ends.min(), ends.max()
    if not (high > low and np.isfinite(value)):
        return Markup("")
    zero, end = _places([0.0, value], low, high)
    return _picture(zero, element("line", x1=zero, x2=end, y1="8", y2="8", class_="length"))


def _places(values: list[float], low: float, high: float) -> list[str]:
    return [f"{_MARGIN + _WIDTH * (value - low) / (high - low):.1f}" for value in values]


def _picture(zero: str, *drawn: Markup) -> Markup:
    mark, width = element("line", x1=zero, x2=zero, y1="0", y2="16", class_="zero"), f"{_WIDTH + 2 * _MARGIN:g}"
    size = {"viewBox": f"0 0 {width} 16", "width": width, "height": "16"}
    return element("svg", *drawn, mark, **size, class_="bar", aria_hidden="true")


def importances_section(findings: Findings) -> Markup | None:
    """The effects of features in a linear model, or their shares in the gain of trees."""
    found, classes = findings.importances, findings.audit.classes
    if found is None:
        return None
    rows = []
    for name, values in list(zip(found.features, found.values, strict=True))[:_MOST_FEATURES]:
        if found.values.shape[1] > 1:
            rows.append((name, *(decimals(float(value), 3) for value in values[:_MOST_CLASSES])))
        else:
            value = float(values[0])
            cells = {
                EFFECT: (decimals(value, 3), f"× {number(float(np.exp(value)))}"),
                SHUFFLED: (decimals(value, 4),),
            }.get(found.kind, (percent(value),))
            rows.append((name, *cells, _bar_picture(value, found.values)))
    if found.kind == EFFECT:
        of = f"of {classes[1]} " if findings.audit.is_binary else ""
        explanation = (
            f"The change of the log-odds {of}when a number rises by one standard deviation, or when a column has this "
            "category. Other numbers are at their means. Effects are not causes: columns that go together share them."
        )
        if findings.comparison is not None and findings.comparison.choice.endswith(CALIBRATED):
            explanation += " They are those of the model before its calibration."
        several = [f"log-odds of {name}" for name in classes[:_MOST_CLASSES]]
        head = ["feature", "log-odds", "odds", ""] if findings.audit.is_binary else ["feature", *several]
    elif found.kind == SHUFFLED:
        explanation = (
            "By how much the log loss of training rows rises when the values of the column are shuffled among them. "
            "Columns that go together can stand in for one another and then look less important than they are."
        )
        head = ["feature", SHUFFLED, ""]
    else:
        explanation = (
            "The share of each column in what the splits of the trees took off the training loss. Columns with many "
            "values get larger shares than they deserve, and columns that go together share them."
        )
        head = ["feature", "share of the gain", ""]
    notes = []
    if len(rows) < len(found.features):
        notes.append(element("p", f"The first {len(rows)} of {len(found.features)} are shown.", class_="note"))
    caption = f"The chosen model, fitted to all rows: {found.kind}, the largest first"
    return section(
        "What the model uses", element("p", explanation), table(head, rows, caption), *notes, id="importances"
    )


def data_section(findings: Findings) -> Markup | None:
    """The rows, the classes and the columns that the models learned from."""
    data = findings.data
    if data is None:
        return None
    total = sum(data.class_weight.values())
    classes = sorted(data.class_weight.items(), key=lambda each: -each[1])[:_MOST_CLASSES]
    rows = [(name, count(weight), percent(weight / total)) for name, weight in classes]
    shown = [
        (each.name, each.kind, _missing(each), element("span", _values(each), class_="values"))
        for each in data.columns[:_MOST_COLUMNS]
    ]
    notes = [
        element("p", f"The {n_shown} {rule} are shown.", class_="note")
        for n_shown, n, rule in (
            (len(rows), len(data.class_weight), "most frequent classes"),
            (len(shown), len(data.columns), "first columns"),
        )
        if n_shown < n
    ]
    size = f"{data.n_rows:,} rows, {len(data.columns)} columns to learn from, {len(data.class_weight)} classes."
    unit = "rows" if total == data.n_rows else "weight"
    return section(
        "The data",
        element("p", size),
        table(("class", unit, "share"), rows, "The classes, the most frequent first"),
        table(("column", "kind", "missing", "values"), shown, "The columns", stacked=True),
        *notes,
        id="data",
    )


def _missing(column: ColumnSummary) -> str:
    return percent(column.missing, 2) if column.missing else "0"


def _values(column: ColumnSummary) -> str:
    """The range and the mean; of categories their number and the most frequent ones."""
    if column.kind == "category":
        most = ", ".join(f"{name} {percent(share, 2)}" for name, share in column.most_frequent)
        return f"{column.n_categories:,} categories: {most}"
    if column.kind == "boolean":
        return f"true in {percent(column.mean, 2)}"
    if column.low == column.high and column.kind == "number":
        return f"{column.low:,.15g} in all rows"
    values = column.low, column.high, column.mean
    if column.kind == "date":
        low, high, mean = (str(np.datetime64(int(np.floor(day)), "D")) for day in values)
    else:
        low, high, mean = alike(values)
    return f"{low} to {high}, mean {mean}"
