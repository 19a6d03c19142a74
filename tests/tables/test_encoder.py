"""Columns become numbers by what they mean, and what does not fit is told with column and row."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from properly import load, save
from properly.tables import LinearFeatures, TableEncoder, TableError
from properly.tables.encoder import UnseenCategories

TABLE = pa.table(
    {
        "number": [1.5, None, 3.0],
        "flag": [True, False, True],
        "day": pa.array(["2024-01-01", "2024-01-02", None]).cast(pa.date32()),
        "town": ["Rome", None, "Bath"],
    }
)
nan = np.nan


def test_kinds_and_values():
    encoder = TableEncoder().fit(TABLE)
    assert [column.kind for column in encoder.columns_] == ["number", "boolean", "date", "category"]
    assert [column.missing for column in encoder.columns_] == [True, False, True, True]
    assert encoder.categorical_ == [3]
    assert encoder.get_feature_names_out().tolist() == TABLE.column_names
    day = (np.datetime64("2024-01-01") - np.datetime64("1970-01-01")).astype(int)
    expected = [[1.5, 1, day, 1], [nan, 0, day + 1, nan], [3, 1, nan, 0]]
    assert_array_equal(encoder.transform(TABLE), expected)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2, 3]),
        pa.array([1, 2, 3], pa.int8()),
        pa.array([1.0, 2.0, 3.0], pa.float32()),
        pa.array(["1", " 2", "3.0"]),
        pa.array([1, 2, 3]).dictionary_encode(),
        pa.array(["1", "2", "3"]).dictionary_encode(),
        pa.array([1, 2, 3]).cast(pa.decimal128(21, 2)),
        pa.chunked_array([[1.0], [2.0, 3.0]]),
    ],
    ids=lambda column: str(column.type),
)
def test_numbers_are_numbers_in_any_type(column):
    encoder = TableEncoder().fit({"a": [5.0, 6.5]})
    assert_array_equal(encoder.transform(pa.table({"a": column})), [[1], [2], [3]])


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["b", "a", None]),
        pa.array(["b", "a", None], pa.large_string()),
        pa.array(["b", "a", None], pa.string_view()),
        pa.array(["b", "a", None]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_categories_are_categories_in_any_type(column):
    for encoder in (TableEncoder().fit({"a": ["a", "b", None]}), TableEncoder().fit(pa.table({"a": column}))):
        assert_array_equal(encoder.transform(pa.table({"a": column})), [[1], [0], [nan]])


@pytest.mark.parametrize("values", [[3, 1], [3.0, 1.0], ["3", "1"]])
def test_categories_that_look_like_numbers(values):
    encoder = TableEncoder(["a"]).fit({"a": [1, 3]})
    assert_array_equal(encoder.transform({"a": values}), [[1], [0]])


@pytest.mark.parametrize("values", [[True, False], ["TRUE", "false"], [1, 0], [1.0, 0.0]])
def test_truth_values_in_any_type(values):
    assert_array_equal(TableEncoder().fit({"a": [True, False]}).transform({"a": values}), [[1], [0]])


def test_dates_in_any_type():
    encoder = TableEncoder().fit({"a": pa.array([0], pa.date32())})
    for values in (["1970-01-03T12:00:00"], pa.array([216_000], pa.timestamp("s")), ["1970-01-03T13:00:00+01:00"]):
        assert_array_equal(encoder.transform({"a": values}), [[2.5]])


def test_order_and_further_columns_do_not_matter():
    encoder = TableEncoder().fit(TABLE)
    other = TABLE.select(TABLE.column_names[::-1]).append_column("more", [["x", "y", "z"]])
    assert_array_equal(encoder.transform(other), encoder.transform(TABLE))


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("number", ["1", "2", "many"], "f.csv, column 'number', row 13: a number is needed, got 'many'"),
        ("number", [1.0, np.inf, 2.0], "f.csv, column 'number', row 12: the number must be finite"),
        ("number", [[1], [2], [3]], "column 'number', row 11: numbers are needed, the column holds list"),
        ("flag", ["true", "maybe", None], "column 'flag', row 12: true or false is needed, got 'maybe'"),
        ("flag", [0, 1, 2], "column 'flag', row 13: true or false is needed, got 2"),
        ("day", ["2024-01-01", "soon", None], "column 'day', row 12: a date such as 2024-05-31 is needed, got 'soon'"),
        ("day", [1, 2, 3], "column 'day', row 11: dates are needed, the column holds int64"),
        (
            "town",
            ["Rome", "Paris", "Bath"],
            "row 12: the category 'Paris' did not occur in training, only 'Bath', 'R",
        ),
        ("town", [1, 2, 3], "column 'town', row 11: the category '1' did not occur in training"),
        ("town", [b"Rome", b"Bath", b""], "categories are needed, the column holds binary"),
    ],
)
def test_wrong_values(name, values, message):
    encoder = TableEncoder().fit(TABLE)
    table = TABLE.set_column(TABLE.column_names.index(name), name, pa.array(values))
    with pytest.raises(TableError, match=message):
        encoder.transform(table, source="f.csv", first_row=10, unseen="refuse")


def test_missing_columns():
    with pytest.raises(TableError, match="new has no column 'town'; it has 'number', 'flag', 'day'"):
        TableEncoder().fit(TABLE).transform(TABLE.drop_columns("town"), source="new")


def test_unseen_categories_count_as_missing():
    encoder = TableEncoder().fit({"a": ["x", "y"]})
    message = "new.csv, column 'a': 2 rows have a category that did not occur in training, first 'z'"
    with pytest.warns(UnseenCategories, match=message) as caught:
        assert_array_equal(encoder.transform({"a": ["y", "z", "w"]}, source="new.csv"), [[1], [nan], [nan]])
    assert caught[0].message.n_rows == 2
    with pytest.raises(ValueError, match="unseen must be one of 'missing', 'refuse'"):
        encoder.transform({"a": ["y"]}, unseen="ignore")


def test_texts_in_a_column_of_numbers():
    values = [str(k) for k in range(100)]
    values[41] = "forty-one"
    with pytest.raises(TableError, match=r"column 'a', row 42: 'forty-one' is no number, but 99\.0% of the column are"):
        TableEncoder().fit({"a": values})
    assert TableEncoder(["a"]).fit({"a": values}).columns_[0].kind == "category"


def test_most_frequent_categories_are_kept():
    values = ["a"] * 3 + ["b"] * 2 + ["c", "d", None]
    encoder = TableEncoder(max_categories=2).fit({"a": values})
    assert encoder.columns_[0].categories == ("a", "b")
    assert_array_equal(encoder.transform({"a": ["a", "b", "c", "new", None]}), [[0], [1], [2], [2], [nan]])


def test_names_of_rows_are_left_out():
    names = [f"row {k}" for k in range(300)]
    encoder = TableEncoder().fit({"id": names, "a": range(300), "empty": [None] * 300, "nan": [nan] * 300})
    assert encoder.get_feature_names_out().tolist() == ["a"]
    assert encoder.left_out_ == {
        "id": "300 different texts in 300 rows",
        "empty": "all its values are missing",
        "nan": "all its values are missing",
    }
    with pytest.raises(TableError, match="no column to learn from"):
        TableEncoder().fit({"id": names})


def test_missing_values_where_there_were_none():
    encoder = TableEncoder().fit({"a": [1.0, 3.0]})
    with pytest.warns(UserWarning, match="first in row 2, but had none in training; they are replaced by its mean, 2"):
        found = encoder.transform({"a": [1.0, None]})
    assert_array_equal(found, [[1], [2]])


def test_missing_values_may_be_refused():
    for values in ([1.0, None], ["x", None], [None, None], [1.0, nan]):
        with pytest.raises(TableError, match=r"row [12]: the value is missing; fill it in"):
            TableEncoder(missing="refuse").fit({"a": values})
    encoder = TableEncoder(missing="refuse").fit({"a": [1.0, 2.0]})
    with pytest.raises(TableError, match="row 1: the value is missing"):
        encoder.transform({"a": [None, 1.0]})
    with pytest.raises(ValueError, match="missing must be one of 'allow', 'refuse'"):
        TableEncoder(missing="maybe").fit(TABLE)


def test_useless_tables():
    with pytest.raises(TableError, match=r"f\.csv has no rows"):
        TableEncoder().fit(TABLE.slice(0, 0), source="f.csv")
    with pytest.raises(TableError, match=r"column 'a' holds list<.*>, which no model takes"):
        TableEncoder().fit({"a": [[1], [2]]})
    with pytest.raises(TableError, match="has no column 'z'"):
        TableEncoder(["z"]).fit(TABLE)
    assert TableEncoder().fit(TABLE).transform(TABLE.slice(0, 0)).shape == (0, 4)


def test_linear_features_against_the_formula():
    random = np.random.default_rng(0)
    X = np.column_stack([random.normal(5, 3, 200), random.normal(size=200), random.integers(0, 3, 200)])
    X[::7, 1] = nan
    X[3, 2] = nan
    features = LinearFeatures([2]).fit(X)
    found = features.transform(X)
    assert_allclose(found[:, 0], (X[:, 0] - X[:, 0].mean()) / X[:, 0].std())
    known = ~np.isnan(X[:, 1])
    assert_allclose(found[known, 1], (X[known, 1] - X[known, 1].mean()) / X[known, 1].std())
    assert_array_equal(found[~known, 1], 0.0)
    assert_array_equal(found[:, 2], ~known)
    levels = features.levels_[0]
    assert sorted(levels[~np.isnan(levels)]) == [0, 1, 2]
    for k, level in enumerate(levels):
        assert_array_equal(found[:, 3 + k], np.isnan(X[:, 2]) if np.isnan(level) else X[:, 2] == level)
    assert found.shape[1] == 7
    unseen = features.transform([[0.0, 0.0, 9.0]])
    assert_array_equal(unseen[0, 3:], 0.0)


def test_rare_levels_share_an_indicator():
    codes = np.repeat([0.0, 1.0, 2.0, 3.0, nan], [5, 4, 2, 1, 1])[:, None]
    features = LinearFeatures([0], max_levels=2).fit(codes)
    expected = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert_array_equal(features.transform([[0.0], [1.0], [2.0], [3.0], [nan], [7.0]]), expected)


def test_weights_of_linear_features_are_repetitions():
    random = np.random.default_rng(1)
    X = np.column_stack([random.normal(size=50), random.integers(0, 8, 50)])
    X[4, 0] = nan
    weight = random.integers(0, 3, 50)
    once = LinearFeatures([1], max_levels=3).fit(X, sample_weight=weight)
    twice = LinearFeatures([1], max_levels=3).fit(np.repeat(X, weight, axis=0))
    assert_allclose(once.transform(X), twice.transform(X), atol=1e-12)


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e160, 1e300])
def test_the_unit_does_not_matter(unit):
    X = np.random.default_rng(0).normal(3.0, 2.0, size=(40, 1))
    assert_allclose(LinearFeatures().fit_transform(unit * X), LinearFeatures().fit_transform(X), rtol=1e-12)


def test_a_constant_column_stays_small():
    X = np.full((10, 1), 0.1 + 0.2)
    assert np.abs(LinearFeatures().fit(X).transform(X)).max() < 1e-12


def test_many_columns_and_categories_are_one_object_of_a_model_file(tmp_path):
    """Otherwise such a file would hold more objects than may be loaded."""
    texts = [f"level {k}" for k in range(150)]
    columns = {f"x{j}": np.arange(150.0) for j in range(2500)} | {f"c{j}": texts for j in range(200)}
    encoder = TableEncoder().fit(columns)
    save(encoder, tmp_path / "encoder.skops")
    assert load(tmp_path / "encoder.skops").columns_ == encoder.columns_
    assert pickle.loads(pickle.dumps(encoder)).columns_ == encoder.columns_
    assert not hasattr(pickle.loads(pickle.dumps(TableEncoder())), "columns_")


def test_columns_of_older_model_files():
    encoder = TableEncoder().fit({"x": [1.0, 2.0], "c": ["a", "b"]})
    older = TableEncoder()
    older.__setstate__({"categories": (), "max_categories": 200, "missing": "allow", "columns_": encoder.columns_})
    assert older.columns_ == encoder.columns_
