"""Directions, line search and the loop, one at a time."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from properly.engines import MemoryEngine
from properly.kernels import LinearModel
from properly.links import Logit, Probit
from properly.losses import BetaLoss, Composite, GEVLoss, LogLoss, SoftmaxComposite, SquaredLoss
from properly.solvers import Problem, Status, minimise
from properly.solvers.directions import Factor, NewtonDirection
from properly.solvers.limited_memory import ConjugateGradientDirection
from properly.solvers.newton import search
from properly.solvers.proximal import ProximalNewtonDirection

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = RNG.integers(0, 3, 300)
WEIGHT = RNG.random(300)


def problem(composite, ridge=0.7, lasso=0.0, X=X):
    squares = np.append((WEIGHT[:, None] * X**2).sum(axis=0), WEIGHT.sum())
    shape = (len(X), 3) if isinstance(composite, SoftmaxComposite) else len(X)
    engine = MemoryEngine(X, Y, WEIGHT, np.random.default_rng(7).normal(size=shape) / 5)
    return Problem(engine, LinearModel(composite, 1), ridge, lasso, WEIGHT.sum(), squares, X.shape[1], WEIGHT.sum())


def coefficients(composite, width=5):
    return np.random.default_rng(1).normal(size=(3 if isinstance(composite, SoftmaxComposite) else 1, width)) / 3


def between_classes(coef):
    """The softmax sees only differences between the classes."""
    return coef - coef.mean(axis=0) if len(coef) > 1 else coef


COMPOSITES = [
    Composite(LogLoss()),
    Composite(GEVLoss(0.2)),
    Composite(LogLoss(), Probit()),
    Composite(BetaLoss(1, 3), Logit()),
    SoftmaxComposite(LogLoss()),
    SoftmaxComposite(SquaredLoss()),
]


def objective(task, flat, shape):
    """The smooth part of the objective straight from its definition."""
    coef, block = flat.reshape(shape), next(task.engine.blocks())
    scores = block.X @ coef[:, :-1].T + coef[:, -1] + block.offset.reshape(len(block.y), -1)
    composite = task.model.composite
    if isinstance(composite, SoftmaxComposite):
        loss = composite.value(block.y, scores)
    else:
        loss = composite.value(block.y == 1, scores[:, 0])
    return np.sum(block.weight * loss) + 0.5 * task.ridge * np.sum(coef[:, :-1] ** 2)


@pytest.mark.parametrize("composite", COMPOSITES, ids=str)
class TestSums:
    def test_gradient(self, composite):
        task, coef = problem(composite), coefficients(composite)
        numerical = approx_fprime(coef.ravel(), lambda c: objective(task, c, coef.shape), 1e-7)
        np.testing.assert_allclose(task.point(coef).gradient.ravel(), numerical, atol=2e-5)

    def test_observed_hessian(self, composite):
        task, coef = problem(composite), coefficients(composite)
        numerical = approx_fprime(coef.ravel(), lambda c: task.point(c.reshape(coef.shape)).gradient.ravel(), 1e-7)
        np.testing.assert_allclose(task.hessian(coef, True), numerical, atol=1e-4)

    def test_expected_hessian_product_and_diagonal(self, composite):
        task, coef = problem(composite), coefficients(composite)
        hessian = task.hessian(coef, False)
        direction = RNG.normal(size=coef.shape)
        np.testing.assert_allclose(task.hessian_product(coef, direction).ravel(), hessian @ direction.ravel())
        np.testing.assert_allclose(task.hessian_diagonal(coef)[0].ravel(), np.diag(hessian))
        assert np.linalg.eigvalsh(hessian)[0] > -1e-10

    def test_hessian_of_some_columns(self, composite):
        task, coef = problem(composite), coefficients(composite)
        columns = np.array([0, 3])
        kept = np.concatenate([5 * score + np.array([0, 3, 4]) for score in range(len(coef))])
        whole = task.hessian(coef, False)
        np.testing.assert_allclose(task.hessian(coef, False, columns), whole[np.ix_(kept, kept)])

    def test_line(self, composite):
        task, coef = problem(composite), coefficients(composite)
        direction, steps = RNG.normal(size=coef.shape), np.array([1.0, 0.3])
        values, slopes = task.line(coef, direction, steps)
        for value, slope, step in zip(values, slopes, steps, strict=True):
            at = task.point(coef + step * direction)
            np.testing.assert_allclose(slope, np.sum(at.gradient * direction))
            np.testing.assert_allclose(value, at.value)  # nan for both where values are not asked for

    def test_conjugate_gradients_solve_for_newtons_step(self, composite):
        task, coef = problem(composite), coefficients(composite)
        at = task.point(coef)
        direction = ConjugateGradientDirection(task)
        direction.refresh(at, False)
        step, size = direction.step(at)
        residual = task.hessian_product(coef, step) + at.gradient
        norm = [np.sum(x**2 / task.hessian_diagonal(coef)[0]) for x in (residual, at.gradient)]
        assert norm[0] <= 0.0625 * norm[1]
        np.testing.assert_allclose(size, np.sqrt(-np.sum(step * at.gradient)))
        assert not direction.refresh(at, True)

    def test_proximal_direction_without_lasso_is_newtons(self, composite):
        task, coef = problem(composite, lasso=1e-12), coefficients(composite)
        at = task.point(coef)
        newton, proximal = NewtonDirection(task), ProximalNewtonDirection(task)
        newton.refresh(at, False)
        proximal.refresh(at, False)
        np.testing.assert_allclose(
            between_classes(proximal._solved(at, precise=True)[0]), between_classes(newton.step(at)[0]), atol=1e-8
        )


def test_proximal_direction_meets_its_optimality_conditions():
    task = problem(Composite(LogLoss()), lasso=3.0)
    at = task.point(np.zeros((1, 5)))
    direction = ProximalNewtonDirection(task)
    direction.refresh(at, False)
    step, _ = direction.step(at)
    slope = at.gradient[0] + task.hessian(at.coef, False) @ step[0]
    moved = step[0, :4] != 0.0
    assert abs(slope[4]) < 1e-9
    np.testing.assert_allclose(slope[:4][moved], -3.0 * np.sign(step[0, :4][moved]), rtol=1e-9)
    assert np.all(np.abs(slope[:4][~moved]) <= 3.0)
    assert 0 < moved.sum() < 4


class TestFactor:
    def test_well_conditioned(self):
        A = X.T @ X
        np.testing.assert_allclose(Factor(A, np.diag(A), 300.0).solve(A @ np.arange(4.0)), np.arange(4.0), atol=1e-10)

    def test_scales_do_not_matter(self):
        scale = np.array([1e8, 1.0, 1e-8, 1.0])
        A = (X * scale).T @ (X * scale)
        np.testing.assert_allclose(Factor(A, np.diag(A), 300.0).solve(A @ (1.0 / scale)), 1.0 / scale, rtol=1e-9)

    def test_duplicates_share(self):
        Z = np.column_stack([X, X[:, 0]])
        A = Z.T @ Z
        solution = Factor(A, np.diag(A), 300.0).solve(A @ np.array([2.0, 1.0, 1.0, 1.0, 0.0]))
        np.testing.assert_allclose(solution, [1.0, 1.0, 1.0, 1.0, 1.0], rtol=1e-8)

    def test_indefinite_is_noticed(self):
        assert not Factor(np.diag([1.0, -1.0]), np.ones(2), 1.0).positive
        assert not Factor(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2), 1.0).positive

    def test_a_flat_direction_with_a_slope_is_followed(self):
        solution = Factor(np.diag([1.0, 0.0]), np.ones(2), 1.0).solve(np.array([0.0, 1.0]))
        assert solution[1] > 1e6


class TestLineSearch:
    @pytest.mark.parametrize("composite", [Composite(LogLoss()), Composite(LogLoss(), Probit())], ids=str)
    @pytest.mark.parametrize("length", [1.0, 30.0, 1e5])
    def test_the_objective_falls(self, composite, length):
        task = problem(composite)
        at = task.point(coefficients(composite))
        direction = -length * at.gradient / np.linalg.norm(at.gradient)
        step = search(task, at, direction)
        assert step > 0.0
        moved = at.coef + step * direction
        assert objective(task, moved.ravel(), at.coef.shape) < objective(task, at.coef.ravel(), at.coef.shape)

    def test_uphill_is_refused(self):
        task = problem(Composite(LogLoss()))
        at = task.point(coefficients(task.model.composite))
        assert search(task, at, at.gradient) == 0.0


class TestLoop:
    @pytest.mark.parametrize("composite", COMPOSITES, ids=str)
    def test_it_ends_at_a_stationary_point(self, composite):
        task = problem(composite)
        solution = minimise(task, np.zeros_like(coefficients(composite)), 1e-9, 100)
        assert solution.status is Status.CONVERGED
        np.testing.assert_allclose(task.point(solution.coef).gradient, 0.0, atol=1e-6)
        assert solution.passes > solution.n_iter
        assert len(solution.history) >= 2

    def test_a_stalled_fit_says_so(self, monkeypatch):
        monkeypatch.setattr("properly.solvers.newton.search", lambda *_: 0.0)
        monkeypatch.setattr("properly.solvers.newton._accepted", lambda *_: False)
        solution = minimise(problem(Composite(LogLoss())), np.zeros((1, 5)), 1e-9, 10)
        assert solution.status is Status.STALLED


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_curvatures_that_overflowed_are_told_and_survived(bad):
    matrix = np.diag([2.0, 3.0, 4.0])
    matrix[0, 1] = matrix[1, 0] = bad
    factor = Factor(matrix, np.ones(3), 1.0)
    assert not factor.positive
    assert np.isfinite(factor.solve(np.ones(3))).all()
