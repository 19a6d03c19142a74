"""Class-robust logistic regression against reference values, brute force and its dual."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from properly.maxent import ClassRobustLogisticRegression, Maxent, MaxentFeatures

CASES = json.loads((Path(__file__).parent / "labelling_bias.json").read_text())


@pytest.mark.parametrize("case", CASES)
def test_reference_values(case):
    X, y = np.array(case["X"]), np.full(len(case["X"]), -1)
    y[case["labelled"]] = 1
    model = ClassRobustLogisticRegression(case["default_prevalence"], regularization=case["regularization"]).fit(X, y)
    np.testing.assert_allclose(model.coef_, [case["class_robust"]["coef"]], atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], case["class_robust"]["p"], atol=1e-7)
    assert model.objective_ == pytest.approx(case["class_robust"]["objective"], abs=1e-12)
    assert abs(model.duality_gap_) < 1e-8


def several_classes(seed=0):
    random = np.random.default_rng(seed)
    X = np.concatenate([random.normal(shift, 1.0, size=(40, 2)) for shift in (0.0, 1.0, 2.0, 0.5)])
    return X, np.repeat([0, 1, 3, -1], 40)


def split_objective(X, y, default, regularization, labelled):
    """★ on λ = λ⁺ - λ⁻, written without any of the package."""
    means = np.array([X[y == label].mean(axis=0) for label in labelled])
    deviations = np.array(
        [regularization * X[y == label].std(axis=0) / np.sqrt(np.sum(y == label)) for label in labelled]
    )

    def value(split):
        plus, minus = split.reshape(2, len(labelled), X.shape[1])
        scores = np.tile(np.log(default), (len(X), 1))
        for row, label in enumerate(labelled):
            scores[:, label] += (X - means[row]) @ (plus - minus)[row] + deviations[row] @ (plus + minus)[row]
        return logsumexp(scores, axis=1).mean()

    return value


@pytest.mark.parametrize(
    "default", [np.full(4, 0.25), np.array([0.6, 0.05, 0.05, 0.3]), np.array([0.1, 0.2, 0.5, 0.2])]
)
@pytest.mark.parametrize("regularization", [0.3, 1.0])
def test_several_classes_against_brute_force(default, regularization):
    X, y = several_classes()
    model = ClassRobustLogisticRegression(default, regularization=regularization).fit(X, y)
    objective = split_objective(X, y, default, regularization, [0, 1, 3])
    found = minimize(objective, np.zeros(12), method="L-BFGS-B", bounds=[(0, None)] * 12, options={"ftol": 1e-15})
    assert model.objective_ == pytest.approx(found.fun, abs=1e-7)
    assert model.objective_ <= found.fun + 1e-12
    plus, minus = found.x.reshape(2, 3, 2)
    np.testing.assert_allclose(model.coef_, plus - minus, atol=2e-3)
    at_own = objective(np.concatenate([np.maximum(model.coef_, 0), np.maximum(-model.coef_, 0)]).ravel())
    assert at_own == pytest.approx(model.objective_, abs=1e-13)


@pytest.mark.parametrize("default", [1e-4, 0.05, 0.5, 0.95])
@pytest.mark.parametrize("features", [None, MaxentFeatures("lqh", n_hinges=10)])
def test_the_dual_certifies_the_optimum(default, features):
    X, y = several_classes()
    y = np.where(y == 3, 1, -1)
    model = ClassRobustLogisticRegression(default, features=features).fit(X, y)
    p = model.predict_proba(X)
    relative_entropy = np.mean(np.sum(p * np.log(p / [1 - default, default]), axis=1))
    assert -model.objective_ == pytest.approx(relative_entropy, rel=1e-7)
    assert abs(model.duality_gap_) < 1e-8
    np.testing.assert_allclose(model.prevalence_, p.mean(axis=0), rtol=1e-9)
    # The expectations under p(x|1) are as close to the means of the labelled rows as they must be.
    F = X if features is None else model.features_.transform(X)
    m, labelled = np.sum(y == 1), F[y == 1]
    spread = labelled.std(axis=0) if features is None else np.maximum(labelled.std(axis=0), 1 / np.sqrt(m))
    excess = p[:, 1] @ F / p[:, 1].sum() - labelled.mean(axis=0)
    assert np.all(np.abs(excess) <= spread / np.sqrt(m) + 1e-8)


def test_all_classes_labelled():
    X, y = several_classes()
    X, y = X[:80], y[:80]
    model = ClassRobustLogisticRegression(0.3).fit(X, y)
    p = model.predict_proba(X)
    for label in (0, 1):
        rows = X[y == label]
        excess = p[:, label] @ X / p[:, label].sum() - rows.mean(axis=0)
        assert np.all(np.abs(excess) <= rows.std(axis=0) / np.sqrt(40) + 1e-8)
    assert abs(model.duality_gap_) < 1e-8


def test_tiny_defaults_tend_to_maxent():
    # As ν → 0, p(x) is no constraint any more and p̂(1|x)/ν tends to the maxent density ratio times a constant.
    X, y = several_classes()
    y = np.where(y == 1, 1, -1)
    robust = ClassRobustLogisticRegression(1e-7).fit(X, y)
    np.testing.assert_allclose(robust.coef_, Maxent().fit(X, y).coef_, atol=1e-5)


def test_labels_that_say_nothing_leave_the_default():
    X = np.tile(np.arange(10.0)[:, None], (2, 1))
    y = np.repeat([1, -1], 10)
    model = ClassRobustLogisticRegression(0.2).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 0.2, rtol=1e-12)
    assert model.duality_gap_ == 0.0


def test_bad_default_is_refused():
    X, y = several_classes()
    with pytest.raises(ValueError, match="default_prevalence must lie strictly between 0 and 1, got 1"):
        ClassRobustLogisticRegression(1.0).fit(X, np.where(y == 1, 1, -1))


@pytest.mark.parametrize("seed", range(8))
def test_hard_problems_are_solved(seed):
    """Heavy tails, columns that nearly repeat each other, few rows, hardly any penalty: certified all the same."""
    random = np.random.default_rng(seed)
    X = np.exp(3.0 * random.normal(size=(200, 4)))
    X[:, 3] = X[:, 2] * (1.0 + 1e-6 * random.normal(size=200))
    y = np.full(200, -1)
    y[np.argsort(X[:, 0])[-5 * (1 + seed) :]] = 1
    for model in (
        ClassRobustLogisticRegression(0.9, regularization=0.1, features=MaxentFeatures("lqpht", n_hinges=20)),
        Maxent(0.01, MaxentFeatures("lqpht", n_hinges=20)),
        Maxent(0.1),
    ):
        assert model.fit(X, y).violation_ < 1e-6
        assert abs(getattr(model, "duality_gap_", 0.0)) < 1e-8
