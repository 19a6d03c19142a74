"""Proper losses: what a probability forecast costs once the label is known."""

from properly.losses.base import Loss, MixtureLoss
from properly.losses.beta import BetaLoss, BoostingLoss, LogLoss, SquaredLoss
from properly.losses.canonical import CanonicalLink
from properly.losses.composite import Composite
from properly.losses.from_link import CanonicalLoss, GEVLoss
from properly.losses.from_partial import LossFromPartial
from properly.losses.from_weight import CostWeightedLoss, LossFromWeight
from properly.losses.softmax import SoftmaxComposite
from properly.losses.table import LOSSES, canonical_loss, get_loss

__all__ = [
    "LOSSES",
    "BetaLoss",
    "BoostingLoss",
    "CanonicalLink",
    "CanonicalLoss",
    "Composite",
    "CostWeightedLoss",
    "GEVLoss",
    "LogLoss",
    "Loss",
    "LossFromPartial",
    "LossFromWeight",
    "MixtureLoss",
    "SoftmaxComposite",
    "SquaredLoss",
    "canonical_loss",
    "get_loss",
]
