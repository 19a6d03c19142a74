"""Kernels: what is added up over the rows of one block.

A kernel takes a block and the current parameters and returns a `Statistic`, the only thing that leaves a block.
Kernels do not know where the block is stored; engines do not know what is added up. All sums are float64. The arrays of
a block may be of any library, and those of its statistic are of the same one: an engine adds them up where they are and
brings the sum to the host. Parameters, which are small, are NumPy arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from properly.losses.base import Loss, mix
from properly.losses.composite import Composite
from properly.losses.softmax import AnyComposite
from properly.numeric.arrays import all_to_numpy, beside, constant, is_foreign, namespace, to_numpy
from properly.numeric.functions import bincount, cross, matmul
from properly.numeric.probabilities import Array

__all__ = ["Block", "LinearModel", "Statistic"]


class Block(NamedTuple):
    """Some rows: features, class codes, weights and offsets of the score (None: 1 and 0), and their roles in splits.

    `fold` has a column per split of a cross-validation: 1 for a training row, -1 for a held-out row, 0 for neither.
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

    def on_host(self) -> Self:
        """The same sums as numbers and NumPy arrays; those of another library are copied together."""
        values = [getattr(self, field.name) for field in fields(self)]  # type: ignore[arg-type]
        return type(self)(*all_to_numpy(values))


@dataclass(frozen=True)
class LinearModel:
    """Scores that are linear in the features, and the composite loss of them.

    Coefficients are an array of shape (scores, width): one row per score (one for a binary problem, K for a softmax),
    one column per feature and, if width exceeds their number, a last one for the intercept. `positive` is the class
    code that a binary composite counts as 1. `center` is subtracted from the features: sums of squares cannot be
    centred afterwards without cancellation.
    """

    composite: AnyComposite
    positive: int = 1
    center: Array | None = None

    def design(self, block: Block) -> Any:
        return block.X if self.center is None else block.X - constant(self.center, block.X)

    def scores(self, block: Block, X: Any, coef: Array) -> Array:
        return self.composite._scores(linear_scores(X, coef), block.offset, self.positive)

    def target(self, block: Block) -> NDArray[Any]:
        return self.composite._targets(block.y, self.positive)

    def read(self, block: Block, coef: Array) -> tuple[Any, NDArray[Any], Array]:
        """The features, the targets and the scores of a block."""
        X = self.design(block)
        return X, self.target(block), self.scores(block, X, coef)


def linear_scores(X: Any, coef: Array) -> Array:
    """x·w + b for every row of coefficients, of shape (n, rows of coef)."""
    k = X.shape[1]
    if isinstance(X, np.ndarray):
        coef = _precision_of(X, coef)
    if len(coef) > 1 and isinstance(X, np.ndarray):
        scores = (coef[:, :k] @ X.T).T  # the scores of a class lie side by side: sums over classes are faster
    else:
        scores = matmul(X, coef[:, :k].T)
    if not is_foreign(scores):
        scores = np.asarray(scores, dtype=np.float64)
    if coef.shape[1] > k:
        scores += constant(coef[:, k], scores)
    return scores


def _precision_of(X: Any, x: Array) -> Array:
    """x, in float32 if X is: an engine that was asked for rough sums gives such blocks."""
    return x.astype(np.float32) if X.dtype == np.float32 else x


def weighted(block: Block, x: Array) -> Array:
    """Every row times its weight; a row of weight 0 counts for nothing, even if its loss is infinite."""
    if block.weight is None:
        return x
    xp = namespace(x)
    weight = xp.reshape(block.weight, (-1, *(1,) * (x.ndim - 1)))
    return xp.where(weight == 0.0, 0.0, weight * x)


def _collect(X: Any, rows: Array, width: int) -> Array:
    """Σ_i rows_i ⊗ (x_i, 1): shape (scores, width)."""
    xp = namespace(rows)
    rows = xp.reshape(rows, (X.shape[0], -1))
    if xp is not np:
        total = cross(rows, X)
        return total if width == X.shape[1] else beside(total, xp.sum(rows, axis=0)[:, None])
    rows = np.ascontiguousarray(rows.T)  # BLAS is twice as fast with it this way round
    total = np.empty((rows.shape[0], width))
    total[:, : X.shape[1]] = _precision_of(X, rows) @ X
    total[:, X.shape[1] :] = rows.sum(axis=1)[:, None]
    return total


def _sum(x: Array) -> Any:
    total = namespace(x).sum(x)
    return total if is_foreign(total) else float(total)


@dataclass
class Classes(Statistic):
    """The number of rows, and their weight by class."""

    rows: int
    weight: Array


def classes(block: Block, n_classes: int) -> Classes:
    return Classes(block.y.shape[0], bincount(block.y, block.weight, n_classes))


@dataclass
class Moments(Statistic):
    """The weighted sums of the features and of their squares, and the number of rows in sparse blocks."""

    total: Array
    squares: Array
    sparse_rows: int


def moments(block: Block, center: Array | None) -> Moments:
    weight = block.weight
    if weight is None:
        weight = namespace(block.X).ones_like(block.X[:, 0]) if is_foreign(block.X) else np.ones(block.X.shape[0])
    if sparse.issparse(block.X):
        return Moments(block.X.T @ weight, block.X.power(2).T @ weight, block.X.shape[0])
    X = block.X if center is None else block.X - constant(center, block.X)
    return Moments(X.T @ weight, namespace(X).square(X).T @ weight, 0)


@dataclass
class FirstRow(Statistic):
    """The features of the first row with a positive weight; None if there is none."""

    features: Array | None

    def __add__(self, other: Self) -> Self:
        return other if self.features is None else self


def first_row(block: Block) -> FirstRow:
    rows = np.arange(block.X.shape[0]) if block.weight is None else np.flatnonzero(to_numpy(block.weight))
    if not len(rows):
        return FirstRow(None)
    row = block.X[int(rows[0]) : int(rows[0]) + 1, :]
    return FirstRow(to_numpy(row.toarray() if sparse.issparse(row) else row)[0])


@dataclass
class StrangeValues(Statistic):
    """How many values of a column are missing, and how many are infinite."""

    missing: int
    infinite: int


def strange_values(block: Block, column: int) -> StrangeValues:
    values = block.X[:, [column]].toarray() if sparse.issparse(block.X) else block.X[:, column]
    xp = namespace(values)
    return StrangeValues(*(int(xp.count_nonzero(test(values))) for test in (xp.isnan, xp.isinf)))


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
    xp = namespace(offset)
    return OffsetRange(float(xp.min(offset)), float(xp.max(offset)))


@dataclass
class Gradient(Statistic):
    """The summed loss (nan when not asked for) and its gradient."""

    value: float
    gradient: Array


def gradient(block: Block, model: LinearModel, coef: Array, want_value: bool) -> Gradient:
    with np.errstate(all="ignore"):
        X, y, v = model.read(block, coef)
        value = _sum(weighted(block, model.composite._value(y, v))) if want_value else np.nan
        slopes = weighted(block, model.composite._gradient(y, v))
        return Gradient(value, _collect(X, slopes, coef.shape[1]))


@dataclass
class FoldWeights(Statistic):
    """For every split and class, the weight of the training rows and that of the held-out rows."""

    training: Array
    held_out: Array


def fold_weights(block: Block, n_classes: int) -> FoldWeights:
    xp, fold = namespace(block.y), cast("NDArray[np.int8]", block.fold)
    own = xp.astype(block.y[:, None] == constant(np.arange(n_classes), block.y), xp.float64)
    share = own if block.weight is None else block.weight[:, None] * own
    training, held_out = (xp.astype(rows, xp.float64).T @ share for rows in (fold > 0, fold < 0))
    return FoldWeights(training, held_out)


@dataclass
class FoldGradients(Statistic):
    """For every split, the gradient over the training rows and the summed loss of the held-out rows."""

    gradient: Array
    held_out: Array


def fold_gradients(block: Block, model: LinearModel, coef: Array, score: Loss) -> FoldGradients:
    """Row f of `coef` belongs to split f: one product with the features serves them all."""
    composite, fold = cast(Composite, model.composite), cast("NDArray[np.int8]", block.fold)
    X, y = model.design(block), model.target(block)[:, None]
    with np.errstate(all="ignore"):
        v = linear_scores(X, coef)
        v = v if block.offset is None else v + block.offset[:, None]
        xp = namespace(v)
        slopes = xp.where(fold > 0, weighted(block, composite._gradient(y, v)), 0.0)
        row, split = xp.nonzero(fold < 0)
        losses = mix(y[row, 0], *score._losses(composite.link._probabilities(v[row, split])))
        if block.weight is not None:
            losses = losses * block.weight[row]
        return FoldGradients(_collect(X, slopes, coef.shape[1]), bincount(split, losses, len(coef)))


@dataclass
class Hessian(Statistic):
    """The summed curvature matrix over the flattened coefficients (or some of them)."""

    hessian: Array


def hessian(block: Block, model: LinearModel, coef: Array, observed: bool, columns: NDArray[np.intp] | None) -> Hessian:
    """`columns` picks features (the intercept always stays); None means all."""
    with np.errstate(all="ignore"):
        X, y, v = model.read(block, coef)
        picked = X if columns is None else _columns(X, columns)
        width = picked.shape[1] + coef.shape[1] - X.shape[1]
        return Hessian(_curvature_matrix(block, model, picked, y, v, width, observed))


def _curvature_matrix(
    block: Block, model: LinearModel, X: Any, y: NDArray[Any], v: Array, width: int, observed: bool
) -> Array:
    scores = v.shape[1] if v.ndim == 2 else 1
    grams: list[list[Any]] = [[None] * scores for _ in range(scores)]
    for one in range(scores):
        column = weighted(block, model.composite._curvature_column(y, v, one, observed))
        for other in range(one + 1):
            grams[one][other] = grams[other][one] = weighted_gram(X, column[:, other], width)
    if scores == 1:
        return cast(Array, grams[0][0])
    xp = namespace(grams[0][0])
    return np.block(grams) if xp is np else xp.concat([xp.concat(row, axis=1) for row in grams])


@dataclass
class Newton(Statistic):
    """The summed loss (nan when not asked for), its gradient, and curvature matrices, one of each kind asked for."""

    value: float
    gradient: Array
    hessians: Array


def newton(block: Block, model: LinearModel, coef: Array, want_value: bool, kinds: tuple[bool, ...]) -> Newton:
    """Gradient and curvature from one set of scores; `kinds` says of each curvature whether it is the observed one."""
    with np.errstate(all="ignore"):
        X, y, v = model.read(block, coef)
        value = _sum(weighted(block, model.composite._value(y, v))) if want_value else np.nan
        total = _collect(X, weighted(block, model.composite._gradient(y, v)), coef.shape[1])
        hessians = [_curvature_matrix(block, model, X, y, v, coef.shape[1], kind) for kind in kinds]
        return Newton(value, total, namespace(total).stack(hessians))


def _columns(X: Any, columns: NDArray[np.intp]) -> Any:
    return namespace(X).take(X, constant(columns, X), axis=1) if is_foreign(X) else X[:, columns]


def weighted_gram(X: Any, curvature: Array, width: int) -> Array:
    """Σ_i curvature_i (x_i, 1)(x_i, 1)ᵀ, without the 1 if `width` is the number of features."""
    k = X.shape[1]
    if sparse.issparse(X):
        gram = np.empty((width, width))
        scaled = X.multiply(curvature[:, None]).tocsr()
        gram[:k, :k] = (X.T @ scaled).toarray()
        gram[:k, k:] = np.asarray(scaled.sum(axis=0)).reshape(k, 1)
        gram[k:, :k] = gram[:k, k:].T
        gram[k:, k:] = curvature.sum()
        return gram
    if is_foreign(X):
        xp, curvature = namespace(X), curvature[:, None]
        total, features = cross(curvature, X), cross(X * curvature, X)
        if width == k:
            return features
        return xp.concat([beside(features, total.T), beside(total, xp.sum(curvature, axis=0)[:, None])])
    if np.all(curvature <= 0.0) and curvature.any():
        return -weighted_gram(X, -curvature, width)
    by_columns = X.strides[0] < X.strides[1]  # then scaling the rows would scatter the columns
    scaled = np.empty((X.shape[0], width), X.dtype, order="F" if by_columns else "C")
    if np.all(curvature >= 0.0):  # with the square root the product is symmetric, and BLAS computes half of it
        root = np.sqrt(curvature).astype(X.dtype, copy=False)
        np.multiply(X, root[:, None], out=scaled[:, :k])
        scaled[:, k:] = root[:, None]
        return np.asarray(scaled.T @ scaled, dtype=np.float64)
    design = np.ones((X.shape[0], width))
    design[:, :k] = X
    np.multiply(design, curvature[:, None], out=scaled)
    return np.asarray(design.T @ scaled)


@dataclass
class HessianProduct(Statistic):
    """The expected curvature matrix times a direction."""

    product: Array


def hessian_product(block: Block, model: LinearModel, coef: Array, direction: Array) -> HessianProduct:
    with np.errstate(all="ignore"):
        X, y, v = model.read(block, coef)
        along = model.scores(block._replace(offset=None), X, direction)
        rows = model.composite._curvature_product(y, v, along)
        return HessianProduct(_collect(X, weighted(block, rows), coef.shape[1]))


@dataclass
class HessianDiagonal(Statistic):
    """The diagonal of the expected curvature matrix, and the features summed with the curvatures as weights."""

    diagonal: Array
    total: Array


def hessian_diagonal(block: Block, model: LinearModel, coef: Array) -> HessianDiagonal:
    with np.errstate(all="ignore"):
        X, y, v = model.read(block, coef)
        curvature = model.composite._curvature_diagonal(y, v)
    squares = X.power(2) if sparse.issparse(X) else namespace(X).square(X)
    curvature, width = weighted(block, curvature), coef.shape[1]
    return HessianDiagonal(_collect(squares, curvature, width), _collect(X, curvature, width))


@dataclass
class Misfits(Statistic):
    """The weight of the rows whose own class has a probability below 0.999."""

    weight: float


def misfits(block: Block, model: LinearModel, coef: Array) -> Misfits:
    with np.errstate(all="ignore"):
        _, y, v = model.read(block, coef)
        other = model.composite._other_probability(y, v)
    xp = namespace(other)
    return Misfits(_sum(weighted(block, xp.where(other > 1e-3, 1.0, xp.zeros_like(other)))))


@dataclass
class AlongLine(Statistic):
    """Loss (nan when not asked for) and directional derivative at every step size along a line."""

    values: Array
    slopes: Array


def along_line(
    block: Block, model: LinearModel, coef: Array, direction: Array, steps: Array, want_values: bool
) -> AlongLine:
    """All step sizes of a line search in one pass over the data."""
    values, slopes = [], []
    with np.errstate(all="ignore"):
        X, y, start = model.read(block, coef)
        along = model.scores(block._replace(offset=None), X, direction)
        xp = namespace(along)
        for step in steps.tolist():
            v = start + step * along
            slopes.append(xp.sum(weighted(block, xp.where(along == 0.0, 0.0, model.composite._gradient(y, v) * along))))
            if want_values:
                values.append(xp.sum(weighted(block, model.composite._value(y, v))))
    return AlongLine(xp.stack(values) if want_values else np.full(len(steps), np.nan), xp.stack(slopes))
