"""Losses by name."""

from properly.inputs.options import choose
from properly.losses.base import Loss
from properly.losses.beta import BoostingLoss, LogLoss, SquaredLoss
from properly.losses.from_link import GEVLoss

LOSSES = {"log": LogLoss, "squared": SquaredLoss, "boosting": BoostingLoss, "gev": GEVLoss}


def get_loss(loss: str | Loss, name: str = "loss") -> Loss:
    """A loss from its key or the loss itself; `name` is what the option is called.

    >>> get_loss("log")
    LogLoss()
    """
    return loss if isinstance(loss, Loss) else choose(loss, LOSSES, name)()
