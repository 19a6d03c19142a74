"""A fitted model as an ONNX graph, for runtimes without Python."""

from __future__ import annotations

import math
from contextvars import copy_context
from inspect import signature
from traceback import walk_tb
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from properly.calibration import Calibrator
from properly.inputs.optional import require
from properly.numeric.arrays import columns_of, namespace
from properly.onnx.traceable import takes_columns, traceable

OUTPUTS = {"label", "probabilities"}


def to_onnx(model: Any, n_features: int | None = None) -> Any:
    """A fitted classifier or calibrator as an ONNX model that gives the same probabilities.

    Its outputs are ``label``, of shape (n,), and ``probabilities``, (n, K), in float64. A classifier's input is ``X``,
    (n, n_features) in float64; a calibrator's is ``scores``, (n, 1) for two classes and (n, K) for more: log-odds and
    logits, or probabilities if it was made for these. A model of tables (`properly.tables.TableClassifier`) has an
    input of shape (n, 1) for each column: numbers in float64 (nan where one is missing, 0 and 1 for truth values, days
    since 1970 for dates), or texts as they were in training where it holds categories (an empty one is missing, and so
    is one that training did not have). Nothing is checked at run time: elsewhere a nan has no defined result.

    The model's own prediction is run on arrays without values (of ndonnx), which record its operations. So every model
    whose prediction consists of functions of the array API standard is written, in float64, down to the last digits of
    small probabilities: linear models with the links logit, probit, cloglog, loglog, cauchit and GEV, averaged, for
    many classes and one versus rest; calibrators of every kind but `GroupwiseCalibration`; `ProperTreeClassifier`;
    `CalibratedClassifier` and `PriorCorrectedClassifier` around these or scikit-learn's linear classifiers; pipelines
    with `StandardScaler` and `SimpleImputer`; and calibrators, links and losses of others that are written in this way.
    (Of the two probabilities that scikit-learn's `LogisticRegression` itself gives, one has fewer digits where it is
    small.) Operators that runtimes lack in float64 (Erf, Atan, Asinh) are made of others. onnxruntime takes a factor
    for 1 if it is 1 in float32: a fitted scale less than 6e-8 from 1 may change probabilities by up to 2e-8.

    The trees of `ProperBoostingClassifier` and of LightGBM's own classifier become one operator, with thresholds and
    sums in float64, which onnxruntime has from 1.21 on. Other estimators of scikit-learn go through skl2onnx if it is
    installed, and are as exact as it makes them, often to six digits. Another library's subclass of an estimator of
    scikit-learn is refused: it may do anything.

    Parameters
    ----------
    model : fitted classifier, pipeline or calibrator
    n_features : int, optional
        How many columns X has; needed only if the model does not know it (`n_features_in_`).

    Returns
    -------
    onnx.ModelProto
        Of opset 21 and IR version 10, which onnxruntime reads from 1.18 on. ``onnx.save(result, path)`` writes it,
        ``result.SerializeToString()`` is what onnxruntime takes.

    Raises
    ------
    ValueError
        The model has no probabilities, is not fitted, or has a column with the name of an output.
    NotImplementedError
        The prediction of the model, or of a part of it that the message names, cannot be written as ONNX.

    Examples
    --------
    >>> from properly.datasets import make_rare_events
    >>> from properly.linear import GEVCanonicalRegression
    >>> X, y, _ = make_rare_events(500, 3, rate=0.1, random_state=0)
    >>> graph = to_onnx(GEVCanonicalRegression(xi=0.2).fit(X, y))
    >>> [output.name for output in graph.graph.output]
    ['label', 'probabilities']
    """
    spox, onnx = require("spox", "onnx"), require("onnx", "onnx")
    _check_model(model)
    inputs = _inputs(model, n_features)
    outputs = copy_context().run(_predicted, model, inputs)
    proto = spox.build(*({name: each.unwrap_spox() for name, each in part.items()} for part in (inputs, outputs)))
    for output, shape in zip(proto.graph.output, (("n",), ("n", len(model.classes_))), strict=True):
        kind = output.type.tensor_type.elem_type
        output.CopyFrom(onnx.helper.make_tensor_value_info(output.name, kind, shape))
    proto.producer_name, proto.graph.name = "properly", type(model).__name__
    try:
        onnx.checker.check_model(proto, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        reason = " ".join(str(error).split())[:200]
        raise NotImplementedError(f"the parts of this {type(model).__name__} do not fit together: {reason}") from error
    return proto


def _check_model(model: Any) -> None:
    if not (hasattr(model, "predict_proba") and (hasattr(model, "fit") or takes_columns(model))):
        raise ValueError(
            f"model must be a classifier with predict_proba, or a calibrator, got {type(model).__name__}; "
            "properly.calibration.CalibratedClassifier gives a classifier probabilities."
        )
    if not takes_columns(model):
        check_is_fitted(model)
    _, *others = (
        each.name
        for each in signature(model.predict_proba).parameters.values()
        if each.kind is each.POSITIONAL_OR_KEYWORD and each.default is each.empty
    )
    if others:
        raise NotImplementedError(
            f"{type(model).__name__} cannot be written as ONNX: its predict_proba needs {', '.join(others)} as well."
        )
    classes = np.asarray(model.classes_)
    texts = classes.dtype.kind in "OU" and all(isinstance(each, str) for each in classes)
    if not (texts or classes.dtype.kind in "iufb"):
        raise NotImplementedError(f"labels must be texts or numbers for ONNX, got {classes.tolist()[0]!r}.")


def _inputs(model: Any, n_features: int | None) -> dict[str, Any]:
    """Arrays without values by the names of the inputs: scores, X, or a column each."""
    ndonnx = require("ndonnx", "onnx")
    if takes_columns(model):
        taken = OUTPUTS & model.input_columns.keys()
        if taken:
            raise ValueError(f"a column is called {taken.pop()!r}, as an output of the graph is; rename it before fit.")
        kinds = {name: ndonnx.float64 if known is None else ndonnx.utf8 for name, known in model.input_columns.items()}
        return {name: ndonnx.argument(shape=("n", 1), dtype=kind) for name, kind in kinds.items()}
    name, width = "X", getattr(model, "n_features_in_", n_features)
    if isinstance(model, Calibrator):
        name, width = "scores", 1 if len(model.classes_) == 2 else len(model.classes_)
    elif width is None:
        raise ValueError(f"{type(model).__name__} does not know how many columns X has; pass n_features.")
    elif n_features not in (None, width):
        raise ValueError(f"n_features must be {width}, as the model was fitted with, got {n_features!r}.")
    return {name: ndonnx.argument(shape=("n", int(width)), dtype=ndonnx.float64)}


def _rows(model: Any, inputs: dict[str, Any]) -> Any:
    """What the model takes: an array, or columns of numbers by name."""
    if not takes_columns(model):
        (rows,) = inputs.values()
        return rows
    columns = {name: columns_of(each)[0] for name, each in inputs.items()}
    texts = {name: known for name, known in model.input_columns.items() if known is not None}
    return columns | {name: _positions(columns[name], known) for name, known in texts.items()}


def _positions(texts: Any, known: tuple[str, ...]) -> Any:
    """The places of texts among those that are known, that after the last for others, nan for an empty one."""
    xp, encoder = namespace(texts), require("spox.opset.ai.onnx.ml.v5", "onnx").label_encoder
    keys, places = ["", *known], [math.nan, *map(float, range(len(known)))]
    found = encoder(texts.unwrap_spox(), keys_strings=keys, values_floats=places, default_float=float(len(known)))
    return xp.astype(xp.asarray(found), xp.float64)


def _predicted(model: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """The labels and probabilities of arrays without values, as the model itself computes them."""
    # Constants are evaluated by onnx itself: onnxruntime, which spox prefers, would start a session for each.
    spox = require("spox._value_prop", "onnx")
    before, spox._VALUE_PROP_BACKEND = spox._VALUE_PROP_BACKEND, spox.ValuePropBackend.REFERENCE
    try:
        part, rows = traceable(model), _rows(model, inputs)
        probabilities, label = part.predict_proba(rows), part.predict(rows)
    except NotImplementedError:
        raise
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        name = type(model).__name__
        owners = (frame.f_locals.get("self") for frame, _ in walk_tb(error.__traceback__))
        *_, innermost = name, *(type(owner).__name__ for owner in owners if isinstance(owner, BaseEstimator))
        whose = "its prediction" if innermost == name else f"the prediction of its part {innermost}"
        raise NotImplementedError(
            f"{name} cannot be written as ONNX: {whose} is not made of functions that have an ONNX operator; predict "
            "in Python, or with properly predict."
        ) from error
    finally:
        spox._VALUE_PROP_BACKEND = before
    xp = namespace(probabilities)
    for kind, dtype in (("integral", xp.int64), ("real floating", xp.float64)):
        label = xp.astype(label, dtype) if xp.isdtype(label.dtype, kind) else label
    return {"label": label, "probabilities": probabilities}
