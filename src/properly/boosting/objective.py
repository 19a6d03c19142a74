"""What LightGBM is told about a loss: gradient and curvature of every row; and what held-out labels say about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from properly.links import Link
from properly.losses import Composite, LogLoss, SoftmaxComposite
from properly.losses.softmax import AnyComposite
from properly.numeric.functions import softmax
from properly.numeric.limits import FARTHEST
from properly.numeric.probabilities import Array

_LONGEST = 100.0  # the longest step of a row in log-odds, before the learning rate
_FLATTEST = 1e-12  # times the curvature of log loss: a flatter loss counts as if it were as flat as this
_LARGEST = 1e30  # what LightGBM may be given, which calculates in float32


class Labels(NamedTuple):
    """What rows are, as a composite takes it, and their weights: above 0, and scaled so that no sum overflows."""

    target: NDArray[Any]  # whether a row has the class of the score, or the codes of the classes for a softmax
    weight: Array

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        target, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
        return cls(target, weight)

    @property
    def rates(self) -> tuple[float, float]:
        """The base rate p and 1 - p, each accurate to its own last digits however unequal the weights."""
        positive, negative = float(self.weight[self.target].sum()), float(self.weight[~self.target].sum())
        return positive / (positive + negative), negative / (positive + negative)

    def start(self, composite: AnyComposite, n_classes: int) -> Array:
        """The scores of the base rates; ∓1e100 for a class that no row has, or every row."""
        if isinstance(composite, Composite):
            start = float(composite.link.link(*self.rates))
            return np.array([start if np.isfinite(start) else np.copysign(FARTHEST, start)])
        sums = np.bincount(self.target, self.weight, n_classes)
        scores = np.full(n_classes, -FARTHEST)
        scores[sums > 0.0] = composite._scores_of(sums[sums > 0.0] / sums.sum(), 0)
        return scores

    def mean(self, losses: Array) -> float:
        with np.errstate(invalid="ignore", over="ignore"):
            return float(np.average(losses, weights=self.weight))

    def losses(self, composite: AnyComposite, v: Array) -> Array:
        with np.errstate(all="ignore"):
            return composite._value(self.target, v)

    def cautious_losses(self, composite: AnyComposite, v: Array) -> Array:
        """The expected losses if each of the n labels is wrong with probability 1/(n + 2).

        That none of n labels contradicts a forecast close to 0 or 1 does not mean that the next one will not: by
        Laplace's rule of succession it does with about this probability. It hardly matters unless the loss grows faster
        than log loss.
        """
        doubt = 1.0 / (len(self.target) + 2.0)
        with np.errstate(all="ignore"):
            as_labelled, otherwise = composite._value(self.target, v), composite._value(~self.target, v)
            return (1.0 - doubt) * as_labelled + doubt * otherwise

    def clearly_smaller(self, losses: Array, before: Array) -> bool:
        """Whether the mean is smaller than before by more than a standard error of the difference.

        An infinite loss is never smaller, a finite one always smaller than an infinite one.
        """
        if not np.isfinite(losses).all():
            return False
        if not np.isfinite(before).all():
            return True
        gain, share = before - losses, self.weight / self.weight.sum()
        mean = self.mean(gain)
        return mean > float(np.sqrt(np.sum((share * (gain - mean)) ** 2)))


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

    With log loss and the logit the first three are one: p (1-p), LightGBM's own; for the softmax it is K/(K-1) p (1-p),
    since the scores of a row move at once; K counts the classes that occur. Weights are divided by their mean, so that
    none is too small or too large for float32.
    """

    def __init__(self, composite: AnyComposite, labels: Labels) -> None:
        self.composite, self.labels, self.longest = composite, labels, _LONGEST
        if isinstance(composite, Composite):
            self.log_loss = Composite(LogLoss(), composite.link)
            self.longest *= _per_log_odds(composite.link, *labels.rates)
        else:
            n_classes = max(len(np.unique(labels.target)), 2)
            self.together = n_classes / (n_classes - 1.0)
        self.scale: float | None = None
        self.weight = labels.weight / labels.weight.mean()
        self.weighted = bool(np.any(self.weight != 1.0))

    def __call__(self, v: Array, _: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        with np.errstate(all="ignore"):
            gradient, curvature = self._derivatives(v)
            curvature = np.maximum(curvature, np.abs(gradient) / self.longest)
            if self.weighted:
                weight = self.weight if v.ndim == 1 else self.weight[:, None]
                gradient, curvature = gradient * weight, curvature * weight
            return _as_float32(gradient), _as_float32(curvature)

    def _derivatives(self, v: Array) -> tuple[Array, Array]:
        composite, target = self.composite, self.labels.target
        if isinstance(composite, SoftmaxComposite):
            p = softmax(v, axis=1)
            gradient = p.copy()
            gradient[np.arange(len(p)), target] -= 1.0
            return gradient, self.together * p * (1.0 - p)
        usual = self.log_loss._expected_curvature(target, v)
        if composite == self.log_loss:
            return composite._gradient(target, v), usual
        expected = composite._expected_curvature(target, v)
        if self.scale is None:
            total, own = self.labels.mean(usual), self.labels.mean(expected)
            self.scale = total / max(own, _FLATTEST * total) if total > 0.0 else 0.0
        curvature = np.maximum(expected, composite._observed_curvature(target, v))
        return self.scale * composite._gradient(target, v), np.maximum(self.scale * curvature, usual)


def _per_log_odds(link: Link, p: float, q: float) -> float:
    """dv/d(log-odds) at a probability; infinite, which bounds nothing, where the derivative underflows."""
    derivative = float(link.inverse_derivative(link.link(p, q)))
    return p * q / derivative if derivative > 0.0 else np.inf


def _as_float32(x: Array) -> NDArray[np.float32]:
    """Finite in any case: an exponential loss may overflow, and a curvature at the edge of a link's support."""
    single = x.astype(np.float32)
    return single if np.isfinite(single).all() else np.clip(np.nan_to_num(x), -_LARGEST, _LARGEST).astype(np.float32)
