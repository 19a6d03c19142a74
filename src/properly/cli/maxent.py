"""``properly maxent``: where a species may live, from where it was seen and what there is elsewhere."""

from __future__ import annotations

from typing import Any

from properly.cli.parser import names, new_parser, path, share


def add_parser(subparsers: Any) -> None:
    parser = new_parser(
        subparsers,
        "maxent",
        help="fit a presence-only model",
        description=(
            "Fit maxent to presence records and background points, save the model, and predict sites if wanted.\n"
            "Features are the columns that both tables have, unless told otherwise."
        ),
        example="properly maxent --presence seen.csv --background region.csv --predict sites.csv -o model.skops",
    )
    parser.add_argument("--presence", required=True, metavar="FILE", help="a row for every record of presence")
    parser.add_argument("--background", required=True, metavar="FILE", help="a row for every point of the region")
    parser.add_argument("--columns", type=names, metavar="COLUMNS", help="use these columns only, separated by commas")
    parser.add_argument("--ignore", type=names, default=[], metavar="COLUMNS", help="use all columns but these")
    parser.add_argument(
        "--categories", type=names, default=[], metavar="COLUMNS", help="columns of categories that look like numbers"
    )
    parser.add_argument(
        "--features",
        default="auto",
        metavar="LETTERS",
        help="kinds of features: l linear, q quadratic, p product, h hinge, t threshold; auto (default) goes by the "
        "number of presences",
    )
    parser.add_argument(
        "--regularization", type=float, default=1.0, metavar="B", help="the larger, the smoother (default 1)"
    )
    parser.add_argument(
        "--default-prevalence",
        type=share,
        default=0.5,
        metavar="P",
        help="probability of presence at a typical site of the species, for --output probability (default 0.5)",
    )
    parser.add_argument(
        "--output",
        choices=["cloglog", "logistic", "raw", "probability"],
        default="cloglog",
        help="the scale of predictions (default cloglog)",
    )
    parser.add_argument("--predict", metavar="FILE", help="a table of sites to predict")
    parser.add_argument(
        "--scored",
        type=path,
        metavar="FILE",
        help="the table with predictions (default: NAME-scored.ENDING in the working folder)",
    )
    parser.add_argument(
        "-o", "--model", type=path, default="maxent.skops", metavar="FILE", help="the model (default maxent.skops)"
    )


def run(arguments: Any) -> dict[str, Any]:
    from properly.cli.presence import fit_presence

    return fit_presence(arguments)


def show(summary: dict[str, Any], console: Any) -> None:
    console.print(
        f"{summary['presences']:,} presences, {summary['background_points']:,} background points, "
        f"{len(summary['columns'])} columns; kinds of features: {summary['kinds']}, {summary['features_in_use']} of "
        f"{summary['features']} in use.\nRegularised training gain {summary['gain']:.4f}; in training, the AUC of "
        f"presences against the background is {summary['training_auc']:.3f}."
    )
    console.print(f"\nModel: {summary['model']}")
    if summary["scored"]:
        console.print(f"Sites: {summary['scored']['output']} ({summary['scored']['rows']:,} rows)")
