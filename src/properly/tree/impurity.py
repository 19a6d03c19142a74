"""How impure a set of rows is: the loss of its best constant forecast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special as sc

from properly.losses import LogLoss, Loss
from properly.probabilities import Array

TIE = 1e-10  # differences below this share of an impurity are rounding


@dataclass(frozen=True)
class Impurity:
    """The summed loss of a set whose forecast is its own mean: total weight · entropy(class shares).

    Two classes: W · H(p) with H the entropy of the loss. More classes: W · Σ_k H(p_k), one against the rest, but
    -W · Σ_k p_k ln p_k for log loss, as everywhere. Never larger for two parts together than for the whole.
    """

    loss: Loss

    def __post_init__(self) -> None:
        at_ends = self.loss.entropy([0.0, 1.0], [1.0, 0.0])
        if not np.isfinite(at_ends).all():
            raise ValueError(
                f"loss must have a finite entropy at p = 0 and p = 1 for a tree to split by, but {self.loss!r} has "
                f"{at_ends.tolist()} there; choose another loss."
            )

    def __call__(self, class_weight: Array) -> Array:
        """Of sets given by the weights of their classes, of shape (n_classes, n_sets); every set has some weight."""
        total = class_weight.sum(axis=0)
        share = class_weight / total
        if len(class_weight) == 2:
            return total * self.loss.entropy(share[1], share[0])
        if isinstance(self.loss, LogLoss):
            return -sc.xlogy(class_weight, share).sum(axis=0)
        return total * self.loss.entropy(share, (total - class_weight) / total).sum(axis=0)
