"""Linear models behind scikit-learn's transformers: categories, splines, kernel features."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler

from properly.linear import GEVCanonicalRegression, GEVLogRegression, ProperLinearClassifier
from properly.links import GEV

MODELS = [ProperLinearClassifier(), GEVCanonicalRegression(-0.2), GEVLogRegression(-0.2)]
NAMES = [type(model).__name__ for model in MODELS]


class Seen(TransformerMixin, BaseEstimator):
    """Lets features through and remembers what they were."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        self.last_ = X
        return X


@pytest.fixture(scope="module")
def shops():
    rng = np.random.default_rng(0)
    n = 3000
    share = 1.0 / np.arange(1, 101)
    frame = pd.DataFrame(
        {
            "shop": rng.choice([f"shop {i}" for i in range(100)], n, p=share / share.sum()),
            "device": rng.choice(["phone", "tablet", "desktop"], n),
            "amount": rng.normal(size=n),
        }
    )
    score = -2.0 + (frame["device"] == "phone") + 0.5 * frame["amount"]
    return frame, (rng.uniform(size=n) < expit(score)).to_numpy()


def columns(sparse=True, **encoder):
    options = {"handle_unknown": "infrequent_if_exist", "min_frequency": 10} | encoder
    return make_column_transformer(
        (OneHotEncoder(sparse_output=sparse, **options), ["shop", "device"]),
        (StandardScaler(), ["amount"]),
        sparse_threshold=float(sparse),
        verbose_feature_names_out=False,
    )


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
class TestCategories:
    def test_the_model_gets_a_sparse_matrix_and_gives_the_dense_fit(self, shops, model):
        frame, y = shops
        seen = Seen()
        sparse = make_pipeline(columns(), seen, clone(model)).fit(frame, y)
        assert sp.issparse(seen.last_)
        assert seen.last_.nnz == 3 * len(frame)
        dense = make_pipeline(columns(sparse=False), seen, clone(model)).fit(frame, y)
        assert isinstance(seen.last_, np.ndarray)
        np.testing.assert_allclose(sparse[-1].coef_, dense[-1].coef_, atol=1e-6)
        np.testing.assert_allclose(sparse.predict_proba(frame), dense.predict_proba(frame), atol=1e-6)

    def test_an_unseen_level_counts_as_a_rare_one(self, shops, model):
        frame, y = shops
        fitted = make_pipeline(columns(), clone(model)).fit(frame, y)
        rare = frame["shop"].value_counts().index[-1]
        new = frame.head(3)
        expected = fitted.predict_proba(new.assign(shop=rare))
        np.testing.assert_array_equal(fitted.predict_proba(new.assign(shop="opened yesterday")), expected)

    def test_an_unseen_level_where_none_is_rare_has_no_effect(self, shops, model):
        frame, y = shops
        fitted = make_pipeline(columns(), clone(model)).fit(frame, y)
        p = fitted.predict_proba(frame.head(1).assign(device="watch"))
        shop, amount = frame["shop"].iloc[0], fitted[0].transform(frame.head(1))[0, -1]
        coef = dict(zip(fitted[0].get_feature_names_out(), fitted[-1].coef_[0], strict=True))
        score = coef[f"shop_{shop}"] + amount * coef["amount"] + fitted[-1].intercept_[0]
        np.testing.assert_allclose(p[0, 1], fitted[-1].link_.inverse(score), rtol=1e-12)

    def test_polars(self, shops, model):
        frame, y = shops
        from_pandas = make_pipeline(columns(), clone(model)).fit(frame, y)
        table = pl.DataFrame({name: frame[name].to_list() for name in frame})
        from_polars = make_pipeline(columns(), clone(model)).fit(table, y)
        np.testing.assert_allclose(from_polars[-1].coef_, from_pandas[-1].coef_, atol=1e-10)
        np.testing.assert_array_equal(from_polars.predict_proba(table), from_polars.predict_proba(frame))


def test_names_come_out(shops):
    frame, y = shops
    fitted = make_pipeline(columns(), ProperLinearClassifier()).fit(frame, y)
    names = list(fitted[:-1].get_feature_names_out())
    assert names[-1] == "amount"
    assert {"device_desktop", "device_phone", "device_tablet", "shop_infrequent_sklearn"} < set(names)
    assert len(names) == fitted[-1].coef_.shape[1]


def test_a_ridge_measures_levels_from_their_mean(shops):
    """The columns of a category add up to the intercept's, whose gradient is 0: so the coefficients add up to 0."""
    frame, y = shops
    fitted = make_pipeline(columns(), ProperLinearClassifier()).fit(frame, y)
    coef = pd.Series(fitted[-1].coef_[0], index=fitted[:-1].get_feature_names_out())
    assert abs(coef.filter(like="device_").sum()) < 1e-6
    assert coef["device_phone"] > 0.3


def test_without_penalty_a_dropped_level_changes_no_probability(shops):
    frame, y = shops
    fits = [
        make_pipeline(
            make_column_transformer((OneHotEncoder(drop=drop), ["device"]), ("passthrough", ["amount"])),
            ProperLinearClassifier(C=np.inf),
        ).fit(frame, y)
        for drop in (None, "first")
    ]
    np.testing.assert_allclose(fits[0].predict_proba(frame), fits[1].predict_proba(frame), atol=1e-7)


def draw(kind, link=None):
    rng = np.random.default_rng(1)
    X = rng.uniform(-2.0, 2.0, size=(4000, 2))
    if kind == "ring":
        score = 2.0 - 6.0 * np.abs(np.hypot(*X.T) - 1.2)
    else:
        score = 3.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 - 3.0
    p = expit(score) if link is None else link.inverse(0.5 * score)
    return X, (rng.uniform(size=len(p)) < p).astype(int), p


def error(model, X, p):
    return np.sqrt(np.mean((model.predict_proba(X)[:, 1] - p) ** 2))


FEATURES = {
    "sine": SplineTransformer(n_knots=8, knots="quantile", include_bias=False),
    "ring": make_pipeline(StandardScaler(), Nystroem(gamma=0.5, n_components=100, random_state=0)),
}


@pytest.mark.parametrize("kind", FEATURES)
@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_basis_functions_beat_the_straight_line(kind, model):
    link = None if isinstance(model, ProperLinearClassifier) else GEV(-0.2)
    X, y, p = draw(kind, link)
    train, test = slice(0, 2000), slice(2000, None)
    model = clone(model).set_params(C=10.0)
    bent = make_pipeline(clone(FEATURES[kind]), clone(model)).fit(X[train], y[train])
    straight = clone(model).fit(X[train], y[train])
    assert error(bent, X[test], p[test]) < 0.4 * error(straight, X[test], p[test])
    brier = [np.mean((one.predict_proba(X[test])[:, 1] - y[test]) ** 2) for one in (bent, straight)]
    assert brier[0] < 0.9 * brier[1]


def test_sparse_splines_give_the_same_fit():
    X, y, _ = draw("sine")
    dense, sparse = (
        make_pipeline(SplineTransformer(n_knots=8, sparse_output=sparse), ProperLinearClassifier()).fit(X, y)
        for sparse in (False, True)
    )
    np.testing.assert_allclose(sparse[-1].coef_, dense[-1].coef_, atol=1e-6)


@pytest.mark.parametrize("model", [ProperLinearClassifier(), GEVCanonicalRegression(0.1)], ids=NAMES[:2])
def test_a_grid_over_features_and_penalty(model):
    X, y, _ = draw("sine")
    pipeline = make_pipeline(SplineTransformer(include_bias=False), model)
    step = type(model).__name__.lower()
    grid = {"splinetransformer__n_knots": [2, 8], f"{step}__C": [1e-3, 1.0]}
    search = GridSearchCV(clone(pipeline), grid, scoring="neg_brier_score", cv=3, error_score="raise").fit(X, y)
    assert search.best_params_ == {"splinetransformer__n_knots": 8, f"{step}__C": 1.0}
