"""Ctrl-C and SIGTERM end a command in time, whatever it is doing, and leave no temporary file."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from properly.files import remove_unfinished

_PATIENCE = 0.5  # seconds for Python code to end by itself


class Terminated(BaseException):
    """SIGTERM as an exception, which unwinds as Ctrl-C does, so that temporary files are removed."""


@contextmanager
def heard_in_time(say: Callable[[int], int]) -> Iterator[None]:
    """Let SIGTERM raise an exception, and end the process if that, or Ctrl-C, is not heard in time.

    Python hears a signal when compiled code returns, which may take long. A thread hears it at once, waits a moment,
    removes temporary files, calls `say` with the number of the signal, and ends the process with the code that it
    returns. Python allows handlers in the main thread only; in another one this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, stop)
    heard, bell = socket.socketpair()
    bell.setblocking(False)
    bell_before = signal.set_wakeup_fd(bell.fileno(), warn_on_full_buffer=False)
    ended = threading.Event()
    threading.Thread(target=_end_in_time, args=(heard, ended, say), daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(bell_before)
        signal.signal(signal.SIGTERM, before)
        bell.close()  # which ends the thread


_RESCUES: list[Callable[[], bool]] = []  # the last one says whether Ctrl-C is dealt with


@contextmanager
def rescued_by(function: Callable[[], str]) -> Iterator[None]:
    """While this is entered, Ctrl-C need not end the process: what is inside may catch it, and has time to end.

    If it does not hear Ctrl-C in time, because compiled code is at work, the function is called in another thread
    instead; it saves what there is and returns a message, or "" if there is nothing to save. Then the process ends.
    """
    left = threading.Event()

    def rescue() -> bool:
        if left.wait(_PATIENCE):
            return True
        try:
            said = function()
        except Exception:  # the process ends as if there had been nothing to save
            return False
        if said:
            print(said, flush=True)
            remove_unfinished()  # of the other thread, if it has woken up meanwhile
            os._exit(0)
        return False

    _RESCUES.append(rescue)
    try:
        yield
    finally:
        _RESCUES.remove(rescue)
        left.set()


@contextmanager
def undisturbed(answer: str) -> Iterator[None]:
    """While this is entered, the first Ctrl-C is only answered, and what is inside goes on; the second ends it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def say(*_: Any) -> None:
        signal.signal(signal.SIGINT, before)
        print(answer, file=sys.stderr, flush=True)

    def once() -> bool:
        _RESCUES.remove(once)
        return True

    before = signal.signal(signal.SIGINT, say)
    _RESCUES.append(once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if once in _RESCUES:
            _RESCUES.remove(once)


def _end_in_time(heard: socket.socket, ended: threading.Event, say: Callable[[int], int]) -> None:
    with heard:
        while received := heard.recv(1):
            if received[0] == signal.SIGINT and _RESCUES and _RESCUES[-1]():
                continue
            if received[0] in (signal.SIGINT, signal.SIGTERM) and not ended.wait(_PATIENCE):
                remove_unfinished()
                os._exit(say(received[0]))
