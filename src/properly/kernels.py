"""Kernels: what is added up over the rows of one block.

A kernel takes a block and the parameters of the moment and returns a `Statistic`, the only thing that leaves a block.
Kernels do not know where the block lives; engines do not know what is added up. All sums are float64.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from properly.losses.base import Loss, mix
from properly.losses.composite import Composite
from properly.losses.softmax import SoftmaxComposite
from properly.numeric.probabilities import Array


class Block(NamedTuple):
    """Some rows: features, class codes, weights and offsets of the score (None: 1 and 0), and their parts in splits.

    `fold` has a column per split of a cross-validation: 1 where a row trains, -1 where it judges, 0 for neither.
    """

    X: Any
    y: NDArray[np.intp]
    weight: Array | None = None
    offset: Array | None = None
    fold: NDArray[np.int8] | None = None


class Statistic:
    """Sums over rows; adding two statistics gives that of the rows together."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))  # type: ignore[arg-type]


@dataclass(frozen=True)
class LinearModel:
    """Scores linear in the features, judged by a composite loss.

    Coefficients are an array of shape (scores, width): one row per score (one for a binary problem, K for a softmax),
    one column per feature and, if width exceeds their number, a last one for the intercept. `positive` is the class
    code that a binary composite calls 1. `center` is subtracted from the features: sums of squares cannot be
    centred afterwards without cancellation.
    """

    composite: Composite | SoftmaxComposite
    positive: int = 1
    center: Array | None = None

    def design(self, block: Block) -> Any:
        return block.X if self.center is None else block.X - self.center

    def scores(self, block: Block, X: Any, coef: Array) -> Array:
        k = X.shape[1]
        scores = np.asarray(X @ coef[:, :k].T, dtype=np.float64)
        if coef.shape[1] > k:
            scores += coef[:, k]
        offset = block.offset
        if isinstance(self.composite, SoftmaxComposite):
            return scores if offset is None else scores + offset
        if offset is None:
            return scores[:, 0]
        return scores[:, 0] + (offset if offset.ndim == 1 else offset[:, self.positive])

    def target(self, block: Block) -> NDArray[Any]:
        return block.y if isinstance(self.composite, SoftmaxComposite) else block.y == self.positive


def weighted(block: Block, x: Array) -> Array:
    if block.weight is None:
        return x
    # A row of weight 0 counts for nothing, even if its loss is infinite.
    weight = block.weight.reshape(-1, *(1,) * (x.ndim - 1))
    return np.where(weight == 0.0, 0.0, weight * x)


def _collect(X: Any, rows: Array, width: int) -> Array:
    """Σ_i rows_i ⊗ (x_i, 1): shape (scores, width)."""
    rows = np.ascontiguousarray(rows.reshape(X.shape[0], -1).T)  # BLAS is twice as fast with it this way round
    total = np.empty((len(rows), width))
    total[:, : X.shape[1]] = rows @ X
    total[:, X.shape[1] :] = rows.sum(axis=1)[:, None]
    return total


@dataclass
class Classes(Statistic):
    """How many rows there are, and their weight by class."""

    rows: int
    weight: Array


def classes(block: Block, n_classes: int) -> Classes:
    return Classes(len(block.y), np.bincount(block.y, block.weight, n_classes).astype(np.float64))


@dataclass
class Moments(Statistic):
    """The weighted sums of the features and of their squares, and how many rows came sparse."""

    total: Array
    squares: Array
    sparse_rows: int


def moments(block: Block, center: Array | None) -> Moments:
    weight = np.ones(block.X.shape[0]) if block.weight is None else block.weight
    if sparse.issparse(block.X):
        return Moments(block.X.T @ weight, block.X.power(2).T @ weight, block.X.shape[0])
    X = block.X if center is None else block.X - center
    return Moments(X.T @ weight, np.square(X).T @ weight, 0)


@dataclass
class OffsetRange(Statistic):
    """The smallest and the largest offset of the score."""

    smallest: float
    largest: float

    def __add__(self, other: Self) -> Self:
        return type(self)(min(self.smallest, other.smallest), max(self.largest, other.largest))


def offset_range(block: Block, positive: int) -> OffsetRange:
    if block.offset is None:
        return OffsetRange(0.0, 0.0)
    offset = block.offset if block.offset.ndim == 1 else block.offset[:, positive]
    return OffsetRange(float(offset.min()), float(offset.max()))


@dataclass
class Gradient(Statistic):
    """The summed loss (nan when not asked for) and its gradient."""

    value: float
    gradient: Array


def gradient(block: Block, model: LinearModel, coef: Array, want_value: bool) -> Gradient:
    X, y = model.design(block), model.target(block)
    with np.errstate(all="ignore"):
        v = model.scores(block, X, coef)
        value = float(weighted(block, model.composite._value(y, v)).sum()) if want_value else np.nan
        slopes = weighted(block, model.composite._gradient(y, v))
        return Gradient(value, _collect(X, slopes, coef.shape[1]))


@dataclass
class FoldGradients(Statistic):
    """For every split, the gradient over the rows that train and the summed score of those that judge."""

    gradient: Array
    held_out: Array


def fold_gradients(block: Block, model: LinearModel, coef: Array, score: Loss) -> FoldGradients:
    """Row f of `coef` belongs to split f: one product with the features serves them all."""
    composite, fold = cast(Composite, model.composite), cast("NDArray[np.int8]", block.fold)
    X, y = model.design(block), model.target(block)[:, None]
    with np.errstate(all="ignore"):
        v = fold_scores(block, X, coef)
        slopes = np.where(fold > 0, weighted(block, composite._gradient(y, v)), 0.0)
        row, split = np.nonzero(fold < 0)
        judged = mix(y[row, 0], *score._losses(composite.link._probabilities(v[row, split])))
        if block.weight is not None:
            judged = judged * block.weight[row]
        held_out = np.bincount(split, judged, len(coef)).astype(np.float64)
        return FoldGradients(_collect(X, slopes, coef.shape[1]), held_out)


def fold_scores(block: Block, X: Any, coef: Array) -> Array:
    """The score of every row under the coefficients of every split."""
    k = X.shape[1]
    v = np.asarray(X @ coef[:, :k].T, dtype=np.float64)
    if coef.shape[1] > k:
        v += coef[:, k]
    return v if block.offset is None else v + block.offset[:, None]


@dataclass
class Hessian(Statistic):
    """The summed curvature matrix over the flattened coefficients (or some of them)."""

    hessian: Array


def hessian(block: Block, model: LinearModel, coef: Array, observed: bool, columns: NDArray[np.intp] | None) -> Hessian:
    """`columns` picks features (the intercept always stays); None means all."""
    X, y = model.design(block), model.target(block)
    composite, picked = model.composite, X if columns is None else X[:, columns]
    width = picked.shape[1] + coef.shape[1] - X.shape[1]
    with np.errstate(all="ignore"):
        v = model.scores(block, X, coef)
        if isinstance(composite, Composite):
            curvature = composite._observed_curvature(y, v) if observed else composite._expected_curvature(y, v)
            return Hessian(weighted_gram(picked, weighted(block, _bounded(curvature)), width))
        scores = len(coef)
        gram = np.empty((scores, width, scores, width))
        for one in range(scores):
            column = weighted(block, composite._curvature_column(y, v, one, observed))
            for other in range(one + 1):
                gram[one, :, other] = gram[other, :, one] = weighted_gram(picked, column[:, other], width)
        return Hessian(gram.reshape(scores * width, scores * width))


def _bounded(curvature: Array) -> Array:
    """A GEV link with ξ < -1 is infinitely steep at the edge of its support; a direction needs finite curvatures."""
    return np.clip(curvature, -1e12, 1e12)


def weighted_gram(X: Any, curvature: Array, width: int) -> Array:
    k = X.shape[1]
    if sparse.issparse(X):
        gram = np.empty((width, width))
        scaled = X.multiply(curvature[:, None]).tocsr()
        gram[:k, :k] = (X.T @ scaled).toarray()
        gram[:k, k:] = np.asarray(scaled.sum(axis=0)).reshape(k, 1)
        gram[k:, :k] = gram[:k, k:].T
        gram[k:, k:] = curvature.sum()
        return gram
    scaled = np.empty((X.shape[0], width))
    if np.all(curvature >= 0.0):  # the square root makes BLAS compute half of the product only
        root = np.sqrt(curvature)
        np.multiply(X, root[:, None], out=scaled[:, :k])
        scaled[:, k:] = root[:, None]
        return np.asarray(scaled.T @ scaled)
    design = np.ones((X.shape[0], width))
    design[:, :k] = X
    np.multiply(design, curvature[:, None], out=scaled)
    return np.asarray(design.T @ scaled)


@dataclass
class HessianProduct(Statistic):
    """The expected curvature matrix times a direction."""

    product: Array


def hessian_product(block: Block, model: LinearModel, coef: Array, direction: Array) -> HessianProduct:
    X, y = model.design(block), model.target(block)
    with np.errstate(all="ignore"):
        v = model.scores(block, X, coef)
        along = model.scores(block._replace(offset=None), X, direction)
        if isinstance(model.composite, SoftmaxComposite):
            rows = model.composite._curvature_product(y, v, along)
        else:
            rows = _bounded(model.composite._expected_curvature(y, v)) * along
        return HessianProduct(_collect(X, weighted(block, rows), coef.shape[1]))


@dataclass
class HessianDiagonal(Statistic):
    """The diagonal of the expected curvature matrix."""

    diagonal: Array


def hessian_diagonal(block: Block, model: LinearModel, coef: Array) -> HessianDiagonal:
    X, y = model.design(block), model.target(block)
    with np.errstate(all="ignore"):
        v = model.scores(block, X, coef)
        if isinstance(model.composite, SoftmaxComposite):
            curvature = model.composite._curvature_diagonal(y, v)
        else:
            curvature = _bounded(model.composite._expected_curvature(y, v))
    squares = X.power(2) if sparse.issparse(X) else np.square(X)
    return HessianDiagonal(_collect(squares, weighted(block, curvature), coef.shape[1]))


@dataclass
class Misfits(Statistic):
    """The weight of the rows whose own class is not yet as good as certain."""

    weight: float


def misfits(block: Block, model: LinearModel, coef: Array) -> Misfits:
    X, y = model.design(block), model.target(block)
    with np.errstate(all="ignore"):
        v = model.scores(block, X, coef)
        if isinstance(model.composite, SoftmaxComposite):
            p = special.softmax(v, axis=1)
            other = 1.0 - p[np.arange(len(y)), y]
        else:
            p, q = model.composite.link._pair(v)
            other = np.where(y, q, p)
    return Misfits(float(weighted(block, (other > 1e-3).astype(np.float64)).sum()))


@dataclass
class AlongLine(Statistic):
    """Loss (nan when not asked for) and directional derivative at every step size along a line."""

    values: Array
    slopes: Array


def along_line(
    block: Block, model: LinearModel, coef: Array, direction: Array, steps: Array, want_values: bool
) -> AlongLine:
    """All step sizes of a line search in one pass over the data."""
    X, y = model.design(block), model.target(block)
    values, slopes = np.full(len(steps), np.nan), np.empty(len(steps))
    with np.errstate(all="ignore"):
        start = model.scores(block, X, coef)
        along = model.scores(block._replace(offset=None), X, direction)
        for i, step in enumerate(steps):
            v = start + step * along
            slopes[i] = np.sum(weighted(block, np.where(along == 0.0, 0.0, model.composite._gradient(y, v) * along)))
            if want_values:
                values[i] = np.sum(weighted(block, model.composite._value(y, v)))
    return AlongLine(values, slopes)
