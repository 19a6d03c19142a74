"""``properly calibrate``: learn what scores mean, from scores of rows whose class is known."""

from __future__ import annotations

from typing import Any

from properly.cli.parser import new_parser, one_of, path, seed


def add_parser(subparsers: Any) -> None:
    parser = new_parser(
        subparsers,
        "calibrate",
        help="learn a map from scores to probabilities",
        description=(
            "Learn a map from the scores of some other model to probabilities, and save it. The scores must be for\n"
            "rows that the other model was not trained on. properly predict applies the map to new scores."
        ),
        example="properly calibrate scores.csv --target y --score s -o calibrator.skops",
    )
    parser.add_argument("table", help="the scores and the classes")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column that holds the class")
    parser.add_argument(
        "--score",
        required=True,
        nargs="+",
        metavar="COLUMN",
        help="the score of the positive class; for more than two classes one column for each, named by it, perhaps "
        "with the same prefix",
    )
    parser.add_argument(
        "--method", type=_method, default="auto", metavar="NAME", help="such as platt, beta or isotonic (default auto)"
    )
    parser.add_argument(
        "--input",
        choices=["auto", "score", "probability"],
        default="auto",
        help="what the scores are: numbers of any unit (score), or probabilities; auto (default) takes them for "
        "probabilities if all of them lie in [0, 1]",
    )
    parser.add_argument("--positive", metavar="CLASS", help="the positive of two classes (default: the second, sorted)")
    parser.add_argument("--weight", metavar="COLUMN", help="the column that says how many rows a row stands for")
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="seed of the folds (default 0)")
    parser.add_argument(
        "-o",
        "--output",
        type=path,
        default="calibrator.skops",
        metavar="FILE",
        help="the map (default %(default)s)",
    )


def _method(text: str) -> str:
    from properly.calibration.methods import METHODS

    return one_of(text, METHODS)


def run(arguments: Any) -> dict[str, Any]:
    from properly.cli.calibrating import calibrate_table

    return calibrate_table(arguments)


def show(summary: dict[str, Any], console: Any) -> None:
    read = "probabilities" if summary["input"] == "probability" else "scores"
    scores = ", ".join(summary["scores"])
    console.print(f"{summary['rows']:,} rows; {scores} read as {read}; method {summary['method']}.")
    console.print("Log loss, the smaller the better:")
    console.print(f"  class proportions for all rows   {summary['log_loss_constant']:.5f}")
    if summary["log_loss_before"] is not None:
        console.print(f"  as they are                      {summary['log_loss_before']:.5f}")
    console.print(f"  calibrated, on held-out rows     {summary['log_loss_after']:.5f}")
    console.print(f"\nCalibrator: {summary['calibrator']}")
