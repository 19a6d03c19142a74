"""Where a fit starts: at the class proportions, at the fit to a sample, or at the fit of a convex loss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properly import kernels
from properly.engines.base import Engine
from properly.links import Logit
from properly.losses.base import Loss
from properly.losses.softmax import SoftmaxComposite
from properly.numeric.probabilities import Array
from properly.solvers import Problem, Status, minimise
from properly.solvers.newton import STEPS

_WIDE = 5.0  # offsets within this range leave one optimum, as far as is known
_PLACES, _STARTS = 129, 4


def at_class_proportions(problem: Problem, class_weight: Array) -> Array:
    """Coefficients 0 and the intercept at which the mean probabilities are the class proportions.

    Offsets are taken into account where there is one score a row.
    """
    model = problem.model
    scores = model.composite._scores_of(class_weight / class_weight.sum(), model.positive)
    features = np.zeros((len(scores), problem.n_features))
    if len(scores) > 1:
        return np.column_stack([features, scores])
    offsets = problem.engine.reduce(kernels.offset_range, model.positive)
    if problem.engine.passes_are_dear:
        problem = replace(problem, engine=problem.engine.thinned() or problem.engine)
    low, high = float(scores[0]) - offsets.largest, float(scores[0]) - offsets.smallest
    unit = np.append(np.zeros(problem.n_features), 1.0)[None]
    narrow = max(0.1, 1e-12 * max(abs(low), abs(high)))  # at very large offsets float64 numbers lie far apart
    while high - low > narrow and len(problem.squares) > problem.n_features:  # the slope changes sign in between
        grid = np.linspace(low, high, 33)
        with np.errstate(over="ignore", invalid="ignore"):  # offsets may be of any size
            _, slopes = problem.line(np.zeros_like(unit), unit, grid)
        last = int(np.searchsorted(slopes > 0.0, True)) if problem.convex else int(np.argmin(np.abs(slopes)))
        low, high = grid[max(last - 1, 0)], grid[min(last + (not problem.convex), 32)]
    return np.column_stack([features, [0.5 * (low + high)]])


def over_the_intercept(problem: Problem) -> list[Array]:
    """The lowest minima over the intercept alone, if the loss is not convex and the offsets are far apart.

    Where every row has its own place on the scale of scores, such a loss has an optimum for each group of rows.
    """
    if (
        problem.convex
        or len(problem.squares) == problem.n_features
        or isinstance(problem.model.composite, SoftmaxComposite)
    ):
        return []
    offsets = problem.engine.reduce(kernels.offset_range, problem.model.positive)
    if offsets.largest - offsets.smallest <= _WIDE:
        return []
    grid = np.linspace(-offsets.largest - _WIDE, -offsets.smallest + _WIDE, _PLACES)
    unit = np.append(np.zeros(problem.n_features), 1.0)[None]
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.nan_to_num(problem.line(np.zeros_like(unit), unit, grid)[0], nan=np.inf)
    lowest = np.flatnonzero((values[1:-1] <= values[:-2]) & (values[1:-1] <= values[2:])) + 1
    return [grid[place] * unit for place in lowest[np.argsort(values[lowest])][:_STARTS]]


def where_finite(problem: Problem, coef: Array, plain: Array) -> Array:
    """The start, or the nearest point between it and the class proportions at which the loss is finite."""
    if problem.convex or np.isfinite(problem.point(coef).value):
        return coef
    values, _ = problem.line(plain, coef - plain, STEPS)
    finite = np.isfinite(values)
    return plain + STEPS[np.argmax(finite)] * (coef - plain) if finite.any() else plain


def convex_start(problem: Problem, coef: Array, n_classes: int, max_iter: int) -> Array:
    """A rough fit of the convex loss with the same link, with the penalty converted to the unit of that loss."""
    model, tol = problem.model, 1e-3
    convex = model.composite.convex_companion
    unit = _largest_weight(convex.loss) / _largest_weight(model.composite.loss)
    companion = problem.penalised(unit, model=replace(model, composite=convex), null_loss=problem.weight)
    coef = fitted_to_sample(companion, coef, n_classes, tol, max_iter)
    solution = minimise(companion, coef, tol, max_iter)
    return solution.coef if solution.status is Status.CONVERGED else coef


def _largest_weight(loss: Loss) -> float:
    """The largest ω(p) p (1-p) among ordinary probabilities; 1 for log loss."""
    p, q = Logit().inverse_pair(np.linspace(-5.0, 5.0, 1001))
    return float(np.max(loss.weight(p, q) * p * q))


def usable_sample(engine: Engine, n_classes: int, size: int) -> tuple[Engine, kernels.Classes] | None:
    """A sample of the rows and its classes, if it has three rows of the rarest class per coefficient, or all rows."""
    sample = engine.thinned()
    if sample is None:
        return None
    classes = sample.reduce(kernels.classes, n_classes)
    total = float(classes.weight.sum())
    enough = total > 0.0 and classes.rows * classes.weight.min() / total >= 3 * size
    whole = engine.passes_are_dear and classes.rows == engine.reduce(kernels.classes, n_classes).rows
    return (sample, classes) if enough or whole else None


def sample_tolerance(size: int, n_rows: int, tol: float) -> float:
    """A fit to a sample stops at the statistical error of the sample."""
    return max(tol, 0.3 * float(np.sqrt(size / n_rows)))


def fitted_to_sample(problem: Problem, coef: Array, n_classes: int, tol: float, max_iter: int) -> Array:
    """The solution on a sample of the rows, itself started from a smaller sample: most iterations are cheap then.

    The penalty is scaled down with the data.
    """
    found = usable_sample(problem.engine, n_classes, coef.size)
    if found is None:
        return coef
    sample, classes = found
    total = float(classes.weight.sum())
    share = total / problem.weight
    squares, null_loss = problem.squares * share, problem.null_loss * share
    rough = problem.penalised(share, engine=sample, weight=total, squares=squares, null_loss=null_loss)
    coef = fitted_to_sample(rough, coef, n_classes, tol, max_iter)
    solution = minimise(rough, coef, sample_tolerance(coef.size, classes.rows, tol), max_iter)
    return solution.coef if solution.status is Status.CONVERGED else coef
