"""Arrow, in which tables are read, held and written: imported when needed, and named with its remedy if missing."""

from __future__ import annotations

from typing import Any

from properly.inputs.optional import require


class _Module:
    """A module of Arrow that is imported when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(require(self._name, "arrow"), attribute)


# Their type is Any, as that of the modules themselves would be.
arrow: Any = _Module("pyarrow")
compute: Any = _Module("pyarrow.compute")
csv: Any = _Module("pyarrow.csv")
ipc: Any = _Module("pyarrow.ipc")
parquet: Any = _Module("pyarrow.parquet")
types: Any = _Module("pyarrow.types")
