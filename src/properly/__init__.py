"""Class-probability estimation done properly.

The submodules load on first use: ``import properly`` itself imports nothing heavy.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from properly import calibration, datasets, engines, kernels, linear, links, losses, prevalence, solvers

__version__ = "0.1.0"

__all__ = [
    "__version__",
    "calibration",
    "datasets",
    "engines",
    "kernels",
    "linear",
    "links",
    "losses",
    "prevalence",
    "solvers",
]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
