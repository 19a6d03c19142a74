"""What the results of all diagnostics share: a data frame, a picture, and intervals of shares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
from scipy import special as sc

from properly import notebook
from properly.inputs.optional import require
from properly.numeric.probabilities import Array

THRESHOLD = "threshold"  # a column


class Result(ABC):
    """Numbers, which can be had as a data frame and drawn."""

    _drawn_by: ClassVar[str]  # the function of `properly.plots`

    def frame(self) -> Any:
        """The numbers as a pandas DataFrame."""
        return require("pandas", "frames").DataFrame(dict(self._columns()))

    def _repr_html_(self) -> str | None:
        """The picture, for notebooks, if matplotlib is installed."""
        if find_spec("matplotlib") is None:
            return None
        return notebook.picture(self.plot(), type(self).__name__)  # type: ignore[attr-defined]

    @abstractmethod
    def _columns(self) -> Mapping[str, Any]:
        """The columns of the frame."""

    def _attributes(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}

    def _draw(self, *axes: Any, **options: Any) -> Any:
        from properly import plots

        return getattr(plots, self._drawn_by)(self, *axes, **options)


@dataclass(frozen=True)
class ThresholdCurves(Result):
    """Curves over all thresholds, which are the rows of the frame."""

    thresholds: Array

    def plot(self, ax: Any = None, *, scale: str = "probability") -> Any:
        """Draw the curves against the thresholds.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A figure of its own if not given.
        scale : {"probability", "log-odds"}, default "probability"
            Of the thresholds; "log-odds" for rare classes.
        """
        return self._draw(ax, scale=scale)


@dataclass(frozen=True)
class ForecasterCurves(ThresholdCurves):
    """A curve for each of several forecasters, which are columns of the frame."""

    names: tuple[str, ...]

    def _with_names(self, curves: Array, **others: Array) -> dict[str, Any]:
        return {THRESHOLD: self.thresholds, **dict(zip(self.names, curves, strict=True)), **others}


def jeffreys_interval(positive: Array, negative: Array, confidence: float) -> tuple[Array, Array]:
    """Of a share of positives, from the weights of both: quantiles of Beta(positive + ½, negative + ½).

    The lower end is 0 without positives, the upper end 1 without negatives. On average over all shares the
    interval covers the true one as often as it says, also for rare classes, where the normal one does not.

    >>> low, high = jeffreys_interval(np.array([0.0, 5.0]), np.array([10.0, 5.0]), 0.9)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.262]), array([0.171, 0.738]))
    """
    tail = 0.5 * (1.0 - confidence)
    a, b = positive + 0.5, negative + 0.5
    low = np.where(positive > 0.0, sc.betaincinv(a, b, tail), 0.0)
    high = np.where(negative > 0.0, sc.betainccinv(a, b, tail), 1.0)
    total = positive + negative
    many = (np.minimum(positive, negative) > 1e6) & (
        total > 1e14
    )  # where the Beta quantiles of SciPy lose their digits
    share, most = positive / np.maximum(total, 1e-300), np.where(many, total, 1.0)
    reach = -sc.ndtri(tail) * np.sqrt(share * (1.0 - share) / most)  # and the normal ones have them all
    return np.where(many, share - reach, low), np.where(many, share + reach, high)
