"""Maxent against reference values, brute force, its own optimality conditions and weights that are rows."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from properly.maxent import (
    ClassRobustLogisticRegression,
    EntropyWeightedMaxent,
    Maxent,
    MaxentFeatures,
    jackknife,
    response_curve,
)
from properly.maxent.solver import PenalisedProblem

CASES = json.loads((Path(__file__).parent / "labelling_bias.json").read_text())
ALL = {
    "check_classifiers_classes": "-1 stands for no label, and the check has it as a class",
    "check_classifiers_one_label": "a class without labels is another class, not none",
}
DERIVED = MaxentFeatures("lh", n_hinges=5)


@pytest.mark.filterwarnings("ignore:every row has the label")  # as a check has it
@parametrize_with_checks(
    [
        Maxent(),
        Maxent(features=DERIVED),
        EntropyWeightedMaxent(features=DERIVED),
        ClassRobustLogisticRegression(features=DERIVED),
    ],
    expected_failed_checks=lambda model: ALL,
)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


def presences(n=300, n_labelled=40, n_features=3, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_features))
    chance = np.exp(1.2 * X[:, 0] - 0.5 * X[:, 1])
    y = np.full(n, -1)
    y[random.choice(n, n_labelled, replace=False, p=chance / chance.sum())] = 1
    return X, y


@pytest.mark.parametrize("case", CASES)
def test_reference_values(case):
    X, y = np.array(case["X"]), np.full(len(case["X"]), -1)
    y[case["labelled"]] = 1
    model = Maxent(case["regularization"]).fit(X, y)
    np.testing.assert_allclose(model.coef_, [case["maxent"]["coef"]], atol=1e-6)
    np.testing.assert_allclose(model.entropy_, case["maxent"]["entropy"], atol=1e-8)
    assert model.violation_ < 1e-9
    assert model.classes_.tolist() == [0, 1]
    assert model.labelled_classes_.tolist() == [1]


def brute_force(F, label_weight, deviation, pool_weight):
    """λ by L-BFGS-B on λ = λ⁺ - λ⁻."""
    mean, k = np.average(F, axis=0, weights=label_weight), F.shape[1]

    def objective(split):
        coef = split[:k] - split[k:]
        scores = (F - mean) @ coef
        top = scores.max()
        density = pool_weight * np.exp(scores - top)
        gradient = density @ (F - mean) / density.sum()
        value = top + np.log(density.sum()) + np.tile(deviation, 2) @ split
        return value, np.concatenate([gradient + deviation, deviation - gradient])

    found = minimize(
        objective, np.zeros(2 * k), jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * k),
        options={"maxiter": 20000, "maxfun": 100000, "ftol": 1e-16, "gtol": 1e-10},
    )  # fmt: skip
    return found.x[:k] - found.x[k:], found.fun


@pytest.mark.parametrize("regularization", [0.3, 1.0, 3.0])
def test_derived_features_against_brute_force(regularization):
    X, y = presences()
    features = MaxentFeatures("lqh", n_hinges=4)
    model = Maxent(regularization, features).fit(X, y)
    F = model.features_.transform(X)
    labelled = y == 1
    m = labelled.sum()
    deviation = regularization * np.maximum(F[labelled].std(axis=0), 1 / np.sqrt(m)) / np.sqrt(m)
    coef, value = brute_force(F, labelled.astype(float), deviation, np.ones(len(X)))
    # Features that nearly repeat each other have ill-determined coefficients, but scores and objective are unique.
    np.testing.assert_allclose(model.entropy_, value, atol=1e-7)
    scores = F @ coef - F @ model.coef_[0]
    np.testing.assert_allclose(scores, scores.mean(), atol=2e-3)
    assert model.coef_[0].any() or regularization > 1.0


def violation(model, F, label_weight, pool_weight, deviation):
    q = pool_weight * np.exp(F @ model.coef_[0])
    excess = q @ F / q.sum() - np.average(F, axis=0, weights=label_weight)
    used = model.coef_[0] != 0.0
    at_bound = np.abs(excess[used] + np.sign(model.coef_[0][used]) * deviation[used])
    return max(at_bound.max(initial=0.0), (np.abs(excess) - deviation).max())


@pytest.mark.parametrize("kinds", ["lqpht", "h", "auto"])
@pytest.mark.parametrize("n_labelled", [1, 2, 12, 150])
def test_optimality_conditions_hold(kinds, n_labelled):
    X, y = presences(n_labelled=n_labelled, n=600)
    model = Maxent(1.0, MaxentFeatures(kinds, n_hinges=30)).fit(X, y)
    F = model.features_.transform(X)
    m = n_labelled
    deviation = np.maximum(F[y == 1].std(axis=0), 1 / np.sqrt(m)) / np.sqrt(m)
    assert violation(model, F, (y == 1).astype(float), np.ones(len(X)), deviation) < 1e-8
    assert model.violation_ < 1e-8


def test_entropy_and_gain_are_those_of_the_density():
    X, y = presences()
    model = Maxent(0.5, MaxentFeatures("lq")).fit(X, y)
    q = model.predict_output(X, "raw")
    assert q.sum() == pytest.approx(1.0, abs=1e-12)
    assert model.entropy_[0] == pytest.approx(-np.sum(q * np.log(q)), abs=1e-12)
    assert model.relative_gain_[0] == pytest.approx(np.log(len(X)) - model.entropy_[0], abs=1e-12)
    # The gain is also the log-likelihood of the labelled rows less the penalty.
    F, m = model.features_.transform(X)[y == 1], (y == 1).sum()
    penalty = 0.5 * np.maximum(F.std(axis=0), 1 / np.sqrt(m)) / np.sqrt(m) @ np.abs(model.coef_[0])
    assert model.relative_gain_[0] == pytest.approx(np.mean(np.log(q[y == 1] * len(X))) - penalty, abs=1e-8)


def test_outputs():
    X, y = presences()
    model = Maxent().fit(X, y)
    typical = model.predict_output(X, "raw") * np.exp(model.entropy_[0])
    np.testing.assert_allclose(model.predict_output(X, "logistic"), typical / (1 + typical), rtol=1e-12)
    np.testing.assert_allclose(model.predict_output(X), 1 - np.exp(-typical), rtol=1e-10)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], typical / (1 + typical), rtol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), np.log(typical), atol=1e-12)
    with pytest.raises(ValueError, match="output must be one of 'raw', 'logistic', 'cloglog', got 'odds'"):
        model.predict_output(X, "odds")


@pytest.mark.parametrize("features", [None, MaxentFeatures("lqh", n_hinges=5), MaxentFeatures()])
@pytest.mark.parametrize("model", [Maxent(), EntropyWeightedMaxent(0.2), ClassRobustLogisticRegression(0.2)])
def test_weights_are_rows(model, features):
    X, y = presences(n=120, n_labelled=45)
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    model = clone(model).set_params(features=features)
    weighted = clone(model).fit(X, y, weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-7)
    np.testing.assert_allclose(weighted.class_scores(X), repeated.class_scores(X), atol=1e-6)
    if isinstance(model, Maxent):
        np.testing.assert_allclose(weighted.entropy_, repeated.entropy_, rtol=1e-12)


def test_classes_are_fitted_one_by_one():
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(shift, 1.0, size=(60, 2)) for shift in (0, 1, 2, 1)])
    y = np.repeat([0, 1, 3, -1], 60)
    model = Maxent().fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.labelled_classes_.tolist() == [0, 1, 3]
    for row, label in enumerate(model.labelled_classes_):
        alone = Maxent().fit(X, np.where(y == label, 1, -1))
        np.testing.assert_array_equal(model.coef_[row], alone.coef_[0])
        assert model.entropy_[row] == alone.entropy_[0]
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert model.predict_output(X).shape == (240, 3)
    # The class without labels has the density of the pool: its log-probability differs from others by their scores.
    expected = model.class_scores(X)[:, 2] - model.relative_gain_[2]
    np.testing.assert_allclose(np.log(p[:, 3] / p[:, 2]), expected, atol=1e-10)


def test_duplicates_count_each_or_once():
    X, y = presences(n=100, n_labelled=30)
    labelled = np.flatnonzero(y == 1)[:5]
    doubled = np.concatenate([X, X[labelled], X[labelled], X[:10]])
    labels = np.concatenate([y, y[labelled], np.full(5, -1), np.full(10, -1)])
    once = Maxent(duplicates="once").fit(doubled, labels)
    np.testing.assert_allclose(once.coef_, Maxent().fit(X, y).coef_, atol=1e-8)
    assert once.entropy_ + once.relative_gain_ == pytest.approx(np.log(100))
    kept = Maxent().fit(doubled, labels)
    assert kept.entropy_ + kept.relative_gain_ == pytest.approx(np.log(120))
    assert np.abs(kept.coef_ - once.coef_).max() > 1e-3


def test_any_transformer_and_sparse_matrices():
    X, y = presences()
    squares = PolynomialFeatures(2, include_bias=False)
    by_transformer = Maxent(features=squares).fit(X, y)
    np.testing.assert_allclose(by_transformer.coef_, Maxent().fit(squares.fit_transform(X), y).coef_, atol=1e-9)
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense, thin = Maxent().fit(X, y), Maxent().fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-8)
    np.testing.assert_allclose(thin.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), rtol=1e-8)


def test_frozen_features_are_shared():
    X, y = presences()
    features = MaxentFeatures("lq").fit(X * 2.0)
    model = Maxent(features=FrozenEstimator(features)).fit(X, y)
    np.testing.assert_array_equal(features.high_, X.max(axis=0) * 2.0)
    assert model.coef_.shape == (1, 6)
    F = features.transform(X)
    deviation = np.maximum(F[y == 1].std(axis=0), 1 / np.sqrt(40)) / np.sqrt(40)
    assert violation(model, F, (y == 1).astype(float), np.ones(len(X)), deviation) < 1e-8  # the floor holds


def test_units_and_offsets_do_not_matter():
    X, y = presences()
    scale, shift = np.array([1e-6, 1.0, 1e6]), np.array([0.0, 1e5, 3e6])
    moved = Maxent().fit(X * scale + shift, y)
    np.testing.assert_allclose(moved.coef_ * scale, Maxent().fit(X, y).coef_, atol=1e-6)
    assert moved.violation_ < 1e-6


def test_constant_columns_do_not_matter():
    X, y = presences()
    with_constant = np.column_stack([X, np.full(len(X), 1e9)])
    model = Maxent().fit(with_constant, y)
    np.testing.assert_allclose(model.coef_, np.append(Maxent().fit(X, y).coef_, [[0.0]], axis=1), atol=1e-8)


@pytest.mark.parametrize("features", [None, MaxentFeatures("lqh")])
def test_a_single_presence_gives_an_even_density(features):
    X, y = presences(n_labelled=1)
    model = Maxent(features=features).fit(X, y)
    assert not model.coef_.any()
    np.testing.assert_allclose(model.predict_proba(X), 0.5)


def test_categories_in_a_data_frame():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"rain": random.normal(size=200), "soil": random.choice(["clay", "sand"], 200)})
    y = np.where((frame["soil"] == "clay") & (random.random(200) < 0.5), 1, -1)
    model = Maxent(features=MaxentFeatures("l")).fit(frame, y)
    p = model.predict_proba(pd.DataFrame({"rain": [0.0] * 3, "soil": ["clay", "sand", "rock"]}))[:, 1]
    assert p[0] > p[2] > p[1]  # an unknown soil lies between
    assert model.feature_names_in_.tolist() == ["rain", "soil"]


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (Maxent(), np.full(300, -1), "no row with a label"),
        (Maxent(), np.full(300, "a"), "one class only"),
        (Maxent(), np.where(np.arange(300) < 9, 1, -2), "-1 for rows without label, got -2"),
        (Maxent(), np.where(np.arange(300) < 9, 12, -1), "got 12 among 9 labelled rows; number the classes from 0"),
        (Maxent(features="lq"), None, r"features must be a transformer such as MaxentFeatures\(\) or None, got 'lq'"),
        (Maxent(features=MaxentFeatures), None, "features must be a transformer"),
        (Maxent(-1.0), None, "regularization must be at least 0 and finite, got -1.0"),
        (Maxent(np.nan), None, "regularization must be at least 0 and finite, got nan"),
        (Maxent(duplicates="drop"), None, "duplicates must be one of 'keep', 'once', got 'drop'"),
    ],
)
def test_bad_input_is_refused(model, y, message):
    X, labels = presences()
    with pytest.raises(ValueError, match=message):
        model.fit(X, labels if y is None else y)


def test_a_feature_that_is_the_same_in_all_presences_deviates_by_its_range():
    X, y = presences()
    X = np.column_stack([X, 7.0 * (y == -1)])
    model = Maxent().fit(X, y)
    m = (y == 1).sum()
    deviation = np.append(X[y == 1, :3].std(axis=0), 7.0 / np.sqrt(m)) / np.sqrt(m)
    assert violation(model, X, (y == 1).astype(float), np.ones(len(X)), deviation) < 1e-8
    with pytest.raises(ValueError, match=r"feature 'x3' is 0, an extreme .* without regularization .* drop it"):
        Maxent(0.0).fit(X, y)


def test_features_in_a_pipeline():
    X, y = presences(n_labelled=12)
    alone = Maxent(features=MaxentFeatures("lqh", n_hinges=5)).fit(X, y)
    inside = Maxent(features=make_pipeline(StandardScaler(), MaxentFeatures("lqh", n_hinges=5))).fit(X, y)
    np.testing.assert_allclose(inside.predict_proba(X), alone.predict_proba(X), rtol=1e-6)  # the floor holds
    weight = np.arange(len(X)) % 2
    X[::2] *= 100.0  # absent rows decide no range
    heavy = Maxent(features=make_pipeline("passthrough", MaxentFeatures("l"))).fit(X, y, weight)
    expected = Maxent(features=MaxentFeatures("l")).fit(X, y, weight)
    np.testing.assert_array_equal(heavy.coef_, expected.coef_)
    with config_context(enable_metadata_routing=True):
        np.testing.assert_array_equal(clone(heavy).fit(X, y, weight).coef_, expected.coef_)
    before = make_pipeline(MaxentFeatures(), Maxent()).fit(X, y)
    assert before[-1].violation_ < 1e-8
    p = make_pipeline(MaxentFeatures(), LogisticRegression()).fit(X, y).predict_proba(X)[:, 1]
    assert p[y == 1].mean() > p[y == -1].mean()


@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value) encountered in log")
def test_features_must_be_finite():
    X, y = presences()
    logarithm = FunctionTransformer(np.log)
    with pytest.raises(ValueError, match=r"features give nan in row \d+ for feature 'x0'; all values must be finite"):
        Maxent(features=logarithm).fit(X, y)
    model = Maxent(features=logarithm).fit(np.exp(X), y)
    np.testing.assert_allclose(model.coef_, Maxent().fit(X, y).coef_, atol=1e-8)
    with pytest.raises(ValueError, match="features give -inf in row 0 for feature 'x1'"):
        model.predict_proba([[1.0, 0.0, 1.0]])
    sparse_log = FunctionTransformer(lambda X: sparse.csr_array(np.log(X)), feature_names_out="one-to-one")
    with pytest.raises(ValueError, match="features give -inf in row 5 for feature 'x2'"):
        Maxent(features=sparse_log).fit(np.where(np.arange(900).reshape(300, 3) == 17, 0.0, np.exp(X)), y)


def test_transformers_may_give_data_frames():
    X, y = presences()
    expected = Maxent(features=StandardScaler()).fit(X, y).coef_
    for library in ("pandas", "polars"):
        with config_context(transform_output=library):
            np.testing.assert_array_equal(Maxent(features=StandardScaler()).fit(X, y).coef_, expected)


@pytest.mark.parametrize("model", [Maxent(), ClassRobustLogisticRegression(0.3)])
def test_weights_that_are_nothing_beside_others(model):
    X, y = presences()
    heavy = np.arange(len(X)) % 7 > 0
    found = clone(model).fit(X, y, np.where(heavy, 1e300, 1e-300))
    np.testing.assert_allclose(found.coef_, clone(model).fit(X, y, np.where(heavy, 1e300, 0.0)).coef_)


def test_weights_beyond_float64_are_refused():
    X, y = presences()
    with pytest.raises(ValueError, match="sample_weight adds up to more than float64 can hold"):
        Maxent().fit(X, y, np.full(len(X), 1e308))


def test_presences_without_background_warn():
    X, _ = presences()
    with pytest.warns(UserWarning, match="every row has the label 1, .* the density is even; add background rows"):
        model = Maxent().fit(X, np.ones(len(X), dtype=int))
    assert model.relative_gain_[0] == pytest.approx(0.0, abs=1e-14)


def test_a_fit_that_is_lost_is_refused(monkeypatch):
    X, y = presences()
    point = PenalisedProblem.point
    lost = {"violation": np.full((1, 3), np.nan)}
    monkeypatch.setattr(PenalisedProblem, "point", lambda *given: point(*given)._replace(**lost))
    with pytest.raises(ValueError, match=r"numbers beyond float64 \(nan\); scale the columns"):
        Maxent().fit(X, y)


@pytest.mark.parametrize("unit", [1e-148, 1e148])
@pytest.mark.parametrize("model", [Maxent(), ClassRobustLogisticRegression(0.3)])
def test_units_as_small_and_as_large_as_they_may_be(model, unit):
    X, y = presences()
    expected = clone(model).fit(X, y).predict_proba(X)
    assert clone(model).fit(unit * X, y).predict_proba(unit * X) == pytest.approx(expected, abs=1e-8)
    with pytest.raises(ValueError, match=r"feature 'x0' has values from .*whose squares are beyond float64"):
        clone(model).fit(unit * unit * X if unit < 1.0 else unit * 1e20 * X, y)


def test_presences_at_a_corner_without_regularization():
    # The only density with the mean of two neighbours on a circle is theirs; the coefficients are as large as need be.
    X = np.array([[np.cos(t), np.sin(t)] for t in np.linspace(0.3, 6.5, 12)])
    y = np.where(np.arange(12) < 2, 1, -1)
    q = Maxent(0.0).fit(X, y).predict_output(X, "raw")
    np.testing.assert_allclose(q, np.where(y == 1, 0.5, 0.0), atol=1e-8)


def test_a_fit_that_has_not_converged_warns(monkeypatch):
    monkeypatch.setattr("properly.maxent.solver._MAX_ITER", 1)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations .* use more regularization"):
        Maxent(0.1).fit(*presences())


@pytest.mark.parametrize("model", [Maxent(), EntropyWeightedMaxent(0.2), ClassRobustLogisticRegression(0.2)])
def test_logarithms_are_finite_where_probabilities_are_not(model):
    X, y = presences()
    model.fit(X, y)
    far = np.array([[0.3, -0.2, 0.1], [1e4, 0.0, 0.0], [-1e4, 0.0, 0.0]])
    log_p, p, odds = model.predict_log_proba(far), model.predict_proba(far), model.decision_function(far)
    assert (p[1:] == 0.0).any(axis=1).all()
    assert np.isfinite(log_p).all()
    np.testing.assert_allclose(log_p[0], np.log(p[0]))
    np.testing.assert_allclose(log_p[:, 1] - log_p[:, 0], odds)
    np.testing.assert_array_equal(model.predict(far), (odds > 0.0).astype(int))


def test_decisions_of_several_classes_are_logarithms_of_probabilities():
    X, y = presences()
    y[(y == -1) & (X[:, 2] > 1.0)] = 2
    model = EntropyWeightedMaxent().fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), np.log(model.predict_proba(X)), rtol=1e-12)


def test_fits_are_repeatable():
    X, y = presences()
    model = Maxent(features=MaxentFeatures())
    np.testing.assert_array_equal(clone(model).fit(X, y).coef_, clone(model).fit(X, y).coef_)


def test_response_curves():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"rain": random.normal(size=300), "soil": random.choice(["clay", "sand"], 300)})
    y = np.where((frame["rain"] > 0) & (random.random(300) < 0.4), 1, -1)
    model = Maxent(features=MaxentFeatures("lq")).fit(frame, y)
    curve = response_curve(model, frame, "rain", n_points=11)
    assert curve.values[0] == frame["rain"].min()
    most = frame["soil"].mode()[0]
    by_hand = model.predict_proba(pd.DataFrame({"rain": curve.values, "soil": most}))[:, 1]
    np.testing.assert_array_equal(curve.probability, by_hand)
    assert curve.frame().columns.tolist() == ["rain", "probability"]
    assert response_curve(model, frame, "soil").values.tolist() == ["clay", "sand"]
    for X, options, message in [
        (frame, {"column": "sun"}, r"column is 'sun', which is no column of X: \['rain', 'soil'\]"),
        (frame, {"n_points": 0}, "n_points must be a whole number of at least 1, got 0"),
        (frame, {"label": 2}, r"label must be one of \[0, 1\], got 2"),
        (frame[:0], {}, "X has no rows"),
    ]:
        with pytest.raises(ValueError, match=message):
            response_curve(model, X, **{"column": "rain", **options})
    with pytest.raises(NotFittedError):
        response_curve(Maxent(), frame, "rain")


def test_response_curves_know_numbers_that_are_categories():
    """Neither their mean nor what lies between two of them is a category."""
    X, y = presences()
    X[:, 1] = np.round(X[:, 1])
    model = Maxent(features=MaxentFeatures("l", categorical=[1])).fit(X, y)
    assert response_curve(model, X, 1).values.tolist() == np.unique(X[:, 1]).tolist()
    curve = response_curve(model, X, 0, n_points=3)
    values, counts = np.unique(X[:, 1], return_counts=True)
    by_hand = np.column_stack([curve.values, np.full(3, values[counts.argmax()]), np.full(3, X[:, 2].mean())])
    np.testing.assert_array_equal(curve.probability, model.predict_proba(by_hand)[:, 1])


def test_what_is_explained_does_not_depend_on_the_kind_of_table():
    X, y = presences()
    X = np.round(X)
    X[:, 2] = X[:, 2] > 0
    columns = {"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 2] > 0, "clay", "sand")}
    tables = [pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)]
    curves, gains = [], []
    for table in tables:
        model = Maxent(features=MaxentFeatures("lq")).fit(table, y)
        curves.append([response_curve(model, table, column, n_points=5).probability for column in ("a", np.int64(2))])
        gains.append(jackknife(model, table, y).without)
    for curve, gain in zip(curves[1:], gains[1:], strict=True):
        np.testing.assert_allclose(np.concatenate(curve), np.concatenate(curves[0]), rtol=1e-10)
        np.testing.assert_allclose(gain, gains[0], atol=1e-10)
    dense, thin = Maxent().fit(X, y), sparse.csc_matrix(X)
    expected = response_curve(dense, X, 0, n_points=5).probability
    np.testing.assert_allclose(response_curve(dense, thin, 0, n_points=5).probability, expected, rtol=1e-12)
    np.testing.assert_allclose(jackknife(dense, thin, y).only, jackknife(dense, X, y).only, atol=1e-10)


def test_jackknife():
    X, y = presences()
    result = jackknife(Maxent(features=MaxentFeatures("lq", categorical=[2])), np.round(X), y)
    alone = Maxent(features=MaxentFeatures("lq")).fit(np.round(X[:, [1]]), y)
    assert result.only[1] == pytest.approx(alone.relative_gain_[0], abs=1e-10)
    without = Maxent(features=MaxentFeatures("lq", categorical=[1])).fit(np.round(X[:, [0, 2]]), y)
    assert result.without[1] == pytest.approx(without.relative_gain_[0], abs=1e-10)
    assert result.only.argmax() == result.without.argmin() == 0
    assert result.frame().shape == (3, 3)


def test_jackknife_keeps_the_sites_of_all_columns():
    """Two columns of few values: without either of them hardly any row would be a site of its own."""
    random = np.random.default_rng(0)
    X = np.column_stack([random.normal(size=400), random.integers(0, 3, 400)])
    y = np.where((X[:, 1] == 2) & (random.random(400) < 0.4), 1, -1)
    X, y = np.vstack([X, X[y == 1]]), np.append(y, y[y == 1])
    y[:400] = -1
    model = Maxent(features=MaxentFeatures("l", categorical=[1]), duplicates="once")
    result = jackknife(model, X, y)
    places = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    seen = np.bincount(places, y == 1) > 0
    values = np.unique(X, axis=0)
    expected = Maxent(features=MaxentFeatures("l", categorical=[0])).fit(values[:, [1]], np.where(seen, 1, -1))
    assert result.only[1] == pytest.approx(expected.relative_gain_[0], abs=1e-10)
    assert result.only[1] > 0.3
    assert result.full == clone(model).fit(X, y).relative_gain_[0]


def test_jackknife_knows_columns_by_name_first():
    random = np.random.default_rng(0)
    a, b, c = random.normal(size=300), random.integers(1, 4, 300), random.normal(size=300)
    letters = pd.DataFrame({"a": a, "b": b, "c": c})
    y = np.where((letters["b"] == 2) & (random.random(300) < 0.4), 1, -1)
    expected = jackknife(Maxent(features=MaxentFeatures("l", categorical=["b"])), letters, y)
    numbers = letters.set_axis([1, 2, 3], axis=1)
    for entry in (2, np.int64(2)):
        found = jackknife(Maxent(features=MaxentFeatures("l", categorical=[entry])), numbers, y)
        np.testing.assert_array_equal(found.only, expected.only)
        np.testing.assert_array_equal(found.without, expected.without)
    by_place = jackknife(Maxent(features=MaxentFeatures("l", categorical=[np.int64(1)])), letters, y)
    np.testing.assert_array_equal(by_place.only, expected.only)


def test_permutation_importance_is_that_of_scikit_learn():
    X, y = presences()
    importance = permutation_importance(Maxent().fit(X, y), X, y, scoring="roc_auc", random_state=0)
    assert importance.importances_mean.argmax() == 0


@pytest.mark.parametrize("kind", [Maxent, EntropyWeightedMaxent, ClassRobustLogisticRegression])
def test_classes_may_be_texts(kind):
    X = np.random.default_rng(0).normal(size=(90, 2))
    codes = np.array([1, 0, -1] * 30)
    names = np.array(["oak", "ash", -1] * 30, dtype=object)
    model, numbered = kind().fit(X, names), kind().fit(X, codes)
    assert model.classes_.tolist() == ["ash", "oak"]
    assert np.array_equal(model.predict_proba(X), numbered.predict_proba(X))
    assert np.array_equal(model.predict(X), np.array(["ash", "oak"])[numbered.predict(X)])
    with pytest.raises(ValueError, match="one class only, 'oak'"):
        kind().fit(X, np.where(names == "ash", -1, names))
