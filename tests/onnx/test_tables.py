"""Models of tables as ONNX: one input a column, and the categories of texts in the graph."""

import numpy as np
import pyarrow as pa
import pytest

from properly.boosting import ProperBoostingClassifier
from properly.calibration import CalibratedClassifier
from properly.comparison import BestProbabilities
from properly.linear import GEVCanonicalRegressionCV, ProperLinearClassifier
from properly.onnx import to_onnx
from properly.prevalence import PriorCorrectedClassifier
from properly.tables import LinearFeatures, TableClassifier, TableEncoder, WithFeatures
from properly.tree import ProperTreeClassifier

pytest.importorskip("ndonnx", reason="needs the extra onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="runs the graphs")

RANDOM = np.random.default_rng(0)
N = 600
TOWN = RANDOM.choice(["Bath", "Rome", "Ulm"], N)
AGE = RANDOM.normal(50.0, 10.0, N)
TABLE = pa.table(
    {
        "age": AGE,
        "income": pa.array(RANDOM.normal(size=N), mask=RANDOM.random(N) < 0.1),
        "town": pa.array(TOWN, mask=RANDOM.random(N) < 0.05),
        "street": RANDOM.choice([f"street {k}" for k in range(20)], N),
        "member": RANDOM.random(N) < 0.4,
        "since": np.datetime64("2020-01-01") + RANDOM.integers(0, 1000, N),
    }
)
Y = (0.1 * (AGE - 50.0) + (TOWN == "Rome") + RANDOM.normal(size=N) > 0.5).astype(int)
ENCODER = TableEncoder(max_categories=10).fit(TABLE)


def with_features(classifier):
    return WithFeatures(LinearFeatures(ENCODER.categorical_, max_levels=5), classifier)


def feed(table):
    """The columns as a program without Python would hand them over."""
    columns = {}
    for column in ENCODER.columns_:
        values = table[column.name]
        if column.kind == "category":
            columns[column.name] = np.array([each or "" for each in values.to_pylist()], dtype=object)[:, None]
        else:
            numbers = TableEncoder().fit(pa.table({"x": values})).transform({"x": values})
            columns[column.name] = numbers
    return columns


def run(model, table):
    proto = to_onnx(model)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(["label", "probabilities"], feed(table))


@pytest.mark.parametrize(
    "classifier",
    [
        with_features(ProperLinearClassifier()),
        with_features(GEVCanonicalRegressionCV([0.5], 2, cv=2)),
        ProperTreeClassifier(categorical_features=ENCODER.categorical_, ccp_alpha=1e-3),
        ProperBoostingClassifier(n_estimators=10, categorical_features=ENCODER.categorical_, random_state=0),
        CalibratedClassifier(with_features(ProperLinearClassifier()), cv=2),
        PriorCorrectedClassifier(with_features(ProperLinearClassifier()), "from y", 0.01),
        BestProbabilities("logistic,kernel,boosting,extra_trees", cv=2, categorical_features=ENCODER.categorical_),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_of_properly_fit(classifier):
    if isinstance(classifier, ProperBoostingClassifier | BestProbabilities):
        pytest.importorskip("lightgbm")
    model = TableClassifier(ENCODER, classifier.fit(ENCODER.transform(TABLE), Y), ["no", "yes"])
    assert not isinstance(classifier, BestProbabilities) or len(classifier.parts_) == 4
    label, probabilities = run(model, TABLE)
    np.testing.assert_allclose(probabilities, model.predict_proba(TABLE), rtol=1e-12)
    assert np.array_equal(label, model.predict(TABLE))


@pytest.mark.filterwarnings("ignore:.*did not occur in training:UserWarning")
def test_unknown_and_missing_values():
    model = TableClassifier(
        ENCODER, with_features(ProperLinearClassifier()).fit(ENCODER.transform(TABLE), Y), ["no", "yes"]
    )
    new = TABLE.slice(0, 4)
    new = new.set_column(0, "age", pa.array([None, 40.0, 40.0, 40.0]))  # had none missing: the mean
    new = new.set_column(2, "town", pa.array(["Rome", "Paris", None, "Bath"]))
    new = new.set_column(3, "street", pa.array(["street 1", "street 2", "a new one", "street 3"]))  # counts as other
    with pytest.warns(UserWarning, match="replaced by its mean"):
        expected = model.predict_proba(new, unseen="missing")
    np.testing.assert_allclose(run(model, new)[1], expected, rtol=1e-12)


def test_inputs():
    model = TableClassifier(ENCODER, with_features(ProperLinearClassifier()).fit(ENCODER.transform(TABLE), Y), [0, 1])
    proto = to_onnx(model)
    texts = {each.name: each.type.tensor_type.elem_type == 8 for each in proto.graph.input}  # 8: STRING
    assert texts == {
        "age": False, "income": False, "town": True, "street": True, "member": False, "since": False
    }  # fmt: skip
    assert [each.name for each in proto.graph.output] == ["label", "probabilities"]
    assert model.input_columns["town"] == ("Bath", "Rome", "Ulm")


def test_a_column_with_the_name_of_an_output_is_refused():
    encoder = TableEncoder().fit({"label": AGE})
    classifier = ProperLinearClassifier().fit(encoder.transform({"label": AGE}), Y)
    with pytest.raises(ValueError, match="a column is called 'label', as an output of the graph is; rename it"):
        to_onnx(TableClassifier(encoder, classifier, ["no", "yes"]))
