"""Three senses of calibration: each target repairs its own, on simulated classes whose probabilities are known."""

import numpy as np
import pytest
from scipy import special as sc

from properly.calibration import (
    DirichletCalibration,
    IsotonicCalibration,
    MatrixScaling,
    MulticlassCalibration,
    PlattScaling,
    TemperatureScaling,
)
from properly.calibration.methods import METHODS


def simulated(distort, n_classes=4, n=20_000, seed=0):
    """Distorted logits, labels and true probabilities; the first half calibrates, the second judges."""
    rng = np.random.default_rng(seed)
    truth = 1.5 * rng.normal(size=(n, n_classes))
    p = sc.softmax(truth, axis=1)
    y = (p.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    return distort(truth), y, p


def binned_error(p, truth):
    """Mean difference between p and the mean true probability in 20 bins of equal mass."""
    order = np.argsort(p)
    return float(np.mean([abs(p[rows].mean() - truth[rows].mean()) for rows in np.array_split(order, 20)]))


def confidence_error(p, truth):
    top = p.argmax(axis=1)
    rows = np.arange(len(p))
    return binned_error(p[rows, top], truth[rows, top])


def classwise_error(p, truth):
    return float(np.mean([binned_error(p[:, k], truth[:, k]) for k in range(p.shape[1])]))


def full_error(p, truth):
    """As logits are one-to-one, the true probability given the whole vector is the truth itself."""
    return float(np.mean(np.abs(p - truth)))


def errors(model, logits, y, truth):
    half = len(y) // 2
    p = sc.softmax(logits, axis=1) if model is None else model.fit(logits[:half], y[:half]).predict_proba(logits)
    return np.array([each(p[half:], truth[half:]) for each in (confidence_error, classwise_error, full_error)])


def mixed(logits):
    """Confused classes: every logit leaks into the next."""
    return 1.5 * logits + 0.8 * np.roll(logits, 1, axis=1)


def biased(logits):
    """Classes of different slope and level."""
    k = logits.shape[1]
    return logits * np.linspace(0.6, 2.0, k) + np.linspace(-1.0, 1.0, k)


@pytest.mark.parametrize("n_classes", [3, 5])
@pytest.mark.parametrize("distort", [lambda x: 2.5 * x, biased, mixed], ids=["sure", "biased", "mixed"])
@pytest.mark.parametrize("method", ["platt", "isotonic", "auto"])
def test_confidence(method, distort, n_classes):
    """Whatever is wrong, the probability of the top class becomes right, and the top class stays."""
    data = simulated(distort, n_classes)
    before = errors(None, *data)
    model = MulticlassCalibration(method, "confidence")
    after = errors(model, *data)
    assert before[0] > 0.03
    assert after[0] < min(0.02, 0.35 * before[0])
    assert np.array_equal(model.predict(data[0]), data[0].argmax(axis=1))


@pytest.mark.parametrize("n_classes", [3, 5])
@pytest.mark.parametrize("distort", [biased, mixed])
@pytest.mark.parametrize("method", ["isotonic", "spline", "auto"])
def test_classwise(method, distort, n_classes):
    """Every marginal becomes right, which confidence calibration does not achieve."""
    data = simulated(distort, n_classes)
    before = errors(None, *data)
    after = errors(MulticlassCalibration(method, "classwise"), *data)
    confidence = errors(MulticlassCalibration(method, "confidence"), *data)
    assert after[1] < 0.35 * before[1]
    if distort is biased:  # classes are mistaken in different ways
        assert after[1] < 0.5 * confidence[1]


@pytest.mark.parametrize("n_classes", [3, 5])
@pytest.mark.parametrize("method", ["matrix", "structured_matrix", "auto"])
def test_full(method, n_classes):
    """Confused classes are told apart by methods for the whole vector alone."""
    data = simulated(mixed, n_classes)
    after = errors(MulticlassCalibration(method, "full"), *data)
    classwise = errors(MulticlassCalibration(method, "classwise"), *data)
    assert after[2] < 0.012
    assert after[2] < 0.3 * classwise[2]


def test_full_is_the_method_itself():
    logits, y, _ = simulated(mixed, n=500)
    for method in (TemperatureScaling(), MatrixScaling(), DirichletCalibration()):
        expected = method.fit(logits, y).predict_proba(logits)
        assert np.array_equal(MulticlassCalibration(method, "full").fit(logits, y).predict_proba(logits), expected)


@pytest.mark.parametrize("method", [PlattScaling(), IsotonicCalibration()])
def test_classwise_is_one_versus_rest(method):
    logits, y, _ = simulated(biased, n=500)
    expected = method.fit(logits, y).predict_proba(logits)
    p = MulticlassCalibration(method, "classwise").fit(logits, y).predict_proba(logits)
    assert p == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("factor", [3.0, 0.4])
def test_confidence_is_a_problem_of_two_classes(factor):
    logits, y, _ = simulated(lambda x: factor * x, n=1000)
    weight = np.random.default_rng(1).integers(0, 3, 1000).astype(float)
    model = MulticlassCalibration("platt", "confidence").fit(logits, y, weight)
    p, before = model.predict_proba(logits), sc.softmax(logits, axis=1)
    rows, top = np.arange(1000), logits.argmax(axis=1)
    odds = sc.logit(before[rows, top])
    expected = PlattScaling().fit(odds, y == top, weight).predict_proba(odds)[:, 1]
    assert p[rows, top] == pytest.approx(np.maximum(expected, 0.25), abs=1e-8)
    assert np.array_equal(p.argmax(axis=1), top)
    raised = expected > before[rows, top]
    assert raised.mean() < 0.2 if factor > 1.0 else raised.mean() > 0.8
    # Where the top rises, the others share what is left in the old proportions.
    others = before * ((1.0 - expected) / (1.0 - before[rows, top]))[:, None]
    others[rows, top] = expected
    assert p[raised] == pytest.approx(others[raised], abs=1e-9)
    # Where it falls, a temperature is at work: log-probabilities are a straight line in the logits.
    lowered = ~raised & (expected > 0.25)
    centred, log_p = (x[lowered] - x[lowered].mean(axis=1, keepdims=True) for x in (logits, np.log(p)))
    slope = np.sum(centred * log_p, axis=1) / np.sum(centred**2, axis=1)
    assert np.all((slope > 0.0) & (slope < 1.0))
    assert log_p == pytest.approx(slope[:, None] * centred, abs=1e-8)


def test_the_top_class_is_always_or_never_right():
    y = np.arange(12) % 3
    model = MulticlassCalibration("isotonic", "confidence").fit(5.0 * np.eye(3)[y], y)
    assert model.predict_proba([[1.0, 0.0, 0.0]]) == pytest.approx(np.array([[13.0, 0.5, 0.5]]) / 14.0)
    model = MulticlassCalibration("auto", "confidence").fit(5.0 * np.eye(3)[y], (y + 1) % 3)
    p = model.predict_proba([[0.0, 2.0, 1.0]])
    assert p == pytest.approx(np.full((1, 3), 1.0 / 3.0), abs=1e-8)
    assert p.argmax() == 1


def test_certainty_and_huge_logits():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    logits = (
        np.eye(3)[np.where(np.arange(60) % 4 == 0, (y + 1) % 3, y)]
        * np.where(np.arange(60) % 4 == 0, 1.0, 9.0)[:, None]
    )
    for target in ("confidence", "classwise"):
        model = MulticlassCalibration("isotonic", target).fit(logits, y)
        p = model.predict_proba(np.vstack([9.0 * np.eye(3), [[1e308, -1e308, 0.0], [0.0, 0.0, 0.0]]]))
        assert np.all(np.isfinite(p))
        assert p.sum(axis=1) == pytest.approx(1.0)
    sure = MulticlassCalibration("isotonic", "confidence").fit(logits, y).predict_proba(9.0 * np.eye(3))
    assert np.array_equal(sure, np.eye(3))


@pytest.mark.parametrize("target", ["confidence", "classwise", "full"])
@pytest.mark.parametrize("method", ["platt", "isotonic", "temperature"])
def test_two_classes_know_one_sense_only(method, target):
    logits, y, _ = simulated(biased, n_classes=2, n=400)
    scores = logits[:, 1] - logits[:, 0]
    expected = METHODS[method]().fit(scores, y).predict_proba(scores)
    assert np.array_equal(MulticlassCalibration(method, target).fit(scores, y).predict_proba(scores), expected)


def test_errors_name_the_remedy():
    logits, y, _ = simulated(mixed, n=200)
    with pytest.raises(ValueError, match=r"target='full' needs .*'temperature'.*got PlattScaling.*target='classwise'"):
        MulticlassCalibration("platt", "full").fit(logits, y)
    with pytest.raises(ValueError, match="target must be one of 'confidence', 'classwise', 'full', got 'top'"):
        MulticlassCalibration("platt", "top").fit(logits, y)
    with pytest.raises(ValueError, match="method must be one of"):
        MulticlassCalibration("best").fit(logits, y)
