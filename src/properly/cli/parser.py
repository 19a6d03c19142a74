"""The arguments of the command line."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

from properly import __version__

# In the order in which a newcomer needs them.
COMMANDS = ("audit", "fit", "predict", "calibrate", "maxent", "demo")

_FORMATS = """\
Tables are CSV, TSV (both also gzipped), Parquet or Arrow files, told by their ending: .csv, .tsv, .csv.gz, .tsv.gz,
.parquet, .arrow, .feather. Exit codes: 0 done, 1 the input cannot be used or the output not be written, 2 wrong
arguments, 130 interrupted."""


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="properly",
        description="Class probabilities that mean what they say: check, fit, calibrate, predict.",
        epilog=_FORMATS,
    )
    parser.add_argument("--version", action="version", version=f"properly {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        import_module(f"properly.cli.{name}").add_parser(subparsers)
    return parser


def new_parser(subparsers: Any, name: str, *, help: str, description: str, example: str) -> argparse.ArgumentParser:
    """The parser of a command, with the options that all commands have."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=help,
        description=description,
        epilog=f"example: {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON, for machines")
    return parser


def names(text: str) -> list[str]:
    """Column names, separated by commas.

    >>> names("age, income")
    ['age', 'income']
    """
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"must be names separated by commas, got {text!r}")
    return found


def share(text: str) -> float:
    """A number strictly between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"must be a number strictly between 0 and 1, got {text!r}")
    return value
