"""Arguments of commands: how they are declared, how texts are converted, and which contradict each other."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import wraps
from inspect import Parameter, signature
from math import inf
from numbers import Integral, Real
from pathlib import Path
from textwrap import dedent
from typing import Any, ParamSpec, TypeVar

from properly import files
from properly.files import FORMATS, FilePath
from properly.inputs.misuse import Misuse

__all__ = ["Arguments", "Misuse", "checked"]

P = ParamSpec("P")
R = TypeVar("R")
Rule = Callable[[Any], Any]  # what checks the value of an option and converts it, if it is a text

# A name in a list: either in quotation marks, where it may hold any character, or without them.
_NAME = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,"]+?))\s*(?:,|$)')
# A parameter in a docstring, and its description.
_PARAMETER = re.compile(r"^(\w+) : .*\n((?:    .*\n)+)", re.MULTILINE)


def require_distinct(**columns: str | Sequence[str] | None) -> None:
    """Refuse a column that is named twice, by one argument or by two.

    >>> require_distinct(target="y", weight="y")
    Traceback (most recent call last):
    properly.inputs.misuse.Misuse: target and weight name the same column, 'y'; each needs its own.
    """
    taken: dict[str, str] = {}
    for argument, given in columns.items():
        for name in [given] if isinstance(given, str) else given or []:
            if taken.get(name) == argument:
                raise Misuse(f"{argument} names the column {name!r} twice.")
            if name in taken:
                raise Misuse(f"{taken[name]} and {argument} name the same column, {name!r}; each needs its own.")
            taken[name] = argument


def checked(**rules: Rule) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function check its options by these rules, which `Arguments` takes for the command line as well.

    A rule gets a text or a value, and returns what the function is called with; None is passed on.

    >>> @checked(folds=whole(2))
    ... def fit(*, folds=5):
    ...     return folds
    >>> fit(folds="3")
    3
    >>> fit(folds=1)
    Traceback (most recent call last):
    properly.inputs.misuse.Misuse: folds: must be a whole number of at least 2, got 1.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def run(*args: P.args, **options: P.kwargs) -> R:
            given = signature(function).bind(*args, **options).arguments
            for name in rules.keys() & given.keys():
                if given[name] is not None:
                    try:
                        given[name] = rules[name](given[name])
                    except ValueError as error:
                        raise Misuse(f"{name}: {str(error).removesuffix('.')}.") from error
            return function(**given)  # type: ignore[call-arg]  # all of them, by name

        run.__dict__["rules"] = rules
        return run

    return decorate


class Arguments:
    """Adds arguments to a parser for a function with keywords of the same names.

    The function has the last word on them: it gives the defaults, its docstring the help, and the rules of `checked`
    say how texts are converted.

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
        self.rules: dict[str, Rule] = getattr(function, "rules", {})
        self.defaults = {name: each.default for name, each in signature(function).parameters.items()}
        documented = dedent((function.__doc__ or "").partition("\n")[2])
        self.help = {name: " ".join(lines.split()) for name, lines in _PARAMETER.findall(documented)}

    def __call__(self, usage: str, type: Rule | None = None, *, group: Any = None, **options: Any) -> None:
        """Add an argument: its flags and the placeholder of its value; `type` converts its text instead of the rule."""
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

        if self.defaults.get(name) is False:  # a switch, which takes no value
            (group or self.parser).add_argument(*words, help=help, action="store_true")
            return
        convert = type or self.rules.get(name, str)

        def parse(text: str) -> Any:
            try:
                return convert(text)
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


def listed_names(given: str | Sequence[str | Sequence[str]]) -> list[str]:
    """Column names that a caller from Python gives, for whom a text is one name, or `names` of words, a list each.

    >>> listed_names("age"), listed_names(["age", "income"]), listed_names([["age", "income"], ["debt"]])
    (['age'], ['age', 'income'], ['age', 'income', 'debt'])
    """
    if isinstance(given, str):
        return [given]
    return [name for each in given for name in ([each] if isinstance(each, str) else each)]


def whole(least: int, most: int | None = None) -> Rule:
    """A rule: a whole number within these limits."""
    limits = f"of at least {least}" if most is None else f"from {least} to {most}"

    def parse(value: Any) -> int:
        number = value
        if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d+\s*", value):
            number = int(value)
        right = isinstance(number, Integral) and not isinstance(number, bool)
        if not right or int(number) < least or (most is not None and int(number) > most):
            raise ValueError(f"must be a whole number {limits}, got {value!r}")
        return int(number)

    return parse


seed = whole(0, 2**32 - 1)


def number(rule: str, right: Callable[[float], bool]) -> Rule:
    """A rule: a number for which `right` is true, as the text of the rule says."""

    def parse(value: Any) -> float:
        with suppress(ValueError):
            if isinstance(value, str | Real) and not isinstance(value, bool) and right(float(value)):
                return float(value)
        raise ValueError(f"must be a number {rule}, got {value!r}")

    return parse


share = number("strictly between 0 and 1", lambda value: 0.0 < value < 1.0)
not_negative = number("of at least 0", lambda value: 0.0 <= value < inf)
above_zero = number("above 0", lambda value: 0.0 < value < inf)


def path(value: Any) -> Any:
    """The name of a file, and not of a folder."""
    if not str(value).strip():
        raise ValueError("must be the name of a file, got an empty text")
    if Path(value).is_dir():
        raise ValueError(f"{str(value)!r} is a folder; give the name of a file in it")
    return value


def read_key(key_file: FilePath | None) -> bytes | None:
    """The secret in a file, without the line break at its end; to be called before long work."""
    if key_file is None:
        return None
    if not str(key_file).strip():
        raise Misuse("key_file must be the name of a file with a secret, got an empty text.")
    from properly.persistence.archive import check_key

    key = Path(key_file).read_bytes().rstrip(b"\r\n")
    check_key(key)
    return key


def file_ending(*endings: str) -> Rule:
    """A rule: the name of a file with one of these endings, or of a device.

    >>> file_ending(".html", ".htm")("report.pdf")
    Traceback (most recent call last):
    ValueError: must end with .html or .htm, got 'report.pdf'
    """

    def parse(value: Any) -> Any:
        target = Path(path(value))
        device = target.exists() and not target.is_file() and not target.is_dir()
        if not device and not target.name.lower().endswith(endings):
            raise ValueError(f"must end with {' or '.join(endings)}, got {str(value)!r}")
        return value

    return parse


def table_file(value: Any) -> Any:
    """A rule: the name of a file whose ending is that of a format of tables.

    >>> table_file("scored.pdf")
    Traceback (most recent call last):
    ValueError: must end with one of .csv, ..., .ipc, got 'scored.pdf'
    """
    if not Path(path(value)).name.lower().endswith(tuple(FORMATS)):
        raise ValueError(f"must end with one of {', '.join(FORMATS)}, got {str(value)!r}")
    return value


def check_output(target: FilePath, *, inputs: Iterable[FilePath] = (), outputs: Iterable[FilePath] = ()) -> None:
    """`properly.files.check_output`, for which a place where no file can be, or that is in use, is wrong use."""
    try:
        files.check_output(target, inputs=inputs, outputs=outputs)
    except (ValueError, FileNotFoundError, IsADirectoryError) as error:
        raise Misuse(str(error)) from error


def check_new_folder(target: FilePath, *, inputs: Iterable[FilePath]) -> None:
    """Refuse a folder that exists, or that is in one that is read."""
    if Path(target).exists():
        raise Misuse(f"output: must be a new folder, but {target} exists; give it another name.")
    check_outside(target, inputs)


def check_outside(target: FilePath, inputs: Iterable[FilePath]) -> None:
    """`properly.files.check_outside`, for which a place in what is read is wrong use."""
    try:
        files.check_outside(target, inputs)
    except ValueError as error:
        raise Misuse(str(error)) from error


page_file = file_ending(".html", ".htm")
model_file = file_ending(".skops")


def positive_number(value: Any) -> float:
    """A positive, finite number.

    >>> positive_number("2.5")
    2.5
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = 0.0
    if isinstance(value, bool) or not 0.0 < number < inf:
        raise ValueError(f"must be a positive number, got {value!r}")
    return number


def one_of(known: Callable[[], Iterable[str]]) -> Rule:
    """A rule: one of the known names, which are looked up when they are needed."""

    def parse(value: Any) -> str:
        if value not in (valid := list(known())):
            raise ValueError(f"must be one of {', '.join(map(repr, valid))}, got {value!r}")
        return str(value)

    return parse


def separator(value: Any) -> str:
    """A single character, or the word tab.

    >>> separator("tab")
    '\\t'
    """
    sign = {"tab": "\t", "\\t": "\t"}.get(value, value)
    if not isinstance(sign, str) or len(sign) != 1 or not sign.isascii() or sign.isalnum() or sign in '"\r\n.':
        raise ValueError(f"must be one character, such as ',', ';', '|' or tab, got {value!r}")
    return sign


# How text files are read; the same for every command with tables.
NOTATION: dict[str, Rule] = {"separator": separator, "decimal": one_of(lambda: (".", ","))}


def add_notation(add: Arguments) -> None:
    add("--separator SIGN")
    add("--decimal SIGN")
