"""Folds by a hash of a key: the same for every order of the rows, and wherever they are."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.model_selection import cross_val_score

from properly import load, save
from properly.engines import KeyedFolds, Stream
from properly.linear import GEVCanonicalRegressionCV, ProperLinearClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
Y = (X[:, 0] + RNG.logistic(size=600) > 0.5).astype(int)
KEYS = {
    "numbers": RNG.integers(0, 90, 600),
    "fractions": RNG.integers(0, 90, 600) / 7.0,
    "texts": np.array([f"customer {i}" for i in RNG.integers(0, 90, 600)]),
    "objects": np.array([f"k{i}" for i in RNG.integers(0, 90, 600)], dtype=object),
    "days": np.datetime64("2024-01-01") + RNG.integers(0, 90, 600).astype("timedelta64[D]"),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_rows_of_a_key_stay_together_whatever_the_order_and_the_parts(key):
    fold = KeyedFolds(4).of_rows(X, key)
    assert pd.Series(fold).groupby(key).nunique().max() == 1
    assert np.all(np.bincount(fold, minlength=4) > 60)
    order = RNG.permutation(600)
    np.testing.assert_array_equal(KeyedFolds(4).of_rows(X, key[order]), fold[order])
    in_parts = [KeyedFolds(4).of_rows(X, np.asarray(part)) for part in np.split(key, [1, 250])]
    np.testing.assert_array_equal(np.concatenate(in_parts), fold)


def test_the_hash_does_not_change():
    assert KeyedFolds(10).of_rows(None, np.arange(8)).tolist() == KeyedFolds(10).of_rows(None, np.arange(8.0)).tolist()
    assert KeyedFolds(10).of_rows(None, np.arange(8)).tolist() == [0, 1, 0, 3, 0, 4, 5, 8]
    assert KeyedFolds(10).of_rows(None, np.array(["a", "b", "", "longer", "\u00e9"])).tolist() == [8, 7, 0, 4, 1]


@pytest.mark.parametrize(
    "key",
    [
        [True, None, False, True, False, None],
        [None, "ann", "bob", np.nan, "ann", "bob"],
        [True, 7, "ann", None, 7.0, "ann"],
        [np.nan, 3.0, None, 3, 4, pd.NA],
    ],
)
def test_objects_count_for_themselves_whatever_the_part(key):
    key = np.array(key, dtype=object)
    folds = KeyedFolds(1000)
    fold = folds.of_rows(None, key)
    for order in (np.arange(6), np.arange(6)[::-1], np.array([1, 0, 2, 4, 3, 5])):
        in_parts = [folds.of_rows(None, key[rows]) for rows in np.split(order, [1, 3, 3])]
        np.testing.assert_array_equal(np.concatenate(in_parts), fold[order])
    lost = pd.isna(key)
    assert len(set(fold[lost])) == 1
    assert set(fold[lost]) == set(folds.of_rows(None, np.array([np.nan, -np.nan])))
    for value in set(key[~lost]):
        np.testing.assert_array_equal(
            folds.of_rows(None, np.array([value])), set(fold[~lost][key[~lost] == value]).pop()
        )


def test_no_rows():
    for nothing in (np.empty(0, dtype=object), np.empty(0), np.empty(0, dtype="U3"), np.empty((0, 3))):
        assert KeyedFolds(3).of_rows(nothing, nothing).shape == (0,)


def test_without_keys_the_features_are_the_key():
    fold = KeyedFolds(3).of_rows(X, None)
    np.testing.assert_array_equal(KeyedFolds(3).of_rows(sp.csr_array(X), None), fold)
    np.testing.assert_array_equal(KeyedFolds(3).of_rows(np.where(X == 0, -0.0, X), None), fold)
    assert np.all(np.bincount(fold) > 150)


def test_given_folds():
    given = RNG.integers(0, 3, 600)
    pairs = list(KeyedFolds(3, hashed=False).split(X, Y, given))
    for number, (train, held_out) in enumerate(pairs):
        np.testing.assert_array_equal(held_out, np.flatnonzero(given == number))
        np.testing.assert_array_equal(np.sort(np.concatenate([train, held_out])), np.arange(600))
    with pytest.raises(ValueError, match="a whole number from 0 to 1, got 2"):
        KeyedFolds(2, hashed=False).of_rows(X, given)
    with pytest.raises(ValueError, match="from 0 to 2, got keys that are no numbers; set n_splits"):
        KeyedFolds(3, hashed=False).of_rows(X, np.array(["ann", "bob"]))
    with pytest.raises(ValueError, match="needs the fold of every row"):
        KeyedFolds(2, hashed=False).of_rows(X, None)
    with pytest.raises(ValueError, match="n_splits"):
        KeyedFolds(1)


def test_a_splitter_of_scikit_learn():
    scores = cross_val_score(ProperLinearClassifier(), X, Y, groups=KEYS["texts"], cv=KeyedFolds(3))
    assert scores.shape == (3,)


@pytest.mark.parametrize("key", ["texts", "given"])
def test_a_stream_with_keys_is_memory_with_keys(key, tmp_path):
    folds = KeyedFolds(3, hashed=key == "texts")
    keys = KEYS["texts"] if folds.hashed else RNG.integers(0, 3, 600)
    options = {"xis": [0.0, 0.3], "Cs": [0.1, 1.0], "tol": 1e-11}
    whole = GEVCanonicalRegressionCV(cv=list(folds.split(X, Y, keys)), **options).fit(X, Y)
    pd.DataFrame(X, columns=list("abc")).assign(y=Y, key=keys).to_parquet(tmp_path / "0.parquet", row_group_size=100)
    stream = Stream(tmp_path, target="y", group="key")
    model = GEVCanonicalRegressionCV(cv=folds, **options).fit(stream)
    np.testing.assert_allclose(model.cv_results_["loss"], whole.cv_results_["loss"], rtol=1e-6)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-8)
    blocks = Stream([(X[:300], Y[:300], None, None, keys[:300]), (X[300:], Y[300:], None, None, keys[300:])])
    np.testing.assert_allclose(GEVCanonicalRegressionCV(cv=folds, **options).fit(blocks).coef_, whole.coef_, atol=1e-8)


def test_too_few_keys():
    with pytest.raises(ValueError, match=r"fold \d must have training rows of both classes"):
        GEVCanonicalRegressionCV(cv=5).fit(Stream([(X, Y, None, None, np.zeros(600))]))


def test_equal_keys_of_other_types_have_the_same_fold():
    numbers, days = KEYS["numbers"], KEYS["days"]
    fold = KeyedFolds(4).of_rows(X, numbers)
    for same in (numbers.astype(object), numbers.astype(np.int8), numbers.astype(float)):
        np.testing.assert_array_equal(KeyedFolds(4).of_rows(X, same), fold)
    fold = KeyedFolds(4).of_rows(X, days)
    for unit in ("s", "us", "ns"):
        np.testing.assert_array_equal(KeyedFolds(4).of_rows(X, days.astype(f"M8[{unit}]")), fold)
    thin = np.where(RNG.random(X.shape) < 0.5, X, 0.0)
    np.testing.assert_array_equal(KeyedFolds(4).of_rows(sp.csr_array(thin), None), KeyedFolds(4).of_rows(thin, None))


def test_models_with_such_folds_can_be_saved(tmp_path):
    """Without a warning, which would be an error here."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    model = GEVCanonicalRegressionCV([0.0, 0.3], [1.0], cv=KeyedFolds(3)).fit(Stream([(X, y)]))
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert again.cv == KeyedFolds(3)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_decimals_and_dates_are_keys_as_numbers_and_times_are():
    whole = np.arange(50)
    days = np.datetime64("2026-01-01") + whole
    objects = {
        "decimals": ([Decimal(f"{k}.00") for k in whole], whole),
        "dates": (days.astype(object), days),
        "times": (days.astype("datetime64[us]").astype(object), days),
    }
    for name, (keys, same) in objects.items():
        given = np.array(keys, dtype=object)
        np.testing.assert_array_equal(KeyedFolds(7).of_rows(None, given), KeyedFolds(7).of_rows(None, same), name)
        mixed = np.concatenate([given, np.array(["a text", None], dtype=object)])
        np.testing.assert_array_equal(KeyedFolds(7).of_rows(None, mixed)[:50], KeyedFolds(7).of_rows(None, same), name)
