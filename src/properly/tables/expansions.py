"""Features beyond straight lines, in front of a linear model: bends, products, and distances to rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from properly.inputs.options import choose
from properly.inputs.weights import checked_weight
from properly.numeric import functions as fn
from properly.numeric.arrays import Array, beside, columns_at, constant, namespace
from properly.tables.models import LinearFeatures

_KNOTS = 6  # of a column; the shares of the rows between them are equal
_SMALLEST = 1e-10  # eigenvalues below this share of the largest are rounding


class Expansion(Protocol):
    """A map from linear features to more, fitted to those of the training rows."""

    @classmethod
    def learn(cls, Z: Array, options: ExpandedFeatures, random: np.random.RandomState) -> Self: ...

    def __call__(self, Z: Array) -> Array: ...


@dataclass(frozen=True)
class Hinges:
    """The features, and max(z - knot, 0) for the knots of every column: a linear model of these has bends there."""

    columns: NDArray[np.intp]
    knots: Array

    @classmethod
    def learn(cls, Z: Array, options: ExpandedFeatures, random: np.random.RandomState) -> Self:
        columns, knots = [], []
        for j in range(Z.shape[1]):
            inner = np.unique(np.quantile(Z[:, j], np.linspace(0.0, 1.0, _KNOTS + 2)[1:-1]))
            inner = inner[(inner > Z[:, j].min()) & (inner < Z[:, j].max())]
            if len(np.unique(Z[:, j])) > 2:
                columns += [j] * len(inner)
                knots += inner.tolist()
        return cls(np.array(columns, dtype=np.intp), np.array(knots))

    def __call__(self, Z: Array) -> Array:
        if not len(self.columns):
            return Z
        bent = columns_at(Z, self.columns) - constant(self.knots, Z)
        return beside(Z, namespace(Z).maximum(bent, 0.0 * bent))


@dataclass(frozen=True)
class Products:
    """The features, their squares and the products of any two, without those that are constant."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]

    @classmethod
    def learn(cls, Z: Array, options: ExpandedFeatures, random: np.random.RandomState) -> Self:
        first, second = np.triu_indices(Z.shape[1])
        binary = np.array([len(np.unique(column)) <= 2 for column in Z.T], dtype=bool)
        told = ~((first == second) & binary[first])
        first, second = first[told], second[told]
        varies = np.array([np.ptp(Z[:, a] * Z[:, b]) > 0.0 for a, b in zip(first, second, strict=True)], dtype=bool)
        return cls(first[varies], second[varies])

    def __call__(self, Z: Array) -> Array:
        if not len(self.first):
            return Z
        return beside(Z, columns_at(Z, self.first) * columns_at(Z, self.second))


@dataclass(frozen=True)
class Landmarks:
    """The Gaussian kernel of rows and some rows of the training data, exp(-γ‖z - z_k‖²), turned so that its products
    are the kernel between the latter (Nyström's approximation)."""

    rows: Array
    gamma: float
    root: Array

    @classmethod
    def learn(cls, Z: Array, options: ExpandedFeatures, random: np.random.RandomState) -> Self:
        # Distances grow with the number of features that vary.
        gamma = options.width / max(float(Z.var(axis=0).sum()), np.finfo(np.float64).tiny)
        rows = Z[np.sort(random.permutation(len(Z))[: options.n_landmarks])]
        values, vectors = np.linalg.eigh(_kernel(rows, rows, gamma))
        kept = values > _SMALLEST * values[-1]
        return cls(rows, gamma, vectors[:, kept] / np.sqrt(values[kept]))

    def __call__(self, Z: Array) -> Array:
        return fn.matmul(_kernel(Z, self.rows, self.gamma), self.root)


def _kernel(Z: Array, rows: Array, gamma: float) -> Array:
    xp = namespace(Z)
    products = fn.matmul(Z, rows.T)
    squares = xp.sum(Z * Z, axis=1, keepdims=True) + constant(np.sum(rows * rows, axis=1)[None, :], Z)
    distances = squares - 2.0 * products
    return xp.exp(-gamma * xp.maximum(distances, 0.0 * distances))


EXPANSIONS: dict[str, type[Expansion]] = {"bends": Hinges, "products": Products, "kernel": Landmarks}


class ExpandedFeatures(TransformerMixin, BaseEstimator):
    """`LinearFeatures` and functions of them, with mean 0 and standard deviation 1 (kernel features are not scaled).

    Parameters
    ----------
    kind : {"bends", "products", "kernel"}
        bends: every column of numbers gets six hinges at its quantiles, so that a linear model becomes an additive
        model of broken lines. products: squares and products of two. kernel: similarity to rows of the training data.
    categorical : sequence of int, default ()
        As in `LinearFeatures`, which has the other rules about missing values and categories.
    width : float, default 1.0
        Of the kernel: γ times the summed variance of the features. The larger, the narrower.
    n_landmarks : int, default 300
        Of the kernel: how many rows are compared with.
    random_state : int, default 0
        Draws these rows.

    Examples
    --------
    >>> X = [[1.0, 2.0], [3.0, 1.0], [2.0, 5.0], [0.0, 0.0]]
    >>> ExpandedFeatures("products").fit_transform(X).shape
    (4, 5)
    """

    def __init__(
        self,
        kind: str,
        categorical: Sequence[int] = (),
        *,
        width: float = 1.0,
        n_landmarks: int = 300,
        random_state: int = 0,
    ) -> None:
        self.kind = kind
        self.categorical = categorical
        self.width = width
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the features; means and scales are weighted, knots and landmarks count the rows of positive weight."""
        learn = choose(self.kind, EXPANSIONS, "kind").learn
        self.base_ = LinearFeatures(self.categorical).fit(X, y, sample_weight)
        self.n_features_in_ = self.base_.n_features_in_
        if hasattr(self.base_, "feature_names_in_"):
            self.feature_names_in_ = self.base_.feature_names_in_
        Z = self.base_.transform(X)
        weight = checked_weight(sample_weight, len(Z), positive_sum=True)
        if weight is not None:
            Z, weight = Z[weight > 0.0], weight[weight > 0.0]
        self.expansion_ = learn(Z, self, check_random_state(self.random_state))
        expanded = self.expansion_(Z)
        self.mean_ = np.average(expanded, axis=0, weights=weight)
        spread = np.sqrt(np.average((expanded - self.mean_) ** 2, axis=0, weights=weight))
        scaled = (spread > 1e-12 * np.abs(self.mean_)) & (self.kind != "kernel")
        self.scale_ = np.where(scaled, spread, 1.0)
        return self

    def transform(self, X: Any) -> Array:
        """The features of rows, of shape (n_samples, n_features_out)."""
        check_is_fitted(self, "expansion_")
        expanded = self.expansion_(self.base_.transform(X))
        return (expanded - constant(self.mean_, expanded)) / constant(self.scale_, expanded)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
