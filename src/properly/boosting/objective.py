"""A composite loss as LightGBM needs it: gradient and curvature of the training rows, and mean losses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from properly.links import Link
from properly.losses import Composite, LogLoss
from properly.numeric.probabilities import Array

_LONGEST = 100.0  # the longest step of a row in log-odds, before the learning rate
_FLATTEST = 1e-12  # times the curvature of log loss: a flatter loss counts as if it were as flat as this
_LARGEST = 1e30  # what LightGBM may be given, which calculates in float32


class Labels(NamedTuple):
    """Which rows are positive, and their weights: above 0, and scaled so that no sum overflows."""

    positive: NDArray[Any]  # bool
    weight: Array

    @property
    def rates(self) -> tuple[float, float]:
        """The base rate p and 1 - p, each accurate to its own last digits however unequal the weights."""
        positive, negative = float(self.weight[self.positive].sum()), float(self.weight[~self.positive].sum())
        return positive / (positive + negative), negative / (positive + negative)

    def mean(self, losses: Array) -> float:
        with np.errstate(invalid="ignore", over="ignore"):
            return float(np.average(losses, weights=self.weight))

    def losses(self, composite: Composite, v: Array) -> Array:
        with np.errstate(all="ignore"):
            return composite._value(self.positive, v)

    def cautious_losses(self, composite: Composite, v: Array) -> Array:
        """The expected losses if each of the n labels is wrong with probability 1/(n + 2).

        That none of n labels contradicts a forecast close to 0 or 1 does not mean that the next one will not: by
        Laplace's rule of succession it does with about this probability. It hardly matters unless the loss grows faster
        than log loss.
        """
        doubt = 1.0 / (len(self.positive) + 2.0)
        with np.errstate(all="ignore"):
            as_labelled, otherwise = composite._value(self.positive, v), composite._value(~self.positive, v)
            return (1.0 - doubt) * as_labelled + doubt * otherwise

    def clearly_smaller(self, losses: Array, before: Array) -> bool:
        """Whether the mean is smaller than before by more than two standard errors of the difference.

        Two, because the number of trees was chosen as the best of many on the same rows.
        An infinite loss is never smaller, a finite one always smaller than an infinite one.
        """
        if not np.isfinite(losses).all():
            return False
        if not np.isfinite(before).all():
            return True
        gain, share = before - losses, self.weight / self.weight.sum()
        mean = self.mean(gain)
        return mean > 2.0 * float(np.sqrt(np.sum((share * (gain - mean)) ** 2)))


class Objective:
    """Gradient and curvature of a composite for LightGBM, in the unit of log loss.

    A loss may be multiplied by any factor, but a ridge penalty depends on it: the factor is chosen so that the expected
    curvature, summed over the rows when the objective is first called, is that of log loss. The curvature of a row is
    then the largest of

    - the expected one, ω p'²;
    - the observed one, which makes the step Newton's where the composite is convex;
    - that of log loss through the same link, so that rows where the loss is nearly flat do not make long steps;
    - |gradient| / 100, so that no row, and so no leaf, makes a step of more than 100 (in log-odds at the base rate;
      Friedman, Hastie & Tibshirani (2000) bound the working response of LogitBoost for the same reason).

    With log loss and the logit the first three are one: p (1-p), LightGBM's own. Weights are divided by their mean, so
    that none is too small or too large for float32.
    """

    def __init__(self, composite: Composite, labels: Labels) -> None:
        self.composite, self.labels = composite, labels
        self.log_loss = Composite(LogLoss(), composite.link)
        self.longest = _LONGEST * _per_log_odds(composite.link, *labels.rates)
        self.scale: float | None = None
        self.weight = labels.weight / labels.weight.mean()
        self.weighted = bool(np.any(self.weight != 1.0))

    def __call__(self, v: Array, _: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        with np.errstate(all="ignore"):
            gradient, curvature = self._derivatives(v)
            curvature = np.maximum(curvature, np.abs(gradient) / self.longest)
            if self.weighted:
                gradient, curvature = gradient * self.weight, curvature * self.weight
            return _as_float32(gradient), _as_float32(curvature)

    def _derivatives(self, v: Array) -> tuple[Array, Array]:
        composite, positive = self.composite, self.labels.positive
        usual = self.log_loss._expected_curvature(positive, v)
        if composite == self.log_loss:
            return composite._gradient(positive, v), usual
        expected = composite._expected_curvature(positive, v)
        if self.scale is None:
            total, own = self.labels.mean(usual), self.labels.mean(expected)
            self.scale = total / max(own, _FLATTEST * total) if total > 0.0 else 0.0
        curvature = np.maximum(expected, composite._observed_curvature(positive, v))
        return self.scale * composite._gradient(positive, v), np.maximum(self.scale * curvature, usual)


def _per_log_odds(link: Link, p: float, q: float) -> float:
    """dv/d(log-odds) at a probability; infinite, which bounds nothing, where the derivative underflows."""
    derivative = float(link.inverse_derivative(link.link(p, q)))
    return p * q / derivative if derivative > 0.0 else np.inf


def _as_float32(x: Array) -> NDArray[np.float32]:
    """Finite in any case: an exponential loss may overflow, and a curvature at the edge of a link's support."""
    return np.clip(np.nan_to_num(x), -_LARGEST, _LARGEST).astype(np.float32)
