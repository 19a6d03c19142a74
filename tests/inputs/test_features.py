"""Tables with categories: the same rule for every model that splits by them, whatever library the table is of."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator

from properly.boosting import ProperBoostingClassifier
from properly.inputs.features import seen_categories, training_table
from properly.maxent import MaxentFeatures
from properly.tree import ProperTreeClassifier


def tree(**options):
    return ProperTreeClassifier(**options)


def booster(**options):
    quick = {"n_estimators": 10, "learning_rate": 0.2, "early_stopping": False, "random_state": 0, "n_jobs": 1}
    return ProperBoostingClassifier(**quick, **options)


BOTH = pytest.mark.parametrize("model", [tree, booster])
TOWNS = ["Bonn", "Graz", "Kiel", "Oslo", "Rome"]


def frame(n=600, seed=0):
    """Towns that matter, not in their order, and a number that matters a little."""
    rng = np.random.default_rng(seed)
    town, x = rng.integers(0, 5, n), rng.normal(size=n)
    p = np.array([0.8, 0.2, 0.7, 0.3, 0.9])[town]
    y = (rng.random(n) < p + 0.1 * (x > 0.0)).astype(int)
    return pd.DataFrame({"town": np.array(TOWNS, dtype=object)[town], "x": x}), y


KINDS = {
    "names": lambda X: (X, ["town"]),
    "positions": lambda X: (X, [0]),
    "numpy's positions": lambda X: (X, np.array([0])),
    "mask": lambda X: (X, [True, False]),
    "numpy's mask": lambda X: (X, np.array([True, False])),
    "pandas categories": lambda X: (X.astype({"town": "category"}), None),
    "unused categories": lambda X: (X.assign(town=pd.Categorical(X["town"], ["Ulm", *TOWNS[::-1], "Brno"])), None),
    "pandas strings": lambda X: (X.astype({"town": "string"}), ["town"]),
    "polars names": lambda X: (pl.from_pandas(X), ["town"]),
    "polars categories": lambda X: (pl.from_pandas(X).with_columns(pl.col("town").cast(pl.Categorical)), None),
    "polars enums": lambda X: (pl.from_pandas(X).with_columns(pl.col("town").cast(pl.Enum(["Ulm", *TOWNS]))), None),
    "arrow names": lambda X: (pa.table(dict(X)), ["town"]),
    "arrow dictionaries": lambda X: (pa.table({"town": pa.array(X["town"]).dictionary_encode(), "x": X["x"]}), None),
    "array": lambda X: (X.to_numpy(), [0]),
    "array of text": lambda X: (X.to_numpy().astype(str), [0]),
    "lists": lambda X: (X.to_numpy().tolist(), [0]),
    "numbers": lambda X: (X.assign(town=X["town"].map(TOWNS.index)), [0]),
    "numbers as categories": lambda X: (X.assign(town=X["town"].map(TOWNS.index).astype("category")), None),
    "fractions": lambda X: (X.assign(town=X["town"].map(TOWNS.index) / 4.0).to_numpy(), [0]),
}


@BOTH
@pytest.mark.parametrize("kind", KINDS)
def test_every_way_to_say_it_is_the_same(model, kind):
    X, y = frame()
    table, given = KINDS[kind](X)
    fitted = model(categorical_features=given).fit(table, y)
    expected = model(categorical_features=["town"]).fit(X, y)
    np.testing.assert_array_equal(fitted.predict_proba(table), expected.predict_proba(X))
    assert expected.categories_[0].tolist() == TOWNS
    assert len(fitted.categories_[0]) == 5
    assert expected.score(X, y) > 0.7
    if not isinstance(table, list | np.ndarray):
        assert fitted.feature_names_in_.tolist() == ["town", "x"]


@BOTH
def test_what_was_not_seen_is_missing(model):
    X, y = frame()
    X.loc[::10, "town"] = None
    fitted = model(categorical_features=["town"]).fit(X, y)
    missing = fitted.predict_proba(pd.DataFrame({"town": [None], "x": [0.0]}))
    for value in (None, np.nan, pd.NA, "Ulm", 3, 2.5, True, ("Rome",)):
        new = pd.DataFrame({"town": pd.Series([value, "Rome"], dtype=object), "x": [0.0, 0.0]})
        p = fitted.predict_proba(new)
        np.testing.assert_array_equal(p[:1], missing)
        np.testing.assert_array_equal(p[1:], fitted.predict_proba(pd.DataFrame({"town": ["Rome"], "x": [0.0]})))
    of_numbers = model(categorical_features=[0]).fit(X.assign(town=X["town"].map(TOWNS.index, na_action="ignore")), y)
    for value in (None, np.nan, 7, 0.5, "0"):
        new = pd.DataFrame({"town": pd.Series([value, 4], dtype=object), "x": [0.0, 0.0]})
        np.testing.assert_array_equal(of_numbers.predict_proba(new)[:1], missing)


@BOTH
def test_rows_of_weight_zero_bring_no_categories(model):
    X, y = frame()
    weight = (X["town"] != "Graz").astype(float).to_numpy()
    fitted = model(categorical_features=["town"]).fit(X, y, weight)
    without = model(categorical_features=["town"]).fit(X[weight > 0.0], y[weight > 0.0])
    np.testing.assert_array_equal(fitted.predict_proba(X), without.predict_proba(X))
    assert fitted.categories_[0].tolist() == [town for town in TOWNS if town != "Graz"]


def test_codes_are_numbered_anew():
    X = np.array([[3.0, 1.0], [0.0, 1.0], [np.nan, 1.0]])
    seen, categories = seen_categories(X, {0: np.array([10, 20, 30, 40]), 1: np.array(["a", "b"])})
    np.testing.assert_array_equal(seen, [[1.0, 0.0], [0.0, 0.0], [np.nan, 0.0]])
    assert {column: known.tolist() for column, known in categories.items()} == {0: [10, 40], 1: ["b"]}
    assert X[0, 0] == 3.0


TEXT = "holds text, such as '.*'; turn it into numbers, or name it in categorical_features"


@BOTH
def test_text_and_times_must_be_declared(model):
    X, y = frame(50)
    for table in (X, pa.table(dict(X)), X.astype({"town": "string"})):
        with pytest.raises(ValueError, match=f"column 'town' {TEXT}"):
            model().fit(table, y)
    with pytest.raises(ValueError, match=f"column 0 {TEXT}"):
        model().fit(X.to_numpy(), y)
    for table, name in ((pl.from_pandas(X), "'town'"), (X.to_numpy().astype(str), "0"), (X.to_numpy().tolist(), "0")):
        with pytest.raises(ValueError, match=rf"column {name} (holds text|does not hold numbers).*categorical_feat"):
            model().fit(table, y)
    days = pd.date_range("2020-01-01", periods=50)
    for table in (pd.DataFrame({"day": days}), pl.DataFrame({"day": days.to_numpy()}), days.to_numpy()[:, None]):
        with pytest.raises(ValueError, match=r"column ('day'|0) holds datetime64, neither .* days since a date"):
            model().fit(table, y)
    fitted = model().fit(X[["x"]], y)
    with pytest.raises(ValueError, match=f"column 'x' {TEXT}"):
        fitted.predict(X[["x"]].assign(x="much"))


@BOTH
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "must be a list of columns, got 5; give positions, names or a mask"),
        ("town", "must be a list of columns, got 'town'; give positions, names or a mask"),
        ([2], r"names 2, which is no column of X: \['town', 'x'\]"),
        ([-1], "names -1, which is no column"),
        (["city"], "names 'city', which is no column"),
        ([1.5], "names 1.5, which is no column"),
        ([True], "as a mask must have 2 entries, all bool"),
        ([True, "x"], "as a mask must have 2 entries, all bool"),
        ([], "column 'town' holds text"),
    ],
)
def test_columns_that_are_none_are_named(model, given, message):
    X, y = frame(50)
    with pytest.raises(ValueError, match=message):
        model(categorical_features=given).fit(X, y)


@BOTH
def test_values_that_are_no_categories_are_refused(model):
    y = np.arange(40) % 2
    mixed = pd.DataFrame({"what": pd.Series(["a", 1] * 20, dtype=object)})
    with pytest.raises(ValueError, match=r"categorical column 'what' mixes types.*all its values into text"):
        model(categorical_features=["what"]).fit(mixed, y)
    lists = pd.DataFrame({"what": pd.Series([["a"], ["b"]] * 20, dtype=object)})
    with pytest.raises(ValueError, match="categorical column 'what'"):
        model(categorical_features=["what"]).fit(lists, y)


@BOTH
def test_tables_without_categories_are_read_as_numbers(model):
    X, y = frame()
    x = X[["x"]]
    expected = model().fit(x, y).predict_proba(x)
    for table in (x.astype(object), pl.from_pandas(x), pa.table(dict(x)), x.to_numpy().tolist(), x.astype("Float64")):
        np.testing.assert_array_equal(model().fit(table, y).predict_proba(table), expected)
    holes = x.mask(x > 1.0)
    expected = model().fit(holes, y).predict_proba(holes)
    for table in (holes.astype("Float64"), holes.astype(object).where(holes.notna(), None)):
        np.testing.assert_array_equal(model().fit(table, y).predict_proba(table), expected)


def test_only_dense_tables_have_categories():
    with pytest.raises(ValueError, match="need dense X"):
        booster(categorical_features=[0]).fit(sparse.eye_array(10).tocsr(), np.arange(10) % 2)


def test_maxent_features_take_the_same_lists_of_columns():
    X, _ = frame(50)
    numbers = X.assign(town=X["town"].map(TOWNS.index)).to_numpy()
    expected = MaxentFeatures("l", categorical=[0]).fit(numbers)
    by_mask = MaxentFeatures("l", categorical=[True, False]).fit(numbers)
    assert by_mask.categorical_.tolist() == expected.categorical_.tolist() == [0]
    np.testing.assert_array_equal(by_mask.transform(numbers), expected.transform(numbers))
    with pytest.raises(ValueError, match="categorical as a mask must have 2 entries, all bool"):
        MaxentFeatures("l", categorical=[True]).fit(numbers)
    with pytest.raises(ValueError, match="categorical need dense X"):
        MaxentFeatures("l", categorical=[0]).fit(sparse.eye_array(10).tocsr())


@pytest.mark.parametrize("model", [tree, booster, lambda: MaxentFeatures("l", categorical=[1])])
def test_errors_have_the_same_words_everywhere(model):
    y = np.arange(40) % 2
    days = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=40), "b": "x"})
    with pytest.raises(ValueError, match="column 'day' holds datetime64, neither numbers nor categories; turn it into"):
        model().fit(days, y)
    text = np.array([["much", 1], ["little", 2]] * 20, dtype=object)
    with pytest.raises(ValueError, match=r"column 0 (holds text|does not hold numbers).*'much'.*or name it in categor"):
        model().fit(text, y)


def test_codes_are_not_copied():
    """The table may be large; other numbers than 0, 1, 2, ... have to be replaced."""
    X = np.array([[0.5, 0.0], [1.5, 2.0], [2.5, np.nan], [3.5, 1.0]])
    found, _, categories = training_table(
        BaseEstimator(), X, [0, 1, 0, 1], [1], dtype=np.float64, ensure_all_finite="allow-nan"
    )
    assert np.shares_memory(found, X)
    assert_array_equal(categories[1], [0.0, 1.0, 2.0])
    other = X + np.array([0.0, 3.0])
    found, _, _ = training_table(
        BaseEstimator(), other, [0, 1, 0, 1], [1], dtype=np.float64, ensure_all_finite="allow-nan"
    )
    assert_array_equal(found, X)
