"""The probability of the most probable class, calibrated by itself."""

from __future__ import annotations

import numpy as np

from properly.calibration.multiclass import _MAX_ITER, _TIE_BREAKER, _WIDEST_GAP
from properly.inputs.optional import require
from properly.onnx.graph import Graph, Value, logsumexp


def with_confidence(logits: Value, top: Value, before: Value, after: Value) -> Value:
    """As in `properly.calibration.multiclass.Confidence`.

    Parameters
    ----------
    logits : (rows, K)
    top : (rows, K), true at the most probable class
    before, after : (rows, 1), the log-odds of that class, and the calibrated ones
    """
    gaps = (logits.max() - logits).minimum(_WIDEST_GAP)
    raised = -gaps - logsumexp(top.where(-np.inf, -gaps)) - after
    lowered = -_slope(gaps, top, after) * gaps - _TIE_BREAKER
    return top.where(0.0, (after < before).where(lowered, raised))


def _slope(gaps: Value, top: Value, log_odds: Value) -> Value:
    """The slope in [0, 1] that gives the top class these log-odds, by Newton's method, in a loop of the graph."""
    onnx = require("onnx", "onnx")
    body = Graph(prefix=f"loop_{len(gaps.graph.nodes)}_")
    t = Value(body, f"{body.prefix}slope")
    outer_gaps, outer_top, outer_log_odds = (Value(body, each.name) for each in (gaps, top, log_odds))
    total = logsumexp(outer_top.where(-np.inf, -(t * outer_gaps)))
    falling = outer_top.where(0.0, (-(t * outer_gaps) - total).exp() * outer_gaps).sum()
    moves = falling > 0.0
    step = moves.where((total + outer_log_odds).maximum(0.0) / moves.where(falling, 1.0), 0.0)
    longer = (t + step).minimum(1.0)
    moved = (longer - t > 1e-12 * longer).cast("INT64")
    going = body.apply("ReduceSum", moved, keepdims=0) > np.array(0)  # there may be no row
    double, boolean, integer = (getattr(onnx.TensorProto, kind) for kind in ("DOUBLE", "BOOL", "INT64"))
    info = onnx.helper.make_tensor_value_info
    counter, condition = info(f"{body.prefix}count", integer, []), info(f"{body.prefix}going", boolean, [])
    subgraph = onnx.helper.make_graph(
        body.nodes,
        "newton",
        [counter, condition, info(t.name, double, None)],
        [info(going.name, boolean, []), info(longer.name, double, None)],
        body.constants,
    )
    start = (log_odds < log_odds).cast("DOUBLE")
    return gaps.graph.apply("Loop", np.array(_MAX_ITER), np.array(True), start, body=subgraph)
