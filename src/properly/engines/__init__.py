"""Engines: anything that can add up a kernel's sums over blocks of rows.

`ENGINES` says which type of X goes to which engine; everything that has no line of its own is held in memory.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from properly.engines.base import Engine, Given
from properly.engines.memory import MemoryEngine
from properly.engines.stream import Stream, StreamEngine

ENGINES: dict[type, type[Engine]] = {Stream: StreamEngine, object: MemoryEngine}


def training_engine(
    estimator: BaseEstimator, X: Any, y: Given, sample_weight: Given, offset: Given
) -> tuple[Engine, NDArray[Any]]:
    """The engine over checked rows to fit, and the sorted classes; records the features on the estimator."""
    return _engine_for(X).of_training_data(estimator, X, y, sample_weight, offset)


def prediction_engine(estimator: Any, X: Any, offset: Given) -> Engine:
    """The engine over checked rows to predict with a fitted estimator."""
    return _engine_for(X).of_new_data(estimator, X, offset)


def _engine_for(X: Any) -> type[Engine]:
    return next(ENGINES[kind] for kind in type(X).__mro__ if kind in ENGINES)


__all__ = ["ENGINES", "Engine", "MemoryEngine", "Stream", "StreamEngine", "prediction_engine", "training_engine"]
