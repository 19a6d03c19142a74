"""Curvatures of samples, and quasi-Newton steps for many coefficients, against exact curvatures and scikit-learn."""

import warnings

import numpy as np
import pytest
from scipy import special
from sklearn.linear_model import LogisticRegression

from properly.engines import MemoryEngine
from properly.kernels import LinearModel
from properly.linear import ProperLinearClassifier
from properly.losses import Composite, GEVLoss, LogLoss
from properly.solvers import Problem, Status
from properly.solvers.limited_memory import LimitedMemoryDirection


def rows(n, k, classes=2, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, k))
    scores = X @ random.normal(size=(k, classes)) / np.sqrt(k) + random.gumbel(size=(n, classes))
    return X, scores.argmax(axis=1)


def rare_column(X):
    """A column that a sample of the rows hardly sees, and one far out."""
    X = X.copy()
    X[:, 0] = np.arange(len(X)) % 101 == 1
    X[5, 1] = 1e4
    return X


@pytest.mark.parametrize("loss", ["log", GEVLoss(0.2)])
@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("change", [lambda X: X, rare_column])
def test_the_curvature_of_a_sample_leads_to_the_same_optimum(monkeypatch, loss, C, classes, change):
    X, y = rows(8000, 6, classes)
    X = change(X)
    weight = np.random.default_rng(1).random(len(y))
    fitted = ProperLinearClassifier(loss, C=C).fit(X, y, sample_weight=weight)
    monkeypatch.setattr(MemoryEngine, "sampled", lambda self, rows: None)
    exact = ProperLinearClassifier(loss, C=C, tol=1e-11).fit(X, y, sample_weight=weight)
    assert all(each.status is Status.CONVERGED for each in fitted.solutions_)
    spread = np.sqrt(np.average(X**2, axis=0, weights=weight))
    np.testing.assert_allclose(fitted.coef_ * spread, exact.coef_ * spread, atol=1e-7)
    np.testing.assert_allclose(fitted.intercept_, exact.intercept_, atol=1e-7)


def test_a_sample_saves_most_of_the_curvature():
    X, _ = rows(30_000, 4)
    sample, share = MemoryEngine(X, np.zeros(len(X), dtype=np.intp)).sampled(500)
    assert share == len(sample.y) / len(X) == pytest.approx(1.0 / 12.0, rel=1e-3)
    assert MemoryEngine(X[:5000], np.zeros(5000, dtype=np.intp)).sampled(500) is None


@pytest.mark.parametrize("scale", [1.0, "mixed"])
def test_many_coefficients_are_as_exact_as_few(scale):
    X, y = rows(700, 450)
    if scale == "mixed":
        X = X * np.logspace(-2.0, 2.0, X.shape[1])  # curvatures that differ by eight orders
    model = ProperLinearClassifier(C=1.0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-11, max_iter=1000).fit(X, y)
    assert model.solutions_[0].status is Status.CONVERGED
    unit = np.maximum(np.abs(peer.coef_).max(), 1e-3)
    np.testing.assert_allclose(model.coef_ / unit, peer.coef_ / unit, atol=1e-5)
    assert model.n_iter_[0] <= 100


def test_convergence_of_quasi_newton_steps_is_confirmed_by_the_decrement():
    X, y = rows(400, 60)
    X = X * np.logspace(-1.0, 1.0, 60)
    squares = np.append((X**2).sum(axis=0), len(y))
    engine = MemoryEngine(X, y.astype(np.intp))
    task = Problem(engine, LinearModel(Composite(LogLoss()), 1), 1.0, 0.0, float(len(y)), squares, 60, 0.7 * len(y))
    at = task.point(np.full((1, 61), 0.01))
    direction = LimitedMemoryDirection(task)
    direction.refresh(at, False)
    _, size = direction.confirm(at, 1.0)
    hessian = task.hessian(at.coef, False)
    decrement = np.sqrt(at.gradient[0] @ np.linalg.solve(hessian, at.gradient[0]))
    assert size == pytest.approx(decrement, rel=0.1)
    assert direction.step(at)[1] == pytest.approx(size, rel=0.1)  # later sizes are raised by what was missing


def test_softmax_of_many_classes_solves_its_equations():
    X, y = rows(3000, 20, classes=12)
    model = ProperLinearClassifier().fit(X, y)
    residual = special.softmax(X @ model.coef_.T + model.intercept_, axis=1) - np.eye(12)[y]
    np.testing.assert_allclose(X.T @ residual + model.coef_.T, 0.0, atol=1e-4)
    np.testing.assert_allclose(residual.sum(axis=0), 0.0, atol=1e-5)


def test_plain_arrays_are_still_checked():
    X, y = rows(100, 3)
    model = ProperLinearClassifier().fit(X, y)
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict(np.full((2, 3), np.nan))
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.array([[1.0, np.inf, 0.0]]))
    with pytest.raises(ValueError, match="3 features"):
        model.predict(X[:, :2])


@pytest.mark.parametrize("columns", [450, 900])
def test_the_number_of_iterations_is_limited(columns):
    X, y = rows(3000, columns)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ProperLinearClassifier(max_iter=1, C=1e6).fit(X, y)
    assert model.n_iter_.max() == 1
    assert model.solutions_[0].status is Status.OUT_OF_ITERATIONS
    assert [each.category.__name__ for each in caught] == ["ConvergenceWarning"]
    assert ProperLinearClassifier(C=1e6).fit(X, y).n_iter_.max() <= 100


def test_overlapping_classes_are_not_called_separable():
    X, y = rows(6000, 500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ProperLinearClassifier(C=np.inf).fit(X, y)
    assert model.solutions_[0].status is Status.CONVERGED


@pytest.mark.parametrize(("n", "columns", "C"), [(3000, 700, 1.0), (900, 1500, 10.0), (2500, 600, 1e-3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_in_float32_leave_the_solution_exact(n, columns, C, dtype):
    X, y = rows(n, columns)
    X = X.astype(dtype)
    model = ProperLinearClassifier(C=C).fit(X, y)
    assert model.solutions_[0].status is Status.CONVERGED
    X = X.astype(np.float64)
    residual = special.expit(X @ model.coef_[0] + model.intercept_[0]) - y
    gradient = np.append(X.T @ residual + model.coef_[0] / C, residual.sum())
    curvature = 0.1 * np.append((X**2).sum(axis=0), n) + 1.0 / C
    assert np.sum(gradient**2 / curvature) < 1e-12 * n  # twice the loss that is left, about


@pytest.mark.parametrize("unit", [1e-25, 1e25])
def test_features_beyond_the_range_of_float32_are_not_rounded_to_it(unit):
    X, y = rows(2000, 600)
    reference = ProperLinearClassifier(C=1.0).fit(X, y)
    model = ProperLinearClassifier(C=1.0 / unit**2).fit(X * unit, y)
    np.testing.assert_allclose(model.coef_ * unit, reference.coef_, rtol=0.0, atol=1e-6)


def test_nearly_equal_columns_are_solved_with_the_exact_matrix():
    X, y = rows(3000, 500)
    X = np.column_stack([X, X[:, :200] + 1e-5 * X[:, 200:400]])
    model = ProperLinearClassifier(C=100.0).fit(X, y)
    peer = LogisticRegression(C=100.0, solver="newton-cholesky", tol=1e-11, max_iter=1000).fit(X, y)
    assert model.solutions_[0].status is Status.CONVERGED
    np.testing.assert_allclose(X @ model.coef_[0], X @ peer.coef_[0], atol=1e-5)


def test_a_fresh_curvature_is_not_renewed_at_the_same_point(monkeypatch):
    X, y = rows(800, 700)
    places: list[bytes] = []
    hessian = Problem.hessian

    def counted(self, coef, *rest):
        places.append(coef.tobytes())
        return hessian(self, coef, *rest)

    monkeypatch.setattr(Problem, "hessian", counted)
    ProperLinearClassifier(C=1.0, l1_ratio=1.0).fit(X, y)
    assert len(places) >= 4
    assert len(set(places)) == len(places)
