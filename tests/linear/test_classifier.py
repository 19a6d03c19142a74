"""The linear classifier against scikit-learn, statsmodels and its own definition."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from properly.engines import Stream
from properly.linear import ProperLinearClassifier
from properly.links import GEV, LINKS, Cauchit, Cloglog, Link, Logit, Probit
from properly.losses import BetaLoss, Composite, CostWeightedLoss, GEVLoss, SquaredLoss, canonical_loss, get_loss


def draw(n=800, k=5, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, k))
    scores = X @ rng.normal(size=(k, classes)) + rng.gumbel(size=(n, classes)) + np.linspace(1.5, 0, classes)
    return X, scores.argmax(axis=1), rng.integers(0, 4, n).astype(float)


X, Y, WEIGHT = draw()
X3, Y3, WEIGHT3 = draw(classes=3, seed=1)


def logistic(**options):
    return LogisticRegression(tol=1e-12, max_iter=100_000, **options)


def assert_same(ours, theirs, tolerance=1e-6):
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=tolerance, rtol=0)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=tolerance, rtol=0)


class TestAgainstScikitLearn:
    @pytest.mark.parametrize("convert", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_matrix, sp.csr_matrix])
    @pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
    def test_containers_and_strengths(self, convert, C):
        assert_same(ProperLinearClassifier(C=C).fit(convert(X), Y), logistic(C=C).fit(X, Y))

    @pytest.mark.parametrize("options", [{"fit_intercept": False}, {"class_weight": {0: 1.0, 1: 5.0}}])
    def test_options(self, options):
        assert_same(ProperLinearClassifier(**options).fit(X, Y), logistic(**options).fit(X, Y))

    def test_balanced_class_weight(self):
        ours = ProperLinearClassifier(class_weight="balanced").fit(X, Y)
        assert_same(ours, logistic(class_weight="balanced").fit(X, Y))

    def test_no_penalty(self):
        assert_same(ProperLinearClassifier(C=np.inf).fit(X, Y), logistic(C=np.inf).fit(X, Y))

    def test_sample_weight(self):
        assert_same(ProperLinearClassifier().fit(X, Y, WEIGHT), logistic().fit(X, Y, WEIGHT))

    @pytest.mark.parametrize("l1_ratio", [0.3, 1.0])
    @pytest.mark.parametrize("C", [0.03, 1.0])
    def test_elastic_net(self, l1_ratio, C):
        theirs = logistic(solver="saga", l1_ratio=l1_ratio, C=C, random_state=0).fit(X, Y)
        ours = ProperLinearClassifier(l1_ratio=l1_ratio, C=C).fit(X, Y)
        assert_same(ours, theirs)
        np.testing.assert_array_equal(ours.coef_ == 0.0, theirs.coef_ == 0.0)

    def test_multi_class_without_penalty(self):
        assert_same(ProperLinearClassifier(C=np.inf).fit(X3, Y3), logistic(C=np.inf).fit(X3, Y3), 1e-5)

    @pytest.mark.parametrize("weight", [None, WEIGHT3])
    def test_multi_class(self, weight):
        assert_same(ProperLinearClassifier().fit(X3, Y3, weight), logistic().fit(X3, Y3, weight))

    def test_multi_class_sparse_and_lasso(self):
        theirs = logistic(solver="saga", l1_ratio=1.0, C=0.05, random_state=0).fit(X3, Y3)
        assert_same(ProperLinearClassifier(l1_ratio=1.0, C=0.05).fit(sp.csr_array(X3), Y3), theirs)

    def test_float32_is_solved_in_float64(self):
        single = X.astype(np.float32)
        assert_same(ProperLinearClassifier().fit(single, Y), logistic().fit(single.astype(float), Y))

    def test_default_tolerance_gives_five_decimals_on_awkward_scales(self):
        awkward = X * np.array([1e-4, 1.0, 1e3, 5.0, 1.0]) + np.array([0.0, 10.0, 0.0, -300.0, 0.0])
        scaler = StandardScaler().fit(awkward)
        ours = ProperLinearClassifier(C=np.inf).fit(awkward, Y)
        scaled = logistic(C=np.inf).fit(scaler.transform(awkward), Y)
        np.testing.assert_allclose(ours.coef_ * scaler.scale_, scaled.coef_, atol=1e-5)


@pytest.fixture(scope="module")
def text():
    rng = np.random.default_rng(0)
    X = sp.random(600, 6000, density=0.01, format="csr", random_state=0)
    return X, (rng.random(600) < expit(X @ (rng.normal(size=6000) * 3))).astype(int)


class TestManyFeatures:
    """Above a thousand coefficients conjugate gradients take over, and the lasso works on a part of the features."""

    def test_ridge(self, text):
        ours = ProperLinearClassifier().fit(*text)
        assert_same(ours, logistic(solver="newton-cg").fit(*text), 1e-6)

    def test_lasso(self, text):
        X, y = text
        ours = ProperLinearClassifier(l1_ratio=1.0, C=3.0).fit(X, y)
        residual = ours.predict_proba(X)[:, 1] - y
        gradient, coef = 3.0 * (X.T @ residual), ours.coef_[0]
        used = coef != 0.0
        assert 0 < used.sum() < 500
        np.testing.assert_allclose(gradient[used], -np.sign(coef[used]), atol=1e-5)
        assert np.abs(gradient[~used]).max() <= 1.0 + 1e-5

    def test_softmax_by_conjugate_gradients(self):
        X, y, _ = draw(400, 60, seed=3, classes=5)
        assert_same(ProperLinearClassifier().fit(X, y), logistic().fit(X, y))


@pytest.mark.parametrize(
    ("link", "theirs"),
    [
        ("probit", sm.families.links.Probit()),
        ("cloglog", sm.families.links.CLogLog()),
        ("loglog", sm.families.links.LogLog()),
        ("cauchit", sm.families.links.Cauchy()),
    ],
)
def test_links_agree_with_statsmodels(link, theirs):
    design = sm.add_constant(X)
    reference = sm.GLM(Y, design, family=sm.families.Binomial(theirs), freq_weights=WEIGHT + 1).fit(tol=1e-14)
    ours = ProperLinearClassifier(link=link, C=np.inf).fit(X, Y, WEIGHT + 1)
    np.testing.assert_allclose(np.append(ours.intercept_, ours.coef_), reference.params, atol=1e-6)


COMPOSITES = [
    ("squared", None),
    ("squared", "logit"),
    ("boosting", "logit"),
    ("boosting", None),
    (BetaLoss(2, 5), None),
    (BetaLoss(0.3, 0.7), "probit"),
    (GEVLoss(0.4), None),
    (GEVLoss(-1.2), None),
    (GEVLoss(1.5), None),
    (GEVLoss(0.2), "logit"),
    ("log", GEV(-0.3)),
    ("log", GEV(0.2)),
    (BetaLoss.tailored(0.3, 20), "logit"),
    (canonical_loss(Probit()), None),
    (canonical_loss(Cloglog()), "logit"),
]


@pytest.mark.parametrize(("loss", "link"), COMPOSITES, ids=str)
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_the_stated_objective_is_minimised(loss, link, l1_ratio):
    """Its gradient vanishes (elastic net: lies within the penalty), and no other optimiser finds a better point."""
    C, X, Y, WEIGHT = 0.5, *draw(150, 2, seed=2)
    model = ProperLinearClassifier(loss, link, C=C, l1_ratio=l1_ratio).fit(X, Y, WEIGHT)
    composite = Composite(get_loss(loss), link if isinstance(link, Link) else model.link_)
    scores = X @ model.coef_[0] + model.intercept_[0]
    rows = C * WEIGHT * composite.gradient(Y, scores)
    smooth = X.T @ rows + (1.0 - l1_ratio) * model.coef_[0]
    used = model.coef_[0] != 0.0
    limit = 1e-5 * np.abs(rows).sum()
    assert abs(rows.sum()) < limit
    np.testing.assert_allclose(smooth[used], -l1_ratio * np.sign(model.coef_[0][used]), atol=limit)
    assert np.all(np.abs(smooth[~used]) <= l1_ratio + limit)

    def objective(parameters):
        w, b = parameters[:-1], parameters[-1]
        value = C * np.sum(WEIGHT * composite.value(Y, X @ w + b))
        return value + (1.0 - l1_ratio) * 0.5 * w @ w + l1_ratio * np.abs(w).sum()

    ours = objective(np.append(model.coef_[0], model.intercept_))
    start = np.append(logistic().fit(X, Y, WEIGHT).coef_[0] * 0.5, model.intercept_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the rival steps outside the support of the link
        rival = minimize(objective, start, method="Nelder-Mead", options={"maxiter": 300, "fatol": 1e-9})
    assert ours <= rival.fun + 1e-6 * abs(rival.fun)


class TestWeightsAndOffsets:
    @pytest.mark.parametrize("options", [{}, {"loss": "gev"}, {"link": "probit"}, {"l1_ratio": 0.5}])
    def test_weight_is_repetition(self, options):
        copies = WEIGHT.astype(int)
        weighted = ProperLinearClassifier(**options).fit(X, Y, WEIGHT)
        repeated = ProperLinearClassifier(**options).fit(np.repeat(X, copies, axis=0), np.repeat(Y, copies))
        assert_same(weighted, repeated, 1e-8)

    def test_weight_is_repetition_with_balanced_classes(self):
        copies = WEIGHT.astype(int)
        weighted = ProperLinearClassifier(class_weight="balanced").fit(X, Y, WEIGHT)
        repeated = ProperLinearClassifier(class_weight="balanced").fit(np.repeat(X, copies, 0), np.repeat(Y, copies))
        assert_same(weighted, repeated, 1e-8)

    def test_offset_moves_a_known_part_of_the_score(self):
        whole = ProperLinearClassifier(C=np.inf).fit(X, Y)
        known = 0.7 * X[:, 0]
        rest = ProperLinearClassifier(C=np.inf).fit(X, Y, offset=known)
        np.testing.assert_allclose(rest.coef_ + np.array([0.7, 0, 0, 0, 0]), whole.coef_, atol=1e-6)
        np.testing.assert_allclose(rest.predict_proba(X, offset=known), whole.predict_proba(X), atol=1e-7)

    def test_offset_per_class_in_the_softmax(self):
        offset = np.random.default_rng(0).normal(size=(len(X3), 3))
        model = ProperLinearClassifier(C=2.0).fit(X3, Y3, offset=offset)
        p = softmax(X3 @ model.coef_.T + model.intercept_ + offset, axis=1)
        np.testing.assert_allclose(model.predict_proba(X3, offset=offset), p, atol=1e-14)
        residual = p - np.eye(3)[Y3]
        np.testing.assert_allclose(2.0 * residual.T @ X3 + model.coef_, 0.0, atol=1e-4)


class TestMultiClass:
    def test_squared_loss_with_softmax_is_stationary(self):
        model = ProperLinearClassifier("squared", C=1.0).fit(X3, Y3)
        p = model.predict_proba(X3)
        residual = p - np.eye(3)[Y3]
        slope = p * (residual - np.sum(p * residual, axis=1, keepdims=True))
        np.testing.assert_allclose(slope.T @ X3 + model.coef_, 0.0, atol=1e-4)

    @pytest.mark.parametrize("options", [{"link": "probit"}, {"loss": GEVLoss(0.1)}, {"loss": "boosting"}])
    def test_one_versus_rest(self, options):
        model = ProperLinearClassifier(**options).fit(X3, Y3)
        single = [ProperLinearClassifier(**options).fit(X3, k == Y3).predict_proba(X3)[:, 1] for k in range(3)]
        expected = np.column_stack(single)
        np.testing.assert_allclose(model.predict_proba(X3), expected / expected.sum(axis=1, keepdims=True), atol=1e-8)

    def test_all_zero_one_versus_rest_probabilities_become_equal(self):
        model = ProperLinearClassifier(GEVLoss(0.8)).fit(X3, Y3)
        p = model.predict_proba(np.zeros((1, 5)), offset=np.full((1, 3), -1e3))
        np.testing.assert_array_equal(p, 1.0 / 3.0)

    def test_offsets_of_one_versus_rest_go_to_their_class(self):
        offset = np.random.default_rng(0).normal(size=(len(X3), 3))
        model = ProperLinearClassifier(link="probit").fit(X3, Y3, offset=offset)
        single = ProperLinearClassifier(link="probit").fit(X3, Y3 == 1, offset=offset[:, 1])
        np.testing.assert_allclose(model.coef_[1], single.coef_[0], atol=1e-7)

    def test_many_classes_need_no_matrix_per_row(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(20_000, 3)), rng.integers(0, 40, 20_000)
        tracemalloc.start()
        ProperLinearClassifier().fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 20_000 * 40 * 8 * 20


class TestData:
    def test_frames_keep_their_names(self):
        names = [f"f{i}" for i in range(5)]
        plain = ProperLinearClassifier().fit(X, Y)
        for frame, labels in [
            (pd.DataFrame(X, columns=names), pd.Series(Y)),
            (pl.DataFrame(X, schema=names), pl.Series(Y)),
            (pa.table({name: X[:, i] for i, name in enumerate(names)}), pa.array(Y)),
        ]:
            model = ProperLinearClassifier().fit(frame, labels)
            np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-12)
            assert list(model.feature_names_in_) == names
            np.testing.assert_allclose(model.predict_proba(frame), plain.predict_proba(X), rtol=1e-12)

    @pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
    def test_columns_in_another_order_are_refused(self, library):
        columns = {f"f{i}": X[:, i] for i in range(5)}
        frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[library]
        model = ProperLinearClassifier().fit(frame(columns), Y)
        with pytest.raises(ValueError, match="feature names"):
            model.predict_proba(frame(dict(reversed(columns.items()))))

    @pytest.mark.parametrize("labels", [Y.astype(float), Y.astype(bool), np.where(Y == 1, "yes", "no")])
    def test_labels_of_any_kind(self, labels):
        model = ProperLinearClassifier().fit(X, labels)
        np.testing.assert_array_equal(model.classes_, np.unique(labels))
        assert_same(model, ProperLinearClassifier().fit(X, Y), 1e-12)
        assert model.predict(X).dtype == labels.dtype

    def test_in_a_pipeline_and_a_grid(self):
        grid = GridSearchCV(
            make_pipeline(StandardScaler(), ProperLinearClassifier()),
            {"properlinearclassifier__loss": ["log", GEVLoss(0.1)], "properlinearclassifier__C": [0.1, 1.0]},
            scoring="neg_brier_score",
        ).fit(X, Y)
        assert grid.best_score_ > -0.25

    def test_numpy_booleans_are_booleans(self):
        grid = GridSearchCV(ProperLinearClassifier(), {"fit_intercept": np.array([True, False])}, error_score="raise")
        assert grid.fit(X, Y).best_score_ > 0.5

    def test_score_takes_an_offset(self):
        model, offset = ProperLinearClassifier().fit(X, Y), np.full(len(X), 1e3)
        assert model.score(X, Y, offset=offset) == np.mean(Y == 1)

    def test_clone_keeps_objects(self):
        model = ProperLinearClassifier(BetaLoss(1, 2), GEV(0.1), C=3.0)
        assert clone(model).get_params() == model.get_params()

    def test_set_output_leaves_predictions_alone(self):
        assert isinstance(ProperLinearClassifier().fit(pd.DataFrame(X), Y).predict_proba(pd.DataFrame(X)), np.ndarray)

    def test_warm_start_needs_fewer_iterations(self):
        model = ProperLinearClassifier(warm_start=True).fit(X, Y)
        first = model.n_iter_[0]
        assert model.fit(X, Y).n_iter_[0] == 1 < first

    def test_centring_is_worth_it(self):
        far = X + np.array([1e6, -1e7, 0.0, 3e5, 0.0])
        near = ProperLinearClassifier(C=np.inf).fit(X, Y)
        np.testing.assert_allclose(ProperLinearClassifier(C=np.inf).fit(far, Y).coef_, near.coef_, atol=1e-6)


class TestProbabilities:
    @pytest.mark.parametrize("loss", ["log", GEVLoss(0.5), GEVLoss(-0.5)])
    def test_both_columns_keep_their_tail(self, loss):
        model = ProperLinearClassifier(loss).fit(X, Y)
        far = 20.0 * X
        p = model.predict_proba(far)
        scores = far @ model.coef_[0] + model.intercept_[0]
        expected = Composite(get_loss(loss)).link.inverse_pair(scores)
        np.testing.assert_allclose(p[:, 1], expected[0], rtol=1e-12)
        np.testing.assert_allclose(p[:, 0], expected[1], rtol=1e-12)

    @pytest.mark.parametrize("link", ["logit", "cloglog", "loglog", GEV(0.3)])
    def test_positive_decision_means_more_likely_than_not(self, link):
        model = ProperLinearClassifier(link=link).fit(X, Y)
        np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict_proba(X)[:, 1] > 0.5)
        np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])

    @pytest.mark.parametrize("link", LINKS)
    @pytest.mark.parametrize("data", [(X, Y), (X3, Y3)], ids=["two classes", "three classes"])
    def test_logarithms(self, link, data):
        model = ProperLinearClassifier(link=link).fit(*data)
        p, log_p = model.predict_proba(data[0]), model.predict_log_proba(data[0])
        np.testing.assert_allclose(log_p[p > 0.0], np.log(p[p > 0.0]), rtol=1e-10, atol=1e-15)
        assert np.all(log_p[p == 0.0] < -700.0)

    @pytest.mark.parametrize("loss", ["log", GEVLoss(-0.3)])
    @pytest.mark.parametrize("labels", [Y, Y3[: len(X)]], ids=["two classes", "three classes"])
    def test_logarithms_of_probabilities_too_small_for_float64(self, loss, labels):
        """Probabilities underflow to 0; their logarithms stay finite and keep the order of the rows."""
        model = ProperLinearClassifier(loss=loss).fit(X, labels)
        far = -np.geomspace(1.0, 1e6, 30)[:, None] * model.coef_[[0]] / np.linalg.norm(model.coef_[0])
        assert (model.predict_proba(far) == 0.0).any()
        log_p = model.predict_log_proba(far)
        assert np.isfinite(log_p).all()
        assert np.all(np.diff(log_p.min(axis=1)[10:]) < 0.0)
        np.testing.assert_allclose(np.exp(log_p), model.predict_proba(far), rtol=1e-9, atol=1e-300)

    def test_logarithms_where_every_class_is_ruled_out(self):
        model = ProperLinearClassifier(GEVLoss(2.0)).fit(X3, Y3)
        model.intercept_ = np.full(3, -1e3)  # outside the support of every class
        np.testing.assert_allclose(model.predict_proba(X3), 1.0 / 3.0, rtol=1e-15)
        np.testing.assert_allclose(model.predict_log_proba(X3), -np.log(3.0))


DIFFICULT_LOSSES = [("log", None), ("log", "probit"), ("squared", "logit"), ("boosting", None)] + [
    (GEVLoss(xi), None) for xi in (-1.2, -0.5, 0.0, 0.3, 1.0, 2.0)
]
DIFFICULT_DATA = ["separated", "duplicated column", "constant column", "wild scales", "rare", "more columns than rows"]


class TestDifficultData:
    """Every fit ends in a stated status, with finite numbers."""

    @staticmethod
    def prepared(kind):
        rng = np.random.default_rng(5)
        X = rng.normal(size=(40, 60) if kind == "more columns than rows" else (500, 4))
        score = X[:, 0] - X[:, 1]
        y = (score + (0.0 if kind == "separated" else rng.normal(size=len(X)))) > 0.8
        if kind == "duplicated column":
            X = np.column_stack([X, X[:, :2]])
        if kind == "constant column":
            X = np.column_stack([X, np.full(len(X), 7.0), np.zeros(len(X))])
        if kind == "wild scales":
            X = X * np.array([1e8, 1e-8, 1.0, 1e4])
        if kind == "rare":
            X = rng.normal(size=(20_000, 4))
            y = np.arange(20_000) % 10_000 == 17
        return X, y

    @pytest.mark.parametrize("kind", DIFFICULT_DATA)
    @pytest.mark.parametrize(("loss", "link"), DIFFICULT_LOSSES, ids=str)
    def test_with_penalty_it_converges(self, kind, loss, link):
        X, y = self.prepared(kind)
        model = ProperLinearClassifier(loss, link).fit(X, y)  # a warning would be an error
        assert not np.isnan(model.predict_proba(X)).any()
        rows = Composite(get_loss(loss), model.link_).gradient(y, X @ model.coef_[0] + model.intercept_)
        gradient = np.append(X.T @ rows + model.coef_[0], rows.sum())
        size = np.append(np.abs(X).T @ np.abs(rows) + np.abs(model.coef_[0]), np.abs(rows).sum())
        assert np.all(np.abs(gradient) <= 1e-5 * size + 1e-300)
        if kind == "duplicated column":
            np.testing.assert_allclose(model.coef_[0, :2], model.coef_[0, 4:], atol=1e-6)

    @pytest.mark.parametrize(("loss", "link"), DIFFICULT_LOSSES, ids=str)
    @pytest.mark.parametrize("kind", ["separated", "more columns than rows"])
    def test_separation_without_penalty_is_reported(self, kind, loss, link):
        X, y = self.prepared(kind)
        with pytest.warns(ConvergenceWarning, match="finite C|lower C"):
            model = ProperLinearClassifier(loss, link, C=np.inf).fit(X, y)
        assert np.isfinite(model.coef_).all()
        assert not np.isnan(model.predict_proba(X)).any()

    @pytest.mark.parametrize("kind", ["duplicated column", "constant column"])
    def test_collinear_columns_without_penalty_get_the_least_norm(self, kind):
        X, y = self.prepared(kind)
        model = ProperLinearClassifier(C=np.inf).fit(X, y)
        reference = ProperLinearClassifier(C=np.inf).fit(X[:, :4], y)
        np.testing.assert_allclose(model.predict_proba(X), reference.predict_proba(X[:, :4]), atol=1e-6)

    @pytest.mark.parametrize("constant", [0.1, 3.0, 1e5 / 3])
    def test_a_constant_column_without_penalty_stays_out(self, constant):
        rng = np.random.default_rng(42)
        wide = np.column_stack([X, np.full(len(X), constant)])
        weight = rng.exponential(size=len(X))
        weight[0], wide[0, -1] = 0.0, 7.0  # a row that does not count may differ
        model = ProperLinearClassifier(C=np.inf).fit(wide, Y, weight)
        reference = ProperLinearClassifier(C=np.inf).fit(X, Y, weight)
        np.testing.assert_allclose(model.coef_, np.column_stack([reference.coef_, [0.0]]), atol=1e-7)
        np.testing.assert_allclose(model.intercept_, reference.intercept_, atol=1e-7)

    def test_out_of_iterations_says_what_to_do(self):
        with pytest.warns(ConvergenceWarning, match="increase max_iter"):
            ProperLinearClassifier(max_iter=1).fit(X, Y)


STARTED = [
    ("log", None),
    ("log", "probit"),
    ("log", "cloglog"),
    ("log", "cauchit"),
    ("squared", None),
    (GEVLoss(0.5), None),
    (GEVLoss(-0.5), None),
    ("boosting", None),
]


class TestStarts:
    """A bad start must not decide where the fit ends."""

    @pytest.mark.parametrize(("loss", "link"), STARTED, ids=str)
    @pytest.mark.parametrize("constant", [-100.0, -3.0, 1.0, 10.0, 300.0])
    def test_a_constant_offset_only_moves_the_intercept(self, loss, link, constant):
        plain = ProperLinearClassifier(loss, link).fit(X, Y)
        shifted = ProperLinearClassifier(loss, link).fit(X, Y, offset=np.full(len(X), constant))
        np.testing.assert_allclose(shifted.coef_, plain.coef_, atol=1e-5)
        np.testing.assert_allclose(shifted.intercept_ + constant, plain.intercept_, atol=1e-5)

    @pytest.mark.filterwarnings("ignore:the loss is not convex and has several optima")
    @pytest.mark.parametrize(("loss", "link"), STARTED, ids=str)
    def test_wild_offsets_converge(self, loss, link):
        offset = 30.0 * np.random.default_rng(0).normal(size=len(X))
        model = ProperLinearClassifier(loss, link).fit(X, Y, offset=offset)  # a warning would be an error
        assert np.isfinite(model.coef_).all()

    @pytest.mark.parametrize(("loss", "link"), [("log", None), ("log", "cloglog"), ("boosting", "logit")])
    @pytest.mark.parametrize("C", [1.0, 1e6])
    def test_a_misleading_sample_is_left_behind(self, loss, link, C):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(30_000, 2))
        y = rng.random(30_000) < expit(X[:, 0])
        y[::6] = X[::6, 0] + 0.5 * X[::6, 1] > 0  # the rows of the first sample are separable
        memory = ProperLinearClassifier(loss, link, C=C).fit(X, y)
        stream = ProperLinearClassifier(loss, link, C=C).fit(Stream([(X, y)]))
        np.testing.assert_allclose(memory.coef_, stream.coef_, atol=1e-5)

    @pytest.mark.filterwarnings("ignore:the loss is not convex and has several optima")
    @pytest.mark.parametrize(("at", "concentration"), [(0.5, 100), (0.05, 1000), (0.5, 1e4)])
    def test_a_loss_that_is_flat_at_the_class_proportions_leaves_them(self, at, concentration):
        loss = BetaLoss.tailored(at, concentration)
        model = ProperLinearClassifier(loss, "logit").fit(X, Y)
        value = np.sum(Composite(loss, Logit()).value(Y, X @ model.coef_[0] + model.intercept_))
        floor = np.sum(Composite(loss, Logit()).value(Y, np.full(len(X), np.log(Y.mean() / (1 - Y.mean())))))
        assert value + 0.5 * np.sum(model.coef_**2) < 0.95 * floor

    def test_a_far_warm_start_is_recovered_from(self):
        model = ProperLinearClassifier(warm_start=True).fit(X, Y)
        right = model.coef_.copy()
        model.coef_ = right + 1e6
        np.testing.assert_allclose(model.fit(X, Y).coef_, right, atol=1e-6)

    @pytest.mark.parametrize("weight", [1e-12, 1e13, 1e200])
    def test_the_unit_of_the_weights_does_not_matter(self, weight):
        plain = ProperLinearClassifier(C=1.0).fit(X, Y)
        scaled = ProperLinearClassifier(C=1.0 / weight).fit(X, Y, np.full(len(X), weight))
        np.testing.assert_allclose(scaled.coef_, plain.coef_, atol=1e-6)

    @pytest.mark.parametrize("loss", [BetaLoss(10, 10), BetaLoss(3, 7), SquaredLoss()], ids=str)
    def test_the_unit_of_the_loss_does_not_matter(self, loss):
        alpha, beta, _ = loss._shape
        coefs = [
            ProperLinearClassifier(BetaLoss(alpha, beta, log_scale), "logit", C=np.exp(-log_scale)).fit(X, Y).coef_
            for log_scale in (0.0, 12.0, -12.0)
        ]
        np.testing.assert_allclose(coefs[1], coefs[0], atol=1e-5)
        np.testing.assert_allclose(coefs[2], coefs[0], atol=1e-5)


class TestLassoCorners:
    @pytest.mark.parametrize("seed", range(6))
    def test_losses_that_are_not_convex_end_at_stationary_points(self, seed):
        X, y, weight = draw(150, 3, seed=seed)
        offset = np.random.default_rng(seed).normal(size=150)
        loss = BetaLoss.tailored(0.1, 4)
        model = ProperLinearClassifier(loss, "logit", C=0.05, l1_ratio=0.5).fit(X, y, weight, offset)
        rows = 0.05 * weight * Composite(loss, Logit()).gradient(y, X @ model.coef_[0] + model.intercept_ + offset)
        w, smooth = model.coef_[0], X.T @ rows + 0.5 * model.coef_[0]
        size = np.abs(rows).sum()
        assert abs(rows.sum()) < 1e-5 * size
        np.testing.assert_allclose(smooth[w != 0], -0.5 * np.sign(w[w != 0]), atol=1e-5 * size)
        assert np.all(np.abs(smooth[w == 0]) <= 0.5 + 1e-5 * size)

    @pytest.mark.parametrize("k", [5, 501])
    def test_a_strong_penalty_leaves_the_intercept_alone(self, k):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, 400)
        model = ProperLinearClassifier(C=1e-6, l1_ratio=1.0).fit(rng.normal(size=(400, k)), y)
        assert not model.coef_.any()
        np.testing.assert_allclose(expit(model.intercept_), y.mean(), rtol=1e-7)

    @pytest.mark.parametrize("constant", [100 / 3, 1e6 / 3])
    @pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
    def test_constant_columns(self, constant, convert):
        wide = np.column_stack([X, np.full(len(X), constant)])
        model = ProperLinearClassifier(l1_ratio=1.0).fit(convert(wide), Y)
        np.testing.assert_allclose(model.coef_[:, :5], ProperLinearClassifier(l1_ratio=1.0).fit(X, Y).coef_, atol=1e-5)

    def test_strongly_correlated_features(self):
        rng = np.random.default_rng(0)
        common = rng.normal(size=(1000, 1))
        Z = common + 0.05 * rng.normal(size=(1000, 40))
        y = rng.random(1000) < expit(common[:, 0])
        model = ProperLinearClassifier(l1_ratio=1.0).fit(Z, y)  # a warning would be an error
        gradient = Z.T @ (model.predict_proba(Z)[:, 1] - y)
        assert np.abs(gradient).max() <= 1.0 + 1e-4


@pytest.mark.parametrize(
    ("loss", "link", "shift"),
    [(canonical_loss(Cauchit()), None, 0.0), ("log", "cauchit", 0.0), ("log", None, 1e9)],
)
def test_overlapping_classes_are_not_called_separable(loss, link, shift):
    ProperLinearClassifier(loss, link, C=np.inf).fit(X + shift, Y)  # a warning would be an error


def test_quasi_complete_separation_is_reported():
    rng = np.random.default_rng(0)
    group = np.repeat([0.0, 1.0], 50)
    y = np.where(group == 1.0, 1, rng.integers(0, 2, 100))
    with pytest.warns(ConvergenceWarning, match="separable"):
        ProperLinearClassifier(C=np.inf).fit(np.column_stack([group, rng.normal(size=100)]), y)


def test_a_failed_fit_leaves_the_old_one_whole():
    model = ProperLinearClassifier().fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="loss must be one of"):
        model.set_params(loss="bad").fit(X3, Y3)
    np.testing.assert_array_equal(model.predict_proba(X), before)


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"C": 0.0}, "C must be a positive number"),
            ({"C": -1.0}, "got -1.0"),
            ({"C": np.nan}, "C must be a positive number"),
            ({"C": "strong"}, "C must be a positive number"),
            ({"l1_ratio": 1.5}, r"l1_ratio must lie in \[0, 1\], got 1.5"),
            ({"tol": 0.0}, "tol must be above 0 and finite"),
            ({"max_iter": 0}, "max_iter must be a whole number"),
            ({"loss": "logg"}, "loss must be one of 'log', 'squared', 'boosting', 'gev', got 'logg'"),
            ({"link": "logitt"}, "link must be one of 'logit', 'probit'"),
            ({"loss": CostWeightedLoss(0.2)}, "step function"),
            ({"class_weight": "equal"}, "class_weight must be"),
            ({"class_weight": {0: "a"}}, "class_weight must be numbers"),
            ({"fit_intercept": "yes"}, "fit_intercept must be True or False"),
            ({"class_weight": {7: 1.0}}, "class_weight names 7"),
            ({"class_weight": {0: -1.0}}, "class_weight must be finite and not negative"),
            ({"class_weight": {0: 0.0, 1: 0.0}}, "nor 0 for every class"),
        ],
    )
    def test_parameters(self, options, message):
        with pytest.raises(ValueError, match=message):
            ProperLinearClassifier(**options).fit(X, Y)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((X, np.zeros(len(X)), None, None), "one class only"),
            ((X, Y, -np.ones(len(X)), None), "must not be negative"),
            ((X, Y, np.zeros(len(X)), None), "zero for every row"),
            ((X, Y, np.full(len(X), np.nan), None), "sample_weight must be finite"),
            ((X, Y, np.ones(3), None), "sample_weight has 3 entries"),
            ((X, Y[:-1], None, None), "inconsistent numbers of samples"),
            ((X, Y, None, np.ones(3)), "offset must have shape"),
            ((X, Y, None, np.ones((len(X), 2))), "offset must have shape"),
            ((X3, Y3, None, np.ones(len(X3))), r"offset must have shape \(800, 3\)"),
            ((X, Y, None, np.full(len(X), np.inf)), "offset must be finite"),
            ((np.where(np.arange(5) == 3, np.nan, X), Y, None, None), "NaN in column 3"),
            ((np.where(np.arange(5) == 3, np.inf, X), Y, None, None), "infinity in column 3"),
            ((np.where(np.arange(5) == 3, 1e200, X), Y, None, None), "squares of column 3 overflow float64"),
            ((X, X[:, 0], None, None), "Unknown label type"),
            ((X, None, None, None), "requires y"),
            ((X[:0], Y[:0], None, None), "minimum of 1"),
        ],
    )
    def test_data(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            ProperLinearClassifier().fit(*arguments)

    def test_class_weight_of_a_class_that_is_not_there(self):
        with pytest.warns(UserWarning, match=r"class_weight names 2, which is not among the classes \[0, 1\]"):
            model = ProperLinearClassifier(class_weight={1: 3.0, 2: 5.0}).fit(X, Y)
        assert np.array_equal(model.coef_, ProperLinearClassifier(class_weight={1: 3.0}).fit(X, Y).coef_)

    def test_class_weight_of_zero_leaves_the_class_out(self):
        model, seen = ProperLinearClassifier(C=np.inf, class_weight={2: 0.0}).fit(X3, Y3), Y3 != 2
        without = ProperLinearClassifier(C=np.inf).fit(X3[seen], Y3[seen]).predict_proba(X3)
        np.testing.assert_allclose(model.predict_proba(X3), np.column_stack([without, 0.0 * without[:, 0]]), atol=1e-6)
        certain = ProperLinearClassifier(class_weight={0: 0.0}).fit(X, Y)
        assert np.array_equal(certain.predict_proba(X), np.tile([0.0, 1.0], (len(X), 1)))

    def test_prediction(self):
        model = ProperLinearClassifier().fit(X, Y)
        with pytest.raises(ValueError, match="3 features"):
            model.predict_proba(X[:, :3])
        for offset in (np.ones(2), np.zeros((len(X), 2))):
            with pytest.raises(ValueError, match="offset must have shape"):
                model.predict_proba(X, offset=offset)


@pytest.mark.parametrize("size", [1e10, 1e15, 1e20, 1e300])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_huge_offsets_end(size):
    offset = size + 1e-10 * size * np.random.RandomState(0).randn(len(X))
    model = ProperLinearClassifier(max_iter=3).fit(X, Y, offset=offset)
    assert np.isfinite(model.coef_).all()


def test_coefficients_may_be_made_sparse():
    model = ProperLinearClassifier(C=0.01, l1_ratio=1.0).fit(X, Y)
    p = model.predict_proba(X)
    assert sp.issparse(model.sparsify().coef_)
    assert np.array_equal(model.predict_proba(X), p)
    assert np.array_equal(model.predict_proba(sp.csr_array(X)).round(12), p.round(12))
    assert isinstance(model.densify().coef_, np.ndarray)
