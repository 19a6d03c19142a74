"""The arguments of the command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from properly import __version__

# A name of a list: in quotation marks, with every sign that it has, or without them.
_NAME = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,"]+?))\s*(?:,|$)')

# In the order in which a newcomer needs them.
COMMANDS = ("audit", "fit", "predict", "calibrate", "maxent", "demo")

_FORMATS = """\
Tables are CSV, TSV (both also gzipped), Parquet or Arrow files, told by their ending: .csv, .tsv, .csv.gz, .tsv.gz,
.parquet, .arrow, .feather. Exit codes: 0 done, 1 the input cannot be used or the output not be written, 2 wrong
arguments, 130 interrupted, 143 told to end."""


class Misuse(ValueError):
    """Arguments that do not go together, which only shows when they are all known."""


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
    """Column names, separated by commas; one that holds a comma or outer spaces stands in quotation marks.

    >>> names('age, income, "height, cm"')
    ['age', 'income', 'height, cm']
    """
    found: list[str] = []
    place = 0
    while place < len(text) or not found or text[place - 1] == ",":
        each = _NAME.match(text, place)
        if each is None:
            raise argparse.ArgumentTypeError(f"must be names separated by commas, got {text!r}")
        found.append(each[2] if each[1] is None else each[1].replace('""', '"'))
        place = each.end()
    for name in found:
        if found.count(name) > 1:
            raise argparse.ArgumentTypeError(f"names the column {name!r} twice")
    return found


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """A whole number within these limits."""
    limits = f"of at least {least}" if most is None else f"from {least} to {most}"

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least or (most is not None and value > most):
            raise argparse.ArgumentTypeError(f"must be a whole number {limits}, got {text!r}")
        return value

    return parse


seed = whole(0, 2**32 - 1)


def path(text: str) -> str:
    """The name of a file."""
    if not text.strip():
        raise argparse.ArgumentTypeError("must be the name of a file, got an empty text")
    return text


def one_of(text: str, known: Iterable[str]) -> str:
    """A name that is known; the others are told with it."""
    if text not in known:
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(map(repr, known))}, got {text!r}")
    return text


def share(text: str) -> float:
    """A number strictly between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"must be a number strictly between 0 and 1, got {text!r}")
    return value
