"""Maxent's features: shapes, ranges, names, categories, and products that need no matrix."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from properly.maxent import MaxentFeatures


@parametrize_with_checks([MaxentFeatures(), MaxentFeatures("lqpht", n_hinges=4), MaxentFeatures("h", clamp=False)])
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


def table(n=200, seed=0):
    random = np.random.default_rng(seed)
    return np.column_stack(
        [random.normal(size=n), random.exponential(size=n), random.integers(0, 4, n), np.full(n, 7.0)]
    )


def test_values_by_hand():
    X = np.array([[0.0, 10.0], [1.0, 30.0], [2.0, 20.0], [4.0, 10.0]])
    features = MaxentFeatures("lqpht", n_hinges=1).fit(X)
    assert features.get_feature_names_out().tolist() == [
        *("x0", "x1", "x0^2", "x1^2", "x0 x1"),
        *("up(x0, 2)", "up(x1, 20)", "down(x0, 2)", "down(x1, 20)", "step(x0, 2)", "step(x1, 20)"),
    ]
    # u = (0.25, 1) in the second row; the product has the range [0, 0.25] in training
    np.testing.assert_allclose(
        features.transform(X)[1], [0.25, 1.0, 0.0625, 1.0, 1.0, 0.0, 1.0, 0.5, 0.0, 0.0, 1.0], atol=1e-15
    )


def test_every_feature_spans_the_unit_interval_in_training():
    matrix = MaxentFeatures("lqpht", n_hinges=7).fit_transform(table())
    np.testing.assert_array_equal(matrix.min(axis=0), 0.0)
    np.testing.assert_allclose(matrix.max(axis=0), 1.0, rtol=1e-14)


def test_constant_columns_have_no_features():
    names = MaxentFeatures("lqpht", n_hinges=7).fit(table()).get_feature_names_out()
    assert not [name for name in names if "x3" in name]
    only_constant = MaxentFeatures().fit(np.ones((5, 2)))
    assert only_constant.transform(np.ones((3, 2))).shape == (3, 0)


def test_few_distinct_values_have_a_knot_between_neighbours():
    names = MaxentFeatures("t", n_hinges=7).fit(table()).get_feature_names_out()
    assert [name for name in names if "x2" in name] == ["step(x2, 0.5)", "step(x2, 1.5)", "step(x2, 2.5)"]


@pytest.mark.parametrize("clamp", [True, False])
@pytest.mark.parametrize("kinds", ["lqpht", "l", "h", "t", "qp"])
def test_the_design_multiplies_like_the_matrix(kinds, clamp):
    X = table()
    features = MaxentFeatures(kinds, n_hinges=9, clamp=clamp, categorical=[2]).fit(X[:100])
    X[:, 0] *= 3.0  # some rows lie outside the range of training
    matrix, design = features.transform(X), features.design(X)
    random = np.random.default_rng(1)
    weight, coef = random.random(len(X)), random.normal(size=matrix.shape[1])
    np.testing.assert_allclose(design.sums(weight), matrix.T @ weight, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(design.scores(coef), matrix @ coef, rtol=1e-11, atol=1e-11)
    rows = np.array([5, 3, 150])
    np.testing.assert_array_equal(design.take(rows).columns(np.arange(matrix.shape[1])).T, matrix[rows])
    mean, deviation = design.moments(weight)
    np.testing.assert_allclose(mean, np.average(matrix, axis=0, weights=weight), rtol=1e-12, atol=1e-14)
    variance = np.average((matrix - mean) ** 2, axis=0, weights=weight)
    np.testing.assert_allclose(deviation, np.sqrt(variance), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    ("presences", "kinds"), [(1, "l"), (9, "l"), (10, "lq"), (14, "lq"), (15, "lqh"), (79, "lqh"), (80, "lqph")]
)
def test_auto_goes_by_the_number_of_presences(presences, kinds):
    X, y = table(), np.full(200, -1)
    y[:presences] = 1
    assert MaxentFeatures().fit(X, y).kinds_ == kinds
    weight = np.ones(200)
    weight[0] = 0.0
    assert MaxentFeatures().fit(X, y, weight).kinds_ == MaxentFeatures().fit(X[1:], y[1:]).kinds_
    assert MaxentFeatures().fit(X).kinds_ == "lqph"


def test_auto_counts_the_rarest_class():
    y = np.repeat([0, 1, -1], [100, 12, 88])
    assert MaxentFeatures().fit(table(), y).kinds_ == "lq"


def test_clamping_and_extrapolation():
    features = MaxentFeatures("lqh", n_hinges=3).fit(np.array([[0.0], [1.0], [2.0], [10.0], [3.0], [7.0]]))
    inside, outside = features.transform([[10.0]]), features.transform([[15.0]])
    np.testing.assert_array_equal(inside, outside)
    np.testing.assert_allclose(features.extrapolation([[15.0], [-2.0], [4.0]]), [[0.5], [0.2], [0.0]])
    free = clone(features).set_params(clamp=False).fit(np.array([[0.0], [1.0], [2.0], [10.0], [3.0], [7.0]]))
    names = free.get_feature_names_out().tolist()
    values = free.transform([[15.0]])[0]
    assert values[names.index("x0")] == pytest.approx(1.5)
    assert values[names.index("up(x0, 5)")] == pytest.approx(2.0)
    assert values[names.index("down(x0, 5)")] == 0.0


def test_a_column_that_was_constant_is_infinitely_far_where_it_is_not():
    features = MaxentFeatures("l").fit(np.array([[0.0, 3.0], [1.0, 3.0]]))
    np.testing.assert_array_equal(features.extrapolation([[0.5, 3.0], [0.5, 4.0]]), [[0.0, 0.0], [0.0, np.inf]])


@pytest.mark.parametrize("library", [pd, pl])
def test_data_frames_with_categories(library):
    frame = library.DataFrame({"rain": [1.0, 2.0, 3.0, 5.0], "soil": ["clay", "sand", "clay", "peat"]})
    features = MaxentFeatures("l").fit(frame)
    assert features.get_feature_names_out().tolist() == ["rain", "soil=clay", "soil=peat", "soil=sand"]
    new = library.DataFrame({"rain": [3.0, 9.0], "soil": ["peat", "rock"]})
    np.testing.assert_array_equal(features.transform(new), [[0.5, 0, 1, 0], [1, 0, 0, 0]])
    np.testing.assert_array_equal(features.extrapolation(new), [[0.0, 0.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match="feature names"):
        features.transform(new[["soil", "rain"]])


def test_numbers_as_categories():
    X = table()
    by_number = MaxentFeatures("l", categorical=np.array([2])).fit(X)
    assert by_number.get_feature_names_out().tolist() == ["x0", "x1", "x2=0.0", "x2=1.0", "x2=2.0", "x2=3.0"]
    np.testing.assert_array_equal(by_number.transform(X)[:, 2:], X[:, [2]] == np.arange(4))
    by_name = MaxentFeatures("l", categorical=["c"]).fit(pd.DataFrame(X, columns=list("abcd")))
    np.testing.assert_array_equal(by_name.transform(pd.DataFrame(X, columns=list("abcd"))), by_number.transform(X))


@pytest.mark.parametrize(
    ("features", "X", "message"),
    [
        (MaxentFeatures("lx"), table(), "kinds must be .* 'h' \\(hinge\\).* got 'lx'"),
        (MaxentFeatures(""), table(), "kinds must be"),
        (MaxentFeatures(n_hinges=0), table(), "n_hinges must be a whole number of at least 1, got 0"),
        (MaxentFeatures(categorical=[9]), table(), "categorical names 9, which is no column"),
        (MaxentFeatures(categorical=0), table(), "categorical must be a list of columns, got 0"),
        (MaxentFeatures(categorical="rain"), table(), "categorical must be a list of columns, got 'rain'"),
        (MaxentFeatures(), np.array([[1.0], [np.nan]]), "NaN"),
        (MaxentFeatures(), pd.DataFrame({"a": ["x", None]}), "column 'a' has missing values, first in row 1"),
        (MaxentFeatures(), pd.DataFrame({"a": [1.0, np.nan]}), "column 'a' has missing values, first in row 1"),
        (MaxentFeatures(), pd.DataFrame({"a": [1.0, np.inf]}), "column 'a' holds inf, first in row 1"),
        (MaxentFeatures(), pd.DataFrame({"t": pd.date_range("2020", periods=3)}), "'t' holds datetime64.*day of the"),
        (MaxentFeatures(), pd.DataFrame({"a": [[1], [2]]}), "column 'a' holds list, neither numbers nor categories"),
        (MaxentFeatures("h"), np.array([[-1e308], [0.0], [1e308]]), "'x0' has values from .* beyond float64; change"),
    ],
)
def test_bad_input_is_refused(features, X, message):
    with pytest.raises(ValueError, match=message):
        features.fit(X)


def test_categories_must_keep_their_type():
    features = MaxentFeatures("l").fit(pd.DataFrame({"a": ["1", "2"], "b": [1.0, 2.0]}))
    with pytest.raises(ValueError, match=r"categorical column 'a' held \['1', '2'\] … .* give it the type"):
        features.transform(pd.DataFrame({"a": [1, 2], "b": [1.0, 2.0]}))


@pytest.mark.parametrize(
    "values",
    [
        [0.0, 0.1, 0.2, 0.3, 0.1 + 0.2],
        [0.0, 0.5, 1.0 - 2.0**-53, 1.0],
        [0.0, 5e-324, 1.0],
        [0.0, 2e-9, 1.0, 1.0 - 2e-9],
    ],
)
def test_values_that_differ_by_rounding_have_no_knot_between_them(values):
    X = np.random.default_rng(0).choice(values, 2000)[:, None]
    features = MaxentFeatures("hlt").fit(X)
    matrix, design = features.transform(X), features.design(X)
    assert np.isfinite(matrix).all()
    np.testing.assert_allclose(design.sums(np.ones(2000)), matrix.sum(axis=0), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(design.scores(np.ones(matrix.shape[1])), matrix.sum(axis=1), atol=1e-6)


def test_categories_by_the_type_of_a_data_frame():
    codes = [2, 5, 2, 9]
    text = [str(code) for code in codes]
    frames = [
        pd.DataFrame({"rain": [1.0, 2.0, 3.0, 5.0], "soil": pd.Categorical(codes)}),
        pl.DataFrame({"rain": [1.0, 2.0, 3.0, 5.0], "soil": pl.Series(text, dtype=pl.Categorical)}),
        pl.DataFrame({"rain": [1.0, 2.0, 3.0, 5.0], "soil": pl.Series(text, dtype=pl.Enum(["2", "5", "9"]))}),
        pa.table({"rain": [1.0, 2.0, 3.0, 5.0], "soil": pa.array(codes).dictionary_encode()}),
    ]
    for frame in frames:
        features = MaxentFeatures("l").fit(frame)
        assert features.categorical_.tolist() == [1]
        np.testing.assert_array_equal(features.transform(frame)[:, 1:], np.equal.outer(codes, [2, 5, 9]))


def test_objects_that_are_numbers():
    numbers = np.array([1, 2.5, True, 7], dtype=object)
    features = MaxentFeatures("l").fit(pd.DataFrame({"a": numbers, "b": ["x", 1, "y", 2]}))
    assert features.categorical_.tolist() == [1]
    assert features.categories_[0].tolist() == ["1", "2", "x", "y"]
    by_array = MaxentFeatures("l", categorical=[1]).fit(np.array([[1.0, 3], [2.0, 4]], dtype=object))
    np.testing.assert_array_equal(by_array.transform([[1.0, 3.0], [2.0, 4.0]])[:, 1:], np.eye(2))


def test_missing_text_of_pandas():
    features = MaxentFeatures("l").fit(pd.DataFrame({"soil": ["clay", "sand"]}))
    new = pd.DataFrame({"soil": pd.array(["clay", pd.NA], dtype="string")})
    with pytest.raises(ValueError, match="column 'soil' has missing values, first in row 1"):
        features.transform(new)
