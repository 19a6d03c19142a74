"""How far to go along a direction: all step sizes are tried in one pass over the data."""

from __future__ import annotations

import numpy as np

from properly.probabilities import Array
from properly.solvers.problem import Point, Problem

STEPS = 2.0 ** -np.arange(40.0)


def search(problem: Problem, at: Point, direction: Array) -> float:
    """The largest step that surely lowers the objective; 0 if there is none.

    Convex problems need slopes φ' only: φ' increases, so φ(s) - φ(0) <= s/2 (φ'(s/2) + φ'(s)), and a step is taken
    when this bound is negative. Others need a real decrease of the value (Armijo's rule).
    """
    for steps in (STEPS[:8], STEPS[7:]):  # short steps are hardly ever needed
        values, slopes = problem.line(at.coef, direction, steps)
        lasso = problem.lasso_change(at.coef, direction, steps)
        if problem.convex:
            bound = 0.5 * steps * (slopes + np.append(slopes[1:], np.inf))  # the half of a step is the next one
            good = bound + lasso < 0.0
        else:
            promised = np.sum(at.gradient * direction) + lasso[0] / steps[0]
            good = values + lasso - at.value <= 1e-4 * steps * promised
        if good.any():
            return float(steps[np.argmax(good)])
    return 0.0
