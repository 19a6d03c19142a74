"""``properly demo``: the commands at work on a rare class whose true probabilities are known."""

from __future__ import annotations

from typing import Any

from properly.cli.parser import new_parser


def add_parser(subparsers: Any) -> None:
    parser = new_parser(
        subparsers,
        "demo",
        help="see the commands at work on a rare class",
        description=(
            "Draw a rare class whose true probabilities are known. Audit the probabilities of a model that was fitted\n"
            "with balanced class weights, fit better ones, and compare both with the truth. Takes about half a minute."
        ),
        example="properly demo --output demo",
    )
    parser.add_argument("--output", default="demo", metavar="FOLDER", help="where files go (default demo)")


def run(arguments: Any) -> dict[str, Any]:
    from properly.cli.demonstration import demonstrate

    return demonstrate(arguments.output)


def show(summary: dict[str, Any], console: Any) -> None:
    from importlib import import_module

    from properly.cli.console import table_of

    console.print(summary["setting"])
    for step in summary["steps"]:
        console.print(f"\n$ properly {step['command']}", style="bold")
        import_module(f"properly.cli.{step['command'].split()[0]}").show(step["summary"], console)
    console.print("\nHow far from the true probabilities?", style="bold")
    rows = [
        [each["model"], f"{each['mean']:.4f}", f"{each['rmse']:.4f}", f"{each['log_loss']:.4f}", ""]
        for each in summary["comparison"]
    ]
    console.print(table_of(["", "mean", "RMSE to the truth", "log loss", ""], rows))
    console.print()
    for finding in summary["findings"]:
        console.print(finding)
    console.print(f"\nReports: {'  '.join(summary['reports'])}")
