"""Estimators that are not this library's: left to skl2onnx, if it is installed, and joined to the graph.

Their values may have float32's digits only: that is up to skl2onnx and the operators it uses.
"""

from __future__ import annotations

import warnings
from typing import Any

from properly.inputs.optional import require
from properly.numeric.arrays import namespace
from properly.numeric.functions import ROUNDING

OPSET, ML_OPSET = 21, 3
_SINGLE = 1e-6  # rounding in float32, with some operations
_FOR_SINGLE = frozenset({"Imputer", "Binarizer", "LinearRegressor", "SVMRegressor"})  # not in float64 in onnxruntime
_TREES = ("sklearn.tree.", "sklearn.ensemble.")


def converted(model: Any, X: Any, *options: tuple[str, Any]) -> list[Any]:
    """The outputs of an estimator, numbers in float64; options of skl2onnx by their names."""
    try:
        import skl2onnx
        from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
    except ImportError as error:
        raise ImportError(
            f"{type(model).__name__} is left to skl2onnx, which is not installed: pip install skl2onnx."
        ) from error
    if not hasattr(model, "fit"):
        raise NotImplementedError(f"{type(model).__name__} cannot be written as ONNX: it is no estimator.")
    is_tree = type(model).__module__.startswith(_TREES)  # trees read their rows in float32 themselves
    reasons = []
    for kind in (FloatTensorType,) if is_tree else (DoubleTensorType, FloatTensorType):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what skl2onnx does to scikit-learn
                proto = skl2onnx.convert_sklearn(
                    model,
                    initial_types=[("X", kind([None, int(model.n_features_in_)]))],
                    options={id(model): dict(options)} if options else None,
                    target_opset={"": OPSET, "ai.onnx.ml": ML_OPSET},
                )
            require("onnx", "onnx").checker.check_model(proto, full_check=True)
            lacking = {node.op_type for node in proto.graph.node} & _FOR_SINGLE
            if lacking and kind is DoubleTensorType:
                raise NotImplementedError(f"runtimes have {', '.join(sorted(lacking))} in float32 only.")
        except Exception as error:  # skl2onnx has many of its own
            reasons.append(error)
            continue
        if _is_single(proto):
            ROUNDING.set(max(ROUNDING.get(), _SINGLE))
        return _joined(proto, X, kind is FloatTensorType)
    reason = " ".join(str(reasons[0]).split())[:200]
    raise NotImplementedError(f"skl2onnx cannot write {type(model).__name__} as ONNX: {reason}") from reasons[0]


def _joined(proto: Any, X: Any, single: bool) -> list[Any]:
    """The outputs of another graph that reads X."""
    xp = namespace(X)
    X = xp.astype(X, xp.float32) if single else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # shapes that cannot be inferred
        outputs = [xp.asarray(each) for each in require("spox", "onnx").inline(proto)(X.unwrap_spox()).values()]
    return [xp.astype(each, xp.float64) if each.dtype == xp.float32 else each for each in outputs]


def _is_single(model: Any) -> bool:
    """Whether some number in a graph is float32, or may be."""
    onnx = require("onnx", "onnx")
    graph = onnx.shape_inference.infer_shapes(model).graph
    kinds = {each.name: each.type.tensor_type.elem_type for each in (*graph.input, *graph.value_info, *graph.output)}
    kinds |= {each.name: each.data_type for each in graph.initializer}
    unknown = (onnx.TensorProto.UNDEFINED, onnx.TensorProto.FLOAT)
    used = {name for node in graph.node for name in (*node.input, *node.output) if name}
    return any(kinds.get(name, onnx.TensorProto.UNDEFINED) in unknown for name in used)
