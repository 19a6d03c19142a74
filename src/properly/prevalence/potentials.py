"""The two functions of scores that maxent and class-robust logistic regression minimise.

Both problems have the scores s_i^y = Σ_j λ_j^y (f_j(x_i) - μ̃_j^y) + Σ_j β_j^y |λ_j^y| of the points i under every
class y that has labels, and differ in the convex function of them that is made small. Scores have the shape (classes,
points).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import special as sc

from properly.probabilities import Array


class Potential(ABC):
    """A smooth, convex, increasing function of the scores."""

    @abstractmethod
    def value(self, scores: Array) -> float: ...

    @abstractmethod
    def derivative(self, scores: Array) -> Array:
        """Of the shape of the scores. Divided by its sum, a row is the density of its class over the points."""

    @abstractmethod
    def hessian(self, derivative: Array, columns: list[Array]) -> Array:
        """The curvature along `columns`, of shape (coefficients, points) for every class.

        Coefficients follow each other class by class.
        """


@dataclass(frozen=True)
class LogSum(Potential):
    """ln Σ_i π_i exp(s_i), of one class: the objective of maxent, with π the weights of the points, of sum 1."""

    weight: Array

    def value(self, scores: Array) -> float:
        highest = float(scores[0].max())
        return highest + float(np.log(np.exp(scores[0] - highest) @ self.weight))

    def derivative(self, scores: Array) -> Array:
        density = np.exp(scores - scores.max()) * self.weight
        return np.asarray(density / density.sum())

    def hessian(self, derivative: Array, columns: list[Array]) -> Array:
        centred = columns[0] - (columns[0] @ derivative[0])[:, None]
        centred *= np.sqrt(derivative[0])
        return np.asarray(centred @ centred.T)


@dataclass(frozen=True)
class LogMixture(Potential):
    """Σ_i π_i ln(ν(rest) + Σ_y ν(y) exp(s_i^y)): the objective of class-robust logistic regression.

    The sum goes over the classes that have labels; the rest has the scores 0.
    """

    weight: Array
    log_prior: Array  # ln ν of the classes with scores
    log_rest: float  # ln ν of all others together, -inf if there are none

    def _shifted(self, scores: Array) -> Array:
        rest = np.full((1, scores.shape[1]), self.log_rest)
        return np.concatenate([scores + self.log_prior[:, None], rest])

    def value(self, scores: Array) -> float:
        return float(sc.logsumexp(self._shifted(scores), axis=0) @ self.weight)

    def derivative(self, scores: Array) -> Array:
        return np.asarray(sc.softmax(self._shifted(scores), axis=0)[:-1] * self.weight)

    def hessian(self, derivative: Array, columns: list[Array]) -> Array:
        share = derivative / self.weight
        blocks = [
            [self._block(derivative, share, columns, y, other) for other in range(len(columns))]
            for y in range(len(columns))
        ]
        return np.block(blocks)

    def _block(self, derivative: Array, share: Array, columns: list[Array], y: int, other: int) -> Array:
        if y != other:
            return np.asarray(-(columns[y] * (derivative[y] * share[other])) @ columns[other].T)
        scaled = columns[y] * np.sqrt(derivative[y] * (1.0 - share[y]))
        return np.asarray(scaled @ scaled.T)
