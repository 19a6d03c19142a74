"""Estimators that are not this library's: left to skl2onnx, if it is installed.

Their values may have float32's digits only: that is up to skl2onnx and the operators it uses.
"""

from __future__ import annotations

import warnings
from typing import Any

from properly.inputs.optional import require
from properly.onnx.graph import ML_OPSET, OPSET, Value
from properly.onnx.kinds import package_of
from properly.onnx.linear import Classified

_SINGLE = 1e-6  # rounding in float32, with some operations
_FOR_SINGLE = frozenset({"Imputer", "Binarizer", "LinearRegressor", "SVMRegressor"})  # not in float64 in onnxruntime
_TREES = ("sklearn.tree.", "sklearn.ensemble.")


def foreign_transform(transformer: Any, X: Value) -> Value:
    """What a transformer makes of the columns."""
    outputs = _converted(transformer, X, {})
    return next(iter(outputs.values())).cast("DOUBLE")


def foreign_classifier(model: Any, X: Value) -> Classified:
    """The probabilities of a classifier and the class it chooses."""
    probabilities = list(_converted(model, X, {"zipmap": False}).values())[1].cast("DOUBLE")
    return Classified(probabilities, probabilities.argmax())


def foreign_decision(model: Any, X: Value) -> Value:
    """The decision function of a classifier: one column for two classes, one per class for more."""
    scores = list(_converted(model, X, {"zipmap": False, "raw_scores": True}).values())[1].cast("DOUBLE")
    return scores.column(1) if len(model.classes_) == 2 else scores


def _converted(model: Any, X: Value, options: dict[str, Any]) -> dict[str, Value]:
    if not hasattr(model, "fit"):
        raise NotImplementedError(f"{type(model).__name__} cannot be written as ONNX: it is no estimator.")
    if any(package_of(kind) == "properly" for kind in type(model).__mro__):
        raise NotImplementedError(
            f"{type(model).__name__} cannot be written as ONNX: this library's linear models, calibrators and "
            "classifiers calibrated or prior-corrected around them can, but no subclass of another's making."
        )
    try:
        import skl2onnx
        from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
    except ImportError as error:
        raise ImportError(
            f"{type(model).__name__} is left to skl2onnx, which is not installed: pip install skl2onnx."
        ) from error
    if type(model).__module__.startswith(_TREES):  # which read their rows in float32 themselves
        kinds: list[Any] = [FloatTensorType]
    else:
        kinds = [DoubleTensorType, FloatTensorType]
    reasons = []
    for kind in kinds:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what skl2onnx does to scikit-learn
                converted = skl2onnx.convert_sklearn(
                    model,
                    initial_types=[("X", kind([None, int(model.n_features_in_)]))],
                    options={id(model): options} if options else None,
                    target_opset={"": OPSET, "ai.onnx.ml": ML_OPSET},
                )
            _check_part(converted, kind is FloatTensorType)
        except Exception as error:  # skl2onnx has many of its own
            reasons.append(error)
            continue
        if _is_single(converted):
            X.graph.rounding = max(X.graph.rounding, _SINGLE)
        return X.graph.merge(converted, {"X": (X.cast("FLOAT") if kind is FloatTensorType else X).name})
    reason = " ".join(str(reasons[0]).split())[:200]
    raise NotImplementedError(f"skl2onnx cannot write {type(model).__name__} as ONNX: {reason}") from reasons[0]


def _check_part(model: Any, single: bool) -> None:
    """Refuse a graph that no runtime would load."""
    require("onnx", "onnx").checker.check_model(model, full_check=True)
    lacking = {node.op_type for node in model.graph.node} & _FOR_SINGLE
    if lacking and not single:
        raise NotImplementedError(f"runtimes have {', '.join(sorted(lacking))} in float32 only.")


def _is_single(model: Any) -> bool:
    """Whether some number in a graph is float32, or may be."""
    onnx = require("onnx", "onnx")
    graph = onnx.shape_inference.infer_shapes(model).graph
    kinds = {each.name: each.type.tensor_type.elem_type for each in (*graph.input, *graph.value_info, *graph.output)}
    kinds |= {each.name: each.data_type for each in graph.initializer}
    unknown = (onnx.TensorProto.UNDEFINED, onnx.TensorProto.FLOAT)
    used = {name for node in graph.node for name in (*node.input, *node.output) if name}
    return any(kinds.get(name, onnx.TensorProto.UNDEFINED) in unknown for name in used)
