"""Losses that are not convex: several starts, and a warning where they lead to different optima."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from properly.engines.memory import MemoryEngine
from properly.linear import ProperLinearClassifier
from properly.linear.fitting import Data, Penalty, problem_of
from properly.linear.starts import of_other_optima
from properly.links import Logit
from properly.losses import BetaLoss, Composite


@pytest.mark.parametrize("seed", [8, 15, 22])
def test_offsets_far_apart_do_not_hide_the_best_optimum(seed):
    rng = np.random.default_rng(seed)
    features, offset = rng.normal(size=(60, 2)), 10.0 * rng.normal(size=60)
    y = (rng.random(60) < expit(features[:, 0] + 0.2 * offset)).astype(int)
    composite = Composite(BetaLoss.tailored(0.3, 10), Logit())

    def objective(w):
        return np.sum(composite.value(y, features @ w[:2] + w[2] + offset)) + 0.5 * w[:2] @ w[:2]

    with pytest.warns(ConvergenceWarning, match="several optima .* another may be better"):
        model = ProperLinearClassifier(BetaLoss.tailored(0.3, 10), "logit").fit(features, y, offset=offset)
    best = min(minimize(objective, [0.0, 0.0, start], method="BFGS").fun for start in (-20.0, -10.0, 0.0, 10.0, 20.0))
    assert objective(np.append(model.coef_, model.intercept_)) < best + 1e-6 * abs(best)


def trap(seed):
    """Few rows, and a loss that is concentrated."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(20, 200)), int(rng.integers(2, 6))
    features = rng.normal(size=(n, k))
    y = (rng.random(n) < expit(features @ rng.normal(size=k))).astype(int)
    return features, y, BetaLoss.tailored(float(rng.uniform(0.1, 0.9)), float(rng.uniform(10.0, 60.0))), 10.0


@pytest.mark.parametrize("seed", [713, 754])
def test_a_loss_that_grows_out_of_log_loss_finds_better_optima(seed):
    """Without offsets: from the fit of log loss alone, the fit ends above the optimum that many random starts find."""
    features, y, loss, C = trap(seed)
    composite = Composite(loss, Logit())

    def objective(w):
        v = features @ w[:-1] + w[-1]
        pull = composite.gradient(y, v)
        value = np.sum(composite.value(y, v)) + 0.5 / C * w[:-1] @ w[:-1]
        return value, np.append(features.T @ pull + w[:-1] / C, pull.sum())

    with pytest.warns(ConvergenceWarning, match="the loss is not convex and has several optima"):
        model = ProperLinearClassifier(loss, "logit", C=C).fit(features, y)
    rng = np.random.default_rng(seed)
    starts = rng.normal(size=(40, features.shape[1] + 1)) * rng.choice([0.3, 1.0, 5.0], size=(40, 1))
    best = min(minimize(objective, start, jac=True, method="L-BFGS-B").fun for start in starts)
    assert objective(np.append(model.coef_, model.intercept_))[0] < best + 1e-6 * len(y)


@pytest.mark.parametrize(("loss", "link"), [("log", "probit"), ("log", "cloglog"), ("boosting", "logit")])
def test_convex_losses_have_one_start(loss, link):
    """Also those that are no canonical pair, however far apart the offsets lie."""
    rng = np.random.default_rng(0)
    engine = MemoryEngine(rng.normal(size=(100, 2)), np.arange(100) % 2, None, 30.0 * rng.normal(size=100))
    data = Data.describe(engine, np.array([50.0, 50.0]), True)
    problem, plain = problem_of(data, Composite(loss, link), Penalty.of(1.0))
    assert not problem.convex
    assert of_other_optima(problem, plain, data.class_weight, 100) == []


def test_many_rows_are_searched_in_a_sample():
    """The starts cost little beside the fit, and lead to the optimum that the whole search finds."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(30_000, 2))
    y = (rng.random(30_000) < expit(features[:, 0])).astype(int)
    data = Data.describe(MemoryEngine(features, y), np.bincount(y).astype(float), True)
    problem, plain = problem_of(data, Composite(BetaLoss.tailored(0.3, 20.0), "logit"), Penalty.of(1.0))
    passes = problem.passes
    starts = of_other_optima(problem, plain, data.class_weight, 100)
    assert problem.passes == passes
    assert 1 <= len(starts) <= 2


@pytest.mark.parametrize(("seed", "C"), [(13, 1.0), (17, 100.0), (41, 100.0)])
def test_starts_that_lead_to_different_optima_are_told(seed, C):
    """Random starts found a better optimum than is kept, or was kept once."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(30, 150)), int(rng.integers(1, 4))
    features, offset = rng.normal(size=(n, k)), 8.0 * rng.normal(size=n)
    y = (rng.random(n) < expit(features[:, 0])).astype(int)
    with pytest.warns(ConvergenceWarning, match="several optima"):
        ProperLinearClassifier(BetaLoss.tailored(0.2, 8.0), "logit", C=C).fit(features, y, offset=offset)
