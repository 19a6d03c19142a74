"""The losses by name, and which loss belongs to which link.

A loss with weight function ω and a link ψ are a *canonical pair* when ψ' = ω. Their composite is convex, with
gradient p - y and curvature dp/dv. A loss knows its canonical link; links know nothing of losses, so the way back is
here.
"""

from __future__ import annotations

from collections.abc import Callable

from properly.inputs.options import choose
from properly.links import GEV, Link, Logit, Loglog
from properly.losses.base import Loss
from properly.losses.beta import BoostingLoss, LogLoss, SquaredLoss
from properly.losses.canonical import CanonicalLink
from properly.losses.from_link import CanonicalLoss, GEVLoss

LOSSES: dict[str, Callable[[], Loss]] = {
    "log": LogLoss,
    "squared": SquaredLoss,
    "boosting": BoostingLoss,
    "gev": GEVLoss,
}


def get_loss(loss: str | Loss, name: str = "loss") -> Loss:
    """A loss from its key in `LOSSES`, or the loss itself; `name` is the option that an error message mentions.

    Parameters
    ----------
    loss : str or Loss
        A key of `LOSSES`, or a loss, which is returned as it is.
    name : str
        What the option is called in error messages.

    Examples
    --------
    >>> get_loss("log")
    LogLoss()
    """
    return loss if isinstance(loss, Loss) else choose(loss, LOSSES, name)()


def canonical_loss(link: Link) -> Loss:
    """The proper loss whose composite with this link is convex with gradient p - y: its weight function is ω = ψ'.

    Parameters
    ----------
    link : str or Link
        A key of `properly.links.LINKS`, or a link.

    Examples
    --------
    >>> canonical_loss(Logit()), canonical_loss(GEV(0.2))
    (LogLoss(), GEVLoss(xi=0.2))
    """
    match link:
        case CanonicalLink(loss):
            return loss
        case Logit():
            return LogLoss()
        case Loglog():
            return GEVLoss(0.0)
        case GEV(xi):
            return GEVLoss(xi)
    return CanonicalLoss(link)


def is_canonical(loss: Loss, link: Link) -> bool:
    """Whether the two are a canonical pair."""
    return loss.smooth and (loss.canonical_link == link or canonical_loss(link) == loss)
