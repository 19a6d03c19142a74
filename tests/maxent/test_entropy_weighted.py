"""Entropy weighting against reference values, the formulas, and a general optimiser; and bounds on proportions."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from properly.maxent import ClassRobustLogisticRegression, EntropyWeightedMaxent, Maxent, MaxentFeatures, reweight
from properly.maxent.proportions import checked_proportions, nearest_within

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


def closest_by_brute_force(p, inside, A, b):
    return minimize(
        lambda x: np.sum(x * np.log(np.maximum(x, 1e-300) / p)), inside, bounds=[(0, 1)] * len(p), method="SLSQP",
        constraints=[{"type": "eq", "fun": lambda x: x.sum() - 1}, {"type": "ineq", "fun": lambda x: b - A @ x}],
        options={"ftol": 1e-15, "maxiter": 1000},
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_projection_on_a_polyhedron(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 8))
    p, inside = random.dirichlet(np.ones(n)), random.dirichlet(np.ones(n))
    A = random.normal(size=(int(random.integers(1, 9)), n)) * 10.0 ** random.uniform(-3, 3)
    b = A @ inside + random.exponential(size=len(A)) * random.integers(0, 2, len(A)) * np.abs(A).max() * 0.1
    found, gap = checked_proportions(None, (A, b), n).nearest(p)
    assert found.sum() == pytest.approx(1.0, abs=1e-14)
    assert np.all(A @ found <= b + 1e-9 * np.abs(A).max())
    assert gap < 1e-9
    best = closest_by_brute_force(p, inside, A, b)
    assert np.sum(found * np.log(found / p)) <= best.fun + 1e-8
    np.testing.assert_allclose(found, best.x, atol=1e-4)


def test_boxes_as_inequalities_give_the_same():
    p, bounds = np.array([0.9, 0.06, 0.04]), np.array([[0.0, 1.0], [0.1, 1.0], [0.0, 0.02]])
    A, b = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([-0.1, 0.02])
    np.testing.assert_allclose(
        checked_proportions(None, (A, b), 3).nearest(p)[0], nearest_within(bounds, p), atol=1e-12
    )


def test_ranges_of_sums_and_classes_that_cannot_occur():
    p = np.array([0.7, 0.2, 0.05, 0.05])
    found, gap = checked_proportions({(1, 2): (0.4, 0.5), 3: (0.0, 0.0)}, None, 4).nearest(p)
    np.testing.assert_allclose(found, [0.6, 0.4 * 0.8, 0.4 * 0.2, 0.0], atol=1e-12)  # parts keep their ratios
    assert gap < 1e-12
    fixed, _ = checked_proportions({(0, 1): (0.25, 0.25)}, ([[0, 0, 1.0, -1.0]], [0.0]), 4).nearest(p)
    np.testing.assert_allclose(fixed, [0.25 * 7 / 9, 0.25 * 2 / 9, 0.375, 0.375], atol=1e-11)


def test_constraints_move_the_proportions():
    X, y = three_classes()
    default = [0.5, 0.2, 0.3]
    free = EntropyWeightedMaxent(default).fit(X, y)
    assert free.prevalence_gap_ == 0.0
    at_least_twice = ([[1.0, -2.0, 0.0]], [0.0])  # class 1 is at least half as common as class 0
    model = EntropyWeightedMaxent(default, prevalence_constraints=at_least_twice).fit(X, y)
    assert model.prevalence_[0] <= 2 * model.prevalence_[1] + 1e-10
    assert model.prevalence_gap_ < 1e-10
    np.testing.assert_allclose(model.coef_, free.coef_)
    best = closest_by_brute_force(free.prevalence_, np.full(3, 1 / 3), np.array(at_least_twice[0]), np.zeros(1))
    np.testing.assert_allclose(model.prevalence_, best.x, atol=1e-5)


def test_constraints_that_miss_each_other_by_rounding():
    """Shares of six digits add up to 1 - 1e-6, and a limit may be below 0 by as much."""
    X, y = three_classes()
    shares = ([*np.eye(3), *-np.eye(3)], [*[0.333333] * 3, *[-0.333333] * 3])
    model = EntropyWeightedMaxent([0.5, 0.2, 0.3], prevalence_constraints=shares).fit(X, y)
    np.testing.assert_allclose(model.prevalence_, 1 / 3, atol=2e-6)
    model = EntropyWeightedMaxent([0.5, 0.2, 0.3], prevalence_constraints=([[1.0, 0.0, 0.0]], [-1e-7])).fit(X, y)
    assert model.prevalence_[0] < 1e-6
    assert model.prevalence_gap_ < 1e-8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"prevalence_constraints": ([[0, -1.0, -1.0], [-1.0, 0, 0]], [-0.2, -0.9])},
            r"contradict each other: row 0 .*≤ -0\.2\); row 1 of prevalence_constraints .*≤ -0\.9\)\. Drop",
        ),
        (
            {"prevalence_bounds": {(1, 2): (0.8, 0.9), 0: (0.3, 1.0), 1: (0.0, 0.9)}},
            r"each other: the shares of classes 1 and 2 add up to at least 0\.8; the share of class 0 is at least 0\.3",
        ),
        (
            {"prevalence_bounds": {(0, 1): (0.2, 0.4), 2: (0.1, 0.5)}},
            r"each other: the shares of classes 0 and 1 add up to at most 0\.4; the share of class 2 is at most 0\.5",
        ),
        ({"prevalence_bounds": {(): (0.2, 0.4)}}, r"must name several classes, each once, .*got \(\)"),
        ({"prevalence_bounds": {(1, 1): (0.2, 0.4)}}, r"each once, .*got \(1, 1\)"),
        ({"prevalence_constraints": [[1.0, 0.0, 0.0]]}, r"must be a pair \(A, b\)"),
        ({"prevalence_constraints": ([[1.0, 0.0]], [0.5])}, r"a column for each of 3 classes, got shapes \(1, 2\)"),
        ({"prevalence_constraints": ([[1.0, np.inf, 0.0]], [0.5])}, "must be finite"),
        ({"prevalence_constraints": ([[0.0, 0.0, 0.0]], [0.5])}, "row 0 of A in prevalence_constraints is 0"),
        ({"prevalence_bounds": {(1, 7): (0.1, 0.2)}}, "names class 7, but the classes are 0 … 2"),
        ({"prevalence_bounds": {(1, 2): (0.3, 0.2)}}, "0 ≤ low ≤ high ≤ 1"),
        ({"weighting": "none"}, "weighting must be one of 'entropy', 'default'"),
    ],
)
def test_empty_sets_and_bad_constraints(options, message, monkeypatch):
    X, y = three_classes()
    monkeypatch.setattr("properly.maxent.maxent.PenalisedProblem", None)
    with pytest.raises(ValueError, match=message):
        EntropyWeightedMaxent([0.4, 0.3, 0.3], **options).fit(X, y)


def test_default_weighting_takes_the_default():
    X, y = three_classes()
    y = np.where(y == 1, 1, -1)
    model = EntropyWeightedMaxent(0.3, weighting="default").fit(X, y)
    np.testing.assert_allclose(model.prevalence_, [0.7, 0.3], rtol=1e-15)
    trick = EntropyWeightedMaxent(0.5, prevalence_bounds=(0.3, 0.3)).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), trick.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(model.prevalence(0.1), [0.9, 0.1])


class TestDefaultsThatVary:
    @pytest.fixture
    def data(self):
        X, y = three_classes()
        rows = np.random.default_rng(1).dirichlet(np.ones(3) * 3, size=len(X))
        return X, y, rows

    @pytest.mark.parametrize("kind", [EntropyWeightedMaxent, ClassRobustLogisticRegression])
    def test_a_constant_one_is_the_default(self, data, kind):
        X, y, _ = data
        default = np.array([0.5, 0.2, 0.3])
        plain = kind(default).fit(X, y)
        rows = np.tile(default, (len(X), 1))
        varying = kind().fit(X, y, row_prevalence=rows)
        np.testing.assert_allclose(varying.coef_, plain.coef_, atol=1e-9)
        np.testing.assert_allclose(varying.prevalence_, plain.prevalence_, rtol=1e-8)
        np.testing.assert_allclose(varying.predict_proba(X, row_prevalence=rows), plain.predict_proba(X), rtol=1e-7)

    def test_entropy_weighting_by_brute_force(self, data):
        """Densities relative to ν(x|y), and proportions ν(y) exp(-RE), with a general optimiser and Bayes's rule."""
        X, y, rows = data
        model = EntropyWeightedMaxent().fit(X, y, row_prevalence=rows)
        joint, score = np.empty((len(X), 3)), np.log(rows.mean(axis=0))
        for k in range(3):
            base = rows[:, k] / rows[:, k].sum()
            own = X[y == k]
            q = base
            if len(own):
                mean, beta = own.mean(axis=0), own.std(axis=0) / np.sqrt(len(own))

                def objective(split, base=base, mean=mean, beta=beta):
                    plus, minus = split.reshape(2, -1)
                    return np.log(base @ np.exp((X - mean) @ (plus - minus))) + beta @ (plus + minus)

                found = minimize(objective, np.zeros(4), bounds=[(0, None)] * 4, options={"ftol": 1e-15, "gtol": 1e-10})
                q = base * np.exp(X @ (found.x[:2] - found.x[2:]))
                q /= q.sum()
            score[k] -= np.sum(q * np.log(q / base))
            joint[:, k] = q
        prevalence = np.exp(score) / np.exp(score).sum()
        np.testing.assert_allclose(model.prevalence_, prevalence, rtol=1e-6)
        expected = prevalence * joint
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_proba(X, row_prevalence=rows), expected, rtol=1e-4)

    def test_class_robust_is_certified(self, data):
        X, y, rows = data
        model = ClassRobustLogisticRegression().fit(X, y, row_prevalence=rows)
        p = model.predict_proba(X, row_prevalence=rows)
        relative_entropy = np.mean(np.sum(p * np.log(p / rows), axis=1))
        assert -model.objective_ == pytest.approx(relative_entropy, rel=1e-7)
        assert abs(model.duality_gap_) < 1e-8
        np.testing.assert_allclose(model.prevalence_, p.mean(axis=0), rtol=1e-9)
        for k in (0, 1):
            own = X[y == k]
            excess = p[:, k] @ X / p[:, k].sum() - own.mean(axis=0)
            assert np.all(np.abs(excess) <= own.std(axis=0) / np.sqrt(len(own)) + 1e-8)

    def test_one_column_is_that_of_class_1(self, data):
        X, y, rows = data
        y = np.where(y == 1, 1, -1)
        one, two = (
            EntropyWeightedMaxent(duplicates=duplicates).fit(X, y, row_prevalence=given)
            for given, duplicates in ((rows[:, 0], "keep"), (np.column_stack([1 - rows[:, 0], rows[:, 0]]), "once"))
        )
        np.testing.assert_allclose(one.prevalence_, two.prevalence_, rtol=1e-10)

    def test_errors(self, data):
        X, y, rows = data
        model = EntropyWeightedMaxent().fit(X, y, row_prevalence=rows)
        with pytest.raises(ValueError, match="fitted with row_prevalence: pass it to predict_proba"):
            model.predict(X)
        with pytest.raises(ValueError, match="row_prevalence has 2 columns for 3 classes"):
            model.predict_proba(X, row_prevalence=rows[:, 0])
        with pytest.raises(ValueError, match="default_prevalence must be None"):
            model.predict_proba(X, 0.3)
        with pytest.raises(ValueError, match="predict_output has no default"):
            model.predict_output(X)
        plain = EntropyWeightedMaxent().fit(X, y)
        with pytest.raises(ValueError, match="fitted without row_prevalence: leave it out"):
            plain.predict_proba(X, row_prevalence=rows[:, :2])
        for bad, message in (
            (rows[:5], r"must have shape \(150,\) or \(150, K\), got \(5, 3\)"),
            (rows * 0.5, "must add up to 1 in every row, got 0.5 in row 0"),
            (np.where(np.arange(150) == 7, 0.0, 0.5), "strictly between 0 and 1, got .* in row 7"),
        ):
            with pytest.raises(ValueError, match=message):
                EntropyWeightedMaxent().fit(X, y, row_prevalence=bad)
        with pytest.raises(ValueError, match="takes the place of default_prevalence"):
            EntropyWeightedMaxent(0.3).fit(X, y, row_prevalence=rows)
        with pytest.raises(ValueError, match="row_prevalence has 2 columns, but y has class 2"):
            EntropyWeightedMaxent().fit(X, np.repeat([0, 1, 2], 50), row_prevalence=rows[:, 0])
        with pytest.raises(ValueError, match="the same for all rows of a site"):
            EntropyWeightedMaxent(duplicates="once").fit(X[[0] * 150], y, row_prevalence=rows)
