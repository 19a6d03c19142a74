"""Calibrators, classifiers around them and prior corrections take arrays of any library, and return such arrays."""

import warnings

import numpy as np
import pytest
from scipy import special as sc

from properly.calibration import (
    CalibratedClassifier,
    HistogramBinning,
    IsotonicCalibration,
    MulticlassCalibration,
    VennAbersCalibration,
)
from properly.calibration.methods import METHODS
from properly.linear import GEVCanonicalRegressionCV, ProperLinearClassifier
from properly.links import GEV, LINKS
from properly.losses import BetaLoss
from properly.numeric import isotonic
from properly.numeric.arrays import to_numpy
from properly.prevalence import PriorCorrectedClassifier, adjust_prior

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 3))
SCORES = 2.0 * X @ [1.0, -1.0, 0.5]
Y = (RANDOM.random(300) < sc.expit(0.7 * SCORES - 0.5)).astype(int)
THREE = np.array(["low", "mid", "high"])[np.digitize(X[:, 0] + RANDOM.normal(size=300), [-0.5, 0.5])]
NEW = np.concatenate([3.0 * RANDOM.normal(size=(100, 3)), 100.0 * np.eye(3), np.zeros((1, 3))])
NEW_SCORES = np.concatenate([4.0 * RANDOM.normal(size=100), [0.0, -700.0, 700.0, 1e6]])
PREDICTIONS = ("predict_proba", "predict_log_proba", "decision_function")


def assert_same(model, rows, library):
    given = library.asarray(rows)
    for name in PREDICTIONS:
        found, expected = getattr(model, name)(given), getattr(model, name)(rows)
        assert type(found) is type(given), name
        near = 1e-300 if name == "predict_proba" else 1e-15  # ln 1 is rounded in many ways
        np.testing.assert_allclose(to_numpy(found), expected, rtol=5e-12, atol=near, err_msg=name)
    assert np.array_equal(to_numpy(model.predict(given)), model.predict(rows))


@pytest.mark.parametrize("method", METHODS)
def test_calibrators(method, library):
    assert_same(METHODS[method]().fit(SCORES, Y), NEW_SCORES, library)
    assert_same(METHODS[method]().fit(X, THREE), NEW, library)
    p = sc.softmax(X, axis=1)
    model = METHODS[method](input="probability").fit(p, THREE)
    assert_same(model, np.concatenate([sc.softmax(NEW, axis=1), np.eye(3)]), library)
    assert_same(METHODS[method](input="probability").fit(p[:, 0], Y), np.append(RANDOM.random(50), [0.0, 1.0]), library)


MANY = 25_000  # more than `AutoCalibration` looks at one by one
MANY_SCORES = np.random.default_rng(1).normal(size=MANY).round(3)
MANY_Y = (np.random.default_rng(2).random(MANY) < sc.expit(0.7 * MANY_SCORES - 0.5)).astype(int)
FITTED_THERE = [name for name in METHODS if METHODS[name]._fits_anywhere]


@pytest.mark.parametrize("method", METHODS)
def test_fits_are_those_of_numpy(method, library):
    weight = RANDOM.integers(0, 3, len(Y)).astype(float)
    p = sc.softmax(X, axis=1)
    cases = [(SCORES, Y, None), (SCORES, Y, weight), (X, THREE, weight), (p[:, 0], Y, weight), (p, THREE, None)]
    for scores, y, each in cases:
        there = [None if x is None else library.asarray(x) for x in (scores, each)]
        labels = y if y is THREE else library.asarray(y)  # no other library has texts
        expected = METHODS[method]().fit(scores, y, each).predict_proba(scores)
        model = METHODS[method]().fit(there[0], labels, there[1])
        assert type(model.classes_) is np.ndarray
        np.testing.assert_allclose(model.predict_proba(scores), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", FITTED_THERE)
def test_fits_to_many_rows_copy_none_of_them(method, library, monkeypatch):
    scores, y = library.asarray(MANY_SCORES), library.asarray(MANY_Y)
    expected = METHODS[method]().fit(MANY_SCORES.copy(), MANY_Y).predict_proba(NEW_SCORES)
    forbid_copies(monkeypatch, scores, MANY // 2)
    model = METHODS[method]().fit(scores, y)
    np.testing.assert_allclose(model.predict_proba(NEW_SCORES), expected, rtol=1e-9, atol=1e-12)


def forbid_copies(monkeypatch, like, size):
    """Copies of so many numbers to NumPy fail."""
    original = type(like).__array__

    def guarded(self, *args, **options):
        assert np.prod(self.shape) < size, "rows were copied to the host"
        return original(self, *args, **options)

    monkeypatch.setattr(type(like), "__array__", guarded)


def test_isotonic_regression_pools_before_rows_are_copied(library, monkeypatch):
    score = np.random.default_rng(3).normal(size=3000)
    y = (np.random.default_rng(4).random(3000) < sc.expit(score)).astype(int)
    weight = np.random.default_rng(5).integers(0, 4, 3000).astype(float)
    monkeypatch.setattr(isotonic, "_FEW", 10)
    for each in (None, weight):
        for strict in (False, True):
            expected = IsotonicCalibration(strict=strict).fit(score.copy(), y, each).maps_[0]
            given = None if each is None else library.asarray(each)
            found = IsotonicCalibration(strict=strict).fit(library.asarray(score), library.asarray(y), given).maps_[0]
            for name in ("first", "last", "rate", "complement"):
                np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        IsotonicCalibration("linear", strict=True),
        HistogramBinning(7, "width"),
        *(METHODS[name](monotone=True) for name in ("gaussian", "laplace", "hybrid")),
    ],
    ids=str,
)
def test_options_of_calibrators(model, library):
    assert_same(model.fit(SCORES, Y), NEW_SCORES, library)
    model.set_params(input="score")  # ones could be probabilities
    assert_same(model.fit(np.ones(20), np.arange(20) % 2), NEW_SCORES, library)


@pytest.mark.parametrize("target", ["confidence", "classwise", "full"])
@pytest.mark.parametrize("method", ["auto", "temperature"])
def test_multiclass_targets(method, target, library):
    for scale in (0.3, 3.0):
        assert_same(MulticlassCalibration(method, target).fit(scale * X, THREE), scale * NEW, library)


def test_intervals(library):
    for model, rows in (
        (VennAbersCalibration().fit(SCORES, Y), NEW_SCORES),
        (VennAbersCalibration().fit(X, THREE), NEW),
    ):
        found, expected = model.predict_interval(library.asarray(rows)), model.predict_interval(rows)
        np.testing.assert_allclose([to_numpy(each) for each in found], expected, rtol=1e-12)


@pytest.mark.parametrize("link", [*LINKS, GEV(0.5), GEV(-0.3), None], ids=str)
@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_linear_models(link, y, library):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whether it converges is no matter here
        model = ProperLinearClassifier("log", link, max_iter=5).fit(X, y)
    assert_same(model, NEW, library)


def test_offsets(library):
    offset = RANDOM.normal(size=len(NEW))
    model = ProperLinearClassifier().fit(X, Y)
    found = model.predict_proba(library.asarray(NEW), library.asarray(offset))
    np.testing.assert_allclose(to_numpy(found), model.predict_proba(NEW, offset), rtol=1e-12)
    assert np.array_equal(to_numpy(model.predict_proba(library.asarray(NEW), offset.tolist())), to_numpy(found))
    with pytest.raises(ValueError, match=r"offset must have shape \(104,\)"):
        model.predict_proba(library.asarray(NEW), library.asarray(offset[:5]))


def test_averaged_links_and_losses_without_a_closed_form(library):
    assert_same(GEVCanonicalRegressionCV([-0.5, 0.5], 2, cv=2).fit(X, Y), NEW, library)
    assert_same(ProperLinearClassifier(BetaLoss(0.5, 1.5)).fit(X, Y), NEW, library)


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_models_around_models(y, library):
    for ensemble in (False, True):
        model = CalibratedClassifier(ProperLinearClassifier(), "auto", cv=2, ensemble=ensemble).fit(X, y)
        assert_same(model, NEW, library)
    corrected = PriorCorrectedClassifier(ProperLinearClassifier(class_weight="balanced")).fit(X, y)
    assert_same(corrected, NEW, library)
    assert_same(CalibratedClassifier(corrected, "platt", cv=2).fit(X, y), NEW, library)


def test_adjusted_priors(library):
    p = sc.softmax(NEW, axis=1)
    for rows, train, true in ((p, [0.2, 0.3, 0.5], [0.6, 0.4, 0.0]), (p[:, 0], 0.5, 0.01), (p[:, 0], 0.5, 0.0)):
        found = adjust_prior(library.asarray(rows), train, true)
        assert type(found) is type(library.asarray(rows))
        np.testing.assert_allclose(to_numpy(found), adjust_prior(rows, train, true), rtol=1e-12)


def test_bad_arrays(library):
    calibrator, model = METHODS["platt"]().fit(SCORES, Y), ProperLinearClassifier().fit(X, Y)
    for predict, shape in ((calibrator.predict_proba, (4,)), (model.predict_proba, (4, 3))):
        with pytest.raises(ValueError, match="must be numbers, got booleans"):
            predict(library.asarray(np.ones(shape, dtype=bool)))
        with pytest.raises(ValueError, match=r"must be real numbers, got an array of .*complex128"):
            predict(library.asarray(np.ones(shape, dtype=complex)))
        with pytest.raises(ValueError, match=r"must be finite"):
            predict(library.asarray(np.full(shape, np.nan)))
    with pytest.raises(ValueError, match=r"X must have shape \(n, 3\), as in fit, got \(4, 2\)"):
        model.predict_proba(library.asarray(np.ones((4, 2))))
    with pytest.raises(ValueError, match=r"arrays of two libraries in one call: X is of .* and offset of numpy"):
        model.predict_proba(library.asarray(NEW), np.zeros(len(NEW)))
