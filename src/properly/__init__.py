"""Class-probability estimation done properly.

The submodules load on first use: ``import properly`` itself imports nothing heavy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from properly import (
        audit,
        boosting,
        calibration,
        cli,
        comparison,
        datasets,
        diagnostics,
        engines,
        kernels,
        linear,
        links,
        losses,
        maxent,
        metrics,
        onnx,
        plots,
        prevalence,
        report,
        solvers,
        tables,
        tree,
    )
    from properly.persistence import load, load_metadata, save

__version__ = "0.2.0"

__all__ = [
    "__version__",
    "audit",
    "boosting",
    "calibration",
    "cli",
    "comparison",
    "datasets",
    "diagnostics",
    "engines",
    "kernels",
    "linear",
    "links",
    "load",
    "load_metadata",
    "losses",
    "maxent",
    "metrics",
    "onnx",
    "plots",
    "prevalence",
    "report",
    "save",
    "solvers",
    "tables",
    "tree",
]

# Where the functions are; every other name of `__all__` is a submodule.
_FUNCTIONS = {"load": "persistence", "load_metadata": "persistence", "save": "persistence"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_FUNCTIONS.get(name, name)}")
    return getattr(module, name) if name in _FUNCTIONS else module


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
