"""Where a fit starts: at the class proportions, at the fit to a sample, or at the fit of a convex loss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properly import kernels
from properly.engines.base import Engine
from properly.kernels import LinearModel
from properly.links import Logit
from properly.losses.base import Loss
from properly.losses.composite import Composite
from properly.losses.softmax import SoftmaxComposite
from properly.numeric.probabilities import Array
from properly.solvers import Problem, Status, minimise
from properly.solvers.newton import STEPS

_SHARES = (0.125, 0.25, 0.5)  # of a loss that is not convex, on the way from log loss to it
_MULTIPLES = (0.0, 1.0, 0.5, 2.0, -0.5)  # of the coefficients of the convex loss
_BEYOND, _PLACES, _STARTS = 5.0, 65, 4
_WIDE = 5.0  # offsets within this range leave losses of other kinds the optima that their own starts lead to


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


def of_other_optima(problem: Problem, coef: Array, class_weight: Array, max_iter: int) -> list[Array]:
    """Where other optima of a loss that is not convex may be, from `coef`, the fit of the convex loss.

    Every row pulls the scores to its own side of the threshold that the loss looks at, so each side of a group of rows
    may hold an optimum. Many rows are searched in a sample, whose two best optima are then the starts.
    """
    composite = problem.model.composite
    if problem.convex or isinstance(composite, SoftmaxComposite) or not _bends(composite):
        return []
    offsets = problem.engine.reduce(kernels.offset_range, problem.model.positive)
    if composite.loss._softer(0.5) is None and offsets.largest - offsets.smallest <= _WIDE:
        return []
    rows = int(np.ceil(3 * coef.size * class_weight.sum() / class_weight.min()))  # three of the rarest a coefficient
    found = problem.engine.sampled(rows)
    if found is None:
        return _starts(problem, coef, max_iter)
    rough = _sampled(problem, *found)
    solutions = [minimise(rough, start, 1e-3, max_iter) for start in _starts(rough, coef, max_iter)]
    values = np.nan_to_num([rough.point(solution.coef).value for solution in solutions], nan=np.inf)
    first = [k for k, value in enumerate(values) if np.all(np.abs(values[:k] - value) > 1e-5 * rough.null_loss)]
    return [solutions[k].coef for k in sorted(first, key=lambda k: float(values[k]))[:2]]


def _starts(problem: Problem, coef: Array, max_iter: int) -> list[Array]:
    minima = _over_the_plane(problem, coef)
    return minima + _softly(problem, [coef, *minima], max_iter)


def _bends(composite: Composite) -> bool:
    """Whether the loss of a row is not convex in its score, as far as ordinary probabilities tell."""
    p, q = Logit().inverse_pair(np.linspace(-20.0, 20.0, 401))
    v = composite.link.link(p, q)
    curvature = np.array([composite.curvature(np.full(len(v), y), v, "observed") for y in (0, 1)])
    scale = np.nanmax(np.abs(curvature), where=np.isfinite(curvature), initial=0.0)
    return bool(np.any(curvature < -1e-9 * scale))


def _softly(problem: Problem, starts: list[Array], max_iter: int) -> list[Array]:
    """Where optima of log loss go while that turns into the loss in question, if there is a formula for the losses
    in between."""
    model = problem.model
    for share in _SHARES:
        loss = model.composite.loss._softer(share)
        if loss is None:
            return []
        softer = _in_unit_of(problem, replace(model, composite=replace(model.composite, loss=loss)))
        starts = [minimise(softer, start, 1e-3, max_iter).coef for start in starts]
    return starts


def _over_the_plane(problem: Problem, coef: Array) -> list[Array]:
    """The lowest minima over the intercept, for several multiples of the other coefficients."""
    if len(problem.squares) == problem.n_features:
        return []
    offsets = problem.engine.reduce(kernels.offset_range, problem.model.positive)
    unit = np.append(np.zeros(problem.n_features), 1.0)[None]
    starts, lowest = [], []
    for multiple in _MULTIPLES:
        features = multiple * coef * (1.0 - unit)
        beyond = _BEYOND + 2.0 * problem.rms_score(features)
        grid = np.linspace(-offsets.largest - beyond, -offsets.smallest + beyond, _PLACES)
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.nan_to_num(problem.line(features, unit, grid)[0], nan=np.inf)
        values += problem.lasso * np.abs(features).sum()
        places = np.flatnonzero((values[1:-1] <= values[:-2]) & (values[1:-1] <= values[2:])) + 1
        starts += [features + grid[place] * unit for place in places]
        lowest += values[places].tolist()
    return [starts[k] for k in np.argsort(lowest, kind="stable")[:_STARTS]]


def where_finite(problem: Problem, coef: Array, plain: Array) -> Array:
    """The start, or the nearest point between it and the class proportions at which the loss is finite."""
    if problem.convex or np.isfinite(problem.point(coef).value):
        return coef
    values, _ = problem.line(plain, coef - plain, STEPS)
    finite = np.isfinite(values)
    return plain + STEPS[np.argmax(finite)] * (coef - plain) if finite.any() else plain


def convex_start(problem: Problem, coef: Array, n_classes: int, max_iter: int) -> Array:
    """A rough fit of the convex loss with the same link, with the penalty converted to the unit of that loss."""
    tol = 1e-3
    companion = _in_unit_of(problem, replace(problem.model, composite=problem.model.composite.convex_companion))
    coef = fitted_to_sample(companion, coef, n_classes, tol, max_iter)
    solution = minimise(companion, coef, tol, max_iter)
    return solution.coef if solution.status is Status.CONVERGED else coef


def _in_unit_of(problem: Problem, model: LinearModel) -> Problem:
    """The same rows with the loss of another model, and with the penalty converted to the unit of that loss."""
    unit = _largest_weight(model.composite.loss) / _largest_weight(problem.model.composite.loss)
    return problem.penalised(unit, model=model, null_loss=problem.weight)


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


def _sampled(problem: Problem, sample: Engine, share: float) -> Problem:
    """The problem on a sample of the rows that has this share of the weight; the penalty is scaled down with it."""
    squares, weight, null_loss = problem.squares * share, problem.weight * share, problem.null_loss * share
    return problem.penalised(share, engine=sample, weight=weight, squares=squares, null_loss=null_loss)


def fitted_to_sample(problem: Problem, coef: Array, n_classes: int, tol: float, max_iter: int) -> Array:
    """The solution on a sample of the rows, itself started from a smaller sample: most iterations are cheap then."""
    found = usable_sample(problem.engine, n_classes, coef.size)
    if found is None:
        return coef
    sample, classes = found
    rough = _sampled(problem, sample, float(classes.weight.sum()) / problem.weight)
    coef = fitted_to_sample(rough, coef, n_classes, tol, max_iter)
    solution = minimise(rough, coef, sample_tolerance(coef.size, classes.rows, tol), max_iter)
    return solution.coef if solution.status is Status.CONVERGED else coef
