"""How class proportions are found under label shift: by likelihood, or by the equations of a confusion matrix."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special as sc
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning

from properly.inputs.labels import checked_labels
from properly.numeric.probabilities import Array
from properly.prevalence.prior import as_columns
from properly.solvers.dense import newton_minimum, nonnegative_minimum

SINGULAR = 1e12  # a matrix of a larger condition number is singular but for rounding
_BATCH = 2_000_000  # rows drawn at a time


def checked_validation(
    p: ArrayLike | None, y: ArrayLike | None, n_classes: int
) -> tuple[NDArray[Any], list[Array]] | None:
    """The classes of labelled rows, and the probabilities of the rows of each class; None without such rows."""
    if p is None and y is None:
        return None
    if p is None or y is None:
        raise ValueError("p_validation and y_validation belong together; give both or neither.")
    columns = as_columns(p, "p_validation")
    classes, codes = checked_labels(y)
    if len(columns) != len(codes):
        raise ValueError(f"p_validation has {len(columns)} rows, y_validation has {len(codes)}.")
    if not columns.shape[1] == len(classes) == n_classes:
        raise ValueError(
            f"p is for {n_classes} classes, p_validation for {columns.shape[1]}, and y_validation holds "
            f"{classes.tolist()}; all must have the same number of classes."
        )
    return classes, [columns[codes == code] for code in range(n_classes)]


class LabelShift(ABC):
    """What a method makes of probabilities p for the target rows, and of those for validation rows by class."""

    confusion: Array  # (K, K): what is predicted, on average, for rows of each class, in its column
    prior: Array  # the estimate

    @abstractmethod
    def __init__(self, p: Array, count: Array, train: Array, by_class: list[Array] | None) -> None:
        """`count` says how many target rows have each of the probabilities p."""

    @abstractmethod
    def _resampled(self, number: int, random: np.random.RandomState) -> Array:
        """Estimates (number, K) from data drawn again; nan where such data do not determine the proportions."""

    @abstractmethod
    def _not_rejected(self, k: int, end: float, level: float) -> float:
        """The share of class k furthest towards `end`, 0 or 1, that a likelihood ratio test does not reject."""

    def interval(self, number: int, random: np.random.RandomState, level: float) -> Array:
        """Between which proportions each class lies, (K, 2): percentiles, or the test where a class may be absent.

        Rows of a rare class that are missing among the target rows are missing in every resample, too.
        """
        resampled, tail = self._resampled(number, random), 0.5 - 0.5 * level
        low = np.quantile(np.nan_to_num(resampled, nan=0.0), tail, axis=0)
        high = np.quantile(np.nan_to_num(resampled, nan=1.0), 1.0 - tail, axis=0)
        interval = np.column_stack([low, high])
        for k in range(len(low)):
            if low[k] == 0.0:
                interval[k, 1] = max(high[k], self._not_rejected(k, 1.0, level))
            if high[k] == 1.0:
                interval[k, 0] = min(low[k], self._not_rejected(k, 0.0, level))
        return interval


class _Likelihood(LabelShift):
    """Maximum likelihood from the target rows."""

    def __init__(self, p: Array, count: Array, train: Array, by_class: list[Array] | None) -> None:
        if by_class is not None:
            raise ValueError('method="em" takes no validation data; leave them out, or choose a "bbse" method.')
        self.density, self.count = p / train, count
        best = mixing_proportions(self.density, count / count.sum(), train)
        self.prior = best.coef
        if best.gap > 1e-6:
            warnings.warn(
                f"the search for the class proportions stopped where the mean log-likelihood of a row may be "
                f"{best.gap:.1g} below its maximum; check p for rows that contradict each other.",
                ConvergenceWarning,
                stacklevel=3,
            )
        # What the model expects of its own predictions at equal class proportions: a row stands for the target density,
        # so that density_k/Σ π density of it stands for class k.
        predicted = self.density / self.density.sum(axis=1, keepdims=True)
        own = self.count[:, None] * self.density / (self.density @ self.prior)[:, None]
        total = own.sum(axis=0)
        # Where no row can belong to a class, that class is told apart.
        confusion = np.where(total > 0.0, predicted.T @ own, np.eye(len(total)))
        self.confusion = confusion / np.where(total > 0.0, total, 1.0)

    def _resampled(self, number: int, random: np.random.RandomState) -> Array:
        n, shares = self.count.sum(), []
        for _ in range(number):
            count = _drawn_counts(self.count, random)
            drawn = count > 0
            shares.append(mixing_proportions(self.density[drawn], count[drawn] / n, self.prior).coef)
        return np.array(shares)

    def _not_rejected(self, k: int, end: float, level: float) -> float:
        n, share = float(self.count.sum()), float(self.prior[k])
        own, others = self.density[:, [k]], np.delete(self.density, k, axis=1)
        start = np.delete(self.prior, k) + 1.0 / n
        start /= start.sum()
        highest = float(self.count @ np.log(self.density @ self.prior))
        allowed = 0.5 * sc.chdtri(1, 1.0 - level)  # half of a quantile of χ² with one degree of freedom

        def left(t: float) -> float:
            """How much more the log-likelihood may fall, with the best proportions of the other classes."""
            mixed = t * own + (1.0 - t) * others  # whatever their proportions are, they add up to 1
            if not mixed.any(axis=1).all():
                return -1e9  # a row that is impossible
            best = mixed @ mixing_proportions(mixed, self.count / n, start).coef
            return float(self.count @ np.log(best)) - highest + allowed

        return end if left(end) >= 0.0 else float(brentq(left, share, end, xtol=1e-9, rtol=1e-6))


class _Equations(LabelShift):
    """The prior that explains the mean predictions on the target rows by those on the validation rows."""

    def __init__(self, p: Array, count: Array, train: Array, by_class: list[Array] | None) -> None:
        if by_class is None:
            raise ValueError('the "bbse" methods need p_validation and y_validation; method="em" does not.')
        self.target, self.count = self._predictions(p), count
        self.by_class = [self._predictions(rows) for rows in by_class]

        self.confusion = np.column_stack([rows.mean(axis=0) for rows in self.by_class])
        singular = not np.linalg.cond(self.confusion) <= SINGULAR  # nan as well
        mean = count @ self.target / count.sum()
        self.prior = train if singular else _onto_simplex(np.asarray(np.linalg.solve(self.confusion, mean)))

    @staticmethod
    def _predictions(p: Array) -> Array:
        return p

    def _resampled(self, number: int, random: np.random.RandomState) -> Array:
        if np.all(self.count == 1.0):
            target = _resampled_means(self.target, number, random)
        else:
            drawn = (_drawn_counts(self.count, random) for _ in range(number))
            target = np.array([count @ self.target / count.sum() for count in drawn])
        confusion = np.stack([_resampled_means(rows, number, random) for rows in self.by_class], axis=2)
        usable = np.linalg.cond(confusion) <= SINGULAR
        result = np.full(target.shape, np.nan)
        result[usable] = _onto_simplex(np.linalg.solve(confusion[usable], target[usable][:, :, None])[:, :, 0])
        return result

    def _not_rejected(self, k: int, end: float, level: float) -> float:
        """By the ratio of normal likelihoods.

        With a the k-th row of C⁻¹, a·(prediction) has the mean 1 for rows of class k and 0 for all others, so that its
        mean over the target rows estimates the share t, with a variance V(t) from their mixture and from the validation
        rows. The likelihood of t, compared with the best one in [0, 1], leaves (mean - t)² ≤ c V(t), quadratic in t. If
        no row of a class was found, V(t) is still that of t(1 - t)/n.
        """
        a = np.linalg.inv(self.confusion)[k]
        n, mean = float(self.count.sum()), float(np.average(self.target @ a, weights=self.count))
        spread = np.array([(rows @ a).var() for rows in self.by_class])
        others = np.delete(self.prior, k)
        others = others / others.sum() if others.sum() > 0.0 else np.full(len(others), 1.0 / len(others))

        def variance(t: float) -> float:
            share = np.insert((1.0 - t) * others, k, t)
            sampled = share**2 @ (spread / [len(rows) for rows in self.by_class])
            return float((share @ spread + t * (1.0 - t)) / n + sampled)

        best = min(max(mean, 0.0), 1.0)
        c = float(sc.chdtri(1, 1.0 - level))  # a quantile of χ² with one degree of freedom
        if mean != best and variance(best) > 0.0:
            c += (mean - best) ** 2 / variance(best)
        at = [(mean - t) ** 2 - c * variance(t) for t in (0.0, 0.5, 1.0)]
        if at[0 if end == 0.0 else 2] <= 0.0:
            return end
        roots = np.roots([2.0 * (at[0] - 2.0 * at[1] + at[2]), 4.0 * at[1] - 3.0 * at[0] - at[2], at[0]])
        inside = np.clip([*roots[np.isreal(roots)].real, best], 0.0, 1.0)
        return float(inside.min() if end == 0.0 else inside.max())


class _HardEquations(_Equations):
    """The same for the most probable class instead of probabilities."""

    @staticmethod
    def _predictions(p: Array) -> Array:
        return np.asarray(np.eye(p.shape[1])[p.argmax(axis=1)])


METHODS: dict[str, type[LabelShift]] = {
    "em": _Likelihood,
    "bbse-hard": _HardEquations,
    "bbse-soft": _Equations,
}


def _drawn_counts(count: Array, random: np.random.RandomState) -> NDArray[Any]:
    """How often each is drawn among as many rows, with replacement."""
    n = int(count.sum())
    if n == len(count):
        return np.bincount(random.randint(n, size=n), minlength=n)
    return random.multinomial(n, count / n)


def _resampled_means(rows: Array, number: int, random: np.random.RandomState) -> Array:
    """The means (number, K) of as many rows, drawn with replacement."""
    n, means = len(rows), []
    for done in range(0, number, max(1, _BATCH // n)):
        size = min(max(1, _BATCH // n), number - done)
        drawn = random.randint(n, size=(size, n)) + n * np.arange(size)[:, None]
        means.append(np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n) @ rows / n)
    return np.concatenate(means)


def _onto_simplex(x: Array) -> Array:
    """The nearest distribution to each row: max(x - shift, 0), with the shift that makes the sum 1."""
    descending = -np.sort(-x, axis=-1)
    shifts = (np.cumsum(descending, axis=-1) - 1.0) / np.arange(1, x.shape[-1] + 1)
    used = np.count_nonzero(descending > shifts, axis=-1)[..., None]
    nearest = np.maximum(x - np.take_along_axis(shifts, used - 1, axis=-1), 0.0)
    return np.asarray(nearest / nearest.sum(axis=-1, keepdims=True))


_TOLERANCE = 1e-11
_FAR = 0.5  # beyond this gap a step of expectation maximisation is taken, as Newton's model is poor there
_MAX_ITER = 100
_RIDGE = 1e-12  # beside a diagonal of 1; proportions that matter to no row stay where they are


class Mixture:
    """The objective Σ_k x_k - Σ_i weight_i ln m_i of a mixture, with m_i = Σ_k x_k density_ik, where x adds up to 1.

    Dividing x by its sum never makes the objective worse.
    """

    def __init__(self, density: Array, weight: Array, x: Array) -> None:
        self._density, self._weight = density, weight
        self.coef = x / x.sum()
        self._mixed = density @ self.coef
        self.value = -float(weight @ np.log(self._mixed))

    @cached_property
    def gradient(self) -> Array:
        return np.asarray(1.0 - (self._weight / self._mixed) @ self._density)

    @cached_property
    def gap(self) -> float:
        """No proportions are better by more than this, because Σ x_k gradient_k = 0 and the objective is convex."""
        return -float(self.gradient.min())

    def step(self) -> Array:
        """To where the quadratic model has its minimum over x ≥ 0, or one of expectation maximisation far from it."""
        if self.gap <= _TOLERANCE:
            return np.zeros_like(self.coef)
        if self.gap > _FAR and self.coef[self.gradient.argmin()] > 0.0:
            return -self.coef * self.gradient
        scaled = self._density * (np.sqrt(self._weight) / self._mixed)[:, None]
        hessian = scaled.T @ scaled
        scale = np.sqrt(np.maximum(np.diag(hessian), 1.0))  # at least (1 - gradient)², 1 where a proportion is not 0
        hessian /= scale * scale[:, None]
        hessian.flat[:: len(hessian) + 1] += _RIDGE
        return nonnegative_minimum(hessian, self.gradient / scale, self.coef * scale) / scale - self.coef


def mixing_proportions(density: Array, weight: Array, start: Array) -> Mixture:
    """Maximise the concave Σ_i weight_i ln Σ_k x_k density_ik over x ≥ 0, Σ x_k = 1; the weights add up to 1.

    This is what expectation maximisation, x_k ← Σ_i weight_i x_k density_ik / m_i with m_i = Σ_j x_j density_ij,
    climbs to in many small steps. Newton's method, begun when close, needs about five: as Σ x_k = 1 holds by itself at
    the minimum of Σ x_k - Σ weight_i ln m_i over x ≥ 0, a step is a quadratic problem with x ≥ 0 and nothing else
    (Kim et al. 2020). The search ends when the gap is below 1e-11, or when rounding allows no further step. Weights
    must be positive, and so must every m_i at `start`.

    References
    ----------
    Kim, Carbonetto, Stephens & Anitescu (2020), A fast algorithm for maximum likelihood estimation of mixture
    proportions using sequential quadratic programming, Journal of Computational and Graphical Statistics 29.
    """
    evaluate = partial(Mixture, density, weight)
    return newton_minimum(evaluate, start, _TOLERANCE, _MAX_ITER, gap=lambda at: np.asarray(at.gap)).at
