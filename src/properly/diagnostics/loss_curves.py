"""How proper losses differ: at which probabilities their weight lies, and what they look like to a score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special as sc

from properly.diagnostics.results import Result
from properly.inputs.options import check_interval, named
from properly.losses import Composite, CostWeightedLoss, Loss, get_loss
from properly.numeric.probabilities import Array

_POINTS = 400
_FARTHEST = 16.0  # log-odds: a ten-millionth
_SCORES = np.linspace(-6.0, 6.0, 1201)

Losses = Iterable[str | Loss | Composite] | Mapping[str, str | Loss | Composite]
_KINDS = (str, Loss, Composite)


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
    eta : float or None
        The true probability of the risk.
    risk : array or None
        L(η | p), the expected loss of p where η is true: lowest at η.
    """

    names: tuple[str, ...]
    p: Array
    weight: Array
    entropy: Array
    loss0: Array
    loss1: Array
    eta: float | None = None
    risk: Array | None = None
    _drawn_by: ClassVar[str] = "draw_loss_curves"

    def _columns(self) -> dict[str, Any]:
        risk = () if self.risk is None else ("risk",)
        values = self._attributes("weight", "entropy", "loss0", "loss1", *risk)
        return _listed(self.names, {"p": np.tile(self.p, len(self.names))} | values)

    def plot(self, *, scale: str = "probability") -> Any:
        """Draw weights, entropies, losses and the risk, if there is one, side by side; returns the matplotlib Figure.

        A loss and a multiple of it choose the same forecasts, so every loss is divided by the height of its entropy.

        Parameters
        ----------
        scale : {"probability", "log-odds"}, default "probability"
        """
        return self._draw(scale=scale)


@dataclass(frozen=True)
class CompositeCurves(Result):
    """What `composite_curves` returns; arrays have a row for each composite, a column for each score.

    The frame has a row for each composite and score.

    Attributes
    ----------
    names : tuple of str
    score : array of shape (n_points,)
    p : array of shape (n_composites, n_points)
        The probability F(v) that the score stands for.
    loss0, loss1 : array
        The loss of the score when the row is negative, and when it is positive.
    eta : float or None
        The true probability of the risk.
    risk : array or None
        The expected loss of the score where η is true: lowest where F(v) = η.
    """

    names: tuple[str, ...]
    score: Array
    p: Array
    loss0: Array
    loss1: Array
    eta: float | None = None
    risk: Array | None = None
    _drawn_by: ClassVar[str] = "draw_composite_curves"

    def _columns(self) -> dict[str, Any]:
        risk = () if self.risk is None else ("risk",)
        values = self._attributes("p", "loss0", "loss1", *risk)
        return _listed(self.names, {"score": np.tile(self.score, len(self.names))} | values)

    def plot(self) -> Any:
        """Draw probabilities, losses and the risk, if there is one, against the score; returns the matplotlib Figure.

        In the picture of the risk a mark on each curve is its lowest point.
        """
        return self._draw()


def loss_curves(losses: Losses = ("log", "squared", "boosting"), *, eta: float | None = None) -> LossCurves:
    """Weight, entropy and partial losses of proper losses, to see at which probabilities each of them has its weight.

    A proper loss is the average of cost-weighted errors over all thresholds c, with the weight ω(c) [1]. The log loss
    has ω = 1/(p(1-p)), much weight at both ends; squared loss has the same weight everywhere; a loss tailored to the
    threshold 0.1 has most of it there. The entropy is concave, with the second derivative -ω: it is the impurity by
    which trees split. `composite_curves` shows the losses of scores.

    Parameters
    ----------
    losses : losses, their keys or composites, or a mapping from names to them
        Names are keys, or what the loss prints as, numbered where equal, unless given. Of a composite it is the loss.
    eta : float, optional
        A true probability η, between 0 and 1, for the risk L(η | p).

    References
    ----------
    Buja, Stuetzle & Shen (2005), Loss functions for binary class probability estimation and classification.

    Examples
    --------
    >>> from properly.losses import BetaLoss
    >>> curves = loss_curves({"squared": "squared", "tailored": BetaLoss.tailored(at=0.3, concentration=50.0)}, eta=0.2)
    >>> curves.p[curves.weight[1].argmax()].round(3)  # ω is proportional to p^14 (1-p)^34
    np.float64(0.292)
    >>> curves.p[curves.risk.argmin(axis=1)]
    array([0.2, 0.2])
    """
    names, each = _named(losses)
    parts = [get_loss(loss.loss if isinstance(loss, Composite) else loss) for loss in each]
    p = np.union1d(np.arange(1, _POINTS) / _POINTS, sc.expit(np.linspace(-_FARTHEST, _FARTHEST, _POINTS)))
    if eta is not None:
        check_interval(eta, "eta", 0.0, 1.0)
        p = np.union1d(p, [eta])
    return LossCurves(
        names,
        p,
        np.stack([np.full_like(p, np.nan) if isinstance(loss, CostWeightedLoss) else loss.weight(p) for loss in parts]),
        np.stack([loss.entropy(p) for loss in parts]),
        np.stack([loss.loss0(p) for loss in parts]),
        np.stack([loss.loss1(p) for loss in parts]),
        eta,
        None if eta is None else np.stack([loss.risk(eta, p) for loss in parts]),
    )


def composite_curves(
    composites: Losses = ("log", "squared", "boosting"), *, eta: float | None = None
) -> CompositeCurves:
    """Losses as functions of a score, to see what a model is punished for: how much, and whether the loss is convex.

    Parameters
    ----------
    composites : composites, losses or their keys, or a mapping from names to them
        A loss stands for its composite with the canonical link. Names as for `loss_curves`.
    eta : float, optional
        A true probability η, between 0 and 1, for the risk η ℓ(1, v) + (1-η) ℓ(0, v).

    References
    ----------
    Agarwal, Narasimhan, Kalyanakrishnan & Agarwal (2014), GEV-canonical regression for accurate binary class
    probability estimation when one class is rare: its figure 1.

    Examples
    --------
    >>> from properly.losses import Composite
    >>> curves = composite_curves({"logistic": "log", "probit": Composite("log", "probit")}, eta=0.5)
    >>> curves.score[curves.risk.argmin(axis=1)]
    array([0., 0.])
    """
    names, each = _named(composites)
    found = [_composite(loss) for loss in each]
    if eta is not None:
        check_interval(eta, "eta", 0.0, 1.0)
    return CompositeCurves(
        names,
        _SCORES,
        np.stack([composite.link.inverse(_SCORES) for composite in found]),
        np.stack([composite.value(0, _SCORES) for composite in found]),
        np.stack([composite.value(1, _SCORES) for composite in found]),
        eta,
        None if eta is None else np.stack([composite.value(eta, _SCORES) for composite in found]),
    )


def _named(losses: Losses) -> tuple[tuple[str, ...], list[str | Loss | Composite]]:
    if not isinstance(losses, (*_KINDS, Iterable)):
        raise ValueError(f"losses must be losses, their keys or composites, or a mapping to them, got {losses!r}.")
    chosen = named([losses] if isinstance(losses, _KINDS) else losses)
    if not chosen:
        raise ValueError("losses is empty; name at least one, such as 'log'.")
    return tuple(chosen), list(chosen.values())


def _composite(loss: str | Loss | Composite) -> Composite:
    if isinstance(loss, Composite):
        return loss
    loss = get_loss(loss)
    if not loss.smooth:
        raise ValueError(f"{loss!r} jumps, and has no canonical link; give Composite(loss, link), such as 'logit'.")
    return Composite(loss)


def _listed(names: tuple[str, ...], values: dict[str, Array]) -> dict[str, Any]:
    """Columns with a row for each name and point."""
    columns = {key: np.ravel(x) for key, x in values.items()}
    n_points = len(next(iter(columns.values()))) // len(names)
    return {"loss": np.repeat(np.array(names, dtype=object), n_points)} | columns
