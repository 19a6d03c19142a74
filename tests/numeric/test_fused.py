"""The fused kernels equal the plain path, in Triton's interpreter where there is no card."""

import os
from contextlib import contextmanager
from dataclasses import astuple
from types import SimpleNamespace

import numpy as np
import pytest

from properly import kernels
from properly.engines import DeviceEngine
from properly.engines import fused as fused_engine
from properly.kernels import Block, LinearModel
from properly.linear import GEVCanonicalRegression, ProperLinearClassifier
from properly.links import GEV, Cloglog, Logit, Loglog, Probit
from properly.losses import CanonicalLoss, Composite
from properly.numeric import arrays, functions
from properly.solvers import Status

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # Triton reads it when it is imported
fused = pytest.importorskip("properly.numeric.cuda.fused", reason="Triton is not installed")

RNG = np.random.default_rng(0)
N, K = 333, 5  # the last tile is not full
X = RNG.normal(size=(N, K)).astype(np.float32)
Y = RNG.integers(0, 2, N).astype(np.int8)
WEIGHT = RNG.integers(0, 3, N).astype(float)
OFFSET = RNG.normal(size=N)
CENTER = RNG.normal(size=K)
COEF = RNG.normal(size=(1, K + 1))
LINKS = [Logit(), Probit(), Loglog(), Cloglog(), GEV(0.0), *map(GEV, (-1.0, -0.2, 1e-6, 0.1, 0.37, 1.0))]


def there(x):
    return None if x is None else torch.asarray(x, device=DEVICE)


@pytest.fixture
def fused_everywhere(monkeypatch):
    """Fused kernels for tensors on the host as well."""
    for module in (fused_engine, functions):
        monkeypatch.setattr(module, "fused_for", lambda X: fused if isinstance(X, torch.Tensor) else None)


def engine_of(X, weight=None, offset=None):
    return DeviceEngine(there(X), there(Y), there(weight), there(offset))


@pytest.mark.parametrize("rough", [False, True], ids=["float64", "float32"])
@pytest.mark.parametrize("link", LINKS, ids=repr)
def test_gradients(link, rough, fused_everywhere):
    model = LinearModel(Composite(CanonicalLoss(link), link), center=CENTER)
    block = Block(X.astype(np.float64), Y, WEIGHT, OFFSET)
    expected = kernels.gradient(block, model, COEF, False)
    engine = engine_of(X, WEIGHT, OFFSET)
    found = (engine.rough(model) if rough else engine).reduce(kernels.gradient, model, COEF, False)
    size = np.abs(X.astype(np.float64) - CENTER).sum()
    np.testing.assert_allclose(found.gradient, expected.gradient, atol=(2e-7 if rough else 1e-14) * size, rtol=0)
    assert rough == (not np.allclose(found.gradient, expected.gradient, atol=1e-13 * size, rtol=0))


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("options", [{}, {"weight": WEIGHT}, {"offset": OFFSET}], ids=["plain", "weights", "offsets"])
def test_options_of_gradients(options, dtype, positive, fused_everywhere):
    rows = X.astype(dtype)
    for center, coef in ((None, COEF), (CENTER, COEF), (None, COEF[:, :K])):  # the last without an intercept
        model = LinearModel(Composite("log"), positive, center)
        block = Block(rows.astype(np.float64), Y, options.get("weight"), options.get("offset"))
        expected = kernels.gradient(block, model, coef, False).gradient
        found = engine_of(rows, **options).reduce(kernels.gradient, model, coef, False).gradient
        np.testing.assert_allclose(found, expected, atol=1e-11)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_moments(weight, fused_everywhere):
    expected = kernels.moments(Block(X.astype(np.float64), Y, weight), None)
    found = engine_of(X, weight).reduce(kernels.moments, None)
    for one, other in zip(astuple(expected), astuple(found), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12)


def test_rows_that_do_not_lie_side_by_side(fused_everywhere):
    """As in a sample, or where labels are a column of a table: every array has strides of its own."""
    table = there(RNG.normal(size=(N, 2 * K + 3)).astype(np.float32))
    y = torch.stack([there(Y)] * 2, dim=1)[:, 0]
    weight, offset = torch.stack([there(WEIGHT), there(OFFSET)], dim=1).T
    for which in (slice(None), slice(None, None, 3)):
        parts = [table[which, 1 : K + 1], y[which], weight[which], offset[which]]
        engine, block = DeviceEngine(*parts), Block(*(part.cpu().numpy() for part in parts))
        block = block._replace(X=block.X.astype(np.float64))
        for kernel, options in (
            (kernels.gradient, (LinearModel(Composite("log")), COEF, False)),
            (kernels.moments, (None,)),
        ):
            expected, found = astuple(kernel(block, *options)), astuple(engine.reduce(kernel, *options))
            for one, other in zip(expected, found, strict=True):
                np.testing.assert_allclose(other, one, rtol=1e-11)


def test_products():
    matrix = RNG.normal(size=(K, 3))
    for rows in (there(X), there(X)[::2], there(X)[:0]):  # every second row is a view
        found = fused.product(rows, matrix).cpu().numpy()
        np.testing.assert_allclose(found, rows.cpu().numpy().astype(np.float64) @ matrix, atol=1e-13)


@pytest.mark.parametrize("model", [ProperLinearClassifier(), GEVCanonicalRegression(-0.2)], ids=repr)
def test_fits(model, fused_everywhere):
    expected = model.fit(X.astype(np.float64), Y, WEIGHT, OFFSET).coef_
    model.fit(*map(there, (X, Y, WEIGHT, OFFSET)))
    assert model.solutions_[0].status is Status.CONVERGED
    np.testing.assert_allclose(model.coef_, expected, atol=1e-8)
    found = model.predict_proba(there(X), there(OFFSET)).cpu().numpy()
    np.testing.assert_allclose(found, model.predict_proba(X, OFFSET), atol=1e-12)


def test_columns_far_from_zero(fused_everywhere):
    """Their mean is rounded in float32, which must not lead back and forth between the two arithmetics."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 2)).astype(np.float32)
    y = (rows[:, 0] + rng.logistic(size=3000) > 1.0).astype(np.int8)
    rows += np.float32(1e5)
    expected = ProperLinearClassifier().fit(rows.astype(np.float64), y)
    found = ProperLinearClassifier().fit(there(rows), there(y))
    assert found.solutions_[0].status is Status.CONVERGED
    assert found.solutions_[0].passes < 2 * expected.solutions_[0].passes
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-7)


@pytest.mark.parametrize("xi", [1e-50, -1e-320])
def test_a_shape_whose_reciprocal_float32_cannot_hold(xi, fused_everywhere):
    found, expected = (GEVCanonicalRegression(shape).fit(there(X), there(Y)).coef_ for shape in (xi, 0.0))
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_kernels_run_on_the_card_of_the_rows(monkeypatch):
    """Triton launches on the current card, whatever card its arguments are on."""
    current = []

    @contextmanager
    def device_of(x):
        current.append(x)
        yield
        current.pop()

    class Kernel:
        def __getitem__(self, grid):
            return lambda X, *_, **__: ran.append(len(current) == 1 and current[0] is X)

    ran, rows = [], there(X)
    monkeypatch.setattr(torch.cuda, "device_of", device_of)
    for name in ("_gradient", "_moments", "_product"):
        monkeypatch.setattr(fused, name, Kernel())
    fused.gradient(rows, there(Y), None, None, None, COEF[0], ("logit", 0.0), 1)
    fused.moments(rows, None)
    fused.product(rows, COEF[:, :K].T)
    assert ran == [True, True, True]


def test_more_rows_than_32_bits_can_number_take_the_plain_path():
    for n, taken in ((2**30, True), (2**31 - 1, False), (2**31, False)):
        rows = SimpleNamespace(
            is_cuda=True, device="cpu", ndim=2, shape=(n, 1), stride=lambda _: 1, dtype=torch.float32
        )
        assert (arrays.fused_for(rows) is not None) == taken


def test_what_is_not_covered():
    engine, softmax = engine_of(X), LinearModel(Composite("squared", "logit"))
    assert fused_engine.fused_sums(engine, kernels.gradient, (softmax, COEF, True)) is None
    assert not fused_engine.covers(engine, softmax, False)
    assert engine.rough(softmax) is None


def test_where_triton_cannot_compile_the_plain_path_is_taken(monkeypatch):
    def fails(device):
        raise RuntimeError("Failed to find C compiler.\nMore lines.")

    monkeypatch.setattr(fused, "try_out", fails)
    arrays._fused.cache_clear()
    try:
        with pytest.warns(UserWarning, match=r"cannot compile for cpu \(RuntimeError: Failed to find C compiler\.\)"):
            assert arrays._fused("cpu") is None
        assert arrays._fused("cpu") is None  # told once
    finally:
        arrays._fused.cache_clear()
    monkeypatch.undo()
    assert arrays._fused(torch.device(DEVICE)) is fused
