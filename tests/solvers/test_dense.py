"""Newton's method for small dense problems, and the linear systems behind it."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pytest
from scipy import special as sc

from properly.solvers import Status, shrinks_linearly
from properly.solvers.dense import newton_minimum, positive_factor, solve_least_norm, solve_positive

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = RNG.random(400) < sc.expit(X @ [1.0, -2.0, 0.5])
RIDGE = 0.1


@dataclass(frozen=True)
class Logistic:
    """Penalised logistic regression, with or without a value."""

    coef: np.ndarray
    X: np.ndarray = field(default_factory=lambda: X)
    y: np.ndarray = field(default_factory=lambda: Y)
    valued: bool = True

    @property
    def value(self):
        if not self.valued:
            return None
        v = self.X @ self.coef
        return 0.5 * RIDGE * self.coef @ self.coef - np.sum(sc.log_expit(np.where(self.y, v, -v)))

    @cached_property
    def gradient(self):
        return (sc.expit(self.X @ self.coef) - self.y) @ self.X + RIDGE * self.coef

    @property
    def hessian(self):
        p = sc.expit(self.X @ self.coef)
        return (self.X.T * (p * (1.0 - p))) @ self.X + RIDGE * np.eye(3)

    def step(self):
        return -solve_positive(self.hessian, self.gradient)


@pytest.mark.parametrize("valued", [True, False])
@pytest.mark.parametrize("start", [0.0, 3.0, -30.0])
def test_the_gradient_vanishes_at_the_minimum(valued, start):
    found = newton_minimum(lambda coef: Logistic(coef, valued=valued), np.full(3, start), 1e-12)
    assert found.status is Status.CONVERGED
    assert found.history[-1] <= 1e-12 < found.history[-2]
    assert Logistic(found.at.coef + found.step).gradient == pytest.approx(0.0, abs=1e-9)


def part(k):
    return X[100 * k : 100 * k + 100], Y[100 * k : 100 * k + 100]


@dataclass(frozen=True)
class Several:
    """Independent problems at once, a row each."""

    coef: np.ndarray

    @cached_property
    def parts(self):
        return [Logistic(coef, *part(k)) for k, coef in enumerate(self.coef)]

    @property
    def value(self):
        return np.array([each.value for each in self.parts])

    @property
    def gradient(self):
        return np.stack([each.gradient for each in self.parts])

    def step(self):
        return np.stack([each.step() for each in self.parts])


def test_many_problems_at_once_end_where_each_ends_alone():
    start = np.array([[0.0] * 3, [1.0] * 3, [-20.0] * 3, [8.0] * 3])
    together = newton_minimum(Several, start, 1e-8)
    assert together.status is Status.CONVERGED
    for k in range(4):
        alone = newton_minimum(lambda coef, k=k: Logistic(coef, *part(k)), start[k], 1e-8)
        assert together.at.coef[k] == pytest.approx(alone.at.coef, abs=1e-14)


def test_values_that_rounding_hides_are_judged_by_slopes():
    """Beside 1e6 no change of the value shows near the minimum, but the gradient does."""

    @dataclass(frozen=True)
    class Raised(Logistic):
        @property
        def value(self):
            return 1e6 + super().value

    found = newton_minimum(Raised, np.zeros(3), 1e-20)
    assert found.at.coef == pytest.approx(newton_minimum(Logistic, np.zeros(3), 1e-20).at.coef, abs=1e-12)
    assert len(found.history) < 20  # rounding stops the search where it allows no progress


class Absolute:
    """√(1 + x²): Newton's step from x is -x(1 + x²), far too long beyond 1."""

    def __init__(self, coef):
        self.coef, self.value = coef, np.sqrt(1.0 + coef[0] ** 2)
        self.gradient = coef / self.value

    def step(self):
        return -self.gradient * self.value**3


def test_steps_that_are_too_long_are_halved():
    found = newton_minimum(Absolute, np.array([50.0]), 1e-12)
    assert found.status is Status.CONVERGED
    assert found.at.coef == pytest.approx(0.0, abs=1e-6)


def test_how_a_search_ends_is_told():
    assert newton_minimum(Logistic, np.zeros(3), 1e-12, max_iter=2).status is Status.OUT_OF_ITERATIONS
    found = newton_minimum(Logistic, np.zeros(3), 1e-12, unbounded=lambda at: at.coef.any())
    assert found.status is Status.STALLED
    assert len(found.history) == 2

    class Uphill(Absolute):
        def step(self):
            return -super().step()

    found = newton_minimum(Uphill, np.array([1.0]), 1e-12, gap=lambda at: 1.0)
    assert found.status is Status.STALLED
    assert found.at.coef == 1.0


def test_a_gap_decides_when_to_end():
    found = newton_minimum(Logistic, np.zeros(3), 1e-3, gap=lambda at: np.abs(at.gradient).max())
    assert np.abs(found.at.gradient).max() <= 1e-3
    assert np.array_equal(found.history[-1], np.abs(found.at.gradient).max())


def test_the_point_may_be_moved_onto_a_constraint():
    class Shares(Absolute):
        def __init__(self, coef):
            self.coef = coef / coef.sum()
            self.value, self.gradient = -np.sum([1.0, 3.0] * np.log(self.coef)), 4.0 - np.array([1.0, 3.0]) / self.coef

        def step(self):
            return -self.gradient * self.coef**2 / [1.0, 3.0]

    found = newton_minimum(Shares, np.array([0.9, 0.1]), 1e-14)
    assert found.at.coef == pytest.approx([0.25, 0.75])
    assert found.at.coef.sum() == pytest.approx(1.0, abs=1e-15)


def test_systems_without_full_rank_have_finite_solutions():
    matrix = np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    right = np.array([4.0, 4.0, 0.0])
    for solve in (solve_positive, solve_least_norm):
        assert matrix @ solve(matrix, right) == pytest.approx(right, rel=1e-6)
    assert solve_least_norm(matrix, right) == pytest.approx([1.0, 1.0, 0.0])
    assert solve_positive(np.diag([1e-200, 1e200]), np.ones(2)) == pytest.approx([1e200, 1e-200], rel=1e-12)
    factor, scale = positive_factor(np.array([[4.0, 1.0], [1.0, 9.0]]))
    lower = scale[:, None] * factor
    assert lower @ lower.T == pytest.approx(np.array([[4.0, 1.0], [1.0, 9.0]]))


def test_slow_convergence_is_recognised():
    assert shrinks_linearly(0.5 ** np.arange(15.0))
    assert not shrinks_linearly(0.5 ** np.arange(11.0))  # too few to tell
    assert not shrinks_linearly(np.append(0.5 ** np.arange(13.0), 1e-9))
