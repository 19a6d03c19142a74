"""The features of many points as the solver sees them: three products, whether they are stored or computed.

Maxent makes thousands of hinge features, each a simple function of one column, so their matrix is never formed. The
solver needs little of it: the sums over the points of every feature under some weights, the scores of the points under
some coefficients, and a few columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from properly.numeric.probabilities import Array

Indices = NDArray[np.intp]
_CELLS = 1 << 22  # of a block of columns: 32 MB


class DesignMatrix(ABC):
    """n points with J features each."""

    unit_range: ClassVar[bool]  # whether the features are made to have the range [0, 1]

    @property
    @abstractmethod
    def n_points(self) -> int: ...

    @property
    @abstractmethod
    def n_features(self) -> int: ...

    @property
    def groups(self) -> Indices:
        """The number of every feature's group. Those of one group resemble each other: try one of them at a time."""
        return np.arange(self.n_features)

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
    def take(self, points: Indices) -> Self:
        """The matrix of some of the points."""

    @abstractmethod
    def ranges(self) -> tuple[Array, Array]:
        """The lowest and the highest value of every feature."""

    @abstractmethod
    def distinct(self) -> Indices:
        """A number for every point, the same for points whose features are identical."""

    def moments(self, weight: Array) -> tuple[Array, Array]:
        """Mean and standard deviation (of the population) of every feature under weights.

        Two passes over one block of columns after the other, so that nothing cancels.
        """
        used = np.flatnonzero(weight)
        part, share = self.take(used), weight[used] / weight.sum()
        mean, deviation = np.empty((2, self.n_features))
        step = max(1, _CELLS // max(1, len(used)))
        for start in range(0, self.n_features, step):
            which = np.arange(start, min(start + step, self.n_features))
            block = part.columns(which)
            mean[which] = block @ share
            # The mean of equal values is rounded; they do not deviate from it all the same.
            equal = block.min(axis=1) == block.max(axis=1)
            mean[which[equal]] = block[equal, 0]
            block -= mean[which, None]
            deviation[which] = np.sqrt((block * block) @ share)
        return mean, deviation


@dataclass(frozen=True)
class StoredMatrix(DesignMatrix):
    """Features given as a matrix, dense or sparse, with the features in rows so that each one is contiguous."""

    unit_range: ClassVar[bool] = False
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

    def columns(self, which: Indices) -> Array:
        part = self.rows[which]
        return np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)

    def sums(self, weight: Array) -> Array:
        return np.asarray(self.rows @ weight)

    def scores(self, coef: Array) -> Array:
        return np.asarray(self.rows.T @ coef)

    def take(self, points: Indices) -> Self:
        return type(self)(self.rows[:, points])

    def ranges(self) -> tuple[Array, Array]:
        low, high = self.rows.min(axis=1), self.rows.max(axis=1)
        return (low.toarray(), high.toarray()) if sparse.issparse(low) else (low, high)

    def distinct(self) -> Indices:
        return _numbers_of_rows(self.rows.T.toarray() if sparse.issparse(self.rows) else self.rows.T)


# Features of a column u in [0, 1] with a knot κ.
_KNOT_FORMULAS: dict[str, Callable[[Array, Array], Array]] = {
    "up": lambda u, kappa: np.maximum(u - kappa, 0.0) / (1.0 - kappa),
    "down": lambda u, kappa: np.maximum(kappa - u, 0.0) / kappa,
    "step": lambda u, kappa: (u >= kappa).astype(np.float64),
}


class KnotFeatures(NamedTuple):
    """The features that have a knot: their formula (a key of the table above), column, and which of its knots."""

    shape: NDArray[np.str_]
    column: Indices
    knot: Indices


class FeatureFormulas(NamedTuple):
    """Which features are computed, in the order in which they come: plain ones, without knots, first.

    `knots` has one row for every column, filled up with infinity.
    """

    linear: Indices
    quadratic: Indices
    products: NDArray[np.intp]  # of shape (products, 2)
    product_low: Array
    product_high: Array
    categories: NDArray[np.intp]  # of shape (categories, 2): categorical column, code
    knot_features: KnotFeatures
    knots: Array

    @property
    def n_plain(self) -> int:
        return len(self.linear) + len(self.quadratic) + len(self.products) + len(self.categories)

    def plain(self, u: Array, codes: NDArray[np.intp], clamp: bool) -> Array:
        """Linear, quadratic, product and category features, of shape (features, points)."""
        left, right = self.products.T
        span = self.product_high - self.product_low
        product = (u[left] * u[right] - self.product_low[:, None]) / np.where(span > 0.0, span, 1.0)[:, None]
        if clamp:
            np.clip(product, 0.0, 1.0, out=product)
        column, code = self.categories.T
        return np.concatenate([u[self.linear], u[self.quadratic] ** 2, product, codes[column] == code[:, None]])


@dataclass(frozen=True)
class ComputedMatrix(DesignMatrix):
    """Features of columns `u` scaled to [0, 1], of shape (columns, points); `plain` are those without knots.

    `bins` says between which of its column's knots every u lies.
    """

    unit_range: ClassVar[bool] = True
    formulas: FeatureFormulas
    u: Array
    plain: Array
    bins: Indices

    @classmethod
    def of(cls, formulas: FeatureFormulas, u: Array, codes: NDArray[np.intp], clamp: bool) -> Self:
        bins = np.empty(u.shape, dtype=np.intp)
        for column, knots in enumerate(formulas.knots):
            bins[column] = np.searchsorted(knots, u[column], side="right")
        return cls(formulas, u, formulas.plain(u, codes, clamp), bins)

    @property
    def n_points(self) -> int:
        return self.u.shape[1]

    @property
    def n_features(self) -> int:
        return self.formulas.n_plain + len(self.formulas.knot_features.knot)

    @property
    def groups(self) -> Indices:
        """Every plain feature is a group of its own; features of one shape with knots in one column are another."""
        n_plain, (shapes, column, _) = self.formulas.n_plain, self.formulas.knot_features
        _, shape = np.unique(shapes, return_inverse=True)
        return np.concatenate([np.arange(n_plain), n_plain + 3 * column + shape])

    def columns(self, which: Indices) -> Array:
        plain = which < self.formulas.n_plain
        result = np.empty((len(which), self.n_points))
        result[plain] = self.plain[which[plain]]
        shapes, column, knot = (part[which[~plain] - self.formulas.n_plain] for part in self.formulas.knot_features)
        rows = np.flatnonzero(~plain)
        kappa = self.formulas.knots[column, knot][:, None]
        for shape, formula in _KNOT_FORMULAS.items():
            chosen = shapes == shape
            if chosen.any():
                result[rows[chosen]] = formula(self.u[column[chosen]], kappa[chosen])
        return result

    def sums(self, weight: Array) -> Array:
        """Hinges by sums within bins and cumulative sums of these: over all u < κ, Σ w (κ - u)/κ = Σ w - Σ w u/κ.

        Those that go up are the same in 1 - u, so that nothing cancels, however close to an end a knot lies.
        """
        width = self.formulas.knots.shape[1] + 1
        mass, from_low, from_high = np.empty((3, len(self.u), width))
        for j, (u, bins) in enumerate(zip(self.u, self.bins, strict=True)):
            mass[j] = np.bincount(bins, weight, width)
            from_low[j] = np.bincount(bins, weight * u, width)
            from_high[j] = np.bincount(bins, weight * (1.0 - u), width)
        below = mass.cumsum(axis=1)[:, :-1], from_low.cumsum(axis=1)[:, :-1]
        above = mass[:, ::-1].cumsum(axis=1)[:, -2::-1], from_high[:, ::-1].cumsum(axis=1)[:, -2::-1]
        shapes, column, knot = self.formulas.knot_features
        at, kappa = (column, knot), self.formulas.knots[column, knot]
        with_knots = np.select(
            [shapes == "up", shapes == "down"],
            [above[0][at] - above[1][at] / (1.0 - kappa), below[0][at] - below[1][at] / kappa],
            above[0][at],
        )
        return np.concatenate([self.plain @ weight, with_knots])

    def scores(self, coef: Array) -> Array:
        """The features with knots in one column add up to a line a + b u within every bin."""
        plain, with_knots = np.split(coef, [self.formulas.n_plain])
        shapes, column, knot = self.formulas.knot_features
        kappa = self.formulas.knots[column, knot]
        # What a and b change by at the knot where a bin begins.
        level, rise = np.zeros((2, len(self.u), self.formulas.knots.shape[1] + 1))
        slope = with_knots / np.where(shapes == "up", 1.0 - kappa, kappa)
        hinge = shapes != "step"  # a "down" hinge is -(u - κ)/κ, with its kink the same way as an "up" hinge's
        np.add.at(rise, (column[hinge], knot[hinge] + 1), slope[hinge])
        np.add.at(level, (column, knot + 1), np.where(hinge, -slope * kappa, with_knots))
        down = shapes == "down"
        np.add.at(rise, (column[down], 0), -slope[down])
        np.add.at(level, (column[down], 0), with_knots[down])
        total = plain @ self.plain
        for u, bins, a, b in zip(self.u, self.bins, level.cumsum(axis=1), rise.cumsum(axis=1), strict=True):
            total += a[bins] + b[bins] * u
        return np.asarray(total)

    def take(self, points: Indices) -> Self:
        return replace(self, u=self.u[:, points], plain=self.plain[:, points], bins=self.bins[:, points])

    def ranges(self) -> tuple[Array, Array]:
        return np.zeros(self.n_features), np.ones(self.n_features)

    def distinct(self) -> Indices:
        categories = self.plain[self.formulas.n_plain - len(self.formulas.categories) :]
        return _numbers_of_rows(np.concatenate([self.u, categories]).T)


def _numbers_of_rows(table: Array) -> Indices:
    """A number for every row, the same for rows that are identical."""
    return np.unique(table, axis=0, return_inverse=True)[1].ravel()
