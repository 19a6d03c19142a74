"""Which of several models gives the best probabilities for held-out rows, and the best that a table allows."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from properly.comparison.best import AVERAGE, BestProbabilities
    from properly.comparison.comparing import CALIBRATED, Comparison, compare
    from properly.comparison.search import Part
    from properly.crossfit import cross_calibrated, stratified_folds

__all__ = [
    "AVERAGE",
    "CALIBRATED",
    "BestProbabilities",
    "Comparison",
    "Part",
    "compare",
    "cross_calibrated",
    "stratified_folds",
]

# Where they are: the command line reads the table of candidates for its help, and must not load the models for that.
_MODULES = {
    "comparison.best": ("AVERAGE", "BestProbabilities"),
    "comparison.comparing": ("CALIBRATED", "Comparison", "compare"),
    "comparison.search": ("Part",),
    "crossfit": ("cross_calibrated", "stratified_folds"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"properly.{module}"), name)
    if name in ("averaging", "best", "candidates", "comparing", "rows", "search", "tuning"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
