"""Maxent's features: simple functions of the columns, scaled to [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from properly.inputs.features import Columns, read_columns
from properly.inputs.options import checked_count
from properly.inputs.weights import row_weights
from properly.maxent.design_matrix import ComputedMatrix, FeatureFormulas, KnotFeatures
from properly.maxent.sample import UNLABELLED
from properly.numeric.arrays import require_values
from properly.numeric.probabilities import Array

_KINDS = {"l": "linear", "q": "quadratic", "p": "product", "h": "hinge", "t": "threshold"}
_KNOT_SHAPES = (("up", "h"), ("down", "h"), ("step", "t"))  # the shapes of features with knots, and their kinds
# Few presences cannot tell many features apart: (fewest presences, kinds), Phillips and Dudík (2008).
_AUTO_KINDS = ((80.0, "lqph"), (15.0, "lqh"), (10.0, "lq"), (0.0, "l"))
_SAME = 1e-9  # values that differ by no more than this share of the range count as equal


@dataclass(eq=False, repr=False)
class MaxentFeatures(TransformerMixin, BaseEstimator):
    """Linear, quadratic, product, hinge and threshold features of columns, and indicators of categories.

    Every column is scaled to u in [0, 1] by its range in training. From it come u itself ("l"), u² ("q"), products of
    two columns scaled to their range ("p"), and for every knot κ the hinges max(u - κ, 0)/(1 - κ) and max(κ - u, 0)/κ
    ("h") and the step 1 where u ≥ κ ("t"). Sums of hinges are the continuous piecewise linear functions, sums of steps
    the piecewise constant ones. A categorical column has one indicator for each category.

    Parameters
    ----------
    kinds : str, default "auto"
        Letters out of "lqpht". "auto" lets the number of presences decide: "l" below 10, "lq" below 15, "lqh" below 80
        and "lqph" from there on. Presences are the rows of y other than -1, those of the rarest class if there are
        several; without y every row counts.
    n_hinges : int, default 50
        The number of knots of every column. They are spread evenly over its range; a column with no more than this
        many gaps between its distinct values has a knot in the middle of each (values that differ by less than 1e-9 of
        the range count as one).
    categorical : sequence of column names or numbers, optional
        Columns whose values are categories, even if they are numbers. Columns of a data frame that hold text, or have
        the type for categories, need not be named. Dates are refused.
    clamp : bool, default True
        Move values outside the range of training to its nearer end, so that nothing is extrapolated. If False, the
        formulas are used there as they are.

    Attributes
    ----------
    kinds_ : str, the kinds in use
    low_, high_ : arrays, the range in training of every numeric column
    numeric_, categorical_ : arrays of int, which columns are what
    categories_ : list of arrays, the values of every categorical column
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    A column that is constant in training has no features. For a category that was not seen in training all indicators
    are 0, as if its coefficient were 0; `extrapolation` shows which rows have one. Missing values are refused. Weights
    change the number of presences and nothing else; rows of weight 0 are left out.

    References
    ----------
    Phillips, Anderson and Schapire (2006), Maximum entropy modeling of species geographic distributions, Ecological
    Modelling 190; Phillips and Dudík (2008), Modeling of species distributions with Maxent, Ecography 31.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [4.0]])
    >>> features = MaxentFeatures("lh", n_hinges=2).fit(X)
    >>> features.get_feature_names_out().tolist()
    ['x0', 'up(x0, 0.5)', 'up(x0, 2.5)', 'down(x0, 0.5)', 'down(x0, 2.5)']
    >>> features.transform([[1.0], [8.0]]).round(2).tolist()
    [[0.25, 0.14, 0.0, 0.0, 0.6], [1.0, 1.0, 1.0, 0.0, 0.0]]
    >>> features.extrapolation([[1.0], [8.0]]).tolist()
    [[0.0], [1.0]]
    """

    kinds: str = "auto"
    _: KW_ONLY
    n_hinges: int = 50
    categorical: Sequence[str | int] | None = None
    clamp: bool = True

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn ranges, knots and categories from the points, labelled or not."""
        checked_count(self.n_hinges, "n_hinges", 1)
        columns = self._columns(X, reset=True)
        weight = row_weights(sample_weight, columns.numeric.shape[1], positive_sum=True)
        self.kinds_ = checked_kinds(self.kinds, _n_presences(y, weight))
        numeric = columns.numeric[:, weight > 0.0]
        self.low_, self.high_ = numeric.min(axis=1), numeric.max(axis=1)
        self._check_spans()
        self.categories_ = [np.unique(values[weight > 0.0]) for values in columns.categorical]
        self._formulas = self._chosen_formulas(self._scaled(numeric))
        return self

    def design(self, X: Any) -> ComputedMatrix:
        """The features of points, to be computed when they are needed."""
        check_is_fitted(self)
        columns = self._columns(X, reset=False)
        u = self._scaled(columns.numeric)
        if self.clamp:
            np.clip(u, 0.0, 1.0, out=u)
        return ComputedMatrix.of(self._formulas, u, self._codes(columns), self.clamp)

    def transform(self, X: Any) -> Array:
        """The features as a matrix of shape (n_samples, n_features_out)."""
        design = self.design(X)
        return np.ascontiguousarray(design.columns(np.arange(design.n_features)).T)

    def extrapolation(self, X: Any) -> Array:
        """How far every value lies outside the range of training, in units of that range; 0 inside.

        1 for a category that was not seen in training, infinity for a column that was constant in training and is not.
        """
        check_is_fitted(self)
        columns = self._columns(X, reset=False)
        outside = np.maximum(self.low_[:, None] - columns.numeric, columns.numeric - self.high_[:, None])
        span = (self.high_ - self.low_)[:, None]
        result = np.zeros((columns.numeric.shape[1], self.n_features_in_))
        with np.errstate(divide="ignore", invalid="ignore"):
            result[:, self.numeric_] = np.where(outside > 0.0, outside / span, 0.0).T
        for column, values, known in zip(self.categorical_, columns.categorical, self.categories_, strict=True):
            result[:, column] = ~np.isin(values, known)
        return result

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Names such as "rain", "rain^2", "rain slope", "soil=clay", "up(rain, 500)", "down(…)" and "step(…)"."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        formulas, numeric = self._formulas, names[self.numeric_]
        shapes, column, knot = formulas.knot_features
        knots = self.low_[column] + formulas.knots[column, knot] * (self.high_ - self.low_)[column]
        found = [
            *numeric[formulas.linear],
            *(f"{name}^2" for name in numeric[formulas.quadratic]),
            *(f"{numeric[a]} {numeric[b]}" for a, b in formulas.products),
            *(f"{names[self.categorical_[a]]}={self.categories_[a][code]}" for a, code in formulas.categories),
            *(f"{shape}({numeric[a]}, {at:.12g})" for shape, a, at in zip(shapes, column, knots, strict=True)),
        ]
        return np.array(found, dtype=object)

    def _columns(self, X: Any, *, reset: bool) -> Columns:
        columns, categorical = read_columns(self, X, self.categorical, None if reset else self.categorical_)
        if reset:
            self.categorical_: NDArray[np.intp] = categorical
            self.numeric_ = np.setdiff1d(np.arange(self.n_features_in_), self.categorical_)
        return columns

    def _check_spans(self) -> None:
        with np.errstate(over="ignore"):
            infinite = np.flatnonzero(np.isinf(self.high_ - self.low_))
        if len(infinite):
            j, name = infinite[0], _check_feature_names_in(self)[self.numeric_[infinite[0]]]
            raise ValueError(
                f"column {name!r} has values from {self.low_[j]:g} to {self.high_[j]:g}, whose "
                "difference is beyond float64; change its unit."
            )

    def _scaled(self, numeric: Array) -> Array:
        """A constant column becomes 0, whatever its values later."""
        span = (self.high_ - self.low_)[:, None]
        with np.errstate(over="ignore"):  # of values far outside the range, which are infinitely far then
            return np.where(span > 0.0, (numeric - self.low_[:, None]) / np.where(span > 0.0, span, 1.0), 0.0)

    def _codes(self, columns: Columns) -> NDArray[np.intp]:
        """The number of every value's category, -1 if it was not seen in training."""
        codes = np.full((len(columns.categorical), columns.numeric.shape[1]), -1, dtype=np.intp)
        names = _check_feature_names_in(self)[self.categorical_]
        for row, name, values, known in zip(codes, names, columns.categorical, self.categories_, strict=True):
            if values.dtype.kind != known.dtype.kind:
                raise ValueError(
                    f"categorical column {name!r} held {known[:3].tolist()} … in training, now {values[:3].tolist()} "
                    "…; give it the type that it had, text or numbers."
                )
            place = np.minimum(np.searchsorted(known, values), len(known) - 1)
            row[:] = np.where(known[place] == values, place, -1)
        return codes

    def _chosen_formulas(self, u: Array) -> FeatureFormulas:
        varying = np.flatnonzero(self.high_ > self.low_)
        of_kind = {kind: varying if kind in self.kinds_ else varying[:0] for kind in _KINDS}
        pairs = np.array(list(combinations(of_kind["p"], 2)), dtype=np.intp).reshape(-1, 2)
        products = u[pairs[:, 0]] * u[pairs[:, 1]]
        codes = [(a, code) for a, known in enumerate(self.categories_) for code in range(len(known)) if len(known) > 1]
        kept = {column: knots_between(u[column], int(self.n_hinges)) for column in varying}
        knots = np.full((len(u), max((len(row) for row in kept.values()), default=0)), np.inf)
        for column, row in kept.items():
            knots[column, : len(row)] = row
        at = [(shape, a, k) for shape, kind in _KNOT_SHAPES for a in of_kind[kind] for k in range(len(kept[a]))]
        return FeatureFormulas(
            linear=of_kind["l"],
            quadratic=of_kind["q"],
            products=pairs,
            product_low=products.min(axis=1, initial=1.0),
            product_high=products.max(axis=1, initial=0.0),
            categories=np.array(codes, dtype=np.intp).reshape(-1, 2),
            knot_features=KnotFeatures(
                np.array([shape for shape, _, _ in at], dtype=str),
                np.array([a for _, a, _ in at], dtype=np.intp),
                np.array([k for _, _, k in at], dtype=np.intp),
            ),
            knots=knots,
        )


def checked_kinds(kinds: object, n_presences: float) -> str:
    """The letters in use, with "auto" decided by the number of presences."""
    if kinds == "auto":
        return next(letters for fewest, letters in _AUTO_KINDS if n_presences >= fewest)
    if isinstance(kinds, str) and kinds and set(kinds) <= set(_KINDS):
        return kinds
    letters = ", ".join(f"{letter!r} ({kind})" for letter, kind in _KINDS.items())
    raise ValueError(f'kinds must be "auto" or some of the letters {letters}, got {kinds!r}.')


def _n_presences(y: ArrayLike | None, weight: Array) -> float:
    """The weight of the labelled rows, of the rarest class if there are several; of all rows without y."""
    if y is None:
        return float(weight.sum())
    require_values(y, "y")
    labels = np.asarray(y)
    labelled = (labels != UNLABELLED) & (weight > 0.0)
    _, codes = np.unique(labels[labelled], return_inverse=True)
    return float(np.bincount(codes, weight[labelled]).min(initial=np.inf)) if labelled.any() else 0.0


def knots_between(u: Array, n_knots: int) -> Array:
    """Knots inside (0, 1): midpoints between few distinct values, else even steps.

    Values that differ by rounding are the same. A hinge between them would be as steep as rounding errors are large.
    """
    distinct = np.unique(u)
    distinct = distinct[np.diff(distinct, prepend=-1.0) > _SAME]
    if len(distinct) - 1 <= n_knots:
        return 0.5 * (distinct[:-1] + distinct[1:])
    return np.arange(1, n_knots + 1) / (n_knots + 1.0)
