"""ONNX graphs give the probabilities of the models they were made of, in onnxruntime."""

import sys
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import special as sc
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC

from properly.calibration import (
    BinaryCalibrator,
    CalibratedClassifier,
    GroupwiseCalibration,
    HistogramBinning,
    IsotonicCalibration,
    MulticlassCalibration,
    PlattScaling,
)
from properly.calibration.methods import METHODS
from properly.datasets import make_rare_events
from properly.linear import (
    GEVCanonicalRegression,
    GEVCanonicalRegressionCV,
    GEVLogRegression,
    ProperLinearClassifier,
    RareEventLogisticRegression,
    TailoredLinearClassifierCV,
)
from properly.links import GEV, LINKS
from properly.losses import BetaLoss, BoostingLoss, SquaredLoss
from properly.maxent import Maxent
from properly.numeric import functions as fn
from properly.numeric.arrays import namespace
from properly.onnx import to_onnx
from properly.onnx.traceable import once
from properly.prevalence import PriorCorrectedClassifier

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="runs the graphs")

X, Y, _ = make_rare_events(400, 3, rate=0.3, random_state=0)
THREE = np.array(["low", "mid", "high"])[np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.5])]
SCORES = X @ [1.5, -1.0, 0.5]
RANDOM = np.random.default_rng(1)
NEW = np.concatenate([RANDOM.normal(size=(300, 3)), 10.0 * RANDOM.normal(size=(100, 3)), [[0.0, 0.0, 0.0]]])
NEW_SCORES = np.concatenate([2.0 * RANDOM.normal(size=300), 30.0 * RANDOM.normal(size=100), [0.0, -700.0, 700.0, 1e6]])
TINY = 1e-290  # below, float64 runs out of digits


def session_of(proto):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def run(rows):
        rows = np.asarray(rows, dtype=np.float64)
        rows = rows[:, None] if rows.ndim == 1 else rows
        return session.run(["label", "probabilities"], {session.get_inputs()[0].name: rows})

    return run


def outputs(model, rows, n_features=None):
    return session_of(to_onnx(model, n_features))(rows)


def assert_same(model, rows, rtol=1e-9, atol=TINY):
    label, probabilities = outputs(model, rows)
    expected = model.predict_proba(rows)
    assert probabilities.dtype == np.float64
    np.testing.assert_allclose(probabilities, expected, rtol=rtol, atol=atol)
    close = np.ptp(np.sort(expected, axis=1)[:, -2:], axis=1) < 1e-9 + 10 * rtol  # rounding decides between equals
    assert np.array_equal(label[~close], model.predict(rows)[~close])


def quietly(model, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whether it converges is no matter here
        return model.fit(X, y)


@pytest.mark.parametrize("link", [*LINKS, GEV(0.5), GEV(-0.3), GEV(1e-9), GEV(2.0)], ids=str)
@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "one-versus-rest"])
def test_every_link(link, y):
    assert_same(quietly(ProperLinearClassifier("log", link, max_iter=10), y), NEW)


@pytest.mark.parametrize("link", [*LINKS, GEV(0.5), GEV(-0.5)], ids=str)
def test_tails_keep_their_digits(link):
    """Both columns of scores far out, against the link itself."""
    model = quietly(ProperLinearClassifier("log", link, max_iter=5), Y)
    model.coef_, model.intercept_ = np.array([[1.0, 0.0, 0.0]]), np.array([0.0])
    v = np.concatenate([np.linspace(-40.0, 40.0, 801), np.geomspace(1e-12, 700.0, 60), -np.geomspace(1e-12, 700.0, 60)])
    rows = np.column_stack([v, np.zeros((len(v), 2))])
    p, q = model.link_.inverse_pair(v)
    np.testing.assert_allclose(outputs(model, rows)[1], np.column_stack([q, p]), rtol=1e-11, atol=TINY)


def test_probit_against_the_normal_distribution():
    model = quietly(ProperLinearClassifier("log", "probit"), Y)
    model.coef_, model.intercept_ = np.array([[1.0]]), np.array([0.0])
    v = np.linspace(-37.0, 8.0, 500)
    model.n_features_in_ = 1
    np.testing.assert_allclose(outputs(model, v)[1][:, 1], sc.ndtr(v), rtol=1e-12)


@pytest.mark.parametrize("y", [Y, THREE, Y.astype(bool), Y + 0.5], ids=["int", "str", "bool", "float"])
@pytest.mark.parametrize("loss", ["log", "squared", BoostingLoss(), SquaredLoss()], ids=str)
def test_canonical_links_softmax_and_labels(loss, y):
    if isinstance(y[0], np.floating):
        y = np.where(y > 1.0, "1.5", "0.5").astype(object)
    assert_same(quietly(ProperLinearClassifier(loss), y), NEW)


def test_types_of_labels():
    for y, kind in ((Y, np.int64), (Y.astype(np.uint8), np.int64), (Y.astype(bool), np.bool_), (Y * 2.0, np.float64)):
        label, _ = outputs(quietly(ProperLinearClassifier(), y), NEW)
        assert label.dtype == kind
        assert label.shape == (len(NEW),)
    label, _ = outputs(quietly(ProperLinearClassifier(), THREE), NEW)
    assert set(label) <= {"low", "mid", "high"}


@pytest.mark.parametrize(
    "model",
    [
        GEVCanonicalRegression(0.3),
        GEVLogRegression(-0.3),
        RareEventLogisticRegression(population_rate=0.01),
        TailoredLinearClassifierCV(0.3, (3.0,), cv=3),
        GEVCanonicalRegressionCV([-0.5, 0.0, 0.5], 3),
        GEVCanonicalRegressionCV([0.5], 3, average=False),
        ProperLinearClassifier(BetaLoss.tailored(0.2, 5.0), "logit"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_linear_models(model):
    assert_same(quietly(model, Y), NEW)
    calibrated = quietly(CalibratedClassifier(model, "platt", cv=2), Y)
    assert_same(calibrated, NEW)


def test_averaged_model_has_several_links():
    model = quietly(GEVCanonicalRegressionCV([-0.5, 0.0, 0.5], 3), Y)
    assert len(model.links_) > 1
    assert_same(model, NEW)


@pytest.mark.parametrize("method", METHODS)
def test_calibrators_of_two_classes(method):
    assert_same(METHODS[method]().fit(SCORES, Y), NEW_SCORES)
    p = sc.expit(SCORES)
    model = METHODS[method](input="probability").fit(np.where(p < 0.05, 0.0, p), Y)
    assert_same(model, np.concatenate([RANDOM.random(200), [0.0, 1.0, 0.5, 1e-300, 1.0 - 1e-16]]))


@pytest.mark.parametrize("method", METHODS)
def test_calibrators_of_three_classes(method):
    logits = X @ RANDOM.normal(size=(3, 3))
    assert_same(METHODS[method]().fit(logits, THREE), NEW)
    p = RANDOM.dirichlet([0.5, 0.5, 0.5], 200)
    model = METHODS[method](input="probability").fit(sc.softmax(logits, axis=1), THREE)
    assert_same(model, np.concatenate([p, np.eye(3), [[1.0 - 1e-9, 1e-9, 0.0]]]))


@pytest.mark.parametrize(
    "options",
    [
        (IsotonicCalibration("linear")),
        (IsotonicCalibration("linear", strict=True)),
        (IsotonicCalibration(strict=True)),
        (HistogramBinning(7, "width")),
        *(METHODS[name](monotone=True) for name in ("gaussian", "laplace", "hybrid", "asymmetric_gaussian")),
        (PlattScaling(noisy_labels=False)),
    ],
    ids=str,
)
def test_options_of_calibrators(options):
    assert_same(options.fit(SCORES, Y), NEW_SCORES)
    assert_same(options.fit(-SCORES, Y), NEW_SCORES)


@pytest.mark.parametrize("method", METHODS)
def test_calibrators_of_degenerate_data(method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        equal = METHODS[method](input="score").fit(np.ones(20), np.arange(20) % 2)
        assert_same(equal, NEW_SCORES)
        assert_same(METHODS[method]().fit([1.0, 2.0], [0, 1]), NEW_SCORES)  # one row each
        assert_same(METHODS[method]().fit(1e9 * SCORES, Y), 1e9 * NEW_SCORES)


@pytest.mark.parametrize("target", ["classwise", "full"])
@pytest.mark.parametrize("method", ["auto", "temperature", "structured_matrix"])
def test_multiclass_targets(method, target):
    assert_same(MulticlassCalibration(method, target).fit(X, THREE), NEW)


@pytest.mark.parametrize("method", ["platt", "isotonic", "auto"])
def test_confidence(method):
    for scale in (0.3, 3.0):  # the top class is raised, and lowered
        model = MulticlassCalibration(method, "confidence").fit(scale * X[:, ::-1], THREE)
        assert_same(model, scale * NEW)
    always_right = np.array(["a", "b", "c"])[X.argmax(axis=1)]
    assert_same(MulticlassCalibration(method, "confidence").fit(X, always_right), NEW)


@pytest.mark.parametrize("name", ["isotonic", "histogram", "venn_abers"])
def test_rows_on_the_edges_of_steps_stay_on_their_side(name):
    """The scores of the calibration rows are edges; another order of additions must not move them."""
    base = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    assert_same(CalibratedClassifier(FrozenEstimator(base), name).fit(X, Y), X)
    forest = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, Y)
    pytest.importorskip("skl2onnx")
    assert_same(CalibratedClassifier(FrozenEstimator(forest), name).fit(X, Y), X, 1e-6)


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize(
    "estimator",
    [
        ProperLinearClassifier(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(with_mean=False), "passthrough", ProperLinearClassifier("log", "cloglog")),
        LinearSVC(),
        SGDClassifier(random_state=0),
        LinearDiscriminantAnalysis(),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("ensemble", [False, True])
def test_calibrated_classifiers(estimator, y, ensemble):
    assert_same(quietly(CalibratedClassifier(estimator, "beta", cv=2, ensemble=ensemble), y), NEW)


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_automatic_calibration_of_folds(y):
    assert_same(CalibratedClassifier(ProperLinearClassifier(), "auto", cv=2, ensemble=True).fit(X, y), NEW)


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_nested_models(y):
    balanced = LogisticRegression(class_weight="balanced")
    corrected = PriorCorrectedClassifier(make_pipeline(StandardScaler(), balanced)).fit(X, y)
    # scikit-learn's 1 - p has lost the digits that the graph still has, and what builds on its logarithm as well
    assert_same(corrected, NEW[:300])
    assert_same(CalibratedClassifier(corrected, "platt", cv=2).fit(X, y), NEW[:300])
    inner = CalibratedClassifier(LogisticRegression(), "platt", cv=2)
    assert_same(CalibratedClassifier(inner, "temperature", cv=2).fit(X, y), NEW)
    assert_same(make_pipeline(StandardScaler(), ProperLinearClassifier()).fit(X, y), NEW)
    assert_same(LogisticRegression().fit(X, y), NEW, atol=1e-15)
    assert_same(quietly(LogisticRegressionCV(Cs=2, cv=2), y), NEW, atol=1e-15)


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize(
    ("estimator", "rtol"),
    [
        (RandomForestClassifier(10, max_depth=4, random_state=0), 1e-4),
        (GradientBoostingClassifier(n_estimators=10), 1e-4),
        (GaussianNB(), 1e-7),
        (SVC(), 1e-4),
        (make_pipeline(SimpleImputer(), MinMaxScaler(), LogisticRegression()), 1e-9),
    ],
    ids=lambda x: type(x).__name__,
)
def test_others_go_through_skl2onnx(estimator, rtol, y):
    pytest.importorskip("skl2onnx")
    rows = np.float32(NEW[:300]).astype(np.float64)  # trees read float32
    assert_same(CalibratedClassifier(estimator, "platt", cv=2).fit(X, y), rows, rtol, 1e-7 if rtol > 1e-8 else TINY)


def test_one_feature_keeps_its_digits():
    """A factor beside a product of matrices is joined to it by onnxruntime, in float32."""
    model = make_pipeline(StandardScaler(), ProperLinearClassifier()).fit(0.3 * X[:, :1] + 0.1, Y)
    assert_same(model, NEW[:, :1])
    assert_same(CalibratedClassifier(model, "auto", cv=2).fit(X[:, :1], Y), NEW[:, :1])


def test_missing_values_are_filled_in():
    gaps = np.where(RANDOM.random(X.shape) < 0.1, np.nan, X)
    for imputer in (SimpleImputer(), make_pipeline(SimpleImputer(strategy="median"), StandardScaler())):
        model = make_pipeline(imputer, ProperLinearClassifier()).fit(gaps, Y)
        assert_same(model, np.where(RANDOM.random(NEW.shape) < 0.3, np.nan, NEW))


def test_missing_skl2onnx_is_named(monkeypatch):
    model = CalibratedClassifier(GaussianNB(), "platt").fit(X, Y)
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"GaussianNB is left to skl2onnx.*pip install skl2onnx"):
        to_onnx(model)


def test_missing_onnx_is_named(monkeypatch):
    model = ProperLinearClassifier().fit(X, Y)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install "properly\[onnx\]"'):
        to_onnx(model)


def test_what_cannot_be_written_is_told():
    with pytest.raises(NotImplementedError, match=r"closed form.*Logit"):
        to_onnx(quietly(ProperLinearClassifier(BetaLoss(0.5, 1.5)), Y))
    with pytest.raises(
        NotImplementedError,
        match=r"Maxent cannot be written as ONNX: its prediction is not made of functions",
    ):
        to_onnx(Maxent().fit(X, np.where(Y, 1, -1)))
    with pytest.raises(NotImplementedError, match="GroupwiseCalibration cannot be written as ONNX"):
        to_onnx(GroupwiseCalibration("platt").fit(SCORES, Y, X[:, 1] > 0.0), 1)
    for wrong in ("text", LinearSVC().fit(X, Y), StandardScaler().fit(X)):
        with pytest.raises(ValueError, match=f"predict_proba, or a calibrator, got {type(wrong).__name__}; "):
            to_onnx(wrong)
    model = ProperLinearClassifier().fit(X, Y)
    model.classes_ = np.array([None, "yes"], dtype=object)
    with pytest.raises(NotImplementedError, match="labels must be texts or numbers for ONNX, got None"):
        to_onnx(model)
    with pytest.raises(ValueError, match="not fitted"):
        to_onnx(ProperLinearClassifier())
    with pytest.raises(ValueError, match="n_features must be 3"):
        to_onnx(ProperLinearClassifier().fit(X, Y), 4)


def test_graph_states_its_versions_and_shapes():
    proto = to_onnx(ProperLinearClassifier().fit(X, Y), n_features=3)
    onnx.checker.check_model(proto, full_check=True)
    assert {entry.domain: entry.version for entry in proto.opset_import}[""] == 21
    assert proto.ir_version == 10
    shape = proto.graph.input[0].type.tensor_type.shape.dim
    assert (shape[0].dim_param, shape[1].dim_value) == ("n", 3)


def test_no_row_and_one_row():
    models = [ProperLinearClassifier().fit(X, Y), CalibratedClassifier(LogisticRegression()).fit(X, THREE)]
    models += [METHODS[name]().fit(X, THREE) for name in METHODS] + [
        MulticlassCalibration("platt", "confidence").fit(X, THREE)
    ]
    for model in models:
        run = session_of(to_onnx(model))
        for rows in (NEW[:0], NEW[:1]):
            label, probabilities = run(rows)
            assert label.shape == (len(rows),)
            assert probabilities.shape == (len(rows), len(model.classes_))


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_linear_classifiers_whose_coefficients_have_another_shape(y):
    assert_same(CalibratedClassifier(RidgeClassifier(), "platt").fit(X, y), NEW)  # one dimension for two classes
    sparse = SGDClassifier(random_state=0).fit(X, y).sparsify()
    assert_same(CalibratedClassifier(FrozenEstimator(sparse), "platt").fit(X, y), NEW)
    assert_same(LogisticRegression().fit(X, y).sparsify(), NEW, atol=1e-15)


@pytest.mark.parametrize("method", ["isotonic", "histogram", "venn_abers"])
def test_steps_of_forests_of_three_classes(method):
    pytest.importorskip("skl2onnx")
    model = CalibratedClassifier(RandomForestClassifier(10, random_state=0), method, cv=3).fit(X, THREE)
    assert_same(model, np.concatenate([X, NEW]), rtol=1e-5)


@pytest.mark.parametrize(
    "imputer",
    [
        SimpleImputer(add_indicator=True),
        SimpleImputer(strategy="constant", fill_value=3.0),
        SimpleImputer(missing_values=np.float32("nan")),
        SimpleImputer(keep_empty_features=True, add_indicator=True),
    ],
    ids=str,
)
@pytest.mark.parametrize("empty", [False, True])
def test_every_way_to_fill_in(imputer, empty):
    missing = RANDOM.random(X.shape) < 0.1
    missing[:, 1] |= empty
    rows = np.where(missing, np.nan, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a column without values
        model = make_pipeline(imputer, LogisticRegression()).fit(rows, Y)
        assert_same(model, np.where(RANDOM.random(NEW.shape) < 0.1, np.nan, NEW), atol=1e-15)


def test_parts_that_need_single_precision():
    pytest.importorskip("skl2onnx")
    columns = ColumnTransformer([("filled", SimpleImputer(), [0, 1])], remainder="passthrough")
    for step in (PolynomialFeatures(2), columns):  # in float64 no runtime would load what skl2onnx writes
        assert_same(make_pipeline(step, StandardScaler(), LogisticRegression()).fit(X, Y), X, rtol=1e-4)


def test_edges_move_by_what_the_part_before_them_rounds():
    pytest.importorskip("skl2onnx")
    # Scores on either side of an edge, apart by a ten-millionth: float64 tells them apart, through skl2onnx as well.
    rows = np.repeat([[1.0], [1.0 + 1e-7], [0.0], [2.0]], 50, axis=0)
    y = np.repeat([0, 1, 0, 1], 50)
    scaled = make_pipeline(MinMaxScaler(), LogisticRegression()).fit([[0.0], [1.0], [9.0]], [0, 0, 1])
    model = CalibratedClassifier(FrozenEstimator(scaled), "isotonic").fit(rows, y)
    assert model.predict(rows).tolist() == y.tolist()
    assert_same(model, rows)


def test_subclasses_of_other_libraries_are_not_written_as_their_parents():
    class Squared(LogisticRegression):
        def predict_proba(self, X):
            return super().predict_proba(X) ** 2

    class Doubled(StandardScaler):
        def transform(self, X, copy=None):
            return 2 * super().transform(X)

    for model in (
        Squared().fit(X, Y),
        make_pipeline(Doubled(), LogisticRegression()).fit(X, Y),
        CalibratedClassifier(Squared(), "platt").fit(X, Y),
    ):
        with pytest.raises((NotImplementedError, ImportError), match=r"Squared|Doubled"):
            to_onnx(model)


@dataclass(frozen=True)
class Kinked:
    """A map that this library does not have."""

    slope: float

    def log_odds(self, score):
        xp = namespace(score)
        return xp.where(score > 0.0, self.slope * score, score) + fn.log_expit(score)


class KinkedCalibration(BinaryCalibrator):
    def _fit_map(self, sample):
        return Kinked(float(sample.score.std()))


def test_a_calibrator_of_your_own_is_written_without_a_word_about_onnx():
    assert_same(KinkedCalibration().fit(SCORES, Y), NEW_SCORES)
    assert_same(KinkedCalibration().fit(X, THREE), NEW)
    assert_same(CalibratedClassifier(LogisticRegression(), KinkedCalibration(), cv=2).fit(X, Y), NEW[:300])


def test_subclasses_are_written_as_they_predict():
    class Flat(PlattScaling):
        def _log_scores(self, scores):
            return 0.0 * scores

    class OtherSquares(SquaredLoss):
        pass

    assert_same(Flat().fit(SCORES, Y), NEW_SCORES)
    assert_same(ProperLinearClassifier(OtherSquares(), "logit").fit(X, Y), NEW)


def test_the_part_that_cannot_be_written_is_named():
    class Sorted(PlattScaling):
        def _log_scores(self, scores):
            return np.sort(np.asarray(scores, dtype=np.float64))

    with pytest.raises(NotImplementedError, match=r"CalibratedClassifier cannot .* the prediction of its part Sorted"):
        to_onnx(CalibratedClassifier(LogisticRegression(), Sorted()).fit(X, Y))
    with pytest.raises(
        NotImplementedError,
        match=r"Sorted cannot be written as ONNX: its prediction is not made of .*; predict in Python",
    ):
        to_onnx(Sorted().fit(SCORES, Y))


def test_a_part_runs_once_for_each_choice_of_options():
    """Probabilities must not be taken for the scores that were asked for first."""
    calls = []
    asked = once(lambda X, *options: calls.append(options) or len(calls))
    assert [asked(X), asked(X), asked(X, ("raw_scores", True)), asked(X)] == [1, 1, 2, 1]
