"""A fitted model as an ONNX graph, for runtimes without Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from properly.calibration import Calibrator
from properly.inputs.optional import require
from properly.onnx.calibrators import classify_scores
from properly.onnx.graph import IR_VERSION, ML_OPSET, OPSET, Graph, Value
from properly.onnx.models import classify


def to_onnx(model: Any, n_features: int | None = None) -> Any:
    """A fitted classifier or calibrator as an ONNX model that gives the same probabilities.

    Its outputs are ``label``, of shape (n,), and ``probabilities``, (n, K), in float64. A classifier's input is ``X``,
    (n, n_features) in float64; a calibrator's is ``scores``, (n, 1) for two classes and (n, K) for more: log-odds and
    logits, or probabilities if it was made for these. Nothing is checked at run time: a nan has no defined result.

    Written in float64, down to the last digits of small probabilities: this library's linear models with the links
    logit, probit, cloglog, loglog, cauchit and GEV, averaged, for many classes and one versus rest; calibrators of
    every kind but `GroupwiseCalibration`; `CalibratedClassifier` and `PriorCorrectedClassifier` around these or
    scikit-learn's linear classifiers; pipelines with `StandardScaler` and `SimpleImputer`. (Of the two probabilities
    that scikit-learn's `LogisticRegression` itself gives, one has fewer digits where it is small.) Operators that
    runtimes lack in float64 (Erf, Atan, Asinh) are made of others. Other estimators of scikit-learn go through skl2onnx
    if it is installed, and are as exact as it makes them, often to six digits. A subclass of another's making is
    refused: it may do anything.

    Parameters
    ----------
    model : fitted classifier, pipeline or calibrator
    n_features : int, optional
        How many columns X has; needed only if the model does not know it (`n_features_in_`).

    Returns
    -------
    onnx.ModelProto
        Of opset 18 and IR version 8. ``onnx.save(result, path)`` writes it, ``result.SerializeToString()`` is what
        onnxruntime takes.

    Raises
    ------
    NotImplementedError
        The model cannot be written: neither this library nor skl2onnx knows how; the message names the part.

    Examples
    --------
    >>> from properly.datasets import make_rare_events
    >>> from properly.linear import GEVCanonicalRegression
    >>> X, y, _ = make_rare_events(500, 3, rate=0.1, random_state=0)
    >>> graph = to_onnx(GEVCanonicalRegression(xi=0.2).fit(X, y))
    >>> [output.name for output in graph.graph.output]
    ['label', 'probabilities']
    """
    onnx = require("onnx", "onnx")
    if not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
        raise ValueError(
            f"model must be a classifier with predict_proba, or a calibrator, got {type(model).__name__}; "
            "properly.calibration.CalibratedClassifier gives a classifier probabilities."
        )
    check_is_fitted(model)
    graph = Graph()
    if isinstance(model, Calibrator):
        name, width = "scores", 1 if len(model.classes_) == 2 else len(model.classes_)
        result = classify_scores(model, Value(graph, name))
    else:
        name, width = "X", _n_features(model, n_features)
        result = classify(model, Value(graph, name))
    label = _label(graph, np.asarray(model.classes_), result.choice)
    double = onnx.TensorProto.DOUBLE
    outputs = [
        onnx.helper.make_tensor_value_info("label", label, ["n"]),
        onnx.helper.make_tensor_value_info("probabilities", double, ["n", len(model.classes_)]),
    ]
    graph.nodes.append(onnx.helper.make_node("Identity", [result.probabilities.name], ["probabilities"]))
    inputs = [onnx.helper.make_tensor_value_info(name, double, ["n", width])]
    proto = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, type(model).__name__, inputs, outputs, graph.constants),
        opset_imports=[onnx.helper.make_opsetid("", OPSET), onnx.helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
        producer_name="properly",
    )
    proto.ir_version = IR_VERSION
    try:
        onnx.checker.check_model(proto, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        reason = " ".join(str(error).split())[:200]
        raise NotImplementedError(f"the parts of this {type(model).__name__} do not fit together: {reason}") from error
    return proto


def _n_features(model: Any, given: int | None) -> int:
    known = getattr(model, "n_features_in_", given)
    if known is None:
        raise ValueError(f"{type(model).__name__} does not know how many columns X has; pass n_features.")
    if given is not None and known != given:
        raise ValueError(f"n_features must be {known}, as the model was fitted with, got {given!r}.")
    return int(known)


def _label(graph: Graph, classes: Any, choice: Value) -> int:
    """Write the output ``label`` and tell its type."""
    onnx = require("onnx", "onnx")
    texts = classes.dtype.kind in "OU" and all(isinstance(each, str) for each in classes)
    if not (texts or classes.dtype.kind in "iufb"):
        raise NotImplementedError(f"labels must be texts or numbers for ONNX, got {classes.tolist()[0]!r}.")
    proto = onnx.TensorProto
    numbers = {"i": proto.INT64, "u": proto.INT64, "f": proto.DOUBLE, "b": proto.BOOL}
    kind = numbers.get(classes.dtype.kind, proto.STRING)
    table = classes if kind == proto.STRING else classes.astype(onnx.helper.tensor_dtype_to_np_dtype(kind))
    picked = choice.entries(table)
    graph.nodes.append(onnx.helper.make_node("Identity", [picked.name], ["label"]))
    return int(kind)
