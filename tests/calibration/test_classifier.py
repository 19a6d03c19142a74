"""Classifiers with their calibrators: which rows do what, and what scikit-learn expects."""

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from scipy import special as sc
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_validate,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from properly.calibration import (
    CalibratedClassifier,
    HistogramBinning,
    IsotonicCalibration,
    PlattScaling,
    TemperatureScaling,
)
from properly.calibration.methods import METHODS
from properly.inputs.scores import class_log_odds


def data(n=400, n_classes=2, seed=0):
    return make_classification(
        n, 8, n_informative=4, n_classes=n_classes, n_clusters_per_class=1, flip_y=0.1, random_state=seed
    )


X, y = data()
X3, y3 = data(600, 3)


@parametrize_with_checks(
    [
        CalibratedClassifier(LogisticRegression()),
        # A smooth map: steps and kinks lie at the very scores that are checked, where the last digit decides.
        CalibratedClassifier(LogisticRegression(), "beta", ensemble=True),
        CalibratedClassifier(GaussianNB(), "platt", cv=3),
    ],
)
def test_scikit_learn_accepts(estimator, check):
    with np.errstate(over="ignore"):  # it rounds decisions, which are as large as float64 allows where p is 1
        check(estimator)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("X", "y"), [(X, y), (X3, y3)], ids=["2", "3"])
def test_every_method_gives_probabilities(method, X, y):
    p = CalibratedClassifier(GaussianNB(), method, cv=2).fit(X[:200], y[:200]).predict_proba(X[200:])
    assert p.shape == (len(X) - 200, y.max() + 1)
    assert p.sum(axis=1) == pytest.approx(1.0)
    assert np.mean(p.argmax(axis=1) == y[200:]) > 0.6


# ---------------------------------------------------------------- the protocol


@pytest.mark.parametrize("cv", [3, StratifiedKFold(4, shuffle=True, random_state=1), KFold(5)])
def test_out_of_fold_scores_calibrate_and_all_rows_train(cv):
    model = CalibratedClassifier(LinearSVC(), PlattScaling(), cv=cv, ensemble=False).fit(X, y)
    scores = cross_val_predict(LinearSVC(), X, y, cv=cv, method="decision_function")
    calibrator = PlattScaling().fit(scores, y)
    final = LinearSVC().fit(X, y)
    expected = calibrator.predict_proba(final.decision_function(X))
    assert model.predict_proba(X) == pytest.approx(expected, abs=1e-9)
    assert model.estimator_.coef_ == pytest.approx(final.coef_)
    assert model.calibrator_.maps_[0].coef == pytest.approx(calibrator.maps_[0].coef)


def test_an_ensemble_averages_pairs():
    cv = StratifiedKFold(3)
    model = CalibratedClassifier(LinearSVC(), "isotonic", cv=cv, ensemble=True).fit(X, y)
    svms = [LinearSVC().fit(X[train], y[train]) for train, _ in cv.split(X, y)]
    held_out = np.empty(len(y))
    for svm, (_, test) in zip(svms, cv.split(X, y), strict=True):
        held_out[test] = svm.decision_function(X[test])
    calibrator = IsotonicCalibration().fit(held_out, y)
    expected = np.mean([calibrator.predict_proba(svm.decision_function(X)) for svm in svms], axis=0)
    assert model.predict_proba(X) == pytest.approx(expected)
    assert all(pair.calibrator is model.calibrator_ for pair in model.pairs_)
    assert len(model.pairs_) == 3
    assert not hasattr(model, "estimator_")
    with pytest.raises(AttributeError, match="every fold has its own estimator; see pairs_"):
        _ = model.estimator_


@pytest.mark.parametrize("method", ["platt", "isotonic"])
@pytest.mark.parametrize(("X", "y"), [(X, y), (X3, y3)], ids=["2", "3"])
@pytest.mark.parametrize("ensemble", [False, True])
def test_logarithms_and_decisions_are_those_of_the_probabilities(method, X, y, ensemble):
    model = CalibratedClassifier(GaussianNB(), method, cv=3, ensemble=ensemble).fit(X, y)
    p, log_p, decision = model.predict_proba(X), model.predict_log_proba(X), model.decision_function(X)
    with np.errstate(divide="ignore"):
        assert log_p == pytest.approx(np.log(p), abs=1e-9)
    assert np.all(np.isfinite(decision))
    inside = np.all((p > 0.0) & (p < 1.0), axis=1)
    expected = log_p[:, 1] - log_p[:, 0] if y.max() == 1 else log_p
    assert decision[inside] == pytest.approx(expected[inside], abs=1e-9)
    assert np.array_equal(model.predict(X), p.argmax(axis=1))


def test_logarithms_outlive_underflow():
    model = CalibratedClassifier(LinearSVC(), "platt", ensemble=True).fit(X, y)
    assert model.predict_proba([1e6 * model.pairs_[0].estimator.coef_[0]])[0, 0] == 0.0
    assert -np.inf < model.predict_log_proba([1e6 * model.pairs_[0].estimator.coef_[0]])[0, 0] < -750.0


@pytest.mark.parametrize("inner", ["platt", "isotonic", "histogram"])
@pytest.mark.parametrize(("X", "y"), [(X, y), (X3, y3)], ids=["2", "3"])
def test_a_calibrated_classifier_is_calibrated_by_its_probabilities(inner, X, y):
    """Its decisions are as large as float64 allows where a probability is 0 or 1; they must not be taken as scores."""

    class ProbabilitiesOnly(CalibratedClassifier):
        decision_function = predict_log_proba = property(lambda self: self.no_such_attribute)

    fitted = CalibratedClassifier(GaussianNB(), inner, cv=3).fit(X[::2], y[::2])
    plain = ProbabilitiesOnly(GaussianNB(), inner, cv=3).fit(X[::2], y[::2])
    for wrap in (FrozenEstimator, lambda model: FrozenEstimator(make_pipeline(FunctionTransformer(), model))):
        again, expected = (CalibratedClassifier(wrap(model), "platt").fit(X, y) for model in (fitted, plain))
        assert again.predict_proba(X) == pytest.approx(expected.predict_proba(X), abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_as_scikit_learn_does(weighted):
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if weighted else None
    options = {"cv": StratifiedKFold(3), "ensemble": False}
    for name, method, tolerance in [
        ("isotonic", IsotonicCalibration("linear"), 1e-9),
        ("sigmoid", PlattScaling(), 2e-3),
    ]:
        theirs = CalibratedClassifierCV(LinearSVC(), method=name, **options).fit(X, y, sample_weight=weight)
        ours = CalibratedClassifier(LinearSVC(), method, **options).fit(X, y, sample_weight=weight)
        assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=tolerance)


def test_an_estimator_that_is_fitted():
    train, rest = slice(0, 200), slice(200, 400)
    svm = LinearSVC().fit(X[train], y[train])
    weight = np.random.default_rng(0).integers(0, 3, 200)
    model = CalibratedClassifier(FrozenEstimator(svm), "beta").fit(X[rest], y[rest], sample_weight=weight)
    expected = METHODS["beta"]().fit(svm.decision_function(X[rest]), y[rest], weight)
    assert model.predict_proba(X) == pytest.approx(expected.predict_proba(svm.decision_function(X)))
    # Weights are repetitions, exactly, as no folds are drawn.
    rows = np.repeat(np.arange(200, 400), weight)
    again = clone(model).fit(X[rows], y[rows])
    assert model.predict_proba(X) == pytest.approx(again.predict_proba(X))
    assert model.estimator_.coef_ is svm.coef_


def test_a_fitted_estimator_needs_the_same_classes():
    model = CalibratedClassifier(FrozenEstimator(LinearSVC().fit(X3, y3)))
    with pytest.raises(
        ValueError, match=r"was trained on the classes \[.*\], but the calibration rows have .* the same classes"
    ):
        model.fit(X3[y3 < 2], y3[y3 < 2])


def test_rows_held_out_several_times_count_once_in_total():
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=4, random_state=0)
    model = CalibratedClassifier(LinearSVC(), cv=cv).fit(X, y)
    rows = np.concatenate([test for _, test in cv.split(X, y)])
    scores = np.concatenate(
        [LinearSVC().fit(X[a], y[a]).decision_function(X[b]) for a, b in cv.split(X, y)]  # as ever
    )
    expected = METHODS["auto"]().fit(scores, y[rows], np.full(len(rows), 0.25))
    assert model.calibrator_.scores_ == pytest.approx(expected.scores_)


def test_rows_never_held_out_do_not_calibrate():
    cv = TimeSeriesSplit(3)
    model = CalibratedClassifier(LinearSVC(), "platt", cv=cv).fit(X, y)
    scores = [LinearSVC().fit(X[a], y[a]).decision_function(X[b]) for a, b in cv.split(X)]
    rows = np.concatenate([test for _, test in cv.split(X)])
    assert len(rows) < len(X)
    slope = PlattScaling().fit(np.concatenate(scores), y[rows]).maps_[0].coef
    assert model.calibrator_.maps_[0].coef == pytest.approx(slope)


# ---------------------------------------------------------------- scores


def test_probabilities_become_log_odds_without_loss():
    class Sure(ClassifierMixin, BaseEstimator):
        """Log-odds of up to ±600, as the two probabilities only."""

        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X):
            return np.column_stack([sc.expit(-X[:, 0]), sc.expit(X[:, 0])])

    rng = np.random.default_rng(0)
    score = rng.uniform(-600.0, 600.0, 500)
    labels = rng.random(500) < sc.expit(score / 200.0)
    model = CalibratedClassifier(Sure(), "platt").fit(score[:, None], labels)
    expected = PlattScaling().fit(score, labels).predict_proba(score)
    assert model.predict_proba(score[:, None]) == pytest.approx(expected, abs=1e-9)


def test_log_probabilities_are_asked_for():
    """Naive Bayes knows log-odds of thousands, where its probabilities are 0 and 1."""
    many = np.repeat(X, 60, axis=1)
    nb = GaussianNB().fit(many, y)
    assert np.mean(nb.predict_proba(many).min(axis=1) == 0.0) > 0.01
    model = CalibratedClassifier(FrozenEstimator(nb), "platt").fit(many, y)
    log_p = nb.predict_log_proba(many)
    expected = PlattScaling().fit(log_p[:, 1] - log_p[:, 0], y)
    assert model.calibrator_.maps_[0].features.standardize.scale == pytest.approx(
        expected.maps_[0].features.standardize.scale
    )


@pytest.mark.parametrize("estimator", [DecisionTreeClassifier(max_depth=4), KNeighborsClassifier(5)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_zeros_and_ones_are_read_as_calibrators_do(estimator, n_classes):
    X, y = data(400, n_classes)
    fitted = clone(estimator).fit(X[:200], y[:200])
    p = fitted.predict_proba(X[200:])
    assert p.min() == 0.0
    model = CalibratedClassifier(FrozenEstimator(fitted), "platt").fit(X[200:], y[200:])
    values = p[:, 1] if n_classes == 2 else p
    expected = PlattScaling(input="probability").fit(values, y[200:]).predict_proba(values)
    assert model.predict_proba(X[200:]) == pytest.approx(expected, abs=1e-9)


def test_zeros_that_calibration_did_not_see_and_nothing_but_zeros():
    class Given(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X):
            return np.column_stack([1.0 - X[:, 0], X[:, 0]])

    p = np.repeat([0.1, 0.4, 0.9], 20)
    labels = np.random.default_rng(0).random(60) < p
    answers = (
        CalibratedClassifier(Given(), "platt").fit(p[:, None], labels).predict_proba(np.array([[0.0], [1e-300], [1.0]]))
    )
    assert np.all(np.isfinite(answers))
    assert answers[0, 1] <= answers[1, 1] < 1e-100
    p = np.repeat([0.0, 1.0], 20)
    labels = np.arange(40) % 10 < 2 + 5 * p
    answers = CalibratedClassifier(Given(), "isotonic").fit(p[:, None], labels).predict_proba(np.array([[0.0], [1.0]]))
    assert answers[:, 1] == pytest.approx([0.2, 0.7])


def test_decision_function_of_many_classes():
    model = CalibratedClassifier(RidgeClassifier(), TemperatureScaling(), cv=3).fit(X3, y3)
    scores = cross_val_predict(RidgeClassifier(), X3, y3, cv=3, method="decision_function")
    assert model.calibrator_.slope_ == pytest.approx(TemperatureScaling().fit(scores, y3).slope_)


# ---------------------------------------------------------------- weights, groups, metadata


def test_weight_zero_is_absence():
    weight = np.ones(len(y))
    weight[::3] = 0.0
    wild = X.copy()
    wild[::3] = 1e6
    rows = weight > 0.0
    model = CalibratedClassifier(LogisticRegression()).fit(wild, y, sample_weight=weight)
    again = CalibratedClassifier(LogisticRegression()).fit(X[rows], y[rows])
    assert model.predict_proba(X) == pytest.approx(again.predict_proba(X))


@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("as_list", [False, True])
def test_row_numbers_of_cv_are_those_of_the_rows_given(ensemble, as_list):
    fold = np.random.default_rng(0).integers(0, 3, len(y))
    weight = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.5)
    wild = np.where(weight[:, None] > 0.0, X, 1e6)
    labels = np.where(weight > 0.0, y, 7)  # a class without weight is none
    cv = (
        [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)] if as_list else PredefinedSplit(fold)
    )
    model = CalibratedClassifier(LogisticRegression(), "platt", cv=cv, ensemble=ensemble)
    model.fit(wild, labels, sample_weight=weight)
    rows = weight > 0.0
    again = clone(model).set_params(cv=PredefinedSplit(fold[rows])).fit(X[rows], y[rows], sample_weight=weight[rows])
    assert model.classes_.tolist() == [0, 1]
    assert model.predict_proba(X) == pytest.approx(again.predict_proba(X))


def test_splits_that_hold_out_no_weight():
    fold = np.arange(len(y)) % 3
    weight = np.where(fold == 2, 0.0, 1.0)
    model = CalibratedClassifier(LogisticRegression(), "platt", cv=PredefinedSplit(fold))
    rows = fold < 2
    again = clone(model).set_params(cv=PredefinedSplit(fold[rows])).fit(X[rows], y[rows])
    assert model.fit(X, y, sample_weight=weight).predict_proba(X) == pytest.approx(again.predict_proba(X))
    assert len(clone(model).set_params(ensemble=True).fit(X, y, sample_weight=weight).pairs_) == 2
    with pytest.raises(ValueError, match="no split of cv has training rows of every class"):
        model.set_params(cv=[(np.flatnonzero(rows), np.flatnonzero(~rows))]).fit(X, y, sample_weight=weight)


def test_weight_reaches_the_estimator_and_the_calibrator():
    weight = np.where(y == 1, 3.0, 1.0)
    folds = StratifiedKFold(3)
    model = CalibratedClassifier(LogisticRegression(), "platt", cv=folds, ensemble=False).fit(
        X, y, sample_weight=weight
    )
    assert model.estimator_.coef_ == pytest.approx(LogisticRegression().fit(X, y, weight).coef_)
    scores = np.empty(len(y))
    for train, test in folds.split(X, y):
        scores[test] = LogisticRegression().fit(X[train], y[train], weight[train]).decision_function(X[test])
    expected = PlattScaling().fit(scores, y, weight).predict_proba(scores)
    assert model.calibrator_.predict_proba(scores) == pytest.approx(expected, rel=1e-12)


def test_an_estimator_without_weights_is_told_of():
    weight = np.ones(len(y))
    with pytest.warns(UserWarning, match=r"KNeighborsClassifier\.fit has no parameter sample_weight"):
        CalibratedClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=weight)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    CalibratedClassifier(pipeline).fit(X, y, sample_weight=weight, logisticregression__sample_weight=weight)


class Remembers(LogisticRegression):
    """Keeps what `fit` was given beside X and y."""

    seen = None

    def fit(self, X, y, sample_weight=None, cost=None, colour=None):
        self.seen = (X, cost, colour)
        return super().fit(X, y, sample_weight)


def test_other_parameters_of_fit_are_split_with_the_rows():
    cost = X[:, 0].copy()
    model = CalibratedClassifier(Remembers(), cv=4, ensemble=True).fit(X, y, cost=cost, colour="red")
    for pair in model.pairs_:
        rows, seen, colour = pair.estimator.seen
        assert len(rows) == 300
        assert np.array_equal(seen, rows[:, 0])
        assert colour == "red"


def test_groups_reach_the_splitter():
    groups = np.arange(len(y)) % 7
    model = CalibratedClassifier(LogisticRegression(), "platt", cv=GroupKFold(3)).fit(X, y, groups=groups)
    splits = list(GroupKFold(3).split(X, y, groups))
    again = CalibratedClassifier(LogisticRegression(), "platt", cv=splits).fit(X, y)
    assert model.predict_proba(X) == pytest.approx(again.predict_proba(X))
    weight = (np.arange(len(y)) % 2).astype(float)  # a splitter sees all rows
    model = clone(model).fit(X, y, sample_weight=weight, groups=groups)
    again = clone(again).fit(X, y, sample_weight=weight)
    assert model.predict_proba(X) == pytest.approx(again.predict_proba(X))
    with pytest.warns(UserWarning, match="groups parameter is ignored"):  # also with folds by number, which do not
        CalibratedClassifier(LogisticRegression(), "platt").fit(X, y, sample_weight=weight, groups=groups)


def test_metadata_routing():
    groups, weight, cost = np.arange(len(y)) % 7, np.linspace(0.5, 2.0, len(y)), X[:, 0].copy()
    with sklearn.config_context(enable_metadata_routing=True):
        inner = Remembers().set_fit_request(sample_weight=True, cost=True)
        model = CalibratedClassifier(inner, "platt", cv=GroupKFold(3), ensemble=False)
        model.fit(X, y, sample_weight=weight, groups=groups, cost=cost)
        deaf = CalibratedClassifier(
            Remembers().set_fit_request(sample_weight=False), "platt", cv=GroupKFold(3), ensemble=False
        )
        deaf.fit(X, y, sample_weight=weight, groups=groups)
        with pytest.raises(TypeError, match="unexpected argument"):
            deaf.fit(X, y, nonsense=weight)
        for cv in (3, KFold(3)):
            with pytest.raises(
                TypeError, match=r"neither cv=.*3.* nor the estimator requests it; use a splitter that does"
            ):
                CalibratedClassifier(Remembers(), cv=cv).fit(X, y, groups=groups)
        asks = CalibratedClassifier(Remembers().set_fit_request(cost="groups"), cv=3, ensemble=False).fit(
            X, y, groups=groups
        )
        assert np.array_equal(asks.estimator_.seen[1], groups)
    plain = CalibratedClassifier(Remembers(), "platt", cv=GroupKFold(3), ensemble=False)
    expected = plain.fit(X, y, sample_weight=weight, groups=groups, cost=cost)
    assert model.predict_proba(X) == pytest.approx(expected.predict_proba(X))
    assert np.array_equal(model.estimator_.seen[1], cost)
    assert deaf.estimator_.coef_ == pytest.approx(LogisticRegression().fit(X, y).coef_)


# ---------------------------------------------------------------- citizens


def test_texts():
    texts = ["good fine nice", "bad poor", "nice good", "poor awful bad", "fine", "awful"] * 10
    labels = np.array(["yes", "no"] * 30)
    model = CalibratedClassifier(make_pipeline(TfidfVectorizer(), LinearSVC())).fit(texts, labels)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.predict(["good nice", "awful"]).tolist() == ["yes", "no"]
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("library", [pd, pl])
def test_frames(library):
    frame = library.DataFrame({f"x{j}": X[:, j] for j in range(8)})
    model = CalibratedClassifier(LogisticRegression()).fit(frame, y)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert model.n_features_in_ == 8
    assert model.predict_proba(frame) == pytest.approx(
        CalibratedClassifier(LogisticRegression()).fit(X, y).predict_proba(X)
    )


def test_sparse_and_parallel():
    expected = CalibratedClassifier(LogisticRegression(), cv=3).fit(X, y).predict_proba(X)
    with joblib.parallel_config("threading"):  # processes take seconds to start
        model = CalibratedClassifier(LogisticRegression(), cv=3, n_jobs=2).fit(sp.csr_array(X), y)
    assert model.predict_proba(sp.csr_array(X)) == pytest.approx(expected)


def test_precomputed_kernels():
    kernel = X @ X.T
    model = CalibratedClassifier(SVC(kernel="precomputed"), "platt", cv=3, ensemble=False).fit(kernel, y)
    expected = CalibratedClassifier(SVC(kernel="linear"), "platt", cv=3, ensemble=False).fit(X, y)
    assert model.predict_proba(kernel) == pytest.approx(expected.predict_proba(X), abs=1e-6)
    with pytest.raises(ValueError, match=r"a precomputed kernel is one of all training rows, .* use ensemble=False"):
        CalibratedClassifier(SVC(kernel="precomputed"), cv=3).fit(kernel, y)


def test_grid_search_and_clone():
    model = CalibratedClassifier(LogisticRegression(), HistogramBinning(input="probability"), ensemble=False)
    assert clone(model).get_params()["method__n_bins"] == 10
    grid = {"method": ["platt", "isotonic", IsotonicCalibration(strict=True)], "estimator__C": [0.01, 1.0]}
    search = GridSearchCV(
        make_pipeline(StandardScaler(), model), {f"calibratedclassifier__{k}": v for k, v in grid.items()}
    )
    search.set_params(scoring="neg_log_loss", cv=3).fit(X, y)
    assert search.best_params_["calibratedclassifier__method"] != "isotonic"  # says 0 and 1
    inside = CalibratedClassifier(
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2), cv=2, ensemble=False
    ).fit(X, y)
    assert inside.estimator_.best_params_["C"] in (0.1, 1.0)


def test_calibration_helps():
    X, y = data(4000, 2, 1)
    forest = RandomForestClassifier(30, min_samples_leaf=1, random_state=0)
    X = np.hstack([X, X, X])
    for estimator in (GaussianNB(), forest):
        plain = clone(estimator).fit(X[:2000], y[:2000]).predict_proba(X[2000:])[:, 1]
        better = CalibratedClassifier(estimator).fit(X[:2000], y[:2000]).predict_proba(X[2000:])[:, 1]
        assert np.mean((better - y[2000:]) ** 2) < np.mean((plain - y[2000:]) ** 2)


# ---------------------------------------------------------------- several labels


def test_several_labels_one_by_one():
    X, labels = make_multilabel_classification(300, n_classes=4, random_state=0)
    model = OneVsRestClassifier(CalibratedClassifier(LinearSVC(), "platt")).fit(X, labels)
    p = model.predict_proba(X)
    assert p.shape == labels.shape
    listed = MultiOutputClassifier(CalibratedClassifier(LinearSVC(), "platt")).fit(X, labels).predict_proba(X)
    for j in range(4):
        alone = CalibratedClassifier(LinearSVC(), "platt").fit(X, labels[:, j]).predict_proba(X)
        assert p[:, j] == pytest.approx(alone[:, 1])
        assert listed[j] == pytest.approx(alone)
    with pytest.raises(ValueError, match=r"y has shape \(300, 4\), several labels in each row.*OneVsRestClassifier"):
        CalibratedClassifier(LinearSVC()).fit(X, labels)


# ---------------------------------------------------------------- what cannot be done


def test_folds_are_lowered_to_the_rarest_class():
    rows = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:3]])
    model = CalibratedClassifier(LogisticRegression(), "platt", cv=10, ensemble=True).fit(X[rows], y[rows])
    assert len(model.pairs_) == 3


@pytest.mark.parametrize("ensemble", [False, True])
def test_a_split_that_lacks_a_class_is_left_out(ensemble):
    rare = np.flatnonzero(y == 1)[:6]
    rows = np.concatenate([rare, np.flatnonzero(y == 0)[:90], np.flatnonzero(y == 1)[6:20]])
    labels = np.where(np.arange(len(rows)) < 6, "rare", np.where(y[rows] == 1, "b", "a"))
    halves = [np.arange(3, 6), np.arange(3)]
    splits = [(np.setdiff1d(np.arange(110), held), held) for held in (np.arange(6), *halves, np.arange(6, 110, 2))]
    with pytest.warns(UserWarning, match="split 0 of cv have none of class 'rare', so that the split is left out"):
        model = CalibratedClassifier(LogisticRegression(), "platt", cv=splits, ensemble=ensemble).fit(X[rows], labels)
    expected = CalibratedClassifier(LogisticRegression(), "platt", cv=splits[1:], ensemble=ensemble).fit(
        X[rows], labels
    )
    assert np.array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_errors_name_the_remedy():
    rows = np.append(np.flatnonzero(y == 0), np.flatnonzero(y == 1)[0])
    with pytest.raises(ValueError, match="class 1 has a single row"):
        CalibratedClassifier(LogisticRegression()).fit(X[rows], y[rows])
    order = np.argsort(y3, kind="stable")
    with (
        pytest.warns(UserWarning, match="of split . of cv have none of class ., so that the split is left out"),
        pytest.raises(ValueError, match="the held-out rows have none of class 1"),
    ):
        CalibratedClassifier(LogisticRegression(), cv=KFold(3)).fit(X3[order], y3[order])
    labels = np.where(y3 == 0, "a", "b").astype(object)
    labels[[10, 20, 250]] = "rare"
    assert len(CalibratedClassifier(LogisticRegression(), cv=KFold(3), ensemble=True).fit(X3, labels).pairs_) == 3
    with pytest.raises(ValueError, match="none of class 'rare'; hold out more rows, or use stratified folds"):
        CalibratedClassifier(LogisticRegression(), cv=ShuffleSplit(1, test_size=0.1, random_state=0)).fit(X3, labels)
    with pytest.raises(ValueError, match=r"method must be one of 'auto', .*got 'sigmoid'"):
        CalibratedClassifier(LogisticRegression(), "sigmoid").fit(X, y)
    with pytest.raises(ValueError, match="requires y"):
        CalibratedClassifier(LogisticRegression()).fit(X)
    with pytest.raises(ValueError, match="sample_weight has 3 entries, but there are 400 rows; every row needs one"):
        CalibratedClassifier(LogisticRegression()).fit(X, y, sample_weight=np.ones(3))
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match=f"sample_weight must be finite, got {value}"):
            CalibratedClassifier(LogisticRegression()).fit(X, y, sample_weight=np.full(len(y), value))


@pytest.mark.parametrize("n_classes", [3, 4])
def test_scores_of_pairs_of_classes_are_refused(n_classes):
    X, y = data(300, n_classes)
    pairs = SVC(decision_function_shape="ovo")
    searched = GridSearchCV(SVC(), {"decision_function_shape": ["ovo"]}, cv=2)  # seen once it is fitted
    for model in (pairs, make_pipeline(StandardScaler(), pairs), FrozenEstimator(clone(pairs).fit(X, y)), searched):
        with pytest.raises(ValueError, match=r'SVC has decision_function_shape="ovo".*use .*="ovr"'):
            CalibratedClassifier(model, "platt", cv=2).fit(X, y)
    CalibratedClassifier(pairs, "platt", cv=2).fit(X[y < 2], y[y < 2])  # one pair is as good


def test_estimators_without_scores_are_refused_before_they_are_trained():
    class Untrained(Ridge):
        def fit(self, X, y):
            raise RuntimeError("must not be trained")

    class Voters(VotingClassifier):
        def fit(self, X, y):
            raise RuntimeError("must not be trained")

    voters = [("a", LogisticRegression()), ("b", GaussianNB())]
    for model in (Untrained(), make_pipeline(StandardScaler(), Untrained()), Voters(voters, voting="hard")):
        with pytest.raises(ValueError, match=r'has neither decision_function nor predict_proba.*voting="soft"'):
            CalibratedClassifier(model).fit(X, y)
    for model in (VotingClassifier(voters, voting="soft"), StackingClassifier(voters, cv=2)):
        assert CalibratedClassifier(model, "platt", cv=2).fit(X, y).score(X, y) > 0.7
    with pytest.raises(ValueError, match="StackingClassifier has neither"):  # known only then
        CalibratedClassifier(StackingClassifier(voters, RidgeLabels(), cv=2), cv=2).fit(X, y)


class RidgeLabels(ClassifierMixin, Ridge):
    """Labels and no scores."""

    def predict(self, X):
        return (super().predict(X) > 0.5).astype(int)


def test_equal_probabilities_of_three_classes_are_ties():
    X, y = make_classification(600, n_classes=3, n_informative=4, random_state=0)
    model = CalibratedClassifier(RandomForestClassifier(10, random_state=0), "isotonic", cv=3).fit(X, y)
    pair = model.pairs_[0]
    p = pair.estimator.predict_proba(X)
    log_odds = class_log_odds(pair.calibrator.reader_(np.log(np.maximum(p, 1e-300))), True)
    for k in range(3):
        for value in np.unique(p[:, k]):
            assert len(np.unique(log_odds[p[:, k] == value, k])) == 1
        calibrated = pair.calibrator.maps_[k].log_odds(log_odds[:, k])
        assert all(len(np.unique(calibrated[p[:, k] == value])) == 1 for value in np.unique(p[:, k]))
        # Blocks begin where probabilities differ, not where the rounding of a softmax does.
        assert np.diff(pair.calibrator.maps_[k].first).min() > 1e-9


def test_a_fitted_classifier_is_passed_frozen():
    with pytest.raises(ValueError, match=r"got 'prefit'; a classifier that is fitted already .*FrozenEstimator"):
        CalibratedClassifier(LogisticRegression(), cv="prefit").fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])


def test_groups_need_no_request_of_their_own():
    groups = np.arange(len(y)) % 6
    with sklearn.config_context(enable_metadata_routing=True):
        for cv in (3, GroupKFold(3)):
            model = CalibratedClassifier(LogisticRegression(), "platt", cv=cv)
            scores = cross_validate(model, X, y, params={"groups": groups}, cv=GroupKFold(3), error_score="raise")
            assert np.isfinite(scores["test_score"]).all()
