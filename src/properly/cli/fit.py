"""``properly fit``: compare models, fit the best, save it with a report."""

from __future__ import annotations

from typing import Any

from properly.cli.methods import METHODS, parse_methods
from properly.cli.parser import names, new_parser, one_of, path, seed, share, whole


def add_parser(subparsers: Any) -> None:
    known = "\n".join(f"  {method.usage(name):<12}{method.about}" for name, method in METHODS.items())
    parser = new_parser(
        subparsers,
        "fit",
        help="compare models on a table, fit the best, save it",
        description=(
            "Compare models by log loss in cross-validation, say which differences are significant, fit the best one\n"
            "to all rows, save it as one file, and write a report. Every column but the target is a feature, unless\n"
            f"told otherwise. Methods:\n{known}"
        ),
        example="properly fit train.csv --target churned --population-rate 0.002 -o model.skops",
    )
    parser.add_argument("table", help="the rows to learn from")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column that holds the class")
    parser.add_argument(
        "--method",
        type=parse_methods,
        default=["auto"],
        metavar="NAMES",
        help="one of the methods, or several separated by commas; auto (default) compares what suits the data",
    )
    parser.add_argument(
        "--calibration",
        type=_calibration,
        default="auto",
        metavar="NAME",
        help="auto (default) lets every model compete with and without calibration; none; or a calibration method for "
        "all models, such as platt or isotonic",
    )
    parser.add_argument(
        "--population-rate",
        type=share,
        metavar="P",
        help="share of the positive class where the model will be used, if the rows do not have it",
    )
    parser.add_argument("--positive", metavar="CLASS", help="the positive of two classes (default: the second, sorted)")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--features",
        type=names,
        metavar="COLUMNS",
        help='use these columns only, separated by commas; a name with a comma in quotation marks, as in a,"b, c"',
    )
    chosen.add_argument("--ignore", type=names, default=[], metavar="COLUMNS", help="use all columns but these")
    parser.add_argument(
        "--categories", type=names, default=[], metavar="COLUMNS", help="columns of categories that look like numbers"
    )
    parser.add_argument("--weight", metavar="COLUMN", help="the column that says how many rows a row stands for")
    parser.add_argument("--folds", type=whole(2), default=5, metavar="N", help="folds of cross-validation (default 5)")
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="seed of all that is random (default 0)")
    parser.add_argument(
        "-o", "--output", type=path, default="model.skops", metavar="FILE", help="the model (default model.skops)"
    )
    parser.add_argument("--report", type=path, default="fit.html", metavar="FILE", help="the report (default fit.html)")


def run(arguments: Any) -> dict[str, Any]:
    from properly.cli.fitting import fit_table

    return fit_table(arguments)


def show(summary: dict[str, Any], console: Any) -> None:
    from properly.cli.console import table_of

    console.print(
        f"{summary['rows']:,} rows, {len(summary['features'])} features, "
        f"{len(summary['classes'])} classes; log loss of held-out rows, the smaller the better:\n"
    )
    console.print(
        table_of(
            ["model", "log loss", "± standard error", "worse than the best by", "p-value", ""],
            [
                [
                    each["name"],
                    _number(each["log_loss"], 5),
                    _number(each["standard_error"], 5),
                    "" if place == 0 else _number(each["difference_to_best"], 5),
                    "" if place == 0 else f"{each['p_value']:.3f}",
                    "best" if place == 0 else ("significant" if each["significant"] else "not significant"),
                ]
                for place, each in enumerate(summary["leaderboard"])
            ],
        )
    )
    console.print(f"\n{summary['conclusion']}")
    for note in summary["notes"]:
        console.print(f"Note: {note}.")
    console.print(f"\nModel:  {summary['model']}\nReport: {summary['report']}")


def _calibration(text: str) -> str:
    from properly.calibration.methods import METHODS as CALIBRATIONS

    return one_of(text, ["auto", "none", *(name for name in CALIBRATIONS if name != "auto")])


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}"
