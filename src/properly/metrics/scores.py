"""Proper scores, the mean loss of forecasts for any proper loss, and their parts: miscalibration and discrimination."""

from __future__ import annotations

import math
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from properly.forecasts import read_forecast
from properly.forecasts.several import CountedForecast
from properly.inputs.forecast import Forecast, read_probabilities
from properly.inputs.weights import checked_weight
from properly.losses import LogLoss, Loss, SquaredLoss, get_loss
from properly.numeric.arrays import constant, namespace, require_one_library, require_values
from properly.numeric.isotonic import pooled_blocks
from properly.numeric.limits import EPS
from properly.numeric.probabilities import Array, as_float, as_probabilities

_ROUNDING = 8.0 * EPS  # a relative difference of scores that is rounding, not skill


def row_losses(y: ArrayLike, p: ArrayLike, loss: str | Loss = "log", *, classes: ArrayLike | None = None) -> Array:
    """The loss of every row: what `proper_score` averages, and what `sign_test` and `paired_bootstrap` compare.

    For two classes it is L₀(p) or L₁(p). For K > 2 classes log loss is -ln p_y, and any other loss is the sum over
    the classes, each against the rest; squared loss so becomes ½ Σ_k (p_k - 1[y = k])². The losses are an array of the
    library that p is of.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of the rows.
    p : array of shape (n,) or (n, 2) for two classes, (n, K) for more
        Probabilities of the positive class, or of every class in sorted order.
    loss : Loss or a key of `properly.losses.LOSSES`, default "log"
        Which proper loss.
    classes : array of labels, optional
        The labels in the order of the columns of p, if y lacks some of them.

    Examples
    --------
    >>> row_losses([0, 1, 1], [0.25, 0.25, 1.0]).round(3)
    array([0.288, 1.386, 0.   ])
    """
    require_values(p, "p")
    return losses_of(read_forecast(y, p, classes=classes, keep_library=True), get_loss(loss))


def proper_score(
    y: ArrayLike,
    p: ArrayLike,
    loss: str | Loss = "log",
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> float:
    """The mean loss of the forecasts p: the smaller the better, and nothing beats the true probabilities on average.

    Parameters
    ----------
    y : array of shape (n,)
        Labels. For a single column of probabilities the positive class is the larger of the two labels.
    p : array of shape (n,), (n, 2) or (n, K)
        The probability of the positive class, or of every class in sorted order. Arrays of other libraries than NumPy
        stay where they are: only labels and weights are looked at on the host.
    loss : Loss or a key of `properly.losses.LOSSES`, default "log"
        "squared" is half the Brier score. For K > 2 classes log loss is -ln p_y; any other loss is the sum over the
        classes of its loss of each class against the rest.
    sample_weight : array of shape (n,), optional
        A weight of 2 counts as the row twice, a weight of 0 as no row.
    classes : array of K labels, optional
        The labels in the order of the columns of p (negative, positive for one column). Needed where y lacks some of
        them; a y of zeros or ones only is understood.

    Returns
    -------
    float
        ∞ if any row has an infinite loss: log loss of a forecast of 0 for what happened. Nothing is clipped.

    Examples
    --------
    >>> proper_score([0, 1, 1], [0.1, 0.8, 0.6])
    0.2797765635793...
    >>> from properly.losses import BetaLoss
    >>> proper_score(["no", "yes", "yes"], [0.1, 0.8, 0.6], BetaLoss(1, 3))
    0.003719...
    """
    return score_of(read_forecast(y, p, sample_weight, classes, keep_library=True), get_loss(loss))


def log_loss(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None, classes: ArrayLike | None = None
) -> float:
    """Mean of -ln p of what happened; the smaller the better. ∞ if that was given no probability at all.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of the rows.
    p : array of shape (n,) or (n, 2) for two classes, (n, K) for more
        Probabilities of the positive class, or of every class in sorted order.
    sample_weight : array of shape (n,), optional
        A weight of 2 counts as the row twice.
    classes : array of labels, optional
        The labels in the order of the columns of p, if y lacks some of them.

    Examples
    --------
    >>> log_loss([0, 1], [0.5, 0.5]), log_loss([0, 1], [0.5, 0.0])
    (0.693..., inf)
    """
    return score_of(read_forecast(y, p, sample_weight, classes, keep_library=True), LogLoss())


def brier_score(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None, classes: ArrayLike | None = None
) -> float:
    """Mean of (p - y)² for two classes, of Σ_k (p_k - 1[y = k])² for more; the smaller the better, at most 1 or 2.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of the rows.
    p : array of shape (n,) or (n, 2) for two classes, (n, K) for more
        Probabilities of the positive class, or of every class in sorted order.
    sample_weight : array of shape (n,), optional
        A weight of 2 counts as the row twice.
    classes : array of labels, optional
        The labels in the order of the columns of p, if y lacks some of them.

    Examples
    --------
    >>> brier_score([0, 1], [0.5, 0.75])
    0.15625
    """
    return 2.0 * score_of(read_forecast(y, p, sample_weight, classes, keep_library=True), SquaredLoss())


def skill_score(
    y: ArrayLike,
    p: ArrayLike,
    loss: str | Loss = "log",
    *,
    reference: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> float:
    """How much of a reference's loss is saved, 1 - score(p)/score(reference): 1 is perfect, 0 as good, below 0 worse.

    Parameters
    ----------
    y, p, loss, sample_weight, classes
        As for `proper_score`. The loss should be 0 for a perfect forecast, as all but `GEVLoss` with ξ >= 1 are.
    reference : array like p, or one forecast for all rows (a number, or K numbers), optional
        If p has K columns, K numbers are one forecast for all rows, also where there are K rows; otherwise n numbers
        are the probabilities of the positive class, row by row. None means the class frequencies of y. Then the skill
        of log loss is McFadden's R², that of squared loss the Brier skill score.

    Returns
    -------
    float
        0 if both scores are equal but for rounding, also when both are 0 or ∞; -∞ against a perfect reference.

    Examples
    --------
    >>> skill_score([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], "squared")
    0.85
    >>> skill_score([0, 1], [0.2, 0.9], reference=0.5)
    0.763...
    """
    if reference is not None:
        require_one_library(p=p, reference=reference)
    forecast = read_forecast(y, p, sample_weight, classes, keep_library=True)
    kind = get_loss(loss)
    score = score_of(forecast, kind)
    if reference is None:
        reference_score = base_score(forecast, kind)
    else:
        rows = constant(_as_rows(reference, np.shape(p)), forecast.p)
        reference_score = score_of(read_forecast(y, rows, sample_weight, classes, keep_library=True), kind)
    if score == reference_score or abs(score - reference_score) <= _ROUNDING * abs(reference_score) < math.inf:
        return 0.0
    with np.errstate(divide="ignore"):
        return float(1.0 - np.float64(score) / reference_score)


def _as_rows(reference: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Checked probabilities; a single forecast is repeated for every row of p, which has this shape."""
    values = as_float(reference, "reference")
    n_rows = shape[0]
    if values.ndim == 0:
        values = np.broadcast_to(values, n_rows)
    elif values.ndim == 1 and (len(values) != n_rows or shape[1:] == values.shape):
        values = np.broadcast_to(values, (n_rows, len(values)))
    read_probabilities(values, "reference")
    return values


def probability_rmse(true_p: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """√ of the mean squared difference to known true probabilities; the smaller the better.

    For more than two classes the mean is over rows and classes.

    Parameters
    ----------
    true_p, p : arrays of the same shape
        The true probabilities, and those that are judged.
    sample_weight : array of shape (n,), optional
        A weight of 2 counts as the row twice.

    Examples
    --------
    >>> probability_rmse([0.1, 0.5], [0.1, 0.8])
    0.2121...
    """
    require_one_library(true_p=true_p, p=p, sample_weight=sample_weight)
    truth, _ = read_probabilities(true_p, "true_p")
    values, _ = read_probabilities(p)
    if truth.shape != values.shape:
        raise ValueError(f"true_p and p must have the same shape, got {truth.shape} and {values.shape}.")
    squares = ((values - truth) ** 2).reshape(len(values), -1).mean(axis=1)
    return float(np.sqrt(np.average(squares, weights=checked_weight(sample_weight, len(values), positive_sum=True))))


def score_of(forecast: Forecast, loss: Loss) -> float:
    """The mean loss of a checked forecast."""
    if not isinstance(forecast, CountedForecast):
        return forecast.mean(losses_of(forecast, loss))
    total = 0.0
    for each in forecast.against_rest():
        losses, weight = losses_of(each, loss), cast(Array, each.weight)
        own = each.positive if isinstance(loss, LogLoss) else slice(None)  # that of the class that occurred
        total += float(weight[own] @ losses[own])
    return total / forecast.total


def losses_of(forecast: Forecast, loss: Loss) -> Array:
    """The losses of the rows of a checked forecast, block by block."""
    blocks = forecast.blocks()
    if len(blocks) == 1:
        return _block_losses(forecast, loss, blocks[0])
    losses = np.empty(len(forecast.codes))
    for rows in blocks:
        losses[rows] = _block_losses(forecast, loss, rows)
    return losses


def _block_losses(forecast: Forecast, loss: Loss, rows: slice) -> Array:
    xp = namespace(forecast.p)
    with np.errstate(all="ignore"):
        if forecast.binary:
            at0, at1 = loss._losses(forecast.probabilities(rows))
            return xp.where(forecast.positive[rows], at1, at0)
        p, codes = forecast.p[rows, ...], forecast.codes[rows][:, None]
        if isinstance(loss, LogLoss):
            return -xp.log(xp.take_along_axis(p, codes, axis=1)[:, 0])
        at0, at1 = loss._losses(as_probabilities(p))
        return xp.sum(xp.where(codes == constant(np.arange(p.shape[1]), p), at1, at0), axis=1)


def base_score(forecast: Forecast, loss: Loss) -> float:
    """The score of forecasting the class frequencies for every row: the entropy of the labels."""
    share = forecast.rates
    if forecast.binary:
        return float(loss.entropy(share[1], share[0]))
    if isinstance(loss, LogLoss):
        return float(0.0 - np.sum(share[share > 0.0] * np.log(share[share > 0.0])))  # 0, not -0, for one class
    return float(np.sum(loss.entropy(share)))


class Decomposition(NamedTuple):
    """score = miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    score : float
        The mean loss; the smaller the better.
    miscalibration : float
        What recalibration in hindsight would gain; 0 is best.
    discrimination : float
        What the order of the forecasts is worth; the larger the better.
    uncertainty : float
        The score of the share of positives as a forecast, which no forecaster can change.
    """

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
    return decomposition_of(read_forecast(y, p, sample_weight, classes, keep_library=True), get_loss(loss))


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
