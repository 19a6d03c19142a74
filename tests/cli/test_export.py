"""``properly export``."""

import numpy as np
import pytest

from properly import load, save
from properly.calibration import GroupwiseCalibration, PlattScaling
from properly.tables import read_table

pytest.importorskip("ndonnx", reason="needs the extra onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="runs the graphs")


def test_a_model_of_properly_fit(properly, train):
    fitted = properly("fit", train, "--target", "left", "--method", "logistic", "-o", "model.skops", "--json")
    assert fitted.code == 0, fitted.err
    done = properly("export", "model.skops", "-o", "graph.onnx", "--json")
    assert done.code == 0, done.err
    assert done.summary["output"] == "graph.onnx"
    assert done.summary["outputs"] == ["label", "probabilities"]
    assert done.summary["opset"]["ai.onnx"] == 21
    kinds = {"age": "double", "income": "double", "town": "string", "member": "double", "since": "double"}
    assert done.summary["inputs"] == kinds
    model, table = load("model.skops"), read_table(train)
    matrix = model.encoder.transform(table)
    feed = {name: matrix[:, [j]] for j, name in enumerate(kinds)}
    feed["town"] = np.array([each or "" for each in table["town"].to_pylist()], dtype=object)[:, None]
    label, p = onnxruntime.InferenceSession("graph.onnx").run(["label", "probabilities"], feed)
    np.testing.assert_allclose(p, model.predict_proba(table), rtol=1e-12)
    assert np.array_equal(label, model.predict(table))


def test_the_summary_and_the_name_by_default(properly):
    save(PlattScaling().fit([-1.0, 0.5, 0.0, 2.0], [0, 0, 1, 1]), "platt.skops")
    done = properly("export", "platt.skops")
    assert done.code == 0, done.err
    assert done.out == "Inputs:  scores (double)\nOutputs: label, probabilities\n\nModel: platt.onnx\n"


def test_what_cannot_be_exported(properly, fails):
    scores, y, groups = np.linspace(-2.0, 2.0, 8), [0, 1, 0, 1, 0, 1, 0, 1], [0, 0, 0, 0, 1, 1, 1, 1]
    save(GroupwiseCalibration("platt").fit(scores, y, groups), "groups.skops")
    assert "groups.skops: GroupwiseCalibration cannot be written as ONNX" in fails("export", "groups.skops")
    assert "none.skops" in fails("export", "none.skops")
    refused = properly("export", "groups.skops", "-o", "groups.skops")
    assert refused.code == 2
    assert "must end with .onnx, got 'groups.skops'" in refused.err
