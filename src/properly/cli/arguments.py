"""Arguments of commands: how they are declared, how texts are converted, and which contradict each other."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

# A name in a list: either in quotation marks, where it may hold any character, or without them.
_NAME = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,"]+?))\s*(?:,|$)')


class Misuse(ValueError):
    """Arguments that contradict each other or the table."""


def require_distinct(**columns: str | Sequence[str] | None) -> None:
    """Refuse a column that is named twice, by one argument or by two.

    >>> require_distinct(target="y", weight="y")
    Traceback (most recent call last):
    properly.cli.arguments.Misuse: target and weight name the same column, 'y'; each needs its own.
    """
    taken: dict[str, str] = {}
    for argument, given in columns.items():
        for name in [given] if isinstance(given, str) else given or []:
            if taken.get(name) == argument:
                raise Misuse(f"{argument} names the column {name!r} twice.")
            if name in taken:
                raise Misuse(f"{taken[name]} and {argument} name the same column, {name!r}; each needs its own.")
            taken[name] = argument


class Arguments:
    """Adds arguments to a parser for a function with keywords of the same names, whose defaults they have.

    >>> def scale(table, *, factor=2.0): ...
    >>> parser = ArgumentParser(prog="scale")
    >>> add = Arguments(parser, scale)
    >>> add("table", "the numbers")
    >>> add("-f --factor X", "what to multiply by (default %(default)s)", float)
    >>> scale_by = parser.parse_args(["numbers.csv", "-f", "3"])
    >>> scale_by.table, scale_by.factor
    ('numbers.csv', 3.0)
    """

    def __init__(self, parser: ArgumentParser, function: Callable[..., Any]) -> None:
        self.parser = parser
        self.defaults = function.__kwdefaults__ or {}

    def __call__(
        self, usage: str, help: str, type: Callable[[str], Any] = str, *, group: Any = None, **options: Any
    ) -> None:
        """Add an argument: its flags and the placeholder of its value, what it means, and how its text is converted."""
        words = usage.split()
        if words[0].startswith("-"):
            if not words[-1].startswith("-"):
                options["metavar"] = words.pop()
            name = words[-1].removeprefix("--").replace("-", "_")
            options |= {"default": self.defaults[name]} if name in self.defaults else {"required": True}
        (group or self.parser).add_argument(*words, help=help, type=type, **options)


def parsed_by(function: Callable[[str], T]) -> Callable[[str], T]:
    """A converter for argparse, which shows the message of a ValueError only if it is an ArgumentTypeError."""

    def parse(text: str) -> T:
        try:
            return function(text)
        except ValueError as error:
            raise ArgumentTypeError(str(error)) from error

    return parse


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
            raise ArgumentTypeError(f"must be names separated by commas, got {text!r}")
        found.append(each[2] if each[1] is None else each[1].replace('""', '"'))
        place = each.end()
    for name in found:
        if found.count(name) > 1:
            raise ArgumentTypeError(f"names the column {name!r} twice")
    return found


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """A converter to a whole number within these limits."""
    limits = f"of at least {least}" if most is None else f"from {least} to {most}"

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least or (most is not None and value > most):
            raise ArgumentTypeError(f"must be a whole number {limits}, got {text!r}")
        return value

    return parse


seed = whole(0, 2**32 - 1)


def path(text: str) -> str:
    """The name of a file."""
    if not text.strip():
        raise ArgumentTypeError("must be the name of a file, got an empty text")
    return text


def one_of(known: Callable[[], Iterable[str]]) -> Callable[[str], str]:
    """A converter that accepts only known names, which are looked up when they are needed."""

    def parse(text: str) -> str:
        if text not in (valid := list(known())):
            raise ArgumentTypeError(f"must be one of {', '.join(map(repr, valid))}, got {text!r}")
        return text

    return parse


def share(text: str) -> float:
    """A number strictly between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0.0 < value < 1.0:
        raise ArgumentTypeError(f"must be a number strictly between 0 and 1, got {text!r}")
    return value
