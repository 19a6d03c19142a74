"""How proper losses differ: at which probabilities their weight lies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special as sc

from properly.diagnostics.results import Result
from properly.inputs.options import named
from properly.losses import CostWeightedLoss, Loss, get_loss
from properly.numeric.probabilities import Array

_POINTS = 400
_FARTHEST = 16.0  # log-odds: a ten-millionth


@dataclass(frozen=True)
class LossCurves(Result):
    """What `loss_curves` returns; arrays have a row for each loss, a column for each p.

    The frame has a row for each loss and p.

    Attributes
    ----------
    names : tuple of str
    p : array of shape (n_points,)
    weight : array of shape (n_losses, n_points)
        ω(p); a point mass is nan.
    entropy : array
        The expected loss if p is forecast and true.
    loss0, loss1 : array
        The loss of p when the row is negative, and when it is positive.
    """

    names: tuple[str, ...]
    p: Array
    weight: Array
    entropy: Array
    loss0: Array
    loss1: Array
    _drawn_by: ClassVar[str] = "draw_loss_curves"

    def _columns(self) -> dict[str, Any]:
        values = self._attributes("weight", "entropy", "loss0", "loss1")
        names = np.repeat(np.array(self.names, dtype=object), len(self.p))
        return {"loss": names, "p": np.tile(self.p, len(self.names))} | {key: x.ravel() for key, x in values.items()}

    def plot(self, *, scale: str = "probability") -> Any:
        """Draw weights, entropies and losses side by side; returns the matplotlib Figure.

        A loss and a multiple of it choose the same forecasts, so every loss is divided by the height of its entropy.

        Parameters
        ----------
        scale : {"probability", "log-odds"}, default "probability"
        """
        return self._draw(scale=scale)


def loss_curves(losses: Iterable[str | Loss] | Mapping[str, str | Loss] = ("log", "squared", "boosting")) -> LossCurves:
    """Weight, entropy and partial losses of proper losses, to see at which probabilities each of them has its weight.

    A proper loss is the average of cost-weighted errors over all thresholds c, with the weight ω(c) [1]. The log loss
    has ω = 1/(p(1-p)), much weight at both ends; squared loss has the same weight everywhere; a loss tailored to the
    threshold 0.1 has most of it there. The entropy is concave, with the second derivative -ω: it is the impurity by
    which trees split.

    Parameters
    ----------
    losses : losses or their keys, or a mapping from names to them
        Names are keys, or what the loss prints as, numbered where equal, unless given.

    References
    ----------
    Buja, Stuetzle & Shen (2005), Loss functions for binary class probability estimation and classification.

    Examples
    --------
    >>> from properly.losses import BetaLoss
    >>> curves = loss_curves({"squared": "squared", "tailored": BetaLoss.tailored(at=0.3, concentration=50.0)})
    >>> curves.p[curves.weight[1].argmax()].round(3)  # ω is proportional to p^14 (1-p)^34
    np.float64(0.292)
    """
    chosen = named([losses] if isinstance(losses, str | Loss) else losses)
    each = [get_loss(loss) for loss in chosen.values()]
    if not each:
        raise ValueError("losses is empty; name at least one, such as 'log'.")
    p = np.union1d(np.arange(1, _POINTS) / _POINTS, sc.expit(np.linspace(-_FARTHEST, _FARTHEST, _POINTS)))
    return LossCurves(
        tuple(chosen),
        p,
        np.stack([np.full_like(p, np.nan) if isinstance(loss, CostWeightedLoss) else loss.weight(p) for loss in each]),
        np.stack([loss.entropy(p) for loss in each]),
        np.stack([loss.loss0(p) for loss in each]),
        np.stack([loss.loss1(p) for loss in each]),
    )
