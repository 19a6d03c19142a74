"""What Dask's workers do with the parts, and what is said where they do not."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError
from itertools import takewhile
from typing import Any

from properly.engines.description import Part
from properly.engines.room import reuse_memory
from properly.inputs.optional import require

_DATA_ERRORS = (TypeError, ValueError)  # come back as results: workers would log them, each with its trace
_PATIENCE = 15  # seconds without a connection to the scheduler


def loaded(place: str, X: Any, y: Any, weight: Any, offset: Any, group: Any) -> Part | Exception:
    """A part as arrays of numbers, or why it cannot be had."""
    reuse_memory()
    try:
        return Part(X, y, weight, offset, group, place).converted()
    except _DATA_ERRORS as error:
        return error


def applied(function: Callable[[Part, int], Any], part: Part | Exception, number: int) -> Any:
    """What a function gives for a part."""
    if isinstance(part, Exception):
        raise part
    return function(part, number)


def tried(function: Callable[[Part, int], Any], part: Part | Exception, number: int) -> Any:
    """The same, or the error that the rows make."""
    try:
        return applied(function, part, number)
    except _DATA_ERRORS as error:
        return error


def first_done(client: Any, futures: list[Any]) -> list[Any]:
    """What the first tasks gave that are done, at least one of them; an error if one made it, or none will be done."""
    distributed = require("distributed", "dask")
    silent = 0  # seconds
    while silent < _PATIENCE:
        try:
            distributed.wait(futures[0], timeout=1.0)
            done = list(takewhile(lambda future: future.status == "finished", futures))
            results = client.gather(done) if done else [futures[0].result(timeout=1.0)]
        except distributed.KilledWorker as error:
            raise RuntimeError(
                "workers of Dask died whenever they ran a task, most likely for lack of memory; make smaller "
                "partitions, or start workers with more memory."
            ) from error
        except (CancelledError, OSError) as error:  # what clients tell tasks that are lost, or are not done yet
            if futures[0].status == "error":
                raise
            if not isinstance(error, TimeoutError):
                if client.status == "running":
                    raise RuntimeError("Dask has cancelled tasks, as a restart does; fit again.") from error
                break
            silent = 0 if client.status == "running" else silent + 1
        else:
            for result in results:
                if isinstance(result, Exception):
                    raise result
            return list(results)
    raise ConnectionError("the Dask scheduler no longer answers; start it again, connect a new client, and refit.")
