"""Are the probabilities in a file right, and what is gained by recalibrating them?

Compare probabilities with the classes that occurred: a summary here, and a report to open in a browser.
The model must not have been trained on these rows.

example: properly audit predictions.parquet --target y --probability p --costs 1:20
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

import properly
from properly.cli.arguments import (
    NOTATION,
    Arguments,
    above_zero,
    add_notation,
    check_output,
    checked,
    listed_names,
    names,
    not_negative,
    page_file,
    require_distinct,
)
from properly.cli.main import table_of
from properly.files import FilePath, atomic_path, displayed
from properly.progress import progress


def add_arguments(add: Arguments) -> None:
    add("table")
    add("--target COLUMN")
    add("--probability COLUMN", names, nargs="+")
    add("--positive CLASS")
    add("--group COLUMN")
    add("--costs A:B", lambda text: properly.metrics.parse_costs(text))
    add("--weight COLUMN")
    add("--cluster COLUMN")
    add("--against COLUMN")
    add("--tolerance SHARE")
    add("--detect SHIFT")
    add("--check")
    add("--dask SCHEDULER")
    add("--report FILE")
    add_notation(add)


@checked(tolerance=not_negative, detect=above_zero, report=page_file, **NOTATION)
def audit_table(
    table: FilePath,
    *,
    target: str,
    probability: str | Sequence[str],
    positive: str | None = None,
    group: str | None = None,
    costs: tuple[Any, ...] | str | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    against: str | None = None,
    tolerance: float = 0.02,
    detect: float = 0.3,
    check: bool = False,
    report: FilePath = "audit.html",
    dask: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
) -> dict[str, Any]:
    """Audit probabilities in a file and write a report, as ``properly audit`` does.

    Parameters
    ----------
    table : path
        A table with a row for every prediction. A folder of such files, or a file of two gigabytes or more, is read
        in one pass (two for several classes) and never held in memory.
    target : str
        The column that holds the true class.
    probability : str or sequence of str
        The column with the probability of the positive class; or one column for every class, named by the class,
        perhaps with a prefix that all of them have, separated by spaces or commas.
    positive : str, optional
        The positive class, which a single column of probabilities is for, against all others; not needed for 0/1,
        false/true, no/yes and -1/1, nor if the column is named after it, as p_fraud.
    group : str, optional
        A column of groups, whose rows are judged separately as well.
    costs : (float, float) or str, optional
        The costs of a false positive and of a false negative, as in 1:20; for K > 2 classes K rows cost[true, decision]
        in the sorted order of the classes, as in 0:1:4,1:0:1,4:1:0.
    weight : str, optional
        The column that says how many rows a row stands for.
    cluster : str, optional
        The column whose equal values mark rows that belong together (customers, days): standard errors know it.
        Every row must have a value.
    against : str, optional
        A second column of probabilities of the same rows, to judge as well and to compare with; for two classes.
    tolerance : float, default 0.02
        The relative change of the mean and of the log loss that does not matter: a fault within it is nearly right.
    detect : float, default 0.3
        The shift in log-odds that must be found with a probability of 80 % for probabilities to be called right.
    check : bool, default False
        Exit with status 3 if a fault lies beyond the tolerance altogether, by its 95 % interval. A verdict of "wrong"
        whose intervals straddle the tolerance exits with 0.
    report : path, default "audit.html"
        The report to write, an HTML file.
    dask : str, optional
        The address of a Dask scheduler, such as tcp://10.0.0.1:8786, whose workers read the Parquet files, under the
        same path as here.
    separator : str, optional
        What separates the cells of a text file, such as ; or tab; recognised if it is not given.
    decimal : {".", ","}, optional
        The decimal sign of a text file; recognised if it is not given.

    Returns
    -------
    dict
        The summary of `properly.audit.summary_of`, the outcome of the check ("passed" or "failed") if there was one,
        and the path of the report.
    """
    from properly.audit.auditing import audit_of
    from properly.metrics.decisions import class_costs, written_costs
    from properly.tables.predictions import read_predictions

    columns = listed_names(probability)
    require_distinct(target=target, probability=columns, weight=weight, against=against)
    check_output(report, inputs=[table])
    with progress("Audit", 3) as tell:
        tell(0, "reading")
        forecast, groups, clusters, others, width = read_predictions(
            table,
            target,
            columns,
            positive=positive,
            group=group,
            cluster=cluster,
            weight=weight,
            against=against,
            needs_positive="the order of costs" if costs is not None else against and f"the column {against!r}",
            separator=separator,
            decimal=decimal,
            dask=dask,
            costs=costs,
        )
        meant = str(forecast.classes[1]) if forecast.binary else None
        tell(1, "judging")
        result = audit_of(
            forecast,
            groups=groups,
            costs=None if costs is None else class_costs(costs, len(forecast.class_weight)),
            cluster=clusters,
            against=others,
            against_name=against or "",
            tolerance=tolerance,
            detect=detect,
            cell_width=width,
        )
        tell(2, "writing")
        asked = {
            "target": target,
            "probability": ", ".join(columns),
            "positive class": meant,
            "group": group,
            "weight": weight,
            "cluster": cluster,
            "against": against,
            "tolerance": f"{tolerance:g}",
            "shift to detect": f"{detect:g}",
            "costs": None if costs is None else written_costs(costs),
        }
        pages = properly.report.pages
        asked["counted by probability"] = properly.audit.formatting.cells(result.cell_width) or None
        facts = pages.file_facts(table) | {name: text for name, text in asked.items() if text} | pages.version_facts()
        title = f"Audit of {', '.join(columns)} in {Path(displayed(table)).name}"
        page = properly.report.audit_page(result, facts=facts, title=title)
        with atomic_path(report) as temporary:
            temporary.write_text(page, encoding="utf-8")
    outcome = {"check": "failed" if result.beyond_tolerance else "passed"} if check else {}
    return {**properly.audit.summary_of(result), **outcome, "positive": meant, "report": str(report)}


def show(summary: dict[str, Any], console: Any) -> None:
    """The answer in three sentences, the sizes, the scores, and the groups that are miscalibrated."""
    number = properly.audit.formatting.number
    style = {"right": "green", "nearly right": "green", "wrong": "yellow"}.get(summary["verdict"])
    console.print()
    if summary["positive"] is not None:
        console.print(f"The probabilities are those of the class {summary['positive']}.")
    for sentence in summary["answer"]:
        console.print(sentence, style=style)
    if summary["cell_width"]:
        console.print(f"Rows were counted by probability: {properly.audit.formatting.cells(summary['cell_width'])}.")
    console.print()
    kernel = summary["kernel_calibration_error"]
    sizes = summary["sizes"] | ({} if kernel is None else {properly.audit.answers.KERNEL_ERROR: kernel})
    console.print(_sizes(sizes, summary["not_determined"]))
    rows = []
    for name, score in summary["scores"].items():
        ends = "–" if score["gain"] is None else f"{number(score['gain_low'])} to {number(score['gain_high'])}"
        before = "infinite" if score["as_given"] is None else number(score["as_given"], 4)
        rows.append([name, before, number(score["recalibrated"], 4), number(score["gain"]), ends])
    console.print()
    console.print(table_of(["", "as given", "recalibrated", "gain", "95 % interval"], rows))
    if summary["decision"] is not None:
        decision = summary["decision"]
        console.print(
            f"Threshold for these costs: {number(decision['threshold'])}; "
            f"cost per 1,000 rows: {number(1000.0 * decision['cost'])}."
        )
    confusion = summary["confusion"]
    if confusion is not None and confusion["cost"] is not None:
        cost, same = (number(1000.0 * confusion[name]) for name in ("cost", "cost_of_same_decision"))
        console.print(f"Cost per 1,000 rows: {cost}; of the cheapest decision that is the same for all rows: {same}.")
    if summary["groups"]:
        _show_groups(summary["groups"], console)
    if summary["against"] is not None:
        _show_against(summary["against"], console)
    if "check" in summary:
        console.print(f"\nCheck {summary['check']}: tolerance {summary['tolerance']:g}.")
    console.print(f"\nReport: {summary['report']}")


def _sizes(sizes: dict[str, Any], why_not: dict[str, str]) -> Any:
    """The sizes of the fault with their intervals."""
    number = properly.audit.formatting.number
    rows = []
    for name, size in sizes.items():
        if size is None:
            rows.append([name, f"not determined: {why_not[name]}", "–"])
            continue
        low, high = (end if each is None else each for each, end in ((size["low"], -inf), (size["high"], inf)))
        estimate = (low if low == -inf else high) if size["estimate"] is None else size["estimate"]
        rows.append([name, number(estimate), f"{number(low)} to {number(high)}"])
    return table_of(["", "estimate", "95 % interval"], rows)


def _show_against(against: dict[str, Any], console: Any) -> None:
    """The verdict on the other column, and the differences of the scores."""
    number = properly.audit.formatting.number
    console.print(f"\n{against['probability']}: {against['audit']['answer'][0]}")
    rows = []
    for name, score in against["differences"].items():
        ends = (
            "–"
            if score["difference"] is None
            else (f"{number(score['difference_low'])} to {number(score['difference_high'])}")
        )
        rows.append([name, number(against["audit"]["scores"][name]["as_given"], 4), number(score["difference"]), ends])
    console.print(table_of(["", against["probability"], "audited less this", "95 % interval"], rows))


def _show_groups(groups: list[dict[str, Any]], console: Any) -> None:
    """The groups whose observed share is too far from the mean probability, the largest first."""
    words = properly.audit.formatting
    off = sorted((group for group in groups if group["outside"]), key=lambda group: -group["rows"])
    if not off:
        console.print(f"\nGroups that are off by themselves, beyond chance: none of {len(groups)}.")
        return
    rows = []
    for group in off[: properly.audit.results.MOST_GROUPS_IN_TERMINAL]:
        shares = [words.percent(group[name]) for name in ("mean_probability", "share")]
        rows.append([group["group"], words.count(group["rows"]), *shares])
    console.print(f"\nGroups that are off: {len(off)} of {len(groups)}.")
    console.print(table_of(["group", "rows", "mean probability", "observed share"], rows))


run = audit_table
