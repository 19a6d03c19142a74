"""From an engine and a composite to coefficients: moments, centring, start, penalty, solver."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from properly import kernels
from properly.engines.base import Engine
from properly.inputs.options import checked_count
from properly.kernels import LinearModel
from properly.linear.starts import at_class_proportions, convex_start, fitted_to_sample, where_finite
from properly.losses.composite import Composite
from properly.losses.softmax import SoftmaxComposite
from properly.numeric.probabilities import Array
from properly.solvers import Problem, Solution, Status, minimise

_FAR_FROM_ZERO = 100.0  # columns are centred if the mean of one is this many standard deviations away from 0


class Data(NamedTuple):
    """The rows to fit, and what several fits to them share."""

    engine: Engine
    class_weight: Array
    center: Array | None
    squares: Array  # weighted sums of squares of the features, about the centre if there is one

    @classmethod
    def describe(cls, engine: Engine, class_weight: Array, may_center: bool) -> Self:
        """One pass over the features, or two; sums that are not finite betray features that are not."""
        with np.errstate(over="ignore", invalid="ignore"):
            moments = engine.reduce(kernels.moments, None)
        if not np.isfinite(moments.squares).all():
            raise ValueError(
                "X contains NaN or infinity, or values or weights so large that their squares overflow float64; "
                "drop or impute such rows, or scale the features."
            )
        weight = float(class_weight.sum())
        mean = moments.total / weight
        spread = np.sqrt(np.maximum(moments.squares / weight - mean**2, 0.0))
        if not may_center or moments.sparse_rows or not np.any(np.abs(mean) > _FAR_FROM_ZERO * spread):
            return cls(engine, class_weight, None, moments.squares)
        squares = engine.reduce(kernels.moments, mean).squares
        constant = squares <= weight * (1e-14 * mean) ** 2
        # The mean of a constant column is rounded; its first value makes the column exactly 0.
        center = np.where(constant, _first_row(engine), mean) if constant.any() else mean
        return cls(engine, class_weight, center, np.where(constant, 0.0, squares))

    @property
    def weight(self) -> float:
        return float(self.class_weight.sum())


def _first_row(engine: Engine) -> Array:
    """The features of the first row that counts."""
    for block in engine.blocks():
        rows = np.arange(len(block.y)) if block.weight is None else np.flatnonzero(block.weight)
        if len(rows):
            return np.asarray(block.X[rows[0]])
    raise ValueError("sample_weight is zero for every row; at least one must be positive.")


def weight_by_class(engine: Engine, classes: NDArray[Any]) -> Array:
    """The summed weight of every class, checked."""
    with np.errstate(over="ignore"):
        return checked_class_weights(engine.reduce(kernels.classes, len(classes)).weight, classes)


def checked_class_weights(weight: Array, classes: NDArray[Any]) -> Array:
    """The summed weights of classes, of which there must be two or more, none empty, with a finite sum of all."""
    if len(classes) < 2:
        raise ValueError(f"y holds one class only, {classes.tolist()[0]!r}; at least 2 classes are needed.")
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not np.isfinite(total):
        raise ValueError("sample_weight must have a finite sum; divide the weights by a large number.")
    if not total > 0.0:
        raise ValueError("sample_weight is zero for every row; at least one must be positive.")
    for label, own in zip(classes.tolist(), weight.tolist(), strict=True):
        if own == 0.0:
            raise ValueError(f"every row of class {label!r} has weight 0; drop these rows or weight them.")
        if own / total < np.finfo(np.float64).tiny:
            raise ValueError(
                f"the rows of class {label!r} have a weight of {own:.3g} in all, too little to count beside "
                f"{total:.3g}; make the weights less unequal."
            )
    return weight


def require_two_classes(classes: NDArray[Any]) -> None:
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported: y holds {len(classes)} classes; fit one versus rest with "
            "sklearn.multiclass.OneVsRestClassifier, or use ProperLinearClassifier."
        )


class Penalty(NamedTuple):
    """The factors of ½‖w‖² and ‖w‖₁."""

    ridge: float
    lasso: float

    @classmethod
    def of(cls, C: float, l1_ratio: float = 0.0) -> Self:
        if not (isinstance(C, Real) and C > 0.0):
            raise ValueError(f"C must be a positive number (np.inf for no penalty), got {C!r}.")
        if not (isinstance(l1_ratio, Real) and 0.0 <= l1_ratio <= 1.0):
            raise ValueError(f"l1_ratio must lie in [0, 1], got {l1_ratio!r}.")
        if C < 1e-300:
            raise ValueError(f"C must be at least 1e-300 for its inverse to be a number, got {C!r}.")
        strength = 0.0 if np.isinf(C) else 1.0 / float(C)
        return cls((1.0 - float(l1_ratio)) * strength, float(l1_ratio) * strength)


def check_limits(tol: float, max_iter: int, fit_intercept: bool) -> None:
    if not isinstance(fit_intercept, bool | np.bool_):
        raise ValueError(f"fit_intercept must be True or False, got {fit_intercept!r}.")
    if not (isinstance(tol, Real) and 0.0 < tol < np.inf):
        raise ValueError(f"tol must be positive and finite, got {tol!r}.")
    checked_count(max_iter, "max_iter", 1)


class Fit(NamedTuple):
    coef: Array  # (scores, features)
    intercept: Array  # (scores,)
    solution: Solution
    runaway: bool  # without penalty and grown without limit: the classes are separable


def fit_linear(
    data: Data,
    composite: Composite | SoftmaxComposite,
    penalty: Penalty,
    *,
    positive: int = 1,
    fit_intercept: bool = True,
    start: tuple[Array, Array] | None = None,
    further_starts: Sequence[tuple[Array, Array]] = (),
    tol: float,
    max_iter: int,
) -> Fit:
    """Minimise Σ weight · loss + ½ ridge ‖w‖² + lasso ‖w‖₁ over coefficients and a free intercept.

    It begins at `start` (coefficients and intercepts), else, if convex, at the fit to a sample, and if not, at the
    fit of the convex loss that belongs to the link: a loss that is flat at the class proportions would never
    leave them. `further_starts` are for losses that may have several optima: the best solution is kept.
    """
    problem, plain = problem_of(data, composite, penalty, positive, fit_intercept)
    k, width = problem.n_features, plain.shape[1]
    if start is None and not problem.convex:
        coef = convex_start(problem, plain, len(data.class_weight), max_iter)
    elif start is None:
        coef = fitted_to_sample(problem, plain, len(data.class_weight), tol, max_iter)
    else:
        coef = _with_intercept(*start, data.center)[:, :width]
    others = [_with_intercept(*other, data.center)[:, :width] for other in further_starts]
    solution = _solve(problem, coef, plain, others, tol, max_iter)
    w = solution.coef[:, :k].copy()
    intercept = solution.coef[:, k].copy() if fit_intercept else np.zeros(len(w))
    if data.center is not None:
        intercept -= w @ data.center
    return Fit(w, intercept, solution, not any(penalty) and _has_run_away(problem, solution))


def problem_of(
    data: Data, composite: Composite | SoftmaxComposite, penalty: Penalty, positive: int, fit_intercept: bool
) -> tuple[Problem, Array]:
    """What the solver is to minimise, and the coefficients that forecast the class proportions."""
    model = LinearModel(composite, positive, data.center)
    squares = np.append(data.squares, data.weight) if fit_intercept else data.squares
    null_loss = data.weight * _null_loss(composite, data, positive)
    k = len(data.squares)
    problem = Problem(data.engine, model, penalty.ridge, penalty.lasso, data.weight, squares, k, null_loss)
    return problem, at_class_proportions(problem, data.class_weight)[:, : len(squares)]


def warn_about(fit: Fit, tol: float, max_iter: int) -> None:
    """A ConvergenceWarning with a remedy, unless the fit converged."""
    status, size = fit.solution.status, fit.solution.size
    if fit.runaway:
        message = (
            "the classes look separable: without a penalty the coefficients grow without limit and the "
            "probabilities tend to 0 and 1 (a loss tailored to a threshold may do this to overlapping classes, too); "
            "use a finite C."
        )
    elif not np.isfinite(size):
        message = (
            "the fit ended where the loss or its gradient is infinite: with this link the loss has no finite optimum "
            "that could be reached; use the canonical link (link=None), a smaller C, or scaled features."
        )
    elif status is Status.OUT_OF_ITERATIONS:
        message = (
            f"the fit stopped after max_iter={max_iter} iterations with a relative Newton decrement of {size:.1e}, "
            f"above tol={tol:.1e}; increase max_iter, scale the features, or lower C."
        )
    elif status is Status.ON_A_KINK:
        message = (
            "the fit ended on a kink of the loss, where rows sit on the edge of the link's support and no gradient "
            "vanishes: better points nearby were looked for and not found; use a link without kinks (xi > -1), or a "
            "smaller C."
        )
    elif status is Status.STALLED:
        message = (
            f"the fit stopped where no step improves it any more, with a relative Newton decrement of {size:.1e}, "
            f"above tol={tol:.1e}; scale the features, lower C, or raise tol if this is precise enough."
        )
    else:
        return
    warnings.warn(message, ConvergenceWarning, stacklevel=3)


def _null_loss(composite: Composite | SoftmaxComposite, data: Data, positive: int) -> float:
    """The loss per unit of weight of forecasting the class proportions: the unit of the loss."""
    share = data.class_weight / data.weight
    if isinstance(composite, SoftmaxComposite):
        return float(-np.sum(share * np.log(share)) if composite.canonical else 0.5 * (1.0 - np.sum(share**2)))
    p, q = share[positive], np.delete(share, positive).sum()
    entropy = float(composite.loss.entropy(p, q))
    if np.isfinite(entropy) and entropy > 0.0:
        return entropy
    return float(composite.loss.weight(p, q) * p * q)  # a loss without lower bound


def _solve(problem: Problem, coef: Array, plain: Array, others: list[Array], tol: float, max_iter: int) -> Solution:
    """The best solution found from `coef`; from the class proportions and the others, if need be or if there are any.

    A problem that is not convex and has not converged gets a last try with the expected curvature.
    """
    coef = where_finite(problem, coef, plain)
    solution = minimise(problem, coef, tol, max_iter)
    if others or (solution.status is not Status.CONVERGED and not np.array_equal(coef, plain)):
        starts = [plain, *(where_finite(problem, other, plain) for other in others)]
        solution = _best(problem, [solution, *(minimise(problem, start, tol, max_iter) for start in starts)])
    if problem.convex:
        return solution
    if solution.status is not Status.CONVERGED:
        solution = _best(problem, [solution, minimise(replace(problem, observed=False), coef, tol, max_iter)])
    if problem.kinked and solution.status is not Status.OUT_OF_ITERATIONS and not _gradient_vanishes(problem, solution):
        solution.status = Status.ON_A_KINK
    return solution


def _best(problem: Problem, solutions: list[Solution]) -> Solution:
    """The solution with the lowest objective; among equals (if convex, all) one that converged, or nearly did."""
    smooth = np.array([problem.point(solution.coef).value for solution in solutions])
    lasso = [problem.lasso * np.abs(solution.coef[:, : problem.n_features]).sum() for solution in solutions]
    values = np.nan_to_num(smooth + lasso, nan=np.inf)
    equals = np.flatnonzero(values <= values.min() + 1e-10 * problem.null_loss)
    return min((solutions[i] for i in equals), key=_distance_from_convergence)


def _distance_from_convergence(solution: Solution) -> tuple[bool, float]:
    return solution.status is not Status.CONVERGED, float(np.nan_to_num(solution.size, nan=np.inf))


def _gradient_vanishes(problem: Problem, solution: Solution) -> bool:
    """Whether the gradient is small by the scale of the features alone: curvatures at a kink are no measure."""
    gradient = np.abs(problem.point(solution.coef).gradient) - problem.lasso
    return bool(np.all(gradient <= 1e-6 * np.sqrt(problem.squares * problem.null_loss)))


def _with_intercept(coef: Array, intercept: Array, center: Array | None) -> Array:
    return np.column_stack([coef, intercept if center is None else intercept + coef @ center])


def _has_run_away(problem: Problem, solution: Solution) -> bool:
    """Whether an unpenalised fit shows separable classes.

    Then every row is fitted (complete separation), or Newton's steps do not shrink faster than by a constant
    factor, because there is no optimum to be reached (quasi-complete separation).
    """
    if problem.engine.reduce(kernels.misfits, problem.model, solution.coef).weight == 0.0:
        return True
    late = np.array(solution.history[-4:])
    if problem.kinked and not problem.convex:  # where steps shrink slowly, optimum or not
        return False
    return len(solution.history) >= 10 and bool(np.all(late[1:] > 0.4 * late[:-1]))
