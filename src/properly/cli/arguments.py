"""Arguments of commands: how they are declared, how texts are converted, and which contradict each other."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from inspect import Parameter, signature
from math import inf
from textwrap import dedent
from typing import Any

# A name in a list: either in quotation marks, where it may hold any character, or without them.
_NAME = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,"]+?))\s*(?:,|$)')
# A parameter in a docstring, and its description.
_PARAMETER = re.compile(r"^(\w+) : .*\n((?:    .*\n)+)", re.MULTILINE)


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
    """Adds arguments to a parser for a function with keywords of the same names.

    The function has the last word on them: it gives the defaults, and its docstring the help.

    >>> def scale(table, *, factor=2.0):
    ...     '''Multiply numbers.
    ...
    ...     Parameters
    ...     ----------
    ...     table : path
    ...         The numbers.
    ...     factor : float, default 2.0
    ...         What to multiply by.
    ...     '''
    >>> parser = ArgumentParser(prog="scale")
    >>> add = Arguments(parser, scale)
    >>> add("table")
    >>> add("-f --factor X", float)
    >>> parser.format_help().splitlines()[-1].strip()
    '-f X, --factor X  What to multiply by (default 2.0).'
    """

    def __init__(self, parser: ArgumentParser, function: Callable[..., Any]) -> None:
        self.parser = parser
        self.defaults = {name: each.default for name, each in signature(function).parameters.items()}
        documented = dedent((function.__doc__ or "").partition("\n")[2])
        self.help = {name: " ".join(lines.split()) for name, lines in _PARAMETER.findall(documented)}

    def __call__(self, usage: str, type: Callable[[str], Any] = str, *, group: Any = None, **options: Any) -> None:
        """Add an argument: its flags and the placeholder of its value, and how its text is converted."""
        words = usage.split()
        if words[-1].isupper():
            options["metavar"] = words.pop()
        name = words[-1].removeprefix("--").replace("-", "_")
        help = self.help.get(name, "").replace("`", "").replace("%", "%%")
        if words[-1].startswith("--"):
            default = self.defaults.get(name)
            options |= {"required": True} if default is Parameter.empty else {"default": default}
            if options.get("default"):
                help = f"{help.removesuffix('.')} (default %(default)s)."

        def parse(text: str) -> Any:
            try:
                return type(text)
            except ValueError as error:  # whose message argparse would not show
                raise ArgumentTypeError(str(error)) from error

        (group or self.parser).add_argument(*words, help=help, type=parse, **options)


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
            raise ValueError(f"must be names separated by commas, got {text!r}")
        found.append(each[2] if each[1] is None else each[1].replace('""', '"'))
        place = each.end()
    for name in found:
        if found.count(name) > 1:
            raise ValueError(f"names the column {name!r} twice")
    return found


def listed_names(given: str | Sequence[str]) -> list[str]:
    """Column names that a caller from Python gives: a text is one name, not a sequence of letters.

    >>> listed_names("age"), listed_names(["age", "income"])
    (['age'], ['age', 'income'])
    """
    return [given] if isinstance(given, str) else list(given)


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """A converter to a whole number within these limits."""
    limits = f"of at least {least}" if most is None else f"from {least} to {most}"

    def parse(text: str) -> int:
        value = int(text) if re.fullmatch(r"\s*[+-]?\d+\s*", text) else least - 1
        if value < least or (most is not None and value > most):
            raise ValueError(f"must be a whole number {limits}, got {text!r}")
        return value

    return parse


seed = whole(0, 2**32 - 1)


def path(text: str) -> str:
    """The name of a file."""
    if not text.strip():
        raise ValueError("must be the name of a file, got an empty text")
    return text


def one_of(known: Callable[[], Iterable[str]]) -> Callable[[str], str]:
    """A converter that accepts only known names, which are looked up when they are needed."""

    def parse(text: str) -> str:
        if text not in (valid := list(known())):
            raise ValueError(f"must be one of {', '.join(map(repr, valid))}, got {text!r}")
        return text

    return parse


def positive(text: str) -> float:
    """A positive number.

    >>> positive("0.25")
    0.25
    """
    with suppress(ValueError):
        if 0.0 < float(text) < inf:
            return float(text)
    raise ValueError(f"must be a positive number, got {text!r}")


def share(text: str) -> float:
    """A number strictly between 0 and 1.

    >>> share("0.25")
    0.25
    """
    with suppress(ValueError):
        if 0.0 < float(text) < 1.0:
            return float(text)
    raise ValueError(f"must be a number strictly between 0 and 1, got {text!r}")
