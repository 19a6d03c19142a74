"""A model and its columns as one."""

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import get_tags

from properly.inputs.misuse import Misuse
from properly.linear import ProperLinearClassifier
from properly.tables import LinearFeatures, TableClassifier, TableEncoder, TableError, WithFeatures
from properly.tables.base import Place
from properly.tables.expansions import ExpandedFeatures
from properly.tables.targets import class_labels, weights

PLACE = Place("f.csv", "y")


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (["no", "yes", "no"], ["no", "yes"]),
        ([1, 0, 1], [0, 1]),
        ([1.0, 0.0, 1.0], [0, 1]),
        ([True, False, True], [False, True]),
        ([0.5, 1.5, 0.5], [0.5, 1.5]),
        (pa.array(["b", "a", "b"]).dictionary_encode(), ["a", "b"]),
        (pa.chunked_array([["b"], ["a", "c"]]), ["a", "b", "c"]),
    ],
)
def test_classes_of_any_type(values, classes):
    column = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    found = class_labels(column, PLACE)
    assert found.classes == classes
    assert [type(label) for label in found.classes] == [type(label) for label in classes]
    assert [found.classes[code] for code in found.codes] == column.to_pylist()


def test_the_positive_class_comes_second():
    found = class_labels(pa.array(["bad", "good", "bad"]), PLACE, "bad")
    assert found.classes == ["good", "bad"]
    assert found.codes.tolist() == [1, 0, 1]
    assert class_labels(pa.array([0, 1]), PLACE, "1").classes == [0, 1]


@pytest.mark.parametrize(
    ("values", "positive", "message"),
    [
        (["a", None], None, "f.csv, column 'y', row 2: the class is missing"),
        ([1.0, np.nan], None, "f.csv, column 'y', row 2: the class is missing"),
        (["a", "a"], None, "holds one class only, 'a'; at least two"),
        (list(range(101)), None, "101 different values, but a target may have 100 classes"),
        (["a", "b"], "c", "has no class 'c'; it has 'a', 'b'"),
        (["a", "b", "c"], "c", "a positive class is one of two, but f.csv, column 'y' has 3"),
        ([[1], [2]], None, "holds list<.*>, but classes are needed"),
    ],
)
def test_targets_that_are_none(values, positive, message):
    with pytest.raises(ValueError, match=message):
        class_labels(pa.array(values), PLACE, positive)


def test_weights_are_checked():
    assert_array_equal(weights(pa.array([1, 0, 2.5]), PLACE), [1, 0, 2.5])
    for values, message in [
        ([1, -1], "row 2: a weight must be a number of at least 0, got -1"),
        ([1, None], "row 2: a weight must be"),
        ([1.0, np.inf], "row 2"),
        (["1", "x"], "row 2: a number is needed, got 'x'"),
    ]:
        with pytest.raises(TableError, match=message):
            weights(pa.array(values), PLACE)
    with pytest.raises(Misuse, match="every weight is 0"):
        weights(pa.array([0, 0]), PLACE)


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    X = np.column_stack([random.normal(size=300), random.integers(0, 3, 300)])
    X[::10, 0] = np.nan
    y = (random.random(300) < 0.2 + 0.2 * X[:, 1]).astype(int)
    return X, y


def test_features_and_classifier_as_one(rows):
    X, y = rows
    model = WithFeatures(LinearFeatures([1]), ProperLinearClassifier()).fit(X, y)
    features = LinearFeatures([1]).fit(X)
    alone = ProperLinearClassifier().fit(features.transform(X), y)
    assert_allclose(model.predict_proba(X), alone.predict_proba(features.transform(X)))
    assert_allclose(model.decision_function(X), alone.decision_function(features.transform(X)))
    assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    assert_array_equal(model.predict(X), alone.predict(features.transform(X)))
    assert clone(model).get_params()["classifier__C"] == 1.0


def test_weights_reach_both(rows):
    X, y = rows
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    model = WithFeatures(LinearFeatures([1]), ProperLinearClassifier())
    once = clone(model).fit(X, y, sample_weight=weight).predict_proba(X)
    twice = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).predict_proba(X)
    assert_allclose(once, twice, atol=1e-7)


def test_a_model_of_tables(rows):
    X, y = rows
    pandas = pytest.importorskip("pandas")
    table = pa.table({"a": X[:, 0], "town": np.array(["x", "y", "z"])[X[:, 1].astype(int)]})
    encoder = TableEncoder().fit(table)
    matrix = encoder.transform(table)
    inner = WithFeatures(LinearFeatures(encoder.categorical_), ProperLinearClassifier()).fit(matrix, y)
    model = TableClassifier(encoder, inner, ["no", "yes"])
    p = model.predict_proba(table)
    assert_allclose(p, inner.predict_proba(matrix))
    assert_allclose(model.predict_proba(pandas.DataFrame(table.to_pydict())), p)
    assert_array_equal(model.scored(table)["probability_yes"], p[:, 1])
    assert_array_equal(model.predict(table) == "yes", p[:, 1] > 0.5)
    assert_array_equal(model.predict_log_proba(table), inner.predict_log_proba(matrix))
    assert_array_equal(model.decision_function(table), inner.decision_function(matrix))
    assert model.feature_names_in_.tolist() == ["a", "town"]
    with pytest.warns(UserWarning, match="1 row has a category that did not occur in training, first 'new'"):
        assert model.predict_proba({"a": [0.0], "town": ["new"]}).shape == (1, 2)
    with pytest.raises(TableError, match="did not occur in training"):
        model.decision_function({"a": [0.0], "town": ["new"]}, unseen="refuse")


def test_names_of_features_and_missing_methods(rows):
    X, y = rows
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "town"])
    model = WithFeatures(LinearFeatures([1]), ProperLinearClassifier()).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "town"]
    assert model.n_features_in_ == 2
    assert not hasattr(WithFeatures(LinearFeatures([1]), ProperLinearClassifier()).fit(X, y), "feature_names_in_")
    bayes = WithFeatures(LinearFeatures([1]), GaussianNB()).fit(X, y)
    assert not hasattr(bayes, "decision_function")
    assert_allclose(bayes.predict_log_proba(X), np.log(bayes.predict_proba(X)), atol=1e-9)


def test_logarithms_are_finite_where_probabilities_underflow():
    X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    model = WithFeatures(LinearFeatures(), GaussianNB()).fit(X, y)
    assert model.predict_proba([[1e4]])[0, 0] == 0.0
    assert -np.inf < model.predict_log_proba([[1e4]])[0, 0] < -1000.0


@pytest.mark.parametrize("known", [0.0, np.nan])
@pytest.mark.parametrize("kind", ["plain", "bends", "products", "kernel"])
def test_new_numbers_in_a_column_without_any(known, kind):
    """A flag that is 0 in all training rows, or a column that is empty there, holds other numbers later."""
    X = np.column_stack([np.arange(8.0), np.full(8, known)])
    features = LinearFeatures() if kind == "plain" else ExpandedFeatures(kind)
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(features.fit(X).transform([[1.0, 5.0], [2.0, -1e6]])).all()


def test_linear_features_have_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1.0, 3.0, np.nan], "town": [0.0, 1.0, 1.0], "size": [1.0, 2.0, 4.0]})
    features = LinearFeatures(categorical=[1], max_levels=1).set_output(transform="pandas")
    found = features.fit_transform(frame)
    assert list(found.columns) == ["age", "size", "age is missing", "town = 1", "town is another"]
    assert found["town is another"].tolist() == [1.0, 0.0, 0.0]
    assert get_tags(features).input_tags.allow_nan
    with pytest.raises(NotFittedError):
        LinearFeatures().get_feature_names_out()


def test_encoder_follows_set_output():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [30.0, 40.0], "town": ["Rome", "Bath"]})
    found = TableEncoder().set_output(transform="pandas").fit_transform(frame)
    assert found.to_dict("list") == {"age": [30.0, 40.0], "town": [1.0, 0.0]}
    assert get_tags(TableEncoder()).input_tags.allow_nan
    assert not get_tags(TableEncoder(missing="refuse")).input_tags.allow_nan
