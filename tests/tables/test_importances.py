import numpy as np
import pyarrow as pa
import pytest
from scipy.special import logit
from sklearn.naive_bayes import GaussianNB

from properly.boosting import ProperBoostingClassifier
from properly.calibration import CalibratedClassifier
from properly.linear import GEVCanonicalRegressionCV, ProperLinearClassifier
from properly.prevalence import PriorCorrectedClassifier
from properly.tables import LinearFeatures, TableEncoder, WithFeatures
from properly.tables.encoder import Column
from properly.tables.importances import EFFECT, GAIN, feature_names, importances_of, shuffled_importances
from properly.tree import ProperTreeClassifier


@pytest.fixture(scope="module")
def rows():
    """Columns that matter, one that does not, categories and missing values; labels of two classes."""
    random = np.random.default_rng(0)
    n = 600
    age, noise = random.normal(40.0, 10.0, n), random.normal(size=n)
    town = random.choice(["Bath", "Rome"], n)
    log_odds = 0.12 * (age - 40.0) + np.where(town == "Rome", 0.8, -0.8)
    age[:30] = np.nan
    table = pa.table({"noise": noise, "town": town, "age": pa.array(age, from_pandas=True)})
    encoder = TableEncoder().fit(table)
    return encoder, encoder.transform(table), (random.random(n) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)


def linear(encoder, classifier):
    return WithFeatures(LinearFeatures(encoder.categorical_), classifier)


def test_effects_of_a_logistic_regression_are_its_coefficients(rows):
    encoder, X, y = rows
    model = linear(encoder, ProperLinearClassifier()).fit(X, y)
    found = importances_of(model, encoder.columns_)
    assert found.kind == EFFECT
    assert set(found.features) == {"noise", "age", "age is missing", "town = Bath", "town = Rome"}
    names = feature_names(model.features_, encoder.columns_)
    coefficients = dict(zip(names, model.classifier_.coef_[0], strict=True))
    assert dict(zip(found.features, found.values[:, 0], strict=True)) == pytest.approx(coefficients)
    assert (np.diff(np.abs(found.values[:, 0])) <= 0.0).all()
    assert found.features[0] == "age"
    assert found.features[-1] in ("noise", "age is missing")


def test_effects_of_other_links_are_changes_of_the_log_odds(rows):
    encoder, X, y = rows
    for classifier in (ProperLinearClassifier(link="probit"), GEVCanonicalRegressionCV()):
        model = linear(encoder, classifier).fit(X, y)
        found = importances_of(model, encoder.columns_)
        at = feature_names(model.features_, encoder.columns_).index("age")
        moved = np.zeros((2, len(found.features)))
        moved[1, at] = 1.0
        p = model.classifier_.predict_proba(moved)[:, 1]
        assert found.values[found.features.index("age"), 0] == pytest.approx(logit(p[1]) - logit(p[0]))


def test_several_classes_have_a_column_each(rows):
    encoder, X, y = rows
    labels = y + (X[:, 0] > 1.0)
    found = importances_of(linear(encoder, ProperLinearClassifier()).fit(X, labels), encoder.columns_)
    assert found.values.shape == (5, 3)
    noise = found.values[found.features.index("noise")]
    assert noise[2] > 1.0 > 0.0 > noise[0]


def test_names_are_those_of_the_features():
    random = np.random.default_rng(0)
    letters = np.array([chr(97 + k) for k in range(26)])[np.minimum(random.geometric(0.15, 500) - 1, 25)]
    table = pa.table(
        {"letter": pa.array(np.where(random.random(500) < 0.1, None, letters)), "x": random.normal(size=500)}
    )
    encoder = TableEncoder(max_categories=12).fit(table)
    X = encoder.transform(table)
    features = LinearFeatures([0], max_levels=5).fit(X)
    names = feature_names(features, encoder.columns_)
    made = dict(zip(names, features.transform(X).T, strict=True))
    text = np.array(table.column("letter").to_pylist(), dtype=object)
    assert names[0] == "x"
    assert np.array_equal(made["letter = a"], text == "a")
    assert np.array_equal(made["letter is missing"], text == None)  # noqa: E711
    shown = [made[name] for name in names[1:]]
    assert np.array_equal(np.sum(shown, axis=0), np.ones(500))


@pytest.mark.parametrize(
    "model", [ProperTreeClassifier(categorical_features=[1]), ProperBoostingClassifier(random_state=0)]
)
def test_trees_have_shares_of_gain(rows, model):
    encoder, X, y = rows
    found = importances_of(model.fit(X, y), encoder.columns_)
    assert found.kind == GAIN
    assert found.values.sum() == pytest.approx(1.0)
    assert found.features[0] == "age"
    assert found.values[0, 0] == pytest.approx(model.feature_importances_[2])


def test_what_is_inside_a_calibrated_model_counts(rows):
    encoder, X, y = rows
    inner = ProperTreeClassifier()
    calibrated = CalibratedClassifier(inner, "platt", cv=2, ensemble=False).fit(X, y)
    corrected = PriorCorrectedClassifier(calibrated, "from y", 0.1).fit(X, y)
    alone = importances_of(ProperTreeClassifier().fit(X, y), encoder.columns_)
    ensemble = CalibratedClassifier(inner, "platt", cv=2).fit(X, y)
    several = np.mean([pair.estimator.feature_importances_ for pair in ensemble.pairs_], axis=0)
    for model in (calibrated, corrected):
        found = importances_of(model, encoder.columns_)
        assert found.features == alone.features
        np.testing.assert_allclose(found.values, alone.values)
    np.testing.assert_allclose(importances_of(ensemble, encoder.columns_).values[:, 0], np.sort(several)[::-1])


def test_other_models_have_none(rows):
    encoder, X, y = rows
    assert importances_of(GaussianNB().fit(np.nan_to_num(X), y), encoder.columns_) is None


def test_shuffling_counts_weights():
    """A column that matters only in rows of weight 0 does not matter."""
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 2))
    first = np.arange(400) < 200
    y = np.where(first, X[:, 0] > 0, X[:, 1] > 0).astype(int)
    columns = [Column("a", "number"), Column("b", "number")]
    model = ProperLinearClassifier().fit(X, y)
    assert shuffled_importances(model, X, y, columns, 0, first.astype(float)).features == ("a", "b")
    assert shuffled_importances(model, X, y, columns, 0, (~first).astype(float)).features == ("b", "a")
