"""From an engine and a composite to coefficients: moments, centring, start, penalty, solver."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from properly import kernels
from properly.engines.base import Engine
from properly.engines.memory import MemoryEngine
from properly.kernels import Description, LinearModel
from properly.losses.composite import Composite
from properly.losses.multiclass import SoftmaxComposite
from properly.probabilities import Array
from properly.solvers import Problem, Solution, minimise

_FAR_FROM_ZERO = 100.0  # a column whose mean is this many standard deviations away from 0 is centred


class Penalty(NamedTuple):
    """The factors of ½‖w‖² and ‖w‖₁."""

    ridge: float
    lasso: float


class Fit(NamedTuple):
    coef: Array  # (scores, features)
    intercept: Array  # (scores,)
    solution: Solution
    runaway: bool  # without penalty and grown without limit: the classes are separable


def fit_linear(
    engine: Engine,
    composite: Composite | SoftmaxComposite,
    penalty: Penalty,
    description: Description,
    *,
    positive: int = 1,
    fit_intercept: bool = True,
    start: tuple[Array, Array] | None = None,
    tol: float,
    max_iter: int,
) -> Fit:
    """Minimise Σ weight · loss + ½ ridge ‖w‖² + lasso ‖w‖₁ over coefficients and a free intercept."""
    weight = float(description.class_weight.sum())
    mean = description.total / weight
    spread = np.sqrt(np.maximum(description.squares / weight - mean**2, 0.0))
    center = None
    dense = not (isinstance(engine, MemoryEngine) and sparse.issparse(engine.X))
    if fit_intercept and dense and np.any(np.abs(mean) > _FAR_FROM_ZERO * spread):
        center = mean
    model = LinearModel(composite, positive, center)
    squares = description.squares if center is None else weight * spread**2
    problem = Problem(
        engine,
        model,
        penalty.ridge,
        penalty.lasso,
        weight,
        np.append(squares, [weight] * fit_intercept),
        len(mean),
    )
    coef = _starting_point(composite, description, positive, fit_intercept) if start is None else _joined(start, center)
    if not fit_intercept:
        coef = coef[:, : len(mean)]
    if start is None:
        coef = _fitted_to_sample(problem, coef, len(description.class_weight), tol, max_iter)
    solution = minimise(problem, coef, tol, max_iter)
    w = solution.coef[:, : len(mean)]
    intercept = solution.coef[:, len(mean)] if fit_intercept else np.zeros(len(w))
    if center is not None:
        intercept = intercept - w @ center
    runaway = penalty.ridge == penalty.lasso == 0.0 and _has_run_away(problem, solution.coef, spread)
    return Fit(w.copy(), intercept, solution, runaway)


def _has_run_away(problem: Problem, coef: Array, spread: Array) -> bool:
    """Whether an unpenalised fit shows separable classes: huge coefficients, or next to no loss at all."""
    if np.any(np.abs(coef[:, : problem.n_features]) * spread > 25.0):
        return True
    value = problem.engine.reduce(kernels.gradient, problem.model, coef, True).value
    return bool(value < 1e-6 * problem.weight)


def _fitted_to_sample(problem: Problem, coef: Array, n_classes: int, tol: float, max_iter: int) -> Array:
    """The solution on a sample of the rows, itself started from a smaller sample: most iterations are cheap ones.

    The penalty is scaled down with the data. A sample that is too small for its rarest class is not used, and being
    more precise than the sample's own statistical error would be wasted.
    """
    sample = problem.engine.thinned()
    if sample is None:
        return coef
    description = describe(sample, n_classes)
    total = float(description.class_weight.sum())
    rarest = description.rows * float(description.class_weight.min()) / total if total > 0.0 else 0.0
    if rarest < 3 * coef.size:
        return coef
    share = total / problem.weight
    rough = replace(
        problem,
        engine=sample,
        ridge=problem.ridge * share,
        lasso=problem.lasso * share,
        weight=total,
        squares=problem.squares * share,
    )
    coef = _fitted_to_sample(rough, coef, n_classes, tol, max_iter)
    return minimise(rough, coef, max(tol, 0.1 * float(np.sqrt(coef.size / description.rows))), max_iter).coef


def _starting_point(
    composite: Composite | SoftmaxComposite, description: Description, positive: int, fit_intercept: bool
) -> Array:
    """Coefficients 0 and the intercept at the class proportions."""
    n_features = len(description.total)
    share = description.class_weight / description.class_weight.sum()
    if isinstance(composite, SoftmaxComposite):
        coef = np.zeros((len(share), n_features + 1))
        coef[:, -1] = np.log(share) - np.log(share).mean()
        return coef
    coef = np.zeros((1, n_features + 1))
    coef[0, -1] = composite.link.link(share[positive], np.delete(share, positive).sum())
    return coef


def _joined(start: tuple[Array, Array], center: Array | None) -> Array:
    coef, intercept = start
    shift = 0.0 if center is None else coef @ center
    return np.column_stack([coef, intercept + shift])


def describe(engine: Engine, n_classes: int) -> Description:
    return engine.reduce(kernels.describe, n_classes)
