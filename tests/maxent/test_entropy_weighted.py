"""Entropy weighting against reference values, the formulas, and a general optimiser; and bounds on proportions."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from properly.maxent import EntropyWeightedMaxent, Maxent, MaxentFeatures, reweight
from properly.maxent.entropy_weighted import nearest_within

CASES = json.loads((Path(__file__).parent / "labelling_bias.json").read_text())


def three_classes(seed=0):
    random = np.random.default_rng(seed)
    X = np.concatenate([random.normal(shift, 1.0, size=(50, 2)) for shift in (0.0, 1.0, 0.5)])
    return X, np.repeat([0, 1, -1], 50)


@pytest.mark.parametrize("case", CASES)
def test_reference_values(case):
    X, y = np.array(case["X"]), np.full(len(case["X"]), -1)
    y[case["labelled"]] = 1
    model = EntropyWeightedMaxent(case["default_prevalence"], regularization=case["regularization"]).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], case["entropy_weighted"]["p"], atol=1e-7)
    other = EntropyWeightedMaxent(0.7, regularization=case["regularization"]).fit(X, y)
    again = other.predict_proba(X, default_prevalence=case["default_prevalence"])
    np.testing.assert_allclose(again, model.predict_proba(X), rtol=1e-12)
    np.testing.assert_array_equal(other.prevalence(), other.prevalence_)


def test_one_class_formula():
    X, y = three_classes()
    y = np.where(y == 1, 1, -1)
    model = EntropyWeightedMaxent(0.2, features=MaxentFeatures("lq")).fit(X, y)
    odds = 0.2 / 0.8 * model.predict_output(X, "raw") * np.exp(model.entropy_[0])
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], odds / (1 + odds), rtol=1e-11)
    p1 = 0.2 * np.exp(-model.relative_gain_[0])
    np.testing.assert_allclose(model.prevalence_, [0.8 / (0.8 + p1), p1 / (0.8 + p1)])
    assert model.prevalence_[1] < 0.2  # unless the density is even


def test_default_of_equal_classes_is_maxent():
    X, y = three_classes()
    np.testing.assert_allclose(
        EntropyWeightedMaxent().fit(X, y).predict_proba(X), Maxent().fit(X, y).predict_proba(X), rtol=1e-12
    )


def test_several_classes_by_bayes_rule():
    X, y = three_classes()
    default = np.array([0.5, 0.2, 0.3])  # the third class has no labels
    model = EntropyWeightedMaxent(default).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    density = np.column_stack([model.predict_output(X, "raw"), np.full(len(X), 1 / len(X))])
    gain = np.sum(density * np.log(density * len(X)), axis=0)
    proportions = default * np.exp(-gain)
    proportions /= proportions.sum()
    np.testing.assert_allclose(model.prevalence_, proportions, rtol=1e-10)
    joint = proportions * density
    np.testing.assert_allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_projection_is_the_closest_in_relative_entropy(seed):
    random = np.random.default_rng(seed)
    p = random.dirichlet(np.ones(4))
    inside = random.dirichlet(np.ones(4))
    bounds = np.column_stack([inside * random.random(4), inside + (1 - inside) * random.random(4) * 0.3])
    found = nearest_within(bounds, p)
    assert found.sum() == pytest.approx(1.0, abs=1e-14)
    assert np.all((found >= bounds[:, 0] - 1e-12) & (found <= bounds[:, 1] + 1e-12))
    best = minimize(
        lambda x: np.sum(x * np.log(x / p)), inside, bounds=bounds.tolist(), method="SLSQP",
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1}, options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    assert np.sum(found * np.log(found / p)) <= best.fun + 1e-10
    np.testing.assert_allclose(found, best.x, atol=1e-5)


def test_bounds_move_the_proportions():
    X, y = three_classes()
    y = np.where(y == 1, 1, -1)
    free = EntropyWeightedMaxent(0.5).fit(X, y)
    bounded = EntropyWeightedMaxent(0.5, prevalence_bounds=(0.05, 0.1)).fit(X, y)
    np.testing.assert_allclose(bounded.prevalence_, [0.9, 0.1])
    shift = bounded.decision_function(X) - free.decision_function(X)
    np.testing.assert_allclose(shift, np.log(0.1 / 0.9) - np.log(free.prevalence_[1] / free.prevalence_[0]), rtol=1e-9)
    wide = EntropyWeightedMaxent(0.5, prevalence_bounds={1: (0.0, 0.9)}).fit(X, y)
    np.testing.assert_allclose(wide.prevalence_, free.prevalence_, rtol=1e-12)
    by_float = EntropyWeightedMaxent(0.5, prevalence_bounds={1.0: (0.05, 0.1)}).fit(X, y)
    np.testing.assert_array_equal(by_float.prevalence_, bounded.prevalence_)
    none = EntropyWeightedMaxent(0.5, prevalence_bounds=[[1.0, 1.0], [0.0, 0.0]]).fit(X, y)
    np.testing.assert_array_equal(none.predict_proba(X), np.tile([1.0, 0.0], (len(X), 1)))
    np.testing.assert_allclose(bounded.predict_proba(X, default_prevalence=1e-6).shape, (150, 2))
    np.testing.assert_allclose(bounded.prevalence(1e-6), [0.95, 0.05])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"default_prevalence": 0.0}, "default_prevalence must lie strictly between 0 and 1, got 0.0"),
        ({"default_prevalence": 1.2}, "default_prevalence must lie strictly between 0 and 1, got 1.2; give shares"),
        ({"default_prevalence": [0.2, 0.2]}, "default_prevalence must add up to 1"),
        ({"prevalence_bounds": (0.6, 0.4)}, "prevalence_bounds must have 0 ≤ low ≤ high ≤ 1"),
        ({"prevalence_bounds": [[0.0, 0.3], [0.0, 0.3]]}, "contradict each other: .* the highest to 0.6"),
        ({"prevalence_bounds": [[0.8, 1.0], [0.4, 1.0]]}, "contradict each other: .* the lowest add up to 1.2"),
        ({"prevalence_bounds": {5: (0.1, 0.2)}}, "prevalence_bounds names class 5, but the classes are 0 … 1"),
        ({"prevalence_bounds": {1: 0.2}}, "must give \\(low, high\\) for a class"),
        ({"prevalence_bounds": np.zeros((3, 2))}, "got shape \\(3, 2\\)"),
    ],
)
def test_bad_options_are_refused_before_anything_is_solved(options, message, monkeypatch):
    X, y = three_classes()
    monkeypatch.setattr("properly.maxent.maxent.PenalisedProblem", None)
    with pytest.raises(ValueError, match=message):
        EntropyWeightedMaxent(**options).fit(X, np.where(y == 1, 1, -1))


def test_one_default_for_three_classes_is_refused():
    X, _ = three_classes()
    with pytest.raises(ValueError, match="default_prevalence must have an entry for each of 3 classes"):
        EntropyWeightedMaxent(0.3).fit(X, np.repeat([0, 1, 2], 50))


def test_reweighting_another_learner():
    X, y = three_classes()
    y = np.where(y == 1, 1, -1)
    maxent = EntropyWeightedMaxent(0.2).fit(X, y)
    other = LogisticRegression(class_weight="balanced").fit(X, y)
    p = reweight(other, X, maxent)[:, 1]
    shift = np.log(maxent.prevalence_[1] / maxent.prevalence_[0])
    np.testing.assert_allclose(np.log(p / (1 - p)), other.decision_function(X) + shift, rtol=1e-9)
    again = reweight(other, X, maxent, default_prevalence=0.4, train_prior=0.5)[:, 1]
    prevalence = maxent.prevalence(0.4)
    np.testing.assert_allclose(
        np.log(again / (1 - again)), other.decision_function(X) + np.log(prevalence[1] / prevalence[0]), rtol=1e-9
    )
    with pytest.raises(ValueError, match="classifier has 3 classes, maxent has 2"):
        reweight(LogisticRegression().fit(X, np.repeat([0, 1, 2], 50)), X, maxent)
    with pytest.raises(ValueError, match="maxent must be an EntropyWeightedMaxent, got Maxent"):
        reweight(other, X, Maxent().fit(X, y))
    absent = EntropyWeightedMaxent(0.2, prevalence_bounds=(0.0, 0.0)).fit(X, y)
    assert reweight(other, X, absent)[:, 1].max() == 0.0
