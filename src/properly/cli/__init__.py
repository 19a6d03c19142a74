"""The command line: ``properly COMMAND …``, or ``python -m properly COMMAND …``.

A command is a module of this package with three functions and no heavy import at its top:

- ``add_parser(subparsers)`` describes its arguments (`properly.cli.parser.new_parser` makes the parser);
- ``run(arguments) -> dict`` does the work and returns a summary that can be written as JSON;
- ``show(summary, console)`` tells a person the summary, through a console of rich.
"""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from math import isfinite
from typing import Any

from properly.cli.parser import Misuse, make_parser

OK, FAILED, MISUSED, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143
_ROW = re.compile(r"\brow \d+")
DEBUG_VARIABLE = "PROPERLY_DEBUG"


class _Terminated(BaseException):
    """The system asked the process to end (SIGTERM), which unwinds as Ctrl-C does, so that files are cleaned up."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code.

    0 means done. 1 means that the input cannot be used or the output not be written: one line on the standard error
    stream says why, and nothing half-written is left. 2 means that the arguments are wrong, 130 that Ctrl-C ended it,
    143 that SIGTERM did.
    """
    _prepare_streams()
    try:
        with _termination():
            return _main(argv)
    except KeyboardInterrupt:
        _say("interrupted; nothing was written half.")
        return INTERRUPTED
    except _Terminated:
        _say("terminated; nothing was written half.")
        return TERMINATED


def _main(argv: Sequence[str] | None) -> int:
    """The exit code, unless a signal ends it."""
    try:
        arguments = make_parser().parse_args(argv)
        with warnings.catch_warnings():
            warnings.showwarning = _one_line_warnings()
            _run(arguments)
        sys.stdout.flush()  # a full disk is told here, not when Python ends
    except SystemExit as stop:  # argparse has said what is wrong, or has given help or version
        return stop.code if isinstance(stop.code, int) else OK
    except BrokenPipeError:  # who reads our output, such as head, has seen enough
        _drop_standard_output()
        return FAILED
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        _say(_one_line(error))
        if isinstance(error, OSError) and error.filename is None:
            _drop_standard_output()
        return MISUSED if isinstance(error, Misuse) else FAILED
    return OK


def _prepare_streams() -> None:
    """Signs that a stream cannot show become question marks; a closed stream becomes one that nobody reads."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif name == "stdout" and hasattr(stream, "reconfigure"):  # the other one writes codes for them
            stream.reconfigure(errors="replace")


@contextmanager
def _termination() -> Iterator[None]:
    """Let SIGTERM raise an exception; only the main thread may say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(arguments: Any) -> None:
    command = import_module(f"properly.cli.{arguments.command}")
    if arguments.json:
        print(json.dumps(_finite(command.run(arguments)), indent=2, allow_nan=False))
        return
    from properly.cli.console import terminal

    console = terminal()  # before the work, so that a missing package is told first
    command.show(command.run(arguments), console)


def _finite(value: Any) -> Any:
    """The summary with null for what is infinite or not a number, which JSON cannot say."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _one_line_warnings() -> Any:
    """What shows a warning: in one line, once though batches repeat it of other rows, and not if for programmers."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        about = _ROW.sub("", text)
        if about in shown or issubclass(category, DeprecationWarning | FutureWarning | PendingDeprecationWarning):
            return
        shown.add(about)
        print(f"properly: warning: {text}", file=sys.stderr)

    return show


def _say(text: str) -> None:
    print(f"properly: error: {text}", file=sys.stderr)


def _one_line(error: Exception) -> str:
    """What went wrong, without line breaks; a mistake of ours is called so."""
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return f"the memory is not enough for this. {text}".rstrip()
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"the disk is full{f': {error.filename}' if error.filename else ''}; nothing was written half."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    if isinstance(error, OSError | ValueError | ImportError) and text:
        return text
    return (
        f"this should not have happened: {type(error).__name__}: {text} "
        f"(please report it; {DEBUG_VARIABLE}=1 shows where it arose)"
    )


def _drop_standard_output() -> None:
    """Nobody can read it any more; without this, Python complains about it when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
