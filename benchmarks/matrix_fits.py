"""The linear fits that `bench_matrix.py` compares: data of every shape, peers with a tolerance, and how exact they are.

Everyone minimises Σ log loss + ½ ridge ‖w‖² + lasso ‖w‖₁. The intercept is free, but liblinear penalises it; the lasso
is fitted without one, which celer does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse, special

Coefficients = tuple[np.ndarray, np.ndarray]
TOLERANCES = (1e-2, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12)


class Problem(NamedTuple):
    X: Any
    y: np.ndarray
    C: float = 1.0
    lasso: bool = False

    def inexactness(self, fit: Coefficients, intercept_penalised: bool) -> float:
        """The norm of the gradient of the objective, or of its smallest subgradient."""
        coef, intercept = fit
        residual = self._residuals(self.X @ coef.T + intercept)
        gradient = (self.X.T @ residual).T
        intercepts = residual.sum(axis=0) + (intercept / self.C if intercept_penalised else 0.0)
        if self.lasso:
            limit = 1.0 / self.C
            at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - limit, 0.0)
            return float(np.linalg.norm(np.where(coef == 0.0, at_zero, gradient + limit * np.sign(coef))))
        gradient = gradient + coef / self.C
        return float(np.linalg.norm(np.append(gradient.ravel(), intercepts)))

    def _residuals(self, scores: np.ndarray) -> np.ndarray:
        if scores.shape[1] == 1:
            return special.expit(scores) - self.y[:, None]
        return special.softmax(scores, axis=1) - np.eye(scores.shape[1])[self.y]


class Peer(NamedTuple):
    """`fit(problem, tol)`, its default for tol being None."""

    fit: Callable[[Problem, float | None], Coefficients]
    intercept_penalised: bool = False


def dense(rows: int, columns: int, C: float = 1.0) -> Problem:
    random = np.random.default_rng(rows + columns)
    X = random.standard_normal((rows, columns))
    score = X @ random.standard_normal(columns) * (1.5 / np.sqrt(columns)) - 1.0
    return Problem(X, (random.random(rows) < special.expit(score)).astype(int), C)


def rare(rows: int, columns: int) -> Problem:
    from properly.datasets import make_rare_events

    X, y, _ = make_rare_events(rows, columns, rate=0.03, signal=1.5, random_state=0)
    return Problem(np.ascontiguousarray(X), y.astype(int))


def classes(rows: int, columns: int, n_classes: int) -> Problem:
    random = np.random.default_rng(rows + columns)
    X = random.standard_normal((rows, columns))
    scores = X @ random.standard_normal((columns, n_classes)) * (2.0 / np.sqrt(columns))
    return Problem(X, np.argmax(scores + random.gumbel(size=scores.shape), axis=1))


def scattered(rows: int, columns: int, density: float) -> Problem:
    random = np.random.default_rng(rows + columns)
    X = sparse.random_array((rows, columns), density=density, format="csr", rng=random, dtype=np.float64)
    score = X @ random.standard_normal(columns) * 2.0
    return Problem(sparse.csr_matrix(X), (random.random(rows) < special.expit(score)).astype(int))


def lasso(rows: int, columns: int, C: float) -> Problem:
    random = np.random.default_rng(rows + columns)
    X = random.standard_normal((rows, columns))
    score = X[:, :20] @ random.standard_normal(20) * 0.5
    return Problem(np.asfortranarray(X), (random.random(rows) < special.expit(score)).astype(int), C, lasso=True)


def ours(problem: Problem, tol: float | None = None) -> Coefficients:
    from properly.linear import ProperLinearClassifier

    options: dict[str, Any] = {"l1_ratio": 1.0, "fit_intercept": False} if problem.lasso else {}
    model = ProperLinearClassifier(C=problem.C, **options).fit(problem.X, problem.y)
    return model.coef_, model.intercept_


def scikit_learn(solver: str) -> Peer:
    def fit(problem: Problem, tol: float | None) -> Coefficients:
        from sklearn.linear_model import LogisticRegression

        options: dict[str, Any] = {"l1_ratio": 1.0, "fit_intercept": False} if problem.lasso else {}
        tolerance = {} if tol is None else {"tol": tol}
        model = LogisticRegression(C=problem.C, solver=solver, max_iter=1000, **tolerance, **options)
        model.fit(problem.X, problem.y)
        return model.coef_, model.intercept_

    return Peer(fit, intercept_penalised=solver == "liblinear")


def _glum(problem: Problem, tol: float | None) -> Coefficients:
    from glum import GeneralizedLinearRegressor

    alpha = 1.0 / (problem.C * len(problem.y))
    model = GeneralizedLinearRegressor(family="binomial", alpha=alpha, l1_ratio=0.0, gradient_tol=tol, max_iter=1000)
    model.fit(problem.X, problem.y.astype(float))
    return model.coef_[None], np.array([model.intercept_])


def _statsmodels(problem: Problem, tol: float | None) -> Coefficients:
    import statsmodels.api as sm

    design = np.column_stack([problem.X, np.ones(len(problem.y))])
    fit = sm.GLM(problem.y, design, family=sm.families.Binomial()).fit(tol=1e-8 if tol is None else tol)
    return fit.params[None, :-1], fit.params[-1:]


def _skglm(problem: Problem, tol: float | None) -> Coefficients:
    from skglm import SparseLogisticRegression

    alpha = 1.0 / (problem.C * len(problem.y))
    tolerance = {} if tol is None else {"tol": tol}
    model = SparseLogisticRegression(alpha, fit_intercept=False, max_iter=1000, **tolerance)
    model.fit(problem.X, problem.y)
    return model.coef_, np.zeros(1)


def _celer(problem: Problem, tol: float | None) -> Coefficients:
    from celer import LogisticRegression

    tolerance = {} if tol is None else {"tol": tol}
    model = LogisticRegression(C=problem.C, max_iter=50, max_epochs=5000, **tolerance).fit(problem.X, problem.y)
    return model.coef_, np.zeros(1)


glum, statsmodels, skglm, celer = Peer(_glum), Peer(_statsmodels), Peer(_skglm), Peer(_celer)
