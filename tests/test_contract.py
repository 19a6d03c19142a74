"""One contract for every public classifier: the same methods, which agree with each other, and the same errors."""

import importlib
import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import properly
from properly.boosting.stagewise import AdaBoost
from properly.calibration import BinaryCalibrator, Calibrator, GroupwiseCalibration
from properly.classifier import LogScoreClassifier
from properly.datasets import make_rare_events
from properly.linear.estimator import LinearEstimator
from properly.maxent.semi_supervised import SemiSupervisedClassifier

X, Y, _ = make_rare_events(240, 3, rate=0.4, signal=2.0, random_state=0)
SCORES = X @ [1.5, -1.0, 0.5]
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.5])]
GROUPS = np.where(X[:, 2] > 0.0, "north", "south")
ARGUMENTS = {
    "CalibratedClassifier": {"estimator": LogisticRegression(), "cv": 2},
    "GEVCanonicalRegressionCV": {"xis": [0.0, 0.5], "Cs": 3},
    "PriorCorrectedClassifier": {"estimator": LogisticRegression(class_weight="balanced")},
    "ProperBoostingClassifier": {"n_jobs": 1},
    "TailoredLinearClassifierCV": {"at": 0.3, "concentrations": (3.0,), "cv": 3},
}
OF_TWO_CLASSES = {
    "DiscreteAdaBoost",
    "GEVCanonicalRegressionCV",
    "GEVLogRegression",
    "RareEventLogisticRegression",
    "RealAdaBoost",
    "TailoredLinearClassifierCV",
}


def public_classifiers():
    for name in properly.__all__:
        module = importlib.import_module(f"properly.{name}") if inspect.ismodule(getattr(properly, name)) else None
        for public in getattr(module, "__all__", ()):
            found = getattr(module, public)
            estimator = isinstance(found, type) and issubclass(found, BaseEstimator)
            if estimator and not inspect.isabstract(found) and name != "tables" and hasattr(found, "predict_proba"):
                yield pytest.param(found, id=public)


CLASSIFIERS = list(public_classifiers())


def made(kind, n_classes=2):
    arguments = dict(ARGUMENTS.get(kind.__name__, {}))
    if n_classes > 2 and "default_prevalence" in inspect.signature(kind).parameters:
        arguments["default_prevalence"] = np.full(n_classes, 1.0 / n_classes)
    if "random_state" in inspect.signature(kind).parameters:
        arguments["random_state"] = 0
    return kind(**arguments)


def fitted(kind, y=Y, weight=None, rows=slice(None)):
    """A fitted model, and what its predictions take."""
    model = made(kind, len(np.unique(y)))
    scores = SCORES if len(np.unique(y)) == 2 else X
    if kind is GroupwiseCalibration:
        return model.fit(scores, y, GROUPS), (scores, GROUPS)
    if issubclass(kind, Calibrator):
        return model.fit(scores, y), (scores,)
    if kind.__module__.startswith("properly.maxent"):
        codes = np.unique(y, return_inverse=True)[1]
        return model.fit(X, np.where(np.arange(len(y)) % 3 == 0, -1, codes)), (X,)  # some rows without a label
    return model.fit(X[rows], y, weight), (X,)


def test_there_are_classifiers():
    assert len(CLASSIFIERS) > 30


@pytest.mark.parametrize(
    "base", [Calibrator, BinaryCalibrator, LinearEstimator, AdaBoost, SemiSupervisedClassifier, LogScoreClassifier]
)
def test_a_base_class_is_abstract(base):
    with pytest.raises(TypeError, match="abstract"):
        base()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_methods_agree(kind, n_classes):
    if n_classes == 3 and kind.__name__ in OF_TWO_CLASSES:
        pytest.skip("for two classes")
    model, rows = fitted(kind, Y if n_classes == 2 else THREE)
    p = model.predict_proba(*rows)
    assert p.shape == (len(X), len(model.classes_))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    log_p = model.predict_log_proba(*rows)
    np.testing.assert_allclose(log_p[p > 0.0], np.log(p[p > 0.0]), rtol=1e-9, atol=1e-12)
    assert np.all(log_p[p == 0.0] < -700.0)  # finite or not: a probability that float64 cannot hold
    predicted = model.predict(*rows)
    assert np.isin(predicted, model.classes_).all()
    most = p.max(axis=1)
    chosen = p[np.arange(len(p)), np.searchsorted(model.classes_, predicted)]
    np.testing.assert_allclose(chosen, most, rtol=1e-12)
    decision = model.decision_function(*rows)
    assert np.isfinite(decision).all()
    if len(model.classes_) == 2:
        assert decision.shape == (len(X),)
        assert np.array_equal(decision > 0.0, predicted == model.classes_[1])
        assert np.all(np.diff(p[np.argsort(decision, kind="stable"), 1]) >= -1e-12)  # the order of the probabilities
    else:
        assert decision.shape == p.shape
        assert np.array_equal(model.classes_[decision.argmax(axis=1)], predicted)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_it_is_a_classifier_that_must_be_fitted(kind):
    model = made(kind)
    assert is_classifier(model) or kind is GroupwiseCalibration  # whose predictions take groups as well
    rows = (SCORES, GROUPS) if kind is GroupwiseCalibration else (SCORES,) if issubclass(kind, Calibrator) else (X,)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            getattr(clone(model), method)(*rows)


FOUR = np.array(["a", "b", "c", "d"])[np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.7, 0.0, 0.7])]
SUPERVISED = [  # those that learn from features and a label for every row, with no classifier inside
    each
    for each in CLASSIFIERS
    if each.values[0].__module__.startswith(("properly.linear", "properly.boosting", "properly.tree"))
]


@pytest.mark.parametrize("kind", [each for each in SUPERVISED if each.id not in OF_TWO_CLASSES])
def test_a_class_whose_rows_have_weight_0_has_probability_0(kind, monkeypatch):
    without_chance = {"extra_trees": False, "max_features": 1.0, "max_samples": 1.0}  # which is drawn for each class
    monkeypatch.setitem(ARGUMENTS, "ProperBoostingClassifier", {"n_jobs": 1, **without_chance})
    counted = FOUR != "b"
    model, without = fitted(kind, FOUR, counted.astype(float))[0], fitted(kind, FOUR[counted], rows=counted)[0]
    p = model.predict_proba(X)
    assert list(model.classes_) == ["a", "b", "c", "d"]
    assert np.all(p[:, 1] == 0.0)
    np.testing.assert_allclose(p[:, [0, 2, 3]], without.predict_proba(X), rtol=1e-6)
    assert not np.any(model.predict(X) == "b")


@pytest.mark.parametrize("kind", SUPERVISED)
@pytest.mark.parametrize("kept", [0, 1])
def test_a_single_class_with_weight_is_certain(kind, kept):
    model = made(kind).fit(X, Y, (kept == Y).astype(float))
    np.testing.assert_allclose(model.predict_proba(X)[:, kept], 1.0, rtol=1e-6)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.all(model.predict(X) == kept)


@pytest.mark.filterwarnings("ignore:no weak learner lowers", "ignore:no two classes have two rows each")
@pytest.mark.parametrize("kind", [each for each in SUPERVISED if "CV" not in each.id])  # those need two rows
def test_a_rare_class_can_be_bagged(kind):
    rare = np.where(np.arange(len(Y)) == 0, 1, 0)  # a third of the bootstrap samples lack this row
    bagged = BaggingClassifier(made(kind), n_estimators=5, random_state=0).fit(X, rare)
    assert {0 in rows for rows in bagged.estimators_samples_} == {False, True}
    assert 0.0 <= bagged.predict_proba(X)[:, 1].mean() < 0.5


MISSING = np.array(["a", "b", None] * 80, dtype=object)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (MISSING, "the label of row 2 is missing"),
        (np.where(MISSING == None, np.nan, MISSING), "the label of row 2 is missing"),  # noqa: E711
        (np.where(MISSING == None, 1, MISSING), "mixes 'a' with 1|mixes 'b' with 1|mixes 1 with"),  # noqa: E711
    ],
    ids=["None", "nan", "mixed"],
)
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_mixed_and_missing_labels_are_named(kind, y, message):
    rows = (SCORES, y, GROUPS) if kind is GroupwiseCalibration else (SCORES if issubclass(kind, Calibrator) else X, y)
    with pytest.raises(ValueError, match=message):
        made(kind).fit(*rows)


@pytest.mark.parametrize("kind", SUPERVISED)
def test_columns_that_are_no_numbers_are_named(kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["age", "income", "height"])
    dates = frame.assign(income=pandas.date_range("2020-01-01", periods=len(X)))
    with pytest.raises(ValueError, match=r"column 'income' holds date.*neither numbers nor categories"):
        made(kind).fit(dates, Y)
    with pytest.raises(ValueError, match=r"column 0 holds date.*neither numbers nor categories"):
        made(kind).fit(dates[["income"]].to_numpy(), Y)
    infinite = frame.assign(height=np.where(np.arange(len(X)) == 7, np.inf, X[:, 2]))
    with pytest.raises(ValueError, match=r"infinity.* in column 'height'"):
        made(kind).fit(infinite, Y)
    model = made(kind).fit(frame, Y)
    with pytest.raises(ValueError, match=r"infinity.* in column 'height', first in row 7"):
        model.predict_proba(infinite)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_feature_names_are_kept(kind):
    pandas = pytest.importorskip("pandas")
    if kind is GroupwiseCalibration or issubclass(kind, Calibrator):
        pytest.skip("takes scores, not features")
    labels = Y if not kind.__module__.startswith("properly.maxent") else np.where(np.arange(len(Y)) % 3 == 0, -1, Y)
    frame = pandas.DataFrame(X, columns=["age", "income", "height"])
    model = made(kind).fit(frame, labels)
    assert list(model.feature_names_in_) == ["age", "income", "height"]
    assert model.n_features_in_ == 3
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict_proba(frame[["income", "age", "height"]])


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_masked_entries_are_refused(kind):
    if kind is GroupwiseCalibration:
        pytest.skip("takes groups as well")
    rows = SCORES if issubclass(kind, Calibrator) else X
    y = np.where(np.arange(len(Y)) % 3 == 0, -1, Y) if kind.__module__.startswith("properly.maxent") else Y
    masked = np.ma.masked_array(rows, mask=np.arange(rows.size).reshape(rows.shape) == rows.size - 1)
    with pytest.raises(ValueError, match=r"has masked entries, first in row 239; drop such rows"):
        made(kind).fit(masked, y)
    with pytest.raises(ValueError, match=r"y has masked entries, first in row 7; drop such rows"):
        made(kind).fit(rows, np.ma.masked_array(y, mask=np.arange(len(y)) == 7))
    model = made(kind).fit(np.ma.masked_array(rows), y)  # nothing is masked
    with pytest.raises(ValueError, match=r"has masked entries, first in row 239; drop such rows"):
        model.predict_proba(masked)


@pytest.mark.parametrize("kind", SUPERVISED)
def test_text_and_tables_without_columns_are_named(kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["age", "income", "height"])
    with pytest.raises(ValueError, match=r"column 'income' holds text, such as 'low'; turn it into numbers"):
        made(kind).fit(frame.assign(income="low"), Y)
    with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(240, 0\)\) while a minimum of 1 is required"):
        made(kind).fit(frame[[]], Y)
