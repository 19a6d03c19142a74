"""From an engine and a composite to coefficients: moments, centring, start, penalty, solver."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from properly import kernels
from properly.engines.base import Engine
from properly.inputs.options import check_boolean, check_interval, checked_count
from properly.inputs.weights import checked_class_weights
from properly.kernels import LinearModel
from properly.linear.starts import (
    at_class_proportions,
    convex_start,
    fitted_to_sample,
    of_other_optima,
    sample_tolerance,
    usable_sample,
    where_finite,
)
from properly.losses.softmax import AnyComposite
from properly.numeric.probabilities import Array
from properly.solvers import Problem, Solution, Status, fuses, minimise, shrinks_linearly

_FAR_FROM_ZERO = 100.0  # columns are centred if the mean of one is this many standard deviations away from 0


class Data(NamedTuple):
    """The rows to fit, and what several fits to them share."""

    engine: Engine
    class_weight: Array
    fit_intercept: bool
    center: Array | None
    squares: Array  # weighted sums of squares of the features, about the centre if there is one

    @classmethod
    def describe(cls, engine: Engine, class_weight: Array, fit_intercept: bool, names: ArrayLike | None = None) -> Self:
        """One pass over the features, or two; their sums are finite only if the features are."""
        with np.errstate(over="ignore", invalid="ignore"):
            moments = engine.reduce(kernels.moments, None)
        if not np.isfinite(moments.squares).all():
            column = int(np.argmin(np.isfinite(moments.squares)))
            raise _not_finite(engine, column, column if names is None else np.asarray(names).tolist()[column])
        weight = float(class_weight.sum())
        mean = moments.total / weight
        spread = np.sqrt(np.maximum(moments.squares / weight - mean**2, 0.0))
        if not fit_intercept or moments.sparse_rows or not np.any(np.abs(mean) > _FAR_FROM_ZERO * spread):
            return cls(engine, class_weight, fit_intercept, None, moments.squares)
        squares = engine.reduce(kernels.moments, mean).squares
        constant = squares <= weight * (1e-14 * mean) ** 2
        # The mean of a constant column is rounded; its first value makes the column exactly 0.
        center = (
            np.where(constant, cast(Array, engine.reduce(kernels.first_row).features), mean) if constant.any() else mean
        )
        return cls(engine, class_weight, fit_intercept, center, np.where(constant, 0.0, squares))

    @property
    def weight(self) -> float:
        return float(self.class_weight.sum())

    def joined(self, coef: Array, intercept: Array) -> Array:
        """Coefficients as the solver takes them: of centred features, with the intercept, if any, in a last column."""
        if not self.fit_intercept:
            return coef
        return np.column_stack([coef, intercept if self.center is None else intercept + coef @ self.center])

    def separated(self, coef: Array) -> tuple[Array, Array]:
        """Coefficients and intercepts of the features as they are, from those of the solver."""
        k = len(self.squares)
        w = coef[:, :k].copy()
        if not self.fit_intercept:
            return w, np.zeros(len(w))
        return w, coef[:, k].copy() if self.center is None else coef[:, k] - w @ self.center


def _not_finite(engine: Engine, column: int, name: Any) -> ValueError:
    """What is wrong with a column whose weighted squares have no finite sum."""
    found = engine.reduce(kernels.strange_values, column)
    if found.missing:
        return ValueError(f"X contains NaN in column {name!r}; drop or impute such rows.")
    if found.infinite:
        return ValueError(f"X contains infinity in column {name!r}; drop or impute such rows.")
    return ValueError(
        f"X or sample_weight contains values so large that the weighted squares of column {name!r} overflow float64; "
        "scale the feature, or divide all weights by their largest."
    )


def weight_by_class(engine: Engine, classes: NDArray[Any]) -> Array:
    """The summed weight of every class, checked."""
    with np.errstate(over="ignore"):
        return checked_class_weights(engine.reduce(kernels.classes, len(classes)).weight, classes)


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
            raise ValueError(f"C must be at least 1e-300, so that 1/C is a float64 number, got {C!r}.")
        strength = 0.0 if np.isinf(C) else 1.0 / float(C)
        return cls((1.0 - float(l1_ratio)) * strength, float(l1_ratio) * strength)


def check_limits(tol: float, max_iter: int, fit_intercept: bool) -> None:
    check_boolean(fit_intercept, "fit_intercept")
    check_interval(tol, "tol", 0.0)
    checked_count(max_iter, "max_iter", 1)


class Fit(NamedTuple):
    coef: Array  # (scores, features)
    intercept: Array  # (scores,)
    solution: Solution
    runaway: bool  # there is no penalty and the coefficients grew without limit: the classes are separable
    several: bool = False  # starts led to several optima of a loss that is not convex, and another may be better


def certain_fit(intercept: ArrayLike, n_features: int) -> Fit:
    """Scores that do not depend on the features: those of classes that are certain, or ruled out."""
    scores = np.atleast_1d(np.asarray(intercept, dtype=np.float64))
    solution = Solution(np.zeros((len(scores), n_features)), Status.CONVERGED, 0, 0, 0.0)
    return Fit(solution.coef, scores, solution, False)


def fit_linear(
    data: Data,
    composite: AnyComposite,
    penalty: Penalty,
    *,
    positive: int = 1,
    start: tuple[Array, Array] | None = None,
    further_starts: Callable[[Data, Penalty], Sequence[tuple[Array, Array]]] | None = None,
    tol: float,
    max_iter: int,
) -> Fit:
    """Minimise Σ weight · loss + ½ ridge ‖w‖² + lasso ‖w‖₁ over coefficients and a free intercept.

    The fit starts from `start` (coefficients and intercepts) if given, otherwise from the fit to a sample (convex
    losses) or from the fit of the convex loss that belongs to the link (others: at the class proportions such a loss
    may be flat). `further_starts` are for losses that may have several optima: the best solution is kept. Where passes
    over the rows are dear, all that is done with a sample, and its best solution is the start.
    """
    if start is None and data.engine.passes_are_dear:
        start = _start_of_sample(data, composite, penalty, positive, further_starts, tol, max_iter)
    problem, plain = problem_of(data, composite, penalty, positive)
    if start is not None:
        coef = data.joined(*start)
    elif problem.convex:
        coef = fitted_to_sample(problem, plain, len(data.class_weight), tol, max_iter)
    else:
        coef = convex_start(problem, plain, len(data.class_weight), max_iter)
    others: list[Array] = []
    minima: list[Array] = []
    if start is None:
        others = [data.joined(*other) for other in (further_starts(data, penalty) if further_starts else ())]
        minima = of_other_optima(problem, coef, data.class_weight, max_iter)
    solution, several = _solve(problem, coef, plain, others + minima, tol, max_iter)
    runaway = not any(penalty) and _has_run_away(problem, solution)
    return Fit(*data.separated(solution.coef), solution, runaway, several and bool(minima))


def _start_of_sample(
    data: Data,
    composite: AnyComposite,
    penalty: Penalty,
    positive: int,
    further_starts: Callable[[Data, Penalty], Sequence[tuple[Array, Array]]] | None,
    tol: float,
    max_iter: int,
) -> tuple[Array, Array] | None:
    """Coefficients and intercepts of the fit to a sample in memory; None if it is too small or does not converge."""
    scores = len(composite._scores_of(data.class_weight / data.weight, positive))
    size = scores * (len(data.squares) + int(data.fit_intercept))
    found = usable_sample(data.engine, len(data.class_weight), size)
    if found is None or not found[1].weight.all():
        return None
    sample, classes = found
    share = float(classes.weight.sum()) / data.weight
    rough = data._replace(engine=sample, class_weight=classes.weight, squares=data.squares * share)
    scaled = Penalty(penalty.ridge * share, penalty.lasso * share)
    rough_tol = sample_tolerance(size, classes.rows, tol)
    fit = fit_linear(
        rough, composite, scaled, positive=positive, further_starts=further_starts, tol=rough_tol, max_iter=max_iter
    )
    return (fit.coef, fit.intercept) if fit.solution.status is Status.CONVERGED else None


def problem_of(data: Data, composite: AnyComposite, penalty: Penalty, positive: int = 1) -> tuple[Problem, Array]:
    """What the solver is to minimise, and the coefficients that forecast the class proportions."""
    model = LinearModel(composite, positive, data.center)
    squares = np.append(data.squares, data.weight) if data.fit_intercept else data.squares
    null_loss = data.weight * composite._null_loss(data.class_weight / data.weight, positive)
    k = len(data.squares)
    problem = Problem(data.engine, model, penalty.ridge, penalty.lasso, data.weight, squares, k, null_loss)
    start = at_class_proportions(problem, data.class_weight)[:, : len(squares)]
    problem.fused = fuses(problem, start)
    return problem, start


def warn_about(fit: Fit, tol: float, max_iter: int) -> None:
    """Give a ConvergenceWarning with a remedy, unless the fit converged."""
    status, size = fit.solution.status, fit.solution.size
    if fit.runaway:
        message = (
            "the classes look separable: without a penalty the coefficients grow without limit and the "
            "probabilities tend to 0 and 1 (with a loss tailored to a threshold this can also happen when the classes "
            "overlap); use a finite C."
        )
    elif fit.several and status is Status.CONVERGED:
        message = (
            "the loss is not convex and has several optima for these rows: the best that was found from several starts "
            "is kept, and another may be better; use the convex loss of the link, a less concentrated one or, if "
            "offsets lie far apart, check their unit."
        )
    elif not np.isfinite(size):
        message = (
            "the fit ended where the loss or its gradient is infinite: with this link no finite optimum of the loss "
            "was found; use the canonical link (link=None), a smaller C, or scaled features."
        )
    elif status is Status.OUT_OF_ITERATIONS:
        message = (
            f"the fit stopped after max_iter={max_iter} iterations with a relative Newton decrement of {size:.1e}, "
            f"above tol={tol:.1e}; increase max_iter, scale the features, or lower C."
        )
    elif status is Status.ON_A_KINK:
        message = (
            "the fit ended on a kink of the loss, where some rows lie on the edge of the link's support and the "
            "gradient does not vanish; no better point was found nearby. Use a link without kinks (xi > -1) or a "
            "smaller C."
        )
    elif status is Status.STALLED:
        message = (
            f"the fit stopped because no step lowers the objective any further, with a relative Newton decrement of "
            f"{size:.1e}, above tol={tol:.1e}; scale the features, lower C, or raise tol if this is precise enough."
        )
    else:
        return
    warnings.warn(message, ConvergenceWarning, stacklevel=3)


def _solve(
    problem: Problem, coef: Array, plain: Array, others: list[Array], tol: float, max_iter: int
) -> tuple[Solution, bool]:
    """The best solution found from `coef`, and from the class proportions and `others` if the first did not converge
    or if there are others; and whether these starts led to different optima.

    A problem that is not convex and has not converged is tried once more with the expected curvature.
    """
    coef = where_finite(problem, coef, plain)
    solution, several = minimise(problem, coef, tol, max_iter), False
    if others or (solution.status is not Status.CONVERGED and not np.array_equal(coef, plain)):
        starts = [plain, *(where_finite(problem, other, plain) for other in others)]
        solutions = [solution, *(minimise(problem, start, tol, max_iter) for start in starts)]
        values = _values(problem, [each for each in solutions if each.status is Status.CONVERGED])
        several = len(values) > 0 and bool(np.ptp(values) > 1e-8 * problem.null_loss)
        solution = _best(problem, solutions)
    if problem.convex:
        return solution, False
    if solution.status is not Status.CONVERGED:
        solution = _best(problem, [solution, minimise(replace(problem, observed=False), coef, tol, max_iter)])
    if problem.kinked and solution.status is not Status.OUT_OF_ITERATIONS and not _gradient_vanishes(problem, solution):
        solution.status = Status.ON_A_KINK
    return solution, several


def _best(problem: Problem, solutions: list[Solution]) -> Solution:
    """The solution with the lowest objective; among equals (all, if convex) the one that is nearest to convergence.

    Of losses with many starts it is the first of equals that converged, which does not depend on how many there are.
    """
    values = _values(problem, solutions)
    equals = np.flatnonzero(values <= values.min() + 1e-10 * problem.null_loss)
    first = solutions[equals[0]]
    if first.status is Status.CONVERGED and problem.model.composite.loss._softer(0.5):
        return first
    return min((solutions[i] for i in equals), key=_distance_from_convergence)


def _values(problem: Problem, solutions: list[Solution]) -> Array:
    smooth = np.array([problem.point(solution.coef).value for solution in solutions])
    lasso = [problem.lasso * np.abs(solution.coef[:, : problem.n_features]).sum() for solution in solutions]
    return np.nan_to_num(smooth + lasso, nan=np.inf)


def _distance_from_convergence(solution: Solution) -> tuple[bool, float]:
    return solution.status is not Status.CONVERGED, float(np.nan_to_num(solution.size, nan=np.inf))


def _gradient_vanishes(problem: Problem, solution: Solution) -> bool:
    """Whether the gradient is small on the scale of the features: at a kink the curvature is no useful scale."""
    gradient = np.abs(problem.point(solution.coef).gradient) - problem.lasso
    return bool(np.all(gradient <= 1e-6 * np.sqrt(problem.squares * problem.null_loss)))


def _has_run_away(problem: Problem, solution: Solution) -> bool:
    """Whether an unpenalised fit shows separable classes.

    Then every row has a probability near 1 for its own class (complete separation), or the Newton steps shrink by a
    constant factor only, because there is no finite optimum (quasi-complete separation).
    """
    sample = problem.engine.sampled(0)  # most fits show a misfit there already
    engines = [problem.engine] if sample is None else [sample[0], problem.engine]
    if all(each.reduce(kernels.misfits, problem.model, solution.coef).weight == 0.0 for each in engines):
        return True
    if problem.kinked and not problem.convex:  # steps shrink slowly there, with or without an optimum
        return False
    return shrinks_linearly(solution.history)
