"""Trees as ONNX: thresholds in float64, and missing values and categories as LightGBM reads them."""

import warnings

import numpy as np
import pytest

from properly.boosting import ProperBoostingClassifier
from properly.calibration import CalibratedClassifier
from properly.links import GEV
from properly.losses import BoostingLoss
from properly.onnx import to_onnx
from properly.tree import ProperTreeClassifier

lightgbm = pytest.importorskip("lightgbm", reason="needs the extra boosting")
pytest.importorskip("ndonnx", reason="needs the extra onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="runs the graphs")

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(800, 4))
X[:, 2] = RANDOM.integers(0, 12, 800)  # categories
Y = (X[:, 0] + np.isin(X[:, 2], [3, 5, 8]) + 0.5 * RANDOM.normal(size=800) > 0).astype(int)
THREE = np.array(["low", "mid", "high"])[np.digitize(X[:, 0] + 0.5 * RANDOM.normal(size=800), [-0.5, 0.5])]
GAPS = np.where(RANDOM.random(X.shape) < 0.05, np.nan, X)
FEW = {"n_estimators": 15, "num_leaves": 15, "verbose": -1, "n_jobs": 1}


def session(model):
    proto = to_onnx(model)
    run = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"]).run
    return lambda rows: run(["label", "probabilities"], {"X": rows})


def assert_same(model, rows):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        expected, labels = model.predict_proba(rows), model.predict(rows)
    label, probabilities = session(model)(rows)
    np.testing.assert_allclose(probabilities, expected, rtol=1e-12)
    assert np.array_equal(label, labels)


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize("categorical", [[], [2]], ids=["numbers", "categories"])
@pytest.mark.parametrize("rows", [X, GAPS], ids=["complete", "gaps"])
def test_lightgbm(rows, categorical, y):
    model = lightgbm.LGBMClassifier(**FEW).fit(rows, y, categorical_feature=categorical)
    assert_same(model, rows)
    assert_same(model, GAPS)  # nan counts as 0 if there was none in training
    strange = X.copy()
    strange[:, 2] = np.resize([-1.0, 99.0, 3.7, -0.5, np.nan], len(X))
    assert_same(model, strange)


def test_thresholds_keep_all_their_digits():
    """Values that float32 cannot tell apart lie on either side of a threshold."""
    rows = 1.0 + 1e-12 * np.repeat(np.arange(100.0), 4)[:, None]
    y = np.repeat(np.arange(100) >= 50, 4).astype(int)
    model = lightgbm.LGBMClassifier(**FEW).fit(rows, y)
    assert model.predict(rows).tolist() == y.tolist()
    assert_same(model, rows)


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "binary", "sigmoid": 2.0},
        {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.7},
        {"n_estimators": 1, "min_child_samples": 1000},
        {"num_leaves": 200, "min_child_samples": 1},
    ],
    ids=["sigmoid", "forest", "single leaf", "deep"],
)
def test_options_of_lightgbm(options):
    assert_same(lightgbm.LGBMClassifier(**FEW | options).fit(X, Y), GAPS)
    several = options | ({"objective": "multiclassova"} if "objective" in options else {})
    assert_same(lightgbm.LGBMClassifier(**FEW | several).fit(X, THREE), GAPS)


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_calibrated_lightgbm(y):
    for method in ("auto", "isotonic"):
        assert_same(CalibratedClassifier(lightgbm.LGBMClassifier(**FEW), method, cv=2).fit(GAPS, y), GAPS)


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize("composite", [("log", None), (BoostingLoss(), None), ("log", GEV(0.3))], ids=str)
def test_boosting(composite, y):
    loss, link = composite
    model = ProperBoostingClassifier(loss, link, n_estimators=20, categorical_features=[2], random_state=0).fit(GAPS, y)
    assert_same(model, GAPS)
    unseen = X.copy()
    unseen[:5, 2] = 77.0
    assert_same(model, unseen)
    assert_same(CalibratedClassifier(model, "platt", cv=2).fit(GAPS, y), GAPS)


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize("categorical", [None, [2]], ids=["numbers", "categories"])
def test_single_trees(categorical, y):
    model = ProperTreeClassifier(categorical_features=categorical, ccp_alpha=1e-3).fit(GAPS, y)
    assert_same(model, GAPS)
    assert_same(ProperTreeClassifier(max_depth=0).fit(X, y), X)


def test_single_trees_take_arrays_of_any_library():
    strict = pytest.importorskip("array_api_strict")
    model = ProperTreeClassifier(categorical_features=[2], ccp_alpha=1e-3).fit(GAPS, THREE)
    for method in ("predict_proba", "predict_log_proba"):
        found = getattr(model, method)(strict.asarray(GAPS))
        assert np.array_equal(np.asarray(found), getattr(model, method)(GAPS))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"zero_as_missing": True}, "zero_as_missing=True"),
        ({"linear_tree": True}, "linear_tree=True"),
        ({"objective": "cross_entropy"}, "with the objective 'cross_entropy'; use binary"),
    ],
)
def test_what_lightgbm_does_and_onnx_cannot(options, message):
    with pytest.raises(NotImplementedError, match=message):
        to_onnx(lightgbm.LGBMClassifier(**FEW | options).fit(X, Y))


def test_data_frames_with_categories_are_refused():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "b": pandas.Categorical(X[:, 2].astype(int).astype(str))})
    with pytest.raises(NotImplementedError, match="data frame with columns of categories"):
        to_onnx(lightgbm.LGBMClassifier(**FEW).fit(frame, Y))
