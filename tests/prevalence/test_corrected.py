"""Classifiers brought to the true prior: class weights undone, samples undone, and what scikit-learn expects."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from scipy.special import expit, logit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from properly.linear import ProperLinearClassifier
from properly.prevalence import PriorCorrectedClassifier, adjust_prior


def rare(n=20_000, seed=0):
    """Logistic data with about 4 % positives, and their true probabilities."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    p = expit(X @ [1.0, -0.5, 0.25] - 3.8)
    return X, (random.random(n) < p).astype(int), p


def three(n=20_000, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2))
    p = softmax(X @ [[0.0, 1.0, -1.0], [0.0, 0.5, 1.0]] + [0.0, -2.5, -1.0], axis=1)
    return X, (p.cumsum(axis=1) < random.random(n)[:, None]).sum(axis=1), p


X, y, true_p = rare()
X3, y3, true_p3 = three()
plain = LogisticRegression(C=np.inf)
balanced = LogisticRegression(C=np.inf, class_weight="balanced")


@parametrize_with_checks(
    [
        PriorCorrectedClassifier(LogisticRegression()),
        PriorCorrectedClassifier(ProperLinearClassifier(class_weight="balanced"), "from y", "from y"),
    ]
)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- corrections are right


@pytest.mark.parametrize("weight", ["balanced", {1: 10.0}, {0: 0.2, 1: 3.0}])
def test_class_weights_are_undone(weight):
    X, y, true_p = rare(200_000)
    weighted = LogisticRegression(C=np.inf, class_weight=weight)
    expected = plain.fit(X, y).predict_proba(X)[:, 1]
    found = PriorCorrectedClassifier(weighted).fit(X, y).predict_proba(X)[:, 1]
    assert np.abs(weighted.fit(X, y).predict_proba(X)[:, 1] - expected).max() > 0.3
    # Both estimate the same model, from the same rows but with other weights.
    assert np.abs(logit(found) - logit(expected)).max() < 0.15
    assert np.abs(found - expected).mean() < 0.001
    assert np.abs(found - true_p).mean() < 0.002


def test_class_weights_of_three_classes_are_undone():
    model = PriorCorrectedClassifier(balanced).fit(X3, y3)
    assert model.train_prior_ == pytest.approx(np.full(3, 1 / 3))
    assert model.true_prior_ == pytest.approx(np.bincount(y3) / len(y3))
    assert np.abs(model.predict_proba(X3) - plain.fit(X3, y3).predict_proba(X3)).max() < 0.03
    assert np.abs(model.predict_proba(X3) - true_p3).mean() < 0.006


def test_a_sample_of_the_negatives_is_undone():
    random = np.random.default_rng(1)
    kept = (y == 1) | (random.random(len(y)) < 0.1)
    model = PriorCorrectedClassifier(plain, true_prior=y.mean()).fit(X[kept], y[kept])
    assert model.train_prior_[1] == pytest.approx(y[kept].mean())
    expected = plain.fit(X, y).predict_proba(X)[:, 1]
    assert np.abs(model.predict_proba(X)[:, 1] - expected).mean() < 0.003
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.003)


def test_the_shift_of_a_logistic_regression_is_one_of_its_intercept():
    model = PriorCorrectedClassifier(plain, true_prior=0.3).fit(X, y)
    shifted = clone(plain).fit(X, y)
    shifted.intercept_ = shifted.intercept_ + logit(0.3) - logit(y.mean())
    assert model.decision_function(X) == pytest.approx(shifted.decision_function(X))
    assert model.predict_proba(X) == pytest.approx(shifted.predict_proba(X))
    assert np.array_equal(model.predict(X), shifted.predict(X))


@pytest.mark.parametrize(
    "prior", [[0.2, 0.5, 0.3], np.array([0.2, 0.5, 0.3]), {"c": 0.3, "a": 0.2, "b": 0.5}], ids=["list", "array", "dict"]
)
def test_priors_by_class(prior):
    labels = np.array(["a", "b", "c"])[y3]
    model = PriorCorrectedClassifier(plain, [0.5, 0.3, 0.2], prior).fit(X3, labels)
    raw = plain.fit(X3, labels).predict_proba(X3)
    assert model.predict_proba(X3) == pytest.approx(adjust_prior(raw, [0.5, 0.3, 0.2], [0.2, 0.5, 0.3]))
    assert set(model.predict(X3)) <= {"a", "b", "c"}


def test_all_outputs_agree():
    for model, data in [
        (PriorCorrectedClassifier(balanced, true_prior=0.2).fit(X, y), X),
        (PriorCorrectedClassifier(balanced).fit(X3, y3), X3),
    ]:
        p, decision = model.predict_proba(data), model.decision_function(data)
        assert p.sum(axis=1) == pytest.approx(1.0)
        assert np.array_equal(model.predict(data), model.classes_[p.argmax(axis=1)])
        assert model.predict_log_proba(data) == pytest.approx(np.log(p))
        assert decision == pytest.approx(np.log(p[:, 1] / p[:, 0]) if decision.ndim == 1 else np.log(p))


# ---------------------------------------------------------------- which weights an estimator has


class Booster(ClassifierMixin, BaseEstimator):
    """Parameters as boosting libraries have them, and a logistic regression inside."""

    def __init__(self, scale_pos_weight=None, is_unbalance=False, class_weight=None):
        self.scale_pos_weight = scale_pos_weight
        self.is_unbalance = is_unbalance
        self.class_weight = class_weight

    def fit(self, X, y, sample_weight=None):
        self.classes_, codes = np.unique(y, return_inverse=True)
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        if self.is_unbalance:
            weight = weight / np.bincount(codes)[codes]
        if self.scale_pos_weight is not None:
            weight = np.where(codes == 1, self.scale_pos_weight, 1.0) * weight
        self.model_ = LogisticRegression(C=np.inf, class_weight=self.class_weight).fit(X, y, weight)
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def predict(self, X):
        return self.model_.predict(X)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, None),
        ({"scale_pos_weight": 1.0}, None),
        ({"scale_pos_weight": 24.0}, 24.0),
        ({"is_unbalance": True}, "balanced"),
        ({"class_weight": {1: 3.0}, "scale_pos_weight": 2.0}, 6.0),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_parameters_of_boosting_libraries(options, expected, weighted):
    weight = np.where(y == 1, 1.5, 1.0) if weighted else np.ones(len(y))
    model = PriorCorrectedClassifier(Booster(**options)).fit(X, y, sample_weight=weight)
    share = np.bincount(y, weight) / weight.sum()
    assert model.true_prior_ == pytest.approx(share)
    factor = (y == 0).sum() / (y == 1).sum() if expected == "balanced" else expected or 1.0
    assert model.train_prior_[1] == pytest.approx(share[1] * factor / (share[1] * factor + share[0]))
    assert np.abs(model.predict_proba(X) - plain.fit(X, y, weight).predict_proba(X)).mean() < 0.005


@pytest.mark.parametrize("options", [{"scale_pos_weight": 2.0}, {"is_unbalance": True}])
def test_parameters_for_two_classes(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} is for two classes; leave it out"):
        PriorCorrectedClassifier(Booster(**options)).fit(X3, y3)


@pytest.mark.parametrize(
    "options",
    [
        {"scale_pos_weight": 24.0},
        {"is_unbalance": True},
        {"unbalance": True},
        {"unbalanced_sets": True},
        {"class_weight": "balanced"},
        {"class_weight": {1: 3.0}, "scale_pos_weight": 4.0},
    ],
)
def test_lightgbm(options):
    """Weighted and corrected it is close to itself without weights; not equal, as leaves are chosen differently."""
    lightgbm = pytest.importorskip("lightgbm")
    trees = lightgbm.LGBMClassifier(n_estimators=30, num_leaves=5, min_child_samples=200, verbose=-1, n_jobs=1)
    without = trees.fit(X, y).predict_proba(X)[:, 1]
    trees.set_params(**options)
    raw = clone(trees).fit(X, y).predict_proba(X)[:, 1]
    corrected = PriorCorrectedClassifier(trees).fit(X, y).predict_proba(X)[:, 1]
    assert np.abs(corrected - without).mean() < 0.1 * np.abs(raw - without).mean()
    assert corrected.mean() == pytest.approx(y.mean(), rel=0.2)


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), balanced),
        GridSearchCV(LogisticRegression(), {"class_weight": ["balanced"], "C": [0.1, 1.0]}, cv=2),
        make_pipeline(StandardScaler(), GridSearchCV(balanced, {"C": [0.1, 1.0]}, cv=2)),
        RandomForestClassifier(10, min_samples_leaf=100, class_weight="balanced_subsample", random_state=0),
        HistGradientBoostingClassifier(max_iter=5, class_weight="balanced"),
        DecisionTreeClassifier(max_depth=3, class_weight="balanced"),
        FrozenEstimator(clone(balanced).fit(X, y)),
        FrozenEstimator(make_pipeline(StandardScaler(), balanced).fit(X, y)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_where_class_weights_are_found(estimator):
    model = PriorCorrectedClassifier(estimator).fit(X[:4000], y[:4000])
    share = y[:4000].mean()
    assert model.train_prior_ == pytest.approx([0.5, 0.5])
    raw = model.estimator_.predict_proba(X)
    assert model.predict_proba(X) == pytest.approx(adjust_prior(raw, 0.5, share), abs=1e-12)
    assert raw[:, 1].mean() > 0.25
    assert model.predict_proba(X)[:, 1].mean() < 0.12


def test_without_class_weights_nothing_changes():
    for estimator in (plain, GaussianNB(), DecisionTreeClassifier(max_depth=4)):
        model = PriorCorrectedClassifier(estimator).fit(X, y)
        assert model.predict_proba(X) == pytest.approx(clone(estimator).fit(X, y).predict_proba(X), abs=1e-12)


def test_leaves_of_one_class_do_not_heed_weights():
    """Said in the documentation: what was not done to the probabilities cannot be undone."""
    test = rare(5000, seed=1)[0]
    for leaf, low, high in [(1, 0.0, 0.25), (100, 0.6, 1.4)]:
        forest = RandomForestClassifier(30, min_samples_leaf=leaf, class_weight="balanced", random_state=0)
        p = PriorCorrectedClassifier(forest).fit(X[:5000], y[:5000]).predict_proba(test)[:, 1]
        assert low < p.mean() / y.mean() < high


def test_weights_further_inside_are_refused():
    inner = LogisticRegression(class_weight="balanced")
    for estimator in (BaggingClassifier(inner), CalibratedClassifierCV(inner)):
        with pytest.raises(
            ValueError, match="has estimator__class_weight='balanced', whose effect on its probabilities is not known"
        ):
            PriorCorrectedClassifier(estimator).fit(X[:500], y[:500])
    with pytest.raises(
        ValueError, match="has estimator__is_unbalance=True, whose effect on its probabilities is not known"
    ):
        PriorCorrectedClassifier(BaggingClassifier(Booster(is_unbalance=True))).fit(X[:500], y[:500])
    calibrated = CalibratedClassifierCV(inner, ensemble=False)
    model = PriorCorrectedClassifier(calibrated, "from y", 0.5).fit(X, y)
    assert model.train_prior_[1] == pytest.approx(y.mean())


@pytest.mark.parametrize(
    "estimator",
    [
        LinearDiscriminantAnalysis(priors=[0.5, 0.5]),
        QuadraticDiscriminantAnalysis(priors=np.array([0.5, 0.5])),
        GaussianNB(priors=[0.5, 0.5]),
        make_pipeline(FunctionTransformer(lambda X: X > 0.5), BernoulliNB(fit_prior=False)),
        make_pipeline(FunctionTransformer(lambda X: X > 0.5), BernoulliNB(class_prior=[3, 3])),
        make_pipeline(FunctionTransformer(np.exp), MultinomialNB(fit_prior=False)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_priors_that_an_estimator_is_given(estimator):
    model = PriorCorrectedClassifier(estimator).fit(X, y)
    assert model.train_prior_.tolist() == [0.5, 0.5]
    # What it would be with the prior of y itself, which these models add to their scores.
    learns = clone(estimator)
    plainly = {"priors": None, "class_prior": None, "fit_prior": True}
    last = learns[-1] if isinstance(learns, Pipeline) else learns
    last.set_params(**{name: value for name, value in plainly.items() if name in last.get_params()})
    assert model.predict_proba(X) == pytest.approx(learns.fit(X, y).predict_proba(X), abs=1e-9)


@pytest.mark.filterwarnings("ignore:The `probability` parameter was deprecated")
def test_support_vector_machines_give_probabilities_without_weights():
    weight = np.where(y[:1500] == 1, 3.0, 1.0)
    for estimator in (SVC(kernel="linear", class_weight="balanced"), SVC(kernel="linear", class_weight={1: 9.0})):
        machine = clone(estimator).set_params(probability=True, random_state=0)
        raw = clone(machine).fit(X[:1500], y[:1500]).predict_proba(X)[:, 1]
        assert raw.mean() == pytest.approx(y[:1500].mean(), rel=0.3)
        found = PriorCorrectedClassifier(machine).fit(X[:1500], y[:1500])
        assert found.predict_proba(X)[:, 1] == pytest.approx(raw)
        weighted = PriorCorrectedClassifier(machine).fit(X[:1500], y[:1500], sample_weight=weight)
        assert weighted.train_prior_[1] == pytest.approx(y[:1500].mean())
        assert weighted.true_prior_[1] == pytest.approx(np.average(y[:1500], weights=weight))


class CatLike(LogisticRegression):
    """The names of CatBoost's parameters."""

    def __init__(self, class_weights=None, auto_class_weights=None):
        super().__init__()
        self.class_weights = class_weights
        self.auto_class_weights = auto_class_weights


class Sampler(BaseEstimator):
    """As imbalanced-learn has them; its pipelines leave them out of predictions."""

    def fit_resample(self, X, y):
        return X, y

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (CatLike(class_weights=[1.0, 5.0]), r"CatLike has class_weights=\[1\.0, 5\.0\].* give train_prior as numbers"),
        (CatLike(auto_class_weights="Balanced"), "CatLike has auto_class_weights='Balanced'"),
        (make_pipeline(Sampler(), LogisticRegression()), "step 'sampler' of the pipeline samples rows.* train_prior"),
        (BaggingClassifier(GaussianNB(priors=[0.5, 0.5])), r"BaggingClassifier has estimator__priors=\[0\.5, 0\.5\]"),
        (BaggingClassifier(BernoulliNB(fit_prior=False)), "BaggingClassifier has estimator__fit_prior=False"),
    ],
)
def test_what_is_not_understood_is_refused(estimator, message):
    with pytest.raises(ValueError, match=message):
        PriorCorrectedClassifier(estimator).fit(X[:500], y[:500])
    model = PriorCorrectedClassifier(estimator, train_prior=0.5).fit(X[:500], y[:500])
    assert model.train_prior_.tolist() == [0.5, 0.5]


def test_weights_that_the_estimator_did_not_see():
    weight = np.where(y == 1, 10.0, 1.0)
    share, weighted = np.bincount(y) / len(y), np.bincount(y, weight) / weight.sum()
    frozen = PriorCorrectedClassifier(FrozenEstimator(clone(plain).fit(X, y))).fit(X, y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        deaf = clone(plain).set_fit_request(sample_weight=False)
        routed = PriorCorrectedClassifier(deaf).fit(X, y, sample_weight=weight)
    for model in (frozen, routed):
        assert model.train_prior_ == pytest.approx(share)
        assert model.true_prior_ == pytest.approx(weighted)
        assert np.average(model.predict_proba(X)[:, 1], weights=weight) == pytest.approx(weighted[1], rel=0.3)


def test_a_frozen_estimator_with_priors_as_numbers():
    fitted = clone(balanced).fit(X, y)
    model = PriorCorrectedClassifier(FrozenEstimator(fitted), 0.5, 0.02).fit(X[y == 0][:5], y[y == 0][:5])
    assert model.predict_proba(X) == pytest.approx(adjust_prior(fitted.predict_proba(X), 0.5, 0.02))
    assert model.estimator_.coef_ is fitted.coef_


# ---------------------------------------------------------------- probabilities of 0 and 1, and beyond


def test_certainty_stays():
    tree = DecisionTreeClassifier(class_weight="balanced", random_state=0)
    model = PriorCorrectedClassifier(tree).fit(X[:500], y[:500])
    assert np.array_equal(model.predict_proba(X[:500])[:, 1], y[:500])
    largest = 1e100  # finite, as for every classifier
    assert np.array_equal(model.decision_function(X[:500]), np.where(y[:500] == 1, largest, -largest))
    assert np.array_equal(model.predict(X[:500]), y[:500])


def test_log_odds_beyond_float64_keep_their_order():
    """Naive Bayes knows log-odds of thousands, where its probabilities are 0 and 1."""
    many = np.repeat(X[:2000], 300, axis=1)
    model = PriorCorrectedClassifier(GaussianNB(), true_prior=0.5).fit(many, y[:2000])
    log_p = model.estimator_.predict_log_proba(many)
    assert np.any(model.predict_proba(many) == 0.0)
    shift = -logit(y[:2000].mean())
    assert model.decision_function(many) == pytest.approx(log_p[:, 1] - log_p[:, 0] + shift, rel=1e-12)
    assert np.isfinite(model.predict_log_proba(many)).all()


# ---------------------------------------------------------------- weights and metadata


@pytest.mark.parametrize(
    "estimator",
    [
        balanced,
        make_pipeline("passthrough", balanced),
        make_pipeline("passthrough", make_pipeline("passthrough", balanced)),
        GridSearchCV(balanced, {"tol": [1e-4]}, cv=2),
        make_pipeline("passthrough", GridSearchCV(make_pipeline(balanced), {}, cv=2)),
    ],
    ids=["plain", "pipeline", "nested", "search", "search inside"],
)
def test_weights_are_repetitions(estimator):
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = PriorCorrectedClassifier(estimator).fit(X, y, sample_weight=weight)
    repeated = PriorCorrectedClassifier(estimator).fit(X[rows], y[rows])
    assert weighted.true_prior_ == pytest.approx(repeated.true_prior_)
    assert weighted.predict_proba(X) == pytest.approx(repeated.predict_proba(X), abs=1e-4)


def test_weights_are_routed_where_they_are_requested():
    weight = np.where(y == 1, 5.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = clone(plain).set_fit_request(sample_weight=True)
        model = PriorCorrectedClassifier(make_pipeline(StandardScaler().set_fit_request(sample_weight=True), asked))
        found = model.fit(X, y, sample_weight=weight)
    assert found.true_prior_ == pytest.approx(np.bincount(y, weight) / weight.sum())
    assert found.predict_proba(X) == pytest.approx(plain.fit(X, y, weight).predict_proba(X), abs=1e-3)


def test_fit_params_are_handed_on():
    class Picky(LogisticRegression):
        def fit(self, X, y, colour=None):
            self.colour_ = colour
            return super().fit(X, y)

    assert PriorCorrectedClassifier(Picky()).fit(X, y, colour="red").estimator_.colour_ == "red"


def test_in_searches_and_with_names():
    grid = {"estimator__class_weight": [None, "balanced"]}
    search = GridSearchCV(PriorCorrectedClassifier(LogisticRegression()), grid, scoring="neg_log_loss", cv=2)
    assert search.fit(X[:1000], y[:1000]).best_score_ > -0.3
    p = cross_val_predict(PriorCorrectedClassifier(balanced), X[:1000], y[:1000], method="predict_proba")
    assert p[:, 1].mean() == pytest.approx(y[:1000].mean(), abs=0.01)
    frame = pd.DataFrame(X[:1000], columns=["a", "b", "c"])
    model = PriorCorrectedClassifier(make_pipeline(StandardScaler(), balanced)).fit(frame, y[:1000])
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.n_features_in_ == 3
    with pytest.raises(ValueError, match="feature names"):
        model.predict_proba(frame[["b", "a", "c"]])
    reference = model.predict_proba(frame)
    from_polars = clone(model).fit(pl.DataFrame({c: frame[c].to_list() for c in frame}), pl.Series(y[:1000]))
    assert from_polars.predict_proba(pl.DataFrame({c: frame[c].to_list() for c in frame})) == pytest.approx(reference)
    sparse = PriorCorrectedClassifier(balanced).fit(sp.csr_array(X[:1000]), y[:1000])
    assert sparse.predict_proba(sp.csr_array(X[:1000])) == pytest.approx(reference, abs=1e-3)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train_prior": "from X"}, "train_prior must be one of 'from class_weight', 'from y', got 'from X'"),
        ({"true_prior": "from class_weight"}, "true_prior must be one of 'from y', got 'from class_weight'"),
        ({"true_prior": 1.0}, r"true_prior must lie strictly between 0 and 1, got 1\.0"),
        ({"true_prior": [0.2, 0.3, 0.5]}, "true_prior has 3 entries, but there are 2 classes"),
        ({"true_prior": {0: 0.5, 2: 0.5}}, r"true_prior names 2, which is not one of the classes \[0, 1\]"),
        ({"train_prior": {}}, "train_prior has no entry for class 0; name every class"),
        (
            {"estimator": LinearSVC()},
            "must have predict_proba, but LinearSVC has none; wrap it in properly.calibration",
        ),
        ({"estimator": FrozenEstimator(GaussianNB().fit(X3, y3))}, "class 2 has no row of positive weight in y"),
        (
            {"estimator": FrozenEstimator(GaussianNB().fit(X3[y3 > 0], y3[y3 > 0]))},
            r"y holds 0, but the estimator was trained with the classes \[1, 2\]",
        ),
    ],
)
def test_options_are_checked_before_the_fit(options, message):
    class Never(LogisticRegression):
        def fit(self, X, y):
            raise AssertionError("options come first")

    with pytest.raises(ValueError, match=message):
        PriorCorrectedClassifier(**{"estimator": Never(), **options}).fit(X[:200, :2], y[:200])


def test_data_are_checked():
    with pytest.raises(ValueError, match=r"KNeighborsClassifier\.fit has no parameter sample_weight; leave it out"):
        PriorCorrectedClassifier(KNeighborsClassifier()).fit(X[:200], y[:200], sample_weight=np.ones(200))
    with pytest.raises(ValueError, match="class 1 has no row of positive weight in y"):
        PriorCorrectedClassifier(plain).fit(X[:200], y[:200], sample_weight=1 - y[:200])
    with pytest.raises(ValueError, match="one class only, 0; at least 2 classes"):
        PriorCorrectedClassifier(plain).fit(X[:200], np.zeros(200, dtype=int))
    with pytest.raises(ValueError, match="requires y"):
        PriorCorrectedClassifier(plain).fit(X[:200])
