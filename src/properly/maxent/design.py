"""Features of many points as the solvers of this package see them: three products, whatever the storage.

Maxent's derived features are many (thousands of hinges) and each is a simple function of one column, so the whole
matrix is never formed. What a solver needs of it is little: the sums over the points of every feature under some
weights, the scores of the points under some coefficients, and a few columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from properly.numeric.probabilities import Array

Indices = NDArray[np.intp]
_CELLS = 1 << 22  # of a block of columns: 32 MB


class Moments(NamedTuple):
    """Mean and standard deviation (of the population) of every feature under weights."""

    mean: Array
    deviation: Array


class Design(ABC):
    """n points with J features each; `derived` ones lie in [0, 1]."""

    derived: ClassVar[bool]

    @property
    @abstractmethod
    def n_points(self) -> int: ...

    @property
    @abstractmethod
    def n_features(self) -> int: ...

    @property
    @abstractmethod
    def groups(self) -> Indices:
        """The number of every feature's group. Those of one group resemble each other: try one of them at a time."""

    @abstractmethod
    def columns(self, which: Indices) -> Array:
        """Some features of all points, of shape (len(which), n_points)."""

    @abstractmethod
    def sums(self, weight: Array) -> Array:
        """Σ_i weight_i f_j(x_i) of every feature j, for weights of shape (n_points,)."""

    @abstractmethod
    def scores(self, coef: Array) -> Array:
        """Σ_j coef_j f_j(x_i) of every point, for coefficients of shape (n_features,)."""

    @abstractmethod
    def take(self, rows: Indices) -> Self:
        """The design of some of the points."""

    @property
    @abstractmethod
    def ranges(self) -> tuple[Array, Array]:
        """The lowest and the highest value of every feature."""

    @abstractmethod
    def distinct(self) -> Indices:
        """A number for every point, the same for points whose features are identical."""

    def moments(self, weight: Array) -> Moments:
        """Two passes over one block of columns after the other, so that nothing cancels."""
        rows = np.flatnonzero(weight)
        part, share = self.take(rows), weight[rows] / weight.sum()
        mean, deviation = np.empty(self.n_features), np.empty(self.n_features)
        step = max(1, _CELLS // max(1, len(rows)))
        for start in range(0, self.n_features, step):
            which = np.arange(start, min(start + step, self.n_features))
            block = part.columns(which)
            mean[which] = block @ share
            # The mean of equal values is rounded; they do not deviate from it all the same.
            equal = block.min(axis=1) == block.max(axis=1)
            mean[which[equal]] = block[equal, 0]
            block -= mean[which, None]
            deviation[which] = np.sqrt((block * block) @ share)
        return Moments(mean, deviation)


@dataclass(frozen=True)
class MatrixDesign(Design):
    """Features given as a matrix, dense or sparse, with the features in rows so that each one is contiguous."""

    derived: ClassVar[bool] = False
    rows: Any

    @classmethod
    def of(cls, X: Any) -> Self:
        if sparse.issparse(X):
            return cls(sparse.csr_array(X.T, dtype=np.float64))
        return cls(np.ascontiguousarray(np.asarray(X, dtype=np.float64).T))

    @property
    def n_points(self) -> int:
        return self.rows.shape[1]

    @property
    def n_features(self) -> int:
        return self.rows.shape[0]

    @property
    def groups(self) -> Indices:
        return np.arange(self.n_features)

    def columns(self, which: Indices) -> Array:
        part = self.rows[which]
        return np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)

    def sums(self, weight: Array) -> Array:
        return np.asarray(self.rows @ weight)

    def scores(self, coef: Array) -> Array:
        return np.asarray(self.rows.T @ coef)

    def take(self, rows: Indices) -> Self:
        return type(self)(self.rows[:, rows])

    @property
    def ranges(self) -> tuple[Array, Array]:
        low, high = self.rows.min(axis=1), self.rows.max(axis=1)
        return (low.toarray(), high.toarray()) if sparse.issparse(low) else (low, high)

    def distinct(self) -> Indices:
        return same_rows(self.rows.T.toarray() if sparse.issparse(self.rows) else self.rows.T)


def same_rows(table: Array) -> Indices:
    """A number for every row, the same for rows that are identical."""
    return np.unique(table, axis=0, return_inverse=True)[1].ravel()
