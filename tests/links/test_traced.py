"""Links in closed form, recorded by ndonnx as ONNX graphs, agree in onnxruntime with what NumPy gives."""

import numpy as np
import pytest

from properly.links import GEV, LINKS, Cauchit, Logit, Probit
from properly.losses import BetaLoss, Composite

ndonnx = pytest.importorskip("ndonnx")
onnxruntime = pytest.importorskip("onnxruntime")

CLOSED = [*(make() for make in LINKS.values()), *map(GEV, (-1.5, -0.2, 1e-9, 0.3, 1.0))]
CLOSED += [Composite(loss).link for loss in ("squared", "boosting")]
V = np.concatenate([np.linspace(-60.0, 60.0, 481), [-1e100, -1e9, -700.0, 700.0, 1e9, 1e100, -np.inf, np.inf]])
P = np.concatenate([np.geomspace(1e-300, 0.5, 40), 1.0 - np.geomspace(1e-16, 0.5, 40), [0.0, 1.0]])


def in_onnxruntime(function, values):
    """What the graph of a function of one array gives."""
    argument = ndonnx.argument(shape=("n",), dtype=ndonnx.float64)
    results = function(argument)
    results = results if isinstance(results, tuple) else (results,)
    model = ndonnx.build({"x": argument}, {str(k): result for k, result in enumerate(results)})
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": values})


@pytest.mark.parametrize("link", CLOSED, ids=repr)
@pytest.mark.parametrize("name", ["inverse", "inverse_pair", "_logs"])
def test_graph_agrees_with_numpy(link, name):
    function = getattr(link, name)
    with np.errstate(all="ignore"):
        expected = function(V)
    for one, other in zip(np.atleast_2d(expected), in_onnxruntime(function, V), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-307)


@pytest.mark.parametrize("link", [Logit(), Cauchit(), GEV(0.3)], ids=repr)
def test_graph_of_the_link_itself(link):
    np.testing.assert_allclose(in_onnxruntime(link.link, P)[0], link.link(P), rtol=1e-9, atol=1e-15)


def test_what_has_no_formula_is_refused_and_named():
    v = ndonnx.argument(shape=("n",), dtype=ndonnx.float64)
    with pytest.raises(NotImplementedError, match="the quantile of the normal distribution has no formula in ONNX"):
        Probit().link(v)
    with pytest.raises(NotImplementedError, match="the incomplete gamma function has no formula in ONNX"):
        GEV(0.2)._antiderivatives(v)
    with pytest.raises(
        NotImplementedError, match=r"canonical link of BetaLoss\(alpha=2, beta=5, log_scale=0.0\) has no"
    ):
        BetaLoss(2, 5).canonical_link.inverse(v)
