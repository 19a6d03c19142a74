"""Rows in arrays of PyTorch or CuPy, or of array_api_strict in their place, are fitted where they are, as of NumPy."""

import os
import subprocess
import sys

import numpy as np
import pytest

from properly import engines, kernels
from properly.calibration import PlattScaling
from properly.engines import DeviceEngine, block_bytes
from properly.kernels import LinearModel
from properly.linear import (
    GEVCanonicalRegression,
    GEVCanonicalRegressionCV,
    ProperLinearClassifier,
    RareEventLogisticRegression,
    TailoredLinearClassifierCV,
    inference,
)
from properly.losses import BetaLoss, Composite, GEVLoss
from properly.metrics import calibration_test, log_loss
from properly.numeric.arrays import to_numpy
from properly.solvers import Status

RNG = np.random.default_rng(5)
N, K = 900, 4
X = RNG.normal(size=(N, K)) + np.array([0.0, 0.0, 3.0, 0.0])
SCORE = X[:, 0] - 0.5 * X[:, 1] + RNG.logistic(size=N)
TWO = (SCORE > 1.5).astype(int)
THREE = np.digitize(SCORE, [-1.0, 1.0])
WEIGHT = RNG.integers(0, 3, N).astype(float)
OFFSET = RNG.normal(size=N) / 2


@pytest.fixture
def arrays(library, monkeypatch):
    """The namespace of a library whose arrays go to the engine for cards."""
    if library.__name__ == "jax.numpy":
        pytest.skip("rows of JAX are not fitted where they are")
    monkeypatch.setitem(engines.ENGINES, library.__name__, DeviceEngine)
    with block_bytes(200 * 8 * K):  # several blocks, the last one smaller
        yield library


def there(library, *columns):
    return [None if column is None else library.asarray(column) for column in columns]


MODELS = {
    "log": (ProperLinearClassifier(), TWO, WEIGHT, OFFSET),
    "softmax, balanced": (ProperLinearClassifier(class_weight="balanced"), THREE, None, None),
    "softmax, squared": (ProperLinearClassifier("squared"), THREE, WEIGHT, None),
    "one versus rest": (ProperLinearClassifier(link="cloglog"), THREE, WEIGHT, None),
    "lasso": (ProperLinearClassifier(GEVLoss(0.2), C=0.05, l1_ratio=1.0), TWO, WEIGHT, None),
    "not convex": (ProperLinearClassifier(BetaLoss.tailored(0.3, 10), "logit"), TWO, WEIGHT, OFFSET),
    "no intercept": (ProperLinearClassifier(fit_intercept=False), TWO, None, None),
    "no penalty": (ProperLinearClassifier(C=np.inf), TWO, WEIGHT, None),
    "canonical": (GEVCanonicalRegression(-0.3), TWO, WEIGHT, OFFSET),
    "weighting": (RareEventLogisticRegression("weighting", 0.01), TWO, WEIGHT, None),
    "undersampling": (RareEventLogisticRegression("undersampling", random_state=0), TWO, WEIGHT, OFFSET),
    "firth": (RareEventLogisticRegression(), TWO, WEIGHT, OFFSET),
    "king-zeng-bias": (RareEventLogisticRegression("king-zeng-bias"), TWO, None, OFFSET),
    "grid": (GEVCanonicalRegressionCV([-0.5, 0.5], 4, cv=3), TWO, WEIGHT, OFFSET),
    "grid, the best alone": (GEVCanonicalRegressionCV([-0.5, 0.5], 4, cv=3, average=False), TWO, None, None),
    "tailored": (TailoredLinearClassifierCV(0.3, [3.0], cv=2), TWO, WEIGHT, OFFSET),
    "a class without weight": (ProperLinearClassifier(), THREE, np.where(THREE == 1, 0.0, 1.0 + WEIGHT), None),
}


@pytest.mark.parametrize("case", MODELS.values(), ids=MODELS)
def test_the_coefficients_are_those_of_numpy(case, arrays):
    model, y, weight, offset = case
    model.set_params(tol=1e-11)
    model.fit(X, y, weight, offset)
    coef, intercept, p = model.coef_, model.intercept_, model.predict_proba(X, offset)
    given, labels, weights, offsets = there(arrays, X, y, weight, offset)
    model.fit(given, labels, weights, offsets)
    assert type(model.coef_) is np.ndarray
    assert model.coef_.dtype == np.float64
    assert model.n_features_in_ == K
    close = 1e-8 if model is MODELS["firth"][0] else 1e-10  # where BFGS ends is a matter of rounding
    np.testing.assert_allclose(model.coef_, coef, atol=close, rtol=0)
    np.testing.assert_allclose(model.intercept_, intercept, atol=close, rtol=0)
    found = model.predict_proba(given, offsets)
    assert type(found) is type(given)
    np.testing.assert_allclose(to_numpy(found), p, atol=close)
    np.testing.assert_array_equal(to_numpy(model.predict(given, offsets)), model.predict(X, offset))


@pytest.mark.parametrize("kind", ["model", "sandwich"])
@pytest.mark.parametrize("model", [ProperLinearClassifier(), GEVCanonicalRegression(0.3)], ids=repr)
def test_standard_errors(model, kind, arrays):
    expected = inference(model.fit(X, TWO, WEIGHT), X, TWO, WEIGHT, kind=kind)
    given = there(arrays, X, TWO, WEIGHT)
    found = inference(model.fit(*given), *given, kind=kind)
    np.testing.assert_allclose(found.standard_errors, expected.standard_errors, rtol=1e-9)
    intervals = found.probability_intervals(given[0])
    np.testing.assert_allclose(to_numpy(intervals), expected.probability_intervals(X), atol=1e-9)
    assert type(intervals) is type(given[0])


def test_labels_of_text_come_from_numpy(arrays):
    names = np.where(TWO, "yes", "no")
    model = ProperLinearClassifier().fit(arrays.asarray(X), names)
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(arrays.asarray(X)).tolist()) == {"no", "yes"}
    for labels in (TWO.astype(bool), TWO * 2 - 1, TWO.astype(np.float32), THREE.astype(np.uint8)):
        there, here = (ProperLinearClassifier(tol=1e-11).fit(rows, labels) for rows in (arrays.asarray(X), X))
        assert there.classes_.tolist() == here.classes_.tolist()
        np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-10)


def test_labels_beyond_the_precision_of_float64(arrays):
    y = 2**60 + THREE
    expected = ProperLinearClassifier(tol=1e-11).fit(X, y)
    found = ProperLinearClassifier(tol=1e-11).fit(*there(arrays, X, y))
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-10)
    np.testing.assert_array_equal(to_numpy(found.predict(arrays.asarray(X))), expected.predict(X))


@pytest.mark.parametrize("kind", ["uint16", "uint32", "uint64"])
def test_unsigned_labels_of_several_bytes(kind, arrays):
    for y in (TWO, THREE):
        given, labels = there(arrays, X, y.astype(kind))
        found = ProperLinearClassifier(tol=1e-11).fit(given, labels)
        expected = ProperLinearClassifier(tol=1e-11).fit(X, y)
        np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-10)
        predicted = found.predict(given)
        assert predicted.dtype == labels.dtype
        np.testing.assert_array_equal(to_numpy(predicted), expected.predict(X))
        assert log_loss(labels, found.predict_proba(given)) < 1.0


@pytest.mark.parametrize("kind", ["float32", "int32", "float16"])
def test_other_types_are_added_up_in_float64(kind, arrays):
    if kind == "float16" and not hasattr(arrays, kind):
        pytest.skip("the library has no half precision")
    rows = (10.0 * X).astype(kind)
    model = ProperLinearClassifier(tol=1e-11)
    expected = model.fit(rows.astype(np.float64), TWO).coef_
    model.fit(arrays.asarray(rows), arrays.asarray(TWO))
    np.testing.assert_allclose(model.coef_, expected, atol=1e-12)


def test_columns_far_from_zero_are_centred(arrays):
    far = X * [1.0, 1e-3, 1.0, 0.0] + [1e6, 1.0, 0.0, 7.0]  # the last one is constant
    model = ProperLinearClassifier(tol=1e-11)
    expected = model.fit(far, TWO, WEIGHT).coef_
    model.fit(*there(arrays, far, TWO, WEIGHT))
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("model", [ProperLinearClassifier(), GEVCanonicalRegression(0.37)], ids=repr)
@pytest.mark.parametrize("problem", ["ordinary", "rare", "ill-conditioned"])
def test_large_data(problem, model, kind, arrays):
    """They start from a sample, which also gives the curvature where it has enough rows of both classes."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(70_000, 2))
    score = rows @ [1.0, -0.5] - (5.0 if problem == "rare" else 1.0)
    y = (rng.random(70_000) < 1.0 / (1.0 + np.exp(-score))).astype(int)
    if problem == "ill-conditioned":
        rows[:, 1] = rows[:, 0] + 1e-4 * rows[:, 1]
    rows = rows.astype(kind)
    model.set_params(tol=1e-12)
    expected = model.fit(rows.astype(np.float64), y).coef_
    with block_bytes(2**18):
        found = model.fit(arrays.asarray(rows), arrays.asarray(y))
    assert found.solutions_[0].status is Status.CONVERGED
    np.testing.assert_allclose(found.coef_, expected, atol=1e-8, rtol=1e-8)


def test_sums_come_to_the_host_once_a_pass(arrays, monkeypatch):
    model, copies = ProperLinearClassifier().fit(*there(arrays, X, TWO)), []
    engine, _ = DeviceEngine.of_training_data(model, *there(arrays, X, TWO), None, None)

    def counted(x):
        copies.append(tuple(x.shape))
        return to_numpy(x)

    monkeypatch.setattr("properly.numeric.arrays.to_numpy", counted)
    linear = LinearModel(Composite("squared", "logit"))
    sums = engine.reduce(kernels.newton, linear, np.zeros((1, K + 1)), True, (False, True))
    assert len(list(engine.blocks())) == 5
    assert copies == [(1 + (K + 1) + 2 * (K + 1) ** 2,)]
    assert isinstance(sums.value, float)
    assert sums.hessians.shape == (2, K + 1, K + 1)


# --- bad input -----------------------------------------------------------------------------


def test_bad_values_are_named(arrays):
    for value, name in ((np.nan, "NaN"), (np.inf, "infinity")):
        bad = X.copy()
        bad[700, 1] = value
        with pytest.raises(ValueError, match=f"X contains {name} in column 1"):
            ProperLinearClassifier().fit(*there(arrays, bad, TWO))
        with pytest.raises(ValueError, match="X must be finite"):
            ProperLinearClassifier().fit(*there(arrays, X, TWO)).predict_proba(arrays.asarray(bad))
    with pytest.raises(ValueError, match="sample_weight must not be negative, got -1"):
        ProperLinearClassifier().fit(*there(arrays, X, TWO, WEIGHT - 1.0))
    with pytest.raises(ValueError, match="sample_weight must be finite, got nan"):
        ProperLinearClassifier().fit(*there(arrays, X, TWO, np.where(TWO, np.nan, 1.0)))
    with pytest.raises(ValueError, match=r"offset must have shape \(900,\)"):
        ProperLinearClassifier().fit(*there(arrays, X, TWO, None, OFFSET[:-1]))


def test_bad_labels_are_named(arrays):
    for y, message in (
        (TWO[:-1], "y has 899 rows, X has 900"),
        (np.zeros(N, dtype=int), "y holds one class only, 0"),
        (TWO + 0.5, "got the fraction 0.5"),
        (np.where(TWO, np.nan, 1.0), "contains NaN"),
        (TWO * 1j, "y must be real numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            ProperLinearClassifier().fit(*there(arrays, X, y))


def test_bad_arrays_are_named(arrays):
    model = ProperLinearClassifier()
    with pytest.raises(ValueError, match=r"X must be real numbers, got an array of .*complex128"):
        model.fit(*there(arrays, X + 1j, TWO))
    with pytest.raises(ValueError, match="Expected 2D array, got X with 1 dimensions"):
        model.fit(*there(arrays, X[:, 0], TWO))
    with pytest.raises(ValueError, match=r"Found array with 0 feature\(s\)"):
        model.fit(*there(arrays, X[:, :0], TWO))
    with pytest.raises(ValueError, match="fit requires y"):
        model.fit(arrays.asarray(X))
    with pytest.raises(ValueError, match=r"arrays of two libraries in one call: X is of .* and sample_weight of numpy"):
        model.fit(*there(arrays, X, TWO), WEIGHT)
    with pytest.raises(ValueError, match=r"X must have shape \(n, 4\), as in fit, got \(900, 3\)"):
        model.fit(*there(arrays, X, TWO)).predict_proba(arrays.asarray(X[:, :3]))


def test_two_devices_are_named():
    strict = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    here, elsewhere = strict.asarray(X), strict.asarray(TWO, device=strict.Device("device1"))
    with pytest.raises(ValueError, match=r"two devices in one call: X is on .*CPU.* and y on .*device1.*; move one"):
        DeviceEngine.of_training_data(ProperLinearClassifier(), here, elsewhere, None, None)


def test_gradients_are_refused():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    rows = torch.asarray(X).requires_grad_()
    with pytest.raises(ValueError, match=r"X requires gradients, which are not computed here; pass X.detach\(\)"):
        ProperLinearClassifier().fit(rows, torch.asarray(TWO))
    model = ProperLinearClassifier().fit(rows.detach(), torch.asarray(TWO))
    with pytest.raises(ValueError, match="X requires gradients"):
        model.predict_proba(rows)


def test_tensors_without_dense_values_are_refused():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    rows, y = torch.asarray(X), torch.asarray(TWO)
    model = ProperLinearClassifier()
    with pytest.raises(
        ValueError, match=r"X must be dense, got a tensor of layout torch.sparse_coo; pass X.to_dense\(\)"
    ):
        model.fit(rows.to_sparse(), y)
    with pytest.raises(ValueError, match="two devices in one call: X is on cpu and y on meta"):
        model.fit(rows, y.to("meta"))
    model.fit(rows, y)
    with pytest.raises(ValueError, match="X must have values, and tensors on the device 'meta' have none"):
        model.predict_proba(rows.to("meta"))
    platt = PlattScaling().fit(rows[:, 0], y)
    with pytest.raises(ValueError, match="scores must have values"):
        platt.predict_proba(rows[:, 0].to("meta"))
    with pytest.raises(ValueError, match="y must be real numbers, got an array of torch"):
        calibration_test(y.to(torch.complex128), torch.sigmoid(rows[:, 0]))


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_precision_is_taken_as_exact(kind):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    dtype = getattr(torch, kind)
    rows, y, weight = (torch.asarray(x).to(dtype) for x in (X, TWO, WEIGHT))
    expected = ProperLinearClassifier(tol=1e-11).fit(rows.double().numpy(), TWO, WEIGHT)
    found = ProperLinearClassifier(tol=1e-11).fit(rows, y, weight)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-10)
    p = found.predict_proba(rows)
    assert p.dtype == torch.float64
    np.testing.assert_allclose(p.numpy(), expected.predict_proba(rows.double().numpy()), atol=1e-10)
    assert log_loss(y, p) == pytest.approx(log_loss(TWO, p.numpy()), rel=1e-12)
    score = rows[:, 0]
    of_numpy = PlattScaling().fit(score.double().numpy(), TWO).predict_proba(score.double().numpy())
    np.testing.assert_allclose(PlattScaling().fit(score, y).predict_proba(score).numpy(), of_numpy, atol=1e-10)


DISPATCHED = """
import numpy, sklearn, torch
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from properly.calibration import CalibratedClassifier
from properly.linear import GEVCanonicalRegression

random = numpy.random.RandomState(0)
X = random.normal(size=(600, 3))
y = (X[:, 0] + random.logistic(size=600) > 1).astype(int)
for dispatch in (False, True):
    with sklearn.config_context(array_api_dispatch=dispatch):
        for model in (GEVCanonicalRegression(0.2, tol=1e-11), CalibratedClassifier(GEVCanonicalRegression(0.2), cv=3)):
            expected = model.fit(X, y).predict_proba(X)
            found = model.fit(torch.asarray(X), torch.asarray(y)).predict_proba(torch.asarray(X))
            assert type(found) is torch.Tensor, (dispatch, type(found))
            numpy.testing.assert_allclose(found.numpy(), expected, atol=1e-8)
with sklearn.config_context(array_api_dispatch=True):  # scikit-learn's own steps keep tensors then
    pipeline = make_pipeline(StandardScaler(), GEVCanonicalRegression(0.2)).fit(torch.asarray(X), torch.asarray(y))
    assert type(pipeline.predict_proba(torch.asarray(X))) is torch.Tensor
"""


def test_scikit_learns_dispatch_is_followed_and_not_needed():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    settings = os.environ | {"SCIPY_ARRAY_API": "1"}  # SciPy reads it when it is imported
    done = subprocess.run([sys.executable, "-c", DISPATCHED], env=settings, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


class OutOfMemoryError(RuntimeError):
    """What PyTorch raises, by its name."""


def test_a_card_without_room(arrays, monkeypatch):
    """The error says how much was needed and what to do, and keeps no block alive."""
    import gc
    import weakref

    model, kept = ProperLinearClassifier().fit(*there(arrays, X, TWO)), []

    class Rows:
        """What a block holds."""

    def fails(block, *_):
        held = Rows()
        kept.append(weakref.ref(held))
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    engine, _ = DeviceEngine.of_training_data(model, *there(arrays, X, TWO), None, None)
    message = r"no room for blocks of 200 rows, about 0.0 MiB .*Tried to allocate 2.00 GiB.*block_bytes\(800\): "
    with pytest.raises(MemoryError, match=message) as caught:
        engine.reduce(fails)
    assert caught.value.__context__ is None
    gc.collect()
    assert kept
    assert kept[0]() is None
    with pytest.raises(MemoryError, match="no room for blocks"):
        engine.map(fails)
    with pytest.raises(ValueError, match="block_bytes must be a whole number of at least 1, got 0"), block_bytes(0):
        pass
