"""``properly COMMAND …``: arguments, exit codes, signals, and errors in one line."""

from __future__ import annotations

import argparse
import errno
import json
import logging
import os
import re
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from math import isfinite
from typing import Any

from properly import __version__
from properly.cli.arguments import Arguments
from properly.cli.signals import Terminated, heard_in_time
from properly.cli.standard_input import standard_input
from properly.files import FORMATS, FilePath, displayed, written_files
from properly.inputs.misuse import Misuse
from properly.inputs.optional import require
from properly.progress import visible

# Commands and what they are for, in the order in which a newcomer needs them; each is a module of this package.
COMMANDS = {
    "audit": "check whether the probabilities in a file are right: a summary and a report",
    "fit": "compare models on a table, fit the best, save it",
    "predict": "add a model's probabilities to a table",
    "export": "write a model as an ONNX file, for programs without Python",
    "calibrate": "learn a map from scores to probabilities",
    "maxent": "fit a presence-only model",
    "demo": "see the commands at work on a rare class",
}
OK, FAILED, MISUSED, CHECK_FAILED, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143
DEBUG_VARIABLE = "PROPERLY_DEBUG"
_ROW = re.compile(r"\brow \d+")
_NOTHING_LEFT = "no incomplete file was left"


class _Parser(argparse.ArgumentParser):
    def _print_message(self, message: str, file: Any = None) -> None:
        super()._print_message(visible(message), file)


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = _Parser(
        prog="properly",
        description="Class probabilities that can be relied on: check, fit, calibrate, predict.",
        epilog=f"Tables are CSV, TSV, JSON lines, Parquet or Arrow files, with the ending {', '.join(FORMATS)}; - is "
        "the standard input, in any of these formats. Exit codes: 0 done; 1 the input cannot be used or the output "
        "cannot be written; 2 wrong arguments; 3 a --check failed; 130 interrupted by Ctrl-C; 143 terminated "
        "(SIGTERM).",
    )
    parser.add_argument("--version", action="version", version=f"properly {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, about in COMMANDS.items():
        command = module_of(name)
        description, _, example = (command.__doc__ or "").strip().rpartition("\n\n")
        layout = argparse.RawDescriptionHelpFormatter
        added = subparsers.add_parser(name, help=about, description=description, epilog=example, formatter_class=layout)
        added.add_argument("--json", action="store_true", help="print the summary as JSON, for other programs")
        command.add_arguments(Arguments(added, command.run))
    return parser


def parse(words: Sequence[str] | None) -> tuple[Any, dict[str, Any], bool]:
    """The module of a command, the keywords of its function, and whether the summary is wanted as JSON."""
    options = vars(make_parser().parse_args(_joined_values(sys.argv[1:] if words is None else words)))
    return module_of(options.pop("command")), options, options.pop("json")


def _joined_values(words: Sequence[str]) -> list[str]:
    """Options with a value that begins with a minus sign and a digit, such as -1:3, in one word with it.

    argparse would take the value for another option.

    >>> _joined_values(["--costs", "-1:3", "--group", "town"])
    ['--costs=-1:3', '--group', 'town']
    """
    joined: list[str] = []
    for word in words:
        if joined and re.match(r"-\.?\d", word) and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code.

    0 means done. 1 means that the input cannot be used or the output cannot be written: one line on the standard error
    stream says why, and no incomplete file is left. 2 means that the arguments are wrong, 3 that a check failed that
    was asked for, 130 that Ctrl-C ended it, 143 that SIGTERM did.

    Parameters
    ----------
    argv : list of str, optional
        The words of the command line; those of the process if not given.
    """
    _prepare_streams()
    with written_files() as written:
        try:
            heard = heard_in_time(lambda by: _interrupted(by, written))
            with heard, _no_logs(), warnings.catch_warnings(), standard_input(argv) as words:
                warnings.showwarning = _one_line_warnings()
                return _run(*parse(words), written)
        except KeyboardInterrupt:
            return _interrupted(signal.SIGINT, written)
        except Terminated:
            return _interrupted(signal.SIGTERM, written)
        except SystemExit as stop:  # argparse has reported what is wrong, or has shown help or version
            return stop.code if isinstance(stop.code, int) else OK
        except BrokenPipeError:  # the program that reads our output, such as head, has read all that it wants
            _drop_standard_output()
            return OK
        except Exception as error:
            if os.environ.get(DEBUG_VARIABLE):
                raise
            _say(f"{_listed(written)} written, but {_one_line(error)}" if written else _one_line(error))
            if isinstance(error, OSError) and error.filename is None:
                _drop_standard_output()
            return MISUSED if isinstance(error, Misuse) else FAILED


def _run(command: Any, options: dict[str, Any], as_json: bool, written: list[FilePath]) -> int:
    """Run a command and print its summary; a summary whose "check" is "failed" has an exit code of its own."""
    console = None if as_json else terminal()  # before the work, so that a missing package is reported first
    summary = command.run(**options)
    try:
        if console is None:
            print(json.dumps(_finite(summary), indent=2, allow_nan=False))
        else:
            command.show(summary, console)
        sys.stdout.flush()  # a full disk is reported here, not when Python ends
    except BrokenPipeError:  # whoever reads it, such as head, has read all that it wants; a check counts all the same
        _drop_standard_output()
    except OSError as error:
        done = "" if written else "the work is done, but "
        raise OSError(f"{done}the summary could not be printed: {error.strerror}.") from error
    return CHECK_FAILED if summary.get("check") == "failed" else OK


class _Console:
    """A console of rich for texts of any origin: control characters are escaped, and nothing is markup."""

    def __init__(self) -> None:
        width = None if sys.stdout.isatty() else 120  # the width of a file is unknown; rich would take 80
        make = require("rich.console", "cli").Console
        self._rich = make(markup=False, highlight=False, emoji=False, soft_wrap=True, width=width)
        self._rich.on_broken_pipe = self._on_broken_pipe  # rich itself would end the program with 1

    @staticmethod
    def _on_broken_pipe() -> None:
        raise BrokenPipeError

    def print(self, *objects: Any, **style: Any) -> None:
        self._rich.print(*(visible(each) if isinstance(each, str) else each for each in objects), **style)


def terminal() -> Any:
    """The console for the summary."""
    return _Console()


def table_of(headings: list[str], rows: list[list[str]]) -> Any:
    """A table without frame: the first and last columns to the left, the others to the right."""
    table = require("rich.table", "cli").Table(box=None, pad_edge=False, header_style="bold")
    text = require("rich.text", "cli").Text
    for place, heading in enumerate(headings):
        table.add_column(text(visible(heading)), justify="left" if place in (0, len(headings) - 1) else "right")
    for row in rows:
        table.add_row(*(text(visible(cell)) for cell in row))
    return table


def show_warnings(warnings: Sequence[str], console: Any) -> None:
    """What a person should look at before the results."""
    for warning in warnings:
        console.print(f"Warning: {warning}.", style="yellow")
    if warnings:
        console.print()


def module_of(name: str) -> Any:
    """The module of a command."""
    return import_module(f"properly.cli.{name}")


@contextmanager
def _no_logs() -> Iterator[None]:
    """What fails is told in one line; what others log about it, as a client of Dask that is interrupted, is not."""
    before = logging.root.manager.disable
    if not os.environ.get(DEBUG_VARIABLE):
        logging.disable()
    try:
        yield
    finally:
        logging.disable(before)


def _prepare_streams() -> None:
    """Characters that a stream cannot show become question marks; a closed stream becomes the null device."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif name == "stdout" and hasattr(stream, "reconfigure"):  # stderr writes escape codes for them by itself
            stream.reconfigure(errors="replace")


def _interrupted(by: int, written: list[FilePath]) -> int:
    """Say what a signal has ended, and what it has not; returns the exit code."""
    kept = f"{_listed(written)} already written, " if written else ""
    _say(f"{'interrupted' if by == signal.SIGINT else 'terminated'}; {kept}{_NOTHING_LEFT}.")
    return INTERRUPTED if by == signal.SIGINT else TERMINATED


def _listed(written: list[FilePath]) -> str:
    names = ", ".join(dict.fromkeys(map(str, written)))
    return f"{names} {'is' if len(set(map(str, written))) == 1 else 'are'}"


def _finite(value: Any) -> Any:
    """The summary with null for what is infinite or not a number, which JSON cannot express."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _one_line_warnings() -> Any:
    """A replacement of `warnings.showwarning`: one line, not repeated for every batch, and none for programmers."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = " ".join(displayed(message).split())
        about = _ROW.sub("", text)
        if about in shown or issubclass(category, DeprecationWarning | FutureWarning | PendingDeprecationWarning):
            return
        shown.add(about)
        print(f"properly: warning: {visible(text)}", file=sys.stderr)

    return show


def _say(text: str) -> None:
    print(f"properly: error: {visible(text)}", file=sys.stderr)


def _one_line(error: Exception) -> str:
    """What went wrong, without line breaks; an error that no user can cause is called a bug."""
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return f"there is not enough memory for this. {text}".rstrip()
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"the disk is full{f': {error.filename}' if error.filename else ''}; {_NOTHING_LEFT}."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    if isinstance(error, OSError | ValueError | ImportError) and text:
        return text
    return (
        f"this is a bug in properly: {type(error).__name__}: {text} "
        f"(please report it; {DEBUG_VARIABLE}=1 shows where it arose)"
    )


def _drop_standard_output() -> None:
    """Discard what could not be written; otherwise Python complains about it when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
