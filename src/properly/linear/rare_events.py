"""Logistic regression with the usual corrections for rare classes, such as Firth's bias reduction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.optimize import minimize
from sklearn.utils import check_random_state

from properly import kernels
from properly.engines import Engine, MemoryEngine, PartitionedEngine
from properly.inputs.labels import two_shares
from properly.inputs.options import check_interval, choose
from properly.kernels import Block, LinearModel, Statistic
from properly.linear.estimator import LinearEstimator
from properly.linear.fitting import Data, Fit, Penalty
from properly.links import Link, Logit
from properly.losses import Composite, LogLoss
from properly.numeric.arrays import Array, beside, namespace, to_numpy
from properly.numeric.functions import matmul
from properly.numeric.limits import SMALLEST_NORMAL
from properly.solvers import Solution, Status


@dataclass(eq=False, repr=False)
class RareEventLogisticRegression(LinearEstimator):
    """Logistic regression for a rare class, with a correction of its sampling or of its bias; two classes only.

    Mathematics: formula (1.12).

    Parameters
    ----------
    correction : {"undersampling", "weighting", "firth", "king-zeng-bias"}, default "firth"
        - "undersampling": keep every row of the rarer class and as many of the other, drawn at random (about as many,
          if the rows are not in memory); fit; shift the intercept back to the rate of the population.
        - "weighting": give both classes the same weight; fit; shift the intercept back.
        - "firth": maximise the likelihood times √|information| (Firth 1993): this removes the first-order bias, and
          the estimates are finite also for separated classes.
        - "king-zeng-bias": subtract the estimated bias from the maximum-likelihood coefficients (King & Zeng 2001).
    population_rate : float, dict or None, default None
        The share of the positive class where the probabilities will be used, if it differs from that of the sample
        (case-control studies, purchased negatives); None means that of the sample. The labels must tell which class is
        positive (0/1, false/true, no/yes, -1/1), or a dict names it, as in {"fraud": 0.002}. The intercept is shifted
        by the difference of the log-odds; other coefficients do not depend on it.
    C : float, default np.inf
        Inverse strength of a ridge penalty on top, as in `ProperLinearClassifier`; by default there is none. "firth"
        then maximises ln likelihood + ½ ln|information| - ½‖w‖²/C.
    fit_intercept : bool, default True
        `population_rate`, "undersampling" and "weighting" need an intercept, which they shift.
    tol : float, default 1e-8
    max_iter : int, default 100
    random_state : int, RandomState or None, default None
        For "undersampling".

    Attributes
    ----------
    classes_, coef_, intercept_, link_, n_iter_, solutions_ : as in `ProperLinearClassifier`
    sample_rate_ : float
        The weighted share of the second class in the data.
    intercept_shift_ : float
        What was added to the intercept for the rate of the population.

    References
    ----------
    Firth (1993), Biometrika 80; King & Zeng (2001), Political Analysis 9.

    Examples
    --------
    >>> from properly.datasets import make_rare_events
    >>> X, y, p = make_rare_events(500, 2, rate=0.03, random_state=0)
    >>> model = RareEventLogisticRegression(correction="firth").fit(X, y)
    >>> model.predict_proba(X).shape
    (500, 2)
    """

    only_two_classes: ClassVar[bool] = True

    correction: str = "firth"
    population_rate: float | Mapping[Any, float] | None = None
    _: KW_ONLY
    C: float = np.inf
    random_state: Any = None

    def _fits(self, engine: Engine, classes: NDArray[Any], class_weight: Array) -> tuple[Sequence[Fit], Link | None]:
        self.sample_rate_ = float(class_weight[1] / class_weight.sum())
        fit, fitted_rate = self._methods()[self.correction](engine, class_weight)
        rate = self.sample_rate_
        if self.population_rate is not None:
            rate = two_shares(self.population_rate, classes, "population_rate")[classes.tolist()[1]]
        self.intercept_shift_ = _log_odds(rate) - _log_odds(fitted_rate) if rate != fitted_rate else 0.0
        return [fit._replace(intercept=fit.intercept + self.intercept_shift_)], Logit()

    def _certain(self, engine: Engine, classes: NDArray[Any], class_weight: Array) -> tuple[Sequence[Fit], Link | None]:
        self.sample_rate_, self.intercept_shift_ = float(class_weight[1] > 0.0), 0.0
        return super()._certain(engine, classes, class_weight)

    def _methods(self) -> dict[str, Callable[[Engine, Array], tuple[Fit, float]]]:
        return {
            "undersampling": self._undersampled,
            "weighting": self._weighted,
            "firth": self._firth,
            "king-zeng-bias": self._without_bias,
        }

    def _check_options(self) -> None:
        choose(self.correction, self._methods(), "correction")
        Penalty.of(self.C)
        if self.population_rate is not None:
            rate: Any = self.population_rate
            if isinstance(rate, Mapping) and len(rate) == 1:
                (rate,) = rate.values()
            check_interval(rate, "population_rate, the share of the positive class in the population,", 0.0, 1.0)
        shifted = self.population_rate is not None or self.correction in ("undersampling", "weighting")
        if shifted and not self.fit_intercept:
            raise ValueError(
                "fit_intercept=False leaves no intercept to shift to the rate of the population; set it to True."
            )

    def _plain(self, engine: Engine, class_weight: Array) -> Fit:
        data = self._described(engine, class_weight)
        return self._fit_one(data, Composite(LogLoss()), Penalty.of(self.C))

    def _undersampled(self, engine: Engine, class_weight: Array) -> tuple[Fit, float]:
        random = check_random_state(self.random_state)
        sample: Engine
        if isinstance(engine, PartitionedEngine):
            sample = engine.undersampled(random.randint(2**31))
        else:
            rows = cast(MemoryEngine, engine)
            weight = None if rows.weight is None else to_numpy(rows.weight)
            sample = type(rows)(*rows.rows(_balanced_rows(to_numpy(rows.y), weight, random)))
        kept = sample.reduce(kernels.classes, 2).weight
        return self._plain(sample, kept), float(kept[1] / kept.sum())

    def _weighted(self, engine: Engine, class_weight: Array) -> tuple[Fit, float]:
        factor = class_weight.sum() / (2.0 * class_weight)
        return self._plain(engine.reweighted(factor), class_weight * factor), 0.5

    def _firth(self, engine: Engine, class_weight: Array) -> tuple[Fit, float]:
        data = self._described(engine, class_weight)
        start = np.zeros((1, len(data.squares) + int(self.fit_intercept)))
        if self.fit_intercept:
            start[0, -1] = _log_odds(self.sample_rate_)
        reduction = self._bias_reduction(data)
        solution = reduction.maximise(reduction.saturated(start), self.tol, self.max_iter)
        return Fit(*data.separated(solution.coef), solution, False), self.sample_rate_

    def _without_bias(self, engine: Engine, class_weight: Array) -> tuple[Fit, float]:
        data = self._described(engine, class_weight)
        fit = self._fit_one(data, Composite(LogLoss()), Penalty.of(self.C))
        estimate = data.joined(fit.coef, fit.intercept)
        *_, minus_bias = self._bias_reduction(data).evaluate(estimate)
        return Fit(*data.separated(estimate + minus_bias), fit.solution, fit.runaway), self.sample_rate_

    def _bias_reduction(self, data: Data) -> BiasReduction:
        null_loss = data.weight * float(LogLoss().entropy(self.sample_rate_))
        return BiasReduction(data, Penalty.of(self.C).ridge, null_loss)


def _log_odds(rate: float) -> float:
    return float(Logit().link(rate))


def _balanced_rows(y: NDArray[np.intp], weight: Array | None, random: np.random.RandomState) -> NDArray[np.intp]:
    """All rows of the rarer class and as many of the other; rows of weight 0 are left out."""
    counts = np.ones(len(y), dtype=bool) if weight is None else weight > 0.0
    rows = [np.flatnonzero((y == code) & counts) for code in (0, 1)]
    size = min(map(len, rows))
    return np.sort(np.concatenate([np.sort(random.permutation(part)[:size]) for part in rows]))


@dataclass
class _Score(Statistic):
    """The log-likelihood, its gradient, and Firth's addition to the gradient."""

    log_likelihood: float
    gradient: Array
    addition: Array


def _score(block: Block, model: LinearModel, coef: Array, root: Array) -> _Score:
    X, y, v = model.read(block, coef)
    p, q = Logit()._pair(v)
    xp = namespace(v)
    weight = xp.ones_like(v) if block.weight is None else block.weight
    design = _with_intercept(X, coef)
    leverage = weight * p * q * xp.sum(matmul(design, root) ** 2, axis=1)
    residual = weight * xp.where(y, q, -p)
    log_likelihood = -xp.sum(weight * model.composite._value(y, v))
    return _Score(log_likelihood, design.T @ residual, design.T @ (leverage * (0.5 - p)))


def _with_intercept(X: Any, coef: Array) -> Array:
    """The features, and a column of ones if there is a coefficient for it."""
    design = np.asarray(X.todense()) if hasattr(X, "todense") else X
    return beside(design, namespace(design).ones_like(design[:, :1])) if coef.shape[1] > X.shape[1] else design


@dataclass
class _Saturated(Statistic):
    """The number of rows, and what their scores lack if every row could have its own, Σ weight · p q · lack · x."""

    rows: int
    lacking: Array


def _saturated(block: Block, model: LinearModel, coef: Array) -> _Saturated:
    X, y, v = model.read(block, coef)
    p, q = Logit()._pair(v)
    xp = namespace(v)
    weight = xp.ones_like(v) if block.weight is None else block.weight
    best = xp.where(y, 1.0, -xp.ones_like(v)) * xp.log1p(2.0 * weight)  # the log-odds of (weight · y + ½)/(weight + 1)
    return _Saturated(int(xp.count_nonzero(weight)), _with_intercept(X, coef).T @ (weight * p * q * (best - v)))


class BiasReduction:
    """The penalised likelihood ln L + ½ ln|I| - ½ ridge ‖w‖², its gradient, and the step that removes the bias."""

    def __init__(self, data: Data, ridge: float, null_loss: float) -> None:
        self.engine, self.null_loss, self.passes = data.engine, null_loss, 0
        self.model = LinearModel(Composite(LogLoss()), center=data.center)
        self.ridge = ridge * np.append(np.ones(len(data.squares)), [0.0] * int(data.fit_intercept))
        start = np.zeros((1, len(self.ridge)))
        information = self.engine.reduce(kernels.hessian, self.model, start, False, None).hessian
        self.scale, self.basis = _row_space(information)

    def saturated(self, coef: Array) -> Array:
        """The solution, but for rounding, if the data determine as many coefficients as there are rows; else `coef`.

        Then every row has a leverage of 1, and a score of its own: p = (weight · y + ½)/(weight + 1).
        """
        sums = self.engine.reduce(_saturated, self.model, coef)
        _, _, root, _ = self.evaluate(coef)
        saturated = sums.rows == root.shape[1] and not self.ridge.any()
        return coef + root @ (root.T @ sums.lacking) if saturated else coef

    @np.errstate(all="ignore")  # an infinite objective is refused by the line search
    def evaluate(self, coef: Array) -> tuple[float, Array, Array, Array]:
        """Objective, gradient, a root R of the inverse curvature (RRᵀ), and the step that removes the bias."""
        self.passes += 2
        information = self.engine.reduce(kernels.hessian, self.model, coef, False, None).hessian
        root, log_determinant = self._root_of_inverse(information)
        sums = self.engine.reduce(_score, self.model, coef, root)
        if self.ridge.any():
            root, _ = self._root_of_inverse(information + np.diag(self.ridge))
        objective = sums.log_likelihood + 0.5 * log_determinant - 0.5 * float(np.sum(self.ridge * coef**2))
        gradient = sums.gradient + sums.addition - self.ridge * coef[0]
        return objective, gradient, root, root @ (root.T @ sums.addition)

    def _root_of_inverse(self, matrix: Array) -> tuple[Array, float]:
        """R with RRᵀ the inverse on the row space, and the log-determinant there."""
        inner = matrix * self.scale * self.scale[:, None]
        if self.basis is not None:
            inner = self.basis.T @ inner @ self.basis
        try:
            factor = linalg.cholesky(inner, lower=True, check_finite=False)
            inverse, failed = linalg.lapack.dtrtri(factor, lower=True) if len(factor) else (factor, 0)
            if not failed and np.isfinite(inverse).all():  # many times faster than eigenvalues
                return self._spread(inverse.T), 2.0 * float(np.sum(np.log(np.diag(factor))))
        except linalg.LinAlgError:
            pass
        values, vectors = linalg.eigh(inner, check_finite=False)
        values = np.maximum(values, SMALLEST_NORMAL)
        return self._spread(vectors / np.sqrt(values)), float(np.sum(np.log(values)))

    def _spread(self, root: Array) -> Array:
        """From coordinates of the row space to coefficients."""
        return self.scale[:, None] * (root if self.basis is None else self.basis @ root)

    def maximise(self, coef: Array, tol: float, max_iter: int) -> Solution:
        """Fisher's scoring as long as its steps lower the decrement; BFGS, scaled by the curvature, where they do not.

        Near the optimum the objective changes by rounding only: there the decrement tells whether a step is good.
        """
        history: list[float] = []
        iterations, stuck = 0, False
        here = self.evaluate(coef)
        while True:
            objective, gradient, root, _ = here
            size, step = self._decrement(here), root @ (root.T @ gradient)
            history.append(size)
            if stuck or size <= tol or iterations >= max_iter:
                within = size <= (100.0 * tol if stuck else tol)
                status = Status.CONVERGED if within else Status.STALLED if stuck else Status.OUT_OF_ITERATIONS
                last = step if within else 0.0  # it costs nothing, and need not be looked at
                return Solution(coef + last, status, max(1, iterations), self.passes, size, history)
            there = self.evaluate(coef + step)
            if self._decrement(there) < 0.7 * size and there[0] > objective - tol * self.null_loss:
                coef, here, iterations = coef + step, there, iterations + 1
                continue

            def downhill(u: Array, start: Array = coef, root: Array = root) -> tuple[float, Array]:
                objective, gradient, _, _ = self.evaluate(start + root @ u)
                return -objective, -(root.T @ gradient)

            options = {"gtol": 0.1 * tol * np.sqrt(self.null_loss), "maxiter": max_iter - iterations}
            result = minimize(downhill, np.zeros(root.shape[1]), jac=True, method="BFGS", options=options)
            coef, iterations = coef + root @ result.x, iterations + int(result.nit)
            here = self.evaluate(coef)
            stuck = not self._decrement(here) < 0.5 * size

    def _decrement(self, point: tuple[float, Array, Array, Array]) -> float:
        """The length of a Newton step at a point that was evaluated, relative to the loss of constant probabilities."""
        _, gradient, root, _ = point
        return float(np.linalg.norm(root.T @ gradient)) / float(np.sqrt(self.null_loss))


def _row_space(information: Array) -> tuple[Array, Array | None]:
    """The scales of the coefficients, and a basis of those that the data determine: None if these are all of them."""
    scale = 1.0 / np.sqrt(np.where(np.diag(information) > 0.0, np.diag(information), 1.0))
    values, vectors = linalg.eigh(information * scale * scale[:, None], check_finite=False)
    determined = values > 1e-12 * len(values) * values[-1]
    return scale, None if determined.all() else vectors[:, determined]
