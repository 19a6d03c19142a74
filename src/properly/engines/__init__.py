"""Engines: anything that can add up a kernel's sums over blocks of rows.

`ENGINES` says which type of X goes to which engine; everything that has no line of its own is held in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from properly.engines.base import Engine, Given
from properly.engines.dask import DaskEngine
from properly.engines.device import DeviceEngine
from properly.engines.folds import KeyedFolds
from properly.engines.memory import MemoryEngine
from properly.engines.partitioned import PartitionedEngine
from properly.engines.room import block_bytes
from properly.engines.spark import SparkEngine
from properly.engines.spark_frame import Spark
from properly.engines.stream import Stream, StreamEngine
from properly.kernels import Block
from properly.numeric.arrays import is_foreign

_MANY = 2**16  # rows

# The types of X, or the package that they come from.
ENGINES: dict[type | str, type[Engine]] = {
    Stream: StreamEngine,
    Spark: SparkEngine,
    "dask": DaskEngine,
    "pyspark": SparkEngine,
    "torch": DeviceEngine,
    "cupy": DeviceEngine,
    object: MemoryEngine,
}


@contextmanager
def training_engine(
    estimator: BaseEstimator, X: Any, y: Given, sample_weight: Given, offset: Given, group: Given = None
) -> Iterator[tuple[Engine, NDArray[Any]]]:
    """The engine over checked rows to fit, and the sorted classes; records the features on the estimator.

    What the engine keeps elsewhere is released at the end.
    """
    keys = {} if group is None else {"group": group}
    engine, classes = engine_for(X).of_training_data(estimator, X, y, sample_weight, offset, **keys)
    try:
        yield engine, classes
    finally:
        engine.release()


def engine_over(X: Any, codes: NDArray[Any], weight: Any = None) -> MemoryEngine:
    """The engine over checked rows in memory, of NumPy or of another library."""
    return (DeviceEngine if is_foreign(X) else MemoryEngine)(X, codes, weight)


def prediction_engine(estimator: Any, X: Any, offset: Given) -> Engine:
    """The engine over checked rows to predict with a fitted estimator."""
    return engine_for(X).of_new_data(estimator, X, offset)


def engine_for(X: Any) -> type[Engine]:
    """The engine for what users pass as X."""
    for kind in type(X).__mro__:
        for key in (kind, kind.__module__.partition(".")[0]):
            if key in ENGINES:
                return ENGINES[key]
    raise TypeError(f"X is a {type(X).__name__}, which no engine takes.")  # everything is an object: never


def by_parts(method: Callable[..., Any], engines: type[Any] = Engine) -> Callable[..., Any]:
    """Let a method of an estimator that predicts for X, perhaps with an offset, take every kind of X with an engine.

    The method itself sees arrays and tables in memory, or a `Block`; and what is not in memory, to refuse it, if the
    estimator says that it does not take parts.
    """

    @wraps(method)
    def predict(self: Any, X: Any, *more: Any, **named: Any) -> Any:
        engine = MemoryEngine if isinstance(X, Block) else engine_for(X)
        if not issubclass(engine, engines) or (engine is MemoryEngine and not _is_large(X)):
            return method(self, X, *more, **named)
        check_is_fitted(self)
        if not self._takes_parts:
            return method(self, X, *more, **named)
        offset = signature(method).bind(self, X, *more, **named).arguments.get("offset")
        return prediction_engine(self, X, offset).map(partial(_predicted, self, method.__name__))

    return predict


def _is_large(X: Any) -> bool:
    """Whether X is an array in memory that is faster block by block, each in the cache."""
    return type(X) is np.ndarray and X.ndim == 2 and len(X) >= _MANY


def _predicted(estimator: Any, method: str, block: Block) -> Any:
    return getattr(estimator, method)(block)


__all__ = [
    "ENGINES",
    "DeviceEngine",
    "Engine",
    "KeyedFolds",
    "MemoryEngine",
    "PartitionedEngine",
    "Spark",
    "Stream",
    "StreamEngine",
    "block_bytes",
    "by_parts",
    "engine_for",
    "engine_over",
    "prediction_engine",
    "training_engine",
]
