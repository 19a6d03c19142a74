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
    from properly.persistence.model_file import load, load_metadata, save

__version__ = "0.1.0"

__all__ = [
    "__version__",
    "audit",
    "boosting",
    "calibration",
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

_PERSISTENCE = ("load", "load_metadata", "save")


def __getattr__(name: str) -> Any:
    if name in _PERSISTENCE:
        return getattr(import_module(f"{__name__}.persistence"), name)
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
