"""Panels of several classes are those of each class alone."""

import numpy as np
import pytest

from properly.diagnostics import multiclass_reliability, reliability

RANDOM = np.random.RandomState(0)
P = RANDOM.dirichlet([1.0, 2.0, 0.5], 400)
CODES = (P.cumsum(axis=1) > RANDOM.random_sample((400, 1))).argmax(axis=1)
LABELS = np.array(["c", "a", "b"])  # not in order
WEIGHT = RANDOM.exponential(size=400)
Y = LABELS[CODES]


def test_panels():
    result = multiclass_reliability(Y, P, classes=LABELS, sample_weight=WEIGHT, n_resamples=20)
    assert result.classes == ("c", "a", "b")
    for k, part in enumerate(result.by_class):
        alone = reliability(k == CODES, P[:, k], sample_weight=WEIGHT, n_resamples=20)
        np.testing.assert_array_equal(part.recalibrated, alone.recalibrated)
        np.testing.assert_array_equal(part.high, alone.high)
    top = reliability(P.argmax(axis=1) == CODES, P.max(axis=1), sample_weight=WEIGHT, n_resamples=20)
    np.testing.assert_array_equal(result.top.recalibrated, top.recalibrated)


def test_sorted_labels_by_default():
    result = multiclass_reliability(CODES, P, n_resamples=2)
    assert result.classes == (0, 1, 2)
    assert result.by_class[1].positive.sum() == np.sum(CODES == 1)


def test_frame():
    result = multiclass_reliability(Y, P, classes=LABELS, n_resamples=2)
    frame = result.frame()
    assert frame["panel"].unique().tolist() == ["most probable", "c", "a", "b"]
    assert len(frame) == len(result.top.forecast) + sum(len(part.forecast) for part in result.by_class)


def test_errors():
    with pytest.raises(ValueError, match=r"use reliability\(y, p\)"):
        multiclass_reliability([0, 1], [[0.2, 0.8], [0.4, 0.6]])
    with pytest.raises(ValueError, match="pass classes="):
        multiclass_reliability([0, 1], [[0.2, 0.7, 0.1], [0.4, 0.5, 0.1]])
