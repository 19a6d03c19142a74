"""Maxent's derived features of points, computed when asked for: hinges never become a matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from properly.maxent.design import Design, Indices, same_rows
from properly.numeric.probabilities import Array


class Pieces(NamedTuple):
    """Features of one knot κ of one column u in [0, 1], of three shapes.

    "up": max(u - κ, 0)/(1 - κ), "down": max(κ - u, 0)/κ, "step": 1 where u ≥ κ, else 0.
    """

    shape: NDArray[np.str_]
    column: Indices
    knot: Indices  # which of the column's knots


class Recipe(NamedTuple):
    """Which features are derived, in the order in which they come.

    `knots` has one row for every column, filled up with infinity.
    """

    linear: Indices
    quadratic: Indices
    products: NDArray[np.intp]  # of shape (products, 2)
    product_low: Array
    product_high: Array
    categories: NDArray[np.intp]  # of shape (categories, 2): categorical column, code
    pieces: Pieces
    knots: Array

    @property
    def n_whole(self) -> int:
        """The number of features that are computed as they are, not from knots."""
        return len(self.linear) + len(self.quadratic) + len(self.products) + len(self.categories)


def product_pairs(columns: Indices) -> NDArray[np.intp]:
    return np.array(list(combinations(columns.tolist(), 2)), dtype=np.intp).reshape(-1, 2)


def whole_features(recipe: Recipe, u: Array, codes: NDArray[np.intp], clamp: bool) -> Array:
    """Linear, quadratic, product and category features, of shape (features, points)."""
    left, right = recipe.products.T
    span = recipe.product_high - recipe.product_low
    product = (u[left] * u[right] - recipe.product_low[:, None]) / np.where(span > 0.0, span, 1.0)[:, None]
    if clamp:
        np.clip(product, 0.0, 1.0, out=product)
    column, code = recipe.categories.T
    return np.concatenate([u[recipe.linear], u[recipe.quadratic] ** 2, product, codes[column] == code[:, None]])


@dataclass(frozen=True)
class DerivedDesign(Design):
    """`u` are the columns scaled to [0, 1], of shape (columns, points), `whole` the features that need no knots.

    `bins` says between which of its column's knots every u lies.
    """

    derived: ClassVar[bool] = True
    recipe: Recipe
    u: Array
    whole: Array
    bins: Indices

    @classmethod
    def of(cls, recipe: Recipe, u: Array, codes: NDArray[np.intp], clamp: bool) -> Self:
        bins = np.empty(u.shape, dtype=np.intp)
        for column, knots in enumerate(recipe.knots):
            bins[column] = np.searchsorted(knots, u[column], side="right")
        return cls(recipe, u, whole_features(recipe, u, codes, clamp), bins)

    @property
    def n_points(self) -> int:
        return self.u.shape[1]

    @property
    def n_features(self) -> int:
        return self.recipe.n_whole + len(self.recipe.pieces.knot)

    @property
    def groups(self) -> Indices:
        """Every whole feature is a group of its own; so are the pieces of one shape of one column."""
        pieces = self.recipe.pieces
        _, shape = np.unique(pieces.shape, return_inverse=True)
        return np.concatenate([np.arange(self.recipe.n_whole), self.recipe.n_whole + 3 * pieces.column + shape])

    def columns(self, which: Indices) -> Array:
        whole = which < self.recipe.n_whole
        result = np.empty((len(which), self.n_points))
        result[whole] = self.whole[which[whole]]
        shapes, column, knot = (part[which[~whole] - self.recipe.n_whole] for part in self.recipe.pieces)
        rows = np.flatnonzero(~whole)
        kappa = self.recipe.knots[column, knot][:, None]
        for shape, formula in _SHAPES.items():
            chosen = shapes == shape
            if chosen.any():
                result[rows[chosen]] = formula(self.u[column[chosen]], kappa[chosen])
        return result

    def sums(self, weight: Array) -> Array:
        """Hinges by sums within bins and cumulative sums of these: over all u < κ, Σ w (κ - u)/κ = Σ w - Σ w u/κ.

        Those that go up are the same in 1 - u, so that nothing cancels, however close to an end a knot lies.
        """
        width = self.recipe.knots.shape[1] + 1
        mass, from_low, from_high = np.empty((3, len(self.u), width))
        for j, (u, bins) in enumerate(zip(self.u, self.bins, strict=True)):
            mass[j] = np.bincount(bins, weight, width)
            from_low[j] = np.bincount(bins, weight * u, width)
            from_high[j] = np.bincount(bins, weight * (1.0 - u), width)
        below = mass.cumsum(axis=1)[:, :-1], from_low.cumsum(axis=1)[:, :-1]
        above = mass[:, ::-1].cumsum(axis=1)[:, -2::-1], from_high[:, ::-1].cumsum(axis=1)[:, -2::-1]
        shapes, column, knot = self.recipe.pieces
        at, kappa = (column, knot), self.recipe.knots[column, knot]
        pieces = np.select(
            [shapes == "up", shapes == "down"],
            [above[0][at] - above[1][at] / (1.0 - kappa), below[0][at] - below[1][at] / kappa],
            above[0][at],
        )
        return np.concatenate([self.whole @ weight, pieces])

    def scores(self, coef: Array) -> Array:
        """The pieces of a column add up to a line a + b u within every bin."""
        whole, pieces = coef[: self.recipe.n_whole], coef[self.recipe.n_whole :]
        shapes, column, knot = self.recipe.pieces
        kappa = self.recipe.knots[column, knot]
        shape = (len(self.u), self.recipe.knots.shape[1] + 1)
        rise, level = np.zeros(shape), np.zeros(shape)  # what changes at the knot that opens a bin
        slope = pieces / np.where(shapes == "up", 1.0 - kappa, kappa)
        hinge = shapes != "step"  # a "down" hinge is -(u - κ)/κ, with its kink the same way as an "up" hinge's
        np.add.at(rise, (column[hinge], knot[hinge] + 1), slope[hinge])
        np.add.at(level, (column, knot + 1), np.where(hinge, -slope * kappa, pieces))
        down = shapes == "down"
        np.add.at(rise, (column[down], 0), -slope[down])
        np.add.at(level, (column[down], 0), pieces[down])
        total = whole @ self.whole
        for u, bins, a, b in zip(self.u, self.bins, level.cumsum(axis=1), rise.cumsum(axis=1), strict=True):
            total += a[bins] + b[bins] * u
        return np.asarray(total)

    @property
    def ranges(self) -> tuple[Array, Array]:
        return np.zeros(self.n_features), np.ones(self.n_features)

    def distinct(self) -> Indices:
        categories = self.whole[self.recipe.n_whole - len(self.recipe.categories) :]
        return same_rows(np.concatenate([self.u, categories]).T)

    def take(self, rows: Indices) -> Self:
        return replace(self, u=self.u[:, rows], whole=self.whole[:, rows], bins=self.bins[:, rows])


_SHAPES: dict[str, Callable[[Array, Array], Array]] = {
    "up": lambda u, kappa: np.maximum(u - kappa, 0.0) / (1.0 - kappa),
    "down": lambda u, kappa: np.maximum(kappa - u, 0.0) / kappa,
    "step": lambda u, kappa: (u >= kappa).astype(np.float64),
}
