"""``properly predict``: add a model's probabilities to a table."""

from __future__ import annotations

from typing import Any

from properly.cli.parser import new_parser, path


def add_parser(subparsers: Any) -> None:
    parser = new_parser(
        subparsers,
        "predict",
        help="add a model's probabilities to a table",
        description=(
            "Read a table in batches, add a column of probabilities for every class, and write it with all its\n"
            "columns. Memory does not grow with the table. The model is a file of properly fit, calibrate or maxent."
        ),
        example="properly predict model.skops new.parquet -o scored.parquet",
    )
    parser.add_argument("model", help="a model file")
    parser.add_argument("table", help="the rows to predict")
    parser.add_argument(
        "-o",
        "--output",
        type=path,
        metavar="FILE",
        help="the table with probabilities, in the format of its ending (default: NAME-scored.ENDING of the table, in "
        "the working folder)",
    )
    parser.add_argument(
        "--prefix", metavar="TEXT", help="what the added columns begin with, before the class (default probability_)"
    )
    parser.add_argument(
        "--unseen",
        choices=["refuse", "missing"],
        default="refuse",
        help="a category that was not there in training is an error (refuse, the default) or counts as missing",
    )


def run(arguments: Any) -> dict[str, Any]:
    from properly.cli.scoring import load_model, score_table

    model = load_model(arguments.model)
    return score_table(model, arguments.table, arguments.output, arguments.prefix, arguments.unseen)


def show(summary: dict[str, Any], console: Any) -> None:
    columns = ", ".join(summary["columns"])
    console.print(f"{summary['rows']:,} rows, with the new columns {columns}.\n\nTable: {summary['output']}")
