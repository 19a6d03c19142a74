"""Engines: anything that can add up a kernel's sums over blocks of rows."""

from properly.engines.base import Engine
from properly.engines.memory import MemoryEngine
from properly.engines.stream import Stream, StreamEngine

__all__ = ["Engine", "MemoryEngine", "Stream", "StreamEngine"]
