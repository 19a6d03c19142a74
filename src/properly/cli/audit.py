"""``properly audit``: are the probabilities in a file right, and what is gained by recalibrating them?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from properly.cli.parser import new_parser, path

REPORT = "audit.html"


def add_parser(subparsers: Any) -> None:
    parser = new_parser(
        subparsers,
        "audit",
        help="are the probabilities in a file right? a summary and a report",
        description="Compare probabilities with what came true: a summary here, and a report to open in a browser.\n"
        "The rows must not be those that the model was trained on.",
        example="properly audit predictions.parquet --target y --probability p --costs 1:20",
    )
    parser.add_argument("predictions", metavar="FILE", help="a table with a row for every prediction")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="what came true")
    parser.add_argument(
        "--probability",
        required=True,
        nargs="+",
        metavar="COLUMN",
        help="the probability of the larger of two target values (or of --positive); or one column for every class, "
        "named by it, perhaps with the same prefix",
    )
    parser.add_argument("--positive", metavar="VALUE", help="the target value that the probability is for")
    parser.add_argument("--group", metavar="COLUMN", help="judge every group of rows by itself as well")
    parser.add_argument(
        "--costs", metavar="A:B", type=_costs, help="the costs of a false positive and of a false negative, as in 1:20"
    )
    parser.add_argument("--weight", metavar="COLUMN", help="how many rows each row stands for")
    parser.add_argument(
        "--report", type=path, metavar="FILE", default=REPORT, help="where the report goes (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Read, judge, write the report; the summary is what `summary_of` says."""
    import numpy as np

    from properly.audit import summary_of
    from properly.audit.auditing import Groups, audit_of
    from properly.cli.columns import require_distinct
    from properly.cli.console import progress
    from properly.cli.files import checked_output
    from properly.files import atomic_path
    from properly.inputs.forecast import Forecast
    from properly.metrics.decisions import binary_costs
    from properly.report import audit_page
    from properly.report.pages import file_facts, version_facts
    from properly.tables.predictions import read_predictions

    require_distinct(
        {"--target": arguments.target, "--probability": arguments.probability, "--weight": arguments.weight}
    )
    checked_output(arguments.report, [arguments.predictions])
    with progress("Audit", 3) as tell, atomic_path(arguments.report) as temporary:
        tell(0, "reading")
        data = read_predictions(
            arguments.predictions,
            arguments.target,
            arguments.probability,
            positive=arguments.positive,
            group=arguments.group,
            weight=arguments.weight,
        )
        tell(1, "judging")
        forecast = Forecast(data.codes, data.p, None, data.weight, np.array(data.classes)).without_weight_0()
        result = audit_of(
            forecast,
            groups=None if data.group is None else Groups(data.group_names, forecast.kept(data.group)),
            costs=None if arguments.costs is None else binary_costs(arguments.costs),
        )
        tell(2, "writing")
        facts = {**file_facts(arguments.predictions), **_columns(arguments), **version_facts()}
        title = f"Audit of {', '.join(arguments.probability)} in {Path(arguments.predictions).name}"
        temporary.write_text(audit_page(result, facts=facts, title=title), encoding="utf-8")
    return {**summary_of(result), "report": str(arguments.report)}


def show(summary: dict[str, Any], console: Any) -> None:
    """The answer in two sentences, the scores, and the groups that stand out."""
    from properly.audit.formatting import number
    from properly.cli.console import table_of

    style = {"right": "green", "nearly right": "green", "wrong": "yellow"}.get(summary["verdict"])
    console.print()
    for sentence in summary["answer"]:
        console.print(sentence, style=style)
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
    if summary["groups"]:
        _show_groups(summary["groups"], console)
    console.print(f"\nReport: {summary['report']}")


def _show_groups(groups: list[dict[str, Any]], console: Any) -> None:
    """The groups whose mean probability lies outside the interval of the observed share, the largest first."""
    from properly.audit.formatting import count, percent
    from properly.audit.results import MOST_GROUPS_IN_TERMINAL
    from properly.cli.console import table_of

    off = sorted((group for group in groups if group["outside"]), key=lambda group: -group["rows"])
    if not off:
        console.print(f"None of {len(groups)} groups is miscalibrated beyond chance.")
        return
    rows = [
        [group["group"], count(group["rows"]), percent(group["mean_probability"]), percent(group["share"])]
        for group in off[:MOST_GROUPS_IN_TERMINAL]
    ]
    console.print(f"\n{len(off)} of {len(groups)} groups are miscalibrated:")
    console.print(table_of(["group", "rows", "mean probability", "observed share"], rows))


def _costs(text: str) -> tuple[float, float]:
    from properly.metrics import parse_costs

    try:
        return parse_costs(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _columns(arguments: argparse.Namespace) -> dict[str, str]:
    """What was asked for."""
    named = {
        "target": arguments.target,
        "probability": ", ".join(arguments.probability),
        "probability is for": arguments.positive,
        "group": arguments.group,
        "weight": arguments.weight,
        "costs": None if arguments.costs is None else "{:g}:{:g}".format(*arguments.costs),
    }
    return {name: value for name, value in named.items() if value is not None}
