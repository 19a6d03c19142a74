"""How much of a proper score is miscalibration, how much discrimination, and how much the uncertainty of the labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from properly.inputs.forecast import Forecast, read_forecast
from properly.losses import Loss, get_loss
from properly.metrics.scores import base_score, score_of
from properly.numeric.isotonic import pooled_blocks


class Decomposition(NamedTuple):
    """score = miscalibration - discrimination + uncertainty."""

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float


def score_decomposition(
    y: ArrayLike,
    p: ArrayLike,
    loss: str | Loss = "log",
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> Decomposition:
    """Split a proper score into miscalibration, discrimination and uncertainty.

    Isotonic regression of y on p is the best recalibration that keeps the order, for all proper losses at once, and the
    frequency of the positive class is the best constant forecast:

    - miscalibration = score(p) - score(recalibrated p) >= 0: smaller is better, 0 for a calibrated forecast;
    - discrimination = score(constant) - score(recalibrated p) >= 0: larger is better, 0 for one that ranks at random;
    - uncertainty = score(constant): the entropy of y, which does not depend on the forecast.

    There are no bins or other options, and the parts are exact. The recalibration is fitted to the rows it is scored
    on, so with few rows miscalibration and discrimination are overestimated (by the order of n^(-2/3)).

    Parameters
    ----------
    y, p, loss, sample_weight, classes
        As for `proper_score`. For K > 2 classes the parts are added up over the classes, each against the rest; the
        score then is that sum too, which for log loss is not `log_loss`, but its sum over K questions of two classes.

    Returns
    -------
    Decomposition
        Where the score is infinite (log loss with a forecast of 0 for what happened), so is the miscalibration; the
        other two stay finite.

    References
    ----------
    Dimitriadis, Gneiting & Jordan (2021), Stable reliability diagrams for probabilistic classifiers, PNAS 118.

    Examples
    --------
    >>> parts = score_decomposition([0, 1, 0, 1, 1], [0.1, 0.3, 0.4, 0.6, 0.9], "squared")
    >>> [round(part, 4) for part in parts]
    [0.083, 0.033, 0.07, 0.12]
    """
    return decomposition_of(read_forecast(y, p, sample_weight, classes), get_loss(loss))


def decomposition_of(forecast: Forecast, loss: Loss) -> Decomposition:
    """`score_decomposition` of a checked forecast."""
    parts = [_of_binary(each, loss) for each in forecast.against_rest()]
    return Decomposition(*(float(sum(part)) for part in zip(*parts, strict=True)))


def _of_binary(forecast: Forecast, loss: Loss) -> Decomposition:
    score, uncertainty = score_of(forecast, loss), base_score(forecast, loss)
    recalibrated = _recalibrated_score(forecast, loss)
    return Decomposition(score, _excess(score, recalibrated), _excess(uncertainty, recalibrated), uncertainty)


def _recalibrated_score(forecast: Forecast, loss: Loss) -> float:
    """Within a block of isotonic regression all forecasts are the rate of the block: its risk is the entropy there."""
    if not forecast.class_weight.all():
        return base_score(forecast, loss)
    sample = forecast.sample()
    _, _, positive, negative = pooled_blocks(sample.of_class(True), sample.of_class(False))
    total = positive + negative
    return float(np.sum(total * loss.entropy(positive / total, negative / total)) / np.sum(total))


def _excess(score: float, best: float) -> float:
    """score - best; 0 for equal infinities, which only a loss without lower bound has (`GEVLoss` with ξ >= 1)."""
    return 0.0 if score == best else score - best
