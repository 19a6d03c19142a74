"""How a boosted model scores after each of its rounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from properly.boosting.inputs import small_numbers
from properly.extras import require
from properly.links import Logit
from properly.losses import BoostingLoss, Composite, LogLoss
from properly.probabilities import Array

if TYPE_CHECKING:
    import pandas

_BOOSTING, _LOG = Composite(BoostingLoss(), Logit()), Composite(LogLoss())


@dataclass(frozen=True)
class StagedScores:
    """Mean scores after 1, 2, ... rounds; the smaller the better, all of them.

    Attributes
    ----------
    exponential_loss : array of shape (n_rounds,)
        e^(-F) for the second class, e^F for the first: what AdaBoost minimises on its training rows.
    log_loss : array of shape (n_rounds,)
        -ln of the probability given to the row's class.
    error : array of shape (n_rounds,)
        The share of rows whose most probable class is not theirs. It may go on falling when the probabilities, that
        is both losses, have long become worse.
    """

    exponential_loss: Array
    log_loss: Array
    error: Array

    def frame(self) -> pandas.DataFrame:
        """The same as a data frame with the number of rounds as its index; needs the extra ``frames``."""
        pandas = require("pandas", "frames")
        rounds = pandas.RangeIndex(1, len(self.error) + 1, name="rounds")
        return pandas.DataFrame(asdict(self), index=rounds)


def exponential_loss(positive: NDArray[np.bool_], F: Array, weight: Array) -> float:
    """The mean of e^(-F) over positive and e^F over other rows: half of boosting loss at the log-odds 2F."""
    return float(np.average(0.5 * _BOOSTING.value(positive, 2.0 * F), weights=small_numbers(weight)))


def staged_scores(positive: NDArray[np.bool_], stages: Iterable[Array], weight: Array) -> StagedScores:
    """The scores of the values of F after each round."""
    weight = small_numbers(weight)
    scores = [
        (
            exponential_loss(positive, F, weight),
            np.average(_LOG.value(positive, 2.0 * F), weights=weight),
            np.average((F > 0.0) != positive, weights=weight),
        )
        for F in stages
    ]
    return StagedScores(*np.array(scores).reshape(-1, 3).T)
